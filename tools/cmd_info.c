/* SPDX-License-Identifier: MIT */
/* `annot info`: what a recording holds: facts, records, losses, processes, threads.
 *
 * Reads every record once, so that damage is found and the counts are what is really there. */
#include "cmd.h"
#include "info_parts.h"
#include "recording.h"
#include "term.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct info_values {
    uint64_t limit;
};

static void count_batch(const struct event_batch *batch, struct info_counts *counts)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct event *event = &batch->events[i];
        counts->by_kind[event->kind < EVENT_KIND_COUNT ? event->kind : 0]++;
        if (event->kind == EVENT_LOST)
            counts->lost[event->level < LOSS_COUNT ? event->level : LOSS_CORRUPT] +=
                event->value.uint64;
    }
}

static int count_records(struct store_reader *reader, struct info_counts *ret_counts)
{
    struct event_batch batch;
    int rc;
    while ((rc = store_reader_next(reader, &batch)) > 0)
        count_batch(&batch, ret_counts);
    return rc;
}

static int run_info(const struct cmd_call *call)
{
    const struct info_values *values = call->values;
    const char *path = call->operands[0];
    struct store_reader *reader = recording_open(path);
    if (!reader)
        return CMD_FAILED;
    struct info_counts counts = {{0}, {0}};
    int rc = count_records(reader, &counts);
    if (rc < 0)
        recording_fail(path, rc);
    struct info_options options = {
        .trace = store_reader_trace(reader),
        .path = path,
        .limit = values->limit ? values->limit : UINT64_MAX,
        .width = term_width(STDOUT_FILENO),
        .color = term_color(STDOUT_FILENO),
    };
    info_print_facts(&options, reader, &counts);
    info_print_records(&options, &counts);
    info_print_damage(&options, reader, &counts);
    info_print_losses(&options, &counts);
    info_print_refusals(&options);
    int printed = info_print_processes(&options);
    if (printed == 0)
        printed = info_print_threads(&options);
    if (printed < 0)
        cmd_fail(0, "out of memory");
    uint32_t damaged = recording_note_damage(reader, path);
    store_reader_close(reader);
    return rc < 0 || printed < 0 || damaged ? CMD_FAILED : CMD_OK;
}

static const struct option_spec info_options[] = {
    {"limit", 'n', OPTION_COUNT, offsetof(struct info_values, limit), "N",
     "processes and threads to list; 0 lists all", "100"},
    {0},
};

const struct cmd cmd_info = {
    .name = "info",
    .summary = "tell what a recording holds: processes, threads, losses, damage",
    .usage = "[OPTIONS] FILE",
    .details = "times are seconds from the start of the recording; before it, they are negative\n\n"
               "exit status: 0; 1 if the recording could not be read or is damaged (what is whole "
               "is\n"
               "shown); 2 wrong command line\n",
    .options = info_options,
    .values_size = sizeof(struct info_values),
    .operands_min = 1,
    .operands_max = 1,
    .run = run_info,
};
