/* SPDX-License-Identifier: MIT */
/* `annot ls`: lists running programs with libannot, and the sessions that record them.
 *
 * Reads the mappings of each process of this user (of all users, as root) once; processes may start
 * or end meanwhile. Command lines and paths are untrusted: printed through tables and JSON. */
#include "cmd.h"
#include "collector.h"
#include "json_writer.h"
#include "ladder.h"
#include "look.h"
#include "proc_info.h"
#include "python_finder.h"
#include "term.h"
#include "text.h"
#include "vec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_SIZE = 64 };

struct ls_values {
    bool json;
};

struct listed {
    struct target target;
    struct annot_session session; /* id 0: not recorded */
    uint32_t python;              /* PY_VERSION_HEX >> 16; 0: no Python, or unknown */
    char command[COMMAND_TEXT_SIZE];
    char name[NAME_SIZE]; /* name that the program gave itself, if recorded; else "" */
};

struct listing {
    VEC(struct listed *) items;
    int error;
};

static void find_session(struct listed *listed)
{
    struct directory directory;
    if (listed->target.state != TARGET_READY ||
        target_open_directory(&listed->target, &directory) != 0)
        return;
    if (target_find_session(&directory, &listed->target, &listed->session) != 1)
        listed->session.id = 0;
    directory_close(&directory);
}

/* The process name distinguishes workers of a pool, which share one command line. */
static void find_name(struct listed *listed)
{
    struct look_ranges ranges;
    struct trace *trace = listed->session.id ? trace_create() : NULL;
    if (!trace)
        return;
    look_ranges_open(&ranges, listed->target.pid, trace);
    int64_t name = look_ranges_process_name(&ranges);
    if (name > 0)
        snprintf(listed->name, sizeof(listed->name), "%s",
                 trace_string(trace, (uint32_t)name)->bytes);
    look_ranges_close(&ranges);
    trace_destroy(trace);
}

static void look(void *context, pid_t pid, uid_t uid)
{
    struct listing *listing = context;
    struct python_check python;
    if ((geteuid() != 0 && uid != geteuid()) || pid == getpid())
        return;
    struct listed *listed = calloc(1, sizeof(*listed));
    if (!listed) {
        listing->error = -ENOMEM;
        return;
    }
    if (target_look(pid, &listed->target) != 0 || listed->target.state == TARGET_PLAIN ||
        listed->target.state == TARGET_HIDDEN) {
        free(listed);
        return;
    }
    find_session(listed);
    find_name(listed);
    proc_command(pid, listed->command);
    int error = python_check_process(pid, &python);
    listed->python = error == 0 ? python.version : 0;
    if (vec_push(&listing->items, listed) != 0) {
        free(listed);
        listing->error = -ENOMEM;
    }
}

static int by_pid(const void *one, const void *other)
{
    const struct listed *const *a = one, *const *b = other;
    return ((*a)->target.pid > (*b)->target.pid) - ((*a)->target.pid < (*b)->target.pid);
}

/* ---- Text ------------------------------------------------------------------------------------ */

static const char *python_text(const struct listed *listed, char *buffer, size_t size)
{
    if (listed->python == 0)
        return "";
    snprintf(buffer, size, "%u.%u", listed->python >> 8, listed->python & 0xff);
    return buffer;
}

static const char *recording_text(const struct listed *listed)
{
    const char *path = (const char *)listed->session.recording_path;
    if (listed->target.state == TARGET_SHUT)
        return "not possible: no directory";
    if (listed->target.state == TARGET_STRAY)
        return "not possible: its directory is gone";
    if (listed->session.id == 0)
        return "no";
    return path[0] ? path : "yes";
}

static int print_table(const struct listing *listing)
{
    static const struct grid_column columns[] = {{"program", 0, true}, {"name", 0, true},
                                                 {"pid", 0, false},    {"user", 3, false},
                                                 {"python", 2, true},  {"recorded", 1, true}};
    struct grid *table = grid_create(columns, sizeof(columns) / sizeof(columns[0]));
    char text[32];
    size_t hidden;
    if (!table)
        return -ENOMEM;
    for (size_t i = 0; i < listing->items.count; i++) {
        const struct listed *listed = listing->items.items[i];
        grid_add(table, listed->command[0] ? listed->command : listed->target.comm);
        grid_add(table, listed->name);
        snprintf(text, sizeof(text), "%d", (int)listed->target.pid);
        grid_add(table, text);
        snprintf(text, sizeof(text), "%u", listed->target.uid);
        grid_add(table, text);
        grid_add(table, python_text(listed, text, sizeof(text)));
        grid_add(table, recording_text(listed));
    }
    int error =
        grid_print(table, term_width(STDOUT_FILENO), term_color(STDOUT_FILENO, NULL), &hidden);
    grid_destroy(table);
    return error;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_text(struct out_stream *out, const char *key, const char *text)
{
    json_string(out, key, strlen(key));
    out_text(out, ":");
    if (text)
        json_string(out, text, strlen(text));
    else
        out_text(out, "null");
    out_text(out, ",");
}

static void put_number(struct out_stream *out, const char *key, uint64_t value)
{
    json_string(out, key, strlen(key));
    out_text(out, ":");
    uint8_t *begin = out_reserve(out, JSON_INTEGER_MAX);
    out_advance(out, (size_t)(json_put_uint(begin, value) - begin));
    out_text(out, ",");
}

static void put_program(struct out_stream *out, const struct listed *listed)
{
    const char *path = (const char *)listed->session.recording_path;
    bool recorded = listed->session.id != 0;
    char python[32], session[32];
    snprintf(session, sizeof(session), "%016" PRIx64, listed->session.id);
    out_text(out, "{");
    put_number(out, "pid", (uint64_t)listed->target.pid);
    put_number(out, "uid", listed->target.uid);
    put_text(out, "name", listed->target.comm);
    put_text(out, "command", listed->command);
    put_text(out, "process", listed->name[0] ? listed->name : NULL);
    put_text(out, "python", listed->python ? python_text(listed, python, sizeof(python)) : NULL);
    put_text(out, "directory", listed->target.path[0] ? listed->target.path : NULL);
    put_text(out, "recording", recorded && path[0] ? path : NULL);
    put_text(out, "session", recorded ? session : NULL);
    out_text(out, "\"attachable\":");
    out_text(out, listed->target.state == TARGET_READY && !recorded ? "true" : "false");
    out_text(out, "}\n");
}

static int print_json(const struct listing *listing)
{
    struct out_stream *out;
    const struct out_stream_options options = {.overwrite = true};
    int error = out_stream_open("-", &options, &out);
    if (error != 0)
        return error;
    for (size_t i = 0; i < listing->items.count; i++)
        put_program(out, listing->items.items[i]);
    return out_stream_close(out);
}

static int run_ls(const struct cmd_call *call)
{
    const struct ls_values *values = call->values;
    struct listing listing = {0};
    proc_each(look, &listing);
    int error = listing.error;
    if (listing.items.count > 1)
        qsort(listing.items.items, listing.items.count, sizeof(listing.items.items[0]), by_pid);
    if (error == 0 && values->json)
        error = print_json(&listing);
    else if (error == 0 && listing.items.count > 0)
        error = print_table(&listing);
    else if (error == 0)
        cmd_note("no running program %shas annotations\nC: <annot/annot.h>, Python: import pyannot",
                 geteuid() == 0 ? "" : "of yours ");
    for (size_t i = 0; i < listing.items.count; i++)
        free(listing.items.items[i]);
    vec_free(&listing.items);
    return error == 0 ? CMD_OK : cmd_fail(CMD_FAILED, "cannot list: %s", strerror(-error));
}

static const struct option_spec options[] = {
    {"json", 0, OPTION_FLAG, offsetof(struct ls_values, json), NULL,
     "one JSON object per program and line", NULL},
    {0},
};

const struct cmd cmd_ls = {
    .name = "ls",
    .summary = "list running programs that have annotations",
    .usage = "[OPTIONS]",
    .details = "annot attach PID records one of them.\n",
    .options = options,
    .values_size = sizeof(struct ls_values),
    .operands_min = 0,
    .operands_max = 0,
    .run = run_ls,
};
