/* SPDX-License-Identifier: MIT */
/* Key-values of events as arguments of viewers: what they are called, and what logs are.
 *
 * Viewers keep one argument of a name: a second one replaces the first without a word. So a key
 * that comes again in the same event, or that is the name of an argument of ours, gets a number
 * behind it, and a key without a text gets one. Thread-safety: none. */
#ifndef ANNOT_EXPORT_VALUES_H
#define ANNOT_EXPORT_VALUES_H

#include "pass.h"

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
    bool plain; /* there are no arguments of ours beside them */
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

/* A mark with a key-value "severity" is a message of a log. The numbers are those of annot.h. */
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

enum export_severity export_severity(const struct trace *trace, const struct args *values);

#endif
