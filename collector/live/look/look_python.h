/* SPDX-License-Identifier: MIT */
/* Has the interpreter of a process that runs run a text, in a thread of its own, as it is now. */
#ifndef ANNOT_LOOK_PYTHON_H
#define ANNOT_LOOK_PYTHON_H

#include "look_enter.h"

#include <stdbool.h>
#include <stdint.h>

struct text;

#define LOOK_MAIL "annot_python_mail"

enum { LOOK_MAIL_SIZE = 16384, LOOK_ANSWER_SIZE = 512 };

struct look_python {
    int32_t pid;
    const char *code; /* lines, none of them in a longer text; the last sets `answer` */
    bool enters;      /* also where pyannot is not loaded: that is the text's matter */
};

/* The answer as text. 0, or negative with the reason: -ENOENT: pyannot is not in it; -EINPROGRESS:
 * it will be run, but was not yet; else it has not been, or has failed. Waits seconds. */
int look_python_run(const struct look_python *run, char answer[LOOK_ANSWER_SIZE],
                    struct look_reason *ret_reason);

/* ---- For look_debugger.c ---- */

/* Lines of Python, with a space before each, around what is asked for: the first raise unless it is
 * still to be done, the last hand on `answer`, which ends with NUL. */
struct look_mail {
    const char *take, *answer;
};

/* 0 or -E2BIG. */
int look_python_compose(const struct look_python *run, const struct look_mail *mail,
                        struct text *script);

/* Takes the mark off an answer: 0, or negative with the reason. */
int look_python_answer(char answer[LOOK_ANSWER_SIZE], struct look_reason *reason);

#endif
