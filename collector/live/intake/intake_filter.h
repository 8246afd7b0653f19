/* SPDX-License-Identifier: MIT */
/* The session's filter: its text in the session file, and what it means for the masks of segments.
 *
 * A segment is told when it is new, when the rules have changed, and when its table has new
 * strings: so what its process stored at the same time is put right. Numbers are judged once per
 * change of the rules. Whoever changes the text holds the lock of the wake page (directory_lock);
 * the sequence tells readers whether what they have is whole.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_INTAKE_FILTER_H
#define ANNOT_INTAKE_FILTER_H

#include "intake_directory.h"
#include "names.h"

#include <annot_filter.h>

struct filter_rules {
    uint32_t revision; /* 0: there has never been a filter; else changes with the text */
    uint32_t size;
    uint32_t wishes; /* of enum annot_wish: stand beside the text, and change with its sequence */
    uint64_t fitted; /* of its first 64 rules, those that some name fitted */
    char text[ANNOT_FILTER_MAX];
};

/* What one segment has been told; {0} is nothing. */
struct filter_told {
    uint32_t revision;
    uint32_t strings_used; /* of its table, by then */
    uint32_t next;         /* numbers below are in `masks` */
    size_t functions;      /* of names->functions, how many are told */
    struct annot_filter_masks masks;
};

/* 0, -ENOMEM, -EFAULT. Cost: a load if there is nothing to tell. */
int filter_masks_tell(struct filter_rules *rules, struct names *names, struct filter_told *told);

/* The next rule at or behind *at (0: the first), as text, that no name fitted. 0: there is none. */
int filter_rule_unfitted(const struct filter_rules *rules, uint32_t *at,
                         struct annot_filter_rule *ret_rule);

/* ---- The text ---- */

struct session_filter {
    uint32_t sequence, size;
    char text[ANNOT_FILTER_MAX];
};

/* 0; -EAGAIN: it is being changed; -EBADMSG, or -errno. */
int session_filter_read(int fd, struct session_filter *ret_filter);

/* With the lock held. 0, -E2BIG: longer than ANNOT_FILTER_MAX; -errno. */
int session_filter_write(int fd, const char *text, size_t size, uint32_t *ret_sequence);

/* The wishes beside it: read at any time; written with the lock held, before the text is. 0,
 * -EBADMSG or -errno. */
int session_wishes_read(int fd, uint32_t *ret_wishes);
int session_wishes_write(int fd, uint32_t wishes);

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
