/* SPDX-License-Identifier: MIT */
/* The lines above a table of `annot top`: totals of all programs. See top.h. */
#include "top_head.h"
#include "top.h"

#include "number.h"
#include "text.h"

#include <stdio.h>
#include <string.h>

static uint32_t count_living(const struct trace *trace)
{
    uint32_t living = 0;
    for (uint32_t i = 0; i < trace_process_count(trace); i++) {
        const struct trace_process *process = trace_process_get(trace, i);
        living += process->end == PROCESS_RUNNING && process->end_ns == 0;
    }
    return living;
}

/* Counts threads that ran or waited. */
static uint32_t count_threads(const struct top_data *data)
{
    uint32_t count = 0;
    for (size_t i = 0; i < data->threads.count; i++) {
        const struct own_times *times = &data->threads.items[i].times;
        count += times->cpu_ns + times->ready_ns + times->waiting_ns > 0;
    }
    return count;
}

static void put_first(const struct top_session *session, const struct top_data *data, char *line)
{
    const struct trace *trace = data->trace;
    char time[NUMBER_TEXT_SIZE];
    uint32_t living = count_living(trace), threads = count_threads(data);
    struct text text = text_init(line, TOP_HEAD_SIZE);
    double seconds = (double)data->length_ns / 1e9;
    if (seconds < 100)
        snprintf(time, sizeof(time), "%.*f s", seconds < 9.95 ? 1 : 0, seconds);
    else
        number_time_short((uint64_t)data->length_ns, time);
    text_format(&text, data->total ? "since %s ago" : "last %s", time);
    text_format(&text, ", %u process%s, %u thread%s, %u Hz: %s", living, living == 1 ? "" : "es",
                threads, threads == 1 ? "" : "s", trace_sampling_get(trace)->frequency_hz,
                session->command);
}

static void add_share(struct text *text, const char *before, uint64_t part, int64_t length_ns)
{
    char share[NUMBER_TEXT_SIZE];
    text_format(text, "%s%s", before, number_share(part, (uint64_t)length_ns, share));
}

/* Percentages relate to one processor or one thread. */
static void put_second(const struct top_data *data, char *line)
{
    uint32_t processors = trace_session_get(data->trace)->processors;
    struct text text = text_init(line, TOP_HEAD_SIZE);
    add_share(&text, "cpu ", data->all.cpu_ns, data->length_ns);
    if (processors)
        text_format(&text, " of %u %% (%u processor%s)", 100 * processors, processors,
                    processors == 1 ? "" : "s");
    if (top_sees_waits(data))
        add_share(&text, ", ready ", data->all.ready_ns, data->length_ns);
    if (data->all.gil_ns + data->gil_wait_ns > 0) {
        add_share(&text, ", GIL held ", data->all.gil_ns, data->length_ns);
        if (top_sees_waits(data))
            add_share(&text, ", awaited ", data->gil_wait_ns, data->length_ns);
    }
}

/* Wait reasons, longest time first. */
static void put_third(const struct top_data *data, char *line)
{
    struct text text = text_init(line, TOP_HEAD_SIZE);
    bool told[WAIT_REASON_COUNT] = {false};
    if (!top_sees_waits(data)) {
        text_format(&text, "waits are not looked at");
        return;
    }
    add_share(&text, "waits ", data->all.waiting_ns, data->length_ns);
    for (unsigned i = 0; i < WAIT_REASON_COUNT; i++) {
        unsigned most = WAIT_REASON_COUNT;
        for (unsigned reason = 0; reason < WAIT_REASON_COUNT; reason++)
            if (!told[reason] && data->waits[reason] > 0 &&
                (most == WAIT_REASON_COUNT || data->waits[reason] > data->waits[most]))
                most = reason;
        if (most == WAIT_REASON_COUNT)
            return;
        told[most] = true;
        text_format(&text, "%s%s", i ? ", " : ": ", wait_reason_name((enum wait_reason)most));
        add_share(&text, " ", data->waits[most], data->length_ns);
    }
}

static uint64_t lost_count(const struct trace *trace)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < trace_process_count(trace); i++)
        for (unsigned cause = 0; cause < LOSS_COUNT; cause++)
            count += trace_process_get(trace, i)->lost[cause];
    return count;
}

/* Warnings about data missing from the numbers. */
static void put_fourth(const struct top_session *session, const struct top_data *data, char *line)
{
    const struct trace_sampling *sampling = trace_sampling_get(data->trace);
    struct text text = text_init(line, TOP_HEAD_SIZE);
    char count[NUMBER_TEXT_SIZE];
    if (sampling->rung == SAMPLING_REMOTE)
        text_format(&text, "Python only: %s", trace_string(data->trace, sampling->reason)->bytes);
    if (lost_count(data->trace) > 0)
        text_format(&text, "%slost records: %s", text.length ? "; " : "",
                    number_count(lost_count(data->trace), count));
    if (session->anew_count > 0)
        text_format(&text, "%sbegun anew for want of memory: %s", text.length ? "; " : "",
                    number_count(session->anew_count, count));
}

void top_head_make(const struct top_session *session, const struct top_data *data,
                   char lines[TOP_HEAD_LINES][TOP_HEAD_SIZE])
{
    put_first(session, data, lines[0]);
    put_second(data, lines[1]);
    put_third(data, lines[2]);
    put_fourth(session, data, lines[3]);
}

/* ---- Machine-readable output ----------------------------------------------------------------- */

enum {
    COMMAND,
    LENGTH,
    PROCESSORS,
    RATE,
    PROCESSES,
    THREADS,
    CPU,
    READY,
    WAITS,
    GIL,
    GIL_WAITS,
    LOST
};

static const struct table_column columns[] = {
    [COMMAND] = {.name = "command", .type = COLUMN_TEXT},
    [LENGTH] = {.name = "duration_ns", .type = COLUMN_TIME},
    [PROCESSORS] = {.name = "processor_count", .type = COLUMN_COUNT},
    [RATE] = {.name = "frequency_hz", .type = COLUMN_COUNT},
    [PROCESSES] = {.name = "process_count", .type = COLUMN_COUNT},
    [THREADS] = {.name = "thread_count", .type = COLUMN_COUNT},
    [CPU] = {.name = "cpu_ns", .type = COLUMN_TIME},
    [READY] = {.name = "ready_ns", .type = COLUMN_TIME},
    [WAITS] = {.name = "waiting_ns", .type = COLUMN_TIME},
    [GIL] = {.name = "gil_ns", .type = COLUMN_TIME},
    [GIL_WAITS] = {.name = "gil_waiting_ns", .type = COLUMN_TIME},
    [LOST] = {.name = "lost_count", .type = COLUMN_COUNT},
};

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct top_data *data = table->context;
    (void)index;
    row_text(row, COMMAND, data->command);
    row_count(row, LENGTH, (uint64_t)data->length_ns);
    row_count(row, PROCESSORS, trace_session_get(data->trace)->processors);
    row_count(row, RATE, trace_sampling_get(data->trace)->frequency_hz);
    row_count(row, PROCESSES, count_living(data->trace));
    row_count(row, THREADS, count_threads(data));
    row_count(row, CPU, data->all.cpu_ns);
    row_count(row, GIL, data->all.gil_ns);
    if (top_sees_waits(data)) {
        row_count(row, READY, data->all.ready_ns);
        row_count(row, WAITS, data->all.waiting_ns);
        row_count(row, GIL_WAITS, data->gil_wait_ns);
    }
    row_count(row, LOST, lost_count(data->trace));
}

void top_head_table(const struct top_data *data, struct table *ret_table)
{
    *ret_table = (struct table){
        .name = "top", .fill = fill, .context = data, .is_single = true, .row_count = 1};
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        table_add_column(ret_table, columns[i]);
}
