/* SPDX-License-Identifier: MIT */
/* Work of GPUs in Chrome traces of torch.profiler, XLA and annot. Thread-safety: one thread per
 * reader. */
#ifndef ANNOT_FROM_CHROME_GPU_H
#define ANNOT_FROM_CHROME_GPU_H

#include "event.h"
#include "from_chrome.h"

/* Work of a GPU, and calls that may launch it: sent to the sink after all was read. 0 or -errno. */
int from_chrome_gpu_add(struct from_chrome_reader *reader, enum from_chrome_class class,
                        struct event *event);
int from_chrome_gpu_launch(struct from_chrome_reader *reader, const struct event *event);
int from_chrome_gpu_finish(struct from_chrome_reader *reader);

/* Marks the process or thread of the metadata as a device of XLA or a stream, if it is one. */
void from_chrome_xla_meta(struct from_chrome_reader *reader, struct from_chrome_meta *meta);

/* In traces of XLA: the kind of a device's work; CHROME_PLAIN: other events. A call on a thread
 * with a correlation is CHROME_DRIVER. */
enum from_chrome_class from_chrome_xla_class(struct from_chrome_reader *reader);

#endif
