/* SPDX-License-Identifier: MIT */
/* See line_options.h. */
#include "line_options.h"

#include "cmd.h"
#include "text.h"

#include <string.h>

int line_printer_init(struct line_printer *printer, const struct line_values *values,
                      const struct trace *trace, struct out_stream *out)
{
    printer->values = values;
    printer->format = values->json ? line_json : line_text;
    int error = line_writer_init(&printer->writer, trace, out);
    printer->writer.python = values->python;
    return error;
}

void line_printer_fini(struct line_printer *printer)
{
    line_writer_fini(&printer->writer);
}

bool line_printer_takes(const struct line_printer *printer, const struct line *line)
{
    const char *wanted = printer->values->name;
    if (!wanted)
        return true;
    bool lone_end = line->kind == LINE_END && !line->span;
    if (!line->event || !line->event->name || lone_end)
        return false;
    return text_matches(wanted, trace_string(printer->writer.trace, line->event->name)->bytes);
}

int line_printer_fail_output(int error)
{
    return cmd_fail(CMD_FAILED, "cannot write to standard output: %s", strerror(-error));
}
