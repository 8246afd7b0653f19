/* SPDX-License-Identifier: MIT */
/* Internals of `annot top`: the session, the sums of a view, and their tables.
 *
 *     programs -> collector -> sink -> recent.h -> top_data -> tables -> screen
 *
 * A collector without a file passes samples and events to the aggregators of a report. A window of
 * the last seconds is treated as a recording that begins and ends with the window. Main thread
 * only. */
#ifndef ANNOT_TOP_H
#define ANNOT_TOP_H

#include "attach.h"
#include "child.h"
#include "collector.h"
#include "memory_options.h"
#include "operands.h"
#include "recent.h"
#include "record_inject.h"
#include "record_options.h"
#include "record_program.h"
#include "table.h"
#include "top_memory.h"
#include "wall.h"

#include <signal.h>
#include <stdio.h>

/* ---- Options ---- */

enum top_kind {
    TOP_FUNCTIONS = 0,
    TOP_LINES,
    TOP_RANGES,
    TOP_PROCESSES,
    TOP_THREADS,
    TOP_WAITS,
    TOP_GIL,
    TOP_KINDS,
};

#define TOP_KIND_WORDS "functions|lines|ranges|processes|threads|waits|gil"

struct top_values {
    bool all, once, json, no_color, total;
    int64_t duration_ns, interval_ns, window_ns;
    const char *pids, *view, *sort, *filter;
    uint64_t limit, stacks;
    struct sampling_values sampling;
    struct python_values python;
    struct inject_values inject;
    struct memory_values memory;
};

/* ---- The session: top_session.c ----
 *
 * The trace of the followed programs grows without bound, and programs may run for days. Above a
 * limit the session restarts, which costs a moment without samples. */

struct top_session {
    const struct top_values *values;
    struct pid_list pids;
    bool all;
    struct program program; /* the started command */
    struct signals signals;
    struct child child;
    bool has_child, with_command;
    int stderr_fd; /* captured stderr of the command while the screen is taken; -1 */
    struct attach_programs programs;
    struct collector *collector;
    struct recent *recent;
    struct recent_ranges *ranges;
    struct top_memory *memory; /* NULL: not wanted */
    struct memory_environment memory_environment;
    int64_t begin_ns;
    uint64_t anew_count;
    char command[256];
    int64_t next_settle_ns;
    bool held;
};

/* 0, or the exit status after a printed message. end accepts a zeroed object. `mute`: hide the
 * command's output. */
int top_session_begin(struct top_session *session, char **command, bool mute);
void top_session_end(struct top_session *session);

/* The descriptor to poll, and the longest time to wait. step processes the input that is ready; 0
 * or -errno. */
int top_session_fd(const struct top_session *session);
int top_session_timeout_ms(const struct top_session *session);
int top_session_step(struct top_session *session);

/* Forwards a signal that does not concern the screen to the command, or stops annot. */
void top_session_take_signal(struct top_session *session, const struct signal_sent *sent);

/* Freezes or unfreezes the counts that are displayed; collection goes on meanwhile. 0 or
 * -ENOMEM. */
int top_session_hold(struct top_session *session, bool hold);

/* Call before each display: restarts the session if it grew too large, publishes waits that still
 * run, and drops old samples. 0 or -errno. */
int top_session_renew(struct top_session *session, int64_t now_ns);

/* Collects the remaining data up to now; nothing follows. 0 or -errno. */
int top_session_complete(struct top_session *session, int64_t now_ns);

/* True once all observed processes have ended. */
bool top_session_is_over(const struct top_session *session);

/* ---- Numbers: top_data.c ---- */

/* The chosen view and its settings. */
struct top_view {
    enum top_kind kind;
    int sort; /* index of a column of the view; -1: the first number */
    bool total;
    int64_t window_ns;
    char filter[64];
    bool one_process, one_thread; /* limits the data to this process or thread: */
    uint32_t process, thread;     /* ordinals */
};

struct top_thread {
    struct own_times times; /* includes waits of helper threads */
    uint64_t gil_wait_ns;
    uint32_t thread;
};

struct top_row {
    struct own_row place; /* of functions, lines, waits, the GIL */
    uint8_t reason;
    uint32_t process, thread; /* ordinals; UINT32_MAX: unset */
    const char *label;        /* of a range */
    uint8_t range_kind;
    uint64_t cpu_ns, total_ns, runnable_ns, blocked_ns, gil_ns, gil_wait_ns;
    uint64_t count, max_ns, open;
    uint64_t rss, live, allocated; /* bytes */
    int64_t live_sum;
};

struct top_data {
    const struct trace *trace;
    const char *command; /* command line of the observed programs */
    const struct top_view *view;
    struct recent_part part;
    int64_t length_ns; /* the base of percentages */
    bool total;        /* since the reset */
    struct own_time *own;
    VEC(struct top_thread) threads;
    struct own_times all; /* of all threads */
    uint64_t gil_wait_ns;
    uint64_t waits[WAIT_REASON_COUNT];
    struct recent_range_rows ranges;
    struct top_memory *memory; /* NULL: not wanted */
    VEC(struct top_row) rows;
};

/* True if waits, and runnable times, are sampled. */
static inline bool top_sees_waits(const struct top_data *data)
{
    const struct trace_sampling *sampling = trace_sampling_get(data->trace);
    return sampling->off_cpu && sampling->rung == SAMPLING_BPF;
}

/* Sums up the view's part that ends at `to_ns`. 0 or -ENOMEM; free accepts a zeroed object. */
int top_data_make(const struct top_session *session, const struct top_view *view, int64_t to_ns,
                  struct top_data *ret_data);
void top_data_free(struct top_data *data);

/* ---- Tables: top_tables.c ---- */

const char *top_kind_name(enum top_kind kind);
enum top_kind top_kind_of(const char *word); /* TOP_KINDS: unknown word */

/* Adds the columns of memory to the views of functions and processes; of PIDs, of RSS only. Call it
 * once, before other functions of tables. */
void top_show_memory(bool blocks);

/* The table of the data's view, sorted and filtered. Valid as long as the data. 0 or -ENOMEM. */
int top_table_make(struct top_data *data, struct table *ret_table);

/* Index of the `at`-th column of a view by which rows can be sorted, or -1. */
int top_sort_column(enum top_kind kind, int at);
const char *top_column_title(enum top_kind kind, int column);
int top_column_of(enum top_kind kind, const char *name); /* -1: unknown name */
/* Explains an empty view. */
const char *top_nothing_text(const struct top_data *data);
int top_sorted_column(const struct top_view *view);

/* Returns a command line without the folders of its program. */
const char *top_short_command(const char *command);

#endif
