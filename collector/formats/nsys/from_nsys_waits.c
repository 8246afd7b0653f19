/* SPDX-License-Identifier: MIT */
/* Waits of threads, by the events of the scheduler in databases of Nsight Systems. Those of annot
 * export have them as rows of OSRT_API, with their reasons: from_nsys_samples.c. */
#include "from_nsys_parts.h"

#include "nsys_shape.h"
#include "number.h"
#include "stacks.h"

#include <errno.h>
#include <stdio.h>

enum { AT_TID, AT_TIME, AT_IN, AT_STATE };

/* A thread that left a CPU. */
struct leaving {
    int64_t global, time_ns, state;
    bool is_open;
};

static int add_wait(struct nsys *nsys, const struct leaving *leaving, int64_t end_ns)
{
    bool runnable = leaving->state == NSYS_STATE_RUNNING;
    struct sample sample = {.time_ns = leaving->time_ns,
                            .end_ns = end_ns,
                            .reason = runnable ? WAIT_PREEMPTED : WAIT_UNKNOWN};
    sample.thread = nsys_thread_of(nsys, leaving->global);
    sample_set_wait(&sample, 0, nsys->values);
    nsys->waits = true;
    return nsys->sink->error ? nsys->sink->error : import_sample(nsys->sink, &sample);
}

static int take_row(struct nsys *nsys, sqlite3_stmt *row, struct leaving *leaving)
{
    int64_t global = sqlite3_column_int64(row, AT_TID),
            time_ns = sqlite3_column_int64(row, AT_TIME);
    bool comes_back = sqlite3_column_int(row, AT_IN) != 0;
    struct leaving before = *leaving;
    if (nsys_is_null(row, AT_TID) || time_ns < -IMPORT_TIME_MAX || time_ns > IMPORT_TIME_MAX) {
        nsys->sink->left[LEFT_MALFORMED]++;
        return 0;
    }
    bool goes_on = before.is_open && before.global == global;
    nsys->endless += before.is_open && (!goes_on || !comes_back);
    *leaving = (struct leaving){global, time_ns, sqlite3_column_int64(row, AT_STATE), !comes_back};
    return goes_on && comes_back ? add_wait(nsys, &before, time_ns) : 0;
}

static int read_rows(struct nsys *nsys, sqlite3_stmt *row)
{
    struct leaving leaving = {0};
    int status, error = 0;
    while (!error && (status = sqlite3_step(row)) == SQLITE_ROW)
        error = take_row(nsys, row, &leaving);
    nsys->endless += leaving.is_open;
    return error ? error : status == SQLITE_DONE ? 0 : status == SQLITE_NOMEM ? -ENOMEM : -EBADMSG;
}

int nsys_read_waits(struct nsys *nsys)
{
    static const char *const queries[] = {
        "SELECT globalTid, start, isSchedIn, threadState FROM " NSYS_SCHED
        " ORDER BY globalTid, start, isSchedIn",
        "SELECT globalTid, start, isSchedIn, NULL FROM " NSYS_SCHED
        " ORDER BY globalTid, start, isSchedIn"};
    sqlite3_stmt *row = NULL;
    int error = 0;
    if (!nsys_has_table(nsys, NSYS_SCHED) || nsys->is_ours)
        return 0;
    nsys->any = true;
    for (size_t i = 0; i < sizeof(queries) / sizeof(*queries) && !row; i++)
        if (sqlite3_prepare_v2(nsys->database, queries[i], -1, &row, NULL) != SQLITE_OK)
            row = NULL;
    if (row)
        error = read_rows(nsys, row);
    sqlite3_finalize(row);
    return error;
}
