/* SPDX-License-Identifier: MIT */
/* See line_facts.h. Thread-safety: none. */
#include "line_facts.h"

#include "export_ids.h"

#include <errno.h>

enum { TOLD_START = 1, TOLD_END = 2, TOLD_NOTE = 4 };

static int add(struct line_facts *facts, enum line_kind kind, uint32_t ordinal, int64_t time_ns)
{
    if (vec_push(&facts->places, ((struct time_place){time_ns, (uint32_t)facts->facts.count})) != 0)
        return -ENOMEM;
    return vec_push(&facts->facts, ((struct line_fact){kind, ordinal}));
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
    if (!error && process->end != PROCESS_RUNNING && process->end_ns && !(*told & TOLD_END)) {
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

int line_facts_update(struct line_facts *facts, bool ended)
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

bool line_is_end(enum line_kind kind)
{
    return kind == LINE_PROCESS_END || kind == LINE_THREAD_END || kind == LINE_LAST_WORD;
}

bool line_facts_peek(const struct line_facts *facts, struct line *ret_line)
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

void line_facts_take(struct line_facts *facts)
{
    facts->next++;
}

void line_facts_fini(struct line_facts *facts)
{
    vec_free(&facts->facts);
    vec_free(&facts->places);
    vec_free(&facts->processes);
    vec_free(&facts->threads);
}
