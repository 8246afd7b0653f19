/* SPDX-License-Identifier: MIT */
/* Facts about the whole recording, for every export: its origin, losses and their causes, processes
 * that could not take part. Thread-safety: reads the trace only. */
#ifndef ANNOT_EXPORT_FACTS_H
#define ANNOT_EXPORT_FACTS_H

#include "export_ids.h"
#include "pass.h"
#include "shelves.h"
#include "trace.h"

struct export_job;

struct fact {
    const char *name; /* "lost: buffer full" */
    enum value_kind kind;
    union value value;
    const char *text; /* VALUE_STRING: the text itself */
};

typedef void fact_visitor(void *context, const struct fact *fact);

/* In a fixed order; unknown and zero facts are left out. A fact is valid during its call. */
void session_facts(const struct trace *trace, fact_visitor *visit, void *context);
/* Only the facts needed to judge the numbers. */
void session_brief(const struct trace *trace, fact_visitor *visit, void *context);

/* Title of the recording: the command it recorded, else its host. Never empty. */
const char *session_title(const struct trace *trace);

/* The end of the session; of the last event if the collector died before. CLOCK_MONOTONIC. */
int64_t session_end_ns(const struct trace *trace);

/* ---- Of one item ----------------------------------------------------------------------------- */

/* Facts of an item besides its times and attributes: of the end of a range, and of an event of a
 * track: its track if several share a group, and the thread that emitted it. Thread-safety: no
 * state. */

/* The time of its end is unknown. */
enum { ITEM_LACKS_END = ITEM_UNFINISHED | ITEM_END_LOST };

/* A fact without a name ends the list. */
struct end_facts {
    struct fact items[4];
};

void end_facts_init(struct end_facts *facts, const struct export_ids *ids, const struct item *item);

/* The export's number of a thread; 0 if the recording does not define it. */
struct fact tid_fact(const struct export_ids *ids, const char *name, uint32_t thread);

/* A fact without a name ends the list. Points into itself. */
struct track_facts {
    struct fact items[7];
    char id[24], parent_id[24];
};

void track_facts_init(struct track_facts *facts, const struct track_groups *groups,
                      const struct export_ids *ids, const struct event *event, uint32_t depth);

/* ---- Key-values ----------------------------------------------------------------------------- */

/* Key-values of events as arguments of viewers: their names, and log messages.
 *
 * Viewers keep one argument of a name: a second one silently replaces the first. So a key that is
 * repeated in an event, or that equals the name of one of annot's arguments, gets a number after
 * it, and an empty key gets a text. Thread-safety: one thread per object. */

struct export_key {
    const char *text; /* never empty */
    size_t length;
    uint32_t number; /* 2, 3, ...: to be shown as "KEY (2)"; else 0 */
};

struct export_key_use {
    uint32_t event;  /* the last event with it */
    uint16_t number; /* number of its uses in that event */
    uint8_t state;   /* 0 unchecked, 1 usual, 2 an argument of annot */
};

struct export_keys {
    const struct trace *trace;
    struct export_key_use *uses; /* by string */
    uint32_t count;
    uint32_t event;
    bool plain;                /* the event has no arguments of annot */
    const char *const *others; /* arguments of this format only; ended by NULL; or NULL */
};

/* 0 or -ENOMEM. */
int export_keys_init(struct export_keys *keys, const struct trace *trace);
void export_keys_fini(struct export_keys *keys);

/* Starts another event; then its keys one after the other. */
void export_keys_restart(struct export_keys *keys);
struct export_key export_keys_next(struct export_keys *keys, uint32_t key);

/* " (2)", or an empty text. Returns the length. */
enum { EXPORT_KEY_NUMBER_SIZE = 16 };

size_t export_key_number(const struct export_key *key, char *buffer);

/* An event of OBSERVER_LOG is a message of a log, its role 1 + a severity of annot.h. */
enum export_severity {
    EXPORT_SEVERITY_DEBUG = 0,
    EXPORT_SEVERITY_INFO = 1,
    EXPORT_SEVERITY_WARNING = 2,
    EXPORT_SEVERITY_ERROR = 3,
    EXPORT_SEVERITY_FATAL = 4,
    EXPORT_SEVERITY_NONE = 5, /* not a message */
};

/* The additional category of messages. */
#define EXPORT_LOG_CATEGORY "log"

/* The category of calls of Python functions. */
#define EXPORT_CALL_CATEGORY "python calls"

enum export_severity export_severity(const struct trace *trace, uint32_t scope);

/* The name of the recorded program, unless set by an option: its main process, else the command. A
 * copy to be freed; NULL: out of memory. */
char *export_service(const struct export_job *job);

#endif
