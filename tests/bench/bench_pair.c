/* SPDX-License-Identifier: MIT */
/* The cost of an event, in one run, as ratios to the floor: two time stamps and two 16-byte stores.
 *
 * Slices of all cases alternate, so that a change of clock speed or load meets them all alike. A
 * slice is a burst of at most half the pool; between slices the pool is emptied, so that
 * "undrained" never meets an empty pool. "Drained" runs beside a thread that takes blocks as the
 * collector does. Prints a table, and JSON to the file named by ANNOT_BENCH_JSON. */
#include "arena.h"
#include "bench_floor.h"
#include "bench_pairs.h"
#include "test.h"

#include <annot/watch.h>
#include <annot_barrier.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLICES = 400, PAIRS = 4000, CASES_MAX = 24 };

struct measured {
    const char *name;
    void (*run)(int pairs);
    double budget; /* times the reference; 0 = only reported */
    const char *reference;
    double ns[SLICES];
    double min, median;
};

static struct mapped segment;
static struct seen drained;

static void run_counter(int pairs)
{
    for (int i = 0; i < pairs; i++)
        ANNOT_COUNTER("bench counter", i);
}

static void run_mark(int pairs)
{
    for (int i = 0; i < pairs; i++)
        ANNOT_MARK("bench mark");
}

static annot_name payload_name;

static void run_payload(int pairs)
{
    for (int i = 0; i < pairs; i++) {
        struct annot_event event = {.name = payload_name, .payload_kind = ANNOT_PAYLOAD_INT64};
        event.payload.int64 = i;
        annot_push_event(&event);
        annot_pop();
    }
}

static void run_start_end(int pairs)
{
    for (int i = 0; i < pairs; i++)
        annot_end(annot_start("bench range"));
}

static void run_deep(int pairs)
{
    for (int i = 0; i < 40; i++)
        ANNOT_PUSH("level");
    run_macro(pairs - 40);
    for (int i = 0; i < 40; i++)
        annot_pop();
}

static void run_flow(int pairs)
{
    for (int i = 0; i < pairs; i++)
        annot_flow_begin((annot_flow)i + 1, "bench flow");
}

static void run_flow_step(int pairs)
{
    for (int i = 0; i < pairs; i++)
        annot_flow_step((annot_flow)i + 1);
}

static void run_flow_new(int pairs)
{
    for (int i = 0; i < pairs; i++)
        annot_flow_begin(annot_flow_new(), "bench flow");
}

static void run_mark_text(int pairs)
{
    for (int i = 0; i < pairs; i++)
        annot_mark("bench mark by text");
}

static void run_counter_text(int pairs)
{
    for (int i = 0; i < pairs; i++)
        annot_counter("bench counter by text", i);
}

static void run_counters(int pairs)
{
    for (int i = 0; i < pairs; i++) {
        const struct annot_value values[] = {annot_value_int64("user", i),
                                             annot_value_double("system", i)};
        annot_counters("bench group", values, 2);
    }
}

static struct annot_track track;

static void run_track(int pairs)
{
    for (int i = 0; i < pairs; i++) {
        annot_track_begin(&track, "bench task");
        annot_track_end(&track);
    }
}

static void run_three_values(int pairs)
{
    for (int i = 0; i < pairs; i++) {
        const struct annot_value values[] = {annot_value_int64("size", i),
                                             annot_value_double("load", i),
                                             annot_value_bool("cached", 1)};
        annot_push_event(
            &(struct annot_event){.name = payload_name, .values = values, .value_count = 3});
        annot_pop();
    }
}

static void run_three_values_text(int pairs)
{
    for (int i = 0; i < pairs; i++) {
        const struct annot_value values[] = {annot_value_int64("size", i),
                                             annot_value_double("load", i),
                                             annot_value_string("who", "somebody")};
        annot_push_event(
            &(struct annot_event){.text = "bench values", .values = values, .value_count = 3});
        annot_pop();
    }
}

static void run_log(int pairs)
{
    for (int i = 0; i < pairs; i++)
        annot_log(ANNOT_SEVERITY_INFO, "a message of usual length");
}

static void run_current(int pairs)
{
    static uint64_t sum;
    for (int i = 0; i < pairs; i++)
        sum += annot_current();
    __asm__ volatile("" : : "m"(sum));
}

/* The filter holds the default domain back; the event costs one load and one test, and is not
 * written. */
static void hold_back(void (*run)(int pairs), int pairs)
{
    annot_store_relaxed(&segment.control->category_mask[0], 0);
    run(pairs);
    annot_store_relaxed(&segment.control->category_mask[0], UINT64_MAX);
}

static void run_held_macro(int pairs)
{
    hold_back(run_macro, pairs);
}

static void run_held_mark(int pairs)
{
    hold_back(run_mark, pairs);
}

static void run_held_payload(int pairs)
{
    hold_back(run_payload, pairs);
}

static struct measured cases[CASES_MAX] = {
    {.name = "floor: 2 rdtsc + 2 stores", .run = run_floor},
    {.name = "pair by macro", .run = run_macro, .budget = 1.3, .reference = "floor"},
    {.name = "pair by const char *", .run = run_text, .budget = 2.2, .reference = "floor"},
    {.name = "pair with int64 payload", .run = run_payload, .budget = 2.0, .reference = "pair"},
    {.name = "counter", .run = run_counter, .budget = 0.7, .reference = "pair"},
    {.name = "counter by const char *", .run = run_counter_text, .reference = "pair"},
    {.name = "counter of two series", .run = run_counters, .reference = "pair"},
    {.name = "mark", .run = run_mark, .budget = 0.7, .reference = "pair"},
    {.name = "mark by const char *", .run = run_mark_text, .reference = "pair"},
    {.name = "flow begin", .run = run_flow, .budget = 1.2, .reference = "pair"},
    {.name = "flow step", .run = run_flow_step, .reference = "pair"},
    {.name = "flow begin of a new flow", .run = run_flow_new, .reference = "pair"},
    {.name = "async pair on a track", .run = run_track, .budget = 1.3, .reference = "pair"},
    {.name = "pair with 3 key-values", .run = run_three_values, .budget = 2.5, .reference = "pair"},
    {.name = "pair with 3 key-values, a text", .run = run_three_values_text, .reference = "pair"},
    {.name = "log", .run = run_log, .reference = "pair"},
    {.name = "current", .run = run_current, .budget = 0.2, .reference = "pair"},
    {.name = "pair held back by the filter", .run = run_held_macro, .reference = "pair"},
    {.name = "pair with payload held back", .run = run_held_payload, .reference = "pair"},
    {.name = "mark held back by the filter", .run = run_held_mark, .reference = "pair"},
    {.name = "start + end by const char *", .run = run_start_end},
    {.name = "pair 40 levels deep", .run = run_deep},
};

static int case_count(void)
{
    int count = 0;
    while (cases[count].run)
        count++;
    return count;
}

static void finish(struct measured *measured)
{
    qsort(measured->ns, SLICES, sizeof(double), by_value);
    measured->min = measured->ns[0];
    measured->median = measured->ns[SLICES / 2];
}

static void find_segment(void)
{
    char names[4][64];
    annot_mark("first");
    CHECK_INT(arena_list(names, 4), 1);
    CHECK(arena_map(names[0], &segment));
}

/* Takes all released blocks without reading them: only their return matters. */
static void take_blocks(void)
{
    uint32_t high = annot_load_acquire(&segment.shared->high_water);
    for (uint32_t i = 0; i < high; i++) {
        uint32_t state = annot_load_acquire(&segment.states[i]);
        if ((state & ANNOT_BLOCK_STATE_MASK) != ANNOT_BLOCK_RELEASED)
            continue;
        annot_store_release(&segment.states[i], state & ANNOT_BLOCK_BACKED);
        uint64_t old = annot_load_relaxed(&segment.shared->free_head);
        do {
            annot_store_relaxed(&segment.nexts[i], (uint32_t)old);
        } while (!annot_cas_acq_rel(&segment.shared->free_head, &old,
                                    ((old >> 32) + 1) << 32 | (i + 1)));
    }
}

static void run_undrained(void)
{
    int count = case_count();
    for (int slice = -20; slice < SLICES; slice++) {
        for (int i = 0; i < count; i++) {
            double ns = slice_ns(cases[i].run, PAIRS);
            take_blocks();
            if (slice >= 0)
                cases[i].ns[slice] = ns;
        }
    }
    for (int i = 0; i < count; i++)
        finish(&cases[i]);
}

/* ---- Drained --------------------------------------------------------------------------------- */

static int stop_drain;

static void *drain(void *context)
{
    struct timespec pause = {0, 200 * 1000};
    (void)context;
    while (!annot_load_relaxed(&stop_drain)) {
        arena_drain(&segment, false, &drained);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static void run_drained(struct measured *floor_case, struct measured *macro)
{
    pthread_t thread;
    CHECK_INT(pthread_create(&thread, NULL, drain, NULL), 0);
    for (int slice = 0; slice < SLICES; slice++) {
        floor_case->ns[slice] = slice_ns(floor_case->run, PAIRS);
        macro->ns[slice] = slice_ns(macro->run, PAIRS);
        usleep(300); /* paced: the drain follows */
    }
    annot_store_relaxed(&stop_drain, 1);
    pthread_join(thread, NULL);
    finish(floor_case);
    finish(macro);
}

/* ---- Two threads ------------------------------------------------------------------------------
 */

static uint32_t started, turn;

static void *run_thread(void *context)
{
    double *ret_ns = context;
    annot_fetch_add_relaxed(&started, 1u);
    while (annot_load_acquire(&started) < annot_load_acquire(&turn)) /* partner: the other thread */
        continue;
    *ret_ns = slice_ns(run_macro, PAIRS * 40);
    return NULL;
}

/* Throughput of `count` threads in pairs per ns; the best of some rounds. */
static double throughput(uint32_t count)
{
    double best = 0;
    for (int round = 0; round < 12; round++) {
        pthread_t threads[2];
        double ns[2], sum = 0;
        take_blocks();
        annot_store_release(&started, 0u); /* partner: run_thread */
        annot_store_release(&turn, count);
        for (uint32_t i = 0; i < count; i++)
            CHECK_INT(pthread_create(&threads[i], NULL, run_thread, &ns[i]), 0);
        for (uint32_t i = 0; i < count; i++) {
            pthread_join(threads[i], NULL);
            sum += 1 / ns[i];
        }
        best = sum > best ? sum : best;
    }
    return best;
}

/* ---- Watches --------------------------------------------------------------------------------- */

static void ignore(void *context, int begins, uint64_t time)
{
    (void)context;
    (void)begins;
    (void)time;
}

/* A pair while a range of that name is watched, for the rest of the process. */
static double watched_ns(const char *name)
{
    double best = 1e9;
    CHECK_INT(annot_watch_range(name, NULL, ignore, NULL), 0);
    for (int i = 0; i < 100; i++) {
        take_blocks();
        double ns = slice_ns(run_macro, PAIRS);
        best = ns < best ? ns : best;
    }
    return best;
}

/* ---- First events -----------------------------------------------------------------------------
 */

static void *first_of_thread(void *context)
{
    double *ret_ns = context;
    uint64_t before = now_ns();
    ANNOT_MARK("first of thread");
    *ret_ns = (double)(now_ns() - before);
    return NULL;
}

static double first_event_thread_ns(void)
{
    double best = 1e12;
    for (int i = 0; i < 30; i++) {
        pthread_t thread;
        double ns = 0;
        CHECK_INT(pthread_create(&thread, NULL, first_of_thread, &ns), 0);
        pthread_join(thread, NULL);
        best = ns < best ? ns : best;
    }
    return best;
}

static double first_event_process_ns(void)
{
    double *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    double best = 1e12;
    CHECK(shared != MAP_FAILED);
    for (int i = 0; i < 10; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            first_of_thread(shared);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
        best = *shared < best ? *shared : best;
    }
    munmap(shared, 4096);
    return best;
}

/* ---- Where it was measured -------------------------------------------------------------------
 */

/* The value of a line of /proc/cpuinfo, or "?". */
static void read_cpuinfo(const char *key, char *value, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[512];
    snprintf(value, size, "?");
    while (file && fgets(line, sizeof(line), file)) {
        const char *colon = strstr(line, "\t: ");
        size_t length = strcspn(line, "\t");
        if (!colon || length != strlen(key) || strncmp(line, key, length) != 0)
            continue;
        snprintf(value, size, "%.*s", (int)strcspn(colon + 3, "\n"), colon + 3);
        break;
    }
    if (file)
        fclose(file);
}

static const char *linkage(void)
{
    Dl_info library, program;
    bool is_known =
        dladdr((void *)annot_status, &library) && dladdr((void *)read_cpuinfo, &program);
    return !is_known ? "?" : library.dli_fbase == program.dli_fbase ? "static" : "shared";
}

static void print_machine(void)
{
    char make[64], name[128], family[16], model[16];
    read_cpuinfo("vendor_id", make, sizeof(make));
    read_cpuinfo("model name", name, sizeof(name));
    read_cpuinfo("cpu family", family, sizeof(family));
    read_cpuinfo("model", model, sizeof(model));
    printf("%s, %s (family %s, model %s); libannot is %s\n", make, name, family, model, linkage());
}

/* ---- Report -----------------------------------------------------------------------------------
 */

struct line {
    const char *name;
    double value;
    const char *unit;
    double limit; /* 0 = only reported; negative: at least */
};

static struct line lines[64];
static int line_count;

static void add_line(const char *name, double value, const char *unit, double limit)
{
    lines[line_count++] = (struct line){name, value, unit, limit};
}

static void print_lines(void)
{
    for (int i = 0; i < line_count; i++) {
        const struct line *line = &lines[i];
        printf("%-44s %10.2f %-4s", line->name, line->value, line->unit);
        if (line->limit > 0)
            printf(" <= %.2f %s", line->limit, line->value <= line->limit ? "ok" : "MISSED");
        if (line->limit < 0)
            printf(" >= %.2f %s", -line->limit, line->value >= -line->limit ? "ok" : "MISSED");
        putchar('\n');
    }
}

static void write_json(const char *path)
{
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    fputs("{\n", file);
    for (int i = 0; i < line_count; i++)
        fprintf(file, "  \"%s\": {\"value\": %.3f, \"unit\": \"%s\", \"limit\": %.3f}%s\n",
                lines[i].name, lines[i].value, lines[i].unit, lines[i].limit,
                i + 1 < line_count ? "," : "");
    fputs("}\n", file);
    fclose(file);
}

static void report_cases(void)
{
    static char names[CASES_MAX][80];
    double floor_ns = cases[0].min, pair_ns = cases[1].min;
    for (int i = 0; i < case_count(); i++) {
        const struct measured *at = &cases[i];
        bool to_pair = at->reference && strcmp(at->reference, "pair") == 0;
        add_line(at->name, at->min, "ns", 0);
        snprintf(names[i], sizeof(names[i]), "%s / %s", at->name, to_pair ? "plain pair" : "floor");
        if (i > 0)
            add_line(names[i], at->min / (to_pair ? pair_ns : floor_ns), "x", at->budget);
    }
    add_line("pair by macro, median / floor median", cases[1].median / cases[0].median, "x", 0);
}

static void measure_disabled(void)
{
    double best = 1e9;
    for (int i = 0; i < 200; i++) {
        double ns = slice_ns(run_macro, PAIRS) / 2;
        best = ns < best ? ns : best;
    }
    add_line("one disabled event", best, "ns", 0.5);
}

TEST_TIMEOUT(cost_of_events, 600)
{
    const char *json = getenv("ANNOT_BENCH_JSON");
    print_machine();
    measure_disabled();
    arena_begin(NULL);
    find_segment();
    payload_name = annot_name_intern("payload");
    track = annot_track_create("bench track", NULL);
    ANNOT_PUSH("around");
    CHECK(annot_current() != 0);
    run_undrained();
    ANNOT_POP();
    report_cases();
    double lone = throughput(1);
    add_line("two threads / one", throughput(2) / lone, "x", -1.9);
    add_line("first event of a thread", first_event_thread_ns() / 1000, "us", 0);
    add_line("first event of a forked process", first_event_process_ns() / 1000, "us", 0);
    run_drained(&cases[0], &cases[1]);
    add_line("drained: pair by macro, median", cases[1].median, "ns", 0);
    add_line("drained: median / floor median", cases[1].median / cases[0].median, "x", 1.8);
    add_line("pair while another range is watched", watched_ns("another"), "ns", 0);
    add_line("pair that is watched", watched_ns("*"), "ns", 0);
    print_lines();
    if (json)
        write_json(json);
    arena_unmap(&segment);
    arena_end();
    arena_clean();
}
