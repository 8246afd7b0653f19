/* SPDX-License-Identifier: MIT */
/* Which part of a recording is meant. */
#include "selection.h"

#include "cmd.h"
#include "recording.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

enum { LABEL_SIZE = 4096 };

/* ---- What is meant --------------------------------------------------------------------------- */

static int parse_time(const char *name, const char *text, int64_t *ret_ns)
{
    if (!text || options_parse_time(text, ret_ns) == 0)
        return CMD_OK;
    return cmd_fail(CMD_MISUSE,
                    "option --%s: cannot understand \"%.64s\"\na time is a number with a unit "
                    "since the recording's begin: 300ms, 12.5s, 2min",
                    name, text);
}

int selection_check(const struct selection_values *values)
{
    int64_t from_ns = 0, to_ns = INT64_MAX;
    int status = parse_time("from", values->from, &from_ns);
    if (status == CMD_OK)
        status = parse_time("to", values->to, &to_ns);
    if (status == CMD_OK && from_ns >= to_ns)
        return cmd_fail(CMD_MISUSE,
                        "there is nothing between --from and --to\n--to must be the later time");
    return status;
}

/* Is the word this number, or a part of the label? */
static bool matches(const char *word, int32_t number, const char *label)
{
    char *end;
    long long value = strtoll(word, &end, 10);
    if (*word && !*end)
        return value == number;
    return strstr(label, word) != NULL;
}

static bool look_at(const struct selection *selection, uint32_t thread)
{
    const struct trace *trace = selection->trace;
    const struct trace_thread *entry = trace_thread_get(trace, thread);
    const struct trace_process *process = entry ? trace_process_get(trace, entry->process) : NULL;
    char label[LABEL_SIZE];
    if (!process)
        return false;
    if (selection->values->process) {
        trace_process_label(trace, entry->process, label, sizeof(label));
        if (!matches(selection->values->process, process->pid, label))
            return false;
    }
    if (!selection->values->thread)
        return true;
    trace_thread_label(trace, thread, label, sizeof(label));
    return matches(selection->values->thread, entry->tid, label);
}

static bool wants(void *context, uint32_t thread)
{
    struct selection *selection = context;
    while (selection->threads.count <= thread) {
        if (vec_push(&selection->threads, 0) != 0)
            return look_at(selection, thread);
    }
    uint8_t *known = &selection->threads.items[thread];
    if (*known == 0)
        *known = look_at(selection, thread) ? 1 : 2;
    return *known == 1;
}

/* Some thread is meant, or there are none at all. */
static int check_threads(const struct selection *selection, const char *path)
{
    const struct selection_values *values = selection->values;
    uint32_t count = trace_thread_count(selection->trace);
    bool any = count == 0;
    for (uint32_t i = 0; !any && i < count; i++)
        any = pass_selects_thread(&selection->chosen, i);
    if (any)
        return CMD_OK;
    char quoted[256];
    cmd_quote(path, quoted, sizeof(quoted));
    return cmd_fail(CMD_FAILED, "no thread of %s matches %s%s%s%s%s\nannot info %s lists them",
                    path, values->process ? "--process " : "",
                    values->process ? values->process : "",
                    values->process && values->thread ? " " : "", values->thread ? "--thread " : "",
                    values->thread ? values->thread : "", quoted);
}

static int64_t instant(const struct trace *trace, int64_t after_ns)
{
    int64_t sum;
    return __builtin_add_overflow(trace_begin_ns(trace), after_ns, &sum) ? INT64_MAX : sum;
}

int selection_init(struct selection *selection, const struct selection_values *values,
                   const struct trace *trace, const char *path)
{
    int64_t from_ns = 0, to_ns = 0;
    *selection = (struct selection){.values = values, .trace = trace};
    struct pass_selection *chosen = &selection->chosen;
    *chosen = PASS_SELECT_ALL;
    chosen->range = values->range;
    if (values->from && options_parse_time(values->from, &from_ns) == 0)
        chosen->from_ns = instant(trace, from_ns);
    if (values->to && options_parse_time(values->to, &to_ns) == 0)
        chosen->to_ns = instant(trace, to_ns);
    if (!values->process && !values->thread)
        return CMD_OK;
    chosen->wants = wants;
    chosen->context = selection;
    return path ? check_threads(selection, path) : CMD_OK;
}

void selection_fini(struct selection *selection)
{
    vec_free(&selection->threads);
}

bool selection_is_all(const struct selection *selection)
{
    return pass_selects_all(&selection->chosen);
}

size_t selection_describe(const struct selection_values *values, char *buffer, size_t size)
{
    const struct {
        const char *what, *value;
    } parts[] = {{"from ", values->from},
                 {"to ", values->to},
                 {"in range ", values->range},
                 {"of process ", values->process},
                 {"of thread ", values->thread}};

    struct text text = text_init(buffer, size);
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        if (parts[i].value)
            text_format(&text, "%s%s%s", text.length ? ", " : "", parts[i].what, parts[i].value);
    }
    return text.length;
}
