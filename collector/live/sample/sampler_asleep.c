/* SPDX-License-Identifier: MIT */
/* Threads that slept already when sampling of their process began, such as a hung server, and those
 * that still wait when the recording ends.
 *
 * For the former the kernel's part opens a stretch (bpf/sched.bpf.h), which ends like any other;
 * for the latter it takes a stack only when they come back. Their stacks are read from outside,
 * once: native frames from their registers and the process's memory, Python frames as without BPF.
 * Stacks that moved meanwhile are discarded; the others are consistent in all parts.
 * Thread-safety: one thread per object. */
#include "sampler_asleep.h"

#include "processes.h"
#include "sampler_bpf.h"
#include "sampler_records.h"
#include "sampler_stacks.h"
#include "stack_join.h"

#include "hash.h"
#include "proc_info.h"
#include "python_remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = 4096, STACK_FRAMES_MAX = 2048, THREADS_MAX = 65536 };

/* A piece of the process's memory, for adjacent words. */
struct memory {
    int32_t pid;
    uint64_t at;
    int64_t size;
    uint8_t bytes[PAGE_BYTES];
};

/* The interpreter of the process being read. */
struct interpreter_threads {
    int32_t pid;
    struct python_remote *remote; /* NULL: none, or unreadable */
    struct python_remote_thread *threads;
    int count;
    struct python_remote_frame frames[SAMPLER_PYTHON_MAX];
};

static uint64_t asleep_key(const struct sampler_head *head)
{
    return hash_u64(hash_u64((uint64_t)(uint32_t)head->tid) ^ head->time_ns) | 1;
}

/* ---- Finding --------------------------------------------------------------------------------- */

static bool is_found(const struct asleep_threads *asleep, uint64_t key)
{
    if (map64_find(&asleep->by_key, key))
        return true;
    for (size_t i = 0; i < asleep->unread.count; i++)
        if (asleep_key(&asleep->unread.items[i]->found.head) == key)
            return true;
    return false;
}

static int add_thread(struct asleep_threads *asleep, const struct sampler_asleep *found,
                      bool listed)
{
    if (is_found(asleep, asleep_key(&found->head)))
        return 0;
    struct asleep_thread *thread = calloc(1, sizeof(*thread));
    if (!thread)
        return -ENOMEM;
    thread->found = *found;
    thread->listed = listed;
    if (vec_push(&asleep->unread, thread) != 0)
        free(thread); /* without a stack */
    return 0;
}

int sampler_find_asleep(struct bpf_sampler *sampler, bool known, uint64_t age_ns)
{
    struct sampler_asleep *found = NULL;
    size_t count = 0;
    if (!sampler->options.off_cpu)
        return 0;
    int error = bpf_program_find_asleep(sampler->program, known, &found, &count);
    if (error != 0 && error != -ENOMEM)
        sampler->counts.asleep_denied++;
    if (error != -ENOMEM)
        error = 0;
    for (size_t i = 0; i < count && !error; i++)
        if (found[i].head.time_ns + age_ns <= sampler->now_ns)
            error = add_thread(&sampler->asleep, &found[i], known);
    free(found);
    return error;
}

/* ---- Native frames --------------------------------------------------------------------------- */

static bool read_word(void *context, uint64_t address, uint64_t *ret_value)
{
    struct memory *memory = context;
    uint64_t offset = address - memory->at;
    if (address % sizeof(*ret_value) != 0)
        return proc_read_memory(memory->pid, address, ret_value, sizeof(*ret_value)) ==
               (int64_t)sizeof(*ret_value);
    if (memory->size <= 0 || offset >= (uint64_t)memory->size) {
        memory->at = address & ~(uint64_t)(PAGE_BYTES - 1);
        memory->size = proc_read_memory(memory->pid, memory->at, memory->bytes, PAGE_BYTES);
        offset = address - memory->at;
    }
    if (memory->size <= 0 || offset + sizeof(*ret_value) > (uint64_t)memory->size)
        return false;
    memcpy(ret_value, memory->bytes + offset, sizeof(*ret_value));
    return true;
}

static int read_native(struct bpf_sampler *sampler, struct sampled *process,
                       const struct sampler_asleep *found, struct sampler_stack *stack)
{
    struct memory memory = {.pid = process->pid};
    struct native_source source = {
        .registers = {.rip = found->rip, .rsp = found->rsp, .rbp = found->rbp, .rbx = found->rbx},
        .read = read_word,
        .context = &memory,
    };
    stack->native = asleep_key(&found->head);
    stack->flags = SAMPLER_COPIED; /* used once */
    return sampler_unwind(sampler, process, stack->native, &source);
}

/* ---- Python frames --------------------------------------------------------------------------- */

static void close_interpreter(struct interpreter_threads *interpreter)
{
    python_remote_close(interpreter->remote);
    free(interpreter->threads);
    interpreter->remote = NULL;
    interpreter->threads = NULL;
    interpreter->pid = interpreter->count = 0;
}

static void open_interpreter(struct interpreter_threads *interpreter, const struct sampled *process)
{
    char reason[PYTHON_REMOTE_REASON_MAX];
    if (interpreter->pid == process->pid)
        return;
    close_interpreter(interpreter);
    interpreter->pid = process->pid;
    if (process->interpreter.state != INTERPRETER_FOUND ||
        python_remote_open(process->pid, &interpreter->remote, reason) != 0)
        return;
    interpreter->threads = calloc(THREADS_MAX, sizeof(*interpreter->threads));
    if (interpreter->threads)
        interpreter->count =
            python_remote_threads(interpreter->remote, interpreter->threads, THREADS_MAX);
}

static int64_t python_frame(struct bpf_sampler *sampler, const struct python_remote_frame *python)
{
    return python->code ? trace_python_frame(sampler->options.trace, python->function, python->file,
                                             &python->place, python->first_line)
                        : 0;
}

/* Keeps Python frames relative to the native part's base: their places are compared. */
static int keep_python(struct bpf_sampler *sampler, const struct python_remote_frame *frames,
                       uint32_t count, struct sampler_stack *stack)
{
    const struct stack_part *native =
        stack_parts_find(&sampler->parts, PART_NATIVE, stack->native, sampler->now_ns);
    uint64_t base = native ? native->base : 0;
    struct stack_part *part = stack_parts_add(&sampler->parts, PART_PYTHON, stack->native, count);
    if (!part)
        return -ENOMEM;
    stack->python = stack->native;
    part->base = base;
    part->space = 0;
    part->end = stack->python_end;
    part->used_ns = sampler->now_ns;
    for (uint32_t i = 0; i < count; i++) {
        int64_t frame = python_frame(sampler, &frames[i]);
        part->items[i] = (struct part_item){frames[i].code, frames[i].anchor,
                                            frame > 0 ? (uint32_t)frame : 0, frames[i].flags};
        if (frame < 0)
            return (int)frame;
    }
    return 0;
}

static int read_python(struct bpf_sampler *sampler, struct interpreter_threads *interpreter,
                       const struct sampled *process, struct asleep_thread *thread,
                       struct sampler_stack *stack)
{
    enum stack_end end = STACK_NO_THREAD;
    uint32_t count = 0;
    open_interpreter(interpreter, process);
    if (!interpreter->remote)
        return 0;
    for (int i = 0; i < interpreter->count; i++) {
        if (interpreter->threads[i].tid != thread->found.head.tid)
            continue;
        count = python_remote_stack(interpreter->remote, &interpreter->threads[i],
                                    interpreter->frames, SAMPLER_PYTHON_MAX, &end);
        break;
    }
    stack->python_end = (uint8_t)end;
    return count ? keep_python(sampler, interpreter->frames, count, stack) : 0;
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

/* Keeps frames, not an ordinal: stacks are dropped after being written, and this one may be needed
 * hours later. */
static int keep_stack(struct bpf_sampler *sampler, struct asleep_thread *thread, uint32_t ordinal)
{
    static _Thread_local uint32_t frames[STACK_FRAMES_MAX];
    uint32_t count =
        stacks_frames(trace_stacks(sampler->options.trace), ordinal, frames, STACK_FRAMES_MAX);
    thread->frames = malloc((count + 1) * sizeof(*frames));
    if (!thread->frames)
        return -ENOMEM;
    memcpy(thread->frames, frames, count * sizeof(*frames));
    thread->count = count;
    return 0;
}

enum { READ_LATER = 2 };

/* 1: its stack was read; READ_LATER; 0: it moved; -ENOMEM. */
static int read_thread(struct bpf_sampler *sampler, struct interpreter_threads *interpreter,
                       struct asleep_thread *thread)
{
    struct sampler_stack stack = {0};
    struct sampled *process = processes_find(&sampler->processes, thread->found.head.pid);
    if (!process || process->exited)
        return 0;
    int error = read_native(sampler, process, &thread->found, &stack);
    if (!error)
        error = read_python(sampler, interpreter, process, thread, &stack);
    if (error == SAMPLER_LATER)
        return READ_LATER;
    int64_t ordinal = error ? error : sampler_find_stack(sampler, process, &stack);
    stack_parts_drop(&sampler->parts, PART_PYTHON, stack.python);
    if (ordinal < 0)
        return (int)ordinal;
    if (!bpf_program_is_asleep(sampler->program, &thread->found)) {
        sampler->counts.asleep_moved++;
        return 0;
    }
    thread->native_end = stack.native_end;
    thread->python_end = stack.python_end;
    error = keep_stack(sampler, thread, (uint32_t)ordinal);
    if (!error)
        error = map64_put(&sampler->asleep.by_key, asleep_key(&thread->found.head),
                          (uint64_t)(uintptr_t)thread);
    return error ? error : 1;
}

static void free_thread(struct asleep_thread *thread)
{
    free(thread->frames);
    free(thread);
}

int sampler_read_asleep(struct bpf_sampler *sampler)
{
    struct asleep_threads *asleep = &sampler->asleep;
    struct interpreter_threads *interpreter =
        asleep->unread.count ? calloc(1, sizeof(*interpreter)) : NULL;
    int error = asleep->unread.count && !interpreter ? -ENOMEM : 0;
    size_t kept = 0;
    for (size_t i = 0; i < asleep->unread.count; i++) {
        struct asleep_thread *thread = asleep->unread.items[i];
        int known = error ? 0 : read_thread(sampler, interpreter, thread);
        if (known < 0)
            error = known;
        if (known <= 0)
            free_thread(thread);
        else if (known == READ_LATER)
            asleep->unread.items[kept++] = thread;
    }
    asleep->unread.count = kept;
    if (interpreter)
        close_interpreter(interpreter);
    free(interpreter);
    return error;
}

static void drop_thread(struct asleep_threads *asleep, uint64_t key)
{
    uint64_t found;
    if (map64_take(&asleep->by_key, key, &found))
        free_thread((struct asleep_thread *)(uintptr_t)found);
}

int sampler_take_asleep(struct bpf_sampler *sampler, const struct sampler_head *head,
                        const struct sampler_stack *parts, struct sample *sample)
{
    bool goes_on = parts->flags & SAMPLER_STILL_OFF && !sampler->finished;
    struct stacks *stacks = trace_stacks(sampler->options.trace);
    struct asleep_thread *thread;
    const uint64_t *found = map64_find(&sampler->asleep.by_key, asleep_key(head));
    int64_t stack = 0;
    if (!found)
        return 0;
    thread = (struct asleep_thread *)(uintptr_t)*found;
    bool same = thread->found.head.tid == head->tid && thread->found.head.time_ns == head->time_ns;
    for (uint32_t i = 0; same && i < thread->count && stack >= 0; i++)
        stack = stacks_push(stacks, (uint32_t)stack, thread->frames[i]);
    const struct stack_part *kernel =
        stack_parts_find(&sampler->parts, PART_KERNEL, parts->kernel, sampler->now_ns);
    for (uint32_t i = kernel ? kernel->count : 0; i > 0 && stack >= 0; i--)
        if (kernel->items[i - 1].frame)
            stack = stacks_push(stacks, (uint32_t)stack, kernel->items[i - 1].frame);
    if (stack >= 0 && same) {
        sample->stack = (uint32_t)stack;
        sample->native_end = thread->native_end;
        sample->python_end = thread->python_end;
    }
    thread->met_ns = sampler->now_ns;
    if (!goes_on)
        drop_thread(&sampler->asleep, asleep_key(head));
    return stack < 0 ? (int)stack : 0;
}

/* The next thread that is back; NULL: no more. */
static const struct asleep_thread *find_back(const struct bpf_sampler *sampler)
{
    const struct map64 *map = &sampler->asleep.by_key;
    for (size_t i = 0; i < map->capacity; i++) {
        const struct asleep_thread *thread =
            (const struct asleep_thread *)(uintptr_t)map->entries[i].value;
        if (map->entries[i].key && thread->listed && thread->met_ns != sampler->now_ns)
            return thread;
    }
    return NULL;
}

void sampler_sweep_asleep(struct bpf_sampler *sampler)
{
    const struct asleep_thread *thread;
    while ((thread = find_back(sampler)))
        drop_thread(&sampler->asleep, asleep_key(&thread->found.head));
}

void asleep_threads_fini(struct asleep_threads *asleep)
{
    for (size_t i = 0; i < asleep->unread.count; i++)
        free_thread(asleep->unread.items[i]);
    for (size_t i = 0; i < asleep->by_key.capacity; i++)
        if (asleep->by_key.entries[i].key)
            free_thread((struct asleep_thread *)(uintptr_t)asleep->by_key.entries[i].value);
    vec_free(&asleep->unread);
    map64_free(&asleep->by_key);
}
