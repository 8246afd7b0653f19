/* SPDX-License-Identifier: MIT */
/* Python stacks of unusual shape, for every interpreter: deeper than the limit; during garbage
 * collection; coroutines; threads that wait with the GIL released. */
#include "python_scene.h"

static const char deep[] = "import sys, time\n"
                           "sys.setrecursionlimit(2000)\n"
                           "def spin():\n"
                           "    end = time.thread_time() + .25\n"
                           "    while time.thread_time() < end: pass\n"
                           "def down(n):\n"
                           "    return down(n - 1) if n else spin()\n"
                           "print('ready', flush=True)\n"
                           "down(600)\n"
                           "print('done', flush=True); time.sleep(99)\n";

static const char garbage[] = "import gc, time\n"
                              "gc.disable()\n"
                              "heap = [[i] for i in range(200000)]\n"
                              "def collect():\n"
                              "    for i in range(12): gc.collect()\n"
                              "def burn():\n"
                              "    end = time.thread_time() + .2\n"
                              "    while time.thread_time() < end: sum(range(50))\n"
                              "print('ready', flush=True)\n"
                              "collect(); burn()\n"
                              "print('done', flush=True); time.sleep(99)\n";

static const char coroutines[] = "import asyncio, time\n"
                                 "def spin():\n"
                                 "    end = time.thread_time() + .002\n"
                                 "    while time.thread_time() < end: pass\n"
                                 "async def inner():\n"
                                 "    await asyncio.sleep(0)\n"
                                 "    spin()\n"
                                 "async def outer():\n"
                                 "    for i in range(40): await inner()\n"
                                 "async def main():\n"
                                 "    await asyncio.gather(outer(), outer(), outer())\n"
                                 "print('ready', flush=True)\n"
                                 "asyncio.run(main())\n"
                                 "print('done', flush=True); time.sleep(99)\n";

static const char waiting[] =
    "import threading, time, zlib\n"
    "lock = threading.Lock()\n"
    "lock.acquire()\n"
    "def sleeper():\n"
    "    for i in range(50): time.sleep(.002)\n"
    "def locker():\n"
    "    for i in range(50): lock.acquire(timeout=.002)\n"
    "def packer():\n"
    "    for i in range(30): zlib.compress(bytes(300000))\n"
    "threads = [threading.Thread(target=f) for f in (sleeper, locker, packer)]\n"
    "print('ready', flush=True); time.sleep(.1)\n"
    "for thread in threads: thread.start()\n"
    "for thread in threads: thread.join()\n"
    "print('done', flush=True); time.sleep(99)\n";

static const struct bpf_program_options on_cpu = {.frequency_hz = 1999, .uid = -1};
static const struct bpf_program_options off_cpu = {.off_cpu = true, .uid = -1};

typedef void (*look_function)(const struct python_scene *scene,
                              const struct interpreter *interpreter);

static void run_all(const char *code, const struct bpf_program_options *options, look_function look)
{
    struct interpreter found[INTERPRETERS_MAX];
    size_t count = interpreters_find(found);

    if (!count)
        test_skip("no CPython 3.9 or later here");
    for (size_t i = 0; i < count; i++) {
        const char *arguments[] = {"-c", code, NULL};
        struct python_scene scene;
        char line[256] = "";

        python_scene_begin(&scene, &found[i], arguments, options);
        while (strcmp(line, "done") != 0)
            interpreter_line(&scene.run, line, sizeof(line));
        python_scene_end(&scene);
        look(&scene, &found[i]);
        python_scene_close(&scene);
    }
}

/* The next sample and its stack; NULL: at the end. */
static const struct sampler_sample *next_sample(const struct python_scene *scene, size_t *at,
                                                struct named_stack *stack)
{
    while (*at < scene->bpf.records.count) {
        const struct sampler_sample *sample = (const void *)scene->bpf.records.items[(*at)++];

        if (sample->head.kind != SAMPLER_SAMPLE || !sample->python)
            continue;
        python_scene_stack(scene, sample->native, sample->python, stack);
        CHECK(stack->known);
        return sample;
    }
    return NULL;
}

static const char *leaf_of(const struct named_stack *stack)
{
    for (uint32_t i = 0; i < stack->count; i++)
        if (stack->frames[i].name[0])
            return stack->frames[i].name;
    return "";
}

static void look_deep(const struct python_scene *scene, const struct interpreter *interpreter)
{
    static struct named_stack stack;
    const struct sampler_sample *sample;
    size_t inside = 0;

    for (size_t at = 0; (sample = next_sample(scene, &at, &stack));) {
        uint32_t levels = 0;

        if (strcmp(leaf_of(&stack), "spin") != 0)
            continue;
        inside++;
        CHECK_INT(sample->python_end, STACK_DEPTH);
        for (uint32_t i = 0; i < stack.count; i++)
            levels += strcmp(stack.frames[i].name, "down") == 0;
        CHECK(levels >= SAMPLER_PYTHON_MAX - 2 && levels == stack.python_count - 1);
    }
    printf("  %s: %zu samples below 600 levels\n", interpreter->text, inside);
    CHECK(inside > 100);
}

TEST_TIMEOUT(more_frames_than_are_taken_are_cut_and_told, 120)
{
    run_all(deep, &on_cpu, look_deep);
}

static void look_garbage(const struct python_scene *scene, const struct interpreter *interpreter)
{
    static struct named_stack stack;
    const struct sampler_sample *sample;
    size_t collect = 0, collected = 0, burn = 0, burnt = 0;

    for (size_t at = 0; (sample = next_sample(scene, &at, &stack));) {
        bool flag = sample->flags & SAMPLER_GC;

        if (strcmp(leaf_of(&stack), "collect") == 0) {
            collect++;
            collected += flag;
        } else if (strcmp(leaf_of(&stack), "burn") == 0) {
            burn++;
            burnt += flag;
        }
    }
    printf("  %s: %zu of %zu in the collector, %zu of %zu elsewhere\n", interpreter->text,
           collected, collect, burnt, burn);
    CHECK(collect > 40);
    if (scene->runtime.offsets.flags & PYTHON_FREE_THREADED)
        CHECK_INT(collected, 0); /* the collecting thread cannot be identified */
    else
        CHECK((double)collected >= 0.95 * (double)collect);
    CHECK(burn > 100);
    CHECK_INT(burnt, 0);
}

TEST_TIMEOUT(collecting_garbage_is_told, 120)
{
    run_all(garbage, &on_cpu, look_garbage);
}

static void look_coroutines(const struct python_scene *scene, const struct interpreter *interpreter)
{
    static struct named_stack stack;
    const struct sampler_sample *sample;
    size_t inside = 0;

    for (size_t at = 0; (sample = next_sample(scene, &at, &stack));) {
        int spin = named_find(&stack, "spin", 0), inner = named_find(&stack, "inner", 0);
        int outer = named_find(&stack, "outer", 0);

        if (spin < 0)
            continue;
        inside++;
        CHECK_INT(sample->python_end, STACK_COMPLETE);
        CHECK(spin < inner && inner < outer && named_find(&stack, "<module>", 0) > outer);
        CHECK(named_find(&stack, "run_until_complete", 0) > outer ||
              named_find(&stack, "BaseEventLoop.run_until_complete", 0) > outer);
        CHECK_INT(stack.frames[inner].line, 7);
        CHECK_INT(stack.frames[outer].line, 9);
    }
    printf("  %s: %zu samples in coroutines\n", interpreter->text, inside);
    CHECK(inside > 100);
}

TEST_TIMEOUT(coroutines_stand_below_those_that_await_them, 120)
{
    run_all(coroutines, &on_cpu, look_coroutines);
}

static void look_waiting(const struct python_scene *scene, const struct interpreter *interpreter)
{
    static const char *const names[] = {"sleeper", "locker", "packer"};
    static struct named_stack stack;
    size_t seen[3] = {0}, switches = 0, bare = 0, begun = 0;
    uint64_t counters[SAMPLER_COUNTERS];

    for (size_t i = 0; i < scene->bpf.records.count; i++) {
        const struct sampler_switch *stretch = (const void *)scene->bpf.records.items[i];

        if (stretch->head.kind != SAMPLER_SWITCH)
            continue;
        switches++;
        if (!stretch->python) {
            bare++;
            begun += stretch->python_end == STACK_COMPLETE ||
                     stretch->python_end == STACK_NO_THREAD || stretch->flags & SAMPLER_UNBORN;
            continue;
        }
        python_scene_stack(scene, stretch->native, stretch->python, &stack);
        for (size_t k = 0; k < 3; k++)
            seen[k] += named_find(&stack, names[k], 0) >= 0;
    }
    printf("  %s: %zu switches, %zu without frames; sleeper %zu, locker %zu, packer %zu\n",
           interpreter->text, switches, bare, seen[0], seen[1], seen[2]);
    fflush(stdout);
    CHECK_INT(bpf_program_counters(scene->bpf.program, counters), 0);
    for (int i = 0; i < SAMPLER_LOSS_COUNT; i++)
        CHECK_INT(counters[i], 0);
    CHECK_INT(counters[SAMPLER_COUNT_SWITCHES], switches);
    CHECK(seen[0] >= 20 && seen[1] >= 20); /* their frequency depends on the load */
    /* Threads that are starting or ending have no frames. */
    CHECK(bare <= 16 && bare == begun);
}

TEST_TIMEOUT(threads_that_wait_have_their_frames, 120)
{
    run_all(waiting, &off_cpu, look_waiting);
}
