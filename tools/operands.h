/* SPDX-License-Identifier: MIT */
/* Operands of several commands: processes by their numbers, and names of outputs. Thread-safety:
 * none needed. */
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

/* Parses "12" or "12,34" from the option --pid (NULL: not given) and from each operand. 0, or the
 * exit status after a printed message. */
int pid_list_parse(const char *option, char *const *operands, struct pid_list *ret_list);

enum { PID_LIST_TEXT_SIZE = 12 * PID_LIST_MAX };

/* "12 34", written to `buffer`, which is returned. */
const char *pid_list_text(const struct pid_list *list, char buffer[PID_LIST_TEXT_SIZE]);

/* The kernel's short name, or "process", written to `buffer` of PID_COMM_SIZE, which is
 * returned. */
const char *pid_list_comm(int32_t pid, char *buffer);

struct exporter;

/* ---- Outputs --------------------------------------------------------------------------------- */

/* NAME-YYYYmmdd-HHMMSS.annot in the current directory, with a number if it exists; `name` is the
 * command or process, of which only the last path component is used. */
void output_name(const char *name, char *buffer, size_t size);

/* The default output of a command: the first `length` bytes of `stem`, with `extension`. A name in
 * use gets a number, x-2.json, unless `may_replace` accepts that file; NULL: never replace. The
 * caller frees it. NULL: out of memory, or of numbers. */
char *output_default(const char *stem, size_t length, const char *extension,
                     bool (*may_replace)(const char *path));
bool output_any(const char *path); /* accepts all files, for --force */

/* Checks, before any work, that the name of an output does not end like a file of another format.
 * `mine`: the extension of this command ("svg"). 0, or `status` after a message with the command
 * that writes or reads that format. */
int output_check(const char *output, const char *mine, int status);

#endif
