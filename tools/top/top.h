/* SPDX-License-Identifier: MIT */
/* Inside `annot top`: who is looked at, what is known of them, and how it is shown.
 *
 *     programs -> collector -> sink -> recent.h -> top_data -> tables -> screen
 *
 * Samples and events of a collector without a file reach the aggregators of a report: a window of
 * the last seconds is one more recording, which begins and ends with it. Main thread only. */
#ifndef ANNOT_TOP_H
#define ANNOT_TOP_H

#include "attach.h"
#include "child.h"
#include "collector.h"
#include "operands.h"
#include "recent.h"
#include "record_inject.h"
#include "record_options.h"
#include "record_program.h"
#include "table.h"
#include "wall.h"

#include <signal.h>
#include <stdio.h>

/* ---- What was asked for ---- */

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
};

/* ---- The session: top_session.c ----
 *
 * What is followed takes memory, and programs may run for days: once there is too much of it, the
 * session begins anew, which costs a moment without samples. */

struct top_session {
    const struct top_values *values;
    struct pid_list pids;
    bool all;
    struct program program; /* a command that was started */
    struct signals signals;
    struct child child;
    bool has_child;
    int stderr_fd; /* of it: what it says while the screen is ours; -1 */
    struct attach_programs programs;
    struct collector *collector;
    struct recent *recent;
    struct recent_ranges *ranges;
    int64_t begin_ns;
    uint64_t anew_count;
    char command[256];
    int64_t next_settle_ns;
    bool held;
};

/* 0, or a message was printed: the exit status. end accepts a zeroed object. `mute`: the command's
 * output would be in the way. */
int top_session_begin(struct top_session *session, char **command, bool mute);
void top_session_end(struct top_session *session);

/* For what to wait, at most so long. step: takes what there is; 0 or -errno. */
int top_session_fd(const struct top_session *session);
int top_session_timeout_ms(const struct top_session *session);
int top_session_step(struct top_session *session);

/* A signal that is not for the screen goes on to the command, or stops us. */
void top_session_take_signal(struct top_session *session, const struct signal_sent *sent);

/* What is counted stays as it is for who looks, while more comes; and goes on. 0 or -ENOMEM. */
int top_session_hold(struct top_session *session, bool hold);

/* Before something is shown: what goes on is told, what is old forgotten. 0 or -errno. */
int top_session_renew(struct top_session *session, int64_t now_ns);

/* Takes the rest, up to now; nothing comes after it. 0 or -errno. */
int top_session_complete(struct top_session *session, int64_t now_ns);

/* All that was looked at has ended. */
bool top_session_is_over(const struct top_session *session);

/* ---- Numbers: top_data.c ---- */

/* What is shown, and how. */
struct top_view {
    enum top_kind kind;
    int sort; /* index of a column of the view's; -1: the first number */
    bool total;
    int64_t window_ns;
    char filter[64];
    bool one_process, one_thread; /* all is of this one only: */
    uint32_t process, thread;     /* ordinals */
};

struct top_thread {
    struct own_times times; /* all waits, helpers' too */
    uint64_t gil_wait_ns;
    uint32_t thread;
};

struct top_row {
    struct own_row place; /* of functions, lines, waits, the GIL */
    uint8_t reason;
    uint32_t process, thread; /* ordinals; UINT32_MAX: none */
    const char *label;        /* of a range */
    uint8_t range_kind;
    uint64_t cpu_ns, total_ns, ready_ns, waiting_ns, gil_ns, gil_wait_ns;
    uint64_t count, max_ns, open;
};

struct top_data {
    const struct trace *trace;
    const char *command; /* what is looked at */
    const struct top_view *view;
    struct recent_part part;
    int64_t length_ns; /* what percents are of */
    bool total;        /* since the reset */
    struct own_time *own;
    VEC(struct top_thread) threads;
    struct own_times all; /* of all threads */
    uint64_t gil_wait_ns;
    uint64_t waits[WAIT_REASON_COUNT];
    struct recent_range_rows ranges;
    VEC(struct top_row) rows;
};

/* Whether waits are sampled, and what waits for a processor. */
static inline bool top_sees_waits(const struct top_data *data)
{
    const struct trace_sampling *sampling = trace_sampling_get(data->trace);
    return sampling->off_cpu && sampling->rung == SAMPLING_BPF;
}

/* Of what was up to `to_ns`. 0 or -ENOMEM; free accepts a zeroed object. */
int top_data_make(const struct top_session *session, const struct top_view *view, int64_t to_ns,
                  struct top_data *ret_data);
void top_data_free(struct top_data *data);

/* ---- Tables: top_tables.c ---- */

const char *top_kind_name(enum top_kind kind);
enum top_kind top_kind_of(const char *word); /* TOP_KINDS: of none */

/* Of the data's view, sorted and filtered. The data outlive it. 0 or -ENOMEM. */
int top_table_make(struct top_data *data, struct table *ret_table);

/* The columns of a view that have numbers: the `at`-th, or -1. */
int top_sort_column(enum top_kind kind, int at);
const char *top_column_title(enum top_kind kind, int column);
int top_column_of(enum top_kind kind, const char *name); /* -1: there is none */
/* Why a view may have no rows. */
const char *top_nothing_text(const struct top_data *data);
int top_sorted_column(const struct top_view *view);

/* A command line without the folders of its program. */
const char *top_short_command(const char *command);

#endif
