/* SPDX-License-Identifier: MIT */
/* Open ranges by the real BPF program, from a live record with libannot's layout: depth and
 * entries, records of other threads, forks. */
#include "bpf_scene.h"

#include "annot_wire.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SPIN_NS = 100000000 };

static const struct bpf_program_options options = {.frequency_hz = 999, .uid = -1};
static _Thread_local struct annot_thread *volatile live_word;
static struct annot_thread *live_record; /* in shared memory, like libannot's */

static int64_t tls_offset(void)
{
    uint64_t thread_pointer;

    __asm__("mov %%fs:0, %0" : "=r"(thread_pointer));
    return (int64_t)((uint64_t)(uintptr_t)&live_word - thread_pointer);
}

/* In turn: outermost and inner range of a track; range of the thread, with and without a record. */
static struct annot_open open_range(uint32_t number)
{
    static const uint64_t times[] = {ANNOT_OPEN_TRACK_OUTERMOST, ANNOT_OPEN_TRACK_INNER, 0,
                                     UINT64_C(5) << 32 | ANNOT_OPEN_TRACK_INNER};
    return (struct annot_open){
        .name = 1000 + number, .instance = number % 4 == 2 ? number : 0, .time = times[number % 4]};
}

/* Ranges 1000 .. 1000 + depth - 1 are open, 1000 the outermost. */
static void open_ranges(uint32_t depth)
{
    live_record->pid = getpid();
    live_record->tid = (int32_t)syscall(SYS_gettid);
    for (uint32_t i = 0; i < depth; i++)
        live_record->live[i % ANNOT_LIVE_DEPTH] = open_range(i);
    live_record->depth = depth;
    live_word = live_record;
}

static int spin_in_ranges(void *context)
{
    open_ranges(*(uint32_t *)context);
    scene_spin(SPIN_NS);
    return 0;
}

static int spin_without_word(void *context)
{
    live_word = context;
    scene_spin(SPIN_NS);
    return 0;
}

static int spin_half_made(void *context)
{
    open_ranges(3);
    live_record->tid = 0;
    scene_spin(SPIN_NS);
    return context == NULL;
}

static int spin_at_nowhere(void *context)
{
    (void)context;
    live_word = (struct annot_thread *)(uintptr_t)0x123450;
    scene_spin(SPIN_NS);
    return 0;
}

static int fork_in_ranges(void *context)
{
    pid_t pid;

    open_ranges(*(uint32_t *)context);
    pid = fork();
    if (pid == 0) {
        scene_spin(SPIN_NS);
        _exit(0);
    }
    live_record->depth = 0;
    waitpid(pid, NULL, 0);
    return 0;
}

/* The scene after `work` has run, sampled with a known address of the word. */
static pid_t run(struct bpf_scene *scene, int (*work)(void *), void *context)
{
    struct sampler_process entry = {.tls_offset = tls_offset()};
    struct scene_child child;

    *scene = (struct bpf_scene){0};
    live_record = scene_shared(sizeof(*live_record));
    scene_open(scene, &options);
    child = scene_start(work, context);
    scene_load(scene, child.pid, &entry);
    CHECK_INT(bpf_program_enable(scene->program), 0);
    scene_go(&child);
    CHECK_INT(scene_wait(&child), 0);
    scene_drain(scene);
    return child.pid;
}

static void check_entries(const struct sampler_range *ranges, uint32_t depth)
{
    for (uint32_t i = 0; i < depth && i < SAMPLER_RANGES_MAX; i++) {
        uint32_t number = depth - 1 - i, mark = ranges[i].mark;

        CHECK_INT(ranges[i].name, 1000 + number);
        CHECK_INT(mark == SAMPLER_MARK_OUTERMOST, number % 4 == 0);
        CHECK_INT(mark == SAMPLER_MARK_INNER, number % 4 == 1);
    }
}

/* Counts samples with these bits of SAMPLER_RANGES_* and this depth. */
static size_t count_samples(const struct bpf_scene *scene, pid_t pid, uint32_t flags,
                            uint32_t depth)
{
    const uint32_t mask = SAMPLER_RANGES_KNOWN | SAMPLER_RANGES_INHERITED;
    const uint32_t told = depth < SAMPLER_RANGES_MAX ? depth : SAMPLER_RANGES_MAX;
    size_t count = 0;

    for (size_t i = 0; i < scene->records.count; i++) {
        const struct sampler_sample *sample = (const void *)scene->records.items[i];

        if (sample->head.kind != SAMPLER_SAMPLE || sample->head.pid != pid ||
            (sample->flags & mask) != flags || sample->range_depth != depth)
            continue;
        CHECK_INT(sample->head.size,
                  offsetof(struct sampler_sample, ranges) + told * sizeof(struct sampler_range));
        check_entries(sample->ranges, depth);
        count++;
    }
    return count;
}

/* Nearly all samples have this form; the first may precede the setting of the word. */
static void check_samples(const struct bpf_scene *scene, pid_t pid, uint32_t flags, uint32_t depth)
{
    size_t all = scene_count(scene, SAMPLER_SAMPLE, pid);

    CHECK(all > SPIN_NS / 1000000 / 2); /* a busy machine's clock may be late */
    CHECK(count_samples(scene, pid, flags, depth) * 100 >= all * 95);
}

TEST(samples_carry_the_open_ranges_innermost_first)
{
    const uint32_t depths[] = {1, 2, 31, 32, 33, 100};

    for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
        struct bpf_scene scene;
        uint32_t depth = depths[i];
        pid_t pid = run(&scene, spin_in_ranges, &depth);

        check_samples(&scene, pid, SAMPLER_RANGES_KNOWN, depth);
        scene_close(&scene);
    }
}

TEST(a_thread_without_a_record_has_no_open_range)
{
    struct bpf_scene scene;
    pid_t pid = run(&scene, spin_without_word, NULL);

    check_samples(&scene, pid, SAMPLER_RANGES_KNOWN, 0);
    scene_close(&scene);
}

TEST(a_record_that_is_being_made_is_unknown)
{
    struct bpf_scene scene;
    pid_t pid = run(&scene, spin_half_made, &scene);

    check_samples(&scene, pid, 0, 0);
    scene_close(&scene);
}

/* As in a forked child that has not touched the memory it shares. */
TEST(a_record_that_cannot_be_read_counts_as_inherited)
{
    struct bpf_scene scene;
    pid_t pid = run(&scene, spin_at_nowhere, NULL);

    check_samples(&scene, pid, SAMPLER_RANGES_INHERITED, 0);
    scene_close(&scene);
}

TEST(a_forked_child_inherits_the_ranges_of_the_moment)
{
    struct bpf_scene scene;
    uint32_t depth = 5;
    pid_t pid = run(&scene, fork_in_ranges, &depth);
    size_t forks = 0;

    for (size_t i = 0; i < scene.records.count; i++) {
        const struct sampler_fork *forked = (const void *)scene.records.items[i];

        if (forked->head.kind != SAMPLER_FORK)
            continue;
        forks++;
        CHECK_INT(forked->parent_pid, pid);
        CHECK_INT(forked->flags, SAMPLER_RANGES_KNOWN);
        CHECK_INT(forked->range_depth, depth);
        check_entries(forked->ranges, depth);
        check_samples(&scene, forked->head.pid, SAMPLER_RANGES_INHERITED, 0);
    }
    CHECK_INT(forks, 1);
    scene_close(&scene);
}
