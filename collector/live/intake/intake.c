/* SPDX-License-Identifier: MIT */
/* The list of processes, and the steps that read each of them. Segments become processes of the
 * trace in intake_admit.c. */
#include "intake.h"

#include "clock_map.h"
#include "clock_now.h"
#include "drain_recorder.h"
#include "intake_admit.h"
#include "proc_info.h"
#include "segment_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    EVENTS_PER_WAIT = 64,
    HELD_BYTES = 2 << 20, /* of a pool, that wait for a flush if nothing else triggers one */
    EMPTIED_MAX = 8,      /* segments of ended processes that wait for a flush */
};

#define EXIT_MEMORY_NS INT64_C(2000000000)

#define NAMES_MEMORY_NS INT64_C(1000000000)

int intake_create(const struct intake_options *options, struct intake **ret_intake)
{
    struct intake *intake = calloc(1, sizeof(*intake));
    if (!intake)
        return -ENOMEM;
    intake->options = *options;
    intake->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    int error = intake->epoll_fd < 0 ? -errno : guard_install();
    if (error == 0)
        error = intake_add_directory(intake, options->directory);
    if (error != 0) {
        intake_destroy(intake);
        return error;
    }
    *ret_intake = intake;
    return 0;
}

int intake_add_directory(struct intake *intake, struct directory *directory)
{
    struct epoll_event event = {.events = EPOLLIN};
    struct discover *discover = calloc(1, sizeof(*discover));
    int error = discover && vec_reserve(&intake->discovers, 1) == 0 ? 0 : -ENOMEM;
    if (error == 0)
        error = discover_open(discover, directory);
    if (error != 0) {
        free(discover);
        return error;
    }
    intake->discovers.items[intake->discovers.count++] = discover;
    return discover->fd < 0 || epoll_ctl(intake->epoll_fd, EPOLL_CTL_ADD, discover->fd, &event) == 0
               ? 0
               : -errno;
}

void intake_destroy(struct intake *intake)
{
    if (!intake)
        return;
    for (size_t i = 0; i < intake->sources.count; i++)
        source_destroy(intake->sources.items[i]);
    vec_free(&intake->sources);
    vec_free(&intake->pending);
    vec_free(&intake->unread);
    vec_free(&intake->junk);
    for (size_t i = 0; i < intake->discovers.count; i++) {
        discover_close(intake->discovers.items[i]);
        free(intake->discovers.items[i]);
    }
    vec_free(&intake->discovers);
    if (intake->epoll_fd >= 0)
        close(intake->epoll_fd);
    free(intake);
}

void intake_resume(struct intake *intake, const struct intake_known *known, size_t count)
{
    intake->known = known;
    intake->known_count = count;
}

int intake_fd(const struct intake *intake)
{
    return intake->epoll_fd;
}

/* ---- Watchers of queues ---------------------------------------------------------------------- */

/* Writes the session's wishes into a word of the segment, which the program's watchers of queues
 * (of a GPU, say) poll at will. Cost: a comparison. */
static void write_wishes(const struct intake *intake, struct segment_source *source)
{
    uint32_t wishes = intake->filter.wishes | intake->wishes;
    if (source->wishes == wishes || source->drain->broken)
        return;
    if (segment_set_wishes(&source->segment, wishes) == 0)
        source->wishes = wishes;
}

void intake_ask_queues(struct intake *intake)
{
    intake->wishes |= ANNOT_WISH_END;
}

bool intake_awaits_queues(const struct intake *intake)
{
    for (size_t i = 0; i < intake->sources.count; i++) {
        const struct segment_source *source = intake->sources.items[i];
        uint64_t counts[ANNOT_QUEUE_COUNTS];
        if (source->state == SOURCE_LIVE && !source->watch.ended && !source->drain->broken &&
            segment_read_queues(&source->segment, counts) == 0 &&
            counts[ANNOT_QUEUE_TOTAL_OPENED] > counts[ANNOT_QUEUE_TOTAL_SHUT])
            return true;
    }
    return false;
}

/* ---- Ends ------------------------------------------------------------------------------------ */

static bool find_exit(struct intake *intake, const struct segment_source *source, int *ret_status)
{
    int64_t now = clock_now_ns();
    uint64_t end = intake->exit_count, begin = end > INTAKE_EXITS_MAX ? end - INTAKE_EXITS_MAX : 0;
    for (uint64_t i = end; i-- > begin;) {
        const struct intake_exit *seen = &intake->exits[i % INTAKE_EXITS_MAX];
        if (seen->pid == source->host_pid && now - seen->time_ns < EXIT_MEMORY_NS) {
            *ret_status = seen->wait_status;
            return true;
        }
    }
    return false;
}

/* Records how an ended process ended, as far as that is known by now. */
static void emit_end(struct intake *intake, struct segment_source *source)
{
    int status = 0;
    if (source->status_final)
        return;
    source->status_known =
        process_watch_status(&source->watch, &status) == 1 || find_exit(intake, source, &status);
    if (source->status_known || !source->end_published)
        source_end(source, intake->options.trace, status, source->end_ns);
    source->end_published = true;
    /* The parent may have reaped the status: it will not be known later. */
    source->status_final = source->status_known || clock_now_ns() - source->end_ns > EXIT_MEMORY_NS;
    if (source->status_final)
        process_watch_close(&source->watch);
}

/* The end time: now, or without a watch the last known event. */
static int64_t end_time(const struct intake *intake, const struct segment_source *source)
{
    int64_t last = source->drain->past.last_ns;
    int64_t note_ns = trace_process(intake->options.trace, source->who.ordinal)->note_ns;
    if (source->watch.pid > 0)
        return clock_now_ns();
    for (size_t i = 0; i < source->drain->threads.count; i++)
        if (source->drain->threads.items[i].decode.last_ns > last)
            last = source->drain->threads.items[i].decode.last_ns;
    if (source->orderly && decode_time(&source->drain->decoder, source->shared.exit_time) > last)
        last = decode_time(&source->drain->decoder, source->shared.exit_time);
    if (note_ns > last)
        last = note_ns;
    return last != 0 && last < clock_now_ns() ? last : clock_now_ns();
}

/* Reads the rest of the segment of an ended process; takes several calls if room is short. */
static int empty_source(struct intake *intake, struct segment_source *source, bool replaced)
{
    int64_t bytes = drain_visit(source->drain, DRAIN_DEAD);
    if (bytes >= 0 && source->drain->cut)
        return 0;
    int error = bytes < 0 ? (int)bytes : drain_finish(source->drain);
    if (error == 0)
        error = source_publish(source, intake->options.trace);
    if (error != 0)
        return error;
    source->state = SOURCE_EMPTIED;
    source->end_ns = end_time(intake, source);
    if (replaced)
        source_end_exec(source, intake->options.trace, source->end_ns);
    else
        emit_end(intake, source);
    return 0;
}

/* Reads all at once, regardless of room: the next image of the process is about to take part. */
int intake_replace(struct intake *intake, struct segment_source *source)
{
    source->drain->room = NULL;
    return empty_source(intake, source, true);
}

void intake_note_exit(struct intake *intake, int pid, int wait_status)
{
    intake->exits[intake->exit_count++ % INTAKE_EXITS_MAX] =
        (struct intake_exit){pid, wait_status, clock_now_ns()};
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* Takes all ready events: there is no other look at the end. */
static void take_epoll_events(struct intake *intake)
{
    struct epoll_event events[EVENTS_PER_WAIT];
    int count = EVENTS_PER_WAIT;
    while (count == EVENTS_PER_WAIT) {
        count = epoll_wait(intake->epoll_fd, events, EVENTS_PER_WAIT, 0);
        for (int i = 0; i < count; i++) {
            struct segment_source *source = events[i].data.ptr;
            if (!source)
                continue;
            source->watch.ended = true;
            epoll_ctl(intake->epoll_fd, EPOLL_CTL_DEL, source->watch.pidfd, NULL);
        }
    }
}

struct filter_rules *intake_filter(struct intake *intake)
{
    return &intake->filter;
}

/* Writes the filter's masks to a segment. On failure the process sends more than requested. */
static int emit_filter(struct intake *intake, struct segment_source *source)
{
    struct drain *drain = source->drain;
    if (intake->filter.revision == 0 || drain->broken)
        return 0;
    int error = filter_masks_emit(&intake->filter, &drain->decoder.names, &source->filter);
    if (error == -EFAULT)
        drain->broken = true;
    return error == -ENOMEM ? error : 0;
}

static int64_t step_source(struct intake *intake, struct segment_source *source, bool partial)
{
    if (source->state != SOURCE_LIVE)
        return 0;
    if (source->watch.pidfd < 0)
        process_watch_poll(&source->watch);
    int error =
        emit_filter(intake, source); /* also for an ended one: notes which rules fitted it */
    if (error != 0)
        return error;
    if (source->watch.ended)
        return empty_source(intake, source, false);
    write_wishes(intake, source);
    int64_t bytes = 0;
    if (!source->drain->decoder.overwrites) /* else at the end */
        bytes = drain_visit(source->drain, partial ? DRAIN_CLAIMED : DRAIN_RELEASED);
    return bytes;
}

void intake_heartbeat(struct intake *intake)
{
    for (size_t i = 0; i < intake->sources.count; i++) {
        const struct segment_source *source = intake->sources.items[i];
        if (source->state == SOURCE_LIVE && !source->drain->broken)
            segment_heartbeat(&source->segment, source->drain->decoder.monotonic
                                                    ? (uint64_t)clock_now_ns()
                                                    : clock_now_raw());
    }
}

int64_t intake_step(struct intake *intake, bool partial)
{
    int64_t total = 0;
    take_epoll_events(intake);
    int error = intake_discover(intake);
    size_t turn = intake->turn, count = intake->sources.count;
    bool cut = false;
    for (size_t i = 0; i < count && error == 0; i++) {
        size_t place = (turn + i) % count;
        struct segment_source *source = intake->sources.items[place];
        int64_t bytes = step_source(intake, source, partial);
        if (bytes < 0)
            return bytes;
        total += bytes;
        if (cut || source->state != SOURCE_LIVE || !source->drain->cut)
            continue;
        cut = true;
        intake->turn =
            place + (bytes > 0); /* the source that got the last room comes last next time */
    }
    return error != 0 ? error : total;
}

static int look_at(struct intake *intake, struct segment_source *source)
{
    if (source->state == SOURCE_GONE || source->state == SOURCE_EMPTIED) {
        if (source->end_ns != 0)
            emit_end(intake, source);
        return 0;
    }
    int error = source_publish(source, intake->options.trace);
    if (source->watch.pid == 0 && source->orderly) /* not observable, but it left in order */
        source->watch.ended = true;
    if (error == 0 && source_was_replaced(source))
        error = intake_replace(intake, source);
    return error;
}

/* Frees most of the state of processes that are final, unless samples of them may still arrive. */
static void forget_gone(struct intake *intake)
{
    int64_t now_ns = clock_now_ns();
    size_t kept = 0;
    for (size_t i = 0; i < intake->sources.count; i++) {
        struct segment_source *source = intake->sources.items[i];
        bool forget = source->state == SOURCE_GONE &&
                      (source->end_ns == 0 ||
                       (source->status_final && now_ns - source->end_ns > NAMES_MEMORY_NS));
        if (forget) {
            kin_leave(lives_kin(intake->options.lives), source->relative);
            source_destroy(source);
        } else {
            intake->sources.items[kept++] = source;
        }
    }
    intake->sources.count = kept;
}

int intake_look_around(struct intake *intake)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < intake->sources.count; i++) {
        struct segment_source *source = intake->sources.items[i];
        int error = look_at(intake, source);
        if (error != 0)
            return error;
        bytes += source->state == SOURCE_GONE ? 0 : source->shared_bytes;
    }
    forget_gone(intake);
    intake->shared_bytes = bytes;
    if (bytes > intake->peak_bytes)
        intake->peak_bytes = bytes;
    return 0;
}

int intake_seal(struct intake *intake, uint64_t ticket)
{
    int error = 0;
    for (size_t i = 0; i < intake->sources.count && error == 0; i++) {
        struct segment_source *source = intake->sources.items[i];
        if (source->state == SOURCE_LIVE)
            error = drain_seal(source->drain, ticket);
        else if (source->state == SOURCE_EMPTIED && source->ticket == 0)
            source->ticket = ticket;
    }
    return error;
}

void intake_free(struct intake *intake, uint64_t written)
{
    for (size_t i = 0; i < intake->sources.count; i++) {
        struct segment_source *source = intake->sources.items[i];
        if (source->state == SOURCE_LIVE)
            drain_free(source->drain, written);
        else if (source->state == SOURCE_EMPTIED &&
                 (written == DRAIN_ALL || (source->ticket != 0 && source->ticket <= written)))
            source_remove_segment(source);
    }
}

/* True if the program has no free block: it loses records, or waits, until blocks come back. */
static bool is_exhausted(const struct segment_source *source)
{
    struct annot_shared shared;
    return segment_read_shared(&source->segment, &shared) == 0 && (uint32_t)shared.free_head == 0 &&
           shared.high_water >= source->segment.info.block_count;
}

int64_t intake_least_pool(const struct intake *intake, int64_t most)
{
    for (size_t i = 0; i < intake->sources.count; i++) {
        const struct segment_source *source = intake->sources.items[i];
        int64_t bytes = (int64_t)source->segment.info.block_count * ANNOT_BLOCK_SIZE;
        if (source->state == SOURCE_LIVE && bytes < most)
            most = bytes;
    }
    return most;
}

/* The number of read blocks that wait for intake_seal. */
static size_t unsealed(const struct segment_source *source)
{
    const struct drain *drain = source->state == SOURCE_LIVE ? source->drain : NULL;
    return drain ? drain->done.count - drain->sealed_count : 0;
}

bool intake_holds_much(const struct intake *intake)
{
    for (size_t i = 0; i < intake->sources.count; i++)
        if (unsealed(intake->sources.items[i]) >= HELD_BYTES / ANNOT_BLOCK_SIZE)
            return true;
    return false;
}

bool intake_is_pressed(const struct intake *intake)
{
    uint32_t emptied_count = 0;
    for (size_t i = 0; i < intake->sources.count; i++) {
        const struct segment_source *source = intake->sources.items[i];
        emptied_count += source->state == SOURCE_EMPTIED && source->ticket == 0;
        size_t done = unsealed(source);
        if (done > 0 && (done * 8 >= source->segment.info.block_count || is_exhausted(source)))
            return true;
    }
    return emptied_count >= EMPTIED_MAX;
}

int intake_finish(struct intake *intake)
{
    int64_t bytes = intake_step(intake, true);
    for (size_t i = 0; i < intake->discovers.count; i++)
        discover_stop(intake->discovers.items[i]);
    int error = bytes < 0 ? (int)bytes : intake_look_around(intake);
    if (error == 0)
        error = intake_note_search(intake, INT64_MAX); /* no process can join now */
    for (size_t i = 0; i < intake->sources.count && error == 0; i++) {
        struct segment_source *source = intake->sources.items[i];
        if (source->state != SOURCE_LIVE)
            continue;
        bytes = drain_visit(source->drain, DRAIN_CLAIMED);
        error = bytes < 0 ? (int)bytes : drain_finish(source->drain);
        if (error == 0)
            error = source_publish(source, intake->options.trace);
        intake->left_count += !process_watch_poll(&source->watch) && !source->orderly;
        source->state = SOURCE_EMPTIED;
    }
    intake_remove_junk(intake);
    return error;
}

int intake_snapshot(struct intake *intake)
{
    int error = intake_discover(intake);
    for (size_t i = 0; i < intake->sources.count && error == 0; i++) {
        struct segment_source *source = intake->sources.items[i];
        int64_t bytes = drain_recorder(source->drain, source->watch.ended);
        source->drain->broken = bytes == -EFAULT; /* the data read so far stays */
        error = bytes < 0 && bytes != -EFAULT ? (int)bytes : drain_finish(source->drain);
        if (error == 0)
            error = source_publish(source, intake->options.trace);
    }
    return error;
}

bool intake_is_mapped(const struct intake *intake)
{
    for (size_t i = 0; i < intake->sources.count; i++) {
        const struct segment_source *source = intake->sources.items[i];
        if (source->watch.pid > 0 && !source->watch.ended &&
            proc_has_mapped(source->watch.pid, source->segment.device, source->segment.inode) == 1)
            return true;
    }
    return false;
}

void intake_count(const struct intake *intake, struct intake_counts *ret_counts)
{
    *ret_counts =
        (struct intake_counts){.process_count = trace_process_count(intake->options.trace),
                               .thread_count = trace_thread_count(intake->options.trace),
                               .left_count = intake->left_count,
                               .shared_bytes = intake->shared_bytes,
                               .peak_bytes = intake->peak_bytes};
    for (size_t i = 0; i < intake->sources.count; i++)
        ret_counts->live_count += intake->sources.items[i]->state == SOURCE_LIVE;
    for (uint32_t i = 0; i < ret_counts->process_count; i++) {
        const struct trace_process *entry = trace_process_get(intake->options.trace, i);
        ret_counts->event_count += entry->event_count;
        for (int cause = 0; cause < LOSS_COUNT; cause++)
            ret_counts->lost_count += entry->lost[cause];
    }
}
