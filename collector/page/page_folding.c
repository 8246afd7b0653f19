/* SPDX-License-Identifier: MIT */
/* Which frames of a stack people see in a tree, and what its thread is called there. */
#include "page_parts.h"

#include "stacks.h"
#include "text.h"
#include "trace.h"

#include <string.h>

enum { NO_FRAME = -1 };

/* What of a path decides. */
struct outline {
    const struct own_time *own;
    const struct stacks *stacks;
    const uint32_t *labels; /* by call path */
    const uint32_t *paths;
    uint32_t count;
    int64_t bootstrap, first_python, last_python; /* NO_FRAME: there is none */
    int64_t last_other;                           /* of Python, that does not import */
};

static uint32_t label_at(const struct outline *outline, uint32_t at)
{
    return outline->labels[outline->paths[at]];
}

static const struct label *entry_at(const struct outline *outline, uint32_t at)
{
    return stacks_get_label(outline->stacks, label_at(outline, at));
}

static struct outline look_at(const struct own_time *own, const struct page_paths *call_paths,
                              const uint32_t *paths, uint32_t count)
{
    struct outline outline = {.own = own,
                              .stacks = trace_stacks_get(own_time_trace(own)),
                              .labels = call_paths->labels.items,
                              .paths = paths,
                              .count = count,
                              .bootstrap = NO_FRAME,
                              .first_python = NO_FRAME,
                              .last_python = NO_FRAME,
                              .last_other = NO_FRAME};
    for (uint32_t i = 0; i < count; i++) {
        const struct own_label *label = own_time_label(own, label_at(&outline, i));
        if (entry_at(&outline, i)->kind != FRAME_PYTHON)
            continue;
        if (label->bootstrap)
            outline.bootstrap = i;
        if (outline.first_python == NO_FRAME)
            outline.first_python = i;
        outline.last_python = i;
        if (label->purpose != PURPOSE_IMPORT)
            outline.last_other = i;
    }
    return outline;
}

/* Is it of the module whose bootstrap runs there, or native code between its functions? */
static bool is_bootstrap(const struct outline *outline, uint32_t at)
{
    const struct label *label = entry_at(outline, at);
    if (label->kind != FRAME_PYTHON)
        return (int64_t)at < outline->last_python;
    return label->source == entry_at(outline, (uint32_t)outline->bootstrap)->source;
}

/* The first frame that may be shown. Behind a bootstrap, its module runs what it was given. */
static uint32_t start_of(const struct outline *outline)
{
    uint32_t at = 0;
    if (outline->bootstrap != NO_FRAME) {
        at = (uint32_t)outline->bootstrap + 1;
        while (at < outline->count && is_bootstrap(outline, at))
            at++;
        return at;
    }
    while (outline->first_python == NO_FRAME && at + 1 < outline->count &&
           code_is_start_up(own_time_trace(outline->own), label_at(outline, at)))
        at++;
    return at;
}

/* Of what is imported, the import is shown where nothing else is. */
static bool is_shown(const struct outline *outline, uint32_t at, bool *importing)
{
    const struct own_label *label = own_time_label(outline->own, label_at(outline, at));
    bool python = entry_at(outline, at)->kind == FRAME_PYTHON;
    bool inner = (int64_t)at < outline->last_python; /* a Python function is below */
    if (!python)
        return !inner || label->owner == CODE_OWN;
    if (label->purpose != PURPOSE_IMPORT)
        return !inner || (label->purpose != PURPOSE_START_UP && label->owner != CODE_ANNOT);
    bool first = !*importing && (int64_t)at > outline->last_other;
    *importing |= first;
    return first;
}

uint32_t page_fold(const struct own_time *own, const struct page_paths *call_paths, uint32_t *paths,
                   uint32_t count)
{
    const struct outline outline = look_at(own, call_paths, paths, count);
    uint32_t shown = 0;
    bool importing = false;
    for (uint32_t at = start_of(&outline); at < count; at++)
        if (is_shown(&outline, at, &importing))
            paths[shown++] = paths[at];
    return shown;
}

/* ---- Roles ----------------------------------------------------------------------------------- */

/* Of its length. */
static size_t without_number(const char *name)
{
    size_t all = strlen(name), length = all;
    while (length > 0 && strchr("0123456789", name[length - 1]))
        length--;
    while (length > 0 && name[length] && strchr("-_ #.", name[length - 1]))
        length--;
    return length > 0 ? length : all;
}

void page_cut_number(char *name)
{
    name[without_number(name)] = '\0';
}

/* Names of worker processes: "worker 3", "app.py (worker 3)", and Python's own: "ForkPoolWorker-1",
 * "SpawnProcess-2". */
static bool is_worker_name(const char *name)
{
    static const char *const begins[] = {"Fork", "Spawn", "Loky", "Process"};
    bool worker = strstr(name, "PoolWorker") || strstr(name, "Process");
    if (strncmp(name, "worker ", 7) == 0 || strstr(name, " (worker "))
        return true;
    for (size_t i = 0; worker && i < sizeof(begins) / sizeof(*begins); i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

/* "Thread-12 (consume)", Python's own name of a thread without one, is "thread consume". */
static void name_thread(struct text *text, const char *name)
{
    size_t length = without_number(name);
    if (strncmp(name, "Thread-", 7) == 0 || strncmp(name, "thread ", 7) == 0) {
        const char *inner = strstr(name, " (");
        length = inner ? strlen(inner) : 0;
        if (length > 3)
            text_format(text, "thread %.*s", (int)length - 3, inner + 2);
        else
            text_format(text, "thread without a name");
        return;
    }
    text_format(text, "thread %.*s", (int)length, name);
}

/* "bash helper (worker 2)" does not what the workers of the command itself do: the length of
 * "bash helper"; 0: it is one of these. */
static size_t other_program(const struct trace *trace, const char *name)
{
    char own[256];
    const char *end = strstr(name, " (worker ");
    size_t length = end ? (size_t)(end - name) : 0;
    trace_process_label(trace, 0, own, sizeof(own));
    return strlen(own) == length && strncmp(own, name, length) == 0 ? 0 : length;
}

void page_role_name(const struct trace *trace, uint32_t thread, char *buffer, size_t size)
{
    struct text text = text_init(buffer, size);
    char name[256];
    const struct trace_thread *entry = trace_thread_get(trace, thread);
    const struct trace_process *process = entry ? trace_process_get(trace, entry->process) : NULL;
    if (!process) {
        text_format(&text, "other threads");
        return;
    }
    if (entry->tid != process->ns_pid) {
        trace_thread_label(trace, thread, name, sizeof(name));
        name_thread(&text, name);
        return;
    }
    trace_process_label(trace, entry->process, name, sizeof(name));
    if (entry->process == 0)
        text_format(&text, "main");
    else if (other_program(trace, name) > 0)
        text_format(&text, "%.*s", (int)other_program(trace, name), name);
    else if (is_worker_name(name))
        text_format(&text, "worker");
    else
        text_format(&text, "%.*s", (int)without_number(name), name);
}
