/* SPDX-License-Identifier: MIT */
/* Arguments of functions and static probes: requests for them, and the values of calls.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_PROBE_ARGS_H
#define ANNOT_PROBE_ARGS_H

#include "elf_symbols.h"
#include "event.h"
#include "hash_map.h"
#include "sampler_abi.h"
#include "symbol_functions.h"
#include "text.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

struct sampler_bpf;
struct symbol_module;
struct trace;

/* ---- Requested arguments ---- */

struct arg_wish {
    char name[48];      /* "": by number */
    uint8_t number;     /* from 1; 0: by name */
    uint8_t type, size; /* enum code_type; 0: as in the debug information */
};

struct arg_wishes {
    uint32_t count;
    bool all;
    struct arg_wish items[SAMPLER_ARGS_MAX];
};

/* "1,2=str,name": by number, for functions among the integers of the System V ABI (int by default),
 * or by name; "*": all. False: invalid. */
enum { PROBE_ARGS_OF_FUNCTION = 6, PROBE_ARGS_OF_STATIC = 9 }; /* the highest number */

bool probe_args_parse(const char *text, unsigned number_max, struct arg_wishes *ret_wishes);

/* The meaning of a value. */
struct probe_arg {
    uint32_t key;                        /* string in the trace */
    uint32_t text;                       /* text in place of a value; 0: use the value */
    uint8_t type, size;                  /* enum code_type */
    uint32_t first_choice, choice_count; /* of an enumeration */
};

struct probe_args {
    uint32_t count;
    bool ends; /* read at the end of a range */
    struct probe_arg items[SAMPLER_ARGS_MAX];
};

struct arg_choice {
    int64_t value;
    uint32_t name;
};

/* All lists that places report, by number; the first is empty. */
struct arg_lists {
    VEC(struct probe_args) all;
    VEC(struct arg_choice) choices;
};

/* A list being built. */
struct arg_list {
    struct sampler_args wanted;
    struct probe_args told;
    uint32_t values;     /* readable ones */
    uint32_t met;        /* bit mask of the matched wishes */
    const char *missing; /* why one is unreadable; NULL: all are readable */
};

/* The time that reading the arguments adds to a call, in ns. */
uint64_t probe_args_ns(const struct probe_args *args);

struct arg_question {
    const struct arg_wishes *wishes;
    const struct code_function *function;
    struct symbol_module *module; /* of its file */
    bool go;                      /* which has a different calling convention */
};

/* 0, or -ENOMEM. `reason`: explains missing arguments, if any. */
int probe_args_of_function(struct arg_lists *lists, struct trace *trace,
                           const struct arg_question *question, struct arg_list *ret_list,
                           struct text *reason);

/* Without wishes: all. `ends`: at the end of a range. */
int probe_args_of_static(struct trace *trace, const struct arg_wishes *wishes,
                         const struct elf_probe *probe, bool ends, struct arg_list *ret_list);

/* Stores a list. Its number, for cookies; 0: it is empty; or -errno. */
int probe_args_keep(struct arg_lists *lists, const struct arg_list *list, bool ends,
                    struct sampler_bpf *program);
void arg_lists_fini(struct arg_lists *lists);

/* ---- Arguments of calls ----
 *
 * They arrive when a function or a range begins, the range when it ends: until then they are kept.
 * Those of calls that never end are dropped with the open ranges of their thread, or when there are
 * too many. */

struct entered_calls {
    struct map64 by_call; /* index in the items */
    VEC(struct sampler_probed_args) items;
    VEC(uint32_t) free; /* of the items */
    uint32_t texts;     /* number in the trace */
    uint64_t lost, cut; /* calls with lost arguments; texts beyond the limit */
};

/* Keeps the arguments of a call. 0 or -ENOMEM. */
int probe_args_take(struct entered_calls *entered, const struct arg_lists *lists,
                    const struct sampler_probed_args *record);

/* The key-values of a call that has ended, at most twice SAMPLER_ARGS_MAX in `args`: their number,
 * 0 if unknown; or -ENOMEM. */
int probe_args_end(struct entered_calls *entered, const struct arg_lists *lists,
                   const struct sampler_probed *call, struct trace *trace, struct arg *args);
void entered_calls_fini(struct entered_calls *entered);

#endif
