/* SPDX-License-Identifier: MIT */
/* The reader of Chrome traces: its state, events, work of GPUs. Thread-safety: one thread per
 * reader. */
#ifndef ANNOT_FROM_CHROME_H
#define ANNOT_FROM_CHROME_H

#include "event.h"
#include "hash_map.h"
#include "json_reader.h"
#include "sink.h"
#include "v8_profile.h"
#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CHROME_CATEGORY_MAX = 256, CHROME_COPY_SIZE = 4096 };

/* The meaning of a value's key; other keys are CHROME_KEY_PLAIN. */
enum from_chrome_key {
    CHROME_KEY_PLAIN = 1,
    CHROME_KEY_CORRELATION,
    CHROME_KEY_DEVICE,
    CHROME_KEY_STREAM,
    CHROME_KEY_CONTEXT,
    CHROME_KEY_LINE,
    CHROME_KEY_FILE,
    CHROME_KEY_META,
    CHROME_KEY_DATA,
    CHROME_KEY_KERNEL, /* of XLA: kind of the event, with details */
    CHROME_KEY_COPY,
    CHROME_KEY_SET,
    CHROME_KEY_GRID, /* from here on: renamed in recordings */
    CHROME_KEY_BLOCK,
    CHROME_KEY_REGISTERS,
    CHROME_KEY_SHARED,
    CHROME_KEY_OCCUPANCY,
    CHROME_KEY_BYTES,
    CHROME_KEY_EXTERNAL,
};

/* Values that also describe the place of an event. */
struct from_chrome_known {
    int64_t correlation, device, stream, context, line;
    uint32_t file; /* string */
    bool has_correlation, has_device, has_stream, has_context;
    uint32_t details;          /* of XLA: string */
    enum from_chrome_key what; /* and their key */
};

/* One event as in the file. */
struct from_chrome_event {
    char phase;
    bool has_ts, has_dur, has_id, has_pid, has_tid;
    bool empty;              /* XLA writes an empty event at the end */
    uint32_t name, category; /* strings; 0: unset */
    struct import_id pid, tid;
    int64_t ts_ns, dur_ns;
    uint64_t id;   /* of a pair: mixed from all parts of its identity */
    bool id_local; /* of its process */
    uint64_t bind; /* a flow that comes in, goes out, or both */
    bool flow_in, flow_out;
    uint64_t frame; /* id in stackFrames; 0: unset */
    uint32_t stack; /* stack in the event itself, if has_stack */
    bool has_stack;
    uint32_t meta; /* string: the value "name" or "labels" of metadata */
    struct from_chrome_known known;
};

/* The meaning of a category. */
enum from_chrome_class {
    CHROME_PLAIN = 1,
    CHROME_CALL,       /* of Python: "name (file:line)" */
    CHROME_CALL_TORCH, /* of Python: "file(line): name" */
    CHROME_DRIVER,     /* a call of the program to the driver of a GPU */
    CHROME_REPEATED,   /* repeats other events */
    CHROME_KERNEL,     /* from here on: of queues */
    CHROME_COPY,
    CHROME_SET,
    CHROME_WAIT,
    CHROME_OVERHEAD,
    CHROME_CLASSES,
};

/* Begins of a thread waiting for their ends. */
struct from_chrome_open {
    VEC(struct event) begins;
    VEC(struct arg) args;
};

/* Names of processes and threads: they may come before or after the events, and without them. */
struct from_chrome_meta {
    struct import_id pid, tid;
    bool thread;
    uint32_t name, labels; /* strings */
    int64_t device;        /* of an XLA process that stands for a device; else -1 */
    bool stream;           /* of a thread: it stands for a stream of a device */
};

/* A device that the document describes. */
struct from_chrome_device {
    int64_t number;
    uint32_t name; /* string */
};

/* A node of the tree "stackFrames". */
struct from_chrome_frame {
    uint64_t parent; /* id; 0: a root */
    uint32_t name;   /* string */
};

struct from_chrome_reader {
    struct json_reader json;
    struct import_sink *sink;
    struct from_chrome_event event;
    VEC(struct arg) args;              /* of the event */
    VEC(struct from_chrome_open) open; /* by thread */
    size_t open_count;                 /* begins of all threads, and their values */
    VEC(struct from_chrome_meta) metas;
    VEC(struct from_chrome_device) devices;
    struct map64 meta_index; /* by a mixed id: 1 + index */
    struct map64 classes;    /* by category: class << 32 | scope */
    struct map64 calls;      /* by name: name of the call */
    struct sorter *work;     /* of GPUs and their launches, by their numbers; NULL: not yet used */
    struct sorter *samples;  /* waiting for their stacks; NULL: not yet used */
    VEC(struct from_chrome_frame) frames;
    struct map64 frame_index, frame_stacks; /* by id: 1 + index; the stack that ends there */
    struct map64 sampled;                   /* threads by their numbers alone */
    VEC(uint8_t) keys;                      /* by string: enum from_chrome_key; 0: unchecked */
    struct v8_profiles profiles;
    struct v8_chunk chunk;       /* of them, in the event */
    struct map64 profile_index;  /* by a mixed id */
    bool has_devices;            /* there is a process that stands for a device */
    uint32_t with;               /* string: the key with values to be appended to names; 0: unset */
    char copy[CHROME_COPY_SIZE]; /* of nested values */
    int64_t base_ns;             /* added to all times */
};

static inline uint64_t from_chrome_mix(uint64_t a, uint64_t b)
{
    uint64_t mixed = (a ^ (b + UINT64_C(0x9e3779b97f4a7c15) + (a << 6) + (a >> 2))) *
                     UINT64_C(0xff51afd7ed558ccd);
    return mixed ^ mixed >> 32;
}

/* The name of a key in recordings: mostly the string itself. */
uint32_t from_chrome_key_becomes(struct from_chrome_reader *reader, uint32_t key);

/* ---- Events ---------------------------------------------------------------------------------- */

/* Sent to the sink, with names of processes and threads. */

static inline bool from_chrome_is_work(enum from_chrome_class class)
{
    return class >= CHROME_KERNEL;
}

/* Sends the event to the sink. 0 or -errno. */
int from_chrome_event_take(struct from_chrome_reader *reader);

/* Sends ranges that have no end. 0 or -errno. */
int from_chrome_open_finish(struct from_chrome_reader *reader);

/* The thread of the event. */
uint32_t from_chrome_thread(struct from_chrome_reader *reader);

/* The name from metadata; NULL: unknown. `tid` NULL: of the process. */
const struct from_chrome_meta *from_chrome_meta_find(const struct from_chrome_reader *reader,
                                                     const struct import_id *pid,
                                                     const struct import_id *tid);

/* Names the processes and threads that have events. */
int from_chrome_metas_finish(struct from_chrome_reader *reader);

/* ---- Work of GPUs ---------------------------------------------------------------------------- */

/* In traces of torch.profiler, XLA and annot. */

/* Work of a GPU, and calls that may launch it: sent to the sink after all was read. 0 or -errno. */
int from_chrome_gpu_add(struct from_chrome_reader *reader, enum from_chrome_class class,
                        struct event *event);
int from_chrome_gpu_launch(struct from_chrome_reader *reader, const struct event *event);
int from_chrome_gpu_finish(struct from_chrome_reader *reader);

/* Marks the process or thread of the metadata as a device of XLA or a stream, if it is one. */
void from_chrome_xla_meta(struct from_chrome_reader *reader, struct from_chrome_meta *meta);

/* In traces of XLA: the kind of a device's work; CHROME_PLAIN: other events. A call on a thread
 * with a correlation is CHROME_DRIVER. */
enum from_chrome_class from_chrome_xla_class(struct from_chrome_reader *reader);

#endif
