/* SPDX-License-Identifier: MIT */
/* Turns a recording into lines, in order of time: events of all threads, finished ranges, begins
 * and ends of processes and threads, samples.
 *
 * A pass of read/pass.h provides the events; begins and ends that only the trace contains are
 * merged in. An end without an event (the process was killed, recording stopped) also gives a line,
 * with a flag; for overlapping ranges and ranges on tracks it comes last, with its own time. */
#include "line_reader.h"

#include "line.h"

#include "export_ids.h"
#include "times.h"
#include "vec.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

/* ---- From items to lines --------------------------------------------------------------------- */

static int put(const struct line_sink *sink, struct line *line)
{
    const struct trace_thread *thread = trace_thread_get(sink->trace, line->thread);
    line->process = thread ? thread->process : LINE_NONE;
    return sink->put(sink->context, line);
}

static int put_begin(const struct line_sink *sink, const struct item *item)
{
    if (sink->complete)
        return 0;
    return put(sink, &(struct line){.kind = LINE_BEGIN,
                                    .lane = item->lane,
                                    .time_ns = item->begin_ns,
                                    .thread = item->event->thread,
                                    .event = item->event,
                                    .args = item->args,
                                    .number = item->number,
                                    .depth = item->depth});
}

static int put_span(const struct line_sink *sink, const struct item *item)
{
    bool complete = sink->complete || item->lane == LANE_QUEUE; /* a queue has no begins */
    if (!complete && (item->flags & ITEM_END_TOLD))
        return 0;
    return put(sink, &(struct line){.kind = complete ? LINE_RANGE : LINE_END,
                                    .lane = item->lane,
                                    .time_ns = complete ? item->begin_ns : item->end_ns,
                                    .thread = complete ? item->event->thread : item->end_thread,
                                    .event = item->event,
                                    .args = complete ? item->args : item_end_args(item),
                                    .number = item->number,
                                    .span = item,
                                    .depth = item->depth});
}

static int put_point(const struct line_sink *sink, enum line_kind kind, const struct item *item)
{
    struct line line = {.kind = kind,
                        .lane = item->lane,
                        .time_ns = item->begin_ns,
                        .thread = item->event->thread,
                        .event = item->event,
                        .depth = item->depth};
    if (item->kind == ITEM_INSTANT) /* other kinds have no key-values to show */
        line.args = item->args;
    return put(sink, &line);
}

/* An end without a known begin. */
static int put_lone_end(const struct line_sink *sink, const struct item *item)
{
    return sink->complete ? 0
                          : put(sink, &(struct line){.kind = LINE_END,
                                                     .lane = item->lane,
                                                     .time_ns = item->begin_ns,
                                                     .thread = item->event->thread,
                                                     .event = item->event});
}

static int put_sample(const struct line_sink *sink, const struct sample *sample)
{
    const struct sample_sets *sets = trace_sets_get(sink->trace);
    bool off = sample_role(sets, sample) == SAMPLE_ROLE_OFF_CPU;
    return put(sink, &(struct line){
                         .kind = off ? LINE_OFF_CPU : LINE_SAMPLE,
                         .time_ns = sample->time_ns,
                         .thread = sample->thread,
                         .sample = sample,
                     });
}

static int take(void *context, const struct item *item)
{
    const struct line_sink *sink = context;
    switch (item->kind) {
    case ITEM_OPENED:
        return put_begin(sink, item);
    case ITEM_SPAN:
        return put_span(sink, item);
    case ITEM_INSTANT:
        return put_point(sink, line_is_log(sink->trace, item->event) ? LINE_LOG : LINE_MARK, item);
    case ITEM_COUNTER:
        return put_point(sink, LINE_COUNTER, item);
    case ITEM_FLOW:
        return put_point(sink, LINE_FLOW_BEGIN + (item->event->kind - EVENT_FLOW_BEGIN), item);
    case ITEM_LOST:
        return put_point(sink, LINE_LOST, item);
    case ITEM_EDGE:
        return sink->complete ? 0 : put_point(sink, LINE_EDGE, item);
    case ITEM_ORPHAN:
        return put_lone_end(sink, item);
    case ITEM_SAMPLE:
        return put_sample(sink, item->sample);
    default:
        return 0;
    }
}

/* The sink of the pass; `samples`: with samples. */
static struct sink sink_of(struct line_sink *sink, bool samples)
{
    return (struct sink){.take = take,
                         .context = sink,
                         .wants = WANT_EVENTS | WANT_BEGINS | WANT_NUMBERS | WANT_TIME_ORDER |
                                  (samples ? WANT_SAMPLES : 0)};
}

/* ---- Processes and threads of the trace ------------------------------------------------------ */

struct line_fact {
    enum line_kind kind;
    uint32_t ordinal; /* of the process, or the thread */
};

/* Begins and ends of processes and threads, in order of time. A thread begins and ends with its
 * first and last event. */
struct line_facts {
    const struct trace *trace;
    VEC(struct line_fact) facts;
    VEC(struct time_place) places; /* of facts, sorted; with as much spare space for the sort */
    size_t next;
    VEC(uint8_t) processes, threads; /* TOLD_* flags: lines that were put or are queued */
};

enum { TOLD_START = 1, TOLD_END = 2, TOLD_NOTE = 4 };

static int add(struct line_facts *facts, enum line_kind kind, uint32_t ordinal, int64_t time_ns)
{
    if (vec_push(&facts->places, ((struct time_place){time_ns, (uint32_t)facts->facts.count})) != 0)
        return -ENOMEM;
    return vec_push(&facts->facts, ((struct line_fact){kind, ordinal}));
}

static bool has_end(const struct trace_process *process)
{
    return process->end != PROCESS_RUNNING && process->end != PROCESS_UNRECORDED && process->end_ns;
}

static int update_process(struct line_facts *facts, uint32_t ordinal)
{
    const struct trace_process *process = trace_process_get(facts->trace, ordinal);
    uint8_t *told = &facts->processes.items[ordinal];
    int64_t start_ns = process->start_ns ? process->start_ns : process->fork_ns;
    int error = 0;
    if (start_ns && !(*told & TOLD_START)) {
        *told |= TOLD_START;
        error = add(facts, LINE_PROCESS_START, ordinal, start_ns);
    }
    if (!error && process->note && !(*told & TOLD_NOTE)) {
        *told |= TOLD_NOTE;
        error = add(facts, LINE_LAST_WORD, ordinal, export_note_time_ns(facts->trace, ordinal));
    }
    if (!error && has_end(process) && !(*told & TOLD_END)) {
        *told |= TOLD_END;
        error = add(facts, LINE_PROCESS_END, ordinal, process->end_ns);
    }
    return error;
}

static int update_thread(struct line_facts *facts, uint32_t ordinal, bool ended)
{
    const struct trace_thread *thread = trace_thread_get(facts->trace, ordinal);
    uint8_t *told = &facts->threads.items[ordinal];
    int error = 0;
    if (thread->first_ns && !(*told & TOLD_START)) {
        *told |= TOLD_START;
        error = add(facts, LINE_THREAD_START, ordinal, thread->first_ns);
    }
    if (!error && ended && thread->last_ns && !(*told & TOLD_END)) {
        *told |= TOLD_END;
        error = add(facts, LINE_THREAD_END, ordinal, thread->last_ns);
    }
    return error;
}

static int sort_places(struct line_facts *facts)
{
    size_t begin = facts->next, count = facts->places.count - begin;
    if (vec_reserve(&facts->places, count) != 0)
        return -ENOMEM;
    time_order_sort(facts->places.items + begin, facts->places.items + begin + count, count);
    return 0;
}

/* Adds the new begins and ends; ends of threads only if `ended`, as their last event is unknown
 * before. 0 or -ENOMEM. */
static int facts_update(struct line_facts *facts, bool ended)
{
    uint32_t processes = trace_process_count(facts->trace);
    uint32_t threads = trace_thread_count(facts->trace);
    int error = 0;
    while (!error && facts->processes.count < processes)
        error = vec_push(&facts->processes, 0);
    while (!error && facts->threads.count < threads)
        error = vec_push(&facts->threads, 0);
    for (uint32_t i = 0; !error && i < processes; i++)
        error = update_process(facts, i);
    for (uint32_t i = 0; !error && i < threads; i++)
        error = update_thread(facts, i, ended);
    return error ? error : sort_places(facts);
}

static bool is_end(enum line_kind kind)
{
    return kind == LINE_PROCESS_END || kind == LINE_THREAD_END || kind == LINE_LAST_WORD;
}

/* Returns the next line, which stays until facts_take; false: the list is empty. Ends sort after
 * events of the same time, everything else before them. */
static bool facts_peek(const struct line_facts *facts, struct line *ret_line)
{
    if (facts->next == facts->places.count)
        return false;
    const struct time_place *place = &facts->places.items[facts->next];
    const struct line_fact *fact = &facts->facts.items[place->index];
    bool of_thread = fact->kind == LINE_THREAD_START || fact->kind == LINE_THREAD_END;
    const struct trace_thread *thread =
        of_thread ? trace_thread_get(facts->trace, fact->ordinal) : NULL;
    *ret_line = (struct line){
        .kind = fact->kind,
        .time_ns = place->time_ns,
        .process = thread ? thread->process : fact->ordinal,
        .thread = thread ? fact->ordinal : LINE_NONE,
    };
    if (fact->kind == LINE_LAST_WORD)
        ret_line->thread = trace_process_get(facts->trace, fact->ordinal)->note_thread - 1;
    return true;
}

static void facts_take(struct line_facts *facts)
{
    facts->next++;
}

static void facts_fini(struct line_facts *facts)
{
    vec_free(&facts->facts);
    vec_free(&facts->places);
    vec_free(&facts->processes);
    vec_free(&facts->threads);
}

/* ---- The reader ------------------------------------------------------------------------------ */

struct line_reader {
    struct line_reader_options options;
    struct line_sink marking; /* marks late lines on their way to the caller's sink */
    struct pass *pass;
    struct line_facts facts;
    int64_t settled_ns;
    int64_t last_ns; /* the latest time of a line */
    bool late;       /* the present lines are earlier than last_ns */
    uint64_t late_count;
};

static int put_marked(void *context, const struct line *line)
{
    struct line_reader *reader = context;
    const struct line_sink *sink = &reader->options.sink;
    struct line marked = *line;
    marked.late = reader->late;
    reader->late_count += reader->late;
    return sink->put(sink->context, &marked);
}

/* Sets the time of the lines that follow; INT64_MAX: any time. */
static void report_at(struct line_reader *reader, int64_t time_ns)
{
    reader->late = time_ns < reader->last_ns;
    if (!reader->late && time_ns < INT64_MAX)
        reader->last_ns = time_ns;
}

/* Ends the open ranges of an ended process. A thread with events after that end keeps them until
 * the end of the recording. */
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
    report_at(reader, line->time_ns);
    int status = line->kind == LINE_PROCESS_END ? finish_process(reader, line->process) : 0;
    if (!status && is_wanted(reader, line))
        status = put_marked(reader, line);
    facts_take(&reader->facts);
    return status;
}

/* Returns the next begin or end, if it precedes the pass's next item at `pass_ns`. */
static bool fact_is_next(const struct line_reader *reader, int64_t pass_ns, struct line *ret_line)
{
    if (!facts_peek(&reader->facts, ret_line))
        return false;
    bool end = is_end(ret_line->kind);
    return end && pass_ns != INT64_MAX ? ret_line->time_ns < pass_ns : ret_line->time_ns <= pass_ns;
}

/* Takes the items at `pass_ns` from the pass; INT64_MAX: the rest. */
static int step_pass(struct line_reader *reader, int64_t pass_ns)
{
    report_at(reader, pass_ns);
    return pass_step(reader->pass);
}

/* 1; 0: no line at present; -errno, or the result of `put`. */
static int step(struct line_reader *reader)
{
    struct line fact;
    int64_t pass_ns = INT64_MAX;
    int more = pass_next_ns(reader->pass, &pass_ns);
    if (more < 0)
        return more;
    bool settled = more && pass_ns <= reader->settled_ns;
    if (fact_is_next(reader, settled ? pass_ns : reader->settled_ns, &fact)) {
        int status = put_fact(reader, &fact);
        return status ? status : 1;
    }
    return step_pass(reader, more ? pass_ns : INT64_MAX);
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
    int error = facts_update(&reader->facts, false);
    reader->settled_ns = settled_ns;
    pass_settle(reader->pass, settled_ns);
    return error ? error : run(reader);
}

int line_reader_finish(struct line_reader *reader)
{
    int error = facts_update(&reader->facts, true);
    reader->settled_ns = INT64_MAX;
    if (reader->options.source.live)
        pass_settle(reader->pass, INT64_MAX);
    return error ? error : run(reader);
}

uint64_t line_reader_late_count(const struct line_reader *reader)
{
    return reader->late_count;
}

int line_reader_create(const struct line_reader_options *options, struct line_reader **ret_reader)
{
    struct line_reader *reader = calloc(1, sizeof(*reader));
    *ret_reader = reader;
    if (!reader)
        return -ENOMEM;
    reader->options = *options;
    reader->facts.trace = options->source.trace;
    reader->last_ns = INT64_MIN;
    reader->marking = options->sink;
    reader->marking.put = put_marked;
    reader->marking.context = reader;
    const struct sink sink = sink_of(&reader->marking, options->source.next_samples != NULL);
    reader->pass = pass_create(&reader->options.source, &reader->options.selection, &sink, 1);
    return reader->pass ? 0 : -ENOMEM;
}

void line_reader_destroy(struct line_reader *reader)
{
    if (!reader)
        return;
    pass_destroy(reader->pass);
    facts_fini(&reader->facts);
    free(reader);
}
