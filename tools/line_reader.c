/* SPDX-License-Identifier: MIT */
/* See line_reader.h. Thread-safety: none. */
#include "line_reader.h"

#include "line_facts.h"

#include <errno.h>
#include <stdlib.h>

struct line_reader {
    struct line_reader_options options;
    struct pass *pass;
    struct line_facts facts;
    int64_t settled_ns;
};

/* Nobody ends the ranges of a process that is gone. A thread that has events behind that end is
 * left to the end. */
static int finish_process(struct line_reader *reader, uint32_t process)
{
    const struct trace *trace = reader->options.source.trace;
    int64_t end_ns = trace_process_get(trace, process)->end_ns;
    int status = 0;
    for (uint32_t i = 0; !status && i < trace_thread_count(trace); i++) {
        const struct trace_thread *thread = trace_thread_get(trace, i);
        if (thread->process == process && thread->last_ns <= end_ns)
            status = pass_finish_thread(reader->pass, i);
    }
    return status;
}

static bool is_wanted(const struct line_reader *reader, const struct line *line)
{
    const struct pass_selection *selection = &reader->options.selection;
    const struct trace *trace = reader->options.source.trace;
    if (selection->range || !pass_selects_time(selection, line->time_ns))
        return false;
    if (line->thread != LINE_NONE || !selection->wants)
        return line->thread == LINE_NONE || pass_selects_thread(selection, line->thread);
    for (uint32_t i = 0; i < trace_thread_count(trace); i++) {
        if (trace_thread_get(trace, i)->process == line->process &&
            pass_selects_thread(selection, i))
            return true;
    }
    return false;
}

static int put_fact(struct line_reader *reader, const struct line *line)
{
    const struct line_sink *sink = &reader->options.sink;
    int status = line->kind == LINE_PROCESS_END ? finish_process(reader, line->process) : 0;
    if (!status && is_wanted(reader, line))
        status = sink->put(sink->context, line);
    line_facts_take(&reader->facts);
    return status;
}

/* The next line of the facts, if it comes before what the pass tells next, at `pass_ns`. */
static bool fact_is_next(const struct line_reader *reader, int64_t pass_ns, struct line *ret_line)
{
    if (!line_facts_peek(&reader->facts, ret_line))
        return false;
    bool end = line_is_end(ret_line->kind);
    return end && pass_ns != INT64_MAX ? ret_line->time_ns < pass_ns : ret_line->time_ns <= pass_ns;
}

/* 1; 0: there is nothing for now; -errno, or what `put` returned. */
static int step(struct line_reader *reader)
{
    struct line fact;
    int64_t pass_ns = INT64_MAX;
    int more = pass_next_ns(reader->pass, &pass_ns);
    if (more < 0)
        return more;
    if (!more || pass_ns > reader->settled_ns)
        pass_ns = reader->settled_ns;
    if (fact_is_next(reader, pass_ns, &fact)) {
        int status = put_fact(reader, &fact);
        return status ? status : 1;
    }
    return pass_step(reader->pass);
}

static int run(struct line_reader *reader)
{
    int status = 1;
    while (status == 1)
        status = step(reader);
    return status;
}

int line_reader_run(struct line_reader *reader, int64_t settled_ns)
{
    int error = line_facts_update(&reader->facts, false);
    reader->settled_ns = settled_ns;
    pass_settle(reader->pass, settled_ns);
    return error ? error : run(reader);
}

int line_reader_finish(struct line_reader *reader)
{
    int error = line_facts_update(&reader->facts, true);
    reader->settled_ns = INT64_MAX;
    if (reader->options.source.live)
        pass_settle(reader->pass, INT64_MAX);
    return error ? error : run(reader);
}

uint64_t line_reader_late_count(const struct line_reader *reader)
{
    return pass_counts(reader->pass)->late;
}

int line_reader_create(const struct line_reader_options *options, struct line_reader **ret_reader)
{
    struct line_reader *reader = calloc(1, sizeof(*reader));
    *ret_reader = reader;
    if (!reader)
        return -ENOMEM;
    reader->options = *options;
    reader->facts.trace = options->source.trace;
    const struct sink sink =
        line_sink_of(&reader->options.sink, options->source.next_samples != NULL);
    reader->pass = pass_create(&reader->options.source, &reader->options.selection, &sink, 1);
    return reader->pass ? 0 : -ENOMEM;
}

void line_reader_destroy(struct line_reader *reader)
{
    if (!reader)
        return;
    pass_destroy(reader->pass);
    line_facts_fini(&reader->facts);
    free(reader);
}
