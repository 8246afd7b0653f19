/* SPDX-License-Identifier: MIT */
/* Publishes the life of a process to the trace. */
#include "segment_source.h"

#include "clock_map.h"
#include "decode.h"
#include "intake_admit.h"

#include "clock_now.h"
#include "proc_info.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TICK_NS = 10 * 1000 * 1000 };

static int64_t cmdline_ordinal(struct trace *trace, const struct annot_segment_info *info)
{
    char buffer[COMMAND_TEXT_SIZE];
    size_t length = command_text((const char *)info->cmdline, info->cmdline_size, buffer);
    return trace_string_add(trace, buffer, length);
}

/* The start time: the fork, or the kernel's start time (in hundredths of a second). */
static int64_t start_ns(const struct annot_segment_info *info, struct decoder *decoder,
                        int64_t begin_ns, int64_t *ret_fork_ns)
{
    int64_t created = decode_time(decoder, info->created_time);
    *ret_fork_ns = info->fork_time != 0 ? decode_time(decoder, info->fork_time) : 0;
    if (*ret_fork_ns != 0)
        return *ret_fork_ns;
    int64_t start = clock_ticks_ns(info->start_time_ticks, clock_asleep_ns());
    if (start < begin_ns && begin_ns - start <= TICK_NS && begin_ns < created)
        return begin_ns; /* the kernel rounds down */
    return start == 0 || start > created ? created : start;
}

/* All programs of a machine share one clock, named by the first one. */
static int64_t clock_ordinal(struct trace *trace, const struct annot_segment_info *info)
{
    static const char *const names[] = {[ANNOT_CLOCK_MONOTONIC] = "monotonic",
                                        [ANNOT_CLOCK_TSC] = "tsc",
                                        [ANNOT_CLOCK_CNTVCT] = "cntvct"};
    return trace_string_add(trace, names[info->clock], strlen(names[info->clock]));
}

int source_describe(struct segment_source *source, struct trace *trace, struct clock_map *clock)
{
    const struct annot_segment_info *info = &source->segment.info;
    struct proc_stat stat;
    size_t comm_length = strnlen((const char *)info->comm, sizeof(info->comm));
    int64_t comm = trace_string_add(trace, (const char *)info->comm, comm_length);
    int64_t cmdline = cmdline_ordinal(trace, info);
    int64_t clock_name = clock_ordinal(trace, info);
    struct trace_process *entry = trace_process(trace, source->who.ordinal);
    struct trace_session *session = trace_session(trace);
    if (comm < 0 || cmdline < 0 || clock_name < 0)
        return -ENOMEM;
    if (session->clock == 0) {
        session->clock = (uint32_t)clock_name;
        session->revision++;
    }
    clock_map_advance(clock);
    bool watched = source->watch.pid > 0 && proc_stat(source->watch.pid, &stat) == 0;
    entry->pid = source->watch.pid > 0 ? source->watch.pid : info->pid;
    entry->ppid = watched ? stat.ppid : info->ppid;
    entry->ns_pid = info->pid;
    entry->pid_ns = info->pid_ns;
    entry->identity = info->identity;
    int64_t fork_ns,
        began_ns = start_ns(info, &source->drain->decoder, session->begin_ns, &fork_ns);
    if (entry->start_ns == 0 || fork_ns != 0) /* else the kernel reported it more exactly */
        entry->start_ns = began_ns;
    if (fork_ns != 0)
        entry->fork_ns = fork_ns;
    entry->forked = entry->forked || info->parent_identity != 0;
    entry->uid = info->uid;
    entry->comm = (uint32_t)comm;
    entry->cmdline = (uint32_t)cmdline;
    entry->runtime_version = info->runtime_version;
    entry->revision++;
    return 0;
}

static uint64_t source_bytes(const struct segment_source *source)
{
    struct stat status;
    if (fstatat(source->directory->fd, source->segment.name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        status.st_ino != source->segment.inode)
        return 0;
    return (uint64_t)status.st_blocks * 512;
}

void source_recount(struct segment_source *source, struct trace *trace)
{
    struct trace_process *entry = trace_process(trace, source->who.ordinal);
    source->former = (struct source_found){.corrupt = entry->lost[LOSS_CORRUPT],
                                           .schema = entry->misuse[MISUSE_SCHEMA],
                                           .payload_cut = entry->misuse[MISUSE_PAYLOAD_CUT]};
    memset(entry->lost, 0, sizeof(entry->lost));
    memset(entry->misuse, 0, sizeof(entry->misuse));
    memset(entry->queued, 0, QUEUED_FOUND * sizeof(entry->queued[0]));
    entry->event_count = 0;
}

/* Raises a count to the recorded one, which has what the decoder found before a recovery. Counts
 * of the segment since the last recorded total are not added to it. */
static void add_former(uint64_t *count, uint64_t recorded)
{
    *count = *count > recorded ? *count : recorded;
}

/* The totals of this segment now. */
static struct source_share share_now(const struct segment_source *source)
{
    const struct drain *drain = source->drain;
    const struct annot_shared *shared = &source->shared;
    struct source_share share = {.event_count = drain->past.event_count};
    memcpy(share.lost, drain->past.lost, sizeof(share.lost));
    for (size_t i = 0; i < drain->threads.count; i++) {
        const struct drain_thread *thread = &drain->threads.items[i];
        share.event_count += thread->decode.record_count;
        for (int cause = 0; cause < LOSS_COUNT; cause++)
            share.lost[cause] += drain_thread_lost(thread, (enum loss)cause);
    }
    for (int cause = 0; cause < ANNOT_LOSS_ALL; cause++) {
        uint64_t count = shared->lost[cause];
        share.lost[cause] += count <= LOSS_BELIEVABLE ? count : 0;
    }
    for (int i = 0; i < MISUSE_COUNT; i++) {
        uint64_t count = shared->misuse[i];
        share.misuse[i] = count <= LOSS_BELIEVABLE ? count : 0;
    }
    add_former(&share.lost[LOSS_CORRUPT], source->former.corrupt);
    add_former(&share.misuse[MISUSE_SCHEMA], source->former.schema);
    add_former(&share.misuse[MISUSE_PAYLOAD_CUT], source->former.payload_cut);
    share.lost[LOSS_CORRUPT] += drain->corrupt;
    for (int i = 0; i < MISUSE_COUNT; i++)
        share.misuse[i] += drain->decoder.misuse[i];
    for (int i = 0; i < QUEUED_FOUND; i++)
        share.queued[i] = source->queues[i] <= LOSS_BELIEVABLE ? source->queues[i] : 0;
    share.queued[QUEUED_MISTIMED] = drain->decoder.queues.mistimed;
    share.queued[QUEUED_ACAUSAL] = drain->decoder.queues.acausal;
    return share;
}

/* Replaces the totals published before by the current ones. */
static void emit_share(struct segment_source *source, struct trace_process *entry,
                       const struct source_share *share)
{
    if (memcmp(share, &source->published, sizeof(*share)) == 0)
        return;
    for (int cause = 0; cause < LOSS_COUNT; cause++)
        entry->lost[cause] += share->lost[cause] - source->published.lost[cause];
    for (int i = 0; i < MISUSE_COUNT; i++)
        entry->misuse[i] += share->misuse[i] - source->published.misuse[i];
    for (int i = 0; i < QUEUED_COUNT; i++)
        entry->queued[i] += share->queued[i] - source->published.queued[i];
    entry->event_count += share->event_count - source->published.event_count;
    entry->revision++;
    source->published = *share;
}

/* 1 + the ordinal of the thread, or 0. */
static uint32_t thread_by_tid(const struct drain *drain, int32_t tid)
{
    for (size_t i = drain->threads.count; i-- > 0;) { /* the newest of equal ones */
        const struct drain_thread *thread = &drain->threads.items[i];
        if (thread->entered && trace_thread(drain->trace, thread->decode.ordinal)->tid == tid)
            return thread->decode.ordinal + 1;
    }
    return 0;
}

/* The thread may have its first event only after the threads were searched: it is found later
 * then. */
static void publish_note_thread(struct segment_source *source, struct trace_process *entry)
{
    if (source->note_tid == 0 || entry->note_thread != 0)
        return;
    entry->note_thread = thread_by_tid(source->drain, source->note_tid);
    entry->revision += entry->note_thread != 0;
}

/* Publishes the last note of the process, which may survive it. */
static int publish_note(struct segment_source *source, struct trace *trace)
{
    struct annot_note note;
    struct drain *drain = source->drain;
    struct trace_process *entry = trace_process(trace, source->who.ordinal);
    publish_note_thread(source, entry);
    if (drain->broken || source->note_published)
        return 0;
    int found = segment_read_note(&source->segment, &note);
    if (found <= 0) {
        drain->broken = found < 0;
        return 0;
    }
    size_t length = note.length < ANNOT_NOTE_MAX ? note.length : ANNOT_NOTE_MAX;
    int64_t text = names_inline(&drain->decoder.names, (const char *)note.text, length);
    if (text < 0)
        return -ENOMEM;
    source->note_published = true;
    if (entry->note != 0)
        return 0;
    entry->note = (uint32_t)text;
    entry->note_ns = decode_time(&drain->decoder, note.time);
    entry->revision++;
    source->note_tid = note.tid;
    publish_note_thread(source, entry);
    return 0;
}

/* Counts texts of all processes that the collector dropped for lack of room. */
static int publish_cut(struct segment_source *source, struct trace *trace)
{
    static const char name[] = "texts: a process had more different ones than are kept";
    uint64_t cut = source->drain->decoder.names.cut, more = cut - source->cut_published;
    source->cut_published = cut;
    return more == 0 ? 0
                     : trace_fact_set(trace, FACT_LOSS, name, trace_fact_value(trace, name) + more);
}

/* Counts calls of all processes that were dropped as too short. */
static int publish_short(struct segment_source *source, struct trace *trace)
{
    uint64_t count = source->drain->short_count, more = count - source->short_published;
    source->short_published = count;
    return more == 0 ? 0
                     : trace_fact_set(trace, FACT_NOTE, TRACE_FACT_SHORT,
                                      trace_fact_value(trace, TRACE_FACT_SHORT) + more);
}

static int publish_names(struct segment_source *source, struct trace *trace)
{
    struct drain *drain = source->drain;
    int error = drain->broken ? 0 : names_walk(&drain->decoder.names);
    if (error == 0 && !drain->broken)
        error = decode_queue_names(&drain->decoder);
    if (error == -EFAULT)
        drain->broken = true;
    if (error != -ENOMEM)
        error = publish_cut(source, trace);
    if (error == 0)
        error = publish_short(source, trace);
    return error != 0 ? error : publish_note(source, trace);
}

int source_publish(struct segment_source *source, struct trace *trace)
{
    struct drain *drain = source->drain;
    int error = drain_publish(drain);
    if (error == 0)
        error = publish_names(source, trace);
    if (error != 0)
        return error;
    if (!drain->broken && (segment_read_shared(&source->segment, &source->shared) != 0 ||
                           segment_read_queues(&source->segment, source->queues) != 0))
        drain->broken = true;
    int64_t name = names_by_id(&drain->decoder.names, source->shared.process_name);
    if (name == -ENOMEM)
        return -ENOMEM;
    source->orderly = source->shared.exit_state == ANNOT_EXIT_ORDERLY;
    source->shared_bytes = source_bytes(source);
    struct trace_process *entry = trace_process(trace, source->who.ordinal);
    struct source_share share = share_now(source);
    emit_share(source, entry, &share);
    bool peak = source->shared_bytes > entry->peak_bytes;
    bool named = name > 0 && entry->name != (uint32_t)name;
    if (peak)
        entry->peak_bytes = source->shared_bytes;
    if (named)
        entry->name = (uint32_t)name;
    entry->revision += peak || named;
    return 0;
}

/* Tools that emulate the processor (valgrind) replace a program's auxiliary vector. Then the
 * mapping decides. */
bool source_was_replaced(struct segment_source *source)
{
    if (source->watch.pid <= 0 || source->watch.ended)
        return false;
    uint64_t address = proc_at_random(source->watch.pid);
    if (address == 0 || source->who.at_random_address == 0 ||
        address == source->who.at_random_address || address == source->kernels_address)
        return false;
    if (proc_has_mapped(source->watch.pid, source->segment.device, source->segment.inode) == 0)
        return true;
    source->kernels_address = address;
    return false;
}

void source_end(struct segment_source *source, struct trace *trace, int wait_status, int64_t end_ns)
{
    struct trace_process *entry = trace_process(trace, source->who.ordinal);
    bool is_reported = entry->end == PROCESS_EXITED || entry->end == PROCESS_SIGNALED;
    if (entry->end == PROCESS_EXEC || (is_reported && !source->status_known))
        return; /* the kernel reported it */
    if (source->status_known && WIFEXITED(wait_status)) {
        entry->end = PROCESS_EXITED;
        entry->end_value = WEXITSTATUS(wait_status);
    } else if (source->status_known) {
        entry->end = PROCESS_SIGNALED;
        entry->end_value = WTERMSIG(wait_status);
    } else {
        entry->end = source->orderly ? PROCESS_EXITED_ORDERLY : PROCESS_VANISHED;
    }
    if (entry->end_ns == 0)
        entry->end_ns = end_ns;
    entry->revision++;
}

void source_end_exec(struct segment_source *source, struct trace *trace, int64_t end_ns)
{
    struct trace_process *entry = trace_process(trace, source->who.ordinal);
    if (entry->end != PROCESS_EXEC) /* else the kernel reported the time */
        entry->end_ns = end_ns;
    entry->end = PROCESS_EXEC;
    entry->revision++;
    source->status_known = source->status_final = true;
}

void source_remove_segment(struct segment_source *source)
{
    struct stat status;
    if (!source->drain)
        return;
    int directory_fd = source->directory->fd;
    if (fstatat(directory_fd, source->segment.name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        status.st_ino == source->segment.inode && status.st_dev == source->segment.device)
        unlinkat(directory_fd, source->segment.name, 0);
    if (source->image)
        source->image->names = names_detach(&source->drain->decoder.names);
    drain_destroy(source->drain);
    source->drain = NULL;
    segment_close(&source->segment);
    source->state = SOURCE_GONE;
}

void source_destroy(struct segment_source *source)
{
    if (source->image) {
        image_forget_names(source->image);
        source->image->source = NULL;
    }
    drain_destroy(source->drain);
    segment_close(&source->segment);
    process_watch_close(&source->watch);
    free(source);
}
