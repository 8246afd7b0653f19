/* SPDX-License-Identifier: MIT */
/* The recording of sampled_trace.h: a program of two threads and its forked worker on two CPUs, for
 * 40 ms, sampled each millisecond; Python over native over kernel code, a garbage collection,
 * compiled code, a truncated stack, names with characters that are special in some format; waits of
 * several kinds, the last of which is unfinished. */
#include "sampled_trace.h"

enum { APP_MAIN, APP_LOADER, WORKER };

static const int64_t us = 1000;

static const char python[] = "/usr/bin/python3.11", app[] = "/home/me/app/app.py",
                  net[] = "/usr/lib/python3/dist-packages/net/model.py",
                  blas[] = "/usr/lib/x86_64-linux-gnu/libblas.so.3";

struct stacks_made {
    uint32_t module, train, step, step_line, gemm, fault, alloc, gc, jit, awkward, load, read, wait,
        cut, deep;
};

static uint32_t native(struct maker *maker, uint32_t parent, const char *name, const char *module)
{
    return maker_stack(maker, parent,
                       &(struct maker_frame){FRAME_NATIVE, name, NULL, module, 0, 0, 0x1000});
}

static uint32_t function(struct maker *maker, uint32_t parent, const char *name, const char *file,
                         int32_t line)
{
    return maker_stack(
        maker, parent,
        &(struct maker_frame){FRAME_PYTHON, name, file, NULL, line, line / 10 * 10, 0});
}

static uint32_t other(struct maker *maker, uint32_t parent, enum frame_kind kind, const char *name)
{
    return maker_stack(maker, parent, &(struct maker_frame){.kind = kind, .function = name});
}

static void make_stacks(struct maker *maker, struct stacks_made *s)
{
    uint32_t root = native(maker, 0, "_start", python);
    root = native(maker, native(maker, root, "main", python), "Py_RunMain", python);
    s->module = function(maker, root, "<module>", app, 91);
    s->train = function(maker, s->module, "train", app, 22);
    s->step = function(maker, s->train, "Model.step", net, 41);
    s->step_line = function(maker, s->train, "Model.step", net, 43);
    s->gemm = native(maker, s->step, "cblas_dgemm", blas);
    s->fault = other(maker, s->gemm, FRAME_KERNEL, "asm_exc_page_fault");
    s->fault = other(maker, s->fault, FRAME_KERNEL, "handle_mm_fault");
    s->alloc =
        native(maker, s->step_line, "std::map<int, std::string>::operator[](int const&)", blas);
    s->gc = other(maker, s->alloc, FRAME_COLLECTOR, "garbage collection");
    s->jit = other(maker, s->train, FRAME_JIT, "py::kernel;fused\n\"a\" & <b>");
    s->awkward = function(maker, s->train, "größe", "/home/me/app/ünï;code.py", 31);
    root = native(maker, 0, "clone3", "/usr/lib/x86_64-linux-gnu/libc.so.6");
    s->load = function(maker, native(maker, root, "thread_run", python), "load", app, 51);
    s->read = other(maker, native(maker, s->load, "read", python), FRAME_KERNEL, "ksys_read");
    s->wait = native(maker, s->load, "take_gil", python);
    s->cut =
        native(maker, other(maker, 0, FRAME_NOTE, "[stack cut: no unwind table]"), "memcpy", blas);
    s->deep = s->module;
    for (int i = 0; i < 60; i++)
        s->deep = function(maker, s->deep, "walk", app, 71);
}

struct run {
    uint32_t thread, stack, path;
    int from, to; /* milliseconds */
    uint8_t flags;
    uint16_t cpu;
};

static void add_samples(struct maker *maker, const struct run *run)
{
    for (int at = run->from; at < run->to; at++)
        maker_sample(maker, &(struct sample){.set = SAMPLE_SET_CPU,
                                             .time_ns = at * 1000 * us + 500 * us,
                                             .thread = run->thread,
                                             .stack = run->stack,
                                             .path = run->path,
                                             .cpu = run->cpu,
                                             .flags = run->flags | SAMPLE_PATH_KNOWN,
                                             SAMPLE_VALUES(1000 * (uint64_t)us)});
}

struct wait {
    uint32_t thread, stack, path;
    int from, wake, to; /* microseconds; wake 0: runnable throughout */
    enum wait_reason reason;
    uint8_t flags;
    uint16_t cpu;
};

static void add_wait(struct maker *maker, const struct wait *wait)
{
    maker_wait(maker,
               &(struct sample){.time_ns = wait->from * us,
                                .end_ns = wait->to * us,
                                .thread = wait->thread,
                                .stack = wait->stack,
                                .path = wait->path,
                                .cpu = wait->cpu,
                                .reason = (uint8_t)wait->reason,
                                .flags = wait->flags | SAMPLE_PATH_KNOWN},
               wait->wake * us);
}

static void make_main(struct maker *maker, const struct stacks_made *s)
{
    uint32_t train = maker_path(maker, 0, "train"), step = maker_path(maker, train, "step");
    add_samples(maker, &(struct run){APP_MAIN, s->module, 0, 0, 2, 0, 0});
    add_samples(maker, &(struct run){APP_MAIN, s->gemm, step, 2, 8, 0, 0});
    add_samples(maker, &(struct run){APP_MAIN, s->fault, step, 8, 9, SAMPLE_IN_KERNEL, 0});
    add_samples(maker, &(struct run){APP_MAIN, s->alloc, step, 9, 10, 0, 0});
    add_wait(maker, &(struct wait){APP_MAIN, s->step, step, 10100, 13900, 14000, WAIT_SLEEP, 0, 0});
    add_samples(maker, &(struct run){APP_MAIN, s->gc, train, 14, 17, SAMPLE_GC, 1});
    add_wait(maker, &(struct wait){APP_MAIN, s->gc, train, 17000, 0, 18000, WAIT_PREEMPTED, 0, 1});
    add_samples(maker, &(struct run){APP_MAIN, s->jit, train, 18, 20, 0, 1});
    add_samples(maker, &(struct run){APP_MAIN, s->awkward, train, 20, 21, 0, 1});
    add_samples(maker, &(struct run){APP_MAIN, s->deep, 0, 21, 23, 0, 1});
    add_wait(maker, &(struct wait){APP_MAIN, s->module, 0, 23000, 0, 40000, WAIT_CHILD,
                                   SAMPLE_UNFINISHED, 1});
}

static void make_others(struct maker *maker, const struct stacks_made *s)
{
    uint32_t load = maker_path(maker, 0, "load");
    add_wait(maker, &(struct wait){APP_LOADER, s->wait, load, 1000, 9000, 9000, WAIT_GIL, 0, 1});
    add_samples(maker, &(struct run){APP_LOADER, s->load, load, 9, 11, 0, 1});
    add_wait(maker,
             &(struct wait){APP_LOADER, s->read, load, 11000, 12500, 13000, WAIT_DISK, 0, 1});
    add_samples(maker, &(struct run){APP_LOADER, s->read, load, 23, 30, SAMPLE_IN_KERNEL, 1});
    add_samples(maker, &(struct run){WORKER, s->cut, 0, 18, 23, 0, 0});
    add_samples(maker, &(struct run){WORKER, 0, 0, 23, 24, 0, 0});
    add_samples(maker, &(struct run){WORKER, s->gemm, 0, 24, 30, 0, 0});
    add_samples(maker, &(struct run){WORKER, s->step_line, 0, 30, 32, 0, 0});
}

static void make_ranges(struct maker *maker)
{
    maker_push(maker, APP_MAIN, 1900 * us, "train");
    maker_push(maker, APP_MAIN, 1950 * us, "step");
    maker_pop(maker, APP_MAIN, 14010 * us);
    maker_pop(maker, APP_MAIN, 21000 * us);
    maker_push(maker, APP_LOADER, 900 * us, "load");
    maker_pop(maker, APP_LOADER, 30000 * us);
}

struct maker *sampled_trace_create(void)
{
    struct maker *maker = maker_create();
    struct trace *trace = maker_trace(maker);
    struct stacks_made stacks;
    uint32_t main_process = maker_process(maker, 5000, -1, "python app.py", 0);
    uint32_t worker = maker_process(maker, 5002, 0, "python app.py", 17500 * us);
    maker_thread(maker, main_process, 5000, "");
    maker_thread(maker, main_process, 5001, "loader");
    maker_thread(maker, worker, 5002, "");
    trace_process(trace, worker)->forked = true;
    trace_process(trace, worker)->end = PROCESS_EXITED;
    trace_process(trace, worker)->end_ns = MAKER_BEGIN_NS + 32500 * us;
    struct trace_sampling *sampling = trace_sampling(trace);
    *sampling = (struct trace_sampling){
        .revision = 1, .rung = SAMPLING_BPF, .off_cpu = true, .frequency_hz = 1000};
    if (trace_fact_set(trace, FACT_COUNT, "samples", 41) < 0 ||
        trace_fact_set(trace, FACT_LOSS, "lost samples: ring full", 3) < 0 ||
        trace_fact_set(trace, FACT_NOTE, "kernel symbols are hidden", 1) < 0)
        return NULL;
    make_stacks(maker, &stacks);
    make_ranges(maker);
    make_main(maker, &stacks);
    make_others(maker, &stacks);
    maker_finish(maker, 40000 * us);
    return maker;
}
