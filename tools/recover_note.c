/* SPDX-License-Identifier: MIT */
/* Tells what became of the session of a killed collector. */
#include "recover_note.h"

#include "cmd.h"
#include "number_text.h"
#include "term.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void recover_note(const struct collector_recovered *what)
{
    char count[NUMBER_TEXT_SIZE], lost[NUMBER_TEXT_SIZE];
    if (what->living)
        return;
    if (what->error == -ENOENT) {
        cmd_note("%s was cut short and is gone\nwhat its programs left stays in shared memory: "
                 "\"annot recover\" makes a new recording of it",
                 what->recording);
        return;
    }
    if (what->error != 0) {
        cmd_fail(0,
                 "cannot recover %s: %s\nthe data stay where they are; \"annot recover\" tries "
                 "again",
                 what->recording[0] ? what->recording : "a session", strerror(-what->error));
        return;
    }
    if (what->recording[0] == 0 || cmd_is_quiet())
        return;
    fprintf(stderr, "annot: %s ", what->resumed ? "completed" : "made");
    term_write(stderr, what->recording, strlen(what->recording));
    fprintf(stderr, ", which was cut short: %s event%s added",
            number_count(what->event_count, count), what->event_count == 1 ? "" : "s");
    if (what->lost_count > 0)
        fprintf(stderr, "; %s lost, see \"annot info\"", number_count(what->lost_count, lost));
    fputc('\n', stderr);
    if (what->left_count > 0)
        cmd_note("programs may have gone on unrecorded after it was cut short\n\"annot info\" says "
                 "from when on their events are missing");
}
