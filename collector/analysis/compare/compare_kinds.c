/* SPDX-License-Identifier: MIT */
/* The tables of a report that are compared, with the columns that identify their rows, and their
 * numbers. Another table of reports is one more entry. */

#include "compare_kinds.h"

#include "compare_state.h"
#include "table.h"

#include <string.h>

#define TIME_OF(word, column, flags)                                                               \
    {                                                                                              \
        (word), (column), COLUMN_TIME, (flags)                                                     \
    }
#define COUNT_OF(word, column, flags)                                                              \
    {                                                                                              \
        (word), (column), COLUMN_COUNT, (flags)                                                    \
    }
#define VALUE_OF(word, column, flags)                                                              \
    {                                                                                              \
        (word), (column), COLUMN_VALUE, (flags)                                                    \
    }

/* Ranges have single durations: "each" is their median. */
#define RANGE_METRICS                                                                              \
    {                                                                                              \
        TIME_OF("total", "total_ns", METRIC_TESTED | METRIC_SUM),                                  \
            TIME_OF("each", "p50_ns", METRIC_TESTED | METRIC_EACH | METRIC_REPORTED),              \
            TIME_OF("relative", NULL, METRIC_TESTED | METRIC_RELATIVE | METRIC_REPORTED),          \
            TIME_OF("undisturbed", NULL, METRIC_UNDISTURBED),                                      \
            TIME_OF("self", "self_ns", METRIC_SUM), COUNT_OF("count", "count", METRIC_SUM),        \
            TIME_OF("mean", "mean_ns", 0), TIME_OF("min", "min_ns", 0),                            \
            TIME_OF("p90", "p90_ns", 0), TIME_OF("p99", "p99_ns", 0), TIME_OF("max", "max_ns", 0), \
            TIME_OF("cpu", "cpu_ns", METRIC_SUM | METRIC_SAMPLED),                                 \
            TIME_OF("running", "running_ns", METRIC_SUM),                                          \
            TIME_OF("runnable", "runnable_ns", METRIC_SUM),                                        \
            TIME_OF("blocked", "blocked_ns", METRIC_SUM),                                          \
    }

/* Work of GPUs has single durations as well. */
#define WORK_METRICS                                                                               \
    {                                                                                              \
        TIME_OF("total", "total_ns", METRIC_TESTED | METRIC_SUM),                                  \
            TIME_OF("each", "p50_ns", METRIC_TESTED | METRIC_EACH | METRIC_REPORTED),              \
            COUNT_OF("count", "count", METRIC_SUM), TIME_OF("min", "min_ns", 0),                   \
            TIME_OF("p95", "p95_ns", 0), TIME_OF("max", "max_ns", 0),                              \
    }

#define BYTES_OF(word, column, flags)                                                              \
    {                                                                                              \
        (word), (column), COLUMN_BYTES, (flags)                                                    \
    }

/* "held": at the end of the process. `sum`: METRIC_SUM for rows that may be missing, or 0. */
#define MEMORY_METRICS(sum)                                                                        \
    {                                                                                              \
        BYTES_OF("peak", "peak_bytes", METRIC_TESTED | METRIC_ESTIMATE | (sum)),                   \
            BYTES_OF("peak-deviation", "peak_deviation_bytes", METRIC_DEVIATION | (sum)),          \
            BYTES_OF("held", "held_bytes", METRIC_TESTED | METRIC_ESTIMATE | (sum)),               \
            BYTES_OF("held-deviation", "held_deviation_bytes", METRIC_DEVIATION | (sum)),          \
            BYTES_OF("allocated", "allocated_bytes", METRIC_TESTED | METRIC_ESTIMATE | (sum)),     \
            BYTES_OF("allocated-deviation", "allocated_deviation_bytes",                           \
                     METRIC_DEVIATION | (sum)),                                                    \
            BYTES_OF("temporary", "temporary_bytes", (sum)),                                       \
            COUNT_OF("blocks", "block_count", (sum)),                                              \
    }

#define WAIT_METRICS                                                                               \
    {                                                                                              \
        TIME_OF("total", "total_ns", METRIC_TESTED | METRIC_SUM),                                  \
            COUNT_OF("count", "count", METRIC_SUM), TIME_OF("mean", "mean_ns", 0),                 \
            TIME_OF("max", "max_ns", 0),                                                           \
    }

const struct compare_kind compare_kinds[] = {
    {
        .word = "run",
        .title = "runs",
        .label = "run",
        .metrics = {TIME_OF("value", NULL, METRIC_TESTED)},
    },
    {
        .word = "heap",
        .table = "memory",
        .result = "heap",
        .title = "memory of all processes",
        .label = "memory",
        .whole = "heap",
        .metrics = MEMORY_METRICS(0),
    },
    {
        .word = "range",
        .table = "ranges",
        .title = "ranges",
        .label = "range",
        .keys = {"path"},
        .match = MATCH_NUMBERED,
        .metrics = RANGE_METRICS,
    },
    {
        .word = "overlapping",
        .table = "overlapping_ranges",
        .title = "overlapping ranges (start/end)",
        .label = "range",
        .keys = {"path"},
        .match = MATCH_NUMBERED,
        .metrics = RANGE_METRICS,
    },
    {
        .word = "track",
        .table = "track_ranges",
        .title = "ranges on tracks",
        .label = "range",
        .keys = {"path"},
        .match = MATCH_NUMBERED,
        .metrics = RANGE_METRICS,
    },
    {
        .word = "kernel",
        .table = "gpu_kernels",
        .title = "kernels of GPUs",
        .label = "kernel",
        .keys = {"short_name", "name"},
        .metrics = WORK_METRICS,
    },
    {
        .word = "operation",
        .table = "gpu_operations",
        .title = "copies and other operations of GPUs",
        .label = "operation",
        .keys = {"name", "kind", "direction"},
        .metrics = WORK_METRICS,
    },
    {
        .word = "gpu",
        .table = "gpu_ranges",
        .title = "GPU time by the ranges that launched it",
        .label = "range",
        .keys = {"path"},
        .match = MATCH_NUMBERED,
        .metrics = {TIME_OF("gpu", "gpu_ns", METRIC_TESTED | METRIC_SUM | METRIC_REPORTED),
                    TIME_OF("self", "gpu_self_ns", METRIC_SUM),
                    TIME_OF("idle", "idle_ns", METRIC_SUM),
                    COUNT_OF("launched", "launched", METRIC_SUM),
                    TIME_OF("delay", "delay_p50_ns", 0)},
    },
    {
        .word = "state",
        .table = "wall",
        .title = "wall time, by what the program did",
        .label = "state",
        .keys = {"name", "state", "reason"},
        .place = "reason",
        .metrics = {TIME_OF("time", "total_ns", METRIC_TESTED | METRIC_SUM)},
    },
    {
        .word = "own",
        .table = "own_functions",
        .title = "own functions, with what libraries do for them",
        .label = "function",
        .keys = {"name", "function", "module", "kind"},
        .place = "location",
        .match = MATCH_CODE,
        .metrics = {TIME_OF("time", NULL, METRIC_TESTED | METRIC_SUM | METRIC_BOTH),
                    TIME_OF("cpu", "cpu_ns", METRIC_TESTED | METRIC_SUM | METRIC_SAMPLED),
                    TIME_OF("blocked", "blocked_ns", METRIC_TESTED | METRIC_SUM),
                    TIME_OF("runnable", "runnable_ns", METRIC_SUM)},
    },
    {
        .word = "call",
        .table = "calls",
        .title = "functions: calls that were counted",
        .label = "function",
        .keys = {"name", "file", "kind"},
        .place = "location",
        .match = MATCH_CODE,
        .metrics = {TIME_OF("own", "own_ns", METRIC_TESTED | METRIC_SUM | METRIC_REPORTED),
                    COUNT_OF("calls", "call_count", METRIC_TESTED | METRIC_SUM | METRIC_REPORTED),
                    TIME_OF("total", "total_ns", METRIC_SUM), TIME_OF("each", "per_call_ns", 0),
                    TIME_OF("max", "max_ns", 0)},
    },
    {
        .word = "function",
        .table = "functions",
        .title = "all functions: CPU time",
        .label = "function",
        .keys = {"name", "function", "module", "kind"},
        .place = "location",
        .match = MATCH_CODE,
        .metrics = {TIME_OF("self", "cpu_self_ns", METRIC_TESTED | METRIC_SUM | METRIC_SAMPLED),
                    TIME_OF("total", "cpu_total_ns", METRIC_SUM | METRIC_SAMPLED),
                    TIME_OF("python", "cpu_python_ns", METRIC_SUM | METRIC_SAMPLED)},
    },
    {
        .word = "line",
        .table = "lines",
        .title = "lines: CPU time",
        .label = "line",
        .keys = {"text", "file"},
        .place = "location",
        .match = MATCH_CODE,
        .metrics = {TIME_OF("self", "cpu_self_ns", METRIC_TESTED | METRIC_SUM | METRIC_SAMPLED),
                    TIME_OF("total", "cpu_total_ns", METRIC_SUM | METRIC_SAMPLED),
                    TIME_OF("blocked", "own_blocked_ns", METRIC_SUM)},
    },
    {
        .word = "wait",
        .table = "waits",
        .title = "waits: why threads did not run",
        .label = "waited for",
        .keys = {"reason"},
        .metrics = WAIT_METRICS,
    },
    {
        .word = "place",
        .table = "wait_places",
        .title = "where threads waited",
        .label = "function",
        .keys = {"name", "reason", "module"},
        .place = "reason",
        .metrics = WAIT_METRICS,
    },
    {
        .word = "await",
        .table = "awaits",
        .title = "where tasks of asyncio were suspended",
        .label = "function",
        .keys = {"name", "awaits"},
        .place = "awaits",
        .metrics = WAIT_METRICS,
    },
    {
        .word = "task",
        .table = "tasks",
        .title = "tasks of pools",
        .label = "function",
        .keys = {"function", "part", "workers"},
        .place = "part",
        .metrics = {TIME_OF("total", "total_ns", METRIC_TESTED | METRIC_SUM | METRIC_REPORTED),
                    COUNT_OF("count", "count", METRIC_SUM), TIME_OF("p50", "p50_ns", 0),
                    TIME_OF("p90", "p90_ns", 0)},
    },
    {
        .word = "import",
        .table = "imports",
        .title = "imports",
        .label = "module",
        .keys = {"module"},
        .metrics = {TIME_OF("self", "self_ns", METRIC_TESTED | METRIC_SUM | METRIC_REPORTED),
                    TIME_OF("total", "total_ns", METRIC_SUM)},
    },
    {
        .word = "memory",
        .table = "memory",
        .title = "functions that allocate memory",
        .label = "function",
        .keys = {"function"},
        .place = "location",
        .match = MATCH_CODE,
        .metrics = MEMORY_METRICS(METRIC_SUM),
    },
    {
        .word = "counter",
        .table = "counters",
        .title = "counters: means",
        .label = "counter",
        .keys = {"name"},
        .metrics = {VALUE_OF("mean", "value_mean", METRIC_TESTED | METRIC_REPORTED),
                    VALUE_OF("max", "value_max", 0), VALUE_OF("last", "value_last", 0)},
    },
};

const size_t compare_kind_count = sizeof(compare_kinds) / sizeof(*compare_kinds);

const struct compare_kind *compare_kind_find(const char *word, size_t length)
{
    for (size_t i = 0; i < compare_kind_count; i++)
        if (strlen(compare_kinds[i].word) == length &&
            memcmp(compare_kinds[i].word, word, length) == 0)
            return &compare_kinds[i];
    return NULL;
}

int compare_metric_find(const struct compare_kind *kind, const char *word)
{
    if (strcmp(word, "median") == 0 || strcmp(word, "p50") == 0)
        for (int i = 0; i < METRICS_MAX && kind->metrics[i].word; i++)
            if (kind->metrics[i].column && strcmp(kind->metrics[i].column, "p50_ns") == 0)
                return i;
    for (int i = 0; i < METRICS_MAX && kind->metrics[i].word; i++)
        if (strcmp(kind->metrics[i].word, word) == 0)
            return i;
    return -1;
}
