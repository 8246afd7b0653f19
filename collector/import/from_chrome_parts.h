/* SPDX-License-Identifier: MIT */
/* What the files of the reader of Chrome traces share. */
#ifndef ANNOT_IMPORT_CHROME_PARTS_H
#define ANNOT_IMPORT_CHROME_PARTS_H

#include "import_parts.h"

enum { CHROME_CATEGORY_MAX = 256, CHROME_COPY_SIZE = 4096 };

/* Values that say where an event belongs, beside being values. */
struct from_chrome_known {
    int64_t correlation, device, stream, context, line;
    uint32_t file; /* string */
    bool has_correlation, has_device, has_stream, has_context;
};

/* One event as it stands there. */
struct from_chrome_event {
    char phase;
    bool has_ts, has_dur, has_id, has_pid, has_tid, bad;
    uint32_t name, category; /* strings; 0: none */
    struct import_id pid, tid;
    int64_t ts_ns, dur_ns;
    uint64_t id;   /* of a pair: mixed of all that it goes by */
    bool id_local; /* of its process */
    uint32_t meta; /* string: the value "name" or "labels" of metadata */
    struct from_chrome_known known;
};

/* What a category says of its events. */
enum from_chrome_class {
    CHROME_PLAIN = 1,
    CHROME_CALL,       /* of Python: "name (file:line)" */
    CHROME_CALL_TORCH, /* of Python: "file(line): name" */
    CHROME_DRIVER,     /* a call of the program to the driver of a GPU */
    CHROME_KERNEL,
    CHROME_COPY,
    CHROME_SET,
    CHROME_REPEATED, /* told again what other events tell */
};

/* Keys of values, as strings; and those that they become. */
enum from_chrome_key {
    CHROME_KEY_GRID,
    CHROME_KEY_BLOCK,
    CHROME_KEY_REGISTERS,
    CHROME_KEY_SHARED,
    CHROME_KEY_OCCUPANCY,
    CHROME_KEY_BYTES,
    CHROME_KEY_EXTERNAL,
    CHROME_KEYS,
};

struct from_chrome_key_name {
    const char *text, *becomes;
};

extern const struct from_chrome_key_name from_chrome_keys[CHROME_KEYS];

/* Begins that wait for their ends, of a thread. */
struct from_chrome_open {
    VEC(struct event) begins;
    VEC(struct arg) args;
};

/* Names of processes and threads: the file may tell them before, behind and without the rest. */
struct from_chrome_meta {
    struct import_id pid, tid;
    bool thread;
    uint32_t name, labels; /* strings */
};

/* A device that the document describes. */
struct from_chrome_device {
    int64_t number;
    uint32_t name; /* string */
};

struct from_chrome_reader {
    struct json_reader json;
    struct import_sink *sink;
    struct from_chrome_event event;
    VEC(struct arg) args;              /* of the event */
    VEC(struct from_chrome_open) open; /* by thread */
    VEC(struct from_chrome_meta) metas;
    VEC(struct from_chrome_device) devices;
    struct map64 meta_index;     /* by a mixed id: 1 + index */
    struct map64 classes;        /* by category: class << 32 | scope */
    struct map64 calls;          /* by name: of the call */
    struct sorter *work;         /* of GPUs and their launches, by their numbers; NULL: none yet */
    uint32_t keys[CHROME_KEYS];  /* strings; 0: not met */
    uint32_t with;               /* string: the key whose value becomes a part of names; 0: none */
    struct wide_map named;       /* by name and value: the name of both */
    char copy[CHROME_COPY_SIZE]; /* of nested values */
    int64_t base_ns;             /* is added to all times */
};

/* The members of an event whose '{' was taken. 0 or as json_next. */
int from_chrome_event_read(struct from_chrome_reader *reader);

/* Sends it on. 0 or -errno. */
int from_chrome_event_take(struct from_chrome_reader *reader);

/* What began and has no end. 0 or -errno. */
int from_chrome_open_finish(struct from_chrome_reader *reader);

/* The name of a call, made of the one that stands there. */
uint32_t from_chrome_call_name(struct from_chrome_reader *reader, uint32_t name,
                               enum from_chrome_class class);

/* Work of a GPU, and calls that may launch it: told when all was read. 0 or -errno. */
int from_chrome_gpu_add(struct from_chrome_reader *reader, enum from_chrome_class class,
                        struct event *event);
int from_chrome_gpu_launch(struct from_chrome_reader *reader, const struct event *event);
int from_chrome_gpu_finish(struct from_chrome_reader *reader);

/* The name that metadata give; 0: none. `tid` NULL: of the process. */
const struct from_chrome_meta *from_chrome_meta_find(const struct from_chrome_reader *reader,
                                                     const struct import_id *pid,
                                                     const struct import_id *tid);
/* Those that events belong to get their names. */
int from_chrome_metas_finish(struct from_chrome_reader *reader);
int from_chrome_meta_add(struct from_chrome_reader *reader);

static inline uint64_t from_chrome_mix(uint64_t a, uint64_t b)
{
    uint64_t mixed = (a ^ (b + UINT64_C(0x9e3779b97f4a7c15) + (a << 6) + (a >> 2))) *
                     UINT64_C(0xff51afd7ed558ccd);
    return mixed ^ mixed >> 32;
}

#endif
