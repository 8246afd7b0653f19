/* SPDX-License-Identifier: MIT */
/* annot tail: prints the events of a recording as they are recorded, one per line, until it ends.
 *
 * The recording is chosen by its file, by the number of its session (ANNOT_SESSION), or because it
 * is the only one. The file that the collector writes is read; neither the program nor the
 * collector is involved. The collector writes every half second, up to the events of that moment,
 * so an event is printed after HOLD_NS: by then all earlier events are in the file, and lines are
 * in order of time. Of the events before the start, the last lines are kept and printed first. Main
 * thread only. */
#include "collector_sessions.h"
#include "line.h"
#include "line_reader.h"
#include "reader.h"

#include "clock_now.h"
#include "cmd.h"
#include "collector.h"
#include "pass.h"
#include "recording.h"
#include "selection.h"
#include "trace.h"
#include "vec.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sessions {
    VEC(struct collector_session) items;
};

/* Skips sessions without a recording (annot top). */
static int keep(void *context, const struct collector_session *session)
{
    struct sessions *sessions = context;
    return !session->recording[0] ? 0 : vec_push(&sessions->items, *session);
}

static bool is_number(const char *text, uint64_t *ret_id)
{
    char *end;
    *ret_id = strtoull(text, &end, 16);
    return strlen(text) == 16 && !*end;
}

/* The message has one line and names up to three recordings. */
static void fail_several(const struct cmd_call *call, const struct sessions *sessions)
{
    char names[1024] = "";
    size_t used = 0;
    for (size_t i = 0; i < sessions->items.count && i < 3 && used < sizeof(names); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
                                 sessions->items.items[i].recording);
    cmd_fail(0, "more than one recording is in progress: %s%s\nname one: annot %s FILE", names,
             sessions->items.count > 3 ? ", ..." : "", call->cmd->name);
}

static bool choose(const struct cmd_call *call, const struct sessions *sessions,
                   char path[PATH_MAX])
{
    const char *operand = call->operand_count ? call->operands[0] : NULL;
    uint64_t id;
    bool number = operand && is_number(operand, &id);
    for (size_t i = 0; number && i < sessions->items.count; i++) {
        if (sessions->items.items[i].id != id)
            continue;
        snprintf(path, PATH_MAX, "%s", sessions->items.items[i].recording);
        return true;
    }
    if (operand) {
        snprintf(path, PATH_MAX, "%s", operand);
        return true;
    }
    if (sessions->items.count > 1) {
        fail_several(call, sessions);
        return false;
    }
    if (sessions->items.count == 1) {
        snprintf(path, PATH_MAX, "%s", sessions->items.items[0].recording);
        return true;
    }
    cmd_fail(0, "nothing is being recorded\n\"annot record -- COMMAND\" records; annot cat reads "
                "what is finished");
    return false;
}

/* Returns the path of the chosen recording: the operand, or the file of the session with that
 * number (ANNOT_SESSION); without an operand, that of the only session. False after a printed
 * message. */
static bool choose_recording(const struct cmd_call *call, char path[PATH_MAX])
{
    struct sessions sessions = {0};
    bool named = call->operand_count && access(call->operands[0], F_OK) == 0;
    if (!named)
        collector_sessions(NULL, keep, &sessions);
    bool chosen = choose(call, &sessions, path);
    vec_free(&sessions.items);
    return chosen;
}

/* Returns true if a collector is writing the file. */
static bool is_live(const char *path)
{
    struct sessions sessions = {0};
    char *real = realpath(path, NULL);
    bool found = false;
    collector_sessions(NULL, keep, &sessions);
    for (size_t i = 0; real && !found && i < sessions.items.count; i++)
        found = strcmp(sessions.items.items[i].recording, real) == 0;
    vec_free(&sessions.items);
    free(real);
    return found;
}

/* ---- The command ----------------------------------------------------------------------------- */

#define HOLD_NS INT64_C(750000000)
#define LIFE_NS INT64_C(1000000000) /* interval of checks for a living collector */

enum { POLL_MS = 100 };

struct tail_values {
    struct line_values lines;
    struct selection_values selection;
    uint64_t count;
};

struct kept {
    uint8_t *bytes; /* owned */
    size_t size;
};

struct tail {
    const struct tail_values *values;
    char path[PATH_MAX];
    struct store_reader *reader;
    struct selection selection;
    struct line_reader *lines;
    struct line_printer printer;
    struct out_stream *line; /* a line under construction, in memory */
    struct out_stream *out;
    /* The last lines of the existing events. */
    VEC(struct kept) ring;
    size_t ring_next;
    bool past; /* existing events are being read */
    bool over; /* the recording has ended */
    int64_t next_life_ns;
};

/* ---- Lines ----------------------------------------------------------------------------------- */

static int keep_line(struct tail *tail, const uint8_t *bytes, size_t size)
{
    if (tail->values->count == 0)
        return 0;
    uint8_t *copy = malloc(size);
    if (!copy)
        return -ENOMEM;
    memcpy(copy, bytes, size);
    const struct kept kept = {copy, size};
    if (tail->ring.count < tail->values->count) {
        int error = vec_push(&tail->ring, kept);
        if (error)
            free(copy);
        return error;
    }
    free(tail->ring.items[tail->ring_next].bytes);
    tail->ring.items[tail->ring_next] = kept;
    tail->ring_next = (tail->ring_next + 1) % tail->ring.count;
    return 0;
}

static int put_line(void *context, const struct line *line)
{
    struct tail *tail = context;
    size_t size;
    if (!line_printer_takes(&tail->printer, line))
        return 0;
    out_stream_memory_reset(tail->line);
    tail->printer.format(&tail->printer.writer, line);
    const uint8_t *bytes = out_stream_memory_bytes(tail->line, &size);
    int error = out_error(tail->line);
    if (!error && tail->past)
        return keep_line(tail, bytes, size);
    out_write(tail->out, bytes, size);
    return error ? error : out_error(tail->out);
}

/* Prints the kept lines; later lines are printed at once. */
static void print_kept(struct tail *tail)
{
    tail->past = false;
    for (size_t i = 0; i < tail->ring.count; i++) {
        struct kept *kept = &tail->ring.items[(tail->ring_next + i) % tail->ring.count];
        out_write(tail->out, kept->bytes, kept->size);
        free(kept->bytes);
    }
    vec_free(&tail->ring);
    out_flush(tail->out);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Reads the present content of the file, up to HOLD_NS ago. */
static int read_on(struct tail *tail)
{
    int64_t now_ns = clock_now_ns();
    int more = store_reader_more(tail->reader);
    if (more < 0)
        return more;
    tail->over = store_reader_ended(tail->reader);
    if (!tail->over && more == 0 && now_ns >= tail->next_life_ns) {
        tail->next_life_ns = now_ns + LIFE_NS;
        /* The recording may have grown before the collector ended. */
        if (!is_live(tail->path)) {
            more = store_reader_more(tail->reader);
            tail->over = more == 0 || store_reader_ended(tail->reader);
        }
    }
    if (more < 0)
        return more;
    if (tail->over)
        return line_reader_finish(tail->lines);
    return line_reader_run(tail->lines, now_ns - HOLD_NS);
}

/* Returns false if standard output was closed. */
static bool wait_a_little(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    poll(&out, 1, POLL_MS);
    return !(out.revents & (POLLERR | POLLNVAL));
}

static int follow(struct tail *tail)
{
    int error = read_on(tail);
    if (!error)
        print_kept(tail);
    while (!error && !tail->over && !out_error(tail->out)) {
        if (!wait_a_little())
            return -EPIPE;
        error = read_on(tail);
        out_flush(tail->out);
    }
    return error;
}

/* ---- The command ----------------------------------------------------------------------------- */

static int make_parts(struct tail *tail)
{
    /* The end of the range of --capture-range is unknown while it is recorded. */
    trace_captures_set(store_reader_trace(tail->reader), CAPTURES_ALL);
    struct line_reader_options options = {
        .source = recording_pass_source(tail->reader),
        .selection = tail->selection.chosen,
        .sink = {.trace = store_reader_trace(tail->reader),
                 .complete = tail->values->lines.complete,
                 .put = put_line,
                 .context = tail},
    };
    options.source.live = true;
    if (!tail->values->lines.samples)
        options.source.next_samples = NULL;
    const struct out_stream_options out_options = {0};
    int error = out_stream_open("-", &out_options, &tail->out);
    tail->line = error ? NULL : out_stream_memory();
    if (!tail->line)
        return error ? error : -ENOMEM;
    error = line_printer_init(&tail->printer, &tail->values->lines, options.sink.trace, tail->line);
    return error ? error : line_reader_create(&options, &tail->lines);
}

static int report_result(struct tail *tail, int error)
{
    int output_error = tail->out ? out_error(tail->out) : 0;
    uint64_t late = tail->lines ? line_reader_late_count(tail->lines) : 0;
    if (error == -EPIPE || output_error == -EPIPE)
        return CMD_OK;
    if (output_error)
        return line_printer_fail_output(output_error);
    if (error == -ESTALE)
        return cmd_fail(CMD_FAILED, "%s was replaced\nstart annot tail again", tail->path);
    if (error)
        return recording_fail(tail->path, error);
    if (late)
        cmd_note(
            "lines marked \"late\", because they came after later ones: %llu\nannot cat prints "
            "them in order",
            (unsigned long long)late);
    if (!store_reader_ended(tail->reader))
        return cmd_fail(CMD_FAILED,
                        "%s has no end, and annot no longer writes it: it was killed\nannot "
                        "recover completes it with what programs still hold",
                        tail->path);
    return CMD_OK;
}

static void free_parts(struct tail *tail)
{
    for (size_t i = 0; i < tail->ring.count; i++)
        free(tail->ring.items[i].bytes);
    vec_free(&tail->ring);
    line_reader_destroy(tail->lines);
    line_printer_fini(&tail->printer);
    out_stream_abandon(tail->line);
    selection_fini(&tail->selection);
    store_reader_close(tail->reader);
}

static int run_tail(const struct cmd_call *call)
{
    struct tail tail = {.values = call->values, .past = true};
    int status = selection_check(&tail.values->selection);
    if (status != CMD_OK)
        return status;
    if (!choose_recording(call, tail.path))
        return CMD_FAILED;
    tail.reader = recording_follow(tail.path);
    if (!tail.reader)
        return CMD_FAILED;
    selection_init(&tail.selection, &tail.values->selection, store_reader_trace(tail.reader), NULL);
    int error = make_parts(&tail);
    if (!error)
        error = follow(&tail);
    status = report_result(&tail, error);
    int closed = tail.out ? out_stream_close(tail.out) : 0;
    free_parts(&tail);
    return status == CMD_OK && closed && closed != -EPIPE ? line_printer_fail_output(closed)
                                                          : status;
}

static const struct option_spec tail_options[] = {
    OPTIONS_GROUP("what to print"),
    LINE_OPTIONS(offsetof(struct tail_values, lines)),
    {"limit", 'n', OPTION_COUNT, offsetof(struct tail_values, count), "N",
     "lines of what was recorded before", "10"},
    OPTIONS_GROUP("of which part"),
    SELECTION_RANGE(offsetof(struct tail_values, selection)),
    SELECTION_PROCESS(offsetof(struct tail_values, selection)),
    SELECTION_THREAD(offsetof(struct tail_values, selection)),
    SELECTION_TIMES(offsetof(struct tail_values, selection)),
    {0},
};

const struct cmd cmd_tail = {
    .name = "tail",
    .summary = "print events as they are recorded, until the recording ends",
    .usage = "[OPTIONS] [FILE|SESSION]",
    .details =
        "FILE defaults to the recording in progress if there is only one. SESSION is its\n"
        "number (ANNOT_SESSION). Lines are those of annot cat, about a second after the events.\n"
        "\n"
        "exit status: 0; 1 if the recording could not be read or has no end; 2 wrong command\n"
        "line\n",
    .examples = "  annot tail\n"
                "  annot tail -n 0 -c --name 'request*' server.annot\n",
    .options = tail_options,
    .values_size = sizeof(struct tail_values),
    .operands_min = 0,
    .operands_max = 1,
    .run = run_tail,
};
