/* SPDX-License-Identifier: MIT */
/* Notes of an import: problems of the file, losses, and counts of events that were left out. They
 * go to the result, for messages, and as facts to the recording. Thread-safety: one thread per
 * sink. */
#ifndef ANNOT_IMPORT_NOTES_H
#define ANNOT_IMPORT_NOTES_H

#include <stdint.h>

struct import_sink;

/* What could not be kept; each is counted and named once. */
enum import_left {
    LEFT_MALFORMED,    /* events without what they need */
    LEFT_UNKNOWN,      /* of kinds that have no counterpart */
    LEFT_END_ALONE,    /* ends without a begin */
    LEFT_OPEN,         /* begins without an end: not left out, but told */
    LEFT_OVERLAPPING,  /* ranges of a thread that don't nest */
    LEFT_CLIPPED,      /* that end a rounding later than the one around them */
    LEFT_TEXTS,        /* texts beyond the limit */
    LEFT_LONG,         /* that are cut */
    LEFT_VALUES,       /* values that are too many or too long */
    LEFT_UNLAUNCHED,   /* work of queues without a launch */
    LEFT_EVENT_STACKS, /* of events that are no samples */
    LEFT_DEEP,         /* stacks that are too deep */
    LEFT_STACKS,       /* frames of stacks beyond the limit */
    LEFT_REPEATED,     /* that only repeat what others tell */
    LEFT_AT_ONCE,      /* ranges whose ends are not waited for: too many are open at once */
    LEFT_THREADS,      /* threads and processes beyond the limit */
    LEFT_TRACKS,       /* events on tracks beyond the limit */
    LEFT_RECORDS,      /* records of perf that are no samples */
    LEFT_FLOWS_OPEN,   /* flows that arrive nowhere: not left out, but told */
    LEFT_FLOWS_ALONE,  /* points of flows that begin nowhere: the same */
    LEFT_OBJECTS,      /* from here on, by phases of Chrome's events */
    LEFT_SAMPLES,
    LEFT_DUMPS,
    LEFT_CONTEXTS,
    LEFT_CLOCKS,
    LEFT_COUNT,
};

/* What events of a phase that no recording has are counted as. */
enum import_left import_left_of_phase(char phase);

/* What is wrong with the file, for messages: the first one stays. */
void import_problem(struct import_sink *sink, const char *problem, uint64_t offset);

/* The file ends in the middle, at this byte: what was read before is kept, and outputs say that the
 * rest is missing. */
void import_cut(struct import_sink *sink, uint64_t offset);

/* -EBADMSG, with a problem, if the file was cut before anything was read. 0; -ENOMEM. */
int import_cut_check(struct import_sink *sink);

/* So many of something are missing in the recording, whose outputs say so. */
void import_lost(struct import_sink *sink, const char *what, uint64_t count);

/* One line in the recording and on standard error. */
void import_note(struct import_sink *sink, const char *text);

/* Says in result->notes, and in the recording, what was left out. 0 or -errno. */
int import_notes_tell(struct import_sink *sink);

#endif
