/* SPDX-License-Identifier: MIT */
/* The reporter of an event, for code that watches a program on its behalf. Not part of annot.h:
 * pyannot and the injection library call it; other tools may.
 *
 * An event of such a domain or category states its meaning in numbers, so that reports need not
 * guess it from texts. Filters and outputs use the names that are given here. Numbers are
 * append-only. Threads, signal handlers, forks: as annot.h. */
#ifndef ANNOT_OBSERVERS_H
#define ANNOT_OBSERVERS_H

#include <annot/annot.h>

#ifdef __cplusplus
extern "C" {
#endif

enum annot_observer {
    ANNOT_OBSERVER_PROGRAM = 0,  /* the program's own events */
    ANNOT_OBSERVER_SELFTEST = 1, /* marks that prove that events arrive */
    ANNOT_OBSERVER_NATIVE_CALLS = 2,
    ANNOT_OBSERVER_PYTHON_CALLS = 3,
    ANNOT_OBSERVER_GC = 4,     /* garbage collections */
    ANNOT_OBSERVER_IMPORT = 5, /* imports of modules; see ANNOT_IMPORT_PREFIX */
    ANNOT_OBSERVER_POOL = 6,
    ANNOT_OBSERVER_ASYNCIO = 7,
    ANNOT_OBSERVER_SUBPROCESS = 8,
    ANNOT_OBSERVER_LOG = 9,
    ANNOT_OBSERVER_PROBE = 10,
    ANNOT_OBSERVER_NVTX = 11,
    ANNOT_OBSERVER_ITT = 12,
    ANNOT_OBSERVER_CUPTI = 13,
    ANNOT_OBSERVER_IMPORTER = 14,
    ANNOT_OBSERVER_INHERITED =
        15, /* around the work of a thread: the range that was open where the work was submitted,
               opened again with that range's name and domain. It leads to the ranges inside of it
               and is not counted. */
};

/* Each observer defines its own roles; 0: unspecified. */
enum annot_pool_role {
    ANNOT_POOL_SUBMIT = 1, /* handed over to the pool, in the parent */
    ANNOT_POOL_SEND = 2,
    ANNOT_POOL_UNPICKLE = 3,
    ANNOT_POOL_RUN = 4,
    ANNOT_POOL_FETCH = 5,
    ANNOT_POOL_START_UP = 6, /* of a process, in itself */
    ANNOT_POOL_START = 7,    /* of a process, in its parent */
    ANNOT_POOL_INITIALIZER = 8,
    ANNOT_POOL_COUNT = 9,   /* counters of tasks and workers */
    ANNOT_POOL_MADE = 10,   /* a mark: a pool was made, with ANNOT_POOL_KEY_... as key-values */
    ANNOT_POOL_WORKER = 11, /* a mark on a worker's thread: it belongs to the pool */
    ANNOT_POOL_CALL = 12,   /* a call that submits several tasks, in the parent */
};

/* Texts that readers of recordings look for, only in events of that observer or inside of them. */
#define ANNOT_IMPORT_PREFIX  "import "          /* a range's name: this and the module */
#define ANNOT_POOL_FLOW      "task"             /* a flow from submission to result */
#define ANNOT_POOL_KEY_BYTES "bytes"            /* key-values: size of the pickled data */
#define ANNOT_POOL_KEY_CHUNK "chunk"            /* items of a task */
#define ANNOT_POOL_KEY_SINCE "submitted_ns_ago" /* age of the job, of a SUBMIT or SEND */
/* Attributes of a pool: its number, unique in the recording (MADE, WORKER, CALL, and the SUBMIT of
 * a job of several tasks); of a CALL or such a SUBMIT its method, and the items of each task as
 * above; of MADE its name, class, size and start method. */
#define ANNOT_POOL_KEY_POOL    "pool"
#define ANNOT_POOL_KEY_METHOD  "method"
#define ANNOT_POOL_KEY_NAME    "name"
#define ANNOT_POOL_KEY_KIND    "kind"
#define ANNOT_POOL_KEY_SIZE    "workers"
#define ANNOT_POOL_KEY_STARTED "start_method" /* "threads", "fork", "spawn", ... */

enum annot_asyncio_role {
    ANNOT_ASYNCIO_TASK = 1,
    ANNOT_ASYNCIO_BLOCKED = 2, /* a mark: a turn of the event loop that took long, or still runs */
    ANNOT_ASYNCIO_AWAITED = 3, /* a mark on a task's track, when it resumes: it was suspended */
};

#define ANNOT_ASYNCIO_KEY_MS "ms" /* key-value of BLOCKED and AWAITED: the duration, a double */
/* The place where the task of an AWAITED was suspended: the innermost of its coroutines in the
 * user's own code, else the innermost of all, by its qualified name, its file in the code object's
 * spelling, and the line of the await, an int64; and the awaited object: the innermost coroutine of
 * a library, by its qualified name, "Queue.get", or the type of an object, "Future". */
#define ANNOT_ASYNCIO_KEY_AWAITS   "awaits"
#define ANNOT_ASYNCIO_KEY_FUNCTION "function"
#define ANNOT_ASYNCIO_KEY_FILE     "file"
#define ANNOT_ASYNCIO_KEY_LINE     "line"

enum annot_subprocess_role {
    ANNOT_SUBPROCESS_START = 1,
    ANNOT_SUBPROCESS_RUN = 2,
    ANNOT_SUBPROCESS_END = 3,
};

enum annot_calls_role {
    ANNOT_CALLS_ESTIMATED = 1, /* a mark, named by a function: its calls were measured so far, their
                                  number is its value; from here only samples show it */
    ANNOT_CALLS_WHOLE = 2,     /* a range on a track below that of a task: a call of a coroutine,
                                  from begin to end; not counted as another call */
    ANNOT_CALLS_AWAITING = 3,  /* inside of those: the task is suspended */
    ANNOT_CALLS_STOPPED = 4,   /* a mark: the process traces no calls from here on; those that other
                                  threads have open end here */
};

#define ANNOT_PROCESS_NOTE_MAX 240

/* An open range. `domain` and `category` are those of its event, if still known: for the outermost
 * 32, and for ranges shown by a track the domain only. */
struct annot_open_range {
    annot_name name;
    annot_domain domain;
    annot_category category;
    uint32_t is_shown; /* by annot_track_show */
};

/* Returns a domain, or a category of one, for events reported by an observer; "" is the default
 * domain. The same arguments give the same value, which differs from that of annot_domain_create
 * and annot_category_create. Returns 0 if ids or names are used up. Cost: as annot_name_intern. */
#ifndef ANNOT_DISABLE
ANNOT_API annot_domain annot_domain_observed(const char *name, uint16_t observer, uint16_t role);
ANNOT_API annot_category annot_category_observed(annot_domain domain, const char *name,
                                                 uint16_t observer, uint16_t role);

/* Copies the calling thread's open ranges, outermost first, at most `count`, for code that
 * continues its work on another thread. Returns their number; 0 without a recording. Ranges that a
 * parent had open when it forked are not included. Cost: 0.3 P, and 0.1 P for each. */
ANNOT_API uint32_t annot_open_ranges(struct annot_open_range *ranges, uint32_t count);

/* Copies the text of a name, cut to `size` - 1 bytes. Returns the length of the whole text; 0, and
 * "", for an unknown name. Cost: a copy. */
ANNOT_API size_t annot_name_text(annot_name name, char *text, size_t size);

/* A range of the calling thread, and an instant, with only a name and a domain: the most frequent
 * events of observers. `name` wins; if it is 0, `text` names it. Cost: a range with its pop 1.1 P
 * by name, 1.3 P by a text that the thread's cache holds. */
ANNOT_EMIT void annot_emit_push_in(annot_domain domain, annot_name name, const char *text);
ANNOT_EMIT void annot_emit_mark_in(annot_domain domain, annot_name name, const char *text);

/* A pop of an observer that has no ranges open on this thread. It closes no range, because the open
 * ones belong to others, and is counted as a pop without a push. Cost: 1 P. */
ANNOT_API void annot_emit_pop_empty(void);

/* Adds a sentence about this process for readers of a recording: annot info shows it. It is stored
 * and written to each recording that the process joins; eight per process, at most
 * ANNOT_PROCESS_NOTE_MAX bytes each. Not in signal handlers. Cost: files are opened and written. */
ANNOT_API void annot_process_note(const char *text);
#endif

#ifdef __cplusplus
}
#endif

#endif
