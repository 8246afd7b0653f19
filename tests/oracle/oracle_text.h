/* SPDX-License-Identifier: MIT */
/* The text of the oracle's corpus: the fields of each line, and how to write and read them.
 *
 * README.md beside this file is the grammar. Lines name fields, never positions; absent fields
 * are 0. One thread. */
#ifndef ANNOT_ORACLE_TEXT_H
#define ANNOT_ORACLE_TEXT_H

#include "sample.h"
#include "stacks.h"
#include "trace.h"

#include <stdio.h>

enum { ORACLE_TEXT_VERSION = 1 };

enum field_type {
    FIELD_U8,
    FIELD_U16,
    FIELD_BOOL,
    FIELD_I32,
    FIELD_U32,
    FIELD_I64,
    FIELD_U64,
    FIELD_SINCE, /* an int64_t time, relative to the session's begin_ns; 0 stays 0 */
    FIELD_STRING,
    FIELD_FRAME,
    FIELD_STACK,
    FIELD_PATH,
    FIELD_SCOPE,  /* its scope_fields in the text */
    FIELD_COUNTS, /* an array of uint64_t */
};

/* A sample with its line's fields in place of values; samples of own sets have `values`. */
struct sample_line {
    struct sample sample;
    uint64_t weight_ns; /* cpu */
    int64_t wake_ns;    /* off_cpu; 0: not woken */
};

/* A frame with the string numbers of its label and module. */
struct frame_line {
    uint32_t function, file, module;
    int32_t line, first_line;
    uint64_t address;
};

struct text_field {
    const char *name; /* NULL after the last */
    size_t offset;
    enum field_type type;
    unsigned count; /* FIELD_COUNTS */
};

#define SET_WORD "set" /* in place of a sample's word: sample of the recording's own set */

extern const struct text_field session_fields[], process_fields[], thread_fields[], track_fields[],
    unit_fields[], refusal_fields[], filter_fields[], sampling_fields[], fact_fields[],
    frame_fields[], stack_fields[], path_fields[], event_fields[], scope_fields[], sample_fields[],
    type_fields[], set_fields[];

/* Words by number; NULL for unused numbers. */
#define PAYLOAD_WORD "payload" /* a key-value of the event before it */

extern const char *const event_words[EVENT_KINDS];
extern const char *const value_words[VALUE_STRING + 1];
extern const char *const sample_words[SAMPLE_SET_OFF_CPU + 1];
extern const char *const frame_words[FRAME_NOTE + 1];
extern const char *const path_words[RANGE_PATH_UNRECORDED + 1];

/* Returns the number of a word, or -1. */
int word_number(const char *const *words, unsigned count, const char *word);

#define WORD_NUMBER(words, word) word_number(words, sizeof(words) / sizeof(*(words)), word)

/* Returns a field's value as a number; not for FIELD_COUNTS. */
uint64_t field_get(const struct text_field *field, const void *object);
void field_set(const struct text_field *field, void *object, uint64_t value);

#endif
