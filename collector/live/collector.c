/* SPDX-License-Identifier: MIT */
/* A session: its file in the directory, its gate, its intake, its recording. */
#include "collector.h"

#include "annot_barrier.h"
#include "annot_wire.h"
#include "clock_map.h"
#include "clock_now.h"
#include "collector_functions.h"
#include "collector_host.h"
#include "collector_idle.h"
#include "collector_places.h"
#include "collector_requests.h"
#include "collector_sampling.h"
#include "collector_sources.h"
#include "collector_writing.h"
#include "drain.h"
#include "heaps.h"
#include "intake.h"
#include "proc_info.h"
#include "refusals.h"
#include "session_file.h"
#include "store.h"
#include "target.h"
#include "text.h"
#include "writer.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DIRECTORY_TRIES = 8 };

#define PARTIAL_NS INT64_C(500000000) /* between reads of blocks that are being filled */

#define LOOK_NS INT64_C(1000000000)

#define FIRST_LOOK_NS INT64_C(100000000)

#define LATE_NS INT64_C(100000000) /* a collector that did not run for this long is late */

#define SETTLE_NS 2000000 /* from closing the gate to the last look */

struct collector {
    struct directory directory;
    struct session_file session;
    struct clock_map clock;
    struct trace *trace;
    struct store_writer *writer; /* NULL: without a file, or the file is closed */
    struct collector_sink sink;  /* used without a file; else {0} */
    struct intake *intake;
    struct lives *lives;
    struct sampling sampling;
    struct writing writing;
    struct heaps *heaps; /* NULL: programs do not count their allocations */
    struct function_names functions;
    bool no_source, completed, gate_open;
    struct collector_filter filter;
    struct collector_requested requested;
    struct targets targets;
    struct places places; /* in addition to `directory` */
    bool attached;        /* to running programs, which are assigned to the session */
    int epoll_fd;         /* of intake and sampler */
    struct refusals refusals;
    uint64_t parent_id;
    int error; /* of the file; permanent */
    int timeout_ms;
    int64_t pool_bytes; /* of each process */
    int64_t next_partial_ns, next_look_ns;
    struct hold hold;      /* after an error of the file */
    struct host_load load; /* at the opening of the gate */
    char session_text[17], place_text[40];
    char output[PATH_MAX];
};

static void begin_now(struct trace_session *entry)
{
    entry->begin_realtime_ns = clock_real_ns();
    entry->begin_ns = clock_now_ns();
    entry->revision++;
}

static uint32_t add_text(struct trace *trace, const char *text)
{
    int64_t ordinal = text ? trace_string_add(trace, text, strlen(text)) : 0;
    return ordinal > 0 ? (uint32_t)ordinal : 0;
}

static int describe_session(struct collector *collector, const struct collector_options *options)
{
    struct trace_session *entry = trace_session(collector->trace);
    begin_now(entry); /* provisional, until the gate opens */
    entry->id = collector->session.id;
    entry->parent_id = collector->parent_id;
    entry->command = add_text(collector->trace, options->command);
    entry->annot_version = add_text(collector->trace, options->version);
    host_describe_place(collector->trace, options);
    collector->next_look_ns = clock_now_ns() + FIRST_LOOK_NS;
    entry->command_status = -1;
    entry->revision++;
    return host_describe(collector->trace);
}

/* The session that this collector itself runs in, or 0. */
static uint64_t parent_session(void)
{
    const char *text = getenv(ANNOT_ENV_SESSION);
    char *end;
    uint64_t id = text ? strtoull(text, &end, 16) : 0;
    return text && *end == 0 ? id : 0;
}

/* Converts a time span to ticks of the programs' clock. */
static uint64_t ticks(const struct clock_map *clock, int64_t ns)
{
    return clock->ns_per_tick > 0 ? (uint64_t)((double)ns / clock->ns_per_tick) : 0;
}

static int open_directory(struct collector *collector, const struct collector_options *options)
{
    return options->target ? target_open_directory(options->target, &collector->directory)
                           : directory_open(options->directory, &collector->directory);
}

static int make_session(struct collector *collector, const struct collector_options *options)
{
    uint64_t blocks = options->pool_bytes / ANNOT_BLOCK_SIZE;
    struct annot_session session = {
        .magic = ANNOT_SESSION_MAGIC,
        .major = ANNOT_WIRE_MAJOR,
        .minor = ANNOT_WIRE_MINOR,
        .id = session_id_random(),
        .parent_id = collector->parent_id,
        .collector_pid = getpid(),
        .flags = options->attach ? 0 : ANNOT_SESSION_DESCENDANTS,
        .collector_pid_ns = proc_pid_namespace(0),
        .block_count = blocks < ANNOT_BLOCK_COUNT_MAX ? (uint32_t)blocks : ANNOT_BLOCK_COUNT_MAX,
        .policy = options->policy,
        .late_ticks = ticks(&collector->clock, LATE_NS),
    };
    if (session.block_count == 0)
        session.block_count = ANNOT_BLOCK_COUNT_DEFAULT;
    for (int level = 0; level < ANNOT_LEVELS; level++)
        session.category_mask[level] = UINT64_MAX;
    collector->pool_bytes = (int64_t)session.block_count * ANNOT_BLOCK_SIZE;
    size_t length = strlen(collector->output);
    if (length >= sizeof(session.recording_path))
        return -ENAMETOOLONG;
    memcpy(session.recording_path, collector->output, length);
    int error = collector_filter_init(&collector->filter, &session, options);
    if (error != 0)
        return error;
    snprintf(collector->session_text, sizeof(collector->session_text), "%016" PRIx64, session.id);
    error = -ENOENT;
    for (int i = 0; i < DIRECTORY_TRIES && error == -ENOENT; i++) {
        if (i > 0) { /* its last user before us removed it */
            directory_close(&collector->directory);
            error = open_directory(collector, options);
        }
        if (i == 0 || error == 0)
            error = session_file_create(&collector->directory, &session, &collector->session);
    }
    place_text(&collector->directory, collector->place_text);
    if (error == 0 && collector->parent_id != 0)
        session_file_add_nested(&collector->directory, collector->parent_id, collector->output);
    return error;
}

static int take_batch(void *context, const struct event_batch *batch)
{
    struct collector *collector = context;
    if (collector->sink.events)
        return sink_add(&collector->sink, batch);
    return batch->late ? writing_add(collector->writer, collector->trace, batch)
                       : store_writer_add(collector->writer, batch);
}

static bool has_room(void *context)
{
    return writing_has_room(&((struct collector *)context)->writing);
}

static int make_intake(struct collector *collector)
{
    struct intake_options options = {
        .directory = &collector->directory,
        .trace = collector->trace,
        .lives = collector->lives,
        .clock = &collector->clock,
        .session_id = collector->session.id,
        .late_ns = LATE_NS,
        .refusals = &collector->refusals,
        .sink = take_batch,
        .samples = collector->sink.samples ? collector->sink.samples : writing_add_samples,
        .samples_context = collector->sink.samples ? collector->sink.context : collector->writer,
        .room = has_room,
        .function = function_names_find,
        .function_context = &collector->functions,
        .sink_context = collector,
    };
    int error = intake_create(&options, &collector->intake);
    collector->places = (struct places){.directory = &collector->directory,
                                        .session = &collector->session,
                                        .intake = collector->intake,
                                        .refusals = &collector->refusals,
                                        .lives = collector->lives,
                                        .trace = collector->trace};
    return error;
}

static int make_heaps(struct collector *collector, const struct collector_options *options)
{
    bool has_sink = collector->sink.samples;
    const struct heaps_options heaps = {
        .directory = &collector->directory,
        .trace = collector->trace,
        .lives = collector->lives,
        .session_id = collector->session.id,
        .samples = has_sink ? collector->sink.samples : writing_add_samples,
        .context = has_sink ? collector->sink.context : collector->writer,
    };
    if (options->heap_exact && !(collector->heaps = heaps_create(&heaps)))
        return -ENOMEM;
    return 0;
}

static int add_to_epoll(struct collector *collector, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    return fd < 0 || epoll_ctl(collector->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

static int make_sampling(struct collector *collector, const struct collector_options *options)
{
    struct sampling *sampling = &collector->sampling;
    *sampling = (struct sampling){
        .writer = collector->writer, .clock = &collector->clock, .heaps = collector->heaps};
    sampling->sink = collector->sink.samples ? &collector->sink : NULL;
    int error = sampling_init(sampling, options, collector->trace, collector->lives);
    collector->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (error == 0 && collector->epoll_fd < 0)
        error = -errno;
    if (error == 0)
        error = add_to_epoll(collector, intake_fd(collector->intake));
    if (error == 0 && sampling->sampler)
        error = add_to_epoll(collector, sampler_fd(sampling->sampler));
    return error;
}

/* From here on the file is written by another thread. The definitions so far survive a kill. */
static int begin_writing(struct collector *collector)
{
    collector->writing.writer = collector->writer;
    collector->writing.intake = collector->intake;
    collector->writing.has_room = true;
    if (!collector->writer)
        return 0;
    int error = store_writer_flush(collector->writer);
    if (error == 0)
        error = store_writer_beside(collector->writer);
    return error != 0 ? error : add_to_epoll(collector, store_writer_fd(collector->writer));
}

static int make_parts(struct collector *collector, const struct collector_options *options,
                      struct collector_error *error)
{
    collector->trace = trace_create();
    collector->lives = collector->trace ? lives_create(collector->trace) : NULL;
    if (!collector->lives || clock_map_init(&collector->clock) != 0)
        return collector_fail(error, -ENOMEM, "cannot begin", "");
    refusals_init(&collector->refusals, collector->trace, collector->lives);
    int code = open_directory(collector, options);
    char what[PATH_MAX + 64];
    snprintf(what, sizeof(what), "cannot use the directory %s", collector->directory.path);
    if (code != 0)
        return collector_fail(error, code, what,
                              "it must be yours and have mode 0700; ANNOT_DIR names another one");
    if (!options->sink)
        code = writing_create(options, collector->trace, &collector->writer, error);
    if (code != 0)
        return code;
    if (!options->sink && !realpath(options->output, collector->output))
        snprintf(collector->output, sizeof(collector->output), "%s", options->output);
    code = make_session(collector, options);
    int described = describe_session(collector, options);
    code = code == 0 ? described : code;
    if (code == 0)
        code = make_intake(collector);
    if (code == 0)
        code = make_heaps(collector, options);
    if (code == 0)
        code = make_sampling(collector, options);
    if (code == 0)
        code = begin_writing(collector);
    if (code == 0 && !options->paused)
        code = collector_open_gate(collector);
    if (code == -EPROTONOSUPPORT)
        return collector_fail(error, code, what,
                              "another version of annot uses it; ANNOT_DIR names another place");
    if (code != 0)
        return collector_fail(error, code, what,
                              "is its file system full? ANNOT_DIR names another place");
    return 0;
}

int collector_create(const struct collector_options *options, struct collector **ret_collector,
                     struct collector_error *ret_error)
{
    struct collector *collector = calloc(1, sizeof(*collector));
    *ret_error = (struct collector_error){0};
    if (!collector)
        return collector_fail(ret_error, -ENOMEM, "cannot begin", "");
    collector->directory.fd = -1;
    collector->session.fd = -1;
    collector->epoll_fd = -1;
    collector->timeout_ms = PACE_BUSY_MS;
    collector->attached = options->attach;
    collector->requested = options->requested;
    collector->no_source = options->no_source || options->sink;
    collector->sink = options->sink ? *options->sink : (struct collector_sink){0};
    collector->parent_id = parent_session();
    collector->hold.directory = &collector->directory;
    collector->hold.session = &collector->session;
    collector->filter.directory = &collector->directory;
    collector->filter.session = &collector->session;
    int code = make_parts(collector, options, ret_error);
    if (code == 0) {
        *ret_collector = collector;
        return 0;
    }
    if (collector->writer)
        collector_remove_output(collector);
    collector_destroy(collector);
    return code;
}

/* Makes programs leave; the session file stays until its segments are removed. */
static void close_gate(struct collector *collector)
{
    session_file_end(&collector->session);
    if (collector->attached)
        targets_release(&collector->targets, &collector->directory, collector->session.id);
    else if (collector->gate_open)
        directory_wake(&collector->directory);
    places_close(&collector->places);
    collector->gate_open = false;
}

int collector_annotate(struct collector *collector, const struct target *target, char *ret_other)
{
    int error = targets_add(&collector->targets, &collector->directory, target,
                            collector->session.id, ret_other);
    if (error == 0)
        error = refusals_add_target(&collector->refusals, target->ns_pid, target->pid_ns);
    return error == -EBUSY ? targets_note_other(collector->trace, target, ret_other) : error;
}

int collector_note(struct collector *collector, const char *text)
{
    return trace_fact_set(collector->trace, FACT_NOTE, text, 1);
}

void collector_destroy(struct collector *collector)
{
    if (!collector)
        return;
    if (collector->session.fd >= 0) {
        close_gate(collector);
        targets_shut_gate(&collector->targets, &collector->directory, NULL);
        session_file_remove(&collector->directory, &collector->session);
    }
    if (collector->directory.fd >= 0)
        directory_remove_unused(&collector->directory); /* its last users may have ended */
    targets_fini(&collector->targets);
    sampling_fini(&collector->sampling);
    if (collector->epoll_fd >= 0)
        close(collector->epoll_fd);
    heaps_destroy(collector->heaps);
    intake_destroy(collector->intake);
    places_fini(&collector->places);
    function_names_fini(&collector->functions);
    store_writer_abandon(collector->writer);
    directory_close(&collector->directory);
    clock_map_fini(&collector->clock);
    refusals_fini(&collector->refusals);
    lives_destroy(collector->lives);
    trace_destroy(collector->trace);
    free(collector);
}

void collector_remove_output(const struct collector *collector)
{
    writing_remove(collector->output);
}

const char *collector_session_text(const struct collector *collector)
{
    return collector->session_text;
}

const char *collector_directory(const struct collector *collector)
{
    return collector->directory.path;
}

int collector_open_gate(struct collector *collector)
{
    int error = collector_filter_take(&collector->filter, collector->intake, collector->trace);
    if (error != 0)
        return error;
    begin_now(trace_session(collector->trace));
    host_load(&collector->load);
    if ((error = refusal_pages_begin(&collector->directory, &collector->session)) != 0)
        return error;
    int64_t generation = directory_wake(&collector->directory);
    collector->gate_open = generation > 0;
    places_open(&collector->places);
    return generation < 0 ? (int)generation : sampling_begin(&collector->sampling);
}

const char *collector_place_text(const struct collector *collector)
{
    return collector->place_text;
}

/* ---- While it runs --------------------------------------------------------------------------- */

/* Without room, pending data of programs does not make the descriptor readable. */
int collector_fd(const struct collector *collector)
{
    if (collector->error != 0)
        return -1;
    return collector->writing.has_room ? collector->epoll_fd : store_writer_fd(collector->writer);
}

int collector_timeout_ms(const struct collector *collector)
{
    int timeout_ms = places_timeout_ms(&collector->places, collector->timeout_ms);
    return sampling_timeout_ms(&collector->sampling, timeout_ms);
}

int collector_track(struct collector *collector, int pid, unsigned flags)
{
    return sampling_track(&collector->sampling, pid, flags, collector->gate_open);
}

int collector_add_range(struct collector *collector, const struct sampler_range_request *wish,
                        struct sampler_range_result *ret_result)
{
    return sampling_add_range(&collector->sampling, wish, ret_result);
}

/* Stops when the file cannot be written: complete chunks are kept. Programs keep their buffers'
 * contents and count the rest, for a recovery. */
static int stop(struct collector *collector, int error)
{
    collector->error = error;
    hold_begin(&collector->hold, collector->pool_bytes);
    collector->timeout_ms = HOLD_PAUSE_MS;
    return error;
}

static int look_around(struct collector *collector)
{
    int error = intake_look_around(collector->intake);
    return error != 0 ? error : places_poll_refusals(&collector->places, false);
}

/* Reads available data. Bytes of events, or -errno. */
static int64_t take_all(struct collector *collector, int64_t now_ns, bool partial)
{
    int error = collector_filter_take(&collector->filter, collector->intake, collector->trace);
    int64_t bytes = error == 0 ? intake_step(collector->intake, partial) : error;
    collector_filter_confirm(&collector->filter);
    error = bytes < 0 ? (int)bytes : sampling_step(&collector->sampling, &collector->session);
    if (error == 0 && collector->heaps)
        error = heaps_step(collector->heaps, now_ns, collector->writing.sealed + 1);
    if (error == 0)
        error = lives_read_titles(collector->lives, now_ns);
    if (error == 0)
        error = places_step(&collector->places, now_ns);
    if (error == 0 && now_ns >= collector->next_look_ns) {
        collector->next_look_ns = now_ns + LOOK_NS;
        error = look_around(collector);
    }
    return error != 0 ? error : bytes;
}

int collector_step(struct collector *collector)
{
    if (collector->error != 0) {
        hold_step(&collector->hold);
        return collector->error;
    }
    int64_t now_ns = clock_now_ns(), bytes = 0;
    bool partial = now_ns >= collector->next_partial_ns;
    int error = writing_look(&collector->writing);
    if (collector->heaps)
        heaps_free(collector->heaps, collector->writing.progress.written);
    if (error == 0 && collector->writing.has_room) {
        bytes = take_all(collector, now_ns, partial);
        error = bytes < 0 ? (int)bytes : 0;
        if (partial)
            collector->next_partial_ns = now_ns + PARTIAL_NS;
    }
    if (error == 0)
        error = writing_seal_if_due(&collector->writing, now_ns, partial);
    if (writing_keeps_up(&collector->writing, now_ns))
        intake_heartbeat(collector->intake);
    collector->timeout_ms = pace_timeout_ms(
        collector->timeout_ms, bytes, intake_least_pool(collector->intake, collector->pool_bytes));
    return error != 0 ? stop(collector, error) : 0;
}

int collector_emit_waiting(struct collector *collector)
{
    return collector->sink.samples ? sampling_emit_waiting(&collector->sampling) : 0;
}

void collector_note_exit(struct collector *collector, int pid, int wait_status)
{
    intake_note_exit(collector->intake, pid, wait_status);
    if (trace_sampling_get(collector->trace)->rung == SAMPLING_REMOTE)
        lives_wait(collector->lives, pid, clock_now_ns(), wait_status);
}

void collector_note_command(struct collector *collector, int wait_status)
{
    trace_session(collector->trace)->command_status = wait_status;
    trace_session(collector->trace)->revision++;
}

int collector_note_block(struct collector *collector, int64_t begin_ns, int64_t end_ns)
{
    return trace_block_set(collector->trace, begin_ns, end_ns);
}

void collector_count(const struct collector *collector, struct collector_counts *ret_counts)
{
    struct intake_counts counts;
    intake_count(collector->intake, &counts);
    *ret_counts = (struct collector_counts){
        .process_count = counts.process_count,
        .live_count = counts.live_count,
        .thread_count = counts.thread_count,
        .event_count = counts.event_count,
        .lost_count = counts.lost_count,
        .file_bytes = collector->writer ? store_writer_file_bytes(collector->writer) : 0,
        .shared_bytes = counts.shared_bytes,
        .sample_count = collector->sampling.sample_count,
        .stretch_count = collector->sampling.stretch_count,
    };
}

const struct trace *collector_trace(const struct collector *collector)
{
    return collector->trace;
}

/* ---- End ------------------------------------------------------------------------------------- */

#define AWAIT_NS INT64_C(500000000)

/* Asks the watchers of queues in the session's programs for the rest of their data before the
 * session ends, and waits up to half a second. The collector keeps stepping meanwhile. */
static void await_queues(struct collector *collector, struct intake *intake)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    int64_t until_ns = clock_now_ns() + AWAIT_NS;
    if (!intake_awaits_queues(intake))
        return;
    intake_ask_queues(intake);
    while (collector_step(collector) == 0 && intake_awaits_queues(intake) &&
           clock_now_ns() < until_ns)
        nanosleep(&pause, NULL);
}

/* The end is the time of closing the gate, or of the last event that passed it before. */
static int finish_session(struct collector *collector, int64_t closed_ns)
{
    struct trace_session *entry = trace_session(collector->trace);
    struct intake_counts counts;
    (void)places_take_lines(&collector->places); /* facts: best effort */
    (void)collector_idle_note(&collector->requested, intake_filter(collector->intake),
                              collector->trace);
    (void)host_anchor(collector->trace); /* without it a merge knows less of the drift */
    (void)host_load_end(collector->trace, &collector->load, &collector->sampling.processors);
    intake_count(collector->intake, &counts);
    entry->end_ns = closed_ns;
    for (uint32_t i = 0; i < trace_thread_count(collector->trace); i++) {
        int64_t last_ns = trace_thread_get(collector->trace, i)->last_ns;
        if (last_ns > entry->end_ns)
            entry->end_ns = last_ns;
    }
    entry->peak_bytes = counts.peak_bytes;
    entry->revision++;
    return collector->no_source ? 0 : sources_keep(collector->trace);
}

int collector_complete(struct collector *collector)
{
    const struct timespec settle = {.tv_nsec = SETTLE_NS};
    await_queues(collector, collector->intake);
    int64_t closed_ns = clock_now_ns();
    close_gate(collector);
    int error = collector->error;
    if (error == 0) {
        struct intake_counts counts;
        intake_count(collector->intake, &counts);
        if (counts.live_count > 0 || collector->refusals.refused.count > 0)
            nanosleep(&settle, NULL); /* events under way when the gate closed */
        collector->writing.patient = true;
        error = intake_finish(collector->intake);
        if (error == 0)
            error = sampling_finish(&collector->sampling);
        if (error == 0 && collector->heaps)
            error = heaps_finish(collector->heaps, clock_now_ns());
        if (error == 0)
            error = places_poll_refusals(&collector->places, true);
    }
    if (error == 0)
        error = finish_session(collector, closed_ns);
    if (error == 0 && collector->writer)
        error = store_writer_close(collector->writer);
    else
        store_writer_abandon(collector->writer);
    collector->writer = NULL;
    collector->completed = true;
    collector->error = error;
    return error;
}

int collector_finish(struct collector *collector)
{
    int error = collector->completed ? collector->error : collector_complete(collector);
    targets_shut_gate(&collector->targets, &collector->directory, collector->intake);
    if (error != 0) {
        session_file_leave(&collector->session);
        places_leave(&collector->places);
        return error;
    }
    intake_free(collector->intake, DRAIN_ALL);
    if (collector->heaps)
        heaps_free(collector->heaps, UINT64_MAX);
    sampling_close(&collector->sampling);
    session_file_remove(&collector->directory, &collector->session);
    refusal_pages_sweep(&collector->directory);
    directory_remove_unused(&collector->directory);
    return error;
}
