/* SPDX-License-Identifier: MIT */
/* CPU time of the parts of tasks, by samples: each counts for the outermost range of a pool that
 * was open in its thread.
 *
 * Memory: 16 bytes for each path of ranges that a thread was sampled in. Thread-safety: none. */
#ifndef ANNOT_POOL_CPU_H
#define ANNOT_POOL_CPU_H

#include "sample.h"
#include "trace.h"

struct pool_cpu;

/* `trace` outlives it. NULL: out of memory. destroy accepts NULL. */
struct pool_cpu *pool_cpu_create(const struct trace *trace);
void pool_cpu_destroy(struct pool_cpu *cpu);

/* In any order. 0 or -ENOMEM. */
int pool_cpu_add(struct pool_cpu *cpu, const struct sample *sample);

/* CPU time of a thread in ranges of one role; `name`: the function, for POOL_ROLE_RUN. */
typedef void pool_cpu_told(void *context, uint32_t thread, uint16_t role, uint32_t name,
                           uint64_t cpu_ns);
void pool_cpu_each(const struct pool_cpu *cpu, pool_cpu_told *tell, void *context);

#endif
