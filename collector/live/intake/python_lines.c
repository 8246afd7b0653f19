/* SPDX-License-Identifier: MIT */
/* Lines are foreign bytes: of any number, cut anywhere, with any fields. A line not in the format
 * of docs/wire-format.md is skipped. */
#include "python_lines.h"

#include "intake.h"

#include "annot_wire.h"
#include "file_io.h"
#include "hash_map.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_MAX = 6, NUMBER_DIGITS_MAX = 10, PART_BYTES_MAX = 32 };

struct lines {
    struct trace *trace;
    struct map64 processes; /* pids, in the programs' namespace, with arrived events */
    struct map64 threads;   /* likewise, of tids */
    uint32_t note_count;
    bool filtered; /* filtered events do not arrive */
    struct text nested;
};

/* ---- Facts ----------------------------------------------------------------------------------- */

static int count(struct lines *lines, enum fact_kind kind, const char *name)
{
    uint64_t before = trace_fact_value(lines->trace, name);
    if (kind == FACT_NOTE && before == 0 && lines->note_count++ >= PYTHON_NOTES_MAX)
        return 0;
    int error = trace_fact_set(lines->trace, kind, name, before + 1);
    return error == -ENOSPC ? 0 : error;
}

static bool is_part(const char *name, size_t length)
{
    return length > 0 && length <= PART_BYTES_MAX &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz-") >= length;
}

static int count_part(struct lines *lines, const char *name, size_t length)
{
    char buffer[64];
    struct text text = text_init(buffer, sizeof(buffer));
    if (!is_part(name, length))
        return 0;
    text_format(&text, "Python processes: %.*s observed", (int)length, name);
    return count(lines, FACT_COUNT, buffer);
}

/* Counts each part of a comma-separated list. */
static int count_parts(struct lines *lines, const char *names)
{
    int error = 0;
    while (*names && error == 0) {
        size_t length = strcspn(names, ",");
        error = count_part(lines, names, length);
        names += length + (names[length] == ',');
    }
    return error;
}

/* ---- Checks of arrival ----------------------------------------------------------------------- */

/* The number; 0: not a valid pid or tid. */
static uint64_t number_of(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits <= NUMBER_DIGITS_MAX && text[digits] == 0 ? strtoull(text, NULL, 10)
                                                                          : 0;
}

static bool is_here(const uint64_t lost[LOSS_COUNT], uint64_t event_count)
{
    for (int i = 0; i < LOSS_COUNT; i++)
        event_count += lost[i]; /* lost, but counted, so the connection worked */
    return event_count > 0;
}

static int list_arrived(struct lines *lines)
{
    const struct trace *trace = lines->trace;
    int error = 0;
    for (uint32_t i = 0; i < trace_process_count(trace) && error == 0; i++) {
        const struct trace_process *process = trace_process_get(trace, i);
        if (process->ns_pid > 0 && is_here(process->lost, process->event_count))
            error = map64_put(&lines->processes, (uint64_t)process->ns_pid, 1);
    }
    for (uint32_t i = 0; i < trace_thread_count(trace) && error == 0; i++) {
        const struct trace_thread *thread = trace_thread_get(trace, i);
        if (thread->tid > 0 && is_here(thread->lost, thread->event_count))
            error = map64_put(&lines->threads, (uint64_t)thread->tid, 1);
    }
    return error;
}

/* `emitted`: the field that is "1" if there were events to arrive. */
static int check_arrival(struct lines *lines, const struct map64 *arrived, const char *number,
                         const char *emitted, const char *what)
{
    uint64_t key = number_of(number);
    if (key == 0 || strcmp(emitted, "1") != 0 || lines->filtered || map64_find(arrived, key))
        return 0;
    return count(lines, FACT_NOTE, what);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* python PID EXECUTABLE BUILD EMITTED PARTS */
static int take_python(struct lines *lines, char *fields[FIELDS_MAX])
{
    int error = count(lines, FACT_COUNT, "Python processes with pyannot");
    if (error == 0)
        error = count_parts(lines, fields[5]);
    if (error != 0)
        return error;
    return check_arrival(lines, &lines->processes, fields[1], fields[4],
                         "pyannot ran in a Python process, and nothing of it arrived.");
}

/* forked PID EMITTED PARTS */
static int take_forked(struct lines *lines, char *fields[FIELDS_MAX])
{
    int error = count(lines, FACT_COUNT, "Python processes with pyannot");
    if (error == 0 && fields[3])
        error = count_parts(lines, fields[3]);
    if (error != 0)
        return error;
    return check_arrival(lines, &lines->processes, fields[1], fields[2],
                         "A Python process was forked with pyannot, and nothing of it arrived.");
}

/* thread PID TID EMITTED */
static int take_thread(struct lines *lines, char *fields[FIELDS_MAX])
{
    return check_arrival(lines, &lines->threads, fields[2], fields[3],
                         "A second thread of Python recorded, and nothing of it arrived.");
}

/* part PID NAME STATE */
static int take_part(struct lines *lines, char *fields[FIELDS_MAX])
{
    char buffer[PYTHON_LINE_BYTES];
    struct text text = text_init(buffer, sizeof(buffer));
    if (strncmp(fields[3], "on", 2) == 0)
        return count_part(lines, fields[2], strlen(fields[2]));
    text_format(&text, "pyannot does not observe %s: %s", fields[2], fields[3]);
    return count(lines, FACT_NOTE, buffer);
}

/* missing PID EXECUTABLE BUILD REASON */
static int take_missing(struct lines *lines, char *fields[FIELDS_MAX])
{
    char buffer[2 * PYTHON_LINE_BYTES];
    struct text text = text_init(buffer, sizeof(buffer));
    bool absent = strcmp(fields[4], "not installed") == 0;
    text_format(&text,
                "Python without pyannot: %s (%s): %s; in annot's source: %s -m pip install %s.",
                fields[2], fields[3], fields[4], fields[2], absent ? "" : "--force-reinstall ");
    return count(lines, FACT_NOTE, buffer);
}

/* note PID SENTENCE */
static int take_note(struct lines *lines, char *fields[FIELDS_MAX])
{
    return fields[2][0] && utf8_is_text(fields[2], strlen(fields[2]))
               ? count(lines, FACT_NOTE, fields[2])
               : 0;
}

static bool is_listed(const char *list, const char *path)
{
    size_t length = strlen(path);
    for (const char *at = list; *at; at += strcspn(at, "\n"), at += *at == '\n')
        if (strcspn(at, "\n") == length && memcmp(at, path, length) == 0)
            return true;
    return false;
}

/* nested RECORDING */
static void take_nested(struct lines *lines, const char *path)
{
    struct text *list = &lines->nested;
    size_t length = strlen(path);
    if (length == 0 || list->length + 1 + length >= list->size || is_listed(list->buffer, path))
        return;
    text_add(list, "\n", list->length > 0);
    text_add(list, path, length);
}

static int keep_nested(const struct lines *lines)
{
    if (lines->nested.length == 0)
        return 0;
    int64_t list = trace_string_add(lines->trace, lines->nested.buffer, lines->nested.length);
    if (list < 0)
        return list == -ENOMEM ? -ENOMEM : 0;
    trace_session(lines->trace)->nested = (uint32_t)list;
    trace_session(lines->trace)->revision++;
    return 0;
}

static int take_line(struct lines *lines, char *line, size_t length)
{
    static const struct {
        const char *kind;
        int field_count;
        int (*take)(struct lines *lines, char *fields[FIELDS_MAX]);
    } kinds[] = {
        {"python", 6, take_python}, {"forked", 3, take_forked},   {"thread", 4, take_thread},
        {"part", 4, take_part},     {"missing", 5, take_missing}, {"note", 3, take_note},
    };

    static const char nested[] = "nested\t";
    if (memchr(line, 0, length))
        return 0;
    if (strncmp(line, nested, sizeof(nested) - 1) == 0) {
        take_nested(lines, line + sizeof(nested) - 1);
        return 0;
    }
    if (length >= PYTHON_LINE_BYTES)
        return 0;
    char *fields[FIELDS_MAX] = {0};
    int field_count = 0;
    while (field_count < FIELDS_MAX && line)
        fields[field_count++] = strsep(&line, "\t");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strcmp(fields[0], kinds[i].kind) == 0 && field_count >= kinds[i].field_count)
            return kinds[i].take(lines, fields);
    return 0;
}

int python_lines_read(char *bytes, size_t size, struct trace *trace)
{
    char nested[NESTED_BYTES];
    struct lines lines = {.trace = trace,
                          .filtered = trace_filter_count(trace) > 0,
                          .nested = text_init(nested, sizeof(nested))};
    int error = list_arrived(&lines);
    char *end = bytes + size;
    for (char *at = bytes, *newline; error == 0 && at < end; at = newline + 1) {
        newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline)
            break;
        *newline = 0;
        error = take_line(&lines, at, (size_t)(newline - at));
    }
    if (error == 0)
        error = keep_nested(&lines);
    map64_free(&lines.processes);
    map64_free(&lines.threads);
    return error;
}

int python_lines_take(int fd, struct trace *trace)
{
    char first;
    if (fd < 0 || file_read_at(fd, &first, 1, sizeof(struct annot_session)) != 1)
        return 0;
    char *bytes = malloc(PYTHON_LINES_BYTES);
    if (!bytes)
        return -ENOMEM;
    ssize_t size = file_read_at(fd, bytes, PYTHON_LINES_BYTES, sizeof(struct annot_session));
    int error = size > 0 ? python_lines_read(bytes, (size_t)size, trace) : 0;
    free(bytes);
    return error;
}
