/* SPDX-License-Identifier: MIT */
/* annot: mark up a program's work, so that a recording can show where its time goes.
 *
 *     annot_push("load");            ranges: nested, per thread
 *     annot_mark("cache miss");      one instant
 *     annot_counter("queue", 3.0);   a value over time
 *     annot_pop();
 *
 * Without a recording, each call is one load and one test. While `annot record` runs, an event is a
 * time stamp and a few stores into shared memory: no lock, no allocation, no system call once the
 * thread has its block. No function here blocks, prints, aborts, or changes errno or a signal mask.
 *
 * Threads: every function may be called from any thread, from signal handlers, constructors,
 *   atexit handlers, and in a child after fork. An event in a signal handler that interrupts an
 *   event of the same thread may be dropped; it is counted.
 * Stack: the first event of a process or of a forked child takes at most 2 KiB, that of a thread
 *   1 KiB, any other call 512 bytes, where symbols are bound at load (-z now): a call that the
 *   dynamic linker looks up takes up to 3 KiB more. The _format calls add the stack of the C
 *   library's printf.
 * Sandboxes: a thread makes system calls at its first event and occasionally when it needs more
 *   room; a refused system call costs events, which are counted. Under SECCOMP_MODE_STRICT the
 *   kernel kills the thread instead, and the mode cannot be detected without a system call: emit
 *   no events in a thread that is in that mode.
 * Strings: UTF-8, copied before the call returns; the caller keeps ownership. Names longer than
 *   1,024 bytes are cut at a character. NULL is shown as "(null)".
 * Cost: given for each function while recording, in units of P, the cost of a plain range pair by
 *   macro (about 20 ns on an AMD EPYC; on an Intel Xeon, 4 to 5 ns more than reading its time
 *   stamp counter twice).
 *
 * C99 and later, C++11 and later. */
#ifndef ANNOT_ANNOT_H
#define ANNOT_ANNOT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ANNOT_VERSION_MAJOR 0
#define ANNOT_VERSION_MINOR 1
#define ANNOT_VERSION_PATCH 0

/* With ANNOT_DISABLE defined before this header (-DANNOT_DISABLE), everything below is an empty
 * inline function: no code, no symbol, no library. Macros evaluate only the arguments that they
 * also evaluate without a recording. The last lines include the empty functions. */
#if defined(ANNOT_DISABLE)
#define ANNOT_API static inline
#elif defined(__GNUC__)
#define ANNOT_API __attribute__((visibility("default")))
#else
#define ANNOT_API
#endif
/* Functions that emit events are called without a PLT stub: the call loads the address that the
 * dynamic linker stored at load. Static programs call them directly. */
#if defined(__GNUC__) && defined(__has_attribute) && !defined(ANNOT_DISABLE)
#if __has_attribute(noplt)
#define ANNOT_EMIT ANNOT_API __attribute__((noplt))
#endif
#endif
#ifndef ANNOT_EMIT
#define ANNOT_EMIT ANNOT_API
#endif
/* Excludes annot's inline functions from the ranges of -finstrument-functions. */
#if defined(__GNUC__)
#define ANNOT_UNTRACED          __attribute__((no_instrument_function))
#define ANNOT_UNLIKELY(x)       __builtin_expect(!!(x), 0)
#define ANNOT_PRINTF(at, first) __attribute__((format(printf, at, first)))
#else
#define ANNOT_UNTRACED
#define ANNOT_UNLIKELY(x) (x)
#define ANNOT_PRINTF(at, first)
#endif

/* ---- Is anybody recording? ------------------------------------------------------------------- */

/* The gate: nonzero while a recording runs on this directory. Read it through annot_enabled(). The
 * rest of its page belongs to libannot. */
#if defined(__x86_64__) || defined(__i386__)
#define ANNOT_GATE_SIZE 4096 /* the largest page of the machine */
#else
#define ANNOT_GATE_SIZE 65536
#endif
struct annot_gate {
    volatile uint64_t generation;
    unsigned char page[ANNOT_GATE_SIZE - sizeof(uint64_t)];
};
#ifndef ANNOT_DISABLE
extern ANNOT_API struct annot_gate annot_gate_v1;
#endif

/* Returns nonzero while events are recorded. Use it to skip preparing expensive payloads.
 * Cost: one load. */
ANNOT_UNTRACED static inline int annot_enabled(void)
{
#ifdef ANNOT_DISABLE
    return 0;
#else
    return annot_gate_v1.generation != 0;
#endif
}

/* Returns why this process does not record, as a short constant English text; "recording" or
 * "nobody records" if there is no error. Never NULL. For diagnosis: may take a system call. */
ANNOT_API const char *annot_status(void);

/* ---- Names ------------------------------------------------------------------------------------
 */

/* An interned name: valid for the life of this process and of children forked later. 0: no name. */
typedef uint32_t annot_name;
typedef uint16_t annot_domain;   /* 0: the default domain */
typedef uint16_t annot_category; /* 0: no category */
typedef uint16_t annot_schema;   /* 0: no schema */
typedef uint64_t annot_range;    /* 0: no range; unique over all processes of a recording */

/* Interns a name; the same text gives the same value. Callable at any time, also without a
 * recording. Returns 0 if the table of names is full: events must then pass the text itself.
 * Cost: a hash and a comparison of the whole text; about 1 P the first time. */
ANNOT_API annot_name annot_name_intern(const char *text);

/* A domain names the library or layer that events come from ("io", "mylib"). The same text gives
 * the same value; 0 if the 65,535 ids are used up. Cost: as annot_name_intern. */
ANNOT_API annot_domain annot_domain_create(const char *name);

/* A category within a domain, for filters and colours. */
ANNOT_API annot_category annot_category_create(annot_domain domain, const char *name);

/* Name this process, or the calling thread, in every output. The last call wins. A name set before
 * a recording is stored until it begins. */
ANNOT_API void annot_name_process(const char *name);
ANNOT_API void annot_name_thread(const char *name);

/* Names another thread of this process by its number (gettid); that thread need not emit events.
 * For code that starts threads. Recorded with the caller's events, and stored for recordings that
 * begin later. A name that a thread gave itself is kept. */
ANNOT_API void annot_name_thread_of(int tid, const char *name);

/* ---- The long form: everything an event can carry ---------------------------------------------
 */

enum annot_payload_kind {
    ANNOT_PAYLOAD_NONE = 0,
    ANNOT_PAYLOAD_INT64 = 1,
    ANNOT_PAYLOAD_UINT64 = 2,
    ANNOT_PAYLOAD_DOUBLE = 3,
    ANNOT_PAYLOAD_BOOL = 4,
    ANNOT_PAYLOAD_STRING = 5,
    ANNOT_PAYLOAD_STRUCT = 6 /* in struct annot_value only */
};

struct annot_value; /* values.h */

/* All zero is the default: no name, default domain, no category, level 0, the viewer's colour, no
 * payload. Either `text` or `name` names the event; `name` wins. Copied before the call returns. */
struct annot_event {
    const char *text;
    annot_name name;
    annot_domain domain;
    annot_category category;
    uint32_t color;       /* 0xAARRGGBB; 0 = none */
    uint8_t level;        /* 0 (always wanted) .. 7 (most detailed) */
    uint8_t payload_kind; /* enum annot_payload_kind */
    uint16_t reserved0;

    union {
        int64_t int64;
        uint64_t uint64;
        double float64;
        int boolean;
        const char *string;
    } payload;

    const struct annot_value
        *values; /* values.h; further key-values, as many as a record of 4 KiB holds */
    uint64_t value_count;
    uint64_t reserved;
};

/* ---- Events. Use the functions below this section: they test the gate first. -------------------
 */

ANNOT_EMIT void annot_emit_push(const char *text);
ANNOT_EMIT void annot_emit_push_name(annot_name name);
ANNOT_EMIT void annot_emit_push_event(const struct annot_event *event);
ANNOT_EMIT void annot_emit_pop(void);
ANNOT_EMIT annot_range annot_emit_start(const char *text);
ANNOT_EMIT annot_range annot_emit_start_event(const struct annot_event *event);
ANNOT_EMIT void annot_emit_end(annot_range range);
ANNOT_EMIT void annot_emit_mark(const char *text);
ANNOT_EMIT void annot_emit_mark_name(annot_name name);
ANNOT_EMIT void annot_emit_mark_event(const struct annot_event *event);
ANNOT_EMIT void annot_emit_counter(const char *text, double value);
ANNOT_EMIT void annot_emit_counter_name(annot_name name, double value);
ANNOT_EMIT void annot_emit_counter_int(annot_name name, int64_t value);
ANNOT_EMIT void annot_emit_counter_event(const struct annot_event *event);

/* ---- Ranges of a thread: nested -------------------------------------------------------------- */

/* Open a range on the calling thread. Cost, with its pop: 1 P by name; 1.1 to 1.2 P by text while
 * the thread's cache of 256 names holds it, else a hash and a look-up, about 3 P; 1.3 P with a
 * payload, domain, category or colour, and 0.25 P more for each key-value. */
ANNOT_UNTRACED static inline void annot_push(const char *text)
{
    if (ANNOT_UNLIKELY(annot_enabled()))
        annot_emit_push(text);
}

ANNOT_UNTRACED static inline void annot_push_name(annot_name name)
{
    if (ANNOT_UNLIKELY(annot_enabled()))
        annot_emit_push_name(name);
}

ANNOT_UNTRACED static inline void annot_push_event(const struct annot_event *event)
{
    if (ANNOT_UNLIKELY(annot_enabled()))
        annot_emit_push_event(event);
}

/* Close the calling thread's innermost range. Without an open range it has no effect (counted). */
ANNOT_UNTRACED static inline void annot_pop(void)
{
    if (ANNOT_UNLIKELY(annot_enabled()))
        annot_emit_pop();
}

/* ---- Ranges of a process: may overlap, and end on another thread -------------------------------
 */

/* Open a range that annot_end closes, from any thread of this process. Returns 0 without a
 * recording; annot_end(0) has no effect. */
ANNOT_UNTRACED static inline annot_range annot_start_event(const struct annot_event *event)
{
    return ANNOT_UNLIKELY(annot_enabled()) ? annot_emit_start_event(event) : 0;
}

ANNOT_UNTRACED static inline annot_range annot_start(const char *text)
{
    return ANNOT_UNLIKELY(annot_enabled()) ? annot_emit_start(text) : 0;
}

/* Close a range of this process. An id of another process has no effect (counted). */
ANNOT_UNTRACED static inline void annot_end(annot_range range)
{
    if (ANNOT_UNLIKELY(range != 0 && annot_enabled()))
        annot_emit_end(range);
}

/* ---- Marks and counters ------------------------------------------------------------------------
 */

/* One instant on the calling thread. Cost: 0.5 P by name. */
ANNOT_UNTRACED static inline void annot_mark(const char *text)
{
    if (ANNOT_UNLIKELY(annot_enabled()))
        annot_emit_mark(text);
}

ANNOT_UNTRACED static inline void annot_mark_event(const struct annot_event *event)
{
    if (ANNOT_UNLIKELY(annot_enabled()))
        annot_emit_mark_event(event);
}

/* Sets the value of a counter of this process from now on. A counter is identified by (process,
 * domain, name); any thread may set it. Cost: 0.5 P. */
ANNOT_UNTRACED static inline void annot_counter(const char *text, double value)
{
    if (ANNOT_UNLIKELY(annot_enabled()))
        annot_emit_counter(text, value);
}

/* The payload (int64, uint64, double or bool) is the value. Without one, `values` are several
 * series of one counter, as for annot_counters (values.h). */
ANNOT_UNTRACED static inline void annot_counter_event(const struct annot_event *event)
{
    if (ANNOT_UNLIKELY(annot_enabled()))
        annot_emit_counter_event(event);
}

/* ---- Macros: intern the name once at the call site ---------------------------------------------
 */

/* Returns the id of a literal name, interned at the first event of this call site. */
ANNOT_UNTRACED static inline annot_name annot_site_name(annot_name *site, const char *text)
{
    annot_name name = __atomic_load_n(site, __ATOMIC_RELAXED);
    if (ANNOT_UNLIKELY(name == 0)) {
        name = annot_name_intern(text);
        __atomic_store_n(site, name, __ATOMIC_RELAXED);
    }
    return name;
}

#define ANNOT_PUSH(text)                                                                           \
    do {                                                                                           \
        static annot_name annot_site;                                                              \
        if (ANNOT_UNLIKELY(annot_enabled())) {                                                     \
            annot_name annot_id_ = annot_site_name(&annot_site, (text));                           \
            if (annot_id_ != 0)                                                                    \
                annot_emit_push_name(annot_id_);                                                   \
            else                                                                                   \
                annot_emit_push(text);                                                             \
        }                                                                                          \
    } while (0)

#define ANNOT_POP() annot_pop()

#define ANNOT_MARK(text)                                                                           \
    do {                                                                                           \
        static annot_name annot_site;                                                              \
        if (ANNOT_UNLIKELY(annot_enabled())) {                                                     \
            annot_name annot_id_ = annot_site_name(&annot_site, (text));                           \
            if (annot_id_ != 0)                                                                    \
                annot_emit_mark_name(annot_id_);                                                   \
            else                                                                                   \
                annot_emit_mark(text);                                                             \
        }                                                                                          \
    } while (0)

#define ANNOT_COUNTER(text, value)                                                                 \
    do {                                                                                           \
        static annot_name annot_site;                                                              \
        if (ANNOT_UNLIKELY(annot_enabled())) {                                                     \
            annot_name annot_id_ = annot_site_name(&annot_site, (text));                           \
            if (annot_id_ != 0)                                                                    \
                annot_emit_counter_name(annot_id_, (double)(value));                               \
            else                                                                                   \
                annot_emit_counter((text), (double)(value));                                       \
        }                                                                                          \
    } while (0)

#if defined(__GNUC__)
#define ANNOT_JOIN2(a, b) a##b
#define ANNOT_JOIN(a, b)  ANNOT_JOIN2(a, b)

ANNOT_UNTRACED static inline int annot_scope_begin(annot_name *site, const char *text)
{
    annot_name name;
    if (!ANNOT_UNLIKELY(annot_enabled()))
        return 0;
    name = annot_site_name(site, text);
    if (name != 0)
        annot_emit_push_name(name);
    else
        annot_emit_push(text);
    return 1;
}

ANNOT_UNTRACED static inline void annot_scope_end(const int *open)
{
    if (ANNOT_UNLIKELY(*open))
        annot_emit_pop();
}

/* A range from here to the end of the block, however it is left (return, break, goto; C++
 * exceptions with -fexceptions). A range that was not opened is not closed. */
#define ANNOT_RANGE(text)                                                                          \
    static annot_name ANNOT_JOIN(annot_site_, __LINE__);                                           \
    __attribute__((cleanup(annot_scope_end), unused)) const int ANNOT_JOIN(                        \
        annot_open_, __LINE__) = annot_scope_begin(&ANNOT_JOIN(annot_site_, __LINE__), (text))

/* The same with the name of the enclosing function. */
#define ANNOT_FUNCTION() ANNOT_RANGE(__func__)
#endif

#ifdef __cplusplus
}
#endif

#include <annot/logs.h>
#include <annot/tracks.h>
#include <annot/values.h>
#ifdef ANNOT_DISABLE
#include <annot/disabled.h>
#endif

#endif
