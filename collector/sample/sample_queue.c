/* SPDX-License-Identifier: MIT */
/* A queue in an array, moved down when half of it is gone. Thread-safety: one thread per object. */
#include "sample_queue.h"

#include <errno.h>
#include <string.h>

enum { WAITING_MAX = 16384 };

#define WAIT_NS UINT64_C(200000000)

void sample_queue_init(struct sample_queue *queue, const struct sampler_options *options)
{
    *queue = (struct sample_queue){.options = options, .paths = {.options = options}};
}

void sample_queue_fini(struct sample_queue *queue)
{
    range_paths_fini(&queue->paths);
    vec_free(&queue->waiting);
}

static int send_batch(struct sample_queue *queue)
{
    size_t count = queue->batch_count;
    queue->batch_count = 0;
    return count ? queue->options->sink(queue->options->context, queue->batch, count) : 0;
}

static int hand_on(struct sample_queue *queue, const struct sample *sample)
{
    if (sample->kind == 0)
        return 0;
    queue->batch[queue->batch_count++] = *sample;
    return queue->batch_count == SAMPLE_BATCH ? send_batch(queue) : 0;
}

/* 0: its path is known, or never will be; -EAGAIN; -ENOMEM. */
static int settle(struct sample_queue *queue, struct queued_sample *one, bool give_up)
{
    if (!one->has_ranges)
        return 0;
    int64_t path = range_paths_find(&queue->paths, &one->ranges);
    if (path == -ENOMEM || (path == -EAGAIN && !give_up))
        return (int)path;
    if (path >= 0) {
        one->sample.path = (uint32_t)path;
        one->sample.flags |= SAMPLE_PATH_KNOWN;
    } else {
        one->sample.flags &= (uint8_t)~SAMPLE_PATH_CUT;
        queue->unnamed += one->sample.kind != 0;
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
            return error ? error : hand_on(queue, &one.sample);
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
        error = hand_on(queue, &one->sample);
    }
    move_down(queue);
    if (error && error != -EAGAIN)
        return error;
    return send_batch(queue);
}
