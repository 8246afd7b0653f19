/* SPDX-License-Identifier: MIT */
/* A snapshot: reads the flight recorders of a session from shared memory, unnoticed by its
 * collector. */
#include "collector_snapshot.h"

#include "annot_wire.h"
#include "clock_map.h"
#include "clock_now.h"
#include "collector.h"
#include "collector_host.h"
#include "collector_writing.h"
#include "file_io.h"
#include "intake.h"
#include "proc_info.h"
#include "reader.h"
#include "session_file.h"
#include "store.h"
#include "text.h"
#include "writer.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct taking {
    struct collector_snapshot *snapshot;
    struct directory directory;
    struct clock_map clock;
    struct trace *trace;
    struct lives *lives;
    struct store_writer *writer;
    struct intake *intake;
    struct annot_session session;
};

static int fail(struct collector_error *error, int code, const char *what, const char *hint)
{
    struct text text = text_init(error->what, sizeof(error->what));
    text_format(&text, "%s", what);
    text = text_init(error->hint, sizeof(error->hint));
    text_format(&text, "%s", hint);
    return code;
}

static const char begin_one[] =
    "annot record --policy overwrite -- COMMAND begins a flight recorder; what other recordings "
    "have so far, annot report shows at any time";

/* ---- Choice of the session ------------------------------------------------------------------- */

struct search {
    const struct directory *directory;
    uint64_t wanted; /* 0: any */
    int32_t pid;     /* 0: not by process */
    uint64_t id;     /* of the session found */
    int count;
};

static void found(struct search *search, uint64_t id)
{
    if (search->id == id || (search->wanted != 0 && search->wanted != id))
        return;
    search->id = id;
    search->count++;
}

/* Counts the session of a flight recorder; its collector may be dead. */
static void consider(struct search *search, const char *name)
{
    struct segment_name parsed;
    struct segment segment;
    if (!segment_name_parse(name, &parsed) || (search->pid != 0 && parsed.pid != search->pid) ||
        segment_open(search->directory->fd, name, &segment) != 0)
        return;
    if (segment.info.policy == ANNOT_POLICY_OVERWRITE_OLDEST)
        found(search, segment.info.session_id);
    segment_close(&segment);
}

static int search_sessions(struct search *search)
{
    DIR *stream = file_list_folder(search->directory->fd);
    if (!stream)
        return -ENOMEM;
    for (const struct dirent *entry; (entry = readdir(stream));)
        consider(search, entry->d_name);
    closedir(stream);
    return search->count == 0 ? -ESRCH : search->count > 1 ? -ENOTUNIQ : 0;
}

/* Reads facts that only the session's file has; the snapshot works without it. */
static void read_session(struct taking *taking, uint64_t id)
{
    char name[SESSION_NAME_SIZE];
    snprintf(name, sizeof(name), ANNOT_SESSION_PREFIX "%016" PRIx64, id);
    if (session_file_peek(&taking->directory, name, &taking->session) != 0)
        taking->session = (struct annot_session){0};
    taking->session.id = id;
}

static int choose_session(struct taking *taking, struct collector_error *error)
{
    struct search search = {.directory = &taking->directory,
                            .wanted = taking->snapshot->session_id,
                            .pid = taking->snapshot->pid};
    int code = guard_install();
    if (code == 0)
        code = search_sessions(&search);
    if (code == -ENOTUNIQ)
        return fail(error, code, "several sessions have flight recorders",
                    "name one by -p PID, a process of it");
    if (code == -ESRCH && search.pid != 0)
        return fail(error, code, "that process has no flight recorder",
                    "annot record --policy overwrite, or ANNOT_POLICY=overwrite, make one; it has "
                    "it from its first event on");
    if (code != 0)
        return fail(error, code, "no flight recorder runs here", begin_one);
    read_session(taking, search.id);
    return 0;
}

/* ---- Its recording --------------------------------------------------------------------------- */

static uint32_t add_text(struct trace *trace, const char *text)
{
    int64_t ordinal = trace_string_add(trace, text, strlen(text));
    return ordinal > 0 ? (uint32_t)ordinal : 0;
}

/* Copies the command from the session's own recording, if that can be read. */
static void copy_command(struct taking *taking, struct trace_session *entry)
{
    struct store_reader *reader = NULL;
    const char *path = (const char *)taking->session.recording_path;
    if (path[0] == 0 || store_reader_open(path, &reader) != 0)
        return;
    const struct trace *from = store_reader_trace(reader);
    const struct trace_session *session = trace_session_get(from);
    if (session->id == taking->session.id)
        entry->command = add_text(taking->trace, trace_string(from, session->command)->bytes);
    store_reader_close(reader);
}

static int describe(struct taking *taking)
{
    static const char note[] =
        "A snapshot of flight recorders: of each process, what its buffer held at the end.";
    struct trace_session *entry = trace_session(taking->trace);
    entry->id = taking->session.id;
    entry->parent_id = taking->session.parent_id;
    entry->annot_version = add_text(taking->trace, taking->snapshot->version);
    entry->command_status = -1;
    copy_command(taking, entry);
    entry->revision++;
    int error = host_describe(taking->trace);
    return error ? error : trace_fact_set(taking->trace, FACT_NOTE, note, 1);
}

/* Sets the start to the oldest remaining event, or the start of the oldest open range. */
static void set_times(struct taking *taking, int64_t end_ns)
{
    struct trace_session *entry = trace_session(taking->trace);
    int64_t begin_ns = end_ns;
    for (uint32_t i = 0; i < trace_thread_count(taking->trace); i++) {
        const struct trace_thread *thread = trace_thread_get(taking->trace, i);
        if (thread->first_ns != 0 && thread->first_ns < begin_ns)
            begin_ns = thread->first_ns;
        if (thread->last_ns > end_ns)
            end_ns = thread->last_ns;
    }
    entry->begin_ns = begin_ns;
    entry->begin_realtime_ns = clock_real_ns() - (clock_now_ns() - begin_ns);
    entry->end_ns = end_ns;
    entry->revision++;
}

static int take_batch(void *context, const struct event_batch *batch)
{
    struct taking *taking = context;
    return store_writer_add(taking->writer, batch);
}

static int make_intake(struct taking *taking)
{
    const struct intake_options options = {
        .directory = &taking->directory,
        .trace = taking->trace,
        .clock = &taking->clock,
        .lives = taking->lives,
        .session_id = taking->session.id,
        .recover = true, /* its clock anchors are as old as the blocks */
        .snapshot = true,
        .only_pid = taking->snapshot->pid,
        .sink = take_batch,
        .samples = writing_add_samples,
        .samples_context = taking->writer,
        .sink_context = taking,
    };
    return intake_create(&options, &taking->intake);
}

static int take(struct taking *taking)
{
    int64_t end_ns = clock_now_ns();
    int code = describe(taking);
    if (code == 0)
        code = make_intake(taking);
    if (code == 0)
        code = intake_snapshot(taking->intake);
    if (code != 0)
        return code;
    struct intake_counts counts;
    intake_count(taking->intake, &counts);
    taking->snapshot->process_count = counts.process_count;
    taking->snapshot->event_count = counts.event_count;
    taking->snapshot->lost_count = counts.lost_count;
    set_times(taking, end_ns);
    return 0;
}

/* True if its collector, or a recovery, writes to this file. */
static bool is_own_recording(const struct taking *taking, const char *output)
{
    const char *path = (const char *)taking->session.recording_path;
    struct stat named, own;
    return path[0] && stat(output, &named) == 0 && stat(path, &own) == 0 &&
           named.st_ino == own.st_ino && named.st_dev == own.st_dev;
}

static int write_all(struct taking *taking, struct collector_error *error)
{
    const char *output = taking->snapshot->output;
    const struct store_writer_options options = {.overwrite = taking->snapshot->overwrite};
    struct stat status;
    char what[512];
    bool folder = stat(output, &status) == 0 && S_ISDIR(status.st_mode);
    snprintf(what, sizeof(what), "%.400s is the recording of this very session", output);
    if (is_own_recording(taking, output))
        return fail(error, -EBUSY, what, "choose another name with -o");
    int code =
        folder ? -EISDIR : store_writer_create(output, taking->trace, &options, &taking->writer);
    snprintf(what, sizeof(what), "cannot write %.400s: %s", output, strerror(-code));
    if (code == -EEXIST)
        return fail(error, code, what, "choose another name with -o, or overwrite it with --force");
    if (code != 0)
        return fail(error, code, what, "choose another place with -o FILE");
    code = take(taking);
    if (code == 0) {
        code = store_writer_close(taking->writer);
        taking->writer = NULL;
    }
    if (code == 0)
        return 0;
    if (stat(output, &status) == 0 && S_ISREG(status.st_mode))
        unlink(output);
    snprintf(what, sizeof(what), "cannot write %.400s: %s", output, strerror(-code));
    return fail(error, code, what, "is there room, and memory?");
}

static int open_directory(struct taking *taking, struct collector_error *error)
{
    const char *path = taking->snapshot->directory;
    char what[512];
    int code = directory_open_existing(path, &taking->directory);
    if (code == -ENOENT)
        return fail(error, -ESRCH, "nothing is recorded here", begin_one);
    snprintf(what, sizeof(what), "cannot use the directory %.400s: %s", taking->directory.path,
             strerror(-code));
    if (code != 0)
        return fail(error, code, what, "it must be yours and have mode 0700");
    return 0;
}

int collector_snapshot(struct collector_snapshot *snapshot, struct collector_error *error)
{
    struct taking taking = {.snapshot = snapshot, .directory = {.fd = -1}};
    *error = (struct collector_error){0};
    int code = open_directory(&taking, error);
    if (code == 0)
        code = choose_session(&taking, error);
    if (code == 0) {
        taking.trace = trace_create();
        taking.lives = taking.trace ? lives_create(taking.trace) : NULL;
        if (!taking.lives || clock_map_init(&taking.clock) != 0)
            code = fail(error, -ENOMEM, "out of memory", "");
    }
    if (code == 0)
        code = write_all(&taking, error);
    intake_destroy(taking.intake);
    lives_destroy(taking.lives);
    store_writer_abandon(taking.writer);
    clock_map_fini(&taking.clock);
    trace_destroy(taking.trace);
    directory_close(&taking.directory);
    return code;
}
