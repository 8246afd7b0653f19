/* SPDX-License-Identifier: MIT */
/* The kernel's events of executable mappings and names of processes, machine-wide, as they happen.
 *
 * One ring per CPU of a dummy software event. Without it a process that ends before it is inspected
 * would have neither mappings nor files. Needs CAP_PERFMON. Records of all CPUs are returned in
 * order of time (CLOCK_MONOTONIC); pids are those of the collector's namespace.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_PERF_RING_H
#define ANNOT_PERF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum perf_note_kind {
    PERF_NOTE_MAPPING = 1, /* executable memory was mapped, or made executable */
    PERF_NOTE_EXEC = 2, /* the old mappings are replaced by those of the new image, which follow */
};

struct perf_note {
    uint64_t time_ns;
    int32_t pid, tid;
    uint32_t kind; /* enum perf_note_kind */
    /* MAPPING: */
    uint32_t protection; /* PROT_* */
    uint64_t begin, end, offset;
    uint64_t inode, generation;
    uint32_t major, minor; /* of the file's device */
    /* MAPPING: the path from the kernel, EXEC: the short name. Valid until the next drain. */
    const char *text;
};

struct perf_rings;

/* 0, -ENOMEM, or -errno of perf_event_open (-EACCES, -EPERM: no right). Events are kept from now
 * on. */
int perf_rings_create(struct perf_rings **ret_rings);
void perf_rings_destroy(struct perf_rings *rings);

/* Makes the epoll descriptor readable when a ring is a quarter full. 0 or -errno. */
int perf_rings_watch(struct perf_rings *rings, int epoll_fd);

/* Reads the contents of the rings for perf_rings_next. 0 or -ENOMEM. */
int perf_rings_drain(struct perf_rings *rings);

/* The next note not later than that; NULL: no more. */
const struct perf_note *perf_rings_next(struct perf_rings *rings, uint64_t until_ns);

/* The number of records dropped by the kernel since the last call. */
uint64_t perf_rings_take_lost(struct perf_rings *rings);

/* Parses one record of such a ring. true: it is a note; its text lies inside the record. Else adds
 * the record's losses to *ret_lost. */
bool perf_note_parse(const uint8_t *record, size_t size, struct perf_note *ret_note,
                     uint64_t *ret_lost);

#endif
