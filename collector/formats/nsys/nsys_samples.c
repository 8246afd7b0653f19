/* SPDX-License-Identifier: MIT */
/* Samples, waits and switches of threads.
 *
 * A sample of CPU time is a COMPOSITE_EVENT whose count is that time. A wait is a row of OSRT_API
 * that is named after what the thread waited for, "[lock]": no call of the program, as its begin
 * and end are those of the wait itself. The time behind it in which others had the CPUs is a row of
 * its own, "[ready]". When the thread left a CPU and was back on one is in SCHED_EVENTS. */
#include "nsys_parts.h"

#include "code_owner.h"
#include "stacks.h"

#include <stdio.h>

enum { DEPTH_MAX = 2048, STATE_RUNNING = 1, REASON_SIZE = 64 };

/* ---- Callchains ------------------------------------------------------------------------------ */

/* A file of code or of source; 0: not known. */
static uint32_t module_of(const struct stacks *stacks, const struct frame *frame,
                          const struct label *label)
{
    uint32_t source = stacks_get_source(stacks, label->source)->path;
    uint32_t module =
        stacks_get_module(stacks, frame->module ? frame->module : label->module)->path;
    return frame->kind == FRAME_PYTHON || !module ? source : module;
}

static void put_frame(struct nsys *nsys, enum nsys_table table, int64_t chain, uint32_t ordinal,
                      uint32_t depth)
{
    const struct stacks *stacks = trace_stacks_get(nsys->trace);
    const struct frame *frame = stacks_get_frame(stacks, ordinal);
    const struct label *label = stacks_get_label(stacks, frame->label);
    struct nsys_database *db = &nsys->db;
    uint32_t file = module_of(stacks, frame, label);
    int64_t symbol = label->text ? nsys_string(db, label->text) : nsys_text(db, "?");
    int64_t module = file ? nsys_string(db, file) : nsys_text(db, "[unknown]");
    nsys_begin_row(db, table);
    nsys_put(db, chain);
    nsys_put(db, symbol);
    nsys_put(db, module);
    nsys_put(db, frame->kind == FRAME_KERNEL);
    nsys_skip(db, 1);
    nsys_put(db, !label->text || label->flags & LABEL_PLACE);
    nsys_put(db, frame->kind == FRAME_NOTE);
    if (frame->address)
        nsys_put(db, (int64_t)frame->address);
    else
        nsys_skip(db, 1);
    nsys_skip(db, 1);
    nsys_put(db, depth);
    nsys_end_row(db);
}

/* The innermost frame is number 0. */
static void put_chain(struct nsys *nsys, enum nsys_table table, int64_t chain, uint32_t stack)
{
    uint32_t frames[DEPTH_MAX];
    uint32_t count = stack ? chosen_frames_get(&nsys->chosen, stack, frames, DEPTH_MAX) : 0;
    for (uint32_t i = 0; i < count && !nsys->db.error; i++)
        put_frame(nsys, table, chain, frames[count - 1 - i], i);
}

/* Waits share those of equal stacks. */
static bool put_shared_chain(struct nsys *nsys, uint32_t stack)
{
    if (!stack || stack >= nsys->stack_count)
        return false;
    if (!nsys->chains[stack])
        put_chain(nsys, NSYS_TABLE_OSRT_CHAINS, stack, stack);
    nsys->chains[stack] = 1;
    return true;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static void put_sample(struct nsys *nsys, const struct sample *sample)
{
    struct nsys_database *db = &nsys->db;
    int64_t id = ++nsys->sample_count;
    nsys_begin_row(db, NSYS_TABLE_SAMPLES);
    nsys_put(db, id);
    nsys_put_time(nsys, sample->time_ns);
    nsys_put(db, sample->cpu);
    nsys_put(db, STATE_RUNNING);
    nsys_put_who(nsys, nsys_thread(nsys, sample->thread));
    nsys_put(db, (int64_t)sample_cpu_ns(trace_sets_get(nsys->trace), sample));
    nsys_end_row(db);
    put_chain(nsys, NSYS_TABLE_CHAINS, id, sample->stack);
}

/* A part of the stretch. */
static void put_part(struct nsys *nsys, const struct sample *sample, const char *called,
                     int64_t begin_ns, uint64_t length_ns)
{
    struct nsys_database *db = &nsys->db;
    if (length_ns == 0)
        return;
    int64_t name = nsys_text(db, called);
    bool has_chain = put_shared_chain(nsys, sample->stack);
    nsys_begin_row(db, NSYS_TABLE_OSRT);
    nsys_put_time(nsys, begin_ns);
    nsys_put_time(nsys, begin_ns + (int64_t)length_ns);
    nsys_put(db, NSYS_CLASS_SYSTEM);
    nsys_put_who(nsys, nsys_thread(nsys, sample->thread));
    nsys_skip(db, 1);
    nsys_put(db, name);
    nsys_skip(db, 2);
    if (has_chain)
        nsys_put(db, sample->stack);
    nsys_end_row(db);
}

static void put_switch(struct nsys *nsys, const struct sample *sample, bool is_in)
{
    struct nsys_database *db = &nsys->db;
    nsys_begin_row(db, NSYS_TABLE_SWITCHES);
    nsys_put_time(nsys, is_in ? sample->end_ns : sample->time_ns);
    if (is_in) /* on which one it goes on is not recorded */
        nsys_skip(db, 1);
    else
        nsys_put(db, sample->cpu);
    nsys_put(db, is_in);
    nsys_put_who(nsys, nsys_thread(nsys, sample->thread));
    nsys_end_row(db);
}

/* What a selection cuts off has no switch there. */
static void put_stretch(struct nsys *nsys, const struct sample *sample)
{
    const struct pass_selection *selection = nsys->job->selection;
    const struct off_share share = sample_off_share(trace_sets_get(nsys->trace), sample);
    char reason[REASON_SIZE];
    snprintf(reason, sizeof(reason), "[%s]", wait_reason_name((enum wait_reason)sample->reason));
    put_part(nsys, sample, reason, sample->time_ns, share.blocked_ns);
    put_part(nsys, sample, NSYS_READY, sample->time_ns + (int64_t)share.blocked_ns,
             share.runnable_ns);
    if (sample->time_ns > selection->from_ns)
        put_switch(nsys, sample, false);
    if (!(sample->flags & SAMPLE_UNFINISHED) && sample->end_ns < selection->to_ns)
        put_switch(nsys, sample, true);
}

void nsys_take_sample(struct nsys *nsys, const struct sample *sample)
{
    enum sample_role role = sample_role(trace_sets_get(nsys->trace), sample);
    if (role == SAMPLE_ROLE_CPU)
        put_sample(nsys, sample);
    else if (role == SAMPLE_ROLE_OFF_CPU)
        put_stretch(nsys, sample);
}
