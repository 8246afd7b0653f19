/* SPDX-License-Identifier: MIT */
/* Notes options that had no effect on the complete recording. */
#include "collector_idle.h"

#include "stacks.h"
#include "text.h"
#include "trace.h"

#include <stdio.h>
#include <string.h>

enum { SAID_SIZE = 1024 };

static const char no_python[] =
    "no Python process loaded pyannot (CPython 3.9 and later does, unless its environment was "
    "cleared; embedded in another program only where pyannot is installed for it)";

static int note(struct trace *trace, const char *option, const char *reason)
{
    char buffer[SAID_SIZE];
    struct text text = text_init(buffer, sizeof(buffer));
    text_format(&text, TRACE_FACT_IDLE_OPTION "%s: %s", option, reason);
    return trace_fact_set(trace, FACT_NOTE, buffer, 1);
}

/* The text after `begin` in the first note that starts with it, or NULL. */
static const char *find_note(const struct trace *trace, const char *begin)
{
    for (uint32_t i = 0; i < trace_fact_count(trace); i++) {
        const struct trace_fact *fact = trace_fact_get(trace, i);
        const char *name = trace_string(trace, fact->name)->bytes;
        if (fact->kind == FACT_NOTE && fact->value && strncmp(name, begin, strlen(begin)) == 0)
            return name + strlen(begin);
    }
    return NULL;
}

static bool has_sums(const struct trace *trace, enum sample_role role)
{
    const struct sample_sets *sets = trace_sets_get(trace);
    for (unsigned i = SAMPLE_SET_OWN; i < sample_sets_count(sets); i++)
        if (sample_set_get(sets, i)->role == role)
            return true;
    return false;
}

static bool has_calls(const struct trace *trace)
{
    return has_sums(trace, SAMPLE_ROLE_CALLS) || trace_fact_value(trace, TRACE_FACT_TRACED) > 0;
}

/* The reason why pyannot traced nothing. */
static const char *reason_of(const struct trace *trace, const char *part, const char *otherwise)
{
    const char *missing = find_note(trace, "Python without pyannot: ");
    const char *failed = find_note(trace, part);
    if (trace_fact_value(trace, "Python processes with pyannot") == 0)
        return missing ? missing : no_python;
    return failed ? failed : otherwise;
}

static int note_tracing(const struct collector_requested *requested, struct trace *trace)
{
    int error = 0;
    if (requested->calls && !has_calls(trace))
        error = note(trace, requested->calls,
                     reason_of(trace, "pyannot does not observe trace-functions: ",
                               "no function that it selects was called"));
    if (error == 0 && requested->lines && !has_sums(trace, SAMPLE_ROLE_LINES))
        error = note(trace, requested->lines,
                     reason_of(trace, "pyannot does not observe trace-lines: ",
                               "no line of such a function ran"));
    if (error == 0 && requested->python &&
        trace_fact_value(trace, "Python processes with pyannot") == 0)
        error = note(trace, requested->python, reason_of(trace, "", no_python));
    return error;
}

/* Notes a rule in the form of the option: each function is a category in a separate domain. */
static int note_rule(struct trace *trace, const struct annot_filter_rule *rule)
{
    static const char functions[] = ANNOT_FUNCTIONS_DOMAIN "/";
    char buffer[SAID_SIZE / 2];
    struct text text = text_init(buffer, sizeof(buffer));
    uint32_t prefix = sizeof(functions) - 1;
    bool is_out = rule->level == ANNOT_FILTER_OFF;
    bool is_function = rule->length > prefix && memcmp(rule->pattern, functions, prefix) == 0;
    if (is_function && rule->pattern[prefix] == '*' && rule->length == prefix + 1)
        return 0; /* not given by a user */
    text_format(&text, "--%s %s%.*s",
                is_function ? "functions"
                : is_out    ? "disable"
                            : "enable",
                is_function && is_out ? "-" : "", (int)(rule->length - (is_function ? prefix : 0)),
                rule->pattern + (is_function ? prefix : 0));
    return note(trace, buffer,
                is_function ? "no function of that name was called, of those compiled for it"
                            : "no domain or category of that name was there");
}

static int note_rules(const struct filter_rules *rules, struct trace *trace)
{
    struct annot_filter_rule rule;
    uint32_t at = 0;
    int error = 0;
    while (error == 0 && filter_rule_unfitted(rules, &at, &rule))
        error = note_rule(trace, &rule);
    return error;
}

static bool has_events(const struct trace *trace)
{
    for (uint32_t i = 0; i < trace_process_count(trace); i++)
        if (trace_process_get(trace, i)->event_count > 0)
            return true;
    return false;
}

/* ---- Ranges of Python functions -------------------------------------------------------------- */

static bool is_last_part(const char *name, const char *wanted, size_t length)
{
    size_t size = strlen(name);
    return size >= length && memcmp(name + size - length, wanted, length) == 0 &&
           (size == length || name[size - length - 1] == '.');
}

/* Older CPythons have no qualified names, so the last part decides. */
static bool has_function(const struct trace *trace, const char *wanted, size_t length)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    for (uint32_t i = 0; i < stacks_label_count(stacks); i++) {
        const struct label *label = stacks_get_label(stacks, i);
        if (is_last_part(trace_string(trace, label->text)->bytes, wanted, length))
            return true;
    }
    return false;
}

static int note_ranges(const char *ranges, struct trace *trace)
{
    char option[SAID_SIZE / 2];
    int error = 0;
    while (*ranges && error == 0) {
        size_t length = strcspn(ranges, ","), last = length;
        while (last > 0 && ranges[last - 1] != '.' && ranges[last - 1] != ':')
            last--;
        snprintf(option, sizeof(option), "--probe %.*s", (int)(length < 400 ? length : 400),
                 ranges);
        if (!has_function(trace, ranges + last, length - last))
            error = note(trace, option,
                         reason_of(trace, "pyannot does not observe trace-functions: ",
                                   "no function of that name was called"));
        ranges += length + (ranges[length] == ',');
    }
    return error;
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

static bool has_gpu_work(const struct trace *trace)
{
    for (uint32_t i = 0; i < trace_process_count(trace); i++)
        for (int count = 0; count < QUEUED_COUNT; count++)
            if (trace_process_get(trace, i)->queued[count] > 0)
                return true;
    return false;
}

/* Skipped if libannot-gpu has given a reason, which is a note already. */
static int note_gpu(const char *option, struct trace *trace)
{
    if (has_gpu_work(trace) || find_note(trace, "GPU: "))
        return 0;
    return note(trace, option,
                trace_has_observer(trace, OBSERVER_CUPTI) ? "nothing was launched on a GPU"
                                                          : "no process loaded the CUDA driver");
}

int collector_idle_note(const struct collector_requested *requested,
                        const struct filter_rules *rules, struct trace *trace)
{
    int error = note_tracing(requested, trace);
    if (error == 0)
        error = note_rules(rules, trace);
    if (error == 0 && requested->ranges)
        error = note_ranges(requested->ranges, trace);
    if (error == 0 && requested->gpu)
        error = note_gpu(requested->gpu, trace);
    if (error == 0 && requested->capture && !has_events(trace))
        error = note(trace, requested->capture, "no such range began");
    return error;
}
