/* SPDX-License-Identifier: MIT */
/* See wait_kind.h. Thread-safety: none. */
#include "wait_kind.h"

#include "code_owner.h"
#include "stacks.h"
#include "text.h"

#include <string.h>

/* Library functions that wait by their own locks. */
static const struct {
    const char *file, *function;
    enum wait_kind kind;
} waiting[] = {
    {"/threading.py", "join", WAIT_KIND_JOIN},
    {"/concurrent/futures/_base.py", "result", WAIT_KIND_FUTURE},
    {"/concurrent/futures/_base.py", "exception", WAIT_KIND_FUTURE},
    {"/concurrent/futures/_base.py", "as_completed", WAIT_KIND_FUTURE},
    {"/concurrent/futures/_base.py", "wait", WAIT_KIND_FUTURE},
    {"/multiprocessing/pool.py", "get", WAIT_KIND_POOL},
    {"/multiprocessing/pool.py", "wait", WAIT_KIND_POOL},
    {"/multiprocessing/pool.py", "next", WAIT_KIND_POOL},
    {"/multiprocessing/pool.py", "join", WAIT_KIND_POOL},
    {"/queue.py", "get", WAIT_KIND_QUEUE},
    {"/queue.py", "put", WAIT_KIND_QUEUE},
    {"/queue.py", "join", WAIT_KIND_QUEUE},
};

/* 3.11 and later call it "Thread.join". */
static bool is_called(const char *name, const char *function)
{
    const char *last = strrchr(name, '.');
    return strcmp(last ? last + 1 : name, function) == 0;
}

/* SimpleQueue is implemented in C: in its own extension module, or built into the interpreter,
 * where its functions are recognized by name. */
static bool is_native_queue(const struct trace *trace, const struct label *label)
{
    const struct code_module *module = stacks_get_module(trace_stacks_get(trace), label->module);
    const char *base = text_base_name(trace_string(trace, module->path)->bytes);
    const char *name = trace_string(trace, label->text)->bytes;
    return strncmp(base, "_queue.", strlen("_queue.")) == 0 ||
           strncmp(name, "_queue_SimpleQueue_", strlen("_queue_SimpleQueue_")) == 0;
}

static unsigned kind_of_label(const struct trace *trace, uint32_t ordinal, unsigned otherwise)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    const struct label *label = stacks_get_label(stacks, ordinal);
    if (label->kind == FRAME_NATIVE && is_native_queue(trace, label))
        return WAIT_KIND_QUEUE;
    if (label->kind != FRAME_PYTHON)
        return otherwise;
    const char *file = trace_string(trace, stacks_get_source(stacks, label->source)->path)->bytes;
    const char *name = trace_string(trace, label->text)->bytes;
    for (size_t i = 0; i < sizeof(waiting) / sizeof(*waiting); i++)
        if (text_ends_with(file, waiting[i].file) && is_called(name, waiting[i].function))
            return waiting[i].kind;
    return otherwise;
}

/* Returns the kind of the outermost of these functions called by own code. */
uint8_t wait_kind_of(const struct own_time *own, uint32_t stack, unsigned reason)
{
    const struct trace *trace = own_time_trace(own);
    const struct stacks *stacks = trace_stacks_get(trace);
    unsigned kind = reason;
    for (; reason == WAIT_LOCK && stack; stack = stacks_get_stack(stacks, stack)->parent) {
        uint32_t frame = stacks_get_stack(stacks, stack)->frame;
        uint32_t label = stacks_get_frame(stacks, frame)->label;
        if (own_time_label(own, label)->owner == CODE_OWN)
            break;
        kind = kind_of_label(trace, label, kind);
    }
    return (uint8_t)kind;
}

const char *wait_kind_name(unsigned kind)
{
    static const char *const names[] = {"join", "future", "queue", "pool"};
    return kind >= WAIT_REASON_COUNT && kind < WAIT_KINDS
               ? names[kind - WAIT_REASON_COUNT]
               : wait_reason_name((enum wait_reason)kind);
}

const char *wait_phrase(unsigned kind)
{
    static const char *const phrases[WAIT_KINDS] = {
        [WAIT_UNKNOWN] = "waiting",
        [WAIT_PREEMPTED] = "runnable but without a processor",
        [WAIT_DISK] = "waiting for the disk",
        [WAIT_PAGE_FAULT] = "waiting for memory",
        [WAIT_PIPE] = "waiting for a pipe",
        [WAIT_SOCKET] = "waiting for a socket",
        [WAIT_LOCK] = "waiting for a lock",
        [WAIT_GIL] = "waiting for the GIL",
        [WAIT_SLEEP] = "asleep",
        [WAIT_POLL] = "waiting for events",
        [WAIT_CHILD] = "waiting for a child process",
        [WAIT_TERMINAL] = "waiting for the terminal",
        [WAIT_SIGNAL] = "waiting for a signal",
        [WAIT_OTHER_FILE] = "waiting for a device",
        [WAIT_KIND_JOIN] = "waiting for a thread to end",
        [WAIT_KIND_FUTURE] = "waiting for a future",
        [WAIT_KIND_QUEUE] = "waiting for a queue",
        [WAIT_KIND_POOL] = "waiting for the pool",
    };
    return phrases[kind < WAIT_KINDS ? kind : WAIT_UNKNOWN];
}
