/* SPDX-License-Identifier: MIT */
/* What the files of the page share with each other only. */
#ifndef ANNOT_PAGE_PARTS_H
#define ANNOT_PAGE_PARTS_H

#include "hash_map.h"
#include "json_writer.h"
#include "page.h"
#include "pass.h"
#include "pool_tasks.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    PAGE_SLOTS = 128, /* of the brush */
    PAGE_NODES_MAX = 20000,
    PAGE_SUMS_MAX = 160000,   /* of CPU time and waits together */
    PAGE_SUMS_READ = 1 << 18, /* while the recording is read */
    PAGE_ROWS_MAX = 500,      /* of a table */
    PAGE_OWNERS_MAX = 1000,   /* threads, and processes */
    PAGE_STATE_SLOTS = 4096,
    PAGE_STATES_MAX = 64,   /* threads with states of their own */
    PAGE_SPANS_MAX = 60000, /* ranges that are drawn */
    PAGE_LANES_MAX = 500,
    PAGE_DENSITY_SLOTS = 1024,
    PAGE_TASKS_MAX = 20000, /* of pools, of event loops, requests: each */
    PAGE_CELLS_MAX = 100000,
    PAGE_COUNTERS_MAX = 50,
    PAGE_COUNTER_SLOTS = 240,
    PAGE_BINS = 32,       /* of durations: four a decade from a microsecond on */
    PAGE_TEXT_MAX = 1000, /* bytes of a foreign text */
    PAGE_CPU = 0xff,      /* in place of a cause */
    PAGE_READY = WAIT_REASON_COUNT,
};

#define PAGE_NONE UINT32_MAX

/* ---- Time: page.c ---- */

/* What slots divide: the wall time, as far as it is known before the recording is read. */
struct page_span {
    int64_t begin_ns;
    uint64_t length_ns; /* not 0 */
};

/* Of `slots` equal parts, the one that an instant is in, and where one begins. What is outside
 * counts for the first or the last. */
uint32_t page_slot(const struct page_span *span, uint32_t slots, int64_t time_ns);
int64_t page_slot_begin(const struct page_span *span, uint32_t slots, uint32_t slot);

/* ---- Sums: page_sums.c ----
 *
 * Time by slot, thread, node of a tree, path of ranges and cause, in bounded memory: where there
 * are too many different ones, slots are joined, small nodes count for their parents, and in the
 * end lines, paths and threads are not told apart. Every sum over all of them stays exact. */

struct page_sum {
    uint32_t slot, thread, node, path;
    uint32_t line;  /* of source: page_lines.c; 0: of none */
    uint8_t cause;  /* enum wait_reason, PAGE_READY or PAGE_CPU */
    uint8_t reason; /* PAGE_READY: what it had waited for */
    bool idle;      /* in no row of own functions */
    uint64_t count, time_ns, max_ns;
};

struct page_sums {
    VEC(struct page_sum) items;
    struct wide_map index;
    size_t limit;
    const uint32_t *parents; /* of nodes, each smaller than its child; the root's own is itself */
    uint32_t node_count;
    /* Nodes of one path differ by lines alone; one of them stands for all. NULL: none differ so. */
    const uint32_t *path_of_node, *node_of_path;
    uint32_t *into; /* nodes that count for others; NULL: none does */
    unsigned slot_shift;
    unsigned step;       /* of those that make room */
    unsigned node_steps; /* of these: nodes were joined */
    bool no_lines, no_paths, no_threads;
};

void page_sums_fini(struct page_sums *sums);
int page_sums_add(struct page_sums *sums, const struct page_sum *sum);
/* Makes room until there are at most so many; until at most so many nodes have sums. */
int page_sums_limit(struct page_sums *sums, size_t limit);
int page_sums_limit_nodes(struct page_sums *sums, uint32_t limit);
/* In the order of slots, threads, nodes. */
void page_sums_sort(struct page_sums *sums);

/* ---- Samples: page_samples.c ----
 *
 * Sums by stack; and what call path each stack is: itself without the lines of its frames. Memory:
 * 20 bytes a stack of the recording, 12 a path, PAGE_SUMS_READ sums. */

struct page_paths {
    uint32_t *of_stack, *stack_parents; /* by stack */
    uint32_t stack_count;
    VEC(uint32_t) parents, labels, stacks; /* by path; 0: none. stacks: one with samples, or any */
};

struct page_samples {
    const struct trace *trace;
    struct page_span span;
    const char *range; /* of ranges of this name alone; NULL: all */
    struct path_matches matches;
    struct page_paths paths;
    struct page_sums sums; /* their nodes are stacks */
};

int page_samples_init(struct page_samples *samples, const struct trace *trace, const char *range,
                      const struct page_span *span);
void page_samples_fini(struct page_samples *samples);
struct sink page_samples_sink(struct page_samples *samples);

/* ---- Lines: page_lines.c ----
 *
 * Lines of sources whose text is there, as numbers from 1. */

struct page_line {
    uint32_t source;
    int32_t line;
};

struct page_lines {
    const struct line_stats *stats; /* NULL: none is known */
    struct source_texts *texts;
    VEC(struct page_line) items;
    struct map64 index;
};

/* The line that a stack's time counts for; 0: none. -ENOMEM. */
int64_t page_line_of(struct page_lines *lines, uint32_t stack);
void page_lines_fini(struct page_lines *lines);

/* ---- The tree of calls: page_nodes.c, page_folding.c ----
 *
 * Call paths as people want to see them: below the role of their thread, without what the
 * interpreter and start-up do between Python functions. A path counts for the same own function as
 * in the report. */

enum page_function_kind {
    PAGE_FUNCTION = 0,
    PAGE_ROLE,    /* id: role */
    PAGE_PURPOSE, /* id: enum code_purpose: what is in no own function */
    PAGE_PROGRAM, /* id: string */
};

struct page_function {
    uint8_t kind; /* enum page_function_kind */
    bool mine;    /* counts as own here (own_time.h) */
    uint32_t id;  /* label */
};

struct page_node {
    uint32_t function, own; /* own: the function that it counts for; PAGE_NONE: nothing ends here */
    int32_t line;
    uint64_t line_ns;
};

struct page_nodes {
    const struct trace *trace;
    const struct own_time *own;
    VEC(struct page_node) items; /* 0: the root */
    VEC(uint32_t) parents;
    VEC(struct page_function) functions;
    VEC(char *) roles;
    uint32_t *role_of; /* by thread; PAGE_NONE: not asked for yet */
    uint32_t thread_count;
    struct wide_map child_by_key;
    struct map64 node_by_path, function_by_key;
    struct page_sums sums; /* by these nodes */
};

/* Of finished times: the tree, and the sums by its nodes, of which there are few enough then. 0 or
 * -ENOMEM. */
int page_nodes_make(struct page_nodes *nodes, struct page_samples *samples,
                    const struct own_time *own, struct page_lines *lines);
void page_nodes_fini(struct page_nodes *nodes);

/* Which frames of a path are shown, outermost first: indices into `paths` (of which there are
 * `count`, the outermost first) are left at its front. Returns how many. */
uint32_t page_fold(const struct own_time *own, const struct page_paths *call_paths, uint32_t *paths,
                   uint32_t count);

/* "worker 3" is "worker": cuts what tells apart those that do the same. */
void page_cut_number(char *name);
/* What a thread is called together with those that do the same: "main", "worker". */
void page_role_name(const struct trace *trace, uint32_t thread, char *buffer, size_t size);

/* ---- Names: page_names.c ----
 *
 * Names of ranges, each once, as numbers. */

struct page_names {
    const struct trace *trace;
    VEC(uint64_t) items; /* domain << 32 | name: strings */
    struct map64 index;
    uint8_t *used; /* by name: it was written. Set while a page is written; or NULL */
};

/* -ENOMEM. */
int64_t page_name_of(struct page_names *names, uint32_t domain, uint32_t name);
/* Before anything of a page is written: 0 or -ENOMEM. Whoever writes a name's number uses it. */
int page_names_begin(struct page_names *names);
int64_t page_use_name(const struct page_names *names, uint32_t name);
void page_names_fini(struct page_names *names);

/* ---- States of threads: page_states.c ----
 *
 * Whether each thread ran, was ready or waited, and for what, by small slots. Memory: 80 KiB a
 * thread, of which the first ones have their own, the others one for their role. */

struct page_state;

struct page_states {
    const struct trace *trace;
    struct page_span span;
    struct page_state **by_thread; /* NULL: not seen */
    struct thread_life *lives;     /* by thread */
    uint32_t thread_count;
    VEC(struct page_state *) items;
    VEC(struct page_state *) roles; /* of the items: those of several threads */
    size_t shown;                   /* of the items, after finish */
    bool off_cpu;
};

int page_states_init(struct page_states *states, const struct trace *trace,
                     const struct page_span *span);
void page_states_fini(struct page_states *states);
struct sink page_states_sink(struct page_states *states);
void page_states_finish(struct page_states *states);

/* ---- What is drawn: page_spans.c ----
 *
 * The longest ranges of each lane; of the others, how much of the time they covered. */

enum page_lane_kind {
    PAGE_LANE_THREAD,
    PAGE_LANE_PROCESS,
    PAGE_LANE_TRACK,
    PAGE_LANE_QUEUE,
    PAGE_LANE_KINDS
};

struct page_lane {
    uint8_t kind;     /* enum page_lane_kind */
    uint32_t ordinal; /* of the thread, the process, the queue; of the first track */
    uint32_t process;
    char *name; /* of tracks: what their names have in common; else NULL */
    uint64_t short_count;
    float *density; /* part of each slot that short ranges covered; NULL: none did */
};

struct page_range {
    int64_t begin_ns;
    uint64_t length_ns, self_ns;
    uint32_t lane, sub; /* sub: the track, or what cannot lie beside others */
    uint32_t name, thread;
    uint32_t depth;
    uint32_t status; /* requests: page_requests.c; 0: none */
};

/* The longest of a number that is not known before. */
struct page;

struct page_longest {
    VEC(struct page_range) items;
    size_t limit;
    uint64_t least_ns; /* shorter ones are left out */
    uint64_t dropped;
};

struct page_spans {
    const struct trace *trace;
    struct page_span span;
    struct page_names *names;
    VEC(struct page_lane) lanes;
    struct map64 lane_by_key;
    uint64_t last_key; /* that was looked for; 0: none */
    int64_t last_lane;
    struct page_longest drawn, tasks, requests;
    struct map64 await_by_track; /* nanoseconds that a task was suspended */
    uint64_t short_count;
    uint64_t refused; /* of lanes for which there was no room */
};

int page_spans_init(struct page_spans *spans, const struct trace *trace,
                    const struct page_span *span, struct page_names *names);
void page_spans_fini(struct page_spans *spans);
int page_lanes_finish(struct page_spans *spans); /* lays the lanes out: page_lanes.c */
int page_spans_take(struct page_spans *spans, const struct item *item);
/* Leaves the longest ones: 0 or -ENOMEM. */
int page_longest_limit(struct page_longest *longest, size_t limit);
int page_spans_limit(struct page_spans *spans, size_t limit);
/* What became of a request: "status" among its values, as a number or a word. */
uint32_t page_status_of(const struct trace *trace, const struct args *values);
void page_put_statuses(const struct page *page, struct json_doc *doc,
                       const struct page_longest *requests);
/* In order of time. */
int page_tasks_finish(struct page_spans *spans);

/* ---- Counters: page_counters.c ---- */

struct page_counter;

struct page_counters {
    const struct trace *trace;
    struct page_span span;
    VEC(struct page_counter *) items;
    struct map64 index;
    uint64_t refused; /* values of counters for which there was no room */
};

int page_counters_take(struct page_counters *counters, const struct item *item);
void page_counters_fini(struct page_counters *counters);

/* ---- Ranges and tasks of pools, as the tables count them: page_ranges.c, page_pools.c ---- */

/* How many of a row began when, by thread: page_cells.c. Of too many, first the slots are joined,
 * then the threads are. */
struct page_cell {
    uint32_t row, thread;
    uint8_t slot; /* of PAGE_SLOTS, or 0 */
    uint32_t count;
    uint64_t time_ns; /* they took together */
};

struct page_cells {
    VEC(struct page_cell) items;
    struct map64 index;
    bool no_slots, none;
};

int page_cells_add(struct page_cells *cells, const struct page_cell *cell);
/* Gives up the next of these: 0 or -ENOMEM. */
int page_cells_shrink(struct page_cells *cells);
/* By row. Nothing is added any more. */
void page_cells_sort(struct page_cells *cells);
void page_cells_put(const struct page *page, struct json_doc *doc, uint32_t row);
void page_cells_fini(struct page_cells *cells);

struct range_shape;

struct page_ranges {
    struct page_span span;
    struct page_cells cells;
    VEC(struct range_shape *) items; /* by row; NULL: none of it came */
    uint32_t count;                  /* that are there */
};

int page_ranges_take(void *ranges, uint32_t row, const struct item *span);
void page_ranges_fini(struct page_ranges *ranges);

struct page_task {
    struct pool_task told;
    uint32_t name;
};

struct page_pools {
    struct page_names *names;
    VEC(struct page_task) items;
    uint64_t least_ns, dropped; /* tasks that ran shorter */
};

int page_pools_take(void *pools, const struct pool_task *task);
int page_pools_limit(struct page_pools *pools, size_t limit);
int page_pools_finish(struct page_pools *pools);

/* ---- All of it ---- */

struct page {
    struct page_options options;
    const struct trace *trace;
    struct report *report;
    struct page_span span;
    struct page_samples samples;
    struct page_nodes nodes;
    struct page_lines lines;
    struct page_names names;
    struct page_states states;
    struct page_spans spans;
    struct page_counters counters;
    struct page_ranges ranges;
    struct page_pools pools;
    uint32_t *thread_index; /* by thread: as it is written; others have the last number */
    uint32_t *process_index;
    uint32_t *name_of_path; /* by path of ranges */
    uint32_t path_count;
    uint32_t row_limit, text_limit;
    bool has_samples;
};

/* A document with what is on the page, member by member. 0 or -ENOMEM. */
/* What the page is called: at most size - 1 bytes and NUL. */
void page_title(const struct page *page, char *buffer, size_t size);
void page_put_text(const struct page *page, struct json_doc *doc, const char *key,
                   const char *text);
int page_put_facts(struct page *page, struct json_doc *doc);
int page_put_wall(struct page *page, struct json_doc *doc);
int page_put_owners(struct page *page, struct json_doc *doc); /* processes, threads */
int page_put_tables(struct page *page, struct json_doc *doc);
/* functions, nodes, paths, lines, cpu, off */
int page_put_calls(struct page *page, struct json_doc *doc);
void page_put_lines(const struct page *page, struct json_doc *doc);
int page_put_states(struct page *page, struct json_doc *doc);
int page_put_lanes(struct page *page, struct json_doc *doc);
int page_put_ranges(struct page *page, struct json_doc *doc);
int page_put_pools(struct page *page, struct json_doc *doc);
int page_put_tasks(struct page *page, struct json_doc *doc); /* of event loops, and requests */
int page_put_loops(struct page *page, struct json_doc *doc); /* what blocked event loops */
int page_put_names(struct page *page, struct json_doc *doc); /* after those that use them */
int page_put_trust(struct page *page, struct json_doc *doc);
int page_put_counters(struct page *page, struct json_doc *doc);
int page_put_sources(struct page *page, struct json_doc *doc);
int page_put_counted(struct page *page, struct json_doc *doc);  /* lines, by function */
int page_put_compare(struct page *page, struct json_doc *doc);  /* page_tables.c */
int page_put_left_out(struct page *page, struct json_doc *doc); /* page_facts.c */
int64_t page_since_begin(const struct page *page, int64_t time_ns);
/* As base64: page_write.c. 0 or -ENOMEM. */
int page_put_bytes(struct json_doc *doc, const char *key, const uint8_t *bytes, size_t size);

#endif
