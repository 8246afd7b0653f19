/* SPDX-License-Identifier: MIT */
/* Samples during the entry and exit of the eval function contain no false frames. Takes thousands
 * of samples a second of a program with known calls: each Python frame must have been called by the
 * one below it, with C code between them exactly where the program has it. */
#include "python_scene.h"

#include <signal.h>
#include <stdlib.h>

static const struct bpf_program_options options = {.frequency_hz = 4999, .uid = -1};

/* "callee caller", by last names: all calls that the work under `burn` makes. */
static const char *const calls[] = {"inner_generator outer_generator",
                                    "inner_generator <genexpr>",
                                    "<genexpr> outer_generator",
                                    "<genexpr> work_callbacks",
                                    "outer_generator work_generators",
                                    "small_key work_callbacks",
                                    "small_key add_up",
                                    "add_up work_callbacks",
                                    "compare work_callbacks",
                                    "<lambda> work_callbacks",
                                    "descend descend",
                                    "descend work_recursion",
                                    "work_generators burn",
                                    "work_callbacks burn",
                                    "work_recursion burn",
                                    "work_released burn"};

struct range {
    uint64_t begin, end;
};

/* Address range of the C library's code. */
static struct range libc_range(pid_t pid)
{
    char path[64], line[4200];
    unsigned long begin, end;
    struct range range = {0};
    FILE *maps;

    snprintf(path, sizeof(path), "/proc/%d/maps", pid);
    maps = fopen(path, "re");
    CHECK(maps);
    while (fgets(line, sizeof(line), maps))
        if (strstr(line, "/libc.so.6") && sscanf(line, "%lx-%lx r-xp", &begin, &end) == 2 &&
            strstr(line, "r-xp"))
            range = (struct range){begin, end};
    fclose(maps);
    return range;
}

static const char *plain(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot ? dot + 1 : name;
}

static bool is_possible(const char *callee, const char *caller)
{
    char call[600];

    snprintf(call, sizeof(call), "%s %s", callee, caller);
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (strcmp(calls[i], call) == 0)
            return true;
    return false;
}

/* Index of the Python frame below `at`; count: missing. `through`: libc is in between. */
static uint32_t next_python(const struct named_stack *stack, uint32_t at, struct range libc,
                            bool *through)
{
    *through = false;
    for (at++; at < stack->count && !stack->frames[at].name[0]; at++)
        *through |= stack->frames[at].address >= libc.begin && stack->frames[at].address < libc.end;
    return at;
}

/* False if the stack contains an impossible call. */
static bool is_true(const struct named_stack *stack, struct range libc)
{
    int end = named_find(stack, "burn", 0);
    uint32_t at = 0;
    bool through;

    if (end < 0)
        return true;
    if (!stack->frames[0].name[0])
        at = next_python(stack, 0, libc, &through);
    while (at < (uint32_t)end) {
        uint32_t caller = next_python(stack, at, libc, &through);
        const char *name = plain(stack->frames[at].name);

        if (!is_possible(name, plain(stack->frames[caller].name)) ||
            through != (strcmp(name, "compare") == 0)) {
            fprintf(stderr, "    %s called by %s, %s libc\n", name,
                    plain(stack->frames[caller].name), through ? "through" : "not through");
            return false;
        }
        at = caller;
    }
    return true;
}

static void check(const struct python_scene *scene, const struct interpreter *interpreter,
                  struct range libc)
{
    static struct named_stack stack;
    size_t ends[STACK_END_COUNT] = {0}, samples = 0, bare = 0, untrue = 0, complete = 0,
           entering = 0;

    for (size_t i = 0; i < scene->bpf.records.count; i++) {
        const struct sampler_sample *sample = (const void *)scene->bpf.records.items[i];

        if (sample->head.kind != SAMPLER_SAMPLE)
            continue;
        samples++;
        complete += sample->python_end == STACK_COMPLETE;
        if (sample->python_end != STACK_COMPLETE)
            ends[sample->python_end]++;
        bare += !sample->python;
        if (!sample->python || sample->native_end != STACK_COMPLETE)
            continue;
        python_scene_stack(scene, sample->native, sample->python, &stack);
        entering += stack.evals > 0;
        untrue += stack.known && !is_true(&stack, libc);
    }
    printf("  %s: %zu samples, %.2f %% of Python stacks complete, %zu in a call just being made, "
           "%zu bare, %zu untrue\n",
           interpreter->text, samples, 100.0 * (double)complete / (double)samples, entering, bare,
           untrue);
    for (unsigned i = 0; i < STACK_END_COUNT; i++)
        if (ends[i])
            printf("    Python end %u: %zu\n", i, ends[i]);
    fflush(stdout);
    CHECK(samples > 5000);
    CHECK((double)complete >= 0.995 * (double)samples);
    CHECK_INT(untrue, 0);
    CHECK(ends[STACK_TORN] <= samples / 5000 && bare <= samples / 500);
}

TEST_TIMEOUT(calls_being_made_show_nothing_untrue, 300)
{
    struct interpreter found[INTERPRETERS_MAX];
    size_t count = interpreters_find(found);

    if (!count)
        test_skip("no CPython 3.9 or later here");
    for (size_t i = 0; i < count; i++) {
        const char *arguments[] = {getenv("ANNOT_TEST_TRUTH"), "1", NULL};
        struct python_scene scene;
        struct range libc;
        char line[256] = "";

        python_scene_begin(&scene, &found[i], arguments, &options);
        libc = libc_range(scene.run.pid);
        CHECK(libc.end);
        kill(scene.run.pid, SIGUSR1);
        while (strcmp(line, "done") != 0) {
            interpreter_line(&scene.run, line, sizeof(line));
            scene_drain(&scene.bpf);
        }
        python_scene_end(&scene);
        check(&scene, &found[i], libc);
        python_scene_close(&scene);
    }
}
