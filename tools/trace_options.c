/* SPDX-License-Identifier: MIT */
/* What of Python is traced, as pyannot reads it: see record_options.h. */
#include "record_options.h"

#include "cmd.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

/* What belongs to --trace-functions: the first that is given; NULL: none. */
static const char *given(const struct tracing_values *values)
{
    return values->c_calls                       ? "--c-calls"
           : values->select                      ? "--trace-select"
           : strcmp(values->library, "all") != 0 ? "--trace-stdlib"
           : values->max_depth > 0               ? "--trace-depth"
                                                 : NULL;
}

int tracing_check(const struct tracing_values *values, const struct python_values *python,
                  int status)
{
    const char *parts = python->parts ? python->parts : getenv("ANNOT_PYTHON");
    if (!values->functions)
        return given(values)
                   ? cmd_fail(status, "option %s: only with --trace-functions", given(values))
                   : 0;
    if (parts && strcmp(parts, "none") == 0)
        return cmd_fail(status, "option --trace-functions: not with --python none\npyannot tells "
                                "of calls, and that keeps it out");
    if (values->max_depth > UINT32_MAX)
        return cmd_fail(status, "option --trace-depth: no program nests that deep");
    if (values->select && strchr(values->select, '\n'))
        return cmd_fail(status, "option --trace-select: a pattern has no line break");
    return 0;
}

size_t tracing_environment(const struct tracing_values *values,
                           struct tracing_environment *environment)
{
    struct text text = text_init(environment->text, sizeof(environment->text));
    if (!values->functions) {
        environment->variable = (struct child_variable){"ANNOT_TRACE", ""};
        return getenv("ANNOT_TRACE") != NULL;
    }
    text_format(&text, "functions=%.*s\nstdlib=%s", (int)strcspn(values->functions, "|"),
                values->functions, values->library);
    if (values->c_calls)
        text_format(&text, "\nc-calls=1");
    if (values->max_depth > 0)
        text_format(&text, "\nmax-depth=%llu", (unsigned long long)values->max_depth);
    if (values->select)
        text_format(&text, "\nselect=%s", values->select);
    environment->variable = (struct child_variable){"ANNOT_TRACE", environment->text};
    return 1;
}
