/* SPDX-License-Identifier: MIT */
/* Operands that several commands have: processes by their numbers, and names of outputs.
 * Thread-safety: none needed. */
#ifndef ANNOT_OPERANDS_H
#define ANNOT_OPERANDS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Processes ------------------------------------------------------------------------------- */

enum { PID_LIST_MAX = 256, PID_COMM_SIZE = 16 };

struct pid_list {
    int32_t items[PID_LIST_MAX];
    uint32_t count;
};

/* "12" or "12,34": of the option --pid (NULL: not given) and of each operand. 0, or a message was
 * printed and the exit status is returned. */
int pid_list_parse(const char *option, char *const *operands, struct pid_list *ret_list);

enum { PID_LIST_TEXT_SIZE = 12 * PID_LIST_MAX };

/* "12 34", into `buffer`, which is returned. */
const char *pid_list_text(const struct pid_list *list, char buffer[PID_LIST_TEXT_SIZE]);

/* The kernel's short name, or "process"; into `buffer` of PID_COMM_SIZE, which is returned. */
const char *pid_list_comm(int32_t pid, char *buffer);

/* ---- Outputs --------------------------------------------------------------------------------- */

/* NAME-YYYYmmdd-HHMMSS.annot in the present directory, with a number if that exists; `name` is
 * what was recorded, of which the last part of a path counts. */
void output_name(const char *name, char *buffer, size_t size);

/* What -o of a command that records names: "x.svg" is written of the recording "x.annot" once that
 * is complete. */
struct record_output {
    char recording[PATH_MAX];
    const char *also; /* what is written of it, as it was named; NULL = nothing */
};

/* What is shown of the recording; rows of an option table, `at` is the offset of the struct. */
struct picture_values {
    bool gil, idle;
};

#define PICTURE_OPTIONS(at)                                                                        \
    {"idle",                                                                                       \
     0,                                                                                            \
     OPTION_FLAG,                                                                                  \
     (at) + offsetof(struct picture_values, idle),                                                 \
     NULL,                                                                                         \
     "with -o x.svg: also the time that threads waited; annot flame --idle shows it later",        \
     NULL},                                                                                        \
    {                                                                                              \
        "gil", 0, OPTION_FLAG, (at) + offsetof(struct picture_values, gil), NULL,                  \
            "with -o x.svg, x.json or x.pftrace: only samples of threads that held Python's GIL",  \
            NULL                                                                                   \
    }

/* 0, or a message was printed: returns `status`. `name` is not NULL. A recording that the user did
 * not name gets a number if there is one already. */
int record_output_choose(const char *name, bool force, int status, struct record_output *ret);

/* After the recording, of which there is something to show. Returns the exit status; messages are
 * those of `annot export`. */
int record_output_write(const struct record_output *output, const struct picture_values *picture);

/* Says how to get what is asked of a picture that is not written. */
void record_output_note(const struct record_output *output, const struct picture_values *picture);

/* Before anything is done: does the name of an output end as a file of another format does? `mine`:
 * the extension of this command's ("svg"). 0; otherwise the message is out, with what writes or
 * wants that one, and `status` is returned. */
int output_check(const char *output, const char *mine, int status);

#endif
