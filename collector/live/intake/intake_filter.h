/* SPDX-License-Identifier: MIT */
/* The session's filter: its text in the session file, and the resulting masks of segments.
 *
 * The masks of a segment are written when it is new, when the rules have changed, and when its
 * table has new strings: this corrects masks that its process stored at the same time. Numbers are
 * judged once per change of the rules. A writer of the text holds the lock of the wake page
 * (directory_lock); readers use the sequence to check that their copy is consistent.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_INTAKE_FILTER_H
#define ANNOT_INTAKE_FILTER_H

#include "intake_directory.h"
#include "names.h"

#include <annot_filter.h>

struct filter_rules {
    uint32_t revision; /* 0: there was never a filter; else changes with the text */
    uint32_t size;
    uint32_t wishes; /* of enum annot_wish: stored with the text, and change with its sequence */
    uint64_t fitted; /* bit mask of the first 64 rules that some name fitted */
    char text[ANNOT_FILTER_MAX];
};

/* Filter state of one segment; {0}: nothing written yet. */
struct filter_applied {
    uint32_t revision;
    uint32_t strings_used; /* of its table, at the last write */
    uint32_t next;         /* numbers below are in `masks` */
    size_t functions;      /* of names->functions, the number written */
    struct annot_filter_masks masks;
};

/* Writes changed masks to a segment. 0, -ENOMEM, -EFAULT. Cost: a load if nothing has changed. */
int filter_masks_emit(struct filter_rules *rules, struct names *names,
                      struct filter_applied *applied);

/* The next rule from *at on (0: the first) that fitted no name, as text. 0: no more. */
int filter_rule_unfitted(const struct filter_rules *rules, uint32_t *at,
                         struct annot_filter_rule *ret_rule);

/* ---- The text ---- */

struct session_filter {
    uint32_t sequence, size;
    char text[ANNOT_FILTER_MAX];
};

/* 0; -EAGAIN: it is being changed; -EBADMSG, or -errno. */
int session_filter_read(int fd, struct session_filter *ret_filter);

/* Call with the lock held. 0, -E2BIG: longer than ANNOT_FILTER_MAX; -errno. */
int session_filter_write(int fd, const char *text, size_t size, uint32_t *ret_sequence);

/* The wishes stored with the text: read at any time; written with the lock held, before the text.
 * 0, -EBADMSG or -errno. */
int session_wishes_read(int fd, uint32_t *ret_wishes);
int session_wishes_write(int fd, uint32_t wishes);

/* The sequence that was written to the segments; set by the collector alone. 0 or -errno. */
int session_filter_confirmed(int fd, uint32_t *ret_sequence);
int session_filter_confirm(int fd, uint32_t sequence);

/* Reads the text into the rules of an intake; a changed text gets a new revision. 1: changed; 0;
 * -errno. An unfinished change of its writer is reverted after a while. */
struct session_filter_watch {
    uint32_t sequence;
    int64_t odd_since_ns; /* 0: it is even */
};

int session_filter_poll(struct session_filter_watch *watch, const struct directory *directory,
                        int fd, struct filter_rules *rules);

#endif
