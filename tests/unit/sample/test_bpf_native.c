/* SPDX-License-Identifier: MIT */
/* Native stacks by the real BPF program: deep recursion, signal handlers, threads; each up to its
 * true root, with the exact number of frames. */
#include "bpf_scene.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

enum { DEPTH = 200, THREADS = 4, HZ = 999 };

static const struct bpf_program_options options = {.frequency_hz = HZ, .uid = -1};

/* Each watched function has its own section, which gives its code a begin and an end. */
#define WATCHED(name) __attribute__((noinline, section("watched_" #name)))
#define WATCH(name)   extern const char __start_watched_##name[], __stop_watched_##name[]
WATCH(spin_leaf);
WATCH(recurse);
WATCH(handle);

WATCHED(spin_leaf) static void spin_leaf(uint64_t ns)
{
    scene_spin(ns);
    __asm__ volatile("");
}

WATCHED(recurse) static int recurse(int depth, uint64_t ns)
{
    if (depth == 0)
        spin_leaf(ns);
    else
        depth += recurse(depth - 1, ns);
    __asm__ volatile("" : "+r"(depth));
    return depth;
}

WATCHED(handle) static void handle(int signal)
{
    (void)signal;
    spin_leaf(1000000);
    __asm__ volatile("");
}

static int spin_deep(void *context)
{
    recurse(DEPTH, *(uint64_t *)context);
    return 0;
}

static void *spin_thread(void *context)
{
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};

    sigaltstack(&stack, NULL);
    for (int i = 0; i < 50; i++)
        recurse(i % 20, *(uint64_t *)context / 50);
    return NULL;
}

static int spin_threads(void *context)
{
    pthread_t threads[THREADS];
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK | SA_RESTART};
    struct itimerval every = {{0, 1000}, {0, 1000}};

    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &every, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, spin_thread, context);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

struct tally {
    size_t samples, complete, bodies, with_signal, deep_right, deep;
    size_t ends[STACK_END_COUNT];
};

static size_t frames_in(const struct sampler_part *part, const char *begin, const char *end)
{
    const struct sampler_native *frames = (const void *)(part + 1);
    size_t count = 0;

    for (size_t i = 0; i < part->count; i++)
        count += frames[i].address >= (uintptr_t)begin && frames[i].address < (uintptr_t)end;
    return count;
}

#define FRAMES_OF(part, name) frames_in(part, __start_watched_##name, __stop_watched_##name)

static void tally_sample(const struct bpf_scene *scene, const struct sampler_sample *sample,
                         struct tally *tally)
{
    const struct sampler_part *part = scene_part(scene, SAMPLER_NATIVE, sample->native);

    tally->samples++;
    tally->complete += sample->native_end == STACK_COMPLETE;
    tally->ends[sample->native_end]++;
    if (!part)
        return;
    tally->bodies++;
    tally->with_signal += FRAMES_OF(part, handle) > 0;
    if (FRAMES_OF(part, spin_leaf) == 0)
        return;
    tally->deep++;
    tally->deep_right += FRAMES_OF(part, recurse) == DEPTH + 1;
}

static struct tally sample_child(int (*work)(void *), uint64_t ns)
{
    struct bpf_scene scene = {0};
    struct scene_child child;
    struct tally tally = {0};
    uint64_t counters[SAMPLER_COUNTERS];

    scene_open(&scene, &options);
    child = scene_start(work, &ns);
    scene_load(&scene, child.pid, NULL);
    CHECK_INT(bpf_program_enable(scene.program), 0);
    scene_go(&child);
    CHECK_INT(scene_wait(&child), 0);
    CHECK_INT(bpf_program_disable(scene.program), 0);
    scene_drain(&scene);
    for (size_t i = 0; i < scene.records.count; i++) {
        if (scene.records.items[i]->kind == SAMPLER_SAMPLE)
            tally_sample(&scene, (const void *)scene.records.items[i], &tally);
    }
    CHECK_INT(bpf_program_counters(scene.program, counters), 0);
    for (int i = 0; i < SAMPLER_LOSS_COUNT; i++)
        CHECK_INT(counters[i], 0);
    CHECK_INT(counters[SAMPLER_COUNT_SAMPLES], tally.samples);
    fprintf(stderr, "%zu samples, %zu complete, %zu bodies, %llu ns each\n", tally.samples,
            tally.complete, tally.bodies,
            (unsigned long long)(counters[SAMPLER_COUNT_NS] / (tally.samples ? tally.samples : 1)));
    for (int i = 0; i < STACK_END_COUNT; i++) {
        if (i != STACK_COMPLETE && tally.ends[i])
            fprintf(stderr, "  end %d: %zu\n", i, tally.ends[i]);
    }
    scene_close(&scene);
    return tally;
}

TEST(every_program_is_verified_in_less_than_18000_instructions)
{
    struct bpf_program_options all = {.frequency_hz = HZ, .off_cpu = true, .uid = -1};
    struct bpf_scene scene = {0};
    struct bpf_program_cost cost;
    size_t count = 0;

    scene_open(&scene, &all);
    for (; bpf_program_cost(scene.program, count, &cost); count++) {
        fprintf(stderr, "%s: %u\n", cost.name, cost.verified);
        CHECK(cost.verified > 0 && cost.verified < 18000);
    }
    CHECK_INT(count, 9);
    scene_close(&scene);
}

TEST(deep_recursion_is_walked_to_its_root_frame_by_frame)
{
    struct tally tally = sample_child(spin_deep, 2000000000);

    CHECK(tally.samples > HZ * 2 * 9 / 10);
    CHECK(tally.complete * 1000 >= tally.samples * 995);
    CHECK_INT(tally.bodies, tally.samples);
    CHECK(tally.deep > tally.samples / 2);
    CHECK_INT(tally.deep_right, tally.deep);
}

TEST(threads_and_signal_handlers_are_walked_to_their_roots)
{
    struct tally tally = sample_child(spin_threads, 500000000);

    CHECK(tally.samples > HZ);
    CHECK(tally.complete * 1000 >= tally.samples * 995);
    CHECK(tally.with_signal > tally.samples / 20);
}
