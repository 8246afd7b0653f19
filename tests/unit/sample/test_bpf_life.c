/* SPDX-License-Identifier: MIT */
/* Forks, execs and exits by the real BPF program: all are reported, however short the process, and
 * the map of processes is updated. */
#include "bpf_scene.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 600, AT_ONCE = 40, THREADS = 50, SPIN_NS = 100000000 };

static const struct bpf_program_options options = {.frequency_hz = 999, .uid = -1};
extern char **environ;

/* Counts the records of a kind for a process; returns the last one in *ret_record, and its
 * index. */
static size_t find_record(const struct bpf_scene *scene, enum sampler_record_kind kind, pid_t pid,
                          const void **ret_record)
{
    size_t place = SIZE_MAX;

    *ret_record = NULL;
    for (size_t i = 0; i < scene->records.count; i++) {
        if (scene->records.items[i]->kind != kind || scene->records.items[i]->pid != pid)
            continue;
        *ret_record = scene->records.items[i];
        place = i;
    }
    return place;
}

/* A third runs a program, a third exits with a distinct status, a third is killed. */
static void short_life(int number)
{
    if (number % 3 == 0)
        execlp("true", "true", "with", "arguments", (char *)NULL);
    if (number % 3 == 1)
        _exit(number & 0x7f);
    raise(SIGKILL);
    _exit(1);
}

struct storm {
    pid_t pids[CHILDREN];
    int states[CHILDREN];
};

static void reap_one(struct storm *storm)
{
    int state;
    pid_t pid = wait(&state);

    for (int i = 0; i < CHILDREN; i++) {
        if (storm->pids[i] == pid)
            storm->states[i] = state;
    }
}

static int fork_storm(void *context)
{
    struct storm *storm = context;

    for (int i = 0; i < CHILDREN; i++) {
        pid_t pid = fork();

        if (pid == 0)
            short_life(i);
        storm->pids[i] = pid;
        if (i >= AT_ONCE)
            reap_one(storm);
    }
    for (int i = 0; i < AT_ONCE; i++)
        reap_one(storm);
    return 0;
}

static void check_life(const struct bpf_scene *scene, const struct storm *storm, int number,
                       pid_t parent)
{
    const struct sampler_fork *forked;
    const struct sampler_exec *executed;
    const struct sampler_exit *exited;
    struct sampler_process process;
    pid_t pid = storm->pids[number];
    size_t fork_place = find_record(scene, SAMPLER_FORK, pid, (const void **)&forked);
    size_t exec_place = find_record(scene, SAMPLER_EXEC, pid, (const void **)&executed);
    size_t exit_place = find_record(scene, SAMPLER_EXIT, pid, (const void **)&exited);

    CHECK(forked && exited && fork_place < exit_place);
    CHECK_INT(scene_count(scene, SAMPLER_FORK, pid), 1);
    CHECK_INT(scene_count(scene, SAMPLER_EXIT, pid), 1);
    CHECK_INT(forked->parent_pid, parent);
    CHECK_INT(forked->space, 1);
    CHECK(forked->head.process_start_ns > forked->parent_start_ns);
    CHECK_INT(exited->head.process_start_ns, forked->head.process_start_ns);
    CHECK_INT(exited->last, 1);
    CHECK_INT(exited->code, storm->states[number]);
    CHECK_INT(bpf_program_get_process(scene->program, pid, &process), -ENOENT);
    CHECK_INT(scene_count(scene, SAMPLER_EXEC, pid), number % 3 == 0);
    if (!executed)
        return;
    CHECK(fork_place < exec_place && exec_place < exit_place);
    CHECK_STR((const char *)executed->comm, "true");
    CHECK_INT(executed->command_size, sizeof("true\0with\0arguments"));
    CHECK(memcmp(executed + 1, "true\0with\0arguments", executed->command_size) == 0);
}

static void check_no_loss(const struct bpf_scene *scene)
{
    uint64_t counters[SAMPLER_COUNTERS];

    CHECK_INT(bpf_program_counters(scene->program, counters), 0);
    for (int i = 0; i < SAMPLER_LOSS_COUNT; i++)
        CHECK_INT(counters[i], 0);
}

/* Since Linux 7 the kernel skips some records while it writes others, on any CPU of the machine; it
 * counts them, and the recording reports them. Missing records are then not the program's fault. */
static void skip_if_the_kernel_did(const struct bpf_scene *scene)
{
    uint64_t counters[SAMPLER_COUNTERS];

    CHECK_INT(bpf_program_counters(scene->program, counters), 0);
    if (counters[SAMPLER_LOSS_SKIPPED])
        test_skip("this kernel skipped %d starts and ends of all processes",
                  (int)counters[SAMPLER_LOSS_SKIPPED]);
}

TEST(no_life_of_a_fork_storm_is_missed)
{
    struct bpf_scene scene = {0};
    struct storm *storm = scene_shared(sizeof(*storm));
    struct scene_child child;

    scene_open(&scene, &options);
    child = scene_start(fork_storm, storm);
    scene_load(&scene, child.pid, NULL);
    CHECK_INT(bpf_program_enable(scene.program), 0);
    scene_go(&child);
    CHECK_INT(scene_wait(&child), 0);
    scene_drain(&scene);
    skip_if_the_kernel_did(&scene);
    CHECK_INT(scene_count(&scene, SAMPLER_FORK, 0), CHILDREN);
    CHECK_INT(scene_count(&scene, SAMPLER_EXEC, 0), CHILDREN / 3);
    CHECK_INT(scene_count(&scene, SAMPLER_EXIT, 0), CHILDREN + 1);
    for (int i = 0; i < CHILDREN; i++)
        check_life(&scene, storm, i, child.pid);
    check_no_loss(&scene);
    scene_close(&scene);
}

static void *short_thread(void *context)
{
    usleep((useconds_t)(uintptr_t)context * 100);
    return NULL;
}

static int run_threads(void *context)
{
    pthread_t threads[THREADS];

    (void)context;
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, short_thread, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 7;
}

TEST(every_thread_tells_its_end_and_one_is_the_last)
{
    struct bpf_scene scene = {0};
    struct scene_child child;
    size_t last = 0;

    scene_open(&scene, &options);
    child = scene_start(run_threads, NULL);
    scene_load(&scene, child.pid, NULL);
    scene_go(&child);
    CHECK_INT(scene_wait(&child), 7 << 8);
    scene_drain(&scene);
    skip_if_the_kernel_did(&scene);
    CHECK_INT(scene_count(&scene, SAMPLER_EXIT, child.pid), THREADS + 1);
    CHECK_INT(scene_count(&scene, SAMPLER_FORK, 0), 0);
    for (size_t i = 0; i < scene.records.count; i++) {
        const struct sampler_exit *exited = (const void *)scene.records.items[i];

        if (exited->head.kind != SAMPLER_EXIT || !exited->last)
            continue;
        last++;
        CHECK_INT(exited->code, 7 << 8);
    }
    CHECK_INT(last, 1);
    scene_close(&scene);
}

/* Works, forks a child that works, then executes another program that runs a third. */
static int work_then_exec(void *context)
{
    pid_t pid = fork();

    (void)context;
    scene_spin(SPIN_NS);
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    execlp("sh", "sh", "-c", "true; i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done; exit 3",
           (char *)NULL);
    return 1;
}

TEST(a_process_that_waits_for_its_exec_is_not_sampled_before)
{
    struct sampler_process entry = {.flags = SAMPLER_WAIT_EXEC};
    struct bpf_scene scene = {0};
    struct scene_child child;
    const struct sampler_exec *executed;
    size_t place;

    scene_open(&scene, &options);
    child = scene_start(work_then_exec, NULL);
    scene_load(&scene, child.pid, &entry);
    CHECK_INT(bpf_program_enable(scene.program), 0);
    scene_go(&child);
    CHECK_INT(scene_wait(&child), 3 << 8);
    scene_drain(&scene);
    place = find_record(&scene, SAMPLER_EXEC, child.pid, (const void **)&executed);
    CHECK_INT(place, 0); /* neither a fork nor a sample precedes it */
    CHECK_STR((const char *)executed->comm, "sh");
    CHECK(scene_count(&scene, SAMPLER_SAMPLE, child.pid) >= 10);
    CHECK_INT(scene_count(&scene, SAMPLER_EXIT, child.pid), 1);
    check_no_loss(&scene);
    scene_close(&scene);
}

/* While the ring is half full, stacks are not copied: drains it continuously, for slow machines. */
static int drain_until_it_ends(struct bpf_scene *scene, const struct scene_child *child)
{
    int status = 0;

    while (waitpid(child->pid, &status, WNOHANG) == 0) {
        scene_drain(scene);
        usleep(5000);
    }
    scene_drain(scene);
    return status;
}

/* Samples from `begin_ns` on: each has a copy of its stack, mappings were not used. */
static size_t count_copied(const struct bpf_scene *scene, uint64_t begin_ns)
{
    size_t samples = 0;

    for (size_t i = 0; i < scene->records.count; i++) {
        const struct sampler_sample *sample = (const void *)scene->records.items[i];

        if (sample->head.kind != SAMPLER_SAMPLE || sample->head.time_ns < begin_ns)
            continue;
        CHECK_INT(sample->space, 0);
        if (sample->native == 0) /* still in the kernel, without a stack */
            continue;
        samples++;
        CHECK(sample->flags & SAMPLER_COPIED);
        CHECK(scene_part(scene, SAMPLER_COPY, sample->native));
    }
    return samples;
}

TEST(a_new_image_is_sampled_with_a_copy_of_its_stack)
{
    struct bpf_scene scene = {0};
    struct scene_child child;
    const struct sampler_exec *executed;

    scene_open(&scene, &options);
    child = scene_start(work_then_exec, NULL);
    scene_load(&scene, child.pid, NULL);
    CHECK_INT(bpf_program_enable(scene.program), 0);
    scene_go(&child);
    CHECK_INT(drain_until_it_ends(&scene, &child), 3 << 8);
    find_record(&scene, SAMPLER_EXEC, child.pid, (const void **)&executed);
    CHECK(executed);
    CHECK(count_copied(&scene, executed->head.time_ns) >= 10);
    scene_close(&scene);
}

/* A busy collector reads an exec late, and writes an entry before that. */
TEST(values_that_were_written_for_the_image_before_an_exec_are_not_used)
{
    struct bpf_scene scene = {0};
    struct scene_child child;
    const struct sampler_exec *executed = NULL;
    struct sampler_process late;

    scene_open(&scene, &options);
    child = scene_start(work_then_exec, NULL);
    scene_load(&scene, child.pid, NULL);
    CHECK_INT(bpf_program_get_process(scene.program, child.pid, &late), 0);
    CHECK_INT(bpf_program_enable(scene.program), 0);
    scene_go(&child);
    while (!executed) {
        usleep(1000);
        scene_drain(&scene);
        find_record(&scene, SAMPLER_EXEC, child.pid, (const void **)&executed);
    }
    CHECK_INT(late.space, 1);
    late.image = executed->image - 1;
    CHECK_INT(bpf_program_set_process(scene.program, child.pid, &late, true), 0);
    CHECK_INT(drain_until_it_ends(&scene, &child), 3 << 8);
    CHECK(count_copied(&scene, executed->head.time_ns) >= 10);
    scene_close(&scene);
}

static int spawn_many(void *context)
{
    char *arguments[] = {(char *)"true", NULL};

    for (int i = 0; i < 50; i++) {
        pid_t pid;

        if (posix_spawnp(&pid, "true", NULL, NULL, arguments, environ) != 0)
            return 1;
        waitpid(pid, NULL, 0);
    }
    return context != NULL;
}

TEST(children_that_share_their_parents_memory_are_followed_too)
{
    struct bpf_scene scene = {0};
    struct scene_child child;

    scene_open(&scene, &options);
    child = scene_start(spawn_many, NULL);
    scene_load(&scene, child.pid, NULL);
    scene_go(&child);
    CHECK_INT(scene_wait(&child), 0);
    scene_drain(&scene);
    CHECK_INT(scene_count(&scene, SAMPLER_FORK, 0), 50);
    CHECK_INT(scene_count(&scene, SAMPLER_EXEC, 0), 50);
    CHECK_INT(scene_count(&scene, SAMPLER_EXIT, 0), 51);
    scene_close(&scene);
}

static void *exec_in_thread(void *context)
{
    usleep(20000);
    execlp("sh", "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 4",
           (char *)NULL);
    return context;
}

static int exec_beside_others(void *context)
{
    pthread_t threads[4];

    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, short_thread, (void *)(uintptr_t)1000000);
    pthread_create(&threads[3], NULL, exec_in_thread, context);
    pthread_join(threads[3], NULL);
    return 1;
}

TEST(a_thread_that_execs_takes_its_process_along)
{
    struct bpf_scene scene = {0};
    struct scene_child child;
    const struct sampler_exec *executed;
    const struct sampler_exit *exited;
    size_t place, after = 0;

    scene_open(&scene, &options);
    child = scene_start(exec_beside_others, NULL);
    scene_load(&scene, child.pid, NULL);
    CHECK_INT(bpf_program_enable(scene.program), 0);
    scene_go(&child);
    CHECK_INT(scene_wait(&child), 4 << 8);
    scene_drain(&scene);
    place = find_record(&scene, SAMPLER_EXEC, child.pid, (const void **)&executed);
    CHECK(executed);
    CHECK_INT(executed->head.tid, child.pid);
    for (size_t i = place; i < scene.records.count; i++)
        after += scene.records.items[i]->kind == SAMPLER_SAMPLE &&
                 scene.records.items[i]->tid == child.pid;
    CHECK(after >= 5);
    find_record(&scene, SAMPLER_EXIT, child.pid, (const void **)&exited);
    CHECK_INT(exited->last, 1);
    CHECK_INT(exited->code, 4 << 8);
    check_no_loss(&scene);
    scene_close(&scene);
}
