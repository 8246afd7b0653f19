/* SPDX-License-Identifier: MIT */
/* What a recording knows beside its events: strings, processes, threads, losses, the session.
 *
 * Built by the intake while recording and, equally, by the store's reader from a file. Ordinals
 * count from 0 in order of appearance and never change; entries only gain knowledge. String
 * ordinal 0 is the empty string. Each change of an entry raises its `revision`, by which the
 * store's writer knows what to write again.
 *
 * Thread-safety: none; one owner at a time. */
#ifndef ANNOT_MODEL_TRACE_H
#define ANNOT_MODEL_TRACE_H

#include "event.h"

#include <stdbool.h>

enum process_end {
    PROCESS_RUNNING = 0,        /* still running when the recording ended             */
    PROCESS_EXITED = 1,         /* end_value = exit status                            */
    PROCESS_SIGNALED = 2,       /* end_value = signal                                 */
    PROCESS_EXITED_ORDERLY = 3, /* ran its exit handlers; the status is not known  */
    PROCESS_VANISHED = 4,       /* ended; killed or _exit, the status is not known    */
    PROCESS_EXEC = 5,           /* replaced itself by another program                 */
};

/* Calls that by contract do nothing; numbers of the wire. */
enum misuse {
    MISUSE_POP_EMPTY = 0,
    MISUSE_END_FOREIGN = 1,
    MISUSE_NAME_CUT = 2,
    MISUSE_NAME_INLINE = 3,
    MISUSE_COUNT = 4,
};

struct trace_string {
    const char *bytes; /* UTF-8, NUL-terminated, owned by the trace; no NUL inside */
    uint32_t length;
};

struct trace_process {
    uint32_t revision;
    int32_t pid, ppid;        /* as the collector sees them; ppid 0 = unknown */
    int32_t ns_pid;           /* as the process sees itself */
    uint64_t pid_ns;          /* inode of its pid namespace */
    uint64_t identity;        /* unique in the recording */
    int32_t parent;           /* ordinal of the recorded parent, -1 = none or unknown */
    bool forked;              /* from `parent`, without exec */
    int64_t start_ns, end_ns; /* CLOCK_MONOTONIC; 0 = unknown */
    int64_t fork_ns;          /* 0 = not forked or unknown */
    uint8_t end;              /* enum process_end */
    int32_t end_value;
    uint32_t uid;
    uint32_t name;    /* string: annot_name_process, 0 = none */
    uint32_t comm;    /* string: the kernel's short name */
    uint32_t cmdline; /* string: arguments joined by blanks, quoted where needed */
    uint32_t runtime_version;
    uint64_t lost[LOSS_COUNT]; /* all threads of the process together */
    uint64_t misuse[MISUSE_COUNT];
    uint64_t peak_bytes;  /* most shared memory held at once */
    uint64_t event_count; /* records in the recording */
};

struct trace_thread {
    uint32_t revision;
    uint32_t process; /* ordinal */
    uint32_t serial;  /* registration number in its process: 1 is the first to emit */
    int32_t tid;      /* as the process sees it */
    uint32_t name;    /* string: annot_name_thread, 0 = none */
    uint32_t comm;    /* string */
    int64_t first_ns, last_ns;
    uint64_t event_count;
    uint64_t lost[LOSS_COUNT];
};

/* A process that wanted to take part and could not. */
struct trace_refusal {
    int32_t pid;
    uint32_t comm;   /* string */
    uint32_t reason; /* string, one line for humans */
};

/* Facts about the recording itself. Strings are ordinals; 0 = unknown. */
struct trace_session {
    uint32_t revision;
    uint64_t id, parent_id;
    uint32_t hostname, kernel, command, annot_version;
    uint32_t clock;            /* string: "tsc", "monotonic" */
    int64_t begin_ns, end_ns;  /* CLOCK_MONOTONIC; end 0 = not ended in order */
    int64_t begin_realtime_ns; /* CLOCK_REALTIME at begin_ns */
    int32_t command_status;    /* wait status of the command; -1 = unknown */
    bool recovered;            /* completed by `annot recover` after the collector had died */
    uint64_t peak_bytes;       /* most shared memory held by all segments at once */
    uint32_t nested;           /* string: recordings of sessions inside this one, by newline */
};

struct trace; /* holds all of the above */

/* NULL: out of memory. destroy accepts NULL. */
struct trace *trace_create(void);
void trace_destroy(struct trace *trace);

/* The ordinal of a text, added if new. Bytes are made valid UTF-8 (U+FFFD for what is not, and for
 * NUL). Returns 0 for length 0; -ENOMEM as a negative number. Ordinals fit 31 bits. */
int64_t trace_string_add(struct trace *trace, const char *bytes, size_t length);

/* Always a new ordinal, even for a text that is there: for readers, whose ordinals are given. */
int64_t trace_string_append(struct trace *trace, const char *bytes, size_t length);

/* Never NULL: an unknown ordinal gives "<unknown name N>". Valid until the trace is destroyed. */
const struct trace_string *trace_string(const struct trace *trace, uint32_t ordinal);
uint32_t trace_string_count(const struct trace *trace);

/* A new process or thread: returns its ordinal, or -ENOMEM. The entry is zero, parent -1,
 * revision 1. */
int64_t trace_process_add(struct trace *trace);
int64_t trace_thread_add(struct trace *trace, uint32_t process);
int64_t trace_refusal_add(struct trace *trace, const struct trace_refusal *refusal);

/* NULL for an ordinal that is not there. The pointer is valid until the next add of its kind. */
struct trace_process *trace_process(struct trace *trace, uint32_t ordinal);
struct trace_thread *trace_thread(struct trace *trace, uint32_t ordinal);
const struct trace_process *trace_process_get(const struct trace *trace, uint32_t ordinal);
const struct trace_thread *trace_thread_get(const struct trace *trace, uint32_t ordinal);
uint32_t trace_process_count(const struct trace *trace);
uint32_t trace_thread_count(const struct trace *trace);
uint32_t trace_refusal_count(const struct trace *trace);
const struct trace_refusal *trace_refusal_get(const struct trace *trace, uint32_t index);
struct trace_session *trace_session(struct trace *trace);
const struct trace_session *trace_session_get(const struct trace *trace);

/* What a human calls a process: its set name, else the base name of its program (for interpreters
 * the script: "python pipeline.py", "pipeline.py worker"), else comm, else "process PID". Writes at
 * most size bytes with NUL; returns the length. How it ended, as text: "exit 0", "SIGKILL", "still
 * running", ... */
size_t trace_process_label(const struct trace *trace, uint32_t process, char *buffer, size_t size);
size_t trace_process_end_label(const struct trace *trace, uint32_t process, char *buffer,
                               size_t size);
size_t trace_thread_label(const struct trace *trace, uint32_t thread, char *buffer, size_t size);

/* Processes in the order in which people want to see them: the main process first, then children
 * by start time, each followed by its own children. order[i] = ordinal; room for
 * trace_process_count() entries. 0 or -ENOMEM. */
int trace_process_order(const struct trace *trace, uint32_t *order);

/* The time that outputs call zero: the beginning of the session. */
int64_t trace_begin_ns(const struct trace *trace);

#endif
