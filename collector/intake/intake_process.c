/* SPDX-License-Identifier: MIT */
/* The life of a process as the trace tells it. */
#include "intake_process.h"

#include "proc_info.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CMDLINE_TEXT_SIZE = 8192, TICK_NS = 10 * 1000 * 1000 };

/* One argument as a shell would take it. */
static void add_argument(struct text *text, const char *word, size_t length)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=./:,@%^~";
    size_t span = 0;
    while (span < length && strchr(plain, word[span]))
        span++;
    if (span == length && length > 0) {
        text_add(text, word, length);
        return;
    }
    text_add(text, "'", 1);
    for (size_t i = 0; i < length; i++) {
        if (word[i] == '\'')
            text_add(text, "'\\''", 4);
        else
            text_add(text, word + i, 1);
    }
    text_add(text, "'", 1);
}

static int64_t cmdline_ordinal(struct trace *trace, const struct annot_segment_info *info)
{
    char buffer[CMDLINE_TEXT_SIZE];
    struct text text = text_init(buffer, sizeof(buffer));
    const char *at = (const char *)info->cmdline, *end = at + info->cmdline_size;
    while (at < end) {
        size_t length = strnlen(at, (size_t)(end - at));
        if (text.length > 0)
            text_add(&text, " ", 1);
        add_argument(&text, at, length);
        at += length + 1;
    }
    return trace_string_add(trace, buffer, text.length);
}

/* When it began: at the fork, or as the kernel says (in hundredths of a second). */
static int64_t start_ns(const struct annot_segment_info *info, struct decoder *decoder,
                        int64_t begin_ns, int64_t *ret_fork_ns)
{
    int64_t created = decode_time(decoder, info->created_time);
    *ret_fork_ns = info->fork_time != 0 ? decode_time(decoder, info->fork_time) : 0;
    if (*ret_fork_ns != 0)
        return *ret_fork_ns;
    int64_t start = proc_ticks_ns(info->start_time_ticks);
    if (start < begin_ns && begin_ns - start <= TICK_NS && begin_ns < created)
        return begin_ns; /* the kernel rounds down */
    return start == 0 || start > created ? created : start;
}

/* Programs of one machine share one clock: the first one names it. */
static int64_t clock_ordinal(struct trace *trace, const struct annot_segment_info *info)
{
    static const char *const names[] = {[ANNOT_CLOCK_MONOTONIC] = "monotonic",
                                        [ANNOT_CLOCK_TSC] = "tsc",
                                        [ANNOT_CLOCK_CNTVCT] = "cntvct"};
    return trace_string_add(trace, names[info->clock], strlen(names[info->clock]));
}

int process_describe(struct process *process, struct trace *trace, struct clock_map *clock)
{
    const struct annot_segment_info *info = &process->segment.info;
    struct proc_stat stat;
    size_t comm_length = strnlen((const char *)info->comm, sizeof(info->comm));
    int64_t comm = trace_string_add(trace, (const char *)info->comm, comm_length);
    int64_t cmdline = cmdline_ordinal(trace, info);
    int64_t clock_name = clock_ordinal(trace, info);
    struct trace_process *entry = trace_process(trace, process->who.ordinal);
    struct trace_session *session = trace_session(trace);
    if (comm < 0 || cmdline < 0 || clock_name < 0)
        return -ENOMEM;
    if (session->clock == 0) {
        session->clock = (uint32_t)clock_name;
        session->revision++;
    }
    clock_map_advance(clock);
    bool watched = process->watch.pid > 0 && proc_stat(process->watch.pid, &stat) == 0;
    entry->pid = process->watch.pid > 0 ? process->watch.pid : info->pid;
    entry->ppid = watched ? stat.ppid : info->ppid;
    entry->ns_pid = info->pid;
    entry->pid_ns = info->pid_ns;
    entry->identity = info->identity;
    entry->forked = info->parent_identity != 0;
    entry->start_ns = start_ns(info, &process->drain->decoder, session->begin_ns, &entry->fork_ns);
    entry->uid = info->uid;
    entry->comm = (uint32_t)comm;
    entry->cmdline = (uint32_t)cmdline;
    entry->runtime_version = info->runtime_version;
    entry->revision++;
    return 0;
}

static uint64_t process_bytes(const struct process *process, const struct directory *directory)
{
    struct stat status;
    if (fstatat(directory->fd, process->segment.name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        status.st_ino != process->segment.inode)
        return 0;
    return (uint64_t)status.st_blocks * 512;
}

/* What this segment knows by now. */
static struct process_share share_now(const struct drain *drain, const struct annot_shared *shared)
{
    struct process_share share = {.event_count = drain->past.event_count};
    memcpy(share.lost, drain->past.lost, sizeof(share.lost));
    share.lost[LOSS_CORRUPT] += drain->corrupt;
    for (size_t i = 0; i < drain->threads.count; i++) {
        const struct drain_thread *thread = &drain->threads.items[i];
        share.event_count += thread->decode.record_count;
        for (int cause = 0; cause < LOSS_COUNT; cause++)
            share.lost[cause] += drain_thread_lost(thread, (enum loss)cause);
    }
    for (int cause = 0; cause < LOSS_COUNT; cause++)
        share.lost[cause] += shared->lost[cause] <= LOSS_BELIEVABLE ? shared->lost[cause] : 0;
    for (int i = 0; i < MISUSE_COUNT; i++)
        share.misuse[i] = shared->misuse[i] <= LOSS_BELIEVABLE ? shared->misuse[i] : 0;
    return share;
}

/* Replaces what was told before by what is known now. */
static void tell_share(struct process *process, struct trace_process *entry,
                       const struct process_share *share)
{
    if (memcmp(share, &process->told, sizeof(*share)) == 0)
        return;
    for (int cause = 0; cause < LOSS_COUNT; cause++)
        entry->lost[cause] += share->lost[cause] - process->told.lost[cause];
    for (int i = 0; i < MISUSE_COUNT; i++)
        entry->misuse[i] += share->misuse[i] - process->told.misuse[i];
    entry->event_count += share->event_count - process->told.event_count;
    entry->revision++;
    process->told = *share;
}

int process_publish(struct process *process, struct trace *trace, const struct directory *directory)
{
    struct drain *drain = process->drain;
    int error = drain_publish(drain);
    if (error != 0)
        return error;
    if (!drain->broken && segment_read_shared(&process->segment, &process->shared) != 0)
        drain->broken = true;
    int64_t name = names_by_id(&drain->decoder.names, process->shared.process_name);
    if (name == -ENOMEM)
        return -ENOMEM;
    process->orderly = process->shared.exit_state == ANNOT_EXIT_ORDERLY;
    process->shared_bytes = process_bytes(process, directory);
    struct trace_process *entry = trace_process(trace, process->who.ordinal);
    struct process_share share = share_now(drain, &process->shared);
    tell_share(process, entry, &share);
    bool peak = process->shared_bytes > entry->peak_bytes;
    bool named = name > 0 && entry->name != (uint32_t)name;
    if (peak)
        entry->peak_bytes = process->shared_bytes;
    if (named)
        entry->name = (uint32_t)name;
    entry->revision += peak || named;
    return 0;
}

bool process_was_replaced(const struct process *process)
{
    if (process->watch.pid <= 0 || process->watch.ended)
        return false;
    uint64_t address = proc_at_random(process->watch.pid);
    if (address != 0 && process->who.at_random_address != 0 &&
        address != process->who.at_random_address)
        return true;
    return false;
}

void process_end(struct process *process, struct trace *trace, int wait_status, int64_t end_ns)
{
    struct trace_process *entry = trace_process(trace, process->who.ordinal);
    if (process->status_known && WIFEXITED(wait_status)) {
        entry->end = PROCESS_EXITED;
        entry->end_value = WEXITSTATUS(wait_status);
    } else if (process->status_known) {
        entry->end = PROCESS_SIGNALED;
        entry->end_value = WTERMSIG(wait_status);
    } else {
        entry->end = process->orderly ? PROCESS_EXITED_ORDERLY : PROCESS_VANISHED;
    }
    if (entry->end_ns == 0)
        entry->end_ns = end_ns;
    entry->revision++;
}

void process_end_exec(struct process *process, struct trace *trace, int64_t end_ns)
{
    struct trace_process *entry = trace_process(trace, process->who.ordinal);
    entry->end = PROCESS_EXEC;
    entry->end_ns = end_ns;
    entry->revision++;
    process->status_known = process->status_final = true;
}

void process_remove_segment(struct process *process, const struct directory *directory)
{
    struct stat status;
    if (!process->drain)
        return;
    if (fstatat(directory->fd, process->segment.name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        status.st_ino == process->segment.inode && status.st_dev == process->segment.device)
        unlinkat(directory->fd, process->segment.name, 0);
    drain_destroy(process->drain);
    process->drain = NULL;
    segment_close(&process->segment);
    process->state = PROCESS_GONE;
}

void process_destroy(struct process *process)
{
    drain_destroy(process->drain);
    segment_close(&process->segment);
    process_watch_close(&process->watch);
    free(process);
}
