/* SPDX-License-Identifier: MIT */
/* Python stacks by the real BPF program, for every interpreter of this machine: both parts complete
 * and correctly joined, with names and lines; and shares of time that match the program's own
 * measurements by its threads' clocks. */
#include "machine_time.h"
#include "python_scene.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { WORKS = 4 };

static const struct bpf_program_options options = {.frequency_hz = 999, .uid = -1};

static const char *const works[WORKS] = {"work_generators", "work_callbacks", "work_recursion",
                                         "work_released"};

struct tally {
    size_t samples, both, unknown; /* unknown: a body or name is missing */
    size_t ends[2][STACK_END_COUNT];
    size_t bare;       /* Python threads without a Python frame */
    size_t wrong_root; /* complete, but the outermost frame is not a root */
    size_t guessed, entering, shifted;
    size_t compares, wrong_compares;
    size_t lines, wrong_lines;
    size_t no_gil, no_gil_bare;
    size_t share[WORKS];
    uint64_t truth[WORKS]; /* ns of CPU time */
    int64_t taken_ns;      /* from the CPUs during the test */
};

static double percent(size_t part, size_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static bool is_root(const struct named_frame *frame)
{
    return strcmp(frame->name, "<module>") == 0 || strstr(frame->name, "_bootstrap");
}

/* The last Python frame of the stack. */
static const struct named_frame *outermost(const struct named_stack *stack)
{
    for (uint32_t i = stack->count; i > 0; i--)
        if (stack->frames[i - 1].name[0])
            return &stack->frames[i - 1];
    return NULL;
}

/* Between a comparison and the sorting function there is always native code; between levels of the
 * recursion only where Python calls need C. */
static void check_places(const struct named_stack *stack, struct tally *tally)
{
    int compare = named_find(stack, "compare", 0), work = named_find(stack, "work_callbacks", 0);

    if (compare >= 0 && work >= 0) {
        tally->compares++;
        tally->wrong_compares +=
            work <= compare + 1 || stack->frames[compare + 1].name[0] || stack->unplaced;
    }
    for (int at = named_find(stack, "descend", 0); at >= 0;
         at = named_find(stack, "descend", at + 1)) {
        int caller = named_find(stack, "descend", at + 1);

        if (caller < 0)
            break;
        tally->lines++;
        tally->wrong_lines += stack->frames[caller].line != stack->frames[caller].first_line + 1 ||
                              !strstr(stack->frames[caller].file, "python_truth.py");
    }
}

static void tally_stack(const struct named_stack *stack, const struct sampler_sample *sample,
                        struct tally *tally)
{
    const struct named_frame *root = outermost(stack);

    if (!stack->known) {
        tally->unknown++;
        return;
    }
    if (sample->python_end == STACK_COMPLETE && (!root || !is_root(root))) {
        printf("    a root that is none: %s\n", root ? root->name : "no frame at all");
        tally->wrong_root++;
    }
    tally->guessed += stack->unplaced > 0;
    tally->entering += stack->evals == 1;
    tally->shifted += stack->evals > 1;
    tally->unknown += named_find(stack, "?", 0) >= 0;
    check_places(stack, tally);
    for (int i = 0; i < WORKS; i++)
        tally->share[i] += named_find(stack, works[i], 0) >= 0;
}

static void tally_sample(const struct python_scene *scene, const struct sampler_sample *sample,
                         struct tally *tally)
{
    static struct named_stack stack;
    bool gil = sample->flags & SAMPLER_HOLDS_GIL;

    tally->samples++;
    tally->ends[0][sample->native_end]++;
    tally->ends[1][sample->python_end]++;
    tally->both += sample->native_end == STACK_COMPLETE && sample->python_end == STACK_COMPLETE;
    tally->no_gil += !gil;
    if (!sample->python) {
        tally->bare++;
        tally->no_gil_bare += !gil;
        return;
    }
    python_scene_stack(scene, sample->native, sample->python, &stack);
    tally_stack(&stack, sample, tally);
}

static void take_truth(struct tally *tally, const char *line)
{
    char name[64];
    unsigned long long ns;

    if (sscanf(line, "truth %63s %llu", name, &ns) != 2)
        return;
    for (int i = 0; i < WORKS; i++)
        if (strcmp(name, works[i]) == 0)
            tally->truth[i] = ns;
}

static void run_truth(struct python_scene *scene, const struct interpreter *interpreter,
                      struct tally *tally)
{
    const char *arguments[] = {getenv("ANNOT_TEST_TRUTH"), "1", NULL};
    char line[256] = "";

    python_scene_begin(scene, interpreter, arguments, &options);
    tally->taken_ns = -machine_taken_ns();
    kill(scene->run.pid, SIGUSR1);
    while (strcmp(line, "done") != 0) {
        interpreter_line(&scene->run, line, sizeof(line));
        take_truth(tally, line);
    }
    tally->taken_ns += machine_taken_ns();
    python_scene_end(scene);
    for (size_t i = 0; i < scene->bpf.records.count; i++)
        if (scene->bpf.records.items[i]->kind == SAMPLER_SAMPLE)
            tally_sample(scene, (const void *)scene->bpf.records.items[i], tally);
}

static void show(const struct interpreter *interpreter, const struct python_scene *scene,
                 const struct tally *tally)
{
    uint64_t counters[SAMPLER_COUNTERS];

    CHECK_INT(bpf_program_counters(scene->bpf.program, counters), 0);
    printf(
        "  %s: %zu samples, %.2f %% complete on both sides, %zu bare, %zu with a wrong root, "
        "%zu guessed, %zu entering, %zu shifted, %zu unknown, %.1f %% without the GIL, "
        "%llu ns each\n",
        interpreter->text, tally->samples, percent(tally->both, tally->samples), tally->bare,
        tally->wrong_root, tally->guessed, tally->entering, tally->shifted, tally->unknown,
        percent(tally->no_gil, tally->samples),
        (unsigned long long)(counters[SAMPLER_COUNT_NS] / (counters[SAMPLER_COUNT_SAMPLES] + 1)));
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < STACK_END_COUNT; i++)
            if (i != STACK_COMPLETE && tally->ends[side][i])
                printf("    %s end %d: %zu\n", side ? "Python" : "native", i, tally->ends[side][i]);
    for (int i = 0; i < SAMPLER_LOSS_COUNT; i++)
        CHECK_INT(counters[i], 0);
}

static void check_shares(const struct tally *tally)
{
    size_t samples = 0;
    uint64_t truth = 0;

    for (int i = 0; i < WORKS; i++) {
        samples += tally->share[i];
        truth += tally->truth[i];
    }
    CHECK(truth > 0);
    /* The error of 3,000 samples is 0.8 points; of 28 comparisons one may be 2.5 times that. Time
     * taken by the machine may affect the samples of one kind of work more than others. */
    double most = 3 + 50.0 * (double)tally->taken_ns / (double)truth;
    for (int i = 0; i < WORKS; i++) {
        double told = percent(tally->share[i], samples),
               real = 100.0 * (double)tally->truth[i] / (double)truth;

        printf("    %-16s %5.2f %% of samples, %5.2f %% by its clock\n", works[i], told, real);
        if (told - real > most || real - told > most)
            test_fail(__FILE__, __LINE__, "%s: off by more than %.1f points", works[i], most);
    }
}

TEST_TIMEOUT(stacks_of_every_interpreter_are_whole_and_true, 300)
{
    struct interpreter found[INTERPRETERS_MAX];
    size_t count = interpreters_find(found);

    if (!count)
        test_skip("no CPython 3.9 or later here");
    for (size_t i = 0; i < count; i++) {
        struct python_scene scene;
        struct tally tally = {0};

        run_truth(&scene, &found[i], &tally);
        show(&found[i], &scene, &tally);
        fflush(stdout);
        CHECK(tally.samples > 1000);
        CHECK(percent(tally.both, tally.samples) >= 99.5);
        CHECK_INT(tally.wrong_root, 0);
        CHECK(percent(tally.unknown, tally.samples) <= 0.1);
        CHECK(tally.guessed + tally.shifted <= 1 + tally.samples / 1000);
        CHECK(tally.compares > 20 && tally.wrong_compares == 0);
        CHECK(tally.lines > 1000 && tally.wrong_lines == 0);
        /* A thread under creation has no frame yet: one or two of a few hundred. */
        CHECK(tally.no_gil > 100 && tally.no_gil_bare <= 2 + tally.no_gil / 200);
        check_shares(&tally);
        python_scene_close(&scene);
    }
}
