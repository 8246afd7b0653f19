/* SPDX-License-Identifier: MIT */
/* Implements range_options.h. Native functions are probed by the collector; Python's functions are
 * passed to pyannot. */
#include "range_options.h"

#include "collector_requests.h"
#include "range_python.h"
#include "record_options.h"

#include "cmd.h"
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUDGET_MAX = 10000 }; /* 100 processors */

void range_apply(const struct range_values *values, struct collector_options *options)
{
    options->ranges = values->specs.count > 0;
    options->range_budget = values->budget;
}

/* ---- Python ---------------------------------------------------------------------------------- */

/* Returns true for "pkg.mod:Class.method": identifiers separated by dots, which are never paths. */
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

/* Returns true if it names a Python source file in place of a module. */
static bool names_source(const char *spec)
{
    size_t length = strcspn(spec, ":");
    return length > 3 && memcmp(spec + length - 3, ".py", 3) == 0 && spec[length] == ':';
}

/* Suggests "work:load" for "app/work.py:load". */
static int fail_source(const char *spec, int status)
{
    size_t length = strcspn(spec, ":"), begin = length;
    char file[PATH_MAX];
    snprintf(file, sizeof(file), "%.*s", (int)length, spec);
    while (begin > 0 && spec[begin - 1] != '/')
        begin--;
    return cmd_fail(status,
                    "option --probe %s: %sfunctions of Python are named by their module\n"
                    "--probe %.*s%s",
                    spec, access(file, F_OK) == 0 ? "" : "no such file yet, and ",
                    (int)(length - begin - 3), spec + begin, spec + length);
}

int range_check_names(const struct option_list *specs, int status)
{
    for (uint32_t i = 0; i < specs->count; i++)
        if (names_source(specs->items[i].text))
            return fail_source(specs->items[i].text, status);
    return 0;
}

int range_check(const struct range_values *values, const struct sampling_values *sampling,
                int status)
{
    if (values->budget > BUDGET_MAX)
        return cmd_fail(status, "option --probe-budget: at most %d percent of a processor",
                        BUDGET_MAX);
    bool is_native = false;
    if (range_check_names(&values->specs, status) != 0)
        return status;
    for (uint32_t i = 0; i < values->specs.count; i++)
        is_native |= !is_python(values->specs.items[i].text, NULL);
    if (is_native && sampling_rung_max(sampling->rung) == SAMPLING_REMOTE)
        return cmd_fail(status, "option --probe: only with eBPF, which --sampling %s leaves out",
                        sampling->rung);
    return 0;
}

/* ---- Native functions ------------------------------------------------------------------------ */

/* Returns the path that execvp would use. NULL: not found. */
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

static int refuse(const char *spec, int error, const struct sampler_range_result *told)
{
    const char *reason = told->reason[0] ? told->reason : strerror(-error);
    return told->hint[0]
               ? cmd_fail(CMD_FAILED, "option --probe %s: %s\n%s", spec, reason, told->hint)
               : cmd_fail(CMD_FAILED, "option --probe %s: %s", spec, reason);
}

static int fail(const struct collector *collector, const char *spec, int error,
                struct sampler_range_result *told)
{
    const struct trace *trace = collector_trace(collector);
    const struct trace_sampling *sampling = trace_sampling_get(trace);
    if (error == -EOPNOTSUPP) {
        snprintf(told->reason, sizeof(told->reason), "%s",
                 trace_string(trace, sampling->reason)->bytes);
        snprintf(told->hint, sizeof(told->hint), "%s", trace_string(trace, sampling->hint)->bytes);
    }
    return refuse(spec, error, told);
}

static void note(double percent, uint32_t functions, uint64_t call_ns)
{
    char budget[96] = "";
    if (percent > 0)
        snprintf(budget, sizeof(budget),
                 "; what takes more than %g %% of a processor is switched "
                 "off",
                 percent);
    if (functions > 0)
        cmd_note("%u functions are ranges: each call of one takes about %.1f us longer%s",
                 functions, (double)call_ns * 1e-3, budget);
    else
        cmd_note("each call of such a function will take about %.1f us longer%s",
                 (double)call_ns * 1e-3, budget);
}

static void note_static(const char *spec, const struct sampler_range_result *told)
{
    cmd_note("range %s: %u places are watched: %s takes about %.1f us longer", spec, told->places,
             strstr(spec, "..") ? "each begin and end" : "each visit of one",
             (double)told->call_ns * 1e-3);
}

/* Totals of specifications that were added together. */
struct added {
    uint32_t functions, native;
    uint64_t call_ns;
};

static void tell(const char *spec, const struct sampler_range_result *told, struct added *added)
{
    if (told->functions == 0)
        cmd_note("range %s: no such file yet; it is probed when the program loads it", spec);
    if (told->refused > 0)
        cmd_note("range %s: the code of %u functions cannot be read; they are left out", spec,
                 told->refused);
    if (told->chosen > 0)
        cmd_note("range %s: the program may run another function of that name, chosen when it "
                 "starts (IFUNC); \"nm -D\" lists those that it may be",
                 spec);
    if (told->is_static) {
        note_static(spec, told);
        return;
    }
    added->functions += told->functions;
    added->call_ns = told->call_ns;
    added->native++;
}

int range_begin(const struct range_values *values, struct collector *collector, char **argv)
{
    char path[PATH_MAX];
    const char *program = find_program(argv ? argv[0] : NULL, path);
    struct added added = {0};
    for (uint32_t i = 0; i < values->specs.count; i++) {
        const struct sampler_range_request wish = {values->specs.items[i].text, program};
        struct sampler_range_result told;
        if (is_python(wish.text, program)) {
            if (argv)
                range_warn_of_python(wish.text, argv);
            continue;
        }
        int error = collector_add_range(collector, &wish, &told);
        if (error != 0)
            return fail(collector, wish.text, error, &told);
        tell(wish.text, &told, &added);
    }
    if (added.native > 0)
        note(values->budget, added.functions, added.call_ns);
    return 0;
}

/* Errors of a running collector; some arise in the communication with it. */
static int fail_asked(const char *spec, int error, const struct sampler_range_result *told)
{
    if (told->reason[0] == 0 && error == -ENOENT)
        return cmd_fail(CMD_FAILED, "the recording has just ended");
    if (error == -EBUSY)
        return cmd_fail(CMD_FAILED, "option --probe %s: another one is being added\ntry again",
                        spec);
    if (error == -EPROTONOSUPPORT)
        return cmd_fail(CMD_FAILED, "option --probe %s: the annot that records is older", spec);
    if (error == -EINPROGRESS)
        return cmd_fail(
            CMD_FAILED,
            "option --probe %s: no answer yet\nif the annot that records is stopped, it "
            "puts the probes when it runs again",
            spec);
    return refuse(spec, error, told);
}

int range_ask(const struct option_list *specs, int32_t pid, uint64_t session)
{
    struct added added = {0};
    for (uint32_t i = 0; i < specs->count; i++) {
        const char *spec = specs->items[i].text;
        struct sampler_range_result told;
        if (is_python(spec, NULL))
            continue;
        int error = collector_ask_range(pid, session, spec, &told);
        if (error != 0)
            return fail_asked(spec, error, &told);
        tell(spec, &told, &added);
    }
    if (added.native > 0)
        note(0, added.functions, added.call_ns);
    return 0;
}

void range_of_python(const struct option_list *specs, const char *command, struct text *patterns)
{
    char path[PATH_MAX];
    const char *program = find_program(command, path);
    for (uint32_t i = 0; i < specs->count; i++)
        if (is_python(specs->items[i].text, program))
            text_format(patterns, "%s%s", patterns->length ? "," : "", specs->items[i].text);
}
