/* SPDX-License-Identifier: MIT */
/* The sink behind log.h. Thread-safety: the sink is set before threads start. */
#include "log.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

enum { LINE_SIZE = 1024 };

static log_sink_fn *log_sink;
static void *log_context;

void log_set_sink(log_sink_fn *sink, void *context)
{
    log_sink = sink;
    log_context = context;
}

void log_message(enum log_level level, const char *format, ...)
{
    if (!log_sink)
        return;
    char line[LINE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    log_sink(log_context, level, line);
}
