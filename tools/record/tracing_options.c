/* SPDX-License-Identifier: MIT */
/* Tracing options of Python, in the format that pyannot reads: see tracing_options.h. */
#include "tracing_options.h"

#include "record_options.h"

#include "cmd.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

enum { PATTERNS_SIZE = 1900, LEAST_NS_MAX = 1000000000 };

static int check_patterns(const char *option, const char *list, int status)
{
    if (list && strchr(list, '\n'))
        return cmd_fail(status, "option %s: a pattern has no line break", option);
    if (list && strlen(list) > PATTERNS_SIZE)
        return cmd_fail(status, "option %s: longer than %d bytes", option, PATTERNS_SIZE);
    return 0;
}

static int check_modes(const struct tracing_values *values, int status)
{
    if (values->exact + values->adaptive + values->aggregate + values->off > 1)
        return cmd_fail(status,
                        "option --trace-functions: exact, adaptive, aggregate%s: use only "
                        "one",
                        values->off ? ", off" : "");
    if (values->no_library && values->library_entry)
        return cmd_fail(status, "option --trace-functions: -stdlib and stdlib-entry: use only one");
    return 0;
}

/* Without short calls, estimates and counts of all calls would be wrong. */
static int check_least(const struct tracing_values *values, int status)
{
    if (values->least_ns > 0 && !values->exact)
        return cmd_fail(status, "option --trace-functions=min: only with exact: "
                                "--trace-functions=exact,min=TIME\n"
                                "aggregate takes no room for calls, short ones or long ones");
    if (values->least_ns > LEAST_NS_MAX)
        return cmd_fail(status, "option --trace-functions=min: 1s at most");
    return 0;
}

static int check_parts(const struct tracing_values *values, int status)
{
    if (check_modes(values, status) != 0)
        return status;
    if (values->aggregate && (values->arguments || values->results || values->exceptions))
        return cmd_fail(status,
                        "option --trace-functions: %s: not with aggregate\n"
                        "calls that are only counted have no values: use exact",
                        values->arguments ? "args"
                        : values->results ? "return"
                                          : "exceptions");
    if (check_least(values, status) != 0)
        return status;
    if (values->ranges && !values->aggregate)
        return cmd_fail(status, "option --trace-functions=ranges: only with aggregate\n"
                                "in other modes each recorded call shows its range");
    if (values->max_depth > UINT32_MAX)
        return cmd_fail(status, "option --trace-functions=depth: no program nests that deep");
    return 0;
}

int tracing_check(const struct tracing_values *values, const struct python_values *python,
                  int status)
{
    const char *parts = python->parts ? python->parts : getenv("ANNOT_PYTHON");
    if (!values->functions && values->select)
        return cmd_fail(status, "option --trace-select: only with --trace-functions");
    if (!values->functions && !values->lines)
        return 0;
    if (parts && strcmp(parts, "none") == 0)
        return cmd_fail(status,
                        "option %s: not with --python none\nit keeps out pyannot, which traces "
                        "calls and lines",
                        values->functions ? "--trace-functions" : "--trace-lines");
    if (check_parts(values, status) != 0)
        return status;
    return check_patterns("--trace-select", values->select, status) ||
                   check_patterns("--trace-lines", values->lines, status)
               ? status
               : 0;
}

int tracing_check_capture(const struct tracing_values *values, const char *range, int status)
{
    if (!range || (!values->aggregate && !values->lines))
        return 0;
    return cmd_fail(status,
                    "option %s: not with --capture-range\nwhat is counted is one sum of the whole "
                    "run; --trace-functions=exact records the calls inside of a range",
                    values->aggregate ? "--trace-functions=aggregate" : "--trace-lines");
}

/* Without a selection all functions are traced. */
static void add_selection(struct text *text, const struct tracing_values *values,
                          const char *ranges)
{
    const char *selected = values->select ? values->select : "";
    bool all = values->functions && !*selected;
    if (!all && (*selected || *ranges))
        text_format(text, "\nselect=%s%s%s", selected, *selected && *ranges ? "," : "", ranges);
}

/* Ranges alone are calls of the selected functions, all of which are recorded. */
static const char *mode_of(const struct tracing_values *values)
{
    if (values->aggregate)
        return "aggregate";
    return values->exact || !values->functions ? "exact" : "adaptive";
}

size_t tracing_environment(const struct tracing_values *values, const char *ranges,
                           struct tracing_environment *environment)
{
    struct text text = text_init(environment->text, sizeof(environment->text));
    if (!values->functions && !values->lines && !*ranges) {
        environment->variable = (struct child_variable){"ANNOT_TRACE", ""};
        return getenv("ANNOT_TRACE") != NULL;
    }
    text_format(&text, "stdlib=%s",
                values->no_library      ? "off"
                : values->library_entry ? "box"
                                        : "all");
    if (values->functions || *ranges)
        text_format(&text, "\nfunctions=%s", mode_of(values));
    if (values->c_calls)
        text_format(&text, "\nc-calls=1");
    if (values->captured)
        text_format(&text, "\ncaptured=1");
    if (values->max_depth > 0)
        text_format(&text, "\nmax-depth=%llu", (unsigned long long)values->max_depth);
    if (values->least_ns > 0)
        text_format(&text, "\nmin-duration=%lld", (long long)values->least_ns);
    if (values->ranges)
        text_format(&text, "\nranges=1");
    if (values->arguments)
        text_format(&text, "\nargs=1");
    if (values->results)
        text_format(&text, "\nreturn=1");
    if (values->exceptions)
        text_format(&text, "\nexceptions=1");
    add_selection(&text, values, ranges);
    if (values->lines)
        text_format(&text, "\nlines=%s", values->lines);
    environment->variable = (struct child_variable){"ANNOT_TRACE", environment->text};
    return 1;
}
