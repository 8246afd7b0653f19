/* SPDX-License-Identifier: MIT */
/* Writes a recording and prints its contents, as JSON: the oracle for tests of exports.
 *
 *     make_trace sample FILE          the recording of tests/lib/sample_trace.h; prints nothing
 *     make_trace sampled FILE         that of tests/lib/sampled_trace.h
 *     make_trace sets FILE            that of tests/lib/sets_trace.h
 *     make_trace heap FILE            that of tests/lib/heap_trace.h
 *     make_trace rates FILE           a program that was sampled at 499 Hz, then at 99 Hz
 *     make_trace random FILE COUNT [SAMPLES]
 *                                     COUNT ranges of three processes, made up by a fixed seed, and
 *                                     about so many samples
 *
 * The printed numbers are counted here, while the ranges are made up, and not by any code of ours
 * that pairs begins and ends. */
#include "heap_trace.h"
#include "made_sample.h"
#include "sample_trace.h"
#include "sampled_trace.h"
#include "sets_trace.h"
#include "store.h"
#include "writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROCESSES = 3,
    THREADS = 3, /* of each process */
    NAMES = 12,
    DEPTH_MAX = 8,
    ASYNC_MAX = 16, /* open at once */
    STACKS = 256,
};

static const char *const range_names[NAMES] = {"load",  "parse",  "analyse", "reduce",
                                               "write", "decode", "read",    "hash",
                                               "sort",  "merge",  "flush",   "wait"};

struct tally {
    uint64_t count;
    int64_t sum_ns;
};

struct made_thread {
    int64_t now;
    unsigned depth;
    unsigned names[DEPTH_MAX];
    int64_t begins[DEPTH_MAX];
};

struct made {
    struct maker *maker;
    struct store_writer *writer;
    int error; /* of the writer */
    uint64_t random;
    struct made_thread threads[PROCESSES * THREADS];
    struct tally pushed[NAMES][NAMES + 1]; /* by name and parent; NAMES without a parent */
    struct tally started[NAMES];

    struct {
        uint64_t id; /* 0 = free */
        unsigned process, name;
        int64_t begin;
    } open[ASYNC_MAX];

    uint64_t next_id;
    struct tally marks, counters;
    uint64_t left;            /* ranges to be made */
    uint64_t ranges_a_sample; /* 0: no samples */
    uint64_t next_sample;     /* when so many are left */
};

static unsigned draw(struct made *made, unsigned below)
{
    made->random ^= made->random << 13;
    made->random ^= made->random >> 7;
    made->random ^= made->random << 17;
    return (unsigned)(made->random >> 33) % below;
}

static void push(struct made *made, unsigned thread)
{
    struct made_thread *t = &made->threads[thread];
    unsigned name = draw(made, NAMES);
    maker_push(made->maker, thread, t->now, range_names[name]);
    t->names[t->depth] = name;
    t->begins[t->depth++] = t->now;
    made->left--;
}

static void pop(struct made *made, unsigned thread)
{
    struct made_thread *t = &made->threads[thread];
    maker_pop(made->maker, thread, t->now);
    unsigned name = t->names[--t->depth];
    unsigned parent = t->depth ? t->names[t->depth - 1] : NAMES;
    made->pushed[name][parent].count++;
    made->pushed[name][parent].sum_ns += t->now - t->begins[t->depth];
}

/* Ends the range of slot `slot` if it is open and of this process, else starts one there. */
static void toggle_async(struct made *made, unsigned thread, unsigned slot)
{
    int64_t now = made->threads[thread].now;
    unsigned process = thread / THREADS;
    if (made->open[slot].id == 0) {
        made->open[slot].id = ++made->next_id;
        made->open[slot].name = draw(made, 3);
        made->open[slot].process = process;
        made->open[slot].begin = now;
        maker_start(made->maker, thread, now, range_names[made->open[slot].name], made->next_id);
        made->left--;
        return;
    }
    if (made->open[slot].process != process || made->open[slot].begin > now)
        return;
    maker_end(made->maker, thread, now, made->open[slot].id);
    struct tally *tally = &made->started[made->open[slot].name];
    tally->count++;
    tally->sum_ns += now - made->open[slot].begin;
    made->open[slot].id = 0;
}

static void take_sample(struct made *made, unsigned thread)
{
    const struct sample sample = made_cpu((struct sample){.time_ns = made->threads[thread].now,
                                                          .thread = thread,
                                                          .stack = 1 + draw(made, STACKS)},
                                          10000000);
    made->next_sample -= made->ranges_a_sample;
    maker_sample(made->maker, &sample);
}

static void make_stacks(struct made *made)
{
    for (unsigned i = 0; i < STACKS; i++) {
        char function[16];
        snprintf(function, sizeof(function), "function%u", i);
        const struct maker_frame frame = {
            .kind = FRAME_NATIVE, .function = function, .module = "libjob.so", .address = i};
        maker_stack(made->maker, i ? draw(made, i + 1) : 0, &frame);
    }
    trace_sampling(maker_trace(made->maker))->rung = SAMPLING_BPF;
    trace_sampling(maker_trace(made->maker))->frequency_hz = 100;
}

static void step(struct made *made, unsigned thread)
{
    if (made->ranges_a_sample && made->left <= made->next_sample)
        take_sample(made, thread);
    struct made_thread *t = &made->threads[thread];
    t->now += 1 + draw(made, draw(made, 4) ? 300 : 20000);
    unsigned choice = draw(made, 100);
    if (choice < 3) {
        toggle_async(made, thread, draw(made, ASYNC_MAX));
    } else if (choice < 5) {
        maker_mark(made->maker, thread, t->now, "mark");
        made->marks.count++;
    } else if (choice < 7) {
        maker_counter(made->maker, thread, t->now, "queue", choice);
        made->counters.count++;
        made->counters.sum_ns += choice;
    } else if (t->depth > 0 && (t->depth == DEPTH_MAX || choice < 53)) {
        pop(made, thread);
    } else {
        push(made, thread);
    }
}

/* Writes the events made so far. */
static void drain(struct made *made)
{
    struct event_batch batch;
    while (!made->error && maker_next(made->maker, &batch) > 0)
        made->error = store_writer_add(made->writer, &batch);
    const struct sample *samples;
    uint32_t count;
    while (!made->error && maker_next_samples(made->maker, &samples, &count) > 0)
        made->error = store_writer_add_samples(made->writer, samples, count);
    maker_forget(made->maker);
}

static void make_random(struct made *made, uint64_t count, uint64_t samples)
{
    made->random = 88172645463325252u;
    made->left = made->next_sample = count;
    made->ranges_a_sample = samples ? (count + samples - 1) / samples : 0;
    if (samples)
        make_stacks(made);
    for (unsigned p = 0; p < PROCESSES; p++) {
        char command[64];
        snprintf(command, sizeof(command), "python job%u.py", p);
        maker_process(made->maker, 3000 + 10 * (int32_t)p, p ? 0 : -1, command, p);
        for (unsigned t = 0; t < THREADS; t++)
            maker_thread(made->maker, p, 3000 + 10 * (int32_t)p + (int32_t)t, t ? "helper" : "");
    }
    while (made->left > 0) {
        unsigned thread = draw(made, PROCESSES * THREADS);
        for (int i = 0; i < 200 && made->left > 0; i++)
            step(made, thread);
        drain(made);
    }
    int64_t last = 0;
    for (unsigned i = 0; i < PROCESSES * THREADS; i++) {
        struct made_thread *t = &made->threads[i];
        last = t->now > last ? t->now : last;
    }
    for (unsigned i = 0; i < PROCESSES * THREADS; i++) {
        struct made_thread *t = &made->threads[i];
        for (t->now = last + 1; t->depth > 0; t->now++)
            pop(made, i);
    }
    for (unsigned i = 0; i < ASYNC_MAX; i++) {
        if (made->open[i].id)
            toggle_async(made, made->open[i].process * THREADS, i);
    }
    maker_finish(made->maker, last + 1000);
}

/* early() for the first second, then late() for two; side() in another thread now and then. */
static void make_rates(struct made *made)
{
    enum { PERIOD = 10101010, FIRST = 2004008, EARLY = 499, LATE = 197 };

    const char *const names[] = {"early", "late", "side"};
    struct maker_frame frame = {.kind = FRAME_PYTHON,
                                .function = "<module>",
                                .file = "/app/rates.py",
                                .line = 1,
                                .first_line = 1};
    uint32_t root = maker_stack(made->maker, 0, &frame), stacks[3];
    for (int i = 0; i < 3; i++) {
        frame.function = names[i];
        frame.line = frame.first_line = 10 * (i + 1);
        stacks[i] = maker_stack(made->maker, root, &frame);
    }
    maker_process(made->maker, 6000, -1, "python rates.py", 0);
    maker_thread(made->maker, 0, 6000, "");
    maker_thread(made->maker, 0, 6001, "helper");
    *trace_sampling(maker_trace(made->maker)) = (struct trace_sampling){
        .revision = 1, .rung = SAMPLING_BPF, .frequency_hz = 99, .first_hz = 499, .slowed = true};
    struct sample sample = {0};
    for (int i = 0; i < EARLY + LATE; i++) {
        bool late = i >= EARLY;
        int64_t cpu_ns = !late ? FIRST : i == EARLY ? PERIOD * 3 / 2 : PERIOD;
        sample.time_ns += late ? PERIOD : FIRST;
        sample.thread = 0;
        sample.stack = stacks[late];
        sample = made_cpu(sample, cpu_ns);
        maker_sample(made->maker, &sample);
        if (i % (late ? 3 : 50))
            continue;
        sample.thread = 1;
        sample.stack = stacks[2];
        maker_sample(made->maker, &sample);
    }
    maker_finish(made->maker, sample.time_ns + PERIOD);
}

static void print_tally(const struct tally *tally, const char *name, const char *parent,
                        bool *first)
{
    if (tally->count == 0)
        return;
    printf("%s\n  [\"%s\", \"%s\", %llu, %lld]", *first ? "" : ",", name, parent,
           (unsigned long long)tally->count, (long long)tally->sum_ns);
    *first = false;
}

static void print_made(const struct made *made)
{
    bool first = true;
    printf("{\"pushed\": [");
    for (unsigned name = 0; name < NAMES; name++) {
        for (unsigned parent = 0; parent <= NAMES; parent++)
            print_tally(&made->pushed[name][parent], range_names[name],
                        parent < NAMES ? range_names[parent] : "", &first);
    }
    printf("],\n\"started\": [");
    first = true;
    for (unsigned name = 0; name < NAMES; name++)
        print_tally(&made->started[name], range_names[name], "", &first);
    printf("],\n\"marks\": %llu, \"counters\": [%llu, %lld]}\n",
           (unsigned long long)made->marks.count, (unsigned long long)made->counters.count,
           (long long)made->counters.sum_ns);
}

int main(int argc, char **argv)
{
    static struct made made;
    bool random = (argc == 4 || argc == 5) && strcmp(argv[1], "random") == 0;
    bool sampled = argc == 3 && strcmp(argv[1], "sampled") == 0;
    bool sets = argc == 3 && strcmp(argv[1], "sets") == 0;
    bool heap = argc == 3 && strcmp(argv[1], "heap") == 0;
    bool rates = argc == 3 && strcmp(argv[1], "rates") == 0;
    bool sample = argc == 3 && strcmp(argv[1], "sample") == 0;
    if (!random && !sampled && !sets && !heap && !rates && !sample) {
        fprintf(stderr, "usage: make_trace sample|sampled|sets|heap|rates FILE | random FILE COUNT "
                        "[SAMPLES]\n");
        return 2;
    }
    if (random || rates)
        made.maker = maker_create();
    else
        made.maker = sampled ? sampled_trace_create()
                     : sets  ? sets_trace_create()
                     : heap  ? heap_trace_create()
                             : sample_trace_create();
    struct store_writer_options options = {.overwrite = true};
    made.error = store_writer_create(argv[2], maker_trace(made.maker), &options, &made.writer);
    if (!made.error && rates)
        make_rates(&made);
    if (!made.error && random)
        make_random(&made, strtoull(argv[3], NULL, 10),
                    argc == 5 ? strtoull(argv[4], NULL, 10) : 0);
    drain(&made);
    if (!made.error)
        made.error = store_writer_close(made.writer);
    if (made.error)
        fprintf(stderr, "%s: %s\n", argv[2], strerror(-made.error));
    else if (random)
        print_made(&made);
    maker_destroy(made.maker);
    return made.error ? 1 : 0;
}
