/* SPDX-License-Identifier: MIT */
/* What every export tells about the recording as a whole: where and how it was made, what was
 * lost and why, which processes could not take part. Thread-safety: reads the trace only. */
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

/* In a fixed order; what is unknown or zero is left out. A fact is valid during its call. */
void session_facts(const struct trace *trace, fact_visitor *visit, void *context);
/* Of these, what a reader must know to trust the numbers. */
void session_brief(const struct trace *trace, fact_visitor *visit, void *context);

/* What people call the recording: the command it recorded, else its host. Never empty. */
const char *session_title(const struct trace *trace);

/* The end of the session; of the last event if the collector died before. CLOCK_MONOTONIC. */
int64_t session_end_ns(const struct trace *trace);

/* ---- Of one item ----------------------------------------------------------------------------- */

/* What exports tell of an item beside its times and attributes: of the end of a range, and of an
 * event of a track: which track it is where several share a group, and which thread emitted it.
 * Thread-safety: no state. */

/* Nobody knows when it ended. */
enum { ITEM_LACKS_END = ITEM_UNFINISHED | ITEM_END_LOST };

/* A fact without a name ends the list. */
struct end_facts {
    struct fact items[4];
};

void end_facts_init(struct end_facts *facts, const struct export_ids *ids, const struct item *item);

/* A thread by its number of the export; 0 if the recording does not define it. */
struct fact tid_fact(const struct export_ids *ids, const char *name, uint32_t thread);

/* A fact without a name ends the list. Points into itself. */
struct track_facts {
    struct fact items[7];
    char id[24], parent_id[24];
};

void track_facts_init(struct track_facts *facts, const struct track_groups *groups,
                      const struct export_ids *ids, const struct event *event, uint32_t depth);

/* ---- Key-values ----------------------------------------------------------------------------- */

/* Key-values of events as arguments of viewers: what they are called, and what logs are.
 *
 * Viewers keep one argument of a name: a second one replaces the first without a word. So a key
 * that comes again in the same event, or that is the name of an argument of ours, gets a number
 * behind it, and a key without a text gets one. Thread-safety: none. */

struct export_key {
    const char *text; /* never empty */
    size_t length;
    uint32_t number; /* 2, 3, ...: to be shown as "KEY (2)"; else 0 */
};

struct export_key_use {
    uint32_t event;  /* the last that had it */
    uint16_t number; /* how often, in that event */
    uint8_t state;   /* 0 not looked at, 1 usual, 2 one of ours */
};

struct export_keys {
    const struct trace *trace;
    struct export_key_use *uses; /* of string */
    uint32_t count;
    uint32_t event;
    bool plain;                /* there are no arguments of ours beside them */
    const char *const *others; /* arguments of this format alone; NULL ends them; NULL: none */
};

/* 0 or -ENOMEM. */
int export_keys_init(struct export_keys *keys, const struct trace *trace);
void export_keys_fini(struct export_keys *keys);

/* Another event; then its keys one after the other. */
void export_keys_restart(struct export_keys *keys);
struct export_key export_keys_next(struct export_keys *keys, uint32_t key);

/* " (2)", or nothing. Returns the length. */
enum { EXPORT_KEY_NUMBER_SIZE = 16 };

size_t export_key_number(const struct export_key *key, char *buffer);

/* What OBSERVER_LOG tells is a message of a log, its role 1 + a severity of annot.h. */
enum export_severity {
    EXPORT_SEVERITY_DEBUG = 0,
    EXPORT_SEVERITY_INFO = 1,
    EXPORT_SEVERITY_WARNING = 2,
    EXPORT_SEVERITY_ERROR = 3,
    EXPORT_SEVERITY_FATAL = 4,
    EXPORT_SEVERITY_NONE = 5, /* no message */
};

/* The category that messages have beside their own. */
#define EXPORT_LOG_CATEGORY "log"

/* That of calls of functions of Python. */
#define EXPORT_CALL_CATEGORY "python calls"

enum export_severity export_severity(const struct trace *trace, uint32_t scope);

/* What the recorded program is called, if nobody says how: its main process, else the command. A
 * copy to be freed; NULL: out of memory. */
char *export_service(const struct export_job *job);

#endif
