/* SPDX-License-Identifier: MIT */
/* See record_options.h. Native functions are probed from here; Python's own are named to pyannot.
 */
#include "record_options.h"

#include "cmd.h"
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUDGET_MAX = 10000 }; /* a hundred processors */

void range_apply(const struct range_values *values, struct collector_options *options)
{
    options->ranges = values->specs.count > 0;
    options->range_budget = values->budget;
}

/* ---- Python ---------------------------------------------------------------------------------- */

/* "pkg.mod:Class.method": nothing but names with dots between; and no file is called so. */
static bool is_dotted(const char *text, size_t length)
{
    bool begins = true;
    for (size_t i = 0; i < length; i++) {
        bool letter = isalpha((unsigned char)text[i]) || text[i] == '_';
        if (begins ? !letter : !letter && !isdigit((unsigned char)text[i]) && text[i] != '.')
            return false;
        begins = text[i] == '.';
    }
    return length > 0 && !begins;
}

static bool is_file(const char *spec, size_t length, const char *program)
{
    const char *base = program ? text_base_name(program) : "";
    char name[256];
    bool library = length > 3 && memcmp(spec + length - 3, ".so", 3) == 0;
    snprintf(name, sizeof(name), "%.*s", (int)length, spec);
    return library || strcmp(base, name) == 0 || access(name, F_OK) == 0;
}

static bool is_python(const char *spec, const char *program)
{
    size_t length = strcspn(spec, ":");
    const char *function = spec + length + (spec[length] == ':');
    return is_dotted(spec, length) && is_dotted(function, strlen(function)) &&
           !is_file(spec, length, program);
}

int range_check(const struct range_values *values, const struct sampling_values *sampling,
                int status)
{
    if (values->budget > BUDGET_MAX)
        return cmd_fail(status, "option --range-budget: at most %d percent of a processor",
                        BUDGET_MAX);
    bool is_native = false;
    for (uint32_t i = 0; i < values->specs.count; i++)
        is_native |= !is_python(values->specs.items[i].text, NULL);
    if (is_native && sampling_rung_max(sampling->rung) < SAMPLING_BPF)
        return cmd_fail(status, "option --range: only with eBPF, which --sampling %s leaves out",
                        sampling->rung);
    return 0;
}

/* ---- Native functions ------------------------------------------------------------------------ */

/* The program as the kernel will find it. NULL: it is nowhere. */
static const char *find_program(const char *command, char path[PATH_MAX])
{
    const char *at = getenv("PATH");
    if (!command || strchr(command, '/'))
        return command;
    for (at = at ? at : "/bin:/usr/bin"; *at;) {
        size_t length = strcspn(at, ":");
        int size = snprintf(path, PATH_MAX, "%.*s/%s", (int)length, at, command);
        if (size > 0 && size < PATH_MAX && access(path, X_OK) == 0)
            return path;
        at += length + (at[length] == ':');
    }
    return NULL;
}

static int fail(const struct collector *collector, const char *spec, int error,
                const struct sampler_range_told *told)
{
    const struct trace *trace = collector_trace(collector);
    const struct trace_sampling *sampling = trace_sampling_get(trace);
    const char *reason = told->reason, *hint = told->hint;
    if (error == -EOPNOTSUPP) {
        reason = trace_string(trace, sampling->reason)->bytes;
        hint = trace_string(trace, sampling->hint)->bytes;
    }
    if (*reason == 0)
        reason = strerror(-error);
    return *hint ? cmd_fail(CMD_FAILED, "option --range %s: %s\n%s", spec, reason, hint)
                 : cmd_fail(CMD_FAILED, "option --range %s: %s", spec, reason);
}

static void note(const struct range_values *values, uint32_t functions, uint64_t call_ns)
{
    char budget[96] = "";
    if (values->budget > 0)
        snprintf(budget, sizeof(budget),
                 "; what takes more than %g %% of a processor is switched "
                 "off",
                 values->budget);
    if (functions > 0)
        cmd_note("%u functions are ranges: each call of one takes about %.1f us longer%s",
                 functions, (double)call_ns * 1e-3, budget);
    else
        cmd_note("each call of such a function will take about %.1f us longer%s",
                 (double)call_ns * 1e-3, budget);
}

static void note_static(const char *spec, const struct sampler_range_told *told)
{
    cmd_note("range %s: %u places are watched: %s takes about %.1f us longer", spec, told->places,
             strstr(spec, "..") ? "each begin and end" : "each visit of one",
             (double)told->call_ns * 1e-3);
}

int range_begin(const struct range_values *values, struct collector *collector, const char *command)
{
    char path[PATH_MAX];
    const char *program = find_program(command, path);
    uint32_t functions = 0, native = 0;
    uint64_t call_ns = 0;
    for (uint32_t i = 0; i < values->specs.count; i++) {
        const struct sampler_range_wish wish = {values->specs.items[i].text, program};
        struct sampler_range_told told;
        if (is_python(wish.text, program))
            continue;
        int error = collector_add_range(collector, &wish, &told);
        if (error != 0)
            return fail(collector, wish.text, error, &told);
        if (told.functions == 0)
            cmd_note("range %s: no such file yet; it is probed when the program loads it",
                     wish.text);
        if (told.refused > 0)
            cmd_note("range %s: the code of %u functions cannot be read; they are left out",
                     wish.text, told.refused);
        if (told.chosen > 0)
            cmd_note("range %s: the program may run another function of that name, chosen when it "
                     "starts (IFUNC); \"nm -D\" lists those that it may be",
                     wish.text);
        if (told.is_static) {
            note_static(wish.text, &told);
            continue;
        }
        functions += told.functions;
        call_ns = told.call_ns;
        native++;
    }
    if (native > 0)
        note(values, functions, call_ns);
    return 0;
}

void range_of_python(const struct range_values *values, const char *command, struct text *patterns)
{
    char path[PATH_MAX];
    const char *program = find_program(command, path);
    for (uint32_t i = 0; i < values->specs.count; i++)
        if (is_python(values->specs.items[i].text, program))
            text_format(patterns, "%s%s", patterns->length ? "," : "", values->specs.items[i].text);
}

int range_refuse_python(const struct range_values *values, int status)
{
    for (uint32_t i = 0; i < values->specs.count; i++)
        if (is_python(values->specs.items[i].text, NULL))
            return cmd_fail(status,
                            "option --range %s: functions of Python become ranges when the "
                            "program begins\nannot record --range; of a native program give its "
                            "path: ./NAME:FUNCTION",
                            values->specs.items[i].text);
    return 0;
}
