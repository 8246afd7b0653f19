/* SPDX-License-Identifier: MIT */
/* `annot recover`: completes the recordings of collectors that were killed. */
#include "cmd.h"
#include "collector.h"
#include "number_text.h"
#include "recover_note.h"

#include <stdio.h>
#include <string.h>

struct result {
    int failed;
};

static void on_recovered(void *context, const struct collector_recovered *what)
{
    struct result *result = context;
    result->failed += what->error != 0;
    recover_note(what);
}

static int run_recover(const struct cmd_call *call)
{
    struct result result = {0};
    const char *directory = call->operand_count > 0 ? call->operands[0] : NULL;
    int count = collector_recover(directory, true, on_recovered, &result);
    if (count < 0)
        return cmd_fail(CMD_FAILED, "cannot look into %s: %s\nit must be yours and have mode 0700",
                        directory ? directory : "the default directory", strerror(-count));
    if (count == 0)
        fputs("annot: nothing to recover\n", stderr);
    return result.failed > 0 ? CMD_FAILED : CMD_OK;
}

const struct cmd cmd_recover = {
    .name = "recover",
    .summary = "complete recordings that were cut short",
    .usage = "[DIR]",
    .details = "DIR is where programs and annot meet: $ANNOT_DIR or /dev/shm/annot-UID. \"annot "
               "record\" does\nthe same before it begins.\n",
    .operands_min = 0,
    .operands_max = 1,
    .run = run_recover,
};
