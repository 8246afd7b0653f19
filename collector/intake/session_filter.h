/* SPDX-License-Identifier: MIT */
/* The text of a session's filter, in its file: reading, changing, noticing changes.
 *
 * Whoever changes it holds the lock of the wake page (directory_lock); the sequence tells readers
 * whether what they have is whole. Thread-safety: one thread per object. */
#ifndef ANNOT_INTAKE_SESSION_FILTER_H
#define ANNOT_INTAKE_SESSION_FILTER_H

#include "filter_masks.h"
#include "intake_directory.h"

struct session_filter {
    uint32_t sequence, size;
    char text[ANNOT_FILTER_MAX];
};

/* 0; -EAGAIN: it is being changed; -EBADMSG, or -errno. */
int session_filter_read(int fd, struct session_filter *ret_filter);

/* With the lock held. 0, -E2BIG: longer than ANNOT_FILTER_MAX; -errno. */
int session_filter_write(int fd, const char *text, size_t size, uint32_t *ret_sequence);

/* The sequence that programs have been told; written by the collector alone. 0 or -errno. */
int session_filter_told(int fd, uint32_t *ret_sequence);
int session_filter_set_told(int fd, uint32_t sequence);

/* Into the rules of an intake, which get a new revision if the text is another one. 1: it is; 0;
 * -errno. A change that its writer did not finish is taken back after a while. */
struct session_filter_watch {
    uint32_t sequence;
    int64_t odd_since_ns; /* 0: it is not */
};

int session_filter_poll(struct session_filter_watch *watch, const struct directory *directory,
                        int fd, struct filter_rules *rules);

#endif
