/* SPDX-License-Identifier: MIT */
/* When ranges were open, kept until the queues have reported their work. Thread-safety: none. */
#ifndef ANNOT_GPU_STAYS_H
#define ANNOT_GPU_STAYS_H

#include "hash_map.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

/* When ranges of a row were open in a process; also used for other keys. */
struct gpu_stay_list {
    uint32_t row, process;
    VEC(uint8_t) bytes;
    int64_t last_ns;
};

struct gpu_stays {
    VEC(struct gpu_stay_list) lists;
    struct map64 index;   /* by row and process: index + 1 */
    VEC(uint32_t) recent; /* by row: the same for its latest process */
    size_t size;          /* bytes of all lists */
    uint64_t least_ns;    /* shorter ones are dropped and counted: */
    uint64_t short_count, short_ns;
};

struct gpu_stay_reader {
    const uint8_t *at, *end;
    int64_t last_ns;
};

void gpu_stays_fini(struct gpu_stays *stays);
/* 0 or -ENOMEM. */
int gpu_stays_add(struct gpu_stays *stays, uint32_t row, uint32_t process, int64_t begin_ns,
                  int64_t end_ns);
/* Reads the next entry of a list; false at its end. */
struct gpu_stay_reader gpu_stays_read(const struct gpu_stay_list *list);
bool gpu_stays_next(struct gpu_stay_reader *reader, int64_t *ret_begin_ns, int64_t *ret_end_ns);

#endif
