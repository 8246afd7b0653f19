/* SPDX-License-Identifier: MIT */
/* State of the exporter for Nsight Systems, which its files share.
 *
 * The database is made in a temporary file, in one transaction, and then copied to the output: a
 * database cannot be written in order. A table is there if it has rows. Columns are those of 2022.4
 * to 2024.2 together. Thread-safety: one thread per exporter. */
#ifndef ANNOT_EXPORT_NSYS_H
#define ANNOT_EXPORT_NSYS_H

#include "chosen_frames.h"
#include "event.h"
#include "export.h"
#include "export_ids.h"
#include "gpu_work.h"
#include "hash_map.h"
#include "nsys_database.h"
#include "vec.h"

#include <stdint.h>

struct nsys_device {
    uint32_t number;
    uint32_t lane;                      /* its name */
    struct arg values[GPU_VALUE_COUNT]; /* by enum gpu_value; without kind: not known */
};

/* Where and when something was launched. */
struct nsys_launch {
    int64_t thread, start_ns; /* globalTid, since the begin of the recording */
    int64_t told;             /* the driver's number; 0: not recorded */
    int64_t number;           /* that joins it with what was launched */
};

struct nsys {
    struct nsys_database db;
    const struct export_job *job;
    const struct trace *trace;
    struct export_ids ids;
    struct gpu_keys keys;
    struct chosen_frames chosen;
    int64_t begin_ns;
    struct out_stream *json;  /* memory */
    struct map64 scopes;      /* of processes, whose names are there */
    struct wide_map names;    /* of domains and categories of processes: they have their row */
    struct map64 short_names; /* of kernels: by string, their id */
    struct map64 contexts;    /* process and context: 1 + device */
    VEC(struct nsys_device) devices;
    uint8_t *chains; /* by stack: its callchain is there */
    uint32_t stack_count;
    int64_t sample_count;
    struct nsys_launch last_launch; /* without number: none yet */
    int64_t own_launches;
};

enum { NSYS_NOBODY = -1 };

/* Contexts of CUDA have smaller numbers: others stand for something else. */
#define NSYS_CONTEXTS UINT32_C(0xffffff00)

/* A globalTid; NSYS_NOBODY: the recording does not know the thread. A globalPid, of a process. */
int64_t nsys_thread(const struct nsys *nsys, uint32_t thread);
int64_t nsys_process(const struct nsys *nsys, uint32_t process);

/* The next column: a time since the begin of the recording; a globalTid or globalPid. */
void nsys_put_time(struct nsys *nsys, int64_t time_ns);
void nsys_put_who(struct nsys *nsys, int64_t global);

#endif
