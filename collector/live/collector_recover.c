/* SPDX-License-Identifier: MIT */
/* Recovers the session of a killed collector: reads its recording, finds each thread's position in
 * it, and appends the rest from the segments. The session file is removed last, when all is in the
 * file, so a recovery that is killed can be repeated. */
#include "collector_recover.h"

#include "annot_heap.h"
#include "annot_places.h"
#include "annot_wire.h"
#include "clock_map.h"
#include "clock_now.h"
#include "collector.h"
#include "collector_functions.h"
#include "collector_writing.h"
#include "drain_sums.h"
#include "file_io.h"
#include "heaps.h"
#include "intake.h"
#include "python_lines.h"
#include "reader.h"
#include "refusals.h"
#include "session_file.h"
#include "store.h"
#include "target.h"
#include "vec.h"
#include "writer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STEPS_MAX = 1000 };

#define SETTLE_NS 2000000 /* from closing the gate to the last look */

struct recovery {
    struct directory *directory;
    struct session_file file; /* fd -1: segments without a session */
    struct annot_session session;
    struct clock_map clock;
    struct lives *lives;
    struct store_reader *reader; /* owns the trace if set */
    struct trace *trace;
    struct store_writer *writer;
    struct intake *intake;
    struct heaps *heaps;
    struct function_names functions;
    struct refusals refusals;
    struct targets gate;            /* empty, but living programs may have to leave */
    VEC(struct intake_known) known; /* by thread ordinal */
    uint64_t known_events;
    int64_t last_sample_ns;      /* 0 = no samples */
    struct counted_sums counted; /* by programs */
    bool let_go;                 /* programs still run: their events until now are recorded */
    struct collector_recovered what;
};

/* ---- State of the recording ------------------------------------------------------------------ */

static void note_event(struct decode_thread *thread, const struct event *event)
{
    thread->depth = (uint32_t)event_depth_after(event, thread->depth);
    if (thread->first_ns == 0)
        thread->first_ns = event->time_ns;
    if (event->time_ns > thread->last_ns)
        thread->last_ns = event->time_ns;
    if (event->kind == EVENT_LOST && event->level < LOSS_COUNT)
        thread->lost[event->level] += event->value.uint64;
    else
        thread->record_count += event_is_record(event->kind);
}

/* Adds entries for all threads before the `count`th. */
static int know_threads(struct recovery *recovery, uint32_t count)
{
    while (recovery->known.count < count) {
        struct intake_known fresh = {.resumed.thread.ordinal = (uint32_t)recovery->known.count};
        if (vec_push(&recovery->known, fresh) != 0)
            return -ENOMEM;
    }
    return 0;
}

static int note_batch(struct recovery *recovery, const struct event_batch *batch)
{
    if (know_threads(recovery, batch->thread + 1) != 0)
        return -ENOMEM;
    struct drain_resumed *known = &recovery->known.items[batch->thread].resumed;
    for (uint32_t i = 0; i < batch->count; i++)
        note_event(&known->thread, &batch->events[i]);
    known->last[DRAIN_PLAIN] = batch->source;
    known->seen[DRAIN_PLAIN] = true;
    return 0;
}

/* Counts spans for the thread that reported them. */
static int note_spans(struct recovery *recovery, const struct event_batch *batch)
{
    if (know_threads(recovery, batch->emitter + 1) != 0 ||
        know_threads(recovery, batch->thread + 1) != 0)
        return -ENOMEM;
    struct drain_resumed *known = &recovery->known.items[batch->emitter].resumed;
    known->thread.record_count += batch->count;
    if (batch->source.end_offset != 0) /* else not from a block: the sampler's */
        known->last[DRAIN_SPANS] = batch->source, known->seen[DRAIN_SPANS] = true;
    return 0;
}

/* Recounts the events: the counts in the definitions may be older. */
static void count_anew(struct recovery *recovery)
{
    struct trace *trace = recovery->trace;
    for (uint32_t i = 0; i < trace_process_count(trace); i++)
        trace_process(trace, i)->event_count = 0;
    for (uint32_t i = 0; i < trace_thread_count(trace); i++) {
        struct trace_thread *entry = trace_thread(trace, i);
        struct intake_known *known = &recovery->known.items[i];
        struct trace_process *process = trace_process(trace, entry->process);
        entry->event_count = known->resumed.thread.record_count;
        entry->revision++;
        known->serial = entry->serial;
        if (process)
            process->event_count += entry->event_count;
        recovery->known_events += entry->event_count;
    }
    for (uint32_t i = 0; i < trace_process_count(trace); i++) {
        struct trace_process *process = trace_process(trace, i);
        if (process->end == PROCESS_RUNNING) /* unless its segment is found */
            process->end = PROCESS_VANISHED;
        process->revision++;
    }
}

/* Notes samples that programs counted themselves: the segments hold the totals, including these. */
static int note_counted(struct recovery *recovery, const struct sample *sample)
{
    const struct sample_sets *sets = trace_sets_get(recovery->trace);
    unsigned kind = counted_kind(sample_set_get(sets, sample->set));
    if (kind == 0 || sample->value_count != COUNTED_VALUES)
        return 0;
    return counted_note(&recovery->counted, sample, kind) != 0 ? -ENOMEM : 1;
}

static int take_samples(void *context, const struct sample *samples, size_t count)
{
    const struct recovery *recovery = context;
    return store_writer_add_samples(recovery->writer, samples, count);
}

/* For the recording of the trace, before its samples are read. */
static int make_heaps(struct recovery *recovery)
{
    const struct heaps_options options = {.directory = recovery->directory,
                                          .trace = recovery->trace,
                                          .session_id = recovery->session.id,
                                          .samples = take_samples,
                                          .context = recovery};
    heaps_destroy(recovery->heaps);
    recovery->heaps = heaps_create(&options);
    return recovery->heaps ? 0 : -ENOMEM;
}

/* Threads that were only sampled live as long as their samples. Unwritten samples are lost. */
static int note_samples(struct recovery *recovery)
{
    static const char lost[] =
        "The collector died, or had no room: samples behind the last one here may be missing.";
    const struct sample *samples;
    uint32_t count;
    int more;
    while ((more = store_reader_next_samples(recovery->reader, &samples, &count)) == 1) {
        for (uint32_t i = 0; i < count; i++) {
            struct trace_thread *thread = trace_thread(recovery->trace, samples[i].thread);
            int64_t last_ns = sample_order_ns(&samples[i]);
            int counted = note_counted(recovery, &samples[i]);
            if (counted == 0)
                counted = heaps_note(recovery->heaps, &samples[i]);
            if (counted < 0)
                return counted;
            if (counted)
                continue;
            if (thread->serial == 0 && last_ns > thread->last_ns)
                thread->last_ns = last_ns;
            if (last_ns > recovery->last_sample_ns)
                recovery->last_sample_ns = last_ns;
        }
    }
    if (more == 0 && recovery->last_sample_ns != 0)
        more = trace_fact_set(recovery->trace, FACT_NOTE, lost, 1);
    return more;
}

/* 0, or the reason why the session's recording cannot be continued. */
static int read_recording(struct recovery *recovery)
{
    struct event_batch batch;
    const char *path = (const char *)recovery->session.recording_path;
    if (path[0] == 0)
        return -ENOENT;
    int error = store_reader_open(path, &recovery->reader);
    if (error != 0)
        return error;
    recovery->trace = store_reader_trace(recovery->reader);
    if (trace_session(recovery->trace)->id != recovery->session.id)
        return -ESTALE;
    int more;
    while ((more = store_reader_next(recovery->reader, &batch)) == 1) {
        error = batch.late ? note_spans(recovery, &batch) : note_batch(recovery, &batch);
        if (error != 0)
            return error;
    }
    if (more == 0)
        more = make_heaps(recovery);
    if (more == 0)
        more = note_samples(recovery);
    if (more < 0)
        return more;
    if (know_threads(recovery, trace_thread_count(recovery->trace)) != 0)
        return -ENOMEM;
    count_anew(recovery);
    recovery->what.resumed = true;
    snprintf(recovery->what.recording, sizeof(recovery->what.recording), "%s", path);
    return store_writer_resume(path, recovery->trace, &recovery->writer);
}

/* ---- A new recording ------------------------------------------------------------------------- */

static int new_recording(struct recovery *recovery)
{
    struct store_writer_options options = {0};
    char stamp[32], *path = recovery->what.recording;
    time_t now = time(NULL);
    struct tm local;
    if (recovery->reader)
        store_reader_close(recovery->reader);
    recovery->reader = NULL;
    recovery->known.count = 0;
    recovery->known_events = 0;
    recovery->what.resumed = false;
    recovery->trace = trace_create();
    if (!recovery->trace)
        return -ENOMEM;
    localtime_r(&now, &local);
    strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &local);
    int error = -EEXIST;
    for (int i = 1; error == -EEXIST && i < 1000; i++) {
        int limit = (int)sizeof(recovery->what.recording);
        snprintf(path, (size_t)limit, i == 1 ? "recovered-%s.annot" : "recovered-%s-%d.annot",
                 stamp, i);
        error = store_writer_create(path, recovery->trace, &options, &recovery->writer);
    }
    struct trace_session *entry = trace_session(recovery->trace);
    entry->id = recovery->session.id;
    entry->parent_id = recovery->session.parent_id;
    entry->command_status = -1;
    return error == 0 ? make_heaps(recovery) : error;
}

/* ---- Appending ------------------------------------------------------------------------------- */

static int take_batch(void *context, const struct event_batch *batch)
{
    struct recovery *recovery = context;
    return writing_add(recovery->writer, recovery->trace, batch);
}

static int make_intake(struct recovery *recovery)
{
    recovery->lives = lives_create(recovery->trace);
    struct intake_options options = {
        .directory = recovery->directory,
        .trace = recovery->trace,
        .clock = &recovery->clock,
        .lives = recovery->lives,
        .session_id = recovery->session.id,
        .recover = true,
        .refusals = &recovery->refusals,
        .sink = take_batch,
        .samples = writing_add_samples,
        .samples_context = recovery->writer,
        .counted = &recovery->counted,
        .sink_context = recovery,
        .function = function_names_find,
        .function_context = &recovery->functions,
    };
    int error = recovery->lives ? intake_create(&options, &recovery->intake) : -ENOMEM;
    if (error == 0)
        intake_resume(recovery->intake, recovery->known.items, recovery->known.count);
    return error;
}

/* Appends all committed data. */
static int drain_all(struct recovery *recovery)
{
    for (int i = 0; i < STEPS_MAX; i++) {
        int64_t bytes = intake_step(recovery->intake, true);
        int error = bytes < 0 ? (int)bytes : store_writer_flush(recovery->writer);
        if (error != 0)
            return error;
        intake_free(recovery->intake, DRAIN_ALL);
        intake_heartbeat(recovery->intake);
        if (bytes == 0)
            break;
    }
    return 0;
}

/* Notes the time from which data may be missing. Programs that ended just now were read to the
 * end. */
static int note_unwatched(struct recovery *recovery, uint32_t left_count)
{
    char name[128];
    struct trace_session *session = trace_session(recovery->trace);
    int64_t from_ns = recovery->session.unwatched_ns;
    if (from_ns == 0 || (recovery->let_go && left_count == 0))
        return 0;
    if (from_ns > session->end_ns)
        session->end_ns = from_ns;
    double from_s = (double)(from_ns - session->begin_ns) / 1e9;
    snprintf(name, sizeof(name), TRACE_FACT_UNWATCHED "%.6f s on", from_s > 0 ? from_s : 0.0);
    recovery->what.left_count = left_count > 0 ? left_count : 1;
    return trace_fact_set(recovery->trace, FACT_LOSS, name, recovery->what.left_count);
}

/* Sets the end to the last known event. */
static int finish_trace(struct recovery *recovery)
{
    struct trace *trace = recovery->trace;
    struct trace_session *session = trace_session(trace);
    int64_t begin = INT64_MAX, end = session->begin_ns;
    struct intake_counts counts;
    intake_count(recovery->intake, &counts);
    uint32_t left_count = counts.left_count + refusals_living(&recovery->refusals);
    if (recovery->last_sample_ns > end)
        end = recovery->last_sample_ns;
    for (uint32_t i = 0; i < trace_thread_count(trace); i++) {
        const struct trace_thread *thread = trace_thread_get(trace, i);
        if (thread->first_ns != 0 && thread->first_ns < begin)
            begin = thread->first_ns;
        if (thread->last_ns > end)
            end = thread->last_ns;
        struct trace_process *process = trace_process(trace, thread->process);
        if (process && process->end == PROCESS_VANISHED && process->end_ns < thread->last_ns)
            process->end_ns = thread->last_ns;
    }
    if (session->begin_ns == 0 && begin != INT64_MAX) {
        session->begin_ns = begin;
        session->begin_realtime_ns = clock_real_ns() - (clock_now_ns() - begin);
    }
    session->end_ns = end;
    session->recovered = true;
    session->revision++;
    return note_unwatched(recovery, left_count);
}

/* Detaches living programs: their later events are not recorded. If the session had ended in order,
 * they would have left it by then. */
static void note_living(struct recovery *recovery)
{
    struct intake_counts counts;
    struct annot_session *session = &recovery->session;
    intake_count(recovery->intake, &counts);
    if (counts.live_count + refusals_living(&recovery->refusals) == 0 ||
        session->flags & ANNOT_SESSION_ENDED || session->unwatched_ns != 0)
        return;
    recovery->let_go = true;
    session->unwatched_ns = clock_now_ns();
    session_file_unwatched(&recovery->file, session->unwatched_ns);
}

static int close_session(struct recovery *recovery)
{
    const struct timespec settle = {.tv_nsec = SETTLE_NS};
    int error = refusals_poll(&recovery->refusals, recovery->directory, &recovery->file, false);
    if (error != 0)
        return error;
    note_living(recovery);
    session_file_end(&recovery->file);
    recovery->gate.gate_held = directory_wake_last(recovery->directory) > 0; /* programs leave */
    nanosleep(&settle, NULL);
    return intake_finish(recovery->intake);
}

static void count_result(struct recovery *recovery)
{
    struct intake_counts counts;
    intake_count(recovery->intake, &counts);
    recovery->what.process_count = counts.process_count;
    recovery->what.lost_count = counts.lost_count;
    recovery->what.event_count = counts.event_count - recovery->known_events;
    if (!recovery->what.resumed && counts.event_count == 0 && counts.lost_count == 0) {
        unlink(recovery->what.recording);
        recovery->what.recording[0] = 0;
    }
}

static int leave(struct recovery *recovery)
{
    snprintf(recovery->what.recording, sizeof(recovery->what.recording), "%s",
             (const char *)recovery->session.recording_path);
    return -ENOENT;
}

static int recover_one(struct recovery *recovery, bool make)
{
    int error = clock_map_init(&recovery->clock);
    if (error == 0 && read_recording(recovery) != 0)
        error = make ? new_recording(recovery) : leave(recovery);
    if (error == 0)
        error = refusals_resume(&recovery->refusals, recovery->trace, recovery->directory,
                                &recovery->session);
    if (error == 0)
        error = make_intake(recovery);
    if (error == 0)
        error = drain_all(recovery);
    if (error == 0)
        error = close_session(recovery);
    if (error == 0)
        error = heaps_finish(recovery->heaps, clock_now_ns());
    if (error == 0)
        error = refusals_poll(&recovery->refusals, recovery->directory, &recovery->file, true);
    if (error == 0)
        error = python_lines_take(recovery->file.fd, recovery->trace);
    if (error != 0)
        return error;
    error = finish_trace(recovery);
    if (error != 0)
        return error;
    error = store_writer_close(recovery->writer);
    recovery->writer = NULL;
    targets_shut_gate(&recovery->gate, recovery->directory, recovery->intake);
    if (error == 0) {
        intake_free(recovery->intake, DRAIN_ALL);
        heaps_free(recovery->heaps, UINT64_MAX);
        session_file_remove(recovery->directory, &recovery->file);
        refusal_pages_sweep(recovery->directory);
    }
    count_result(recovery);
    return error;
}

static void recovery_fini(struct recovery *recovery)
{
    targets_shut_gate(&recovery->gate, recovery->directory, NULL);
    store_writer_abandon(recovery->writer);
    intake_destroy(recovery->intake);
    heaps_destroy(recovery->heaps);
    refusals_fini(&recovery->refusals);
    lives_destroy(recovery->lives);
    function_names_fini(&recovery->functions);
    if (recovery->reader)
        store_reader_close(recovery->reader);
    else
        trace_destroy(recovery->trace);
    clock_map_fini(&recovery->clock);
    vec_free(&recovery->known);
    counted_fini(&recovery->counted);
    if (recovery->file.fd >= 0)
        close(recovery->file.fd);
}

/* ---- All sessions of the directory ----------------------------------------------------------- */

struct names_found {
    VEC(char *) items;
};

static void free_names(struct names_found *found)
{
    for (size_t i = 0; i < found->items.count; i++)
        free(found->items.items[i]);
    vec_free(&found->items);
}

static int list(const struct directory *directory, struct names_found *found)
{
    int error = 0;
    DIR *stream = file_list_folder(directory->fd);
    if (!stream)
        return -ENOMEM;
    for (const struct dirent *entry; error == 0 && (entry = readdir(stream));) {
        char *name = strdup(entry->d_name);
        error = name ? vec_push(&found->items, name) : -ENOMEM;
        if (error != 0)
            free(name);
    }
    closedir(stream);
    return error;
}

struct recover_call {
    struct directory *directory;
    void (*done)(void *context, const struct collector_recovered *what);
    void *context;
    bool standard; /* a default directory, which is removed when empty */
    bool make;     /* make new recordings */
    int count;
};

static void run_recovery(struct recover_call *call, struct recovery *recovery)
{
    recovery->directory = call->directory;
    recovery->what.error = recover_one(recovery, call->make);
    recovery_fini(recovery);
    call->count++;
    if (call->done)
        call->done(call->context, &recovery->what);
    free(recovery);
}

/* Reports a session with a collector that holds the lock. */
static void emit_living(const struct recover_call *call, const char *name)
{
    struct collector_recovered what = {.living = true};
    struct annot_session session;
    if (!call->done || session_file_peek(call->directory, name, &session) != 0)
        return;
    snprintf(what.recording, sizeof(what.recording), "%s", (const char *)session.recording_path);
    call->done(call->context, &what);
}

static int recover_session(struct recover_call *call, const char *name)
{
    struct recovery *recovery = calloc(1, sizeof(*recovery));
    if (!recovery)
        return -ENOMEM;
    recovery->file.fd = -1;
    int error = session_file_take(call->directory, name, &recovery->file, &recovery->session);
    if (error == 0) {
        run_recovery(call, recovery);
        return 0;
    }
    if (error == -EBADMSG)
        session_file_remove(call->directory, &recovery->file);
    if (error == -EINVAL) /* a FIFO, a folder: not made by a collector */
        unlinkat(call->directory->fd, name, 0);
    if (error == -EWOULDBLOCK)
        emit_living(call, name);
    recovery_fini(recovery);
    free(recovery);
    return 0;
}

/* True if the session of a segment exists, dead or alive. */
static bool has_session(const struct directory *directory, uint64_t id)
{
    char name[SESSION_NAME_SIZE];
    snprintf(name, sizeof(name), ANNOT_SESSION_PREFIX "%016llx", (unsigned long long)id);
    return faccessat(directory->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Recovers a segment without a session file. */
static int recover_orphan(struct recover_call *call, const char *name)
{
    struct segment segment;
    int error = segment_open(call->directory->fd, name, &segment);
    if (error != 0)
        return error == -ENOMEM ? error : 0;
    uint64_t id = segment.info.session_id;
    segment_close(&segment);
    if (has_session(call->directory, id))
        return 0;
    struct recovery *recovery = calloc(1, sizeof(*recovery));
    if (!recovery)
        return -ENOMEM;
    recovery->file.fd = -1;
    recovery->session.id = id;
    run_recovery(call, recovery);
    return 0;
}

/* Counts of memory of a session that has no file any more: its collector has taken them, or they
 * were copied here. */
static void remove_orphan(const struct directory *directory, const char *name)
{
    char *end;
    const size_t prefix = sizeof(ANNOT_HEAP_PREFIX) - 1;
    if (strncmp(name, ANNOT_HEAP_PREFIX, prefix) != 0)
        return;
    uint64_t id = strtoull(name + prefix, &end, 16);
    if (end == name + prefix + 16 && *end == '-' && !has_session(directory, id))
        unlinkat(directory->fd, name, 0);
}

static int recover_found(struct recover_call *call, const struct names_found *found)
{
    uint64_t id;
    struct segment_name segment;
    int error = 0;
    for (size_t i = 0; i < found->items.count && error == 0; i++)
        if (session_name_parse(found->items.items[i], &id))
            error = recover_session(call, found->items.items[i]);
    for (size_t i = 0; i < found->items.count && error == 0; i++)
        remove_orphan(call->directory, found->items.items[i]);
    for (size_t i = 0; call->make && i < found->items.count && error == 0; i++)
        if (segment_name_parse(found->items.items[i], &segment))
            error = recover_orphan(call, found->items.items[i]);
    return error;
}

static int recover_directory(struct recover_call *call, const char *path)
{
    struct directory place = {.fd = -1};
    struct names_found found = {0};
    if (access(path, F_OK) != 0) /* opening would create it */
        return 0;
    int error = directory_open(path, &place);
    if (error != 0)
        return error;
    call->directory = &place;
    place.made |= call->standard;
    int before = call->count;
    error = guard_install();
    if (error == 0)
        error = list(&place, &found);
    if (error == 0)
        error = recover_found(call, &found);
    free_names(&found);
    if (call->count > before)
        target_sweep(&place);
    if (call->count > before || call->make) /* a collector may have ended without cleaning up */
        directory_remove_unused(&place);
    directory_close(&place);
    call->directory = NULL;
    return error;
}

/* Visits every default place of the user, as programs may have met a collector in any of them. */
static int recover_default(struct recover_call *call)
{
    char path[DIRECTORY_PATH_SIZE];
    struct stat status;
    int first_error = 0;
    call->standard = true;
    for (int place = 0; place < ANNOT_PLACES; place++) {
        if (!annot_place_path(place, geteuid(), path, sizeof(path)) || lstat(path, &status) != 0 ||
            status.st_uid != geteuid())
            continue;
        int error = recover_directory(call, path);
        first_error = first_error != 0 ? first_error : error;
    }
    return first_error;
}

int collector_recover(const char *directory, bool make,
                      void (*done)(void *context, const struct collector_recovered *what),
                      void *context)
{
    const char *named = directory ? directory : getenv(ANNOT_ENV_DIR);
    struct recover_call call = {.done = done, .context = context, .make = make};
    int error = named && *named ? recover_directory(&call, named) : recover_default(&call);
    return error != 0 ? error : call.count;
}
