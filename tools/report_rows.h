/* SPDX-License-Identifier: MIT */
/* One row of `annot report --json` and `--csv`: its fields by name. Main thread only. */
#ifndef ANNOT_REPORT_ROWS_H
#define ANNOT_REPORT_ROWS_H

#include "report_data.h"

enum { REPORT_LABEL_SIZE = 8192, REPORT_FIELDS = 27 };

struct report_row {
    char label[REPORT_LABEL_SIZE]; /* path, or name */
    char process_label[REPORT_LABEL_SIZE], thread_label[REPORT_LABEL_SIZE];
    const struct trace_process *process; /* whose it is; NULL: of all */
    const struct trace_thread *thread;
};

void report_row_init(struct report_row *row, const struct report_data_options *options,
                     uint32_t index);

/* The rows of a kind in the order that was asked for, to be freed. How many, or -ENOMEM. */
int64_t report_rows(const struct report_data_options *options, enum range_kind kind,
                    uint32_t **ret_rows);

/* "pushed", "overlapping", "track", "mark", "counter". */
const char *report_kind_name(enum range_kind kind);

/* Fields are numbered from 0. */
const char *report_field_name(unsigned field);
/* Has a row of that kind the field, and is it known in this recording? */
bool report_field_is_of(const struct report_data_options *options, unsigned field,
                        enum range_kind kind);

struct report_value {
    bool is_text, is_double, is_integer; /* none: a count */
    const char *text;
    double number;
    int64_t integer;
    uint64_t count;
};

struct report_value report_value(const struct report_data_options *options, uint32_t index,
                                 unsigned field);

/* What is in none of the ranges: time of threads, and CPU time that was sampled. */
struct report_outside {
    uint64_t self_ns, cpu_self_ns;
};

/* Of all rows of a kind. */
uint64_t report_cpu_self_ns(const struct range_stats *stats, enum range_kind kind);

struct report_outside report_outside(const struct range_stats *stats, uint64_t cpu_ns);

#endif
