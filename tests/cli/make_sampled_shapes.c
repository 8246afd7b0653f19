/* SPDX-License-Identifier: MIT */
/* Shapes of recordings with samples of known sums. */
#include "made_sample.h"
#include "make_recording.h"
#include "trace_maker.h"
#include "writer.h"

static uint32_t frame(enum frame_kind kind, const char *function, const char *place, int32_t line)
{
    bool python = kind == FRAME_PYTHON;
    return maker_frame_of(trace, &(struct maker_frame){.kind = kind,
                                                       .function = function,
                                                       .file = python ? place : NULL,
                                                       .module = python ? NULL : place,
                                                       .line = python ? line + 3 : 0,
                                                       .first_line = python ? line : 0,
                                                       .address = python ? 0 : (uint64_t)line});
}

/* The stack of `frames`, root first; 0 terminates them. */
static uint32_t stack(const uint32_t *frames)
{
    int64_t made = 0;
    for (; *frames; frames++)
        made = stacks_push(trace_stacks(trace), (uint32_t)made, *frames);
    return (uint32_t)made;
}

static uint32_t path(uint32_t parent, const char *name)
{
    return (uint32_t)stacks_path(trace_stacks(trace), parent, string(name));
}

static void cpu_sample(uint32_t thread, int64_t time_ns, uint32_t of_stack, int64_t known_path)
{
    struct sample sample = {
        .set = SAMPLE_SET_CPU,
        .thread = thread,
        .time_ns = time_ns,
        .stack = of_stack,
        .path = known_path >= 0 ? (uint32_t)known_path : 0,
        .flags = known_path >= 0 ? SAMPLE_PATH_KNOWN : 0,
        .native_end = of_stack ? STACK_COMPLETE : STACK_NO_TABLE,
        .python_end = of_stack ? STACK_COMPLETE : STACK_NOT_WALKED,
        SAMPLE_VALUES(10 * ms),
    };
    require(store_writer_add_samples(writer, &sample, 1), "sample");
}

/* The stack of the next waits. */
static uint32_t wait_stack;

static void wait_for(uint32_t thread, enum wait_reason reason, int64_t from, int64_t wake,
                     int64_t to)
{
    struct sample sample = {.thread = thread,
                            .time_ns = from,
                            .end_ns = to,
                            .stack = wait_stack,
                            .reason = (uint8_t)reason};
    sample = made_wait(sample, wake);
    require(store_writer_add_samples(writer, &sample, 1), "stretch");
}

static void sampled_at(uint32_t hz, enum sampling_rung rung, const char *reason, const char *hint)
{
    struct trace_sampling *sampling = trace_sampling(trace);
    sampling->rung = (uint8_t)rung;
    sampling->frequency_hz = hz;
    sampling->reason = string(reason);
    sampling->hint = string(hint);
    sampling->revision++;
}

/* load 0..100 with parse 20..60 in it; 10 samples of 10 ms: 2 in load before parse, 3 in parse, 3
 * in load after it, 1 outside, 1 in a range that is missing from the thread's events. Off the CPU
 * 30..50 for a lock, runnable from 40 on, and 95..110 asleep, of which 5 are in load. A forked
 * worker without events runs 4 samples in load as its parent did. */
void make_profiled(void)
{
    uint32_t main_process = add_process(800, -1, command_line, 0);
    uint32_t thread = add_thread(main_process, 800, NULL);
    uint32_t worker =
        add_thread(add_process(801, (int32_t)main_process, command_line, 50 * ms), 801, NULL);
    trace_thread(trace, worker)->serial = 0;
    uint32_t start = frame(FRAME_NATIVE, "_start", "/usr/bin/python3", 16);
    uint32_t module = frame(FRAME_PYTHON, "<module>", "/src/pipeline.py", 1);
    uint32_t load = frame(FRAME_PYTHON, "load", "/src/pipeline.py", 10);
    uint32_t parse =
        frame(FRAME_PYTHON, "Parser.parse", "/usr/lib/python3/dist-packages/fast/parser.py", 40);
    uint32_t copy = frame(FRAME_NATIVE, "memcpy", "/lib/x86_64-linux-gnu/libc.so.6", 32);
    uint32_t page = frame(FRAME_KERNEL, "clear_page", "[kernel]", 64);
    uint32_t in_load = stack((uint32_t[]){start, module, load, 0});
    uint32_t in_copy = stack((uint32_t[]){start, module, load, copy, 0});
    uint32_t in_parse = stack((uint32_t[]){start, module, load, parse, parse, 0});
    uint32_t in_kernel = stack((uint32_t[]){start, module, load, parse, copy, page, 0});
    add(thread, EVENT_PUSH, "load", 0);
    range(thread, "parse", 1, 20 * ms, 60 * ms);
    pop(thread, 0, 100 * ms);
    uint32_t load_path = path(0, "load");
    const struct range_path of_parent = {.name = string("load"), .kind = RANGE_PATH_INHERITED};
    int64_t inherited = stacks_path_add(trace_stacks(trace), &of_parent);
    cpu_sample(thread, 5 * ms, in_load, load_path);
    cpu_sample(thread, 15 * ms, in_copy, load_path);
    cpu_sample(thread, 25 * ms, in_parse, -1);
    cpu_sample(thread, 52 * ms, in_kernel, path(load_path, "parse"));
    cpu_sample(thread, 58 * ms, in_parse, -1);
    for (int64_t i = 0; i < 3; i++)
        cpu_sample(thread, (65 + 10 * i) * ms, in_copy, -1);
    cpu_sample(thread, 90 * ms, in_load, path(load_path, "dropped"));
    cpu_sample(thread, 115 * ms, 0, -1);
    wait_stack = in_copy;
    wait_for(thread, WAIT_LOCK, 30 * ms, 40 * ms, 50 * ms);
    wait_for(thread, WAIT_SLEEP, 95 * ms, 110 * ms, 110 * ms);
    for (int64_t i = 0; i < 4; i++)
        cpu_sample(worker, (60 + 10 * i) * ms, in_copy, inherited);
    sampled_at(100, SAMPLING_BPF, "", "");
    trace_sampling(trace)->off_cpu = true;
    require(trace_fact_set(trace, FACT_LOSS, "samples: the ring was full", 3), "fact");
    require(trace_fact_set(trace, FACT_LOSS, "switches above the rate cap", 0), "fact");
    require(trace_fact_set(trace, FACT_COUNT, "samples", 14), "fact");
    require(trace_fact_set(trace, FACT_NOTE, "Python 3.99 is not known: native frames only.", 1),
            "fact");
}

/* Two processes without ranges. */
void make_script(void)
{
    uint32_t first = add_thread(add_process(900, -1, "python3 train.py", 0), 900, NULL);
    uint32_t second = add_thread(0, 902, "loader");
    uint32_t third = add_thread(add_process(901, -1, "gzip -9 data", 0), 901, NULL);
    uint32_t main_frame = frame(FRAME_PYTHON, "main", "/src/train.py", 5);
    uint32_t step = frame(FRAME_PYTHON, "step", "/src/train.py", 20);
    uint32_t sum = frame(FRAME_NATIVE, "long_add", "/usr/lib/libpython3.11.so.1.0", 160);
    uint32_t collect = frame(FRAME_COLLECTOR, "garbage collection", "", 0);
    uint32_t deflate = frame(FRAME_NATIVE, "deflate_slow", "/lib/x86_64-linux-gnu/libz.so.1", 96);
    uint32_t in_step = stack((uint32_t[]){main_frame, step, 0});
    uint32_t in_sum = stack((uint32_t[]){main_frame, step, sum, 0});
    uint32_t in_collect = stack((uint32_t[]){main_frame, collect, 0});
    uint32_t in_gzip = stack((uint32_t[]){deflate, 0});
    for (uint32_t i = 0; i < 3; i++)
        trace_thread(trace, i)->serial = 0;
    for (int64_t i = 0; i < 50; i++) {
        cpu_sample(first, (10 * i) * ms, i % 5 == 0 ? in_collect : i % 2 ? in_sum : in_step, 0);
        cpu_sample(third, (10 * i + 1) * ms, in_gzip, 0);
        if (i % 10 == 0)
            cpu_sample(second, (10 * i + 2) * ms, in_step, 0);
    }
    sampled_at(100, SAMPLING_REMOTE, "loading BPF programs needs two capabilities",
               "sudo setcap cap_bpf,cap_perfmon+ep annot");
}

/* A command that ended before the first sample. */
void make_blind(void)
{
    sampled_at(99, SAMPLING_BPF, "", "");
}

/* Two threads each hold a lock and wait for the other's: 1.9 s each, to the end; the main thread
 * waits for them. No sample was taken on a CPU. */
void make_deadlock(void)
{
    uint32_t process = add_process(700, -1, "./deadlock", 0);
    const char *names[] = {NULL, "left", "right"};
    uint32_t take = frame(FRAME_NATIVE, "Account::take", "/srv/deadlock", 16);
    uint32_t mutex = frame(FRAME_NATIVE, "pthread_mutex_lock", "/lib/libc.so.6", 32);
    wait_stack = stack((uint32_t[]){take, mutex, 0});
    for (int i = 0; i < 3; i++) {
        uint32_t thread = add_thread(process, 700 + i, names[i]);
        wait_for(thread, WAIT_SLEEP, 10 * ms, 90 * ms, 100 * ms);
        struct sample sample = {.thread = thread,
                                .time_ns = 100 * ms,
                                .end_ns = 2000 * ms,
                                .stack = wait_stack,
                                .reason = WAIT_LOCK,
                                .flags = SAMPLE_UNFINISHED};
        sample = made_wait(sample, 0);
        require(store_writer_add_samples(writer, &sample, 1), "stretch");
    }
    sampled_at(99, SAMPLING_BPF, "", "");
    trace_sampling(trace)->off_cpu = true;
}

/* 200 samples and 300 waits. */
static void make_server(void)
{
    uint32_t thread = add_thread(add_process(700, -1, "./server", 0), 700, NULL);
    uint32_t serve = stack((uint32_t[]){frame(FRAME_NATIVE, "serve", "/srv/server", 16), 0});
    for (int64_t i = 0; i < 300; i++) {
        if (i < 200)
            cpu_sample(thread, 5 * i * ms, serve, 0);
        wait_for(thread, WAIT_SOCKET, (5 * i + 1) * ms, (5 * i + 2) * ms, (5 * i + 2) * ms);
    }
    sampled_at(99, SAMPLING_BPF, "", "");
    trace_sampling(trace)->off_cpu = true;
}

static void lose(const char *what, uint64_t count)
{
    require(trace_fact_set(trace, FACT_LOSS, what, count), "fact");
}

void make_untold(void)
{
    make_server();
    lose("stretches off the CPU: the kernel did not tell their end", 2);
    lose("stacks: taken during an exec", 7);
    require(trace_fact_set(trace, FACT_COUNT, TRACE_FACT_UNSEEN, 41), "fact");
}

void make_lossy(void)
{
    make_server();
    lose("samples: the ring was full", 1000);
    lose("processes: more than the table holds", 1);
    lose("lost in a way that a later version knows", 5);
}

/* A loss of each kind. */
void make_missing(void)
{
    make_lossy();
    struct trace_process *process = trace_process(trace, 0);
    process->lost[LOSS_POOL_FULL] = 50;
    process->misuse[MISUSE_NAME_LEFT] = 12345;
    process->misuse[MISUSE_POP_EMPTY] = 2;
    struct trace_refusal refusal = {.pid = 302, .comm = string("worker")};
    refusal.reason = string("its program is set-uid");
    require((int)trace_refusal_add(trace, &refusal), "refusal");
}

/* A build: 30 compilers with two samples each, of which every third is another program; a helper of
 * the shell before each of them; a pool of three busy workers. */
void make_build(void)
{
    uint32_t shell = add_process(1000, -1, "sh build.sh", 0), top = add_thread(shell, 1000, NULL);
    uint32_t compile = stack((uint32_t[]){frame(FRAME_NATIVE, "compile", "/usr/bin/cc", 16), 0});
    uint32_t pool = add_process(2000, -1, "python3 pool.py", 5 * ms);
    int64_t now = 10 * ms;
    cpu_sample(top, ms, compile, 0);
    for (int i = 0; i < 30; i++, now += 30 * ms) {
        uint32_t helper = add_process(1001 + 2 * i, (int32_t)shell, "sh build.sh", now);
        uint32_t program =
            add_process(1002 + 2 * i, (int32_t)shell, i % 3 ? "cc -O2 a.c" : "as a.s", now + ms);
        trace_process(trace, program)->forked = false;
        cpu_sample(add_thread(helper, 1001 + 2 * i, NULL), now, compile, 0);
        uint32_t thread = add_thread(program, 1002 + 2 * i, NULL);
        cpu_sample(thread, now + 10 * ms, compile, 0);
        cpu_sample(thread, now + 20 * ms, compile, 0);
        end_process(helper, PROCESS_EXITED, 0, now + ms);
        end_process(program, PROCESS_EXITED, 0, now + 25 * ms);
    }
    for (int i = 0; i < 3; i++) {
        uint32_t worker = add_process(2001 + i, (int32_t)pool, "python3 pool.py", 6 * ms);
        uint32_t thread = add_thread(worker, 2001 + i, NULL);
        for (int64_t k = 0; k < 5 + i; k++)
            cpu_sample(thread, now + 10 * k * ms, compile, 0);
        end_process(worker, PROCESS_EXITED, 0, now + 100 * ms);
    }
    sampled_at(99, SAMPLING_BPF, "", "");
}

/* Threads started by Python, named by their function, and a pool of native threads named by the
 * kernel. */
void make_threads(void)
{
    uint32_t process = add_process(3000, -1, "python3 server.py", 0);
    uint32_t bootstrap =
        frame(FRAME_PYTHON, "Thread._bootstrap", "/usr/lib/python3.11/threading.py", 995);
    uint32_t run = frame(FRAME_PYTHON, "Thread.run", "/usr/lib/python3.11/threading.py", 975);
    uint32_t start = frame(FRAME_NATIVE, "clone3", "/lib/libc.so.6", 16);
    uint32_t compiled = frame(FRAME_JIT, "[anonymous code]", "", 0);
    uint32_t serve = frame(FRAME_PYTHON, "serve", "/src/server.py", 10);
    uint32_t parse = frame(FRAME_PYTHON, "parse", "/src/server.py", 20);
    uint32_t wait = frame(FRAME_PYTHON, "Event.wait", "/usr/lib/python3.11/threading.py", 604);
    uint32_t blas = frame(FRAME_NATIVE, "libblas.so+0x40", "/usr/lib/libblas.so", 64);
    uint32_t clock = frame(FRAME_NATIVE, "clock_gettime", "[vdso]", 64);
    const uint32_t stacks[] = {stack((uint32_t[]){serve, parse, 0}),
                               stack((uint32_t[]){start, bootstrap, run, serve, parse, 0}),
                               stack((uint32_t[]){start, bootstrap, run, serve, wait, 0}),
                               stack((uint32_t[]){start, blas, 0}),
                               stack((uint32_t[]){start, compiled, 0}),
                               stack((uint32_t[]){start, bootstrap, wait, clock, 0})};
    for (int i = 0; i < 6; i++) {
        uint32_t thread = add_thread(process, 3000 + i, NULL);
        if (i == 3 || i == 4)
            trace_thread(trace, thread)->comm = string("blas-worker");
        for (int64_t k = 0; k < 8 - i; k++)
            cpu_sample(thread, (10 * k + i) * ms, i == 1 && k == 0 ? stacks[3] : stacks[i], 0);
    }
    sampled_at(99, SAMPLING_BPF, "", "");
}

static uint32_t function(const char *name, const char *file, int line)
{
    const struct label native = {.kind = FRAME_NATIVE};
    int64_t label = file ? trace_python_label(trace, string(name), string(file), line)
                         : trace_label_add(trace, &native, name);
    return (uint32_t)label;
}

static void call(uint32_t thread, uint32_t label, int64_t time_ns, uint8_t flags)
{
    const struct scope calls = {.observer = OBSERVER_PYTHON_CALLS};
    struct event *event = add(thread, EVENT_PUSH, NULL, time_ns);
    event->name = (uint32_t)trace_label_name(trace, label);
    event->scope = (uint32_t)trace_scope_add(trace, &calls);
    event->level = 4;
    event->flags = flags;
}

/* Calls around and inside of ranges, an unfinished one, one of a C function, a range with a
 * function's name; and counts at two stacks. */
void make_calls(void)
{
    uint32_t thread = add_thread(add_process(900, -1, "python3 solver.py", 0), 900, NULL);
    uint32_t run = function("Solver.run", "/src/solver.py", 12);
    uint32_t rows = function("rows", "/src/solver.py", 30);
    add(thread, EVENT_PUSH, "job", ms);
    call(thread, run, 2 * ms, 0);
    add(thread, EVENT_PUSH, "load", 3 * ms);
    call(thread, rows, 4 * ms, 0);
    pop(thread, 3, 10 * ms);
    call(thread, function("list.append", NULL, 0), 11 * ms, 0);
    pop(thread, 3, 12 * ms);
    call(thread, rows, 13 * ms, EVENT_CONTINUES);
    pop(thread, 3, 20 * ms);
    pop(thread, 2, 21 * ms);
    range(thread, "rows", 2, 22 * ms, 30 * ms);
    pop(thread, 1, 40 * ms);
    pop(thread, 0, 100 * ms);
    flush();
    const struct sample_set counted = {.name = string("calls"),
                                       .flags = SAMPLE_SET_EXACT | SAMPLE_SET_INTERVAL,
                                       .count = 2,
                                       .types = {VALUE_TYPE_CALLS, VALUE_TYPE_WALL}};
    int64_t set = sample_sets_add(trace_sets(trace), &counted);
    const struct frame frames[] = {{.kind = FRAME_PYTHON, .label = run},
                                   {.kind = FRAME_PYTHON, .label = rows}};
    uint32_t place = 0;
    for (int i = 0; i < 2; i++) {
        uint32_t frame_number = (uint32_t)stacks_frame(trace_stacks(trace), &frames[i]);
        place = (uint32_t)stacks_push(trace_stacks(trace), place, frame_number);
        const struct sample sample = {.set = (uint16_t)set,
                                      .stack = place,
                                      .thread = thread,
                                      .end_ns = 110 * ms,
                                      SAMPLE_VALUES(1 + 99 * i, (10 + i) * ms)};
        require(store_writer_add_samples(writer, &sample, 1), "add");
    }
}

/* Threads that never block on a host with `processors`; of more threads than processors, one runs
 * at a time and the others are ready, 10 ms each. */
static void make_host(const char *name, uint32_t processors, uint32_t threads)
{
    uint32_t work = frame(FRAME_NATIVE, "work", "/usr/bin/solve", 32);
    uint32_t in_work = stack((uint32_t[]){work, 0}), process = add_process(700, -1, "solve", 0);
    trace_session(trace)->hostname = string(name);
    trace_session(trace)->processors = processors;
    for (uint32_t i = 0; i < threads; i++)
        add_thread(process, 700 + (int)i, NULL);
    for (uint32_t turn = 0; turn < 100; turn++) {
        int64_t from = turn * 10 * ms;
        for (uint32_t i = 0; i < threads; i++)
            if (threads <= processors || turn % threads == i)
                cpu_sample(i, from + 5 * ms, in_work, -1);
            else
                wait_for(i, WAIT_PREEMPTED, from, 0, from + 10 * ms);
    }
    sampled_at(100, SAMPLING_BPF, "", "");
    trace_sampling(trace)->off_cpu = true;
}

void make_small_host(void)
{
    make_host("small", 1, 2);
}

void make_large_host(void)
{
    make_host("large", 8, 1);
}
