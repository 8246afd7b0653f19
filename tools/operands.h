/* SPDX-License-Identifier: MIT */
/* Operands that several commands have: processes by their numbers, and names of outputs.
 * Thread-safety: none needed. */
#ifndef ANNOT_OPERANDS_H
#define ANNOT_OPERANDS_H

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

struct exporter;

/* ---- Outputs --------------------------------------------------------------------------------- */

/* NAME-YYYYmmdd-HHMMSS.annot in the present directory, with a number if that exists; `name` is
 * what was recorded, of which the last part of a path counts. */
void output_name(const char *name, char *buffer, size_t size);

/* The default output of a command: `stem`, of which `length` bytes count, with `extension`. A name
 * that is taken gets a number, x-2.json, unless `may_replace` accepts that file; NULL: it accepts
 * none. Owned by the caller. NULL: out of memory, or of numbers. */
char *output_default(const char *stem, size_t length, const char *extension,
                     bool (*may_replace)(const char *path));
bool output_any(const char *path); /* accepts all files, for --force */

/* Before anything is done: does the name of an output end as a file of another format does? `mine`:
 * the extension of this command's ("svg"). 0; otherwise the message is out, with what writes or
 * wants that one, and `status` is returned. */
int output_check(const char *output, const char *mine, int status);

#endif
