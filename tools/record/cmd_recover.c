/* SPDX-License-Identifier: MIT */
/* `annot recover`: completes the recordings of killed collectors, and prints the result for each.
 * Those of living collectors are left alone. */
#include "cmd.h"
#include "collector.h"
#include "collector_recover.h"
#include "json_writer.h"
#include "talk.h"
#include "term.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct recover_values {
    bool json;
};

struct result {
    struct out_stream *out; /* JSON; NULL: text */
    int failed, living, empty;
};

static const char *state_name(const struct collector_recovered *what)
{
    if (what->living)
        return "living";
    if (what->error != 0)
        return "failed";
    if (what->recording[0] == '\0')
        return "empty";
    return what->resumed ? "completed" : "made";
}

static void put_number(struct out_stream *out, const char *key, uint64_t value)
{
    out_text(out, key);
    uint8_t *begin = out_reserve(out, JSON_INTEGER_MAX);
    out_advance(out, (size_t)(json_put_uint(begin, value) - begin));
}

static void write_json(struct out_stream *out, const struct collector_recovered *what)
{
    const char *state = state_name(what), *error = strerror(-what->error);
    out_text(out, "{\"state\": ");
    json_string(out, state, strlen(state));
    out_text(out, ", \"recording\": ");
    json_string(out, what->recording, strlen(what->recording));
    put_number(out, ", \"processes\": ", what->process_count);
    put_number(out, ", \"events\": ", what->event_count);
    put_number(out, ", \"lost\": ", what->lost_count);
    put_number(out, ", \"unrecorded_processes\": ", what->left_count);
    if (what->error != 0) {
        out_text(out, ", \"error\": ");
        json_string(out, error, strlen(error));
    }
    out_text(out, "}\n");
}

static void on_recovered(void *context, const struct collector_recovered *what)
{
    struct result *result = context;
    result->failed += what->error != 0;
    result->living += what->living;
    result->empty += !what->living && what->error == 0 && what->recording[0] == '\0';
    if (result->out)
        write_json(result->out, what);
    if (result->out && what->error == 0)
        return;
    recover_note(what);
    if (!what->living)
        return;
    bool file = what->recording[0] != '\0';
    fputs(file ? "annot: left alone, still recording: " : "annot: left alone: annot top", stderr);
    term_write(stderr, what->recording, strlen(what->recording));
    fputc('\n', stderr);
}

/* CMD_OK, or the exit status after a printed message. */
static int check_directory(const char *directory)
{
    struct stat status;
    if (stat(directory, &status) != 0)
        return cmd_fail(CMD_FAILED,
                        "cannot look into %s: %s\nDIR is the ANNOT_DIR that programs and annot "
                        "shared; without it, the default is used",
                        directory, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return CMD_OK;
    return cmd_fail(CMD_FAILED,
                    "%s is a file; recover takes the directory that programs and annot shared\n"
                    "\"annot recover\" without a name completes all recordings that were "
                    "interrupted",
                    directory);
}

static int recover(const char *directory, struct result *result)
{
    if (directory && check_directory(directory) != CMD_OK)
        return CMD_FAILED;
    int count = collector_recover(directory, true, on_recovered, result);
    if (count < 0)
        return cmd_fail(CMD_FAILED, "cannot look into %s: %s\nit must be yours and have mode 0700",
                        directory ? directory : "the default directory", strerror(-count));
    if (!result->out && result->empty > 0)
        fprintf(stderr, "annot: empty recordings removed: %d\n", result->empty);
    if (!result->out && count == 0)
        fputs("annot: nothing to recover\n", stderr);
    return result->failed > 0 ? CMD_FAILED : CMD_OK;
}

static int run_recover(const struct cmd_call *call)
{
    const struct recover_values *values = call->values;
    const struct out_stream_options options = {0};
    struct result result = {0};
    int error = values->json ? out_stream_open("-", &options, &result.out) : 0;
    int status = CMD_FAILED;
    if (error == 0)
        status = recover(call->operand_count > 0 ? call->operands[0] : NULL, &result);
    if (error == 0 && result.out)
        error = out_stream_close(result.out);
    if (error != 0)
        return cmd_fail(CMD_FAILED, "cannot write to standard output: %s", strerror(-error));
    return status;
}

static const struct option_spec recover_options[] = {
    {"json", 0, OPTION_FLAG, offsetof(struct recover_values, json), NULL,
     "one JSON object per recording and line", NULL},
    {0},
};

const struct cmd cmd_recover = {
    .name = "recover",
    .summary = "complete interrupted recordings",
    .usage = "[OPTIONS] [DIR]",
    .details =
        "DIR is the directory that programs and annot share: $ANNOT_DIR or\n"
        "/dev/shm/annot-UID (see annot(1)). \"annot record\" does the same before it begins.\n",
    .options = recover_options,
    .values_size = sizeof(struct recover_values),
    .operands_min = 0,
    .operands_max = 1,
    .run = run_recover,
};
