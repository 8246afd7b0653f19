/* SPDX-License-Identifier: MIT */
/* Notes of an import: problems of the file, losses, and counts of omitted events. They go to the
 * result, for messages, and as facts to the recording. Thread-safety: one thread per sink. */
#ifndef ANNOT_IMPORT_NOTES_H
#define ANNOT_IMPORT_NOTES_H

#include <stdint.h>

struct import_sink;

/* Losses of an import; each is counted and reported once. */
enum import_left {
    LEFT_MALFORMED,    /* events with missing fields */
    LEFT_UNKNOWN,      /* of kinds without a counterpart */
    LEFT_END_ALONE,    /* ends without a begin */
    LEFT_OPEN,         /* begins without an end: kept, but reported */
    LEFT_OVERLAPPING,  /* ranges of a thread that don't nest */
    LEFT_CLIPPED,      /* that end a rounding error later than the one around them */
    LEFT_TEXTS,        /* texts beyond the limit */
    LEFT_LONG,         /* that were cut */
    LEFT_VALUES,       /* values that are too many or too long */
    LEFT_UNLAUNCHED,   /* work of queues without a launch */
    LEFT_EVENT_STACKS, /* of events other than samples */
    LEFT_DEEP,         /* stacks that are too deep */
    LEFT_STACKS,       /* frames of stacks beyond the limit */
    LEFT_REPEATED,     /* duplicates of other items */
    LEFT_AT_ONCE,      /* ranges with ends not waited for: too many are open at once */
    LEFT_THREADS,      /* threads and processes beyond the limit */
    LEFT_TRACKS,       /* events on tracks beyond the limit */
    LEFT_RECORDS,      /* records of perf other than samples */
    LEFT_FLOWS_OPEN,   /* flows without an arrival: kept, but reported */
    LEFT_FLOWS_ALONE,  /* points of flows without a begin: the same */
    LEFT_OBJECTS,      /* from here on, by phases of Chrome's events */
    LEFT_SAMPLES,
    LEFT_DUMPS,
    LEFT_CONTEXTS,
    LEFT_CLOCKS,
    LEFT_COUNT,
};

/* The count for events of a phase that recordings cannot hold. */
enum import_left import_left_of_phase(char phase);

/* An error in the file, for messages: the first one is kept. */
void import_problem(struct import_sink *sink, const char *problem, uint64_t offset);

/* The file ends early, at this byte: the items before are kept, and outputs report that the rest is
 * missing. */
void import_cut(struct import_sink *sink, uint64_t offset);

/* -EBADMSG, with a problem, if the file was cut before any item was read. 0; -ENOMEM. */
int import_cut_check(struct import_sink *sink);

/* Records `count` losses in the recording, which its outputs report. */
void import_lost(struct import_sink *sink, const char *what, uint64_t count);

/* One line in the recording and on standard error. */
void import_note(struct import_sink *sink, const char *text);

/* Reports the omitted items in result->notes and in the recording. 0 or -errno. */
int import_notes_emit(struct import_sink *sink);

#endif
