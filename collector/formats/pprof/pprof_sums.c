/* SPDX-License-Identifier: MIT */
/* See pprof_parts.h. */
#include "pprof_parts.h"

#include <errno.h>

static bool is_other(const struct sample_set *set)
{
    return set->role != SAMPLE_ROLE_CPU && set->role != SAMPLE_ROLE_OFF_CPU &&
           set->role != SAMPLE_ROLE_SHORT_WAITS;
}

void pprof_sums_init(struct pprof_sums *sums, const struct trace *trace)
{
    *sums = (struct pprof_sums){.sets = trace_sets_get(trace), .value_count = PPROF_OTHERS};
    for (unsigned number = 1; number < sample_sets_count(sums->sets); number++) {
        const struct sample_set *set = sample_set_get(sums->sets, number);
        for (unsigned i = 0; i < set->count && sums->value_count < PPROF_VALUES_MAX; i++) {
            bool adds = value_type_get(sums->sets, set->types[i])->sum != VALUE_SUM_LEVEL;
            if (is_other(set) && adds)
                sums->types[sums->value_count++] =
                    (struct pprof_type){(uint16_t)number, (uint8_t)i};
        }
    }
}

void pprof_sums_fini(struct pprof_sums *sums)
{
    wide_map_free(&sums->by_key);
    vec_free(&sums->rows);
    vec_free(&sums->values);
}

void pprof_sums_clear(struct pprof_sums *sums)
{
    wide_map_free(&sums->by_key);
    sums->rows.count = sums->values.count = 0;
}

/* Its values; NULL: no memory. */
static int64_t *find_row(struct pprof_sums *sums, const struct pprof_row *row)
{
    const struct wide_key *key =
        WIDE_KEY((uint64_t)row->stack << 32 | row->path, (uint64_t)row->thread << 32 | row->reason);
    const uint64_t *known = wide_map_find(&sums->by_key, key);
    uint64_t index = known ? *known : sums->rows.count;
    if (!known) {
        if (vec_push(&sums->rows, *row) != 0 || vec_reserve(&sums->values, sums->value_count) ||
            wide_map_put(&sums->by_key, key, index) != 0)
            return NULL;
        for (uint32_t i = 0; i < sums->value_count; i++)
            sums->values.items[sums->values.count++] = 0;
    }
    return &sums->values.items[index * sums->value_count];
}

int pprof_sums_add(struct pprof_sums *sums, const struct sample *sample)
{
    const struct off_share share = sample_off_share(sums->sets, sample);
    enum sample_role role = sample_role(sums->sets, sample);
    bool waits = role == SAMPLE_ROLE_OFF_CPU || role == SAMPLE_ROLE_SHORT_WAITS;
    const struct pprof_row row = {sample->stack, sample->path, sample->thread,
                                  waits ? sample->reason + 1u : 0};
    int64_t off_ns = waits ? (int64_t)(share.blocked_ns + share.runnable_ns) : 0;
    int64_t cpu_ns = (int64_t)sample_cpu_ns(sums->sets, sample);
    int64_t *values = find_row(sums, &row);
    if (!values)
        return -ENOMEM;
    values[PPROF_SAMPLES] += role == SAMPLE_ROLE_CPU;
    values[PPROF_CPU] += cpu_ns;
    values[PPROF_WALL] += cpu_ns + off_ns;
    values[PPROF_OFF_CPU] += off_ns;
    for (uint32_t i = PPROF_OTHERS; i < sums->value_count; i++) {
        const struct pprof_type *type = &sums->types[i];
        if (type->set == sample->set && type->index < sample->value_count)
            values[i] += sample->values[type->index];
    }
    return 0;
}
