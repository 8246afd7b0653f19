/* SPDX-License-Identifier: MIT */
/* Probes at functions of programs: at the one that libannot-gpu calls at a launch, for samples with
 * the launch's stack, and at those that are ranges. Thread-safety: one thread per object. */
#ifndef ANNOT_SAMPLER_PROBES_H
#define ANNOT_SAMPLER_PROBES_H

#include "modules.h"
#include "probe.h"
#include "sample_queue.h"
#include "sampler.h"
#include "sampler_abi.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

struct bpf_sampler;

/* Finds the offset of an exported function in its file. */
bool sampler_find_exported(struct elf_file *file, const char *name, uint64_t *ret_offset);

/* ---- Stacks of launches ---- */

struct launch_file {
    uint64_t device, inode;
};

struct launch_watch {
    VEC(struct launch_file) files;
    uint16_t set; /* of their samples; 0: not defined yet */
    int error;    /* the last error that prevented watching a file */
};

/* Starts to watch the library named in the options; and one in a process. */
void sampler_watch_launches(struct bpf_sampler *sampler);
void sampler_meet_launches(struct bpf_sampler *sampler, const struct module *module, int fd);

/* Fills time, set and value of a launch sample from the record. 0 or -errno. */
int sampler_describe_launch(struct bpf_sampler *sampler, const struct sampler_sample *record,
                            struct queued_sample *ret_sample);

/* Writes counters into the trace. 0 or -ENOMEM. */
int sampler_write_launches(const struct bpf_sampler *sampler,
                           const uint64_t counters[SAMPLER_COUNTERS]);

/* ---- Functions that are ranges ---- */

void sampler_probes_fini(struct probes *probes);

/* See sampler_add_range(). */
int sampler_probes_add(void *state, const struct sampler_range_request *wish,
                       struct sampler_range_result *ret_result);

/* Probes a file of a process. */
void sampler_meet_probes(struct bpf_sampler *sampler, struct module *module, int fd);

/* Takes a record. 0 or -ENOMEM. */
int sampler_take_probed(struct bpf_sampler *sampler, const struct sampler_probed *record);

/* Ends ranges left open by the process's image before an exec. 0 or -ENOMEM. */
int sampler_end_probed_image(struct bpf_sampler *sampler, const struct sampler_head *head);

/* Ends the open ranges of an ended thread, or of its whole process. 0 or -ENOMEM. */
int sampler_end_probed(struct bpf_sampler *sampler, const struct sampler_head *head, bool all);

/* Removes probes that cost too much; passes on the ranges taken. 0, -ENOMEM, -errno of the sink. */
int sampler_step_probes(struct bpf_sampler *sampler);

/* Stops: open ranges end unfinished. 0 or -ENOMEM. */
int sampler_finish_probes(struct bpf_sampler *sampler);

/* Writes counters into the trace. 0 or -ENOMEM. */
int sampler_write_probes(const struct bpf_sampler *sampler);

#endif
