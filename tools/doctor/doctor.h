/* SPDX-License-Identifier: MIT */
/* The findings of `annot doctor`: one list, printed as text or as JSON. Thread-safety: none. */
#ifndef ANNOT_DOCTOR_H
#define ANNOT_DOCTOR_H

#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

enum doctor_state {
    DOCTOR_GOOD = 0,
    DOCTOR_MISSING = 1, /* recording would benefit from it */
    DOCTOR_NOTE = 2,    /* optional */
};

enum doctor_group { DOCTOR_MACHINE = 0, DOCTOR_SAMPLING = 1, DOCTOR_PYTHON = 2, DOCTOR_GPU = 3 };

enum { DOCTOR_FACTS_MAX = 6 };

/* Data of a finding for readers of the JSON. */
struct doctor_fact {
    const char *key; /* a literal; NULL: unused */
    bool is_text;
    int64_t number; /* DOCTOR_NO_NUMBER: null */
    char text[256];
};

#define DOCTOR_NO_NUMBER INT64_MIN

struct doctor_finding {
    enum doctor_group group;
    enum doctor_state state;
    char name[64];
    char text[512]; /* the state; if missing, the reason */
    char hint[384]; /* the remedy; "": not required */
    struct doctor_fact facts[DOCTOR_FACTS_MAX];
};

struct doctor {
    VEC(struct doctor_finding) findings;
    const char *rung; /* "bpf", "remote", "none" */
    int error;        /* -ENOMEM: findings are missing */
};

/* Appends a finding of this name, to be filled in; never NULL. Valid until the next call. */
struct doctor_finding *doctor_add(struct doctor *doctor, enum doctor_group group, const char *name);

/* `key` is a literal. Facts beyond DOCTOR_FACTS_MAX are dropped. */
void doctor_fact_number(struct doctor_finding *finding, const char *key, int64_t number);
void doctor_fact_text(struct doctor_finding *finding, const char *key, const char *text);

struct host_facts;

/* Opens the driver's library and others in children. */
void doctor_look_at_gpu(struct doctor *doctor, const struct host_facts *facts);

/* Loads the injection library in a child. */
void doctor_look_at_injection(struct doctor *doctor);

#endif
