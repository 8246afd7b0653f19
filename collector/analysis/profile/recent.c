/* SPDX-License-Identifier: MIT */
/* A queue of samples in an array, moved down when half of it is dropped. See recent.h. */
#include "recent.h"

#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An unfinished stretch. */
struct open_stretch {
    struct sample sample; /* its thread; value_count 0: no stretch */
    int64_t values[2];
    uint64_t round;
};

struct recent {
    const struct trace *trace;
    VEC(struct sample) samples;
    size_t first; /* samples before it are dropped */
    struct value_pool values;
    VEC(struct open_stretch) open;      /* by thread */
    VEC(struct open_stretch) held_open; /* those of the moment of the hold */
    uint64_t round;
    struct own_time *all;
    struct own_time *held; /* the frozen sums; NULL: not on hold */
    int64_t reset_ns, kept_ns, last_ns, held_ns;
};

struct recent *recent_create(const struct trace *trace, int64_t now_ns)
{
    struct recent *recent = calloc(1, sizeof(*recent));
    if (!recent)
        return NULL;
    recent->trace = trace;
    recent->kept_ns = now_ns;
    if (recent_reset(recent, now_ns) == 0)
        return recent;
    recent_destroy(recent);
    return NULL;
}

void recent_destroy(struct recent *recent)
{
    if (!recent)
        return;
    vec_free(&recent->samples);
    vec_free(&recent->open);
    vec_free(&recent->held_open);
    value_pool_free(&recent->values);
    own_time_destroy(recent->all);
    own_time_destroy(recent->held);
    free(recent);
}

int recent_reset(struct recent *recent, int64_t now_ns)
{
    struct own_time *fresh = own_time_create(recent->trace);
    if (!fresh)
        return -ENOMEM;
    own_time_destroy(recent->all);
    recent->all = fresh;
    recent->reset_ns = recent->last_ns = now_ns;
    return recent_hold(recent, false);
}

int recent_hold(struct recent *recent, bool hold)
{
    own_time_destroy(recent->held);
    recent->held = NULL;
    recent->held_open.count = 0;
    if (!hold)
        return 0;
    for (size_t i = 0; i < recent->open.count; i++)
        if (vec_push(&recent->held_open, recent->open.items[i]) != 0)
            return -ENOMEM;
    recent->held_ns = recent->last_ns;
    recent->held = own_time_create(recent->trace);
    return recent->held ? own_time_add_all(recent->held, recent->all, NULL, NULL) : -ENOMEM;
}

int64_t recent_reset_ns(const struct recent *recent)
{
    return recent->reset_ns;
}

int64_t recent_last_ns(const struct recent *recent)
{
    return recent->held ? recent->held_ns : recent->last_ns;
}

int64_t recent_kept_ns(const struct recent *recent)
{
    return recent->kept_ns;
}

size_t recent_size(const struct recent *recent)
{
    return own_time_size(recent->all);
}

/* ---- Samples --------------------------------------------------------------------------------- */

static void drop_first(struct recent *recent)
{
    value_pool_drop(&recent->values, &recent->samples.items[recent->first++]);
}

static void move_down(struct recent *recent)
{
    size_t left = recent->samples.count - recent->first;
    if (recent->first == 0 || recent->first < recent->samples.count / 2)
        return;
    memmove(recent->samples.items, recent->samples.items + recent->first,
            left * sizeof(recent->samples.items[0]));
    recent->samples.count = left;
    recent->first = 0;
}

static int keep(struct recent *recent, const struct sample *sample)
{
    struct sample kept = *sample;
    if (recent->samples.count - recent->first >= RECENT_SAMPLES) {
        recent->kept_ns = sample_order_ns(&recent->samples.items[recent->first]);
        drop_first(recent);
    }
    move_down(recent);
    if (value_pool_keep(&recent->values, &kept) != 0)
        return -ENOMEM;
    return vec_push(&recent->samples, kept);
}

/* NULL: out of memory. */
static struct open_stretch *open_of(struct recent *recent, uint32_t thread)
{
    size_t wanted = (size_t)thread + 1;
    if (wanted > recent->open.count) {
        size_t added = wanted - recent->open.count;
        if (vec_reserve(&recent->open, added) != 0)
            return NULL;
        memset(recent->open.items + recent->open.count, 0, added * sizeof(*recent->open.items));
        recent->open.count = wanted;
    }
    return &recent->open.items[thread];
}

static int add_open(struct recent *recent, const struct sample *sample)
{
    struct open_stretch *open = open_of(recent, sample->thread);
    if (!open)
        return -ENOMEM;
    *open = (struct open_stretch){.sample = *sample, .round = recent->round};
    for (unsigned i = 0; i < 2 && i < sample->value_count; i++)
        open->values[i] = sample->values[i];
    return 0;
}

/* A sample of the thread that is not earlier than the start of its unfinished stretch ends it. */
static void close_open(struct recent *recent, const struct sample *sample)
{
    struct open_stretch *open =
        sample->thread < recent->open.count ? &recent->open.items[sample->thread] : NULL;
    if (open && sample->set != SAMPLE_SET_SHORT_WAITS && sample->time_ns >= open->sample.time_ns)
        open->sample.value_count = 0;
}

int recent_add(struct recent *recent, const struct sample *sample)
{
    const struct sample_sets *sets = trace_sets_get(recent->trace);
    struct sample part = *sample;
    int64_t values[SAMPLE_VALUES_MAX];
    if (sample->thread >= trace_thread_count(recent->trace))
        return 0;
    if (sample->flags & SAMPLE_UNFINISHED)
        return add_open(recent, sample);
    close_open(recent, sample);
    int error = keep(recent, sample);
    if (sample_order_ns(sample) > recent->last_ns)
        recent->last_ns = sample_order_ns(sample);
    if (!error && sample_cut(sets, &part, recent->reset_ns, INT64_MAX, values))
        error = own_time_add(recent->all, &part);
    return error;
}

void recent_renew(struct recent *recent, int64_t now_ns)
{
    recent->round++;
    for (size_t i = 0; i < recent->open.count; i++)
        if (recent->open.items[i].round + 2 <= recent->round)
            recent->open.items[i].sample.value_count = 0;
    while (recent->first < recent->samples.count &&
           sample_order_ns(&recent->samples.items[recent->first]) < now_ns - RECENT_NS)
        drop_first(recent);
    if (recent->kept_ns < now_ns - RECENT_NS)
        recent->kept_ns = now_ns - RECENT_NS;
    move_down(recent);
}

/* ---- Parts ----------------------------------------------------------------------------------- */

typedef int take_sample(void *context, const struct sample *sample);

struct taking {
    const struct recent_part *part;
    const struct sample_sets *sets;
    take_sample *take;
    void *context;
};

static int take_part(const struct taking *taking, struct sample sample)
{
    const struct recent_part *part = taking->part;
    int64_t values[SAMPLE_VALUES_MAX];
    bool wanted = !part->wants || part->wants(part->context, sample.thread);
    if (!wanted || !sample_cut(taking->sets, &sample, part->from_ns, part->to_ns, values))
        return 0;
    return taking->take(taking->context, &sample);
}

/* Extends the unfinished stretch to the end of the part. */
static int take_open(const struct taking *taking, const struct open_stretch *open)
{
    struct sample sample = open->sample;
    int64_t values[2] = {open->values[0], open->values[1]};
    if (sample.value_count == 0)
        return 0;
    if (sample.end_ns < taking->part->to_ns) {
        values[0] += taking->part->to_ns - sample.end_ns;
        sample.end_ns = taking->part->to_ns;
    }
    sample.values = values;
    return take_part(taking, sample);
}

static int each_open(const struct open_stretch *open, size_t count, const struct taking *taking)
{
    int error = 0;
    for (size_t i = 0; i < count && !error; i++)
        error = take_open(taking, &open[i]);
    return error;
}

int recent_each(const struct recent *recent, const struct recent_part *part, take_sample *take,
                void *context)
{
    struct taking taking = {part, trace_sets_get(recent->trace), take, context};
    int error = 0;
    for (size_t i = recent->first; i < recent->samples.count && !error; i++)
        error = take_part(&taking, recent->samples.items[i]);
    return error ? error : each_open(recent->open.items, recent->open.count, &taking);
}

static int add_to(void *context, const struct sample *sample)
{
    return own_time_add(context, sample);
}

int recent_sum(const struct recent *recent, const struct recent_part *part, struct own_time *own)
{
    return recent_each(recent, part, add_to, own);
}

int recent_sum_all(const struct recent *recent, const struct recent_part *part,
                   struct own_time *own)
{
    struct taking taking = {part, trace_sets_get(recent->trace), add_to, own};
    bool held = recent->held != NULL;
    const struct own_time *sums = held ? recent->held : recent->all;
    int error = own_time_add_all(own, sums, part->wants, part->context);
    if (error)
        return error;
    return held ? each_open(recent->held_open.items, recent->held_open.count, &taking)
                : each_open(recent->open.items, recent->open.count, &taking);
}
