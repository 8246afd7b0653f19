/* SPDX-License-Identifier: MIT */
/* Counts lines: how often each line of a chosen function began, and how long it lasted.
 *
 * A line lasts until the next one of its frame begins or the frame is left, with all that it calls;
 * while the same function runs again inside of it, only the lines of that run last, so that the
 * lines of a function never take more time than passed. Counts are in shared memory (annot_sum):
 * they need no events, and survive when the process is killed.
 *
 * The time that a line spends in functions that are traced themselves, by calls or by lines, has a
 * separate sum. It changes where such a call begins and ends, not at lines.
 *
 * Threads: each its own counts. */
#include "tracing_lines.h"
#include "tracing.h"
#include "tracing_code.h"
#include "tracing_thread.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_LINES = 64, PAGES_MAX = 4096, FRAMES_FIRST = 32 };

struct line_page {
    struct annot_sum *sums[PAGE_LINES]; /* NULL: it did not run, or there is no room */
    struct annot_sum **callees;         /* the same for their callees; NULL: no recorded call */
};

/* A function in a thread. */
struct line_table {
    annot_name name;
    uint32_t first;  /* its first line */
    uint32_t latest; /* 1 + its innermost frame; 0: it does not run */
    uint32_t page_count;
    struct line_page **pages; /* NULL where no line ran */
};

struct line_frame {
    struct annot_sum *sum;    /* of its current line */
    struct annot_sum *called; /* of that line's callees, while `callee` is not 0 */
    uint64_t called_since;    /* as `since`; 0: in no callee, or its time does not count here */
    struct line_page *page;   /* of the line; NULL: unknown */
    uint64_t since;           /* start of the uncounted time; 0: the same function runs inside */
    uint32_t depth;
    uint32_t callee; /* depth of the outermost recorded call that it waits for; 0: no call */
    uint32_t line;
    uint32_t page_first; /* its first line */
    uint32_t number;     /* of the function */
    uint32_t around;     /* 1 + the next outer frame of the same function */
};

struct trace_lines {
    struct line_table *tables; /* by number of the function */
    uint32_t table_count;
    uint32_t count, capacity;
    struct line_frame *frames;
    struct annot_sum nowhere; /* for frames with an unknown line, or without a sum */
    bool is_full;             /* there is no room for another sum */
};

/* ---- Sums ----------------------------------------------------------------------------------- */

static struct line_table *make_table(struct trace_lines *lines, const struct trace_code *code)
{
    if (code->number >= lines->table_count) {
        uint32_t count = code->number + 16;
        struct line_table *tables = realloc(lines->tables, count * sizeof(*tables));
        if (tables == NULL)
            return NULL;
        memset(tables + lines->table_count, 0, (count - lines->table_count) * sizeof(*tables));
        lines->tables = tables;
        lines->table_count = count;
    }
    struct line_table *table = &lines->tables[code->number];
    table->name = code->name;
    table->first = code->first_line;
    return table;
}

static struct line_page *make_page(struct line_table *table, uint32_t index)
{
    if (index >= PAGES_MAX)
        return NULL;
    if (index >= table->page_count) {
        struct line_page **pages = realloc(table->pages, (index + 1) * sizeof(*pages));
        if (pages == NULL)
            return NULL;
        memset(pages + table->page_count, 0, (index + 1 - table->page_count) * sizeof(*pages));
        table->pages = pages;
        table->page_count = index + 1;
    }
    return table->pages[index] = calloc(1, sizeof(struct line_page));
}

/* Sets the page of the line; NULL without memory, or for a line outside of this function. */
static __attribute__((noinline)) void turn_to_page(struct line_table *table,
                                                   struct line_frame *frame, uint32_t line)
{
    uint32_t index = (line - table->first) / PAGE_LINES;
    frame->page = index < table->page_count ? table->pages[index] : NULL;
    if (frame->page == NULL)
        frame->page = make_page(table, index);
    frame->page_first = table->first + index * PAGE_LINES;
}

static __attribute__((noinline)) struct annot_sum *add_sum(struct trace_thread *thread,
                                                           const struct trace_code *code,
                                                           struct line_frame *frame, uint32_t line)
{
    struct trace_lines *lines = thread->lines;
    if (frame->page == NULL || lines->is_full)
        return &lines->nowhere;
    const struct annot_place place = {.code = code->name, .line = line};
    struct annot_sum *sum = annot_sums_add(&thread->sums, ANNOT_SUM_LINES, &place);
    lines->is_full = sum == NULL;
    frame->page->sums[line - frame->page_first] = sum;
    return sum ? sum : &lines->nowhere;
}

/* Returns the sum for callees of the frame's line. */
static struct annot_sum *callees_of(struct trace_thread *thread, const struct line_frame *frame)
{
    struct trace_lines *lines = thread->lines;
    struct line_page *page = frame->page;
    if (page == NULL || frame->sum == &lines->nowhere)
        return &lines->nowhere;
    if (page->callees == NULL)
        page->callees = calloc(PAGE_LINES, sizeof(*page->callees));
    if (page->callees == NULL)
        return &lines->nowhere;
    struct annot_sum **sum = &page->callees[frame->line - frame->page_first];
    if (*sum == NULL && !lines->is_full) {
        const struct annot_place place = {.code = lines->tables[frame->number].name,
                                          .line = frame->line};
        *sum = annot_sums_add(&thread->sums, ANNOT_SUM_CALLEES, &place);
        lines->is_full = *sum == NULL;
    }
    return *sum ? *sum : &lines->nowhere;
}

/* ---- Frames ---------------------------------------------------------------------------------- */

static inline void spend(struct line_frame *frame, uint64_t now)
{
    if (frame->since == 0)
        return;
    frame->sum->since = 0;
    frame->sum->ticks += now - frame->since;
    frame->since = now;
}

/* Concurrent readers count the time since `since` too. */
static inline void last_from(struct line_frame *frame, uint64_t now)
{
    frame->since = now;
    frame->sum->since = now;
}

static void spend_in_callee(struct line_frame *frame, uint64_t now)
{
    if (frame->called_since == 0)
        return;
    frame->called->since = 0;
    frame->called->ticks += now - frame->called_since;
    frame->called_since = 0;
}

static void last_in_callee(struct line_frame *frame, uint64_t now)
{
    if (frame->callee == 0 || frame->since == 0)
        return;
    frame->called_since = now;
    frame->called->since = now;
}

static void begin_callee(struct trace_thread *thread, struct line_frame *frame, uint32_t depth,
                         uint64_t now)
{
    if (frame->callee != 0)
        return;
    frame->callee = depth;
    frame->called = callees_of(thread, frame);
    frame->called->count++;
    last_in_callee(frame, now);
}

static __attribute__((noinline)) void end_callee(struct line_frame *frame, uint64_t now)
{
    spend_in_callee(frame, now);
    frame->callee = 0;
}

/* While the same function runs inside, its outer lines have no time, own or in callees. */
static void let_wait(struct line_frame *around, uint64_t now)
{
    spend_in_callee(around, now);
    spend(around, now);
    around->since = 0;
}

/* Closes frames at this depth and deeper, which have ended. */
static void close_frames(struct trace_lines *lines, uint32_t depth, uint64_t now)
{
    while (lines->count > 0 && lines->frames[lines->count - 1].depth >= depth) {
        struct line_frame *frame = &lines->frames[--lines->count];
        struct line_frame *below = lines->count > 0 ? frame - 1 : NULL;
        end_callee(frame, now);
        spend(frame, now);
        if (below != NULL && below->callee >= frame->depth)
            end_callee(below, now);
        lines->tables[frame->number].latest = frame->around;
        if (frame->around) {
            last_from(&lines->frames[frame->around - 1], now);
            last_in_callee(&lines->frames[frame->around - 1], now);
        }
    }
}

/* NULL: no memory. */
static struct line_frame *open_frame(struct trace_thread *thread, const struct trace_code *code,
                                     uint64_t now)
{
    struct trace_lines *lines = thread->lines;
    struct line_table *table = make_table(lines, code);
    if (lines->count == lines->capacity) {
        uint32_t capacity = lines->capacity ? 2 * lines->capacity : (uint32_t)FRAMES_FIRST;
        struct line_frame *frames = realloc(lines->frames, capacity * sizeof(*frames));
        if (frames == NULL)
            return NULL;
        lines->frames = frames;
        lines->capacity = capacity;
    }
    if (table == NULL)
        return NULL;
    if (lines->count > 0)
        begin_callee(thread, &lines->frames[lines->count - 1], trace_depth(), now);
    if (table->latest)
        let_wait(&lines->frames[table->latest - 1], now);
    struct line_frame *frame = &lines->frames[lines->count++];
    *frame = (struct line_frame){.sum = &lines->nowhere,
                                 .depth = trace_depth(),
                                 .number = code->number,
                                 .around = table->latest,
                                 .since = now};
    table->latest = lines->count;
    return frame;
}

static struct trace_lines *lines_of(struct trace_thread *thread)
{
    if (thread->lines == NULL && thread->sums.segment != NULL)
        thread->lines = calloc(1, sizeof(*thread->lines));
    return thread->lines;
}

/* Returns the thread's frame, with its time counted so far. NULL: no memory, or no recording. */
static inline struct line_frame *frame_now(struct trace_thread *thread,
                                           const struct trace_code *code, uint64_t now)
{
    struct trace_lines *lines = thread ? lines_of(thread) : NULL;
    if (RARE(lines == NULL))
        return NULL;
    struct line_frame *last = lines->count ? &lines->frames[lines->count - 1] : NULL;
    if (RARE(last == NULL) || RARE(last->number != code->number)) {
        close_frames(lines, trace_depth(), now);
        return open_frame(thread, code, now);
    }
    spend(last, now);
    return last;
}

/* ---- Events of hooks ------------------------------------------------------------------------- */

static inline void move_to(struct trace_thread *thread, const struct trace_code *code,
                           uint32_t line, bool counts)
{
    uint64_t now = trace_time();
    struct line_frame *frame = frame_now(thread, code, now);
    if (RARE(frame == NULL))
        return;
    if (RARE(frame->callee != 0))
        end_callee(frame, now);
    if (RARE(frame->page == NULL) || RARE(line - frame->page_first >= PAGE_LINES))
        turn_to_page(&thread->lines->tables[code->number], frame, line);
    struct annot_sum *sum = frame->page ? frame->page->sums[line - frame->page_first] : NULL;
    if (RARE(sum == NULL))
        sum = add_sum(thread, code, frame, line);
    frame->sum = sum;
    frame->line = line;
    sum->count += counts;
    sum->since = now;
}

void trace_line(const struct trace_code *code, uint32_t line)
{
    move_to(trace_thread_now(false), code, line, true);
}

/* Earlier frames may have ended unreported. */
void trace_line_begun(const struct trace_code *code)
{
    struct trace_thread *thread = trace_thread_now(false);
    struct trace_lines *lines = thread ? lines_of(thread) : NULL;
    uint64_t now = trace_time();
    if (lines == NULL)
        return;
    close_frames(lines, trace_depth(), now);
    (void)open_frame(thread, code, now);
}

void trace_line_resumed(const struct trace_code *code, uint32_t line)
{
    trace_line_begun(code);
    move_to(trace_thread_now(false), code, line, false);
}

void trace_line_left(void)
{
    struct trace_thread *thread = trace_thread_now(false);
    if (thread != NULL && thread->lines != NULL && thread->lines->count > 0)
        close_frames(thread->lines, trace_depth(), trace_time());
}

/* ---- Recorded calls -------------------------------------------------------------------------- */

/* Returns the innermost frame that is less deep, or NULL. */
static struct line_frame *frame_below(const struct trace_lines *lines, uint32_t depth)
{
    uint32_t count = lines ? lines->count : 0;
    while (count > 0 && lines->frames[count - 1].depth >= depth)
        count--;
    return count > 0 ? &lines->frames[count - 1] : NULL;
}

void trace_line_calls(struct trace_thread *thread, uint32_t depth)
{
    struct line_frame *frame = frame_below(thread->lines, depth);
    if (frame != NULL && frame->callee == 0)
        begin_callee(thread, frame, depth, trace_time());
}

void trace_line_called(struct trace_thread *thread, uint32_t depth)
{
    struct line_frame *frame = frame_below(thread->lines, depth);
    if (frame != NULL && frame->callee >= depth)
        end_callee(frame, trace_time());
}

/* ---- Ends ------------------------------------------------------------------------------------ */

void trace_lines_pause(struct trace_thread *thread)
{
    if (thread->lines != NULL)
        close_frames(thread->lines, 0, trace_time());
}

static void free_page(struct line_page *page)
{
    if (page != NULL)
        free(page->callees);
    free(page);
}

void trace_lines_free(struct trace_thread *thread)
{
    struct trace_lines *lines = thread->lines;
    if (lines == NULL)
        return;
    for (uint32_t i = 0; i < lines->table_count; i++) {
        for (uint32_t page = 0; page < lines->tables[i].page_count; page++)
            free_page(lines->tables[i].pages[page]);
        free(lines->tables[i].pages);
    }
    free(lines->tables);
    free(lines->frames);
    free(lines);
    thread->lines = NULL;
}
