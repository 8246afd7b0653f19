/* SPDX-License-Identifier: MIT */
/* Process and thread numbers for formats that use them as identity.
 *
 * A pid is not unique: it is reused, and namespaces repeat it; so is a tid. Viewers take equal
 * numbers for the same thing and would draw one over the other. So each number here is unique in
 * the recording: the real one if it is free (processes first, then threads, by order), else one
 * from EXPORT_SYNTHETIC_ID on, with the real one in the label. A thread with a tid already used in
 * its process gets a separate track in the same way. The main thread has its process's number, as
 * on Linux. Thread-safety: constant after init, except next_synthetic. */
#ifndef ANNOT_EXPORT_IDS_H
#define ANNOT_EXPORT_IDS_H

#include "trace.h"

enum { EXPORT_SYNTHETIC_ID = 10000000 }; /* Linux pids end at 4,194,304 */

/* Label of events without a name. */
#define EXPORT_UNNAMED "(unnamed)"

struct export_ids {
    uint32_t *order;        /* processes in display order */
    uint32_t *process_rank; /* by process: its place in `order` */
    uint32_t *thread_rank;  /* by thread: place among those of its process; the main thread is 0 */
    uint32_t *pids, *tids;  /* by process, by thread */
    uint32_t process_count, thread_count;
    uint32_t next_synthetic;
};

/* 0 or -ENOMEM; then call fini all the same. */
int export_ids_init(struct export_ids *ids, const struct trace *trace);
void export_ids_fini(struct export_ids *ids);

/* Notes for a viewer to show beside a process's name: how it ended, replaced numbers, losses. Note
 * `index` as text, or 0 after the last. Returns the length. */
enum { EXPORT_NOTE_SIZE = 128 };

size_t export_process_note(const struct export_ids *ids, const struct trace *trace,
                           uint32_t process, unsigned index, char *buffer);

/* The label of a thread, with its real tid if its number is synthetic. */
enum { EXPORT_LABEL_SIZE = 1200 };

size_t export_thread_label(const struct export_ids *ids, const struct trace *trace, uint32_t thread,
                           char *buffer);

/* The same for rows of a thread, which append their names: "Thread-1" of "Thread-1 (work)", the
 * name that Python gives a thread. */
size_t export_row_label(const struct export_ids *ids, const struct trace *trace, uint32_t thread,
                        char *buffer);

/* "lost 12: buffer full" */
size_t export_lost_label(const struct event *event, char *buffer);

/* A text of any length, made of pieces; NUL-terminated. */
struct export_text {
    char *items;
    size_t count, capacity;
};

/* 0 or -ENOMEM. */
int export_text_add(struct export_text *text, const char *bytes, size_t length);

/* "queue", or "domain: queue", replacing the label's contents. 0 or -ENOMEM. */
int export_counter_label(const struct trace *trace, const struct event *event,
                         struct export_text *label);

/* Time of a process's annot_abort_note; if unknown, of its end. */
int64_t export_note_time_ns(const struct trace *trace, uint32_t process);

/* All losses of a process. */
uint64_t export_process_lost(const struct trace_process *process);

#endif
