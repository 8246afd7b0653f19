/* SPDX-License-Identifier: MIT */
/* What the files of the ITT part tell each other.
 *
 * Everything here is called from programs, by pointers that they test first: in any thread, in
 * children after a fork, while nobody records (then after one load nothing is done, but for names
 * and the values of counters). No memory comes from malloc, which a program may have annotated. */
#ifndef ANNOT_ITT_PARTS_H
#define ANNOT_ITT_PARTS_H

#include "itt_wire.h"

#include <annot/annot.h>
#include <annot/observers.h>
#include <annot_barrier.h>

#define ITT_RARELY(condition) __builtin_expect(!!(condition), 0)

/* ---- Functions that images get: a table per file, ended by NULL --------------------------------
 */

struct itt_entry {
    const char *name; /* without "__itt_" */
    void *function;
};

extern const struct itt_entry itt_entries_names[], itt_entries_tasks[], itt_entries_spans[],
    itt_entries_marks[], itt_entries_counters[], itt_entries_metadata[], itt_entries_sync[],
    itt_entries_control[];

/* ---- The tool that was set before: itt_next.c --------------------------------------------------
 */

/* Once in a process; `find` gives annot's own functions by name. */
void itt_next_load(const struct itt_global *image, void *(*find)(const char *name));
/* A function that calls annot's and the next tool's; NULL: annot's own is to be called. */
void *itt_next_function(const char *name);

/* ---- Names: itt_names.c ------------------------------------------------------------------------
 */

/* In extra1 of a domain, beside its number: 0 may be one, too. */
enum { ITT_KNOWN = 1 << 16 };

/* NULL is the default domain. */
annot_domain itt_domain_find(struct itt_domain *domain);
annot_domain itt_domain_of(const char *name);
annot_name itt_name_find(struct itt_string *string);

static inline annot_domain itt_domain_number(const struct itt_domain *domain)
{
    int known = domain ? annot_load_relaxed(&domain->extra1) : 0;
    return known ? (annot_domain)known : itt_domain_find((struct itt_domain *)domain);
}

static inline annot_name itt_name(const struct itt_string *string)
{
    annot_name name = string ? (annot_name)annot_load_relaxed(&string->extra1) : 0;
    return name ? name : itt_name_find((struct itt_string *)string);
}

/* What is in an image's lists when it is initialised becomes known. */
void itt_names_adopt(struct itt_global *image);
void itt_counters_adopt(struct itt_counter_info *list); /* itt_counters.c */
/* A number of an enum itt_type as a value without a key. 0: there is no such type, or no number. */
int itt_number(int type, const void *at, struct annot_value *ret_value);

/* An event of a domain. A name that found no room in the table goes as a text. */
static inline struct annot_event itt_event(const struct itt_domain *domain,
                                           const struct itt_string *name)
{
    struct annot_event event = {.name = itt_name(name), .domain = itt_domain_number(domain)};
    if (ITT_RARELY(event.name == 0))
        event.text = name ? name->text : "(null)";
    return event;
}

/* ---- Memory that is never given back: itt_memory.c ---------------------------------------------
 */

/* Zeroed and aligned for anything; NULL: there is none. */
void *itt_memory_take(size_t size);
char *itt_memory_copy(const char *text, size_t length_max);

/* One lock for what happens rarely: names, counters, pauses. Not in signal handlers that interrupt
 * it: then 0 is returned, and nothing is to be done. */
int itt_lock(void);
void itt_unlock(void);
void itt_memory_before_fork(void);
void itt_memory_after_fork(int is_child);

/* ---- Key-values that wait for the end of what they belong to: itt_values.c ---------------------
 */

enum { ITT_VALUES_MAX = 16, ITT_TEXT_SIZE = 1200 };

struct itt_values {
    struct itt_values *next; /* of those that nobody uses */
    uint32_t count, text_size;
    uint32_t depths[ITT_VALUES_MAX]; /* of nested tasks: how many were open, with its own */
    struct annot_value values[ITT_VALUES_MAX];
    char text[ITT_TEXT_SIZE];
};

struct itt_values *itt_values_take(void); /* NULL: no memory */
void itt_values_give(struct itt_values *values);

/* A value with its text copied; 0: there is no room. */
int itt_values_add(struct itt_values *values, const struct annot_value *value, uint32_t depth);

/* ---- What is open: itt_open.c ------------------------------------------------------------------
 */

enum itt_kind {
    ITT_TASK = 1,    /* overlapped; by id */
    ITT_REGION = 2,  /* by id */
    ITT_FRAME = 3,   /* by domain and id, or domain and thread */
    ITT_EVENT = 4,   /* by event and thread */
    ITT_KEPT = 16,   /* those from here on are no ranges, and a forked child keeps them */
    ITT_ARROW = 17,  /* of an id: a flow */
    ITT_OBJECT = 18, /* of an address: the name of a synchronization object */
    ITT_CODE = 19,   /* of an address: the name of a function */
    ITT_OTHER = 20,  /* of an address: what the next tool has for it */
};

struct itt_key {
    uint64_t kind, scope; /* `scope`: a domain, a thread, or 0 */
    struct itt_id id;
};

struct itt_open {
    struct itt_open *next;
    struct itt_key key;
    uint64_t number; /* a range, a flow or a name */
    uint64_t thread; /* ITT_ARROW: where the task of that id began; 0: it has not */
    struct itt_values *values;
};

/* How many ranges are open, for who needs not look otherwise. */
uint32_t itt_open_count(void);
/* Puts it there. Returns 0 if it is there already, or there is no memory. */
int itt_open_put(const struct itt_key *key, uint64_t number);
/* Beside what may be there already, which itt_open_take finds later. */
int itt_open_add(const struct itt_key *key, uint64_t number);
/* Takes the newest out; 0: there is none. The values belong to the caller. */
int itt_open_take(const struct itt_key *key, struct itt_open *ret_open);
/* Looks it up; 0: there is none. The copy has no values. */
int itt_open_find(const struct itt_key *key, struct itt_open *ret_open);
/* Sets number and thread, of a new one if need be. */
void itt_open_set(const struct itt_key *key, uint64_t number, uint64_t thread);
/* Adds a value to what is open. 0: it is not, or has no room. */
int itt_open_value(const struct itt_key *key, const struct annot_value *value);

/* ---- The calling thread: itt_thread.c ----------------------------------------------------------
 */

enum { ITT_DEPTH_MAX = 4096, ITT_WAITS_MAX = 8 };

/* What few threads need: who has begun tasks while paused, added metadata, or waits. */
struct itt_thread {
    struct itt_thread *next;              /* of those that nobody uses */
    uint64_t generation;                  /* of the gate, when it was looked at last */
    uint64_t recording;                   /* what is below holds in it */
    uint64_t skipped[ITT_DEPTH_MAX / 64]; /* by depth: begun while paused, and not recorded */
    uint32_t wait_count;
    const void *waits[ITT_WAITS_MAX]; /* objects that the thread waits for, innermost last */
    struct itt_values *values;        /* of open tasks, or NULL */
};

/* How many tasks of ITT the thread has open, as far as they were seen to begin. */
extern __thread uint32_t itt_depth __attribute__((tls_model("initial-exec")));
/* The gate when it was counted: another recording begins with none. */
extern __thread uint64_t itt_depth_generation __attribute__((tls_model("initial-exec")));
void itt_depth_begin(void);

static inline void itt_depth_check(void)
{
    if (ITT_RARELY(itt_depth_generation != annot_gate_v1.generation))
        itt_depth_begin();
}

extern __thread struct itt_thread *itt_self __attribute__((tls_model("initial-exec")));

/* itt_self, made if need be, of this recording; NULL: no memory. */
struct itt_thread *itt_thread_own(void);
/* A number that no other living thread of the process has. */
uint64_t itt_thread_number(void);

/* A nested range of the calling thread, with what was added while it was open. */
void itt_push(const struct annot_event *event);
void itt_pop(void);
void itt_pop_value(const struct annot_value *value);

/* ---- Between __itt_pause and __itt_resume: itt_control.c ---------------------------------------
 */

extern int itt_is_paused; /* W: under the lock */

/* Shows the pause in a recording that began during it: what is not recorded is said so. */
void itt_tell_pause(void);
/* In a forked child: the pause goes on, and is no range of this process yet. */
void itt_pause_after_fork(void);

static inline int itt_is_wanted(void)
{
    if (!ITT_RARELY(annot_enabled()))
        return 0;
    if (!ITT_RARELY(annot_load_relaxed(&itt_is_paused)))
        return 1;
    itt_tell_pause();
    return 0;
}

#endif
