/* SPDX-License-Identifier: MIT */
/* The memory control group of a process: its limit, its use, and the processes that the kernel
 * killed in it for lack of memory. Both versions of cgroups. Thread-safety: pure functions. */
#ifndef ANNOT_MEMORY_GROUP_H
#define ANNOT_MEMORY_GROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct memory_group {
    bool unified;            /* cgroup version 2 */
    char own[PATH_MAX];      /* the process's own group, as a folder; "": none is mounted */
    char limiting[PATH_MAX]; /* it, or the group around it with the smallest limit; "": no limit */
    uint64_t limit_bytes;    /* of that group */
};

/* Finds the group in the texts of /proc/PID/cgroup and /proc/PID/mountinfo. */
void memory_group_find(const char *groups, const char *mounts, struct memory_group *ret_group);

/* The same for a process, with the mounts that this process sees. 0 or -errno. */
int memory_group_of(int32_t pid, struct memory_group *ret_group);

/* The group's memory in use, page cache included, against its limit. 0 or -errno. */
int memory_group_use(const struct memory_group *group, uint64_t *ret_used_bytes,
                     uint64_t *ret_limit_bytes);

/* Processes of the group that the kernel has killed for lack of memory since the group was made;
 * also those killed at the limit of a group around it. 0 or -errno. */
int memory_group_kills(const struct memory_group *group, uint64_t *ret_kills);

/* The same on the whole machine, since boot. */
int memory_kills(uint64_t *ret_kills);

#endif
