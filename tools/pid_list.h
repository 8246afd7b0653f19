/* SPDX-License-Identifier: MIT */
/* Processes named on the command line. Thread-safety: none needed. */
#ifndef ANNOT_PID_LIST_H
#define ANNOT_PID_LIST_H

#include <stdint.h>

enum { PID_LIST_MAX = 256, PID_COMM_SIZE = 16 };

struct pid_list {
    int32_t items[PID_LIST_MAX];
    uint32_t count;
};

/* "12" or "12,34"; NULL = the option is missing. 0, or a message was printed and the exit status is
 * returned. */
int pid_list_parse(const char *text, struct pid_list *ret_list);

/* The kernel's short name, or "process"; into `buffer` of PID_COMM_SIZE, which is returned. */
const char *pid_list_comm(int32_t pid, char *buffer);

#endif
