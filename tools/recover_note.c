/* SPDX-License-Identifier: MIT */
/* Tells what became of the session of a killed collector. */
#include "recover_note.h"

#include "cmd.h"
#include "number_text.h"

#include <stdio.h>
#include <string.h>

void recover_note(const struct collector_recovered *what)
{
    char count[NUMBER_TEXT_SIZE];
    if (what->error != 0) {
        cmd_note("cannot recover %s: %s\nthe data stay where they are; \"annot recover\" tries "
                 "again",
                 what->recording[0] ? what->recording : "a session", strerror(-what->error));
        return;
    }
    if (what->recording[0] == 0)
        return;
    fprintf(stderr, "annot: %s %s, which was cut short: %s event%s added\n",
            what->resumed ? "completed" : "made", what->recording,
            number_count(what->event_count, count), what->event_count == 1 ? "" : "s");
}
