/* SPDX-License-Identifier: MIT */
/* `annot snapshot`: writes the present content of a session's flight recorders as a recording. */
#include "cmd.h"
#include "collector.h"
#include "collector_snapshot.h"
#include "operands.h"
#include "reader.h"
#include "recording.h"
#include "term.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct snapshot_values {
    const char *output;
    bool force;
    uint64_t pid;
};

enum { ID_DIGITS = 16 };

/* A session's number, or 0. */
static uint64_t parse_id(const char *text)
{
    char *end;
    if (strlen(text) != ID_DIGITS || strspn(text, "0123456789abcdefABCDEF") != ID_DIGITS)
        return 0;
    return strtoull(text, &end, 16);
}

/* SESSION is its number or the file of its recording. 0, or the exit status of a failure. */
static int choose_session(const struct cmd_call *call, uint64_t *ret_id)
{
    const char *text = call->operand_count > 0 ? call->operands[0] : NULL;
    *ret_id = text ? parse_id(text) : 0;
    if (!text || *ret_id != 0)
        return 0;
    struct store_reader *reader = recording_open_stored(text);
    if (!reader)
        return CMD_FAILED;
    *ret_id = trace_session_get(store_reader_trace(reader))->id;
    store_reader_close(reader);
    return 0;
}

static void tell(const struct collector_snapshot *snapshot)
{
    char records[NUMBER_TEXT_SIZE], lost[NUMBER_TEXT_SIZE];
    cmd_note("wrote %s: %s records of %u %s; %s older ones were overwritten or lost",
             snapshot->output, number_count(snapshot->event_count, records),
             snapshot->process_count, snapshot->process_count == 1 ? "process" : "processes",
             number_count(snapshot->lost_count, lost));
}

static int run_snapshot(const struct cmd_call *call)
{
    const struct snapshot_values *values = call->values;
    struct collector_error error;
    char output[PATH_MAX];
    struct collector_snapshot snapshot = {
        .output = values->output, .overwrite = values->force, .version = ANNOT_VERSION};
    if (values->pid > INT32_MAX)
        return cmd_fail(CMD_MISUSE, "there is no process %llu", (unsigned long long)values->pid);
    if (values->pid != 0 && call->operand_count > 0)
        return cmd_fail(CMD_MISUSE, "name a session or a process, not both");
    snapshot.pid = (int32_t)values->pid;
    int status = output_check(values->output, "annot", CMD_MISUSE);
    if (status == 0)
        status = choose_session(call, &snapshot.session_id);
    if (status != 0)
        return status;
    if (!snapshot.output) {
        output_name("snapshot", output, sizeof(output));
        snapshot.output = output;
    }
    if (collector_snapshot(&snapshot, &error) != 0)
        return cmd_fail(CMD_FAILED, error.hint[0] ? "%s\n%s" : "%s%s", error.what, error.hint);
    tell(&snapshot);
    return CMD_OK;
}

static const struct option_spec options[] = {
    {"output", 'o', OPTION_TEXT, offsetof(struct snapshot_values, output), "FILE",
     "the recording (default: snapshot-YYYYmmdd-HHMMSS.annot here)", NULL},
    {"force", 0, OPTION_FLAG, offsetof(struct snapshot_values, force), NULL,
     "replace an existing file", NULL},
    {"pid", 'p', OPTION_COUNT, offsetof(struct snapshot_values, pid), "PID", "only this process",
     NULL},
    {0},
};

const struct cmd cmd_snapshot = {
    .name = "snapshot",
    .summary = "save the contents of a flight recorder",
    .usage = "[OPTIONS] [SESSION]",
    .details =
        "SESSION is the recording of \"annot record --policy overwrite\", or the number that "
        "its\nprograms have as ANNOT_SESSION; not needed if there is only one.\n\n"
        "exit status: 0; 1 if there is no flight recorder or FILE cannot be written; 2 "
        "wrong\ncommand line\n",
    .options = options,
    .values_size = sizeof(struct snapshot_values),
    .operands_min = 0,
    .operands_max = 1,
    .run = run_snapshot,
};
