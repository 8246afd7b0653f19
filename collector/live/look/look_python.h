/* SPDX-License-Identifier: MIT */
/* Runs a text in the interpreter of a running process, in one of its threads. */
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
    const char *code; /* lines, not inside of a longer text; the last sets `answer` */
    bool enters;      /* even if pyannot is not loaded: the text loads it */
};

/* The answer as text. 0, or negative with the reason: -ENOENT: pyannot is not in it; -EINPROGRESS:
 * it will be run, but was not yet; else it was not run, or has failed. Waits seconds. */
int look_python_run(const struct look_python *run, char answer[LOOK_ANSWER_SIZE],
                    struct look_reason *ret_reason);

/* ---- For look_debugger.c ---- */

/* Lines of Python, indented by a space, around the code: `take` raises unless the request is still
 * open, `answer` returns the variable `answer`, ended by NUL. */
struct look_mail {
    const char *take, *answer;
};

/* 0 or -E2BIG. */
int look_python_compose(const struct look_python *run, const struct look_mail *mail,
                        struct text *script);

/* Strips the mark from an answer: 0, or negative with the reason. */
int look_python_answer(char answer[LOOK_ANSWER_SIZE], struct look_reason *reason);

#endif
