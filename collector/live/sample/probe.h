/* SPDX-License-Identifier: MIT */
/* Functions and static probes that are ranges: the wishes for them, the files that match a wish,
 * and the probes of a file. Thread-safety: one thread per object. */
#ifndef ANNOT_PROBE_H
#define ANNOT_PROBE_H

#include "event.h"
#include "probe_args.h"
#include "sampler.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

struct bpf_sampler;
struct elf_file;
struct trace;

struct probe {
    uint64_t device, inode, entry; /* identity of a function: a file and the offset of its start */
    uint32_t name, scope;          /* in the trace */
    uint64_t calls;                /* at the last look */
    double rate;                   /* calls per second until then */
    uint64_t call_ns;              /* cost of a call; 0: not measured */
    bool off;                      /* it was removed */
    bool has_arguments;            /* reports arguments */
};

/* The probed places of a call: its entry and its exits; or its entry and a return probe; or one
 * place. */
enum probe_cost { PROBE_COST_EXITS, PROBE_COST_RETURNED, PROBE_COST_PLACE, PROBE_COSTS };

struct probe_wish {
    char *text, *file;
    char *provider;        /* of static probes; NULL: a function */
    char *function, *last; /* or a probe, and the probe that ends its range; NULL: not a range */
    uint32_t count;        /* functions, probes */
    struct arg_wishes args;
};

struct probe_file {
    uint64_t device, inode;
    uint32_t wish;
};

struct probes {
    VEC(struct probe) all;
    VEC(struct probe_wish) wishes;
    VEC(struct probe_file) files;
    VEC(struct event) events; /* to be passed on */
    VEC(struct arg) args;
    bool measured;
    uint64_t visit_ns[PROBE_COSTS]; /* the cost of each here; 0: unknown */
    uint64_t since_ns;              /* start of the counts */
    uint64_t reported, left;
    struct arg_lists lists;
    struct entered_calls entered;
    uint32_t off;
    int error; /* the last one that prevented probing a file */
};

/* ---- Wishes and files ---- */

/* Parses "FILE:FUNCTION", "FILE:PROVIDER:PROBE[..PROBE]", both with "@ARGUMENTS", into parts, which
 * are owned. false: invalid. */
bool probe_wish_parse(const char *text, struct probe_wish *ret_wish);
void probe_wish_fini(struct probe_wish *wish); /* call it in any case */

/* The files that it matches now, at `program` and in the library folders; or a path. 0 or
 * -ENOMEM. */
struct probe_paths {
    VEC(char *) items;
};

int probe_paths_find(const char *file, const char *program, struct probe_paths *ret_paths);
int probe_paths_add(struct probe_paths *paths, const char *path); /* unless it is not a file */
void probe_paths_fini(struct probe_paths *paths);

/* True if a process's file matches. */
bool probe_wish_means(const struct probe_wish *wish, const char *path);

/* ---- Probes of a file; static ones: probe_static.c ---- */

/* Probes the functions of a file that a wish matches, once; adds to `result`. 0; -ENOENT: no match,
 * with a reason; -errno. */
struct probe_source {
    struct elf_file *file;
    int fd; /* of the same file */
    const char *path;
};

int sampler_probe_file(struct bpf_sampler *sampler, uint32_t wish,
                       const struct probe_source *source, struct sampler_range_result *result);

struct probe_target {
    struct elf_file *file;
    const char *path; /* for humans */
    char open_path[64];
    uint64_t device, inode;
    uint32_t scope;
    bool go, plain;
    uint32_t *lists; /* of arguments, one for each function; NULL: without arguments */
};

/* The file offset of an address. false: not in the file. */
bool probe_file_offset(const struct elf_file *file, uint64_t address, unsigned long *ret_offset);
/* The same of an instruction to be probed; after it, if it is a nop that no probe may replace. */
bool probe_code_offset(const struct elf_file *file, uint64_t address, unsigned long *ret_offset);

/* The scope of a file's ranges. 0 or -ENOMEM. */
int probe_scope(struct trace *trace, const char *domain, const char *path, uint32_t *ret_scope);

/* Probes the static probes that a wish matches. As sampler_probe_file(). */
int probe_static(struct bpf_sampler *sampler, struct probe_wish *wish,
                 const struct probe_target *target, struct sampler_range_result *result);

#endif
