/* SPDX-License-Identifier: MIT */
/* (MIT OR GPL-2.0) The kernel's part of the sampler: one object, no tail calls.
 *
 * sampler_tick samples running threads, by a perf event on each CPU; sampler_forked,
 * sampler_executed and sampler_exited follow processes; sched.bpf.h sees threads leave and enter
 * CPUs, sched.bpf.h finds those that sleep. On one CPU only the tick may interrupt the other
 * programs; each context has separate memory. */
#include <linux/bpf_perf_event.h>

#include "sched.bpf.h"
#include "stack.bpf.h"

char sampler_license[] SEC("license") = "Dual MIT/GPL";

/* ---- Processes ------------------------------------------------------------------------------- */

/* Follows tracked processes: children at fork, new images at exec, ends.
 *
 * The map is changed here, in the kernel, so that no child and no image is missed, however short.
 * Records are built in the ring itself: a fork interrupts no other program, but may be interrupted.
 * A reserved record is compared with NULL once: Linux before 6.2 follows both branches of a second
 * comparison. */

struct tasks_exec {
    struct sampler_exec exec;
    uint8_t command[SAMPLER_COMMAND_MAX];
};

static __always_inline void tasks_head(struct sampler_head *head, const struct task_struct *task,
                                       enum sampler_record_kind kind, uint32_t size,
                                       const bool typed)
{
    head->kind = kind;
    head->size = size;
    head->time_ns = bpf_ktime_get_ns();
    task_identify(task, head, typed);
}

static __always_inline void tasks_comm(uint8_t *comm, const struct task_struct *task)
{
    bpf_probe_read_kernel(comm, 16, task->comm);
}

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, uint64_t[LIVE_RANGES * LIVE_RANGE_SIZE / 8]);
} tasks_live SEC(".maps");

/* The open ranges of the forking thread, which the child inherits. */
static __always_inline void tasks_ranges(struct sampler_fork *fork, struct task_struct *parent,
                                         int64_t tls_offset)
{
    struct sampler_head owner;
    uint32_t zero = 0, depth = 0;
    uint64_t *live = bpf_map_lookup_elem(&tasks_live, &zero);

    fork->flags = fork->range_depth = 0;
    task_own_numbers(parent, &owner, true);
    fork->parent_ns_pid = owner.ns_pid;
    fork->parent_ns_tid = owner.ns_tid;
    if (!live || tls_offset == 0 || parent->thread.fsbase == 0)
        return;
    fork->flags = range_read(&owner, parent->thread.fsbase + tls_offset, &depth, live);
    fork->range_depth = depth;
    range_copy(depth, live, fork->ranges);
}

static __always_inline void tasks_emit_fork(struct task_struct *parent, struct task_struct *child,
                                            const struct sampler_process *process)
{
    struct sampler_fork *fork = bpf_ringbuf_reserve(&ring, sizeof(*fork), 0);

    if (!fork) {
        count(SAMPLER_LOSS_RING_FULL_LIFE);
        return;
    }
    tasks_head(&fork->head, child, SAMPLER_FORK, sizeof(*fork), false);
    fork->parent_pid = task_pid(parent, true);
    fork->parent_tid = task_tid(parent, true);
    fork->parent_start_ns = BPF_CORE_READ(parent, group_leader, start_boottime);
    fork->uid = BPF_CORE_READ(child, cred, uid.val);
    fork->space = process->space;
    tasks_comm(fork->comm, child);
    tasks_ranges(fork, parent, process->tls_offset);
    bpf_ringbuf_submit(fork, emit_flags(fork->head.time_ns, false));
}

SEC("raw_tp/sched_process_fork")

int BPF_PROG(sampler_forked, struct task_struct *forks, struct task_struct *child)
{
    struct task_struct *parent = bpf_get_current_task_btf(); /* as `forks`, but typed */
    struct sampler_process *process;
    int32_t pid;

    process = task_process(parent, SAMPLER_LOSS_OTHER_UID);
    pid = task_pid(child, false);
    if (!process || pid == 0)
        return 0;
    if (BPF_CORE_READ(child, pid) != BPF_CORE_READ(child, tgid)) {
        sched_born(child);
        return 0;
    }
    if (bpf_map_update_elem(&processes, &pid, process, BPF_ANY)) {
        count(SAMPLER_LOSS_PROCESS_TABLE);
        return 0;
    }
    tasks_emit_fork(parent, child, process);
    sched_born(child);
    return 0;
}

static __always_inline void tasks_emit_exec(struct task_struct *task)
{
    struct tasks_exec *record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);
    const struct mm_struct *mm = BPF_CORE_READ(task, mm);
    uint64_t begin = BPF_CORE_READ(mm, arg_start), size = BPF_CORE_READ(mm, arg_end) - begin;

    if (!record) {
        count(SAMPLER_LOSS_RING_FULL_LIFE);
        return;
    }
    tasks_head(&record->exec.head, task, SAMPLER_EXEC, sizeof(*record), true);
    record->exec.image = BPF_CORE_READ(task, self_exec_id);
    record->exec.uid = BPF_CORE_READ(task, cred, uid.val);
    tasks_comm(record->exec.comm, task);
    if (size > SAMPLER_COMMAND_MAX)
        size = SAMPLER_COMMAND_MAX;
    if (bpf_probe_read_user(record->command, size, (const void *)begin))
        size = 0;
    record->exec.command_size = size;
    bpf_ringbuf_submit(record, emit_flags(record->exec.head.time_ns, true));
}

SEC("raw_tp/sched_process_exec")

int BPF_PROG(sampler_executed)
{
    struct task_struct *task = bpf_get_current_task_btf();
    int32_t pid = task_pid(task, true);
    struct sampler_process fresh = {};
    struct sampler_process *process = bpf_map_lookup_elem(&processes, &pid);

    if (!process)
        return 0;
    if (!task_allowed(task)) {
        bpf_map_delete_elem(&processes, &pid);
        count(SAMPLER_LOSS_OTHER_UID);
        return 0;
    }
    fresh.flags = process->flags & ~SAMPLER_WAIT_EXEC;
    bpf_map_update_elem(&processes, &pid, &fresh, BPF_EXIST);
    tasks_emit_exec(task);
    return 0;
}

/* ctx: the task and, on newer kernels, whether its process ends with it. */
SEC("raw_tp/sched_process_exit")

int sampler_exited(uint64_t *ctx)
{
    struct task_struct *task = bpf_get_current_task_btf();
    int32_t pid = task_pid(task, true);
    struct sampler_process *process = bpf_map_lookup_elem(&processes, &pid);
    struct sampler_exit *exit;
    bool last;

    if (!process)
        return 0;
    sched_exits(task);
    last = config.exit_has_group ? (uint8_t)ctx[1] != 0
                                 : BPF_CORE_READ(task, signal, live.counter) == 0;
    if (last)
        bpf_map_delete_elem(&processes, &pid);
    exit = bpf_ringbuf_reserve(&ring, sizeof(*exit), 0);
    if (!exit) {
        count(SAMPLER_LOSS_RING_FULL_LIFE);
        return 0;
    }
    tasks_head(&exit->head, task, SAMPLER_EXIT, sizeof(*exit), true);
    exit->code = task->exit_code;
    exit->last = last;
    tasks_comm(exit->comm, task);
    bpf_ringbuf_submit(exit, emit_flags(exit->head.time_ns, false));
    return 0;
}

/* ---- Ticks ----------------------------------------------------------------------------------- */

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

/* Its head's kind, and the fields before it, are set. */
static __always_inline int sample_send(struct walk *walk, const enum sampler_record_kind kind)
{
    struct sampler_sample *sample = &walk->sample;
    uint32_t size;

    sample->native = stack_send_native(walk);
    sample->python = stack_send_python(walk);
    sample->space = walk->process.space;
    sample->native_end = walk->native_end;
    sample->python_end = walk->python_end;
    sample->flags = walk->flags;
    sample->range_depth = walk->range_depth;
    /* By a mask, as there is enough memory after the sample: old verifiers lose a compared bound,
     * and new ones follow the rest once for each count. */
    size = range_copy(walk->range_depth, walk->live, sample->ranges);
    barrier_var(size);
    size = offsetof(struct sampler_sample, ranges) + (size & 63) * sizeof(sample->ranges[0]);
    emit_head(walk, &sample->head, kind, 0);
    return emit_record(&sample->head, size, emit_flags(walk->now, false),
                       SAMPLER_LOSS_RING_FULL_SAMPLE);
}

static __always_inline void tick_send(struct walk *walk)
{
    walk->sample.kernel = stack_send_kernel(walk);
    walk->sample.launches = 0;
    if (sample_send(walk, SAMPLER_SAMPLE) == 0)
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
    task_values(&walk->process, task, process);
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

/* ---- Functions that annot's libraries call --------------------------------------------------- */

/* A thread calls an empty function: at a launch of queued work (gpu_launches.c), with the time of
 * the launch, a number, and the number of launches that it stands for; or with a sampled block of
 * memory (heap_probe.h).
 *
 * A program at such a place may be preempted by another thread in the middle of a walk, so its
 * memory is not per CPU, but exclusive until it is done. */

enum { CALL_WALKS = 64, CALL_TRIES = 4 };

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, CALL_WALKS);
    __type(key, uint32_t);
    __type(value, struct walk);
} call_walks SEC(".maps");

static __always_inline struct walk *call_walk_begin(void)
{
    uint32_t first = bpf_get_smp_processor_id();

    for (uint32_t i = 0; i < CALL_TRIES; i++) {
        uint32_t key = (first + i) % CALL_WALKS;
        struct walk *walk = bpf_map_lookup_elem(&call_walks, &key);

        if (walk && __sync_val_compare_and_swap(&walk->busy, 0, 1) == 0) {
            walk_clear(walk);
            return walk;
        }
    }
    count(SAMPLER_LOSS_BUSY);
    return 0;
}

static __always_inline void call_registers(struct walk *walk, struct pt_regs *context)
{
    walk->leaf.rip = context->rip;
    walk->leaf.rsp = context->rsp;
    walk->leaf.rbp = context->rbp;
    walk->leaf.rbx = context->rbx;
    walk->scratch[UNWIND_SCRATCH_RAX] = context->rax;
    walk->scratch[UNWIND_SCRATCH_R9] = context->r9;
    walk->scratch[UNWIND_SCRATCH_R10] = context->r10;
    walk->scratch[UNWIND_SCRATCH_R11] = context->r11;
}

/* Walks the caller's stack; NULL: it is not sampled. */
static __always_inline struct walk *call_walk(struct pt_regs *context)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct sampler_process *process;
    struct walk *walk;

    if (sched_control.stopped)
        return 0;
    process = task_process(task, SAMPLER_LOSS_UID_SAMPLE);
    if (!process)
        return 0;
    walk = call_walk_begin();
    if (!walk)
        return 0;
    walk->now = bpf_ktime_get_ns();
    task_values(&walk->process, task, process);
    walk->head.time_ns = walk->now;
    task_identify(task, &walk->head, true);
    call_registers(walk, context);
    stack_walk(walk, task);
    return walk;
}

SEC("uprobe")

int sampler_launched(struct pt_regs *context)
{
    struct walk *walk = call_walk(context);

    if (!walk)
        return 0;
    walk->sample.launched = context->rdi;
    walk->sample.launches = context->rdx;
    if (sample_send(walk, SAMPLER_LAUNCH) == 0)
        count_add(SAMPLER_COUNT_LAUNCHES, 1);
    count_add(SAMPLER_COUNT_LAUNCH_NS, bpf_ktime_get_ns() - walk->now);
    walk_end(walk);
    return 0;
}

SEC("uprobe")

int sampler_allocated(struct pt_regs *context)
{
    struct walk *walk = call_walk(context);

    if (!walk)
        return 0;
    walk->sample.block = context->rdi;
    walk->sample.block_size = context->rsi;
    walk->sample.block_weight = context->rdx;
    if (sample_send(walk, SAMPLER_ALLOCATED) == 0)
        count_add(SAMPLER_COUNT_BLOCKS, 1);
    count_add(SAMPLER_COUNT_BLOCK_NS, bpf_ktime_get_ns() - walk->now);
    walk_end(walk);
    return 0;
}

SEC("uprobe")

int sampler_freed(struct pt_regs *context)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct sampler_freed record = {};

    if (sched_control.stopped || !task_process(task, SAMPLER_LOSS_UID_SAMPLE))
        return 0;
    record.head.kind = SAMPLER_FREED;
    record.head.time_ns = bpf_ktime_get_ns();
    task_identify(task, &record.head, true);
    record.block = context->rdi;
    emit_record(&record.head, sizeof(record), emit_flags(record.head.time_ns, false),
                SAMPLER_LOSS_RING_FULL_SAMPLE);
    return 0;
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* Names an address of the kernel, for the collector, which runs this directly. The kernel finds one
 * symbol in microseconds; reading all from /proc/kallsyms takes 50 ms. */
char name_text[KERNEL_NAME_MAX] SEC(".bss.name");

static const char name_format[] = "%ps";

SEC("raw_tp")

int sampler_named(struct bpf_raw_tracepoint_args *ctx)
{
    uint64_t address = ctx->args[0];

    return bpf_snprintf(name_text, sizeof(name_text), name_format, &address, sizeof(address));
}
