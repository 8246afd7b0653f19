/* SPDX-License-Identifier: MIT */
/* A queue in an array, moved down when half of it is consumed. Thread-safety: one thread per
 * object. */
#include "sample_queue.h"

#include "processes.h"

#include "names.h"
#include "stacks.h"

#include <errno.h>
#include <string.h>

enum { WAITING_MAX = 16384 };

#define WAIT_NS UINT64_C(200000000)

void sample_queue_init(struct sample_queue *queue, const struct sampler_options *options,
                       struct processes *processes)
{
    *queue = (struct sample_queue){.options = options, .processes = processes};
}

void sample_queue_fini(struct sample_queue *queue)
{
    vec_free(&queue->waiting);
}

/* ---- Range paths ----------------------------------------------------------------------------- */

static uint32_t kind_of(const struct sampler_range *range)
{
    static const uint32_t kinds[] = {[SAMPLER_MARK_OUTERMOST] = RANGE_PATH_TRACK,
                                     [SAMPLER_MARK_INNER] = RANGE_PATH_INSIDE,
                                     [SAMPLER_MARK_INHERITED] = RANGE_PATH_INHERITED};
    return kinds[range->mark & SAMPLER_MARK_KINDS]; /* 0: RANGE_PATH_THREAD */
}

/* The path extended by one range; -ENOENT: its name will never be known; -ENOMEM. An unknown domain
 * is left out. */
static int64_t add_range(struct trace *trace, struct names *names, uint32_t path,
                         const struct sampler_range *range)
{
    int64_t name = names_by_id(names, range->name);
    int64_t domain = names_domain(names, (uint16_t)(range->mark >> SAMPLER_MARK_DOMAIN));
    int64_t scope = domain > 0 ? trace_scope_of_domain(trace, (uint32_t)domain) : domain;
    if (name == -ENOMEM || scope == -ENOMEM)
        return -ENOMEM;
    if (name < 0 || (name == 0 && range->name != 0)) /* id 0: the table had no room for it */
        return -ENOENT;
    if (names_is_python_call(names, range->name))
        return path; /* a frame of the stack; as ranges, calls would multiply the paths */
    struct range_path node = {.parent = path,
                              .name = (uint32_t)name,
                              .kind = kind_of(range),
                              .scope = scope > 0 ? (uint32_t)scope : 0};
    return stacks_path_add(trace_stacks(trace), &node);
}

/* -EAGAIN: a name is not known yet; -ENOENT: it never will be; -ENOMEM. */
static int64_t find_path(const struct sample_queue *queue, const struct sampled_ranges *ranges)
{
    struct names *names = NULL;
    int64_t path = ranges->path;
    if (ranges->count == 0 || path != 0)
        return path;
    path = lives_names_at(queue->options->lives, ranges->pid, ranges->time_ns, &names);
    for (uint32_t i = ranges->count; i > 0 && path >= 0; i--)
        path = add_range(queue->options->trace, names, (uint32_t)path, &ranges->ranges[i - 1]);
    return path;
}

static void keep_answer(const struct sample_queue *queue, const struct queued_sample *question,
                        uint32_t path)
{
    struct sampled *child = processes_find(queue->processes, question->child);
    if (child && child->inherited.known && child->inherited.pid == question->ranges.pid &&
        child->inherited.time_ns == question->ranges.time_ns)
        child->inherited.path = path;
}

/* ---- The queue ------------------------------------------------------------------------------- */

static int send_batch(struct sample_queue *queue)
{
    size_t count = queue->batch_count;
    queue->batch_count = 0;
    return count ? queue->options->sink(queue->options->context, queue->batch, count) : 0;
}

static int hand_on(struct sample_queue *queue, const struct queued_sample *one)
{
    int64_t *values = queue->batch_values[queue->batch_count];
    if (one->sample.set == 0)
        return 0;
    struct sample *sample = &queue->batch[queue->batch_count++];
    *sample = one->sample;
    memcpy(values, one->values, sizeof(one->values));
    sample->values = values;
    return queue->batch_count == SAMPLE_BATCH ? send_batch(queue) : 0;
}

/* 0: its path is final; -EAGAIN; -ENOMEM. */
static int settle(struct sample_queue *queue, struct queued_sample *one, bool give_up)
{
    if (!one->ranges.known)
        return 0;
    int64_t path = find_path(queue, &one->ranges);
    if (path == -ENOMEM || (path == -EAGAIN && !give_up))
        return (int)path;
    if (path < 0) {
        one->sample.flags &= (uint8_t)~SAMPLE_PATH_CUT;
        queue->unnamed += one->sample.set != 0;
    } else if (one->sample.set == 0) {
        keep_answer(queue, one, (uint32_t)path);
    } else {
        one->sample.path = (uint32_t)path;
        one->sample.flags |= SAMPLE_PATH_KNOWN;
    }
    return 0;
}

int sample_queue_add(struct sample_queue *queue, const struct queued_sample *sample,
                     uint64_t now_ns)
{
    struct queued_sample one = *sample;
    one.arrived_ns = now_ns;
    if (sample_queue_waiting(queue) == 0) {
        int error = settle(queue, &one, false);
        if (error != -EAGAIN)
            return error ? error : hand_on(queue, &one);
    }
    return vec_push(&queue->waiting, one);
}

static void move_down(struct sample_queue *queue)
{
    size_t left = sample_queue_waiting(queue);
    if (queue->first == 0 || (left > 0 && queue->first < queue->waiting.count / 2))
        return;
    memmove(queue->waiting.items, queue->waiting.items + queue->first,
            left * sizeof(queue->waiting.items[0]));
    queue->waiting.count = left;
    queue->first = 0;
}

int sample_queue_flush(struct sample_queue *queue, uint64_t now_ns, bool all)
{
    int error = 0;
    while (!error && sample_queue_waiting(queue) > 0) {
        struct queued_sample *one = &queue->waiting.items[queue->first];
        bool give_up =
            all || now_ns - one->arrived_ns > WAIT_NS || sample_queue_waiting(queue) > WAITING_MAX;
        error = settle(queue, one, give_up);
        if (error)
            break;
        queue->first++;
        error = hand_on(queue, one);
    }
    move_down(queue);
    if (error && error != -EAGAIN)
        return error;
    return send_batch(queue);
}
