/* SPDX-License-Identifier: MIT */
/* make_wide FILE [ROUNDS]: a recording without repetition: names that do not compress, many
 * threads, stacks, paths, ranges and counters. For outputs of bounded size. */
#include "made_sample.h"
#include "sample_encode.h"
#include "store.h"
#include "trace_maker.h"
#include "writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROCESSES = 4,
    THREADS = 300, /* of each process */
    NAMES = 20000,
    NAME_BYTES = 900,
    FUNCTIONS = 40000,
    STACKS = 150000,
    PATHS = 30000,
    COUNTERS = 120,
    ROUNDS = 400, /* of a range, a sample and a wait in each thread */
    STEP_NS = 500000,
};

static struct maker *maker;
static struct store_writer *writer;
static uint64_t random_state = 88172645463325252u;
static char names[NAMES][NAME_BYTES + 1];

static uint32_t draw(uint32_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 33) % below;
}

static void make_names(void)
{
    for (unsigned i = 0; i < NAMES; i++)
        for (unsigned j = 0; j < NAME_BYTES; j++)
            names[i][j] = (char)('!' + draw(94));
    strcpy(names[0], "</script><img src=x onerror=alert(1)>");
    strcpy(names[1], "\xe2\x80\xae\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d"); /* right to left */
    strcpy(names[2], "<!-- ]]> --> \" ' & </style>");
}

static void make_stacks(void)
{
    for (unsigned i = 0; i < STACKS; i++) {
        uint32_t function = draw(FUNCTIONS);
        char name[128];
        snprintf(name, sizeof(name), "%.100s%u", names[function % NAMES], function);
        const struct maker_frame frame = {.kind = FRAME_PYTHON,
                                          .function = name,
                                          .file = names[function % 2000],
                                          .module = "",
                                          .first_line = (int32_t)(function % 1000),
                                          .line = (int32_t)draw(100000)};
        maker_stack(maker, i < 100 ? 0 : draw(i), &frame);
    }
    for (unsigned i = 0; i < PATHS; i++)
        maker_path(maker, i < 100 ? 0 : draw(i), names[draw(NAMES)]);
    trace_sampling(maker_trace(maker))->rung = SAMPLING_BPF;
    trace_sampling(maker_trace(maker))->off_cpu = true;
    trace_sampling(maker_trace(maker))->frequency_hz = 999;
}

static void sample_of_thread(uint32_t thread, int64_t now)
{
    struct sample sample = {.time_ns = now,
                            .thread = thread,
                            .stack = 1 + draw(STACKS),
                            .path = draw(PATHS),
                            .flags = SAMPLE_PATH_KNOWN};
    const struct sample running = made_cpu(sample, 100000 + draw(1000));
    maker_sample(maker, &running);
    sample.stack = 1 + draw(STACKS);
    sample.time_ns = now + 1000 + draw(1000);
    sample.end_ns = now + 100000 + draw(300000);
    sample.reason = (uint8_t)draw(WAIT_REASON_COUNT);
    maker_wait(maker, &sample, sample.end_ns - draw(1000));
}

static int drain(void)
{
    struct event_batch batch;
    const struct sample *samples;
    uint32_t count;
    int error = 0;
    while (!error && maker_next(maker, &batch) > 0)
        error = store_writer_add(writer, &batch);
    while (!error && maker_next_samples(maker, &samples, &count) > 0)
        error = store_writer_add_samples(writer, samples, count);
    maker_forget(maker);
    return error;
}

static int make_rounds(unsigned rounds)
{
    int error = 0;
    for (unsigned round = 0; round < rounds && !error; round++) {
        for (uint32_t thread = 0; thread < PROCESSES * THREADS; thread++) {
            int64_t now = 1 + (int64_t)round * STEP_NS + thread;
            maker_push(maker, thread, now, names[draw(NAMES)]);
            sample_of_thread(thread, now + 10000);
            maker_counter(maker, thread, now + 450000, names[draw(COUNTERS)], draw(1000) * 0.37);
            maker_pop(maker, thread, now + 450001 + draw(40000));
        }
        error = drain();
    }
    return error;
}

int main(int argc, char **argv)
{
    unsigned rounds = argc == 3 ? (unsigned)atoi(argv[2]) : ROUNDS;
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: make_wide FILE [ROUNDS]\n");
        return 2;
    }
    maker = maker_create();
    make_names();
    for (unsigned p = 0; p < PROCESSES; p++) {
        maker_process(maker, 3000 + 1000 * (int32_t)p, p ? 0 : -1, names[draw(NAMES)], p);
        for (unsigned t = 0; t < THREADS; t++)
            maker_thread(maker, p, 3000 + 1000 * (int32_t)p + (int32_t)t, names[draw(NAMES)]);
    }
    make_stacks();
    struct store_writer_options options = {.overwrite = true};
    int error = store_writer_create(argv[1], maker_trace(maker), &options, &writer);
    if (!error)
        error = make_rounds(rounds);
    maker_finish(maker, (int64_t)(rounds + 1) * STEP_NS);
    if (!error)
        error = store_writer_close(writer);
    if (error)
        fprintf(stderr, "%s: %s\n", argv[1], strerror(-error));
    maker_destroy(maker);
    return error ? 1 : 0;
}
