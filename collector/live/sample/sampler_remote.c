/* SPDX-License-Identifier: MIT */
/* The rung of remote reads: Python stacks of processes of the same user, without BPF and without
 * pausing a process.
 *
 * At each tick every running thread is read; its sample stands for its CPU time since its last one,
 * by the kernel's accounting, so that sums are right even if ticks are missed. A stack that moved
 * while it was read is discarded and counted; its time goes to the next one. Native frames, kernel
 * frames, threads without Python and time off CPU are missing. Forks, execs and ends are detected
 * at looks, up to LIFE_EVERY_NS late.
 * Thread-safety: one thread per object. */
#include "sampler_rung.h"

#include "clock_now.h"
#include "file_io.h"
#include "hash_map.h"
#include "lives.h"
#include "lives_proc.h"
#include "proc_info.h"
#include "processes.h"
#include "python_remote.h"
#include "stacks.h"
#include "text.h"
#include "vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* ---- Processes sampled from outside ---------------------------------------------------------- */

/* A process in this rung: its image, its interpreter, its threads and their CPU time. A process is
 * identified by pid and start, a thread by tid and start: the numbers are reused. */

enum { REMOTE_THREADS_MAX = 4096, REMOTE_FRAMES_MAX = 512 };

struct remote_thread {
    int32_t tid, ns_tid;
    uint64_t start_ticks;
    uint64_t cpu_ns; /* at its last sample */
    int64_t ordinal; /* in the trace; -1: not sampled yet */
    uint64_t pass;   /* the last one in which the interpreter listed it */
};

struct remote_process {
    struct process
        *entry; /* of the registry, which refers back to it; NULL: the pid has another owner */
    int32_t pid, ns_pid;
    int end_fd; /* gives its exit status; below 0: none */
    bool waits_exec;
    bool ours; /* it began during the recording: all of its CPU time counts */
    uint64_t start_ticks;
    uint64_t stack_begin;         /* stack address of this image: changes with an exec */
    struct python_remote *python; /* NULL: no known interpreter (yet) */
    int64_t next_try_ns, pause_ns, looked_ns;
    uint64_t pass;       /* number of listings of its threads */
    struct map64 by_tid; /* to 1 + index in threads */
    VEC(struct remote_thread) threads;
};

#define TICK_NS UINT64_C(10000000)

#define PAUSE_FIRST_NS INT64_C(5000000)

#define PAUSE_LONGEST_NS INT64_C(2000000000)

/* A thread's CPU time so far in ns, exact if the kernel counts it. False: it has ended. */
static bool remote_cpu_ns(int32_t pid, int32_t tid, uint64_t *ret_ns)
{
    char path[64], text[128];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
    if (file_read_text(path, text, sizeof(text)) <= 0)
        return false;
    *ret_ns = strtoull(text, NULL, 10);
    return true;
}

/* NULL: unknown. start_ticks 0: any start. */
static struct remote_process *remote_process_find(const struct lives *lives, int32_t pid,
                                                  uint64_t start_ticks)
{
    const struct process *entry = lives_find_sampled(lives, pid);
    struct remote_process *process = entry ? entry->sampled : NULL;
    return process && (start_ticks == 0 || process->start_ticks == start_ticks) ? process : NULL;
}

/* Adds a process, now; NULL: out of memory. `stat`: already read. */
static struct remote_process *remote_process_create(struct lives *lives, int32_t pid,
                                                    const struct proc_stat *stat, int64_t now_ns)
{
    struct lives_task task = {.pid = pid, .start_ticks = stat->start_ticks};
    struct remote_process *old = remote_process_find(lives, pid, 0);
    struct remote_process *process = calloc(1, sizeof(*process));
    if (process)
        process->entry = lives_hang(lives, &task, now_ns, process);
    if (!process || !process->entry) {
        free(process);
        return NULL;
    }
    if (old && old->entry != process->entry)
        old->entry->sampled = NULL;
    if (old)
        old->entry = NULL;
    process->pid = pid;
    process->ns_pid = proc_pid_inside(pid);
    process->start_ticks = stat->start_ticks;
    process->stack_begin = stat->stack_begin;
    process->pause_ns = PAUSE_FIRST_NS;
    process->looked_ns = now_ns;
    process->end_fd = proc_end_open(pid);
    return process;
}

static void remote_process_destroy(struct remote_process *process)
{
    if (!process)
        return;
    if (process->entry)
        process->entry->sampled = NULL;
    python_remote_close(process->python);
    map64_free(&process->by_tid);
    vec_free(&process->threads);
    if (process->end_fd >= 0)
        close(process->end_fd);
    free(process);
}

/* Searches for its interpreter, rarely if it has none. */
static void remote_process_look(struct remote_process *process, int64_t now_ns)
{
    char reason[PYTHON_REMOTE_REASON_MAX];
    if (process->python || process->waits_exec || now_ns < process->next_try_ns)
        return;
    int result = python_remote_open(process->pid, &process->python, reason);
    if (result == -EAGAIN)
        process->pause_ns = PAUSE_FIRST_NS;
    process->next_try_ns = now_ns + process->pause_ns;
    process->pause_ns =
        process->pause_ns * 2 < PAUSE_LONGEST_NS ? process->pause_ns * 2 : PAUSE_LONGEST_NS;
}

/* Resets the process for a new program. */
static void remote_process_exec(struct remote_process *process, const struct proc_stat *stat)
{
    python_remote_close(process->python);
    process->python = NULL;
    process->stack_begin = stat->stack_begin;
    process->waits_exec = false;
    process->next_try_ns = 0;
    process->pause_ns = PAUSE_FIRST_NS;
}

/* ---- Threads --------------------------------------------------------------------------------- */

/* NULL: unknown. Valid until the next add or remove. */
static struct remote_thread *remote_thread_find(const struct remote_process *process, int32_t tid)
{
    const uint64_t *place = map64_find(&process->by_tid, (uint64_t)tid);
    return place ? &process->threads.items[*place - 1] : NULL;
}

/* Adds an unknown tid; NULL: out of memory. */
static struct remote_thread *remote_thread_add(struct remote_process *process, int32_t tid,
                                               uint64_t start_ticks)
{
    struct remote_thread thread = {.tid = tid, .start_ticks = start_ticks, .ordinal = -1};
    if (vec_reserve(&process->threads, 1) != 0 ||
        map64_put(&process->by_tid, (uint64_t)tid, process->threads.count + 1) != 0)
        return NULL;
    process->threads.items[process->threads.count] = thread;
    return &process->threads.items[process->threads.count++];
}

/* The last one takes its place. */
static void remote_thread_remove(struct remote_process *process, struct remote_thread *thread)
{
    uint64_t place;
    const struct remote_thread *last = &process->threads.items[process->threads.count - 1];
    map64_take(&process->by_tid, (uint64_t)thread->tid, &place);
    if (thread != last) /* replaces a value, so it cannot fail */
        map64_put(&process->by_tid, (uint64_t)last->tid, place);
    *thread = *last;
    process->threads.count--;
}

static struct lives_task remote_process_task(const struct remote_process *process)
{
    return (struct lives_task){.pid = process->pid,
                               .tid = process->pid,
                               .ns_pid = process->ns_pid,
                               .ns_tid = process->ns_pid,
                               .start_ticks = process->start_ticks};
}

static struct lives_task remote_thread_task(const struct remote_process *process,
                                            const struct remote_thread *thread)
{
    return (struct lives_task){.pid = process->pid,
                               .tid = thread->tid,
                               .ns_pid = process->ns_pid,
                               .ns_tid = thread->ns_tid,
                               .start_ticks = process->start_ticks,
                               .thread_start_ns = thread->start_ticks * TICK_NS};
}

#define LIFE_EVERY_NS INT64_C(50000000) /* interval of looks for children and ends */

enum { TRIES = 3, FREQUENCY_DEFAULT = 99 };

struct remote_sampler {
    struct sampler_options options;
    int timer_fd;
    int64_t now_ns, life_ns;
    uint64_t begin_ticks; /* processes that start later are ours */
    struct pace pace;

    VEC(struct remote_process *) processes;

    struct python_remote_thread threads[REMOTE_THREADS_MAX];
    struct python_remote_frame frames[REMOTE_FRAMES_MAX];
    uint64_t samples, torn, ends[STACK_END_COUNT];
};

/* In the unit of field 22 of /proc/PID/stat. */
static uint64_t boot_ticks(void)
{
    return (uint64_t)clock_boot_ns() / 10000000;
}

/* ---- Rung ------------------------------------------------------------------------------------ */

static void remote_destroy(void *state)
{
    struct remote_sampler *sampler = state;
    if (!sampler)
        return;
    for (size_t i = 0; i < sampler->processes.count; i++)
        remote_process_destroy(sampler->processes.items[i]);
    vec_free(&sampler->processes);
    if (sampler->timer_fd >= 0)
        close(sampler->timer_fd);
    free(sampler);
}

static int set_timer(const struct remote_sampler *sampler, uint32_t hertz)
{
    long period = 1000000000L / (hertz ? hertz : FREQUENCY_DEFAULT);
    struct itimerspec every = {{period / 1000000000L, period % 1000000000L}, {0, 1}};
    return timerfd_settime(sampler->timer_fd, 0, &every, NULL) == 0 ? 0 : -errno;
}

static int start_timer(struct remote_sampler *sampler)
{
    const struct sampler_options *options = &sampler->options;
    sampler->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (sampler->timer_fd < 0)
        return -errno;
    sampler->pace =
        (struct pace){.fast = options->first_hz > 0, .begin_ns = (uint64_t)clock_now_ns()};
    return set_timer(sampler, sampler->pace.fast ? options->first_hz : options->frequency_hz);
}

/* A sample's weight is the CPU time since the previous one, at any rate. */
static void keep_pace(struct remote_sampler *sampler)
{
    if (!pace_is_over(&sampler->pace, (uint64_t)sampler->now_ns))
        return;
    (void)set_timer(sampler, sampler->options.frequency_hz);
    pace_slow(&sampler->pace, sampler->options.trace);
}

/* Tests if the call exists: containers may deny it. Permission for a process is checked when it is
 * opened. */
static int try_read(void)
{
    char from = 1, to = 0;
    int64_t got = proc_read_memory(getpid(), (uintptr_t)&from, &to, 1);
    return got < 0 ? (int)got : 0;
}

static int remote_create(const struct sampler_options *options, void **ret_state, char *reason,
                         size_t reason_size)
{
    struct remote_sampler *sampler = calloc(1, sizeof(*sampler));
    if (!sampler)
        return -ENOMEM;
    sampler->options = *options;
    sampler->begin_ticks = boot_ticks();
    int error = try_read();
    if (error)
        snprintf(reason, reason_size, "memory of processes cannot be read: %s", strerror(-error));
    else if ((error = start_timer(sampler)) != 0)
        snprintf(reason, reason_size, "no timer: %s", strerror(-error));
    if (error) {
        remote_destroy(sampler);
        return error;
    }
    *ret_state = sampler;
    return 0;
}

static int remote_fd(const void *state)
{
    return ((const struct remote_sampler *)state)->timer_fd;
}

static int remote_timeout_ms(const void *state)
{
    (void)state;
    return -1;
}

/* ---- Processes ------------------------------------------------------------------------------- */

static int add_process(struct remote_sampler *sampler, int32_t pid, const struct proc_stat *status,
                       bool waits_exec)
{
    if (remote_process_find(sampler->options.lives, pid, status->start_ticks))
        return 0;
    struct remote_process *process =
        remote_process_create(sampler->options.lives, pid, status, clock_now_ns());
    if (!process)
        return -ENOMEM;
    process->waits_exec = waits_exec;
    process->ours = waits_exec || process->start_ticks > sampler->begin_ticks;
    if (vec_push(&sampler->processes, process) == 0)
        return 0;
    remote_process_destroy(process);
    return -ENOMEM;
}

/* Reports an exec since the last look at the process; `since_ns` is 0 at the first. */
static int emit_exec(struct remote_sampler *sampler, const struct lives_task *task,
                     const struct process_look *look, int64_t since_ns)
{
    const struct lives_exec_seen seen = {.task = *task,
                                         .since_ns = since_ns,
                                         .time_ns = sampler->now_ns,
                                         .comm = look->stat.comm,
                                         .cmdline = look->command};
    return lives_exec_seen(sampler->options.lives, &seen);
}

/* Known children were seen alive just now. */
static int add_child(struct remote_sampler *sampler, const struct remote_process *parent,
                     int32_t pid)
{
    struct process_look look;
    struct lives_fork fork = {.parent = remote_process_task(parent), .time_ns = sampler->now_ns};
    if (remote_process_find(sampler->options.lives, pid, 0) || process_look(pid, &look) != 0)
        return 0;
    const struct proc_stat *status = &look.stat;
    int error = add_process(sampler, pid, status, false);
    if (error)
        return error;
    fork.child = (struct lives_task){.pid = pid, .tid = pid, .start_ticks = status->start_ticks};
    fork.comm = status->comm;
    error = lives_fork(sampler->options.lives, &fork);
    /* A fork has its parent's stack: with another one it has already done an exec. */
    if (!error && status->stack_begin && status->stack_begin != parent->stack_begin)
        error = emit_exec(sampler, &fork.child, &look, 0);
    return error;
}

/* Adds the children of its first thread, from the kernel's list: other threads rarely have any. */
static int add_children(struct remote_sampler *sampler, const struct remote_process *parent)
{
    char path[64];
    int child, error = 0;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent->pid, (int)parent->pid);
    FILE *children = fopen(path, "re");
    while (children && !error && fscanf(children, "%d", &child) == 1)
        error = add_child(sampler, parent, child);
    if (children)
        fclose(children);
    return error;
}

static int remote_track(void *state, int32_t pid, unsigned flags)
{
    struct remote_sampler *sampler = state;
    struct process_look look;
    int error = proc_check_owner(pid);
    if (!error && process_look(pid, &look) != 0)
        error = -ESRCH;
    if (!error)
        error = add_process(sampler, pid, &look.stat, flags & SAMPLER_TRACK_WAIT_EXEC);
    if (!error && !(flags & SAMPLER_TRACK_WAIT_EXEC))
        error = process_past_emit(sampler->options.lives, pid, 0, &look);
    return error;
}

/* ---- Lives ----------------------------------------------------------------------------------- */

/* Ends its entry in the trace. */
static void emit_thread_end(struct remote_sampler *sampler, const struct remote_process *process,
                            struct remote_thread *thread)
{
    struct lives_task task = remote_thread_task(process, thread);
    if (thread->ordinal >= 0)
        lives_exit(sampler->options.lives, &task, sampler->now_ns, false, 0);
    thread->ordinal = -1;
}

static void end_thread(struct remote_sampler *sampler, struct remote_process *process,
                       struct remote_thread *thread)
{
    emit_thread_end(sampler, process, thread);
    remote_thread_remove(process, thread);
}

/* Threads that left the interpreter may live on without it. */
static void end_gone_threads(struct remote_sampler *sampler, struct remote_process *process)
{
    struct proc_stat status;
    for (size_t i = process->threads.count; i-- > 0;) {
        struct remote_thread *thread = &process->threads.items[i];
        if (thread->pass == process->pass)
            continue;
        int error = proc_thread_stat(process->pid, thread->tid, &status);
        if (error == -ESRCH || (error == 0 && status.start_ticks != thread->start_ticks))
            end_thread(sampler, process, thread);
    }
}

static void end_process(struct remote_sampler *sampler, struct remote_process *process)
{
    struct lives_task task = remote_process_task(process);
    int status = LIVES_STATUS_UNKNOWN;
    task.tid = 0;
    while (process->threads.count > 0)
        end_thread(sampler, process, &process->threads.items[process->threads.count - 1]);
    (void)proc_end_status(process->end_fd, process->pid, &status);
    lives_exit(sampler->options.lives, &task, sampler->now_ns, true, status);
    remote_process_destroy(process);
}

/* An exec ends all threads but the first, which becomes another one in the trace. */
static int begin_image(struct remote_sampler *sampler, struct remote_process *process,
                       const struct process_look *look)
{
    struct lives_task task = remote_process_task(process);
    for (size_t i = process->threads.count; i-- > 0;) {
        struct remote_thread *thread = &process->threads.items[i];
        emit_thread_end(sampler, process, thread);
        if (thread->tid != process->pid)
            remote_thread_remove(process, thread);
    }
    remote_process_exec(process, &look->stat);
    return emit_exec(sampler, &task, look, process->looked_ns);
}

/* 1: it lives, or is unreadable now; 0: ended; -ENOMEM. */
static int update_process(struct remote_sampler *sampler, struct remote_process *process)
{
    struct proc_stat status;
    int error = proc_stat(process->pid, &status);
    if (error != 0)
        return error != -ESRCH;
    bool ended = status.state == 'X' || (status.state == 'Z' && status.thread_count <= 1);
    if (ended || status.start_ticks != process->start_ticks)
        return 0;
    if (status.stack_begin != process->stack_begin && status.stack_begin) {
        struct process_look look;
        if (process_look(process->pid, &look) != 0)
            return 1; /* the next look finds its end */
        error = begin_image(sampler, process, &look);
    }
    process->looked_ns = sampler->now_ns;
    remote_process_look(process, sampler->now_ns);
    return error ? error : 1;
}

/* Ends processes that have exited. */
static int update_all(struct remote_sampler *sampler)
{
    size_t kept = 0, known = sampler->processes.count;
    int error = 0;
    for (size_t i = 0; i < known; i++) {
        struct remote_process *process = sampler->processes.items[i];
        int alive = error ? 1 : update_process(sampler, process);
        if (alive < 0)
            error = alive;
        if (alive == 0) {
            end_process(sampler, process);
            continue;
        }
        sampler->processes.items[kept++] = process;
        end_gone_threads(sampler, process);
    }
    sampler->processes.count = kept;
    return error;
}

static int update_lives(struct remote_sampler *sampler)
{
    int error = update_all(sampler);
    for (size_t i = 0; i < sampler->processes.count && !error; i++)
        if (!sampler->processes.items[i]->waits_exec)
            error = add_children(sampler, sampler->processes.items[i]);
    return error;
}

/* ---- Samples --------------------------------------------------------------------------------- */

/* Adds a stack, root first; the ordinal or -ENOMEM. */
static int64_t intern_stack(struct remote_sampler *sampler, uint32_t count)
{
    struct trace *trace = sampler->options.trace;
    int64_t stack = 0;
    for (uint32_t i = count; i > 0 && stack >= 0; i--) {
        const struct python_remote_frame *from = &sampler->frames[i - 1];
        if (!from->code)
            continue; /* the mark of a call from C */
        int64_t frame =
            trace_python_frame(trace, from->function, from->file, &from->place, from->first_line);
        stack =
            frame < 0 ? frame : stacks_push(trace_stacks(trace), (uint32_t)stack, (uint32_t)frame);
    }
    return stack;
}

/* State of a thread at a tick. */
struct glance {
    const struct python_remote_thread *place; /* in the interpreter */
    struct remote_thread *thread;
    struct proc_stat stat;
    uint64_t used_ns; /* CPU time, total */
};

/* Finds the thread of that tid, or adds it if it is new or the tid was reused. 1; 0: it belongs to
 * a new owner of the pid; -ENOMEM. */
static int find_thread(struct remote_sampler *sampler, struct remote_process *process,
                       struct glance *glance)
{
    struct proc_stat status;
    uint64_t start_ticks = glance->stat.start_ticks;
    if (glance->thread && glance->thread->start_ticks == start_ticks)
        return 1;
    if (proc_stat(process->pid, &status) != 0 || status.start_ticks != process->start_ticks)
        return 0;
    if (glance->thread)
        end_thread(sampler, process, glance->thread);
    glance->thread = remote_thread_add(process, glance->place->tid, start_ticks);
    if (!glance->thread)
        return -ENOMEM;
    glance->thread->ns_tid = glance->place->ns_tid;
    glance->thread->pass = process->pass;
    glance->thread->cpu_ns = process->ours ? 0 : glance->used_ns;
    return 1;
}

/* 1: it runs and used CPU time since its last sample; 0; -ENOMEM. */
static int glance_at(struct remote_sampler *sampler, struct remote_process *process,
                     struct glance *glance)
{
    int32_t tid = glance->place->tid;
    if (tid <= 0 || !remote_cpu_ns(process->pid, tid, &glance->used_ns))
        return 0;
    glance->thread = remote_thread_find(process, tid);
    if (glance->thread)
        glance->thread->pass = process->pass;
    if (glance->thread && glance->thread->cpu_ns == glance->used_ns)
        return 0;
    if (proc_thread_stat(process->pid, tid, &glance->stat) != 0)
        return 0;
    int found = find_thread(sampler, process, glance);
    if (found <= 0)
        return found;
    return glance->used_ns > glance->thread->cpu_ns && glance->stat.state == 'R';
}

/* Reads a consistent stack, within a few tries. */
static uint32_t read_stack(struct remote_sampler *sampler, struct remote_process *process,
                           const struct python_remote_thread *thread, enum stack_end *ret_end)
{
    uint32_t count = 0;
    for (int i = 0; i < TRIES; i++) {
        count = python_remote_stack(process->python, thread, sampler->frames, REMOTE_FRAMES_MAX,
                                    ret_end);
        if (*ret_end == STACK_COMPLETE || *ret_end == STACK_DEPTH)
            return count;
    }
    return 0;
}

static int emit(struct remote_sampler *sampler, const struct remote_process *process,
                const struct glance *glance, struct sample *sample)
{
    struct remote_thread *thread = glance->thread;
    struct lives_task task = remote_thread_task(process, thread);
    if (thread->ordinal < 0)
        thread->ordinal = lives_thread(sampler->options.lives, &task, sampler->now_ns);
    if (thread->ordinal < 0)
        return -ENOMEM;
    lives_thread_comm(sampler->options.lives, &task, sampler->now_ns, glance->stat.comm);
    sample->thread = (uint32_t)thread->ordinal;
    sample->set = SAMPLE_SET_CPU;
    sampler->samples++;
    sampler->pace.cpu_ns += (uint64_t)sample->values[0];
    sampler->ends[sample->python_end]++;
    return sampler->options.sink(sampler->options.context, sample, 1);
}

static int sample_thread(struct remote_sampler *sampler, struct remote_process *process,
                         const struct python_remote_thread *place)
{
    struct glance glance = {.place = place};
    enum stack_end end;
    int runs = glance_at(sampler, process, &glance);
    if (runs <= 0)
        return runs;
    struct sample sample = {.time_ns = clock_now_ns(),
                            .cpu = glance.stat.cpu,
                            SAMPLE_VALUES((int64_t)(glance.used_ns - glance.thread->cpu_ns))};
    uint32_t count = read_stack(sampler, process, place, &end);
    if (count == 0) {
        sampler->torn += end != STACK_COMPLETE;
        return 0;
    }
    int64_t stack = intern_stack(sampler, count);
    if (stack < 0)
        return (int)stack;
    sample.stack = (uint32_t)stack;
    sample.python_end = (uint8_t)end;
    glance.thread->cpu_ns = glance.used_ns;
    return emit(sampler, process, &glance, &sample);
}

static int sample_process(struct remote_sampler *sampler, struct remote_process *process)
{
    if (!process->python)
        return 0;
    int count = python_remote_threads(process->python, sampler->threads, REMOTE_THREADS_MAX);
    int error = 0;
    process->pass++;
    for (int i = 0; i < count && !error; i++)
        error = sample_thread(sampler, process, &sampler->threads[i]);
    process->ours |= count > 0; /* threads that begin from now on */
    return error;
}

static int remote_step(void *state)
{
    struct remote_sampler *sampler = state;
    uint64_t ticks;
    int error = 0;
    if (read(sampler->timer_fd, &ticks, sizeof(ticks)) != sizeof(ticks))
        return 0;
    sampler->now_ns = clock_now_ns();
    if (sampler->now_ns - sampler->life_ns >= LIFE_EVERY_NS) {
        sampler->life_ns = sampler->now_ns;
        error = update_lives(sampler);
    }
    for (size_t i = 0; i < sampler->processes.count && !error; i++) {
        struct remote_process *process = sampler->processes.items[i];
        if (!process->python)
            error = update_process(sampler, process) < 0 ? -ENOMEM : 0;
        if (!error && sampler->options.frequency_hz)
            error = sample_process(sampler, process);
    }
    keep_pace(sampler);
    return error;
}

static int remote_finish(void *state)
{
    struct remote_sampler *sampler = state;
    struct trace *trace = sampler->options.trace;
    char name[96];
    sampler->now_ns = clock_now_ns();
    int error = update_lives(sampler); /* since the last look */
    if (!error)
        error = trace_fact_set(trace, FACT_COUNT, "samples", sampler->samples);
    if (!error)
        error = trace_fact_set(trace, FACT_COUNT, TRACE_FACT_UNSEEN,
                               lives_unseen(sampler->options.lives));
    if (!error)
        error = trace_fact_set(trace, FACT_COUNT, "stacks thrown away: moved while they were read",
                               sampler->torn);
    for (unsigned end = STACK_COMPLETE; end < STACK_END_COUNT && !error; end++) {
        if (sampler->ends[end] == 0)
            continue;
        snprintf(name, sizeof(name), "Python stacks: %s", stack_end_name(end));
        error = trace_fact_set(trace, FACT_COUNT, name, sampler->ends[end]);
    }
    return error;
}

const struct sampler_rung sampler_rung_remote = {
    .rung = SAMPLING_REMOTE,
    .create = remote_create,
    .destroy = remote_destroy,
    .track = remote_track,
    .fd = remote_fd,
    .timeout_ms = remote_timeout_ms,
    .step = remote_step,
    .finish = remote_finish,
};
