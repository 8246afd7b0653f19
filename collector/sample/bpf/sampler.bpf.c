/* SPDX-License-Identifier: MIT */
/* (MIT OR GPL-2.0) The kernel's part of the sampler: one object, no tail calls, no kprobes.
 *
 * sampler_tick samples what runs, by a perf event on each CPU; tasks.bpf.h follows processes;
 * sched.bpf.h sees threads leave and enter CPUs and finds those that sleep. Programs of one CPU may
 * interrupt each other only tick over the rest; each context has memory of its own. */
#include <linux/bpf_perf_event.h>

#include "sched.bpf.h"
#include "stack.bpf.h"
#include "tasks.bpf.h"

char sampler_license[] SEC("license") = "Dual MIT/GPL";

/* The context must be read by constant offsets, hence not in two branches that could be merged. */
static __always_inline void tick_registers(struct walk *walk, struct bpf_perf_event_data *context,
                                           struct task_struct *task)
{
    walk->leaf.rip = context->regs.rip;
    walk->leaf.rsp = context->regs.rsp;
    walk->leaf.rbp = context->regs.rbp;
    walk->leaf.rbx = context->regs.rbx;
    walk->scratch[UNWIND_SCRATCH_RAX] = context->regs.rax;
    walk->scratch[UNWIND_SCRATCH_R9] = context->regs.r9;
    walk->scratch[UNWIND_SCRATCH_R10] = context->regs.r10;
    walk->scratch[UNWIND_SCRATCH_R11] = context->regs.r11;
    if (context->regs.cs & KERNEL_USER_CS)
        return;
    barrier();
    walk->flags |= SAMPLER_IN_KERNEL;
    stack_registers(walk, task);
}

static __always_inline void tick_kernel(struct walk *walk, struct bpf_perf_event_data *context)
{
    long bytes;

    if (!(walk->flags & SAMPLER_IN_KERNEL))
        return;
    bytes = bpf_get_stack(context, walk->kernel, sizeof(walk->kernel), 0);
    if (bytes > 0)
        walk->kernel_count = bytes / sizeof(walk->kernel[0]);
}

static __always_inline void tick_send(struct walk *walk)
{
    struct sampler_sample *sample = &walk->sample;
    uint32_t size;

    sample->kernel = stack_send_kernel(walk);
    sample->native = stack_send_native(walk);
    sample->python = stack_send_python(walk);
    sample->space = walk->process.space;
    sample->native_end = walk->native_end;
    sample->python_end = walk->python_end;
    sample->reserved = 0;
    sample->flags = walk->flags;
    sample->range_depth = walk->range_depth;
    /* By a mask, what lies behind the sample being long enough: old verifiers lose sight of a bound
     * that was compared, and new ones walk all that follows once for each count. */
    size = range_copy(walk->range_depth, walk->live, sample->ranges);
    barrier_var(size);
    size = offsetof(struct sampler_sample, ranges) + (size & 63) * sizeof(sample->ranges[0]);
    emit_head(walk, &sample->head, SAMPLER_SAMPLE, 0);
    if (emit_record(&sample->head, size, emit_flags(walk->now, false),
                    SAMPLER_LOSS_RING_FULL_SAMPLE) == 0)
        count_add(SAMPLER_COUNT_SAMPLES, 1);
}

SEC("perf_event")

int sampler_tick(struct bpf_perf_event_data *context)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct sampler_process *process;
    struct walk *walk;

    count(SAMPLER_COUNT_TICKS);
    if (task->tgid == 0)
        return 0;
    process = task_process(task, SAMPLER_LOSS_UID_SAMPLE);
    if (!process)
        return 0;
    walk = walk_begin(WALK_TICK);
    if (!walk)
        return 0;
    walk->now = bpf_ktime_get_ns();
    walk->process = *process;
    walk->head.time_ns = walk->now;
    task_identify(task, &walk->head, true);
    tick_registers(walk, context, task);
    tick_kernel(walk, context);
    if (BPF_CORE_READ(task, mm) && !(config.user_is_unsafe && walk->flags & SAMPLER_IN_KERNEL))
        stack_walk(walk, task);
    tick_send(walk);
    count_add(SAMPLER_COUNT_NS, bpf_ktime_get_ns() - walk->now);
    walk_end(walk);
    return 0;
}

/* Names an address of the kernel, for the collector, which runs this by hand. The kernel finds one
 * symbol in microseconds; /proc/kallsyms tells all of them, in 50 ms. */
char name_text[KERNEL_NAME_MAX] SEC(".bss.name");

static const char name_format[] = "%ps";

SEC("raw_tp")

int sampler_named(struct bpf_raw_tracepoint_args *ctx)
{
    uint64_t address = ctx->args[0];

    return bpf_snprintf(name_text, sizeof(name_text), name_format, &address, sizeof(address));
}
