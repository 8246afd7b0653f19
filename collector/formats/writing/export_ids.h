/* SPDX-License-Identifier: MIT */
/* Process and thread numbers for formats that know nothing better.
 *
 * A pid names no process: it is used again, and namespaces repeat it; so does a tid. Viewers take
 * equal numbers for the same thing and would draw one over the other. So each number here is
 * unique in the recording: the real one where it is free (processes first, then threads, by
 * order), else one from EXPORT_SYNTHETIC_ID on, and the label tells the real one. A thread whose
 * tid was used before in its process gets a track of its own in the same way. The main thread has
 * its process's number, as on Linux. Thread-safety: constant after init, but for next_synthetic. */
#ifndef ANNOT_EXPORT_IDS_H
#define ANNOT_EXPORT_IDS_H

#include "trace.h"

enum { EXPORT_SYNTHETIC_ID = 10000000 }; /* Linux pids end at 4,194,304 */

/* What events without a name are called. */
#define EXPORT_UNNAMED "(unnamed)"

struct export_ids {
    uint32_t *order;        /* processes as people want to see them */
    uint32_t *process_rank; /* of process: its place in `order` */
    uint32_t *thread_rank;  /* of thread: place among those of its process; the main thread is 0 */
    uint32_t *pids, *tids;  /* of process, of thread */
    uint32_t process_count, thread_count;
    uint32_t next_synthetic;
};

/* 0 or -ENOMEM; then call fini all the same. */
int export_ids_init(struct export_ids *ids, const struct trace *trace);
void export_ids_fini(struct export_ids *ids);

/* What a viewer should say beside a process's name: how it ended, numbers that were replaced,
 * losses. Note `index` as text, or 0 if there are no more. Returns the length. */
enum { EXPORT_NOTE_SIZE = 128 };

size_t export_process_note(const struct export_ids *ids, const struct trace *trace,
                           uint32_t process, unsigned index, char *buffer);

/* The label of a thread, with its real tid if another number stands for it. */
enum { EXPORT_LABEL_SIZE = 1200 };

size_t export_thread_label(const struct export_ids *ids, const struct trace *trace, uint32_t thread,
                           char *buffer);

/* The same for rows of a thread, which have their names behind it: "Thread-1" of "Thread-1 (work)",
 * the name that Python gives a thread. */
size_t export_row_label(const struct export_ids *ids, const struct trace *trace, uint32_t thread,
                        char *buffer);

/* "lost 12: buffer full" */
size_t export_lost_label(const struct event *event, char *buffer);

/* A text of any length, made of pieces; NUL stands behind it. */
struct export_text {
    char *items;
    size_t count, capacity;
};

/* 0 or -ENOMEM. */
int export_text_add(struct export_text *text, const char *bytes, size_t length);

/* "queue", or "domain: queue", in place of what the label was. 0 or -ENOMEM. */
int export_counter_label(const struct trace *trace, const struct event *event,
                         struct export_text *label);

/* When a process said its last word; if that is not known, when it ended. */
int64_t export_note_time_ns(const struct trace *trace, uint32_t process);

/* All losses of a process. */
uint64_t export_process_lost(const struct trace_process *process);

#endif
