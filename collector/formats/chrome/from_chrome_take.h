/* SPDX-License-Identifier: MIT */
/* Sends events of a Chrome trace to the sink, and names of processes and threads. Thread-safety:
 * one thread per reader. */
#ifndef ANNOT_FROM_CHROME_TAKE_H
#define ANNOT_FROM_CHROME_TAKE_H

#include "from_chrome.h"

#include <stdbool.h>
#include <stdint.h>

struct import_id;

static inline bool from_chrome_is_work(enum from_chrome_class class)
{
    return class >= CHROME_KERNEL;
}

/* Sends the event to the sink. 0 or -errno. */
int from_chrome_event_take(struct from_chrome_reader *reader);

/* Sends ranges that have no end. 0 or -errno. */
int from_chrome_open_finish(struct from_chrome_reader *reader);

/* The thread of the event. */
uint32_t from_chrome_thread(struct from_chrome_reader *reader);

/* The name from metadata; NULL: unknown. `tid` NULL: of the process. */
const struct from_chrome_meta *from_chrome_meta_find(const struct from_chrome_reader *reader,
                                                     const struct import_id *pid,
                                                     const struct import_id *tid);

/* Names the processes and threads that have events. */
int from_chrome_metas_finish(struct from_chrome_reader *reader);

#endif
