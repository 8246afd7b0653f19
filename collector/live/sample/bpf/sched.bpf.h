/* SPDX-License-Identifier: MIT */
/* (MIT OR GPL-2.0) Threads off CPU. */
#ifndef ANNOT_SCHED_BPF_H
#define ANNOT_SCHED_BPF_H

#include "sleeper.bpf.h"

/* ---- Switches -------------------------------------------------------------------------------- */

/* Stretches off CPU: noted when a thread leaves, reported when it runs again.
 *
 * Most stretches are shorter than the threshold, so leaving costs two times and a few words. The
 * stack of a reported one is walked when the thread has come back, in sampler_returned, where it is
 * current again and has run none of its own code yet. On kernels without such a hook
 * (config.walks_at_leave) it is walked at each switch, while the outgoing thread is still the
 * current one. The reason of the wait is noted as raw facts; user space classifies. One entry per
 * thread, kept from its first switch to its death, so that a switch costs no allocation. */

enum {
    SCHED_RATE_WINDOWS = 100, /* windows of the rate cap in a second */
    SCHED_MEASURED = 64,      /* one of this many switches is measured */
};

/* System calls below 64 with the descriptor they wait for as the first argument: read, write,
 * ioctl, pread64, pwrite64, readv, writev, sendfile, connect, accept, sendto, recvfrom, sendmsg,
 * recvmsg. */
#define SCHED_FD_CALLS                                                                             \
    (1ull << 0 | 1ull << 1 | 1ull << 16 | 1ull << 17 | 1ull << 18 | 1ull << 19 | 1ull << 20 |      \
     1ull << 40 | 1ull << 42 | 1ull << 43 | 1ull << 44 | 1ull << 45 | 1ull << 46 | 1ull << 47)

/* head.kind: SAMPLER_SWITCH while the thread is off CPU, and until its stretch is reported; else 0.
 * Key: the kernel's own number. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct sampler_switch);
} switches SEC(".maps");

/* The content of a new entry. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct sampler_switch);
} sched_blank SEC(".maps");

/* From sampler_switched to sampler_returned on this CPU, so that a return to an unreported stretch
 * costs next to nothing. */
struct sched_arrival {
    uint32_t key;         /* the arriving thread */
    uint32_t is_reported; /* its stretch is to be reported */
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct sched_arrival);
} sched_arrivals SEC(".maps");

volatile struct sampler_control sched_control SEC(".bss.stop");

uint64_t sched_window; /* races cost a record more or less */
uint64_t sched_window_count;

static __always_inline bool sched_takes_fd(int32_t syscall)
{
    if (syscall >= 0 && syscall < 64)
        return SCHED_FD_CALLS >> syscall & 1;
    switch (syscall) {
    case 72:  /* fcntl      */
    case 73:  /* flock      */
    case 74:  /* fsync      */
    case 75:  /* fdatasync  */
    case 232: /* epoll_wait */
    case 275: /* splice     */
    case 281: /* epoll_pwait */
    case 288: /* accept4    */
    case 295: /* preadv     */
    case 296: /* pwritev    */
    case 299: /* recvmmsg   */
    case 307: /* sendmmsg   */
        return true;
    }
    return false;
}

static __always_inline uint32_t sched_file_mode(const struct task_struct *task, uint64_t fd)
{
    const struct fdtable *table = BPF_CORE_READ(task, files, fdt);
    struct file *file = 0;

    if (fd >= BPF_CORE_READ(table, max_fds))
        return 0;
    bpf_probe_read_kernel(&file, sizeof(file), BPF_CORE_READ(table, fd) + fd);
    return file ? BPF_CORE_READ(file, f_inode, i_mode) : 0;
}

/* Sets the wait's facts that are cheap to read: `stretch->state` and its PREEMPTED flag are
 * known. */
static __always_inline void sched_call(struct sampler_switch *stretch, struct task_struct *task)
{
    const struct pt_regs___kernel *regs = (const void *)bpf_task_pt_regs(task);
    int64_t call = regs->orig_ax;

    stretch->syscall = call >= 0 && call < 4096 && regs->cs != KERNEL_COMPAT_CS ? call : -1;
    stretch->argument = regs->di;
    stretch->file_mode = 0;
    if (BPF_CORE_READ_BITFIELD(task, in_iowait))
        stretch->flags |= SAMPLER_IO_WAIT;
    if (call < 0 && !(stretch->flags & SAMPLER_PREEMPTED))
        stretch->flags |= SAMPLER_FAULTED;
}

/* Sets the other facts, for reported stretches of a thread still in that call. */
static __always_inline void sched_facts(struct sampler_switch *stretch, struct task_struct *task,
                                        const struct sampler_process *process)
{
    if (stretch->flags & (SAMPLER_PREEMPTED | SAMPLER_FAULTED))
        return;
    if (sched_takes_fd(stretch->syscall))
        stretch->file_mode = sched_file_mode(task, stretch->argument);
    else if (stretch->syscall == SAMPLER_CALL_FUTEX && stretch->argument >= process->runtime &&
             stretch->argument < process->runtime_end)
        stretch->flags |= SAMPLER_GIL_WAIT;
}

/* The thread's entry, made on demand. NULL: more threads than fit, counted. */
static __always_inline struct sampler_switch *sched_entry(uint32_t key)
{
    struct sampler_switch *entry = bpf_map_lookup_elem(&switches, &key), *blank;
    uint32_t zero = 0;

    if (entry)
        return entry;
    blank = bpf_map_lookup_elem(&sched_blank, &zero);
    if (blank)
        bpf_map_update_elem(&switches, &key, blank, BPF_NOEXIST);
    entry = bpf_map_lookup_elem(&switches, &key);
    if (!entry)
        count(SAMPLER_LOSS_SWITCH_TABLE);
    return entry;
}

static __always_inline bool sched_rate_allows(uint64_t now)
{
    uint64_t window = now / (1000000000 / SCHED_RATE_WINDOWS);

    if (window != sched_window) {
        sched_window = window;
        sched_window_count = 0;
    }
    return __sync_fetch_and_add(&sched_window_count, 1) < config.rate_max / SCHED_RATE_WINDOWS + 1;
}

/* Ends the stretch, reported or not: sched_clear() follows at the next one. */
static __always_inline void sched_done(struct sampler_switch *entry)
{
    entry->head.kind = 0;
    entry->head.size = 0;
}

static __always_inline void sched_emit(struct sampler_switch *entry)
{
    uint32_t size = entry->head.size;

    entry->flags &= ~SAMPLER_RETURNING;
    if (size <= sizeof(*entry))
        emit_record(&entry->head, size, emit_flags(entry->end_ns, false),
                    SAMPLER_LOSS_RING_FULL_SWITCH);
    sched_done(entry);
}

static __always_inline void sched_emit_short(struct sampler_switch *entry, uint64_t end_ns)
{
    struct sampler_short *record;

    if (entry->unreported.count == 0)
        return;
    record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);
    if (!record) {
        count(SAMPLER_LOSS_RING_FULL_SWITCH);
        entry->unreported.count = 0;
        return;
    }
    record->head = entry->head;
    record->head.kind = SAMPLER_SHORT;
    record->head.size = sizeof(*record);
    record->head.time_ns = entry->unreported.begin_ns;
    record->end_ns = end_ns;
    record->waits = entry->unreported;
    bpf_ringbuf_submit(record, emit_flags(end_ns, false));
    entry->unreported.count = 0;
}

/* The time since which the leaving task has run, computed from its CPU time since it last left. */
static __always_inline uint64_t sched_arrived(const struct sampler_switch *entry,
                                              const struct task_struct *task, uint64_t now)
{
    return now - (task->se.sum_exec_runtime - entry->used_ns);
}

/* Adds the previous stretch, which is reported by its time only. It ended when the thread began to
 * use the CPU by the kernel's accounting, which includes the switch itself. */
static __always_inline void sched_add_short(struct sampler_switch *entry,
                                            const struct task_struct *task, uint64_t now)
{
    uint64_t begin = entry->head.time_ns, end = sched_arrived(entry, task, now), ready = end;
    struct sampler_short_waits *waits = &entry->unreported;

    if (end < begin || end > now)
        end = entry->end_ns;
    if (entry->flags & SAMPLER_PREEMPTED)
        ready = begin;
    else if (entry->wake_ns)
        ready = entry->wake_ns;
    if (ready > end)
        ready = end;
    if (waits->count++ == 0) {
        waits->begin_ns = begin;
        waits->blocked_ns = waits->runnable_ns = 0;
    }
    waits->blocked_ns += ready - begin;
    waits->runnable_ns += end - ready;
    if (now - end >= SAMPLER_SHORT_LEAST_NS) /* it has run since: later ones are at another place */
        sched_emit_short(entry, end);
    else if (now - waits->begin_ns >=
             (waits->count < SAMPLER_SHORT_MANY ? SAMPLER_SHORT_EVERY_NS : SAMPLER_SHORT_LEAST_NS))
        sched_emit_short(entry, now);
}

/* True if a stretch with a known end is to be reported. */
static __always_inline bool sched_counts(struct sampler_switch *entry)
{
    count(SAMPLER_COUNT_SWITCHES);
    if (entry->end_ns - entry->head.time_ns < config.threshold_ns) {
        count(SAMPLER_COUNT_SHORT);
    } else if (!sched_rate_allows(entry->end_ns)) {
        count(SAMPLER_LOSS_SWITCH_RATE);
    } else {
        sched_emit_short(entry, entry->head.time_ns);
        return true;
    }
    entry->flags |= SAMPLER_ADDS;
    return false;
}

/* The thread runs, but its return was not reported: some kernels switch now and then without their
 * tracepoint. Its kernel stack is lost. Not 0: to be reported. */
static __always_inline bool sched_is_unreported(struct sampler_switch *entry,
                                                const struct task_struct *task, uint64_t now)
{
    uint64_t arrived = sched_arrived(entry, task, now);

    if (arrived < entry->wake_ns)
        arrived = entry->wake_ns;
    if (arrived < entry->head.time_ns || arrived > now) {
        count(SAMPLER_COUNT_UNTOLD);
        return false;
    }
    count(SAMPLER_COUNT_REASONED);
    entry->end_ns = arrived;
    return sched_counts(entry);
}

/* The thread leaves, or ends, before its last stretch was reported: reports the available data. */
static __always_inline void sched_settle(struct sampler_switch *entry,
                                         const struct task_struct *task, uint64_t now)
{
    if (entry->flags & SAMPLER_RETURNING || sched_is_unreported(entry, task, now))
        sched_emit(entry);
}

/* Sets the short wait of an ending thread to the time after its last report: during its exit,
 * without its memory, its leaving the CPU is not reported any more. Its CPU time gives the time it
 * was away. */
static __always_inline void sched_emit_end(struct sampler_switch *entry,
                                           const struct task_struct *task, bool added, uint64_t now)
{
    uint64_t begin = entry->end_ns, arrived = sched_arrived(entry, task, now);

    if (arrived < begin || arrived > now)
        arrived = begin;
    entry->unreported = (struct sampler_short_waits){.begin_ns = added ? arrived : begin,
                                                     .runnable_ns = added ? 0 : arrived - begin,
                                                     .count = 1};
}

/* The current thread is about to end. It has run until now: the stretch reported at its last switch
 * begins here. */
static __always_inline void sched_exits(const struct task_struct *task)
{
    uint32_t key = task->pid;
    struct sampler_switch *entry = bpf_map_lookup_elem(&switches, &key);
    uint64_t now = bpf_ktime_get_ns();

    if (!entry || entry->head.thread_start_ns != task->start_boottime ||
        entry->head.kind == SAMPLER_SWITCH || entry->flags & SAMPLER_ADDS ||
        entry->unreported.count > 0 || entry->end_ns == 0 || entry->end_ns > now)
        return;
    entry->used_ns += now - entry->end_ns;
    entry->end_ns = now;
}

/* Handles a thread's last switch. */
static __always_inline void sched_ends(const struct task_struct *task, uint32_t key)
{
    struct sampler_switch *entry = bpf_map_lookup_elem(&switches, &key);
    uint64_t now;
    bool adds;

    if (!entry)
        return;
    now = bpf_ktime_get_ns();
    if (entry->head.kind == SAMPLER_SWITCH)
        sched_settle(entry, task, now);
    adds = entry->flags & SAMPLER_ADDS;
    if (adds)
        sched_add_short(entry, task, now);
    if (entry->unreported.count == 0) /* after the report of its process's end */
        sched_emit_end(entry, task, adds, now);
    if (entry->unreported.begin_ns && entry->unreported.begin_ns < now)
        sched_emit_short(entry, now);
    bpf_map_delete_elem(&switches, &key);
}

/* The task leaves the CPU: its entry, made on demand. NULL: not recorded. A task with an entry is
 * recorded, and permissions are checked when it is reported. */
static __always_inline struct sampler_switch *sched_leaves(const struct task_struct *task,
                                                           uint32_t state)
{
    struct sampler_switch *entry;
    uint32_t key = task->pid;

    if (state & KERNEL_TASK_DEAD)
        sched_ends(task, key);
    if ((state & KERNEL_TASK_DEAD) || !key || !task->mm)
        return 0;
    entry = bpf_map_lookup_elem(&switches, &key);
    if (entry && entry->head.thread_start_ns == task->start_boottime)
        return entry;
    return task_process(task, SAMPLER_LOSS_UID_SWITCH) ? sched_entry(key) : 0;
}

/* Reuses the identity from the thread's last switch, if it is the same thread: its numbers take a
 * dozen reads of kernel memory in a container, four elsewhere, and never change. */
static __always_inline void sched_identify(const struct task_struct *task,
                                           struct sampler_head *head)
{
    if (head->thread_start_ns != task->start_boottime)
        task_identify(task, head, true);
    head->cpu = bpf_get_smp_processor_id();
}

/* Walks the user stack of the current thread for its stretch. */
static __always_inline void sched_stack(struct sampler_switch *entry, struct task_struct *task,
                                        const struct sampler_process *process, uint64_t now)
{
    struct walk *walk = walk_begin(WALK_SWITCH);
    uint32_t count;

    if (!walk)
        return;
    walk->head = entry->head;
    walk->now = walk->head.time_ns = now;
    task_values(&walk->process, task, process);
    stack_registers(walk, task);
    if (!config.user_is_unsafe)
        stack_walk(walk, task);
    entry->native = stack_send_native(walk);
    entry->python = stack_send_python(walk);
    entry->space = walk->process.space;
    entry->native_end = walk->native_end;
    entry->python_end = walk->python_end;
    entry->flags |= walk->flags;
    entry->range_depth = walk->range_depth;
    count = range_copy(walk->range_depth, walk->live, entry->ranges);
    entry->head.size = offsetof(struct sampler_switch, ranges) + count * sizeof(entry->ranges[0]);
    walk_end(walk);
}

/* Clears the stack and ranges of the last reported stretch. */
static __always_inline void sched_clear(struct sampler_switch *entry)
{
    entry->head.size = offsetof(struct sampler_switch, ranges);
    entry->kernel = entry->native = entry->python = 0;
    entry->native_end = entry->python_end = STACK_NOT_WALKED;
    entry->range_depth = 0;
}

static __always_inline void sched_leave(struct task_struct *task, struct sampler_switch *entry,
                                        uint32_t state, bool preempted, uint64_t now)
{
    const struct sampler_process *process;

    if (entry->head.kind == SAMPLER_SWITCH)
        sched_settle(entry, task, now);
    if (entry->flags & SAMPLER_ADDS)
        sched_add_short(entry, task, now);
    sched_identify(task, &entry->head);
    entry->head.time_ns = now;
    entry->wake_ns = 0;
    entry->used_ns = task->se.sum_exec_runtime;
    entry->state = state;
    entry->flags = preempted || state == 0 ? SAMPLER_PREEMPTED : 0;
    if (config.walks_at_leave || entry->head.size == 0)
        sched_clear(entry);
    sched_call(entry, task);
    process = config.walks_at_leave ? task_process(task, SAMPLER_LOSS_UID_SWITCH) : 0;
    if (process)
        sched_stack(entry, task, process, now);
    entry->head.kind = SAMPLER_SWITCH;
}

/* A thread is runnable from its fork until it first runs. */
static __always_inline void sched_born(const struct task_struct *child)
{
    uint32_t key = BPF_CORE_READ(child, pid);
    struct sampler_switch *entry = key && config.rate_max ? sched_entry(key) : 0;

    if (!entry)
        return;
    task_identify(child, &entry->head, false);
    sched_clear(entry);
    entry->head.time_ns = bpf_ktime_get_ns();
    entry->wake_ns = entry->used_ns = 0;
    entry->state = 0;
    entry->flags = SAMPLER_PREEMPTED | SAMPLER_UNBORN;
    entry->syscall = -1;
    entry->unreported.count = 0;
    entry->head.kind = SAMPLER_SWITCH;
}

/* The kernel stack at which the thread stopped, and still is. */
static __always_inline uint64_t sched_kernel(struct task_struct *task,
                                             const struct sampler_switch *entry)
{
    struct walk *walk = walk_begin(WALK_SWITCH);
    uint64_t hash;

    if (!walk)
        return 0;
    walk->now = entry->end_ns;
    walk->head = entry->head;
    walk->process.space = entry->space;
    hash = sleeper_kernel(walk, task, entry);
    walk_end(walk);
    return hash;
}

/* The task enters a CPU. NULL: not recorded. */
static __always_inline struct sampler_switch *sched_enters(const struct task_struct *task)
{
    uint32_t key = task->pid;
    struct sampler_switch *entry = key ? bpf_map_lookup_elem(&switches, &key) : 0;

    return entry && entry->head.kind == SAMPLER_SWITCH ? entry : 0;
}

/* Completes a reported stretch: at once, or, if true, in sampler_returned. */
static __always_inline bool sched_complete(struct task_struct *task, struct sampler_switch *entry)
{
    const struct sampler_process *process = task_process(task, SAMPLER_LOSS_UID_SWITCH);

    if (!process) {
        entry->head.kind = 0;
        return false;
    }
    sched_facts(entry, task, process);
    if (entry->end_ns - entry->head.time_ns >= SAMPLER_KERNEL_STRETCH_NS &&
        !(entry->flags & SAMPLER_UNBORN))
        entry->kernel = sched_kernel(task, entry);
    if (config.walks_at_leave || entry->flags & SAMPLER_UNBORN) { /* returns by another path */
        sched_emit(entry);
        return false;
    }
    entry->flags |= SAMPLER_RETURNING;
    return true;
}

static __always_inline bool sched_enter(struct task_struct *task, struct sampler_switch *entry,
                                        uint64_t now)
{
    entry->end_ns = now;
    if (sched_counts(entry))
        return sched_complete(task, entry);
    entry->head.kind = 0;
    return false;
}

/* ctx: preempt, previous task, next task and, on newer kernels, the previous one's state. The clock
 * costs more than the work here for an unrecorded task; the cost of a switch is measured now and
 * then. */
SEC("tp_btf/sched_switch")

int sampler_switched(uint64_t *ctx)
{
    struct task_struct *previous = (struct task_struct *)ctx[1];
    struct task_struct *next = (struct task_struct *)ctx[2];
    uint32_t state = config.switch_has_state ? (uint32_t)ctx[3] : previous->__state, zero = 0;
    struct sched_arrival *arrival = bpf_map_lookup_elem(&sched_arrivals, &zero);
    struct sampler_switch *leaving, *entry;
    uint64_t now;

    if (!arrival || sched_control.stopped)
        return 0;
    *arrival = (struct sched_arrival){(uint32_t)next->pid, 0};
    leaving = sched_leaves(previous, state);
    entry = sched_enters(next);
    if (!leaving && !entry)
        return 0;
    now = bpf_ktime_get_ns();
    if (entry)
        arrival->is_reported = sched_enter(next, entry, now);
    if (leaving)
        sched_leave(previous, leaving, state, (uint8_t)ctx[0], now);
    if (now % SCHED_MEASURED == 0)
        count_add(SAMPLER_COUNT_SWITCH_NS, (bpf_ktime_get_ns() - now) * SCHED_MEASURED);
    return 0;
}

/* The current thread came back, and has run none of its own code since. Now and then its switch was
 * not reported: see sched_is_unreported. */
static __always_inline int sched_return(void)
{
    struct task_struct *task = bpf_get_current_task_btf();
    uint32_t zero = 0;
    struct sched_arrival *arrival = bpf_map_lookup_elem(&sched_arrivals, &zero);
    struct sampler_process *process;
    struct sampler_switch *entry;
    uint64_t now;

    if (!arrival || (arrival->key == (uint32_t)task->pid && !arrival->is_reported))
        return 0;
    arrival->is_reported = 0;
    entry = sched_enters(task);
    if (!entry || sched_control.stopped)
        return 0;
    now = bpf_ktime_get_ns();
    process = entry->flags & SAMPLER_RETURNING || sched_is_unreported(entry, task, now)
                  ? task_process(task, SAMPLER_LOSS_UID_SWITCH)
                  : 0;
    if (process) {
        sched_stack(entry, task, process, now);
        sched_emit(entry);
    }
    sched_done(entry);
    count_add(SAMPLER_COUNT_SWITCH_NS, bpf_ktime_get_ns() - now);
    return 0;
}

/* Since Linux 6.17. */
SEC("tp_btf/sched_exit_tp")

int sampler_returned(void *context)
{
    return sched_return();
}

/* On older kernels its function is found by name: sched_ways in bpf_program.c. */
SEC("kprobe")

int sampler_returned_early(void *context)
{
    return sched_return();
}

static __always_inline void sched_wake(struct task_struct *task)
{
    uint32_t key = task->pid;
    struct sampler_switch *entry = bpf_map_lookup_elem(&switches, &key);

    if (entry && entry->head.kind == SAMPLER_SWITCH && entry->wake_ns == 0 &&
        !(entry->flags & (SAMPLER_PREEMPTED | SAMPLER_RETURNING)))
        entry->wake_ns = bpf_ktime_get_ns();
}

SEC("tp_btf/sched_wakeup")

int BPF_PROG(sampler_woken, struct task_struct *task)
{
    sched_wake(task);
    return 0;
}

/* Threads that left the CPU before sampling began, and those that still wait at the end. */

/* Threads that already sleep when sampling of their process begins.
 *
 * The scheduler does not report them until they run again, if they ever do. A program of
 * bpf_iter/task visits each thread of the machine once and opens a stretch for these, which then
 * ends like any other. It runs in the system call of the collector, which reads their stacks. */

/* The stretch being made; there is one reader. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct sampler_switch);
} asleep_stretch SEC(".maps");

static __always_inline void asleep_fill(struct sampler_switch *stretch, struct task_struct *task,
                                        const struct sampler_process *process)
{
    struct sampler_head *head = &stretch->head;

    task_identify(task, head, true);
    if (bpf_core_field_exists(task->wake_cpu))
        head->cpu = BPF_CORE_READ(task, wake_cpu);
    head->kind = SAMPLER_SWITCH;
    head->size = offsetof(struct sampler_switch, ranges);
    head->time_ns = bpf_ktime_get_ns();
    stretch->used_ns = task->se.sum_exec_runtime;
    stretch->state = task->__state;
    stretch->flags = SAMPLER_ASLEEP;
    stretch->space = process->space;
    stretch->native_end = stretch->python_end = STACK_NOT_WALKED;
    sched_call(stretch, task);
    sched_facts(stretch, task, process);
}

/* True if the thread still sleeps. If it woke up before its stretch existed to be ended, drops the
 * stretch. */
static __always_inline bool asleep_settle(struct task_struct *task, uint32_t key)
{
    struct sampler_switch *entry;

    if (BPF_CORE_READ(task, __state))
        return true;
    entry = bpf_map_lookup_elem(&switches, &key);
    if (entry && entry->flags & SAMPLER_ASLEEP)
        entry->head.kind = 0;
    return false;
}

static __always_inline void asleep_emit(struct seq_file *seq, struct task_struct *task,
                                        const struct sampler_head *head, uint32_t key)
{
    const struct pt_regs___kernel *regs = (const void *)bpf_task_pt_regs(task);
    struct sampler_asleep record = {.head = *head, .key = key};

    record.rip = regs->ip;
    record.rsp = regs->sp;
    record.rbp = regs->bp;
    record.rbx = regs->bx;
    bpf_seq_write(seq, &record, sizeof(record));
}

/* Lists a thread with an unfinished stretch, which will not be reported before the recording
 * ends. */
static __always_inline void asleep_list(struct seq_file *seq, struct task_struct *task,
                                        const struct sampler_process *process)
{
    uint32_t key = task->pid;
    struct sampler_switch *entry = bpf_map_lookup_elem(&switches, &key);

    if (config.walks_at_leave || !entry || entry->head.kind != SAMPLER_SWITCH ||
        entry->flags & SAMPLER_RETURNING ||
        bpf_ktime_get_ns() - entry->head.time_ns < config.threshold_ns)
        return;
    sched_facts(entry, task, process);
    asleep_emit(seq, task, &entry->head, key);
}

SEC("iter/task")

int sampler_asleep(struct bpf_iter__task *context)
{
    struct seq_file *seq = context->meta->seq;
    struct task_struct *task = context->task;
    struct sampler_switch *stretch;
    struct sampler_process *process;
    uint32_t zero = 0, key, state;

    if (!task || !BPF_CORE_READ(task, mm)) /* for task->mm the verifier searches all types, 1 ms */
        return 0;
    key = task->pid;
    state = task->__state;
    process = task_process(task, SAMPLER_LOSS_UID_SWITCH);
    if (!process || state == 0 || state & KERNEL_TASK_DEAD)
        return 0;
    if (sched_control.listing) {
        asleep_list(seq, task, process);
        return 0;
    }
    stretch = bpf_map_lookup_elem(&asleep_stretch, &zero);
    if (!stretch)
        return 0;
    asleep_fill(stretch, task, process);
    if (bpf_map_update_elem(&switches, &key, stretch, BPF_NOEXIST)) {
        if (!bpf_map_lookup_elem(&switches, &key))
            count(SAMPLER_LOSS_SWITCH_TABLE);
        return 0;
    }
    if (asleep_settle(task, key))
        asleep_emit(seq, task, &stretch->head, key);
    return 0;
}

#endif
