/* SPDX-License-Identifier: MIT */
/* The cost of the BPF programs by the kernel's own count: nanoseconds a sample by the kind of
 * stack, nanoseconds a stretch off the CPU (leaving and entering), of tasks that are not recorded;
 * and of starting, with the number of verified instructions and the time of the verification.
 *
 *     bench_bpf [-n] [start] [native] [python] [switches] [switches_python]
 *
 * The program runs on the last processor, the bench on the others. Each value is the median over
 * short windows, and the limit of the tenth part of them that others disturbed least; runs for
 * other tasks are subtracted at their measured cost. Of Python, each interpreter that is found
 * (tests/lib/interpreters.h). */
#include "bpf_program.h"
#include "python_scene.h"

#include <bpf/bpf.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WINDOWS = 80, WINDOW_US = 25000, SETTLE_US = 100000, HZ = 999 };

struct reading {
    uint64_t runs, run_ns, counters[SAMPLER_COUNTERS];
    uint64_t parts; /* bodies of stacks that were sent */
};

static double untracked_ns; /* a run for a task that is not recorded */

/* ---- Measuring --------------------------------------------------------------------------------
 */

static void pin(pid_t pid, bool last)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t set;

    CPU_ZERO(&set);
    for (long cpu = 0; cpu < count; cpu++)
        if (count == 1 || (cpu == count - 1) == last)
            CPU_SET((size_t)cpu, &set);
    CHECK_INT(sched_setaffinity(pid, sizeof(set), &set), 0);
}

static int count_part(void *context, const struct sampler_head *record)
{
    *(uint64_t *)context += record->kind >= SAMPLER_KERNEL && record->kind <= SAMPLER_COPY;
    return 0;
}

/* A counted unit: by `counter` of the program, which runs `runs_each` times for one; the programs
 * of `beside` take part in it. */
struct unit {
    const char *program, *beside[2];
    int counter, runs_each;
};

static struct reading read_now(const struct bpf_scene *scene, const struct unit *unit)
{
    struct reading now = {0};
    struct bpf_program_cost cost;

    for (size_t i = 0; bpf_program_cost(scene->program, i, &cost); i++) {
        bool main = strcmp(cost.name, unit->program) == 0, counted = main;

        for (size_t k = 0; k < 2 && unit->beside[k] && !counted; k++)
            counted = strcmp(cost.name, unit->beside[k]) == 0;
        now.runs += main ? cost.runs : 0;
        now.run_ns += counted ? cost.run_ns : 0;
    }
    CHECK_INT(bpf_program_counters(scene->program, now.counters), 0);
    CHECK_INT(bpf_program_drain(scene->program, bpf_program_position(scene->program), count_part,
                                &now.parts),
              0);
    return now;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

#define SWITCHING "sampler_switched", {"sampler_returned", "sampler_woken"}, SAMPLER_COUNT_SWITCHES

static const struct unit tick = {"sampler_tick", {0}, SAMPLER_COUNT_SAMPLES, 1};
static const struct unit stretch = {SWITCHING, 2};
/* Two threads on one CPU: one leaves and the other one enters in one run. */
static const struct unit exchange = {SWITCHING, 1};

/* Nanoseconds of one unit; -1 without any. */
static double cost_between(const struct reading *before, const struct reading *after,
                           const struct unit *unit)
{
    double ns = (double)(after->run_ns - before->run_ns);
    uint64_t runs = after->runs - before->runs;
    uint64_t units = after->counters[unit->counter] - before->counters[unit->counter];
    uint64_t own = units * (uint64_t)unit->runs_each;

    return units ? (ns - (double)(runs > own ? runs - own : 0) * untracked_ns) / (double)units : -1;
}

static void measure(const struct bpf_scene *scene, const struct unit *unit)
{
    struct reading first = read_now(scene, unit), before = first, after;
    double ns[WINDOWS];
    uint64_t parts = 0, units;
    int windows = 0;

    for (int i = 0; i < WINDOWS; i++) {
        usleep(WINDOW_US);
        after = read_now(scene, unit);
        ns[windows] = cost_between(&before, &after, unit);
        windows += ns[windows] >= 0;
        parts += after.parts;
        before = after;
    }
    CHECK(windows > 0);
    units = after.counters[unit->counter] - first.counters[unit->counter];
    qsort(ns, (size_t)windows, sizeof(ns[0]), compare);
    printf("%7.0f ns, a quiet moment's %7.0f (%llu, %.2f parts sent each)\n", ns[windows / 2],
           ns[windows / 10], (unsigned long long)units, (double)parts / (double)units);
    fflush(stdout);
}

static int count_runs(void)
{
    int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

    if (fd < 0)
        test_skip("the kernel does not count runs of BPF programs");
    return fd;
}

/* The cost of a run for others: for a child that is not recorded. */
static void measure_untracked(const struct bpf_program_options *options, const struct unit *unit,
                              int (*work)(void *context))
{
    struct bpf_scene scene = {0};
    struct reading before, after;
    struct scene_child child;
    int depth = 4;

    scene_open(&scene, options);
    child = scene_start(work, &depth);
    pin(child.pid, true);
    scene_go(&child);
    bpf_program_enable(scene.program);
    before = read_now(&scene, unit);
    usleep(WINDOWS * WINDOW_US);
    after = read_now(&scene, unit);
    untracked_ns = (double)(after.run_ns - before.run_ns) / (double)(after.runs - before.runs);
    printf("%-44s%7.0f ns\n", "a task that is not recorded", untracked_ns);
    scene_wait(&child);
    scene_close(&scene);
}

/* ---- Native -----------------------------------------------------------------------------------
 */

__attribute__((noinline)) static int spin_at_depth(int depth)
{
    if (depth == 0)
        scene_spin(UINT64_C(2500000000));
    else
        depth += spin_at_depth(depth - 1);
    __asm__ volatile("" : "+r"(depth));
    return depth;
}

static int spin_deep(void *context)
{
    spin_at_depth(*(int *)context);
    return 0;
}

__attribute__((noinline)) static int sleep_at_depth(int depth)
{
    uint64_t end = scene_now_ns() + UINT64_C(2500000000);

    if (depth > 0)
        depth += sleep_at_depth(depth - 1);
    else
        while (scene_now_ns() < end)
            usleep(100);
    __asm__ volatile("" : "+r"(depth));
    return depth;
}

static int sleep_deep(void *context)
{
    sleep_at_depth(*(int *)context);
    return 0;
}

static void measure_native(const struct bpf_program_options *options, int depth, const char *what)
{
    const bool switches = options->off_cpu;
    struct bpf_scene scene = {0};
    struct scene_child child;

    scene_open(&scene, options);
    child = scene_start(switches ? sleep_deep : spin_deep, &depth);
    pin(child.pid, true);
    scene_load(&scene, child.pid, NULL);
    scene_go(&child);
    bpf_program_enable(scene.program);
    printf("C, %3d frames%-31s", depth + 8, what);
    measure(&scene, switches ? &stretch : &tick);
    scene_wait(&child);
    scene_close(&scene);
}

/* ---- Python -----------------------------------------------------------------------------------
 */

/* Functions of different names, one calling the next; the innermost works for ever. */
static const char deep[] = "import sys, time\n"
                           "depth = int(sys.argv[1])\n"
                           "def work():\n"
                           " print('ready', flush=True)\n"
                           " while True:\n"
                           "  %s\n"
                           "call = work\n"
                           "for i in range(depth - 2):\n"
                           " names = {'call': call}\n"
                           " exec(f'def function_{i}(): return call()', names)\n"
                           " call = names[f'function_{i}']\n"
                           "call()\n";

/* Two threads exchange a byte over pipes, twelve frames deep. */
static const char pong[] = "import os, threading\n"
                           "a, b = os.pipe(), os.pipe()\n"
                           "def deep(work, depth):\n"
                           " deep(work, depth - 1) if depth else work()\n"
                           "def echo():\n"
                           " while os.read(a[0], 1):\n"
                           "  os.write(b[1], b'x')\n"
                           "def call():\n"
                           " print('ready', flush=True)\n"
                           " while True:\n"
                           "  os.write(a[1], b'x')\n"
                           "  os.read(b[0], 1)\n"
                           "threading.Thread(target=deep, args=(echo, 7), daemon=True).start()\n"
                           "deep(call, 9)\n";

static const char load[] = "import sys, runpy\n"
                           "print('ready', flush=True)\n"
                           "sys.argv = [sys.argv[1], '1000']\n"
                           "runpy.run_path(sys.argv[0], run_name='__main__')\n";

/* `program`: its text and its argument. */
static void measure_python(const struct interpreter *interpreter, const char *what,
                           const char *const program[2], const struct unit *unit)
{
    const bool switches = unit != &tick;
    const struct bpf_program_options options = {
        .frequency_hz = switches ? 0 : HZ, .off_cpu = switches, .uid = -1};
    static struct python_scene scene;

    python_scene_begin(&scene, interpreter, (const char *[]){"-c", program[0], program[1], NULL},
                       &options);
    pin(scene.run.pid, true);
    usleep(SETTLE_US);
    printf("%-8s %-35s", interpreter->text, what);
    measure(&scene.bpf, unit);
    python_scene_end(&scene);
    python_scene_close(&scene);
}

/* Of that many frames, busy or, with `work`, doing that. */
static void measure_deep(const struct interpreter *interpreter, const char *depth, const char *work,
                         const struct unit *unit)
{
    char program[sizeof(deep) + 64], what[32];

    snprintf(program, sizeof(program), deep, work);
    snprintf(what, sizeof(what), "%s Python frames", depth);
    measure_python(interpreter, what, (const char *const[]){program, depth}, unit);
}

/* ---- Measurements ---------------------------------------------------------------------------- */

enum { STARTS = 15, PARTS = 12, TIMES = sizeof(struct bpf_program_times) / sizeof(uint64_t) };

static void print_times(double ms[STARTS], const char *name, uint32_t verified)
{
    qsort(ms, STARTS, sizeof(ms[0]), compare);
    printf("  %-20s%8.2f ms, fastest %6.2f", name, ms[STARTS / 2], ms[0]);
    if (verified)
        printf(", %u instructions verified", verified);
    printf("\n");
}

/* Duration of bpf_program_create(), part by part, and of each program's verification. */
static void measure_start(const char *name, bool off_cpu)
{
    static const char *const phases[TIMES] = {"open (libbpf)",   "types (BTF)", "maps, waited for",
                                              "maps, 2 threads", "load",        "attach"};
    const struct bpf_program_options options = {
        .frequency_hz = 99, .off_cpu = off_cpu, .uid = -1, .ring_bytes = 4 << 20, .measure = true};
    double times[TIMES][STARTS], verify[PARTS][STARTS];
    char names[PARTS][32];
    uint32_t verified[PARTS];
    size_t count = 0;

    for (size_t i = 0; i < STARTS; i++) {
        struct bpf_scene scene = {0};
        struct bpf_program_times took;
        struct bpf_program_cost part;

        scene_open(&scene, &options);
        bpf_program_times(scene.program, &took);
        for (size_t k = 0; k < TIMES; k++)
            times[k][i] = (double)((const uint64_t *)&took)[k] / 1e6;
        for (count = 0; count < PARTS && bpf_program_cost(scene.program, count, &part); count++) {
            snprintf(names[count], sizeof(names[count]), "%s", part.name);
            verified[count] = part.verified;
            verify[count][i] = (double)part.verify_ns / 1e6;
        }
        scene_close(&scene);
    }
    printf("%s: medians of %d\n", name, STARTS);
    for (size_t k = 0; k < TIMES; k++)
        print_times(times[k], phases[k], 0);
    for (size_t k = 0; k < count; k++)
        print_times(verify[k], names[k], verified[k]);
}

TEST(start)
{
    measure_start("samples", false);
    measure_start("samples and waits", true);
}

static const struct bpf_program_options ticks = {.frequency_hz = HZ, .uid = -1};
static const struct bpf_program_options switching = {.off_cpu = true, .uid = -1};
static const struct bpf_program_options leaving = {
    .off_cpu = true, .uid = -1, .walks_at_leave = true};
static const struct bpf_program_options seldom = {
    .off_cpu = true, .uid = -1, .off_cpu_threshold_ns = 1000000};

TEST(native)
{
    int fd = count_runs();

    pin(0, false);
    measure_untracked(&ticks, &tick, spin_deep);
    for (int depth = 4; depth <= 200; depth += depth == 4 ? 46 : 150)
        measure_native(&ticks, depth, "");
    close(fd);
}

TEST_TIMEOUT(python, 300)
{
    struct interpreter found[INTERPRETERS_MAX];
    size_t count = interpreters_find(found);
    int fd = count_runs();

    pin(0, false);
    measure_untracked(&ticks, &tick, spin_deep);
    for (size_t i = 0; i < count; i++) {
        measure_deep(&found[i], "12", "pass", &tick);
        measure_deep(&found[i], "60", "pass", &tick);
        measure_python(&found[i], "mixed work", (const char *const[]){load, BENCH_LOAD}, &tick);
    }
    close(fd);
}

TEST(switches)
{
    int fd = count_runs();

    pin(0, false);
    measure_untracked(&switching, &stretch, sleep_deep);
    measure_native(&switching, 4, "");
    measure_native(&leaving, 4, ", walked when they leave");
    measure_native(&seldom, 4, ", shorter than the threshold");
    close(fd);
}

TEST_TIMEOUT(switches_python, 300)
{
    struct interpreter found[INTERPRETERS_MAX];
    size_t count = interpreters_find(found);
    int fd = count_runs();

    pin(0, false);
    measure_untracked(&switching, &stretch, sleep_deep);
    for (size_t i = 0; i < count; i++) {
        measure_deep(&found[i], "12", "time.sleep(0.0001)", &stretch);
        measure_python(&found[i], "threads over pipes", (const char *const[]){pong, NULL},
                       &exchange);
    }
    close(fd);
}
