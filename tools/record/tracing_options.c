/* SPDX-License-Identifier: MIT */
/* Tracing options of Python, in the format that pyannot reads: see tracing_options.h. */
#include "tracing_options.h"

#include "record_options.h"

#include "cmd.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

enum { PATTERNS_SIZE = 1900, LEAST_NS_MAX = 1000000000 };

/* Returns the first given option that requires --trace-functions; NULL: all are at their
 * defaults. */
static const char *given(const struct tracing_values *values)
{
    return values->c_calls                       ? "--c-calls"
           : values->select                      ? "--trace-select"
           : strcmp(values->library, "all") != 0 ? "--trace-stdlib"
           : values->max_depth > 0               ? "--trace-depth"
           : values->least_ns > 0                ? "--min-duration"
           : values->ranges                      ? "--trace-ranges"
           : values->arguments                   ? "--trace-args"
           : values->results                     ? "--trace-return"
           : values->exceptions                  ? "--trace-exceptions"
                                                 : NULL;
}

static int check_patterns(const char *option, const char *list, int status)
{
    if (list && strchr(list, '\n'))
        return cmd_fail(status, "option %s: a pattern has no line break", option);
    if (list && strlen(list) > PATTERNS_SIZE)
        return cmd_fail(status, "option %s: longer than %d bytes", option, PATTERNS_SIZE);
    return 0;
}

/* Without short calls, estimates and counts of all calls would be wrong. */
static int check_least(const struct tracing_values *values, int status)
{
    if (values->least_ns > 0 && values->functions && strcmp(values->functions, "exact") != 0)
        return cmd_fail(status, "option --min-duration: only with --trace-functions=exact\n"
                                "aggregate takes no room for calls, short ones or long ones");
    if (values->least_ns > LEAST_NS_MAX)
        return cmd_fail(status, "option --min-duration: 1s at most");
    return 0;
}

int tracing_check(const struct tracing_values *values, const struct python_values *python,
                  int status)
{
    const char *parts = python->parts ? python->parts : getenv("ANNOT_PYTHON");
    if (!values->functions && given(values))
        return cmd_fail(status, "option %s: only with --trace-functions", given(values));
    if (!values->functions && !values->lines)
        return 0;
    if (parts && strcmp(parts, "none") == 0)
        return cmd_fail(status,
                        "option %s: not with --python none\npyannot tells of calls and "
                        "lines, and that keeps it out",
                        values->functions ? "--trace-functions" : "--trace-lines");
    if (values->functions && strcmp(values->functions, "aggregate") == 0 &&
        (values->arguments || values->results || values->exceptions))
        return cmd_fail(status,
                        "option %s: not with --trace-functions=aggregate\n"
                        "calls that are only counted have no values: use exact",
                        values->arguments ? "--trace-args"
                        : values->results ? "--trace-return"
                                          : "--trace-exceptions");
    if (check_least(values, status) != 0)
        return status;
    if (values->ranges && (!values->functions || strcmp(values->functions, "aggregate") != 0))
        return cmd_fail(status, "option --trace-ranges: only with --trace-functions=aggregate\n"
                                "where each call is recorded, it is known in which range it was");
    if (values->max_depth > UINT32_MAX)
        return cmd_fail(status, "option --trace-depth: no program nests that deep");
    return check_patterns("--trace-select", values->select, status) ||
                   check_patterns("--trace-lines", values->lines, status)
               ? status
               : 0;
}

int tracing_check_capture(const struct tracing_values *values, const char *range, int status)
{
    bool sums = values->functions && strcmp(values->functions, "aggregate") == 0;
    if (!range || (!sums && !values->lines))
        return 0;
    return cmd_fail(status,
                    "option %s: not with --capture-range\nwhat is counted is one sum of the whole "
                    "run; --trace-functions=exact records the calls inside of a range",
                    sums ? "--trace-functions=aggregate" : "--trace-lines");
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

size_t tracing_environment(const struct tracing_values *values, const char *ranges,
                           struct tracing_environment *environment)
{
    struct text text = text_init(environment->text, sizeof(environment->text));
    if (!values->functions && !values->lines && !*ranges) {
        environment->variable = (struct child_variable){"ANNOT_TRACE", ""};
        return getenv("ANNOT_TRACE") != NULL;
    }
    text_format(&text, "stdlib=%s", values->library);
    const char *mode = values->functions ? values->functions : *ranges ? "exact" : NULL;
    if (mode)
        text_format(&text, "\nfunctions=%.*s", (int)strcspn(mode, "|"), mode);
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
