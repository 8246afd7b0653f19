/* SPDX-License-Identifier: MIT */
/* Writes a recording of a made-up scheduler and prints the truth, as JSON: the oracle for tests of
 * samples and thread states.
 *
 *     make_samples FILE SWITCHES SEED [THRESHOLD_NS]
 *
 * Some threads of two processes share a few CPUs, wait for this and that, and are preempted; each
 * stretch off a CPU is recorded unless it is shorter than the threshold; each CPU is sampled every
 * millisecond. Sums are made here, at the same time. The last state of each thread has no end. */
#include "store.h"
#include "trace_maker.h"
#include "writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CPUS = 3, THREADS = 8, STACKS = 40, PERIOD_NS = 1000000 };

enum state { READY, RUNNING, BLOCKED };

struct thread {
    enum state state;
    int64_t since_ns, until_ns; /* RUNNING, BLOCKED: its end */
    int64_t off_ns, wake_ns;    /* since when it is off the CPU; when it was woken */
    uint32_t stack;
    uint16_t cpu;
    uint8_t reason;
};

static struct scheduler {
    struct maker *maker;
    struct store_writer *writer;
    uint64_t random;
    int64_t now_ns, threshold_ns;
    struct thread threads[THREADS];
    int running[CPUS]; /* thread + 1 */
    uint32_t stacks[STACKS];
    uint64_t sampled[STACKS];
    uint64_t samples, switches, left;
    uint64_t sleeping_ns, io_ns, runnable_ns, running_ns, dropped_ns;
} s;

static unsigned draw(unsigned below)
{
    s.random ^= s.random << 13;
    s.random ^= s.random >> 7;
    s.random ^= s.random << 17;
    return (unsigned)(s.random >> 33) % below;
}

static void require(int rc, const char *what)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "make_samples: %s: %s\n", what, strerror(-rc));
    exit(1);
}

/* Each stack is a new name below an earlier stack. */
static void make_stacks(void)
{
    for (unsigned i = 0; i < STACKS; i++) {
        char name[32], file[64];
        snprintf(name, sizeof(name), "f%u", i);
        snprintf(file, sizeof(file), "/srv/app/m%u.py", i % 5);
        struct maker_frame frame = {.kind = i % 3 ? FRAME_PYTHON : FRAME_NATIVE, .function = name};
        if (frame.kind == FRAME_PYTHON)
            frame.file = file;
        frame.line = frame.first_line = (int32_t)i + 1;
        s.stacks[i] = maker_stack(s.maker, i ? s.stacks[draw(i)] : 0, &frame);
    }
}

static void put(const struct sample *sample)
{
    const struct sample *samples;
    uint32_t count;
    maker_sample(s.maker, sample);
    while (maker_next_samples(s.maker, &samples, &count) > 0)
        require(store_writer_add_samples(s.writer, samples, count), "add");
    maker_forget(s.maker);
}

/* The run of a thread from since_ns to now: its samples. */
static void end_run(unsigned index)
{
    struct thread *t = &s.threads[index];
    int64_t tick = (t->since_ns + PERIOD_NS - 1) / PERIOD_NS * PERIOD_NS;
    for (; tick < s.now_ns; tick += PERIOD_NS) {
        put(&(struct sample){.set = SAMPLE_SET_CPU,
                             .time_ns = tick,
                             .thread = index,
                             .stack = s.stacks[t->stack],
                             .cpu = t->cpu,
                             SAMPLE_VALUES(PERIOD_NS)});
        s.sampled[t->stack]++;
        s.samples++;
    }
    s.running[t->cpu] = 0;
    s.running_ns += (uint64_t)(s.now_ns - t->since_ns);
}

static void leave_cpu(unsigned index)
{
    static const uint8_t reasons[] = {WAIT_DISK, WAIT_PIPE,  WAIT_LOCK,
                                      WAIT_GIL,  WAIT_SLEEP, WAIT_PAGE_FAULT};
    struct thread *t = &s.threads[index];
    end_run(index);
    t->off_ns = t->since_ns = s.now_ns;
    t->wake_ns = 0;
    t->reason = draw(4) ? reasons[draw(sizeof(reasons))] : WAIT_PREEMPTED;
    t->state = t->reason == WAIT_PREEMPTED ? READY : BLOCKED;
    t->until_ns = s.now_ns + 1 + draw(draw(5) ? 20000 : 3000000);
}

static void tell_off(unsigned index, uint8_t flags)
{
    struct thread *t = &s.threads[index];
    int64_t wake_ns = t->wake_ns;
    if (s.now_ns - t->off_ns < s.threshold_ns) {
        s.dropped_ns += (uint64_t)(s.now_ns - t->off_ns);
        return;
    }
    struct sample wait = {.time_ns = t->off_ns,
                          .end_ns = s.now_ns,
                          .thread = index,
                          .stack = s.stacks[t->stack],
                          .cpu = t->cpu,
                          .reason = t->reason,
                          .flags = flags};
    int64_t values[2];
    sample_set_wait(&wait, wake_ns, values);
    put(&wait);
    s.switches++;
    if (flags & SAMPLE_UNFINISHED && !wake_ns)
        return;
    int64_t ready_ns = wake_ns ? wake_ns : t->off_ns;
    bool io = t->reason == WAIT_DISK || t->reason == WAIT_PAGE_FAULT;
    *(io ? &s.io_ns : &s.sleeping_ns) += (uint64_t)(ready_ns - t->off_ns);
    if (!(flags & SAMPLE_UNFINISHED))
        s.runnable_ns += (uint64_t)(s.now_ns - ready_ns);
}

/* The thread that has been ready for longest, or -1. */
static int next_ready(void)
{
    int best = -1;
    for (int i = 0; i < THREADS; i++) {
        bool ready = s.threads[i].state == READY && s.threads[i].since_ns < s.now_ns;
        if (ready && (best < 0 || s.threads[i].since_ns < s.threads[best].since_ns))
            best = i;
    }
    return best;
}

static void fill_cpus(void)
{
    for (uint16_t cpu = 0; cpu < CPUS; cpu++) {
        int index = s.running[cpu] ? -1 : next_ready();
        if (index < 0)
            continue;
        struct thread *t = &s.threads[index];
        tell_off((unsigned)index, 0);
        t->state = RUNNING;
        t->cpu = cpu;
        t->stack = draw(STACKS);
        t->since_ns = s.now_ns;
        t->until_ns = s.now_ns + 1 + draw(draw(3) ? 50000 : 4000000);
        s.running[cpu] = index + 1;
        s.left -= s.left > 0;
    }
}

static void step(void)
{
    int64_t next_ns = s.now_ns + 1;
    int at = -1;
    for (int i = 0; i < THREADS; i++) {
        bool timed = s.threads[i].state != READY;
        if (timed && (at < 0 || s.threads[i].until_ns < s.threads[at].until_ns))
            at = i;
    }
    if (at >= 0 && s.threads[at].until_ns > next_ns)
        next_ns = s.threads[at].until_ns;
    s.now_ns = next_ns;
    if (at >= 0 && s.threads[at].until_ns <= s.now_ns) {
        struct thread *t = &s.threads[at];
        if (t->state == RUNNING) {
            leave_cpu((unsigned)at);
        } else {
            t->state = READY;
            t->since_ns = t->wake_ns = s.now_ns;
        }
    }
    fill_cpus();
}

/* The last state of each thread has no end: waits are recorded as unfinished, runs are left out. */
static void finish(void)
{
    s.now_ns++; /* so that no state is empty */
    for (unsigned i = 0; i < THREADS; i++) {
        struct thread *t = &s.threads[i];
        if (t->state != RUNNING) {
            tell_off(i, SAMPLE_UNFINISHED);
        } else {
            end_run(i);
            s.running_ns -= (uint64_t)(s.now_ns - t->since_ns);
        }
    }
    maker_finish(s.maker, s.now_ns);
}

static void print_made(void)
{
    const struct stacks *stacks = trace_stacks_get(maker_trace(s.maker));
    printf(
        "{\"samples\": %llu, \"switches\": %llu, \"dropped_ns\": %llu,\n\"states\": {\"S\": %llu, "
        "\"D\": %llu, \"R\": %llu, \"Running\": %llu},\n\"stacks\": {",
        (unsigned long long)s.samples, (unsigned long long)s.switches,
        (unsigned long long)s.dropped_ns, (unsigned long long)s.sleeping_ns,
        (unsigned long long)s.io_ns, (unsigned long long)s.runnable_ns,
        (unsigned long long)s.running_ns);
    const char *separator = "";
    for (unsigned i = 0; i < STACKS; i++) {
        uint32_t frames[STACKS];
        uint32_t count = stacks_frames(stacks, s.stacks[i], frames, STACKS);
        if (!s.sampled[i])
            continue;
        printf("%s\n  \"", separator);
        for (uint32_t at = 0; at < count; at++) {
            const struct label *label = stacks_label_of(stacks, frames[at]);
            printf("%s%s", at ? ";" : "", trace_string(maker_trace(s.maker), label->text)->bytes);
            if (label->source)
                printf(" (m%d.py:%d)", (label->first_line - 1) % 5, label->first_line);
        }
        printf("\": %llu", (unsigned long long)s.sampled[i]);
        separator = ",";
    }
    printf("}}\n");
}

int main(int argc, char **argv)
{
    struct store_writer_options options = {.overwrite = true};
    if (argc < 4)
        return 2;
    s.maker = maker_create();
    s.left = strtoull(argv[2], NULL, 10);
    s.random = strtoull(argv[3], NULL, 10) * 88172645463325252u + 1;
    s.threshold_ns = argc > 4 ? strtoll(argv[4], NULL, 10) : 0;
    struct trace_sampling *sampling = trace_sampling(maker_trace(s.maker));
    *sampling = (struct trace_sampling){.revision = 1,
                                        .rung = SAMPLING_BPF,
                                        .off_cpu = true,
                                        .frequency_hz = 1000,
                                        .off_cpu_threshold_ns = s.threshold_ns};
    for (unsigned p = 0; p < 2; p++)
        maker_process(s.maker, 7000 + 100 * (int32_t)p, p ? 0 : -1, p ? "./child" : "./parent", 0);
    for (unsigned i = 0; i < THREADS; i++) {
        maker_thread(s.maker, i % 2, 7000 + 100 * (int32_t)(i % 2) + (int32_t)i / 2, "");
        s.threads[i] = (struct thread){BLOCKED, 0, 100000 + 1000 * i, 0, 0, 0, 0, WAIT_SLEEP};
    }
    make_stacks();
    require(store_writer_create(argv[1], maker_trace(s.maker), &options, &s.writer), argv[1]);
    while (s.left > 0)
        step();
    finish();
    require(store_writer_close(s.writer), "close");
    print_made();
    maker_destroy(s.maker);
    return 0;
}
