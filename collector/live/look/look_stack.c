/* SPDX-License-Identifier: MIT */
/* Reads, joins and names frames. Thread-safety: one thread per object. */
#include "look_stack.h"

#include "look_space.h"

#include "python_stack.h"
#include "python_value.h"
#include "sampler_abi.h"
#include "stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PYTHON_THREADS_MAX = 65536, PYTHON_TRIES = 20 };

int look_stack_open(struct look_stack *stack, int32_t pid, int32_t ns_pid, struct trace *trace)
{
    *stack = (struct look_stack){.trace = trace};
    int error = look_space_open(&stack->space, pid, ns_pid);
    if (error != 0)
        return error == -ENOENT ? -ESRCH : error;
    int found = python_remote_open(pid, &stack->python, stack->reason);
    if (found == -ENOENT)
        stack->reason[0] = 0; /* no Python in it, which needs no explanation */
    if (found != 0) {
        stack->python = NULL;
        return found == -ENOMEM ? found : 0;
    }
    python_values_init(&stack->values, pid, &python_remote_runtime(stack->python)->offsets);
    stack->threads = calloc(PYTHON_THREADS_MAX, sizeof(*stack->threads));
    if (!stack->threads)
        return -ENOMEM;
    for (int i = 0; i < PYTHON_TRIES && stack->thread_count <= 0; i++)
        stack->thread_count =
            python_remote_threads(stack->python, stack->threads, PYTHON_THREADS_MAX);
    return 0;
}

void look_stack_close(struct look_stack *stack)
{
    free(stack->threads);
    python_remote_close(stack->python);
    look_space_close(&stack->space);
}

bool look_stack_is_gil(const struct look_stack *stack, uint64_t futex)
{
    if (!stack->python)
        return false;
    const struct python_runtime *runtime = python_remote_runtime(stack->python);
    return futex >= runtime->runtime && futex < runtime->runtime_end;
}

/* ---- Frames of the trace --------------------------------------------------------------------- */

/* 0: no module; -ENOMEM. */
static int64_t add_module(struct look_stack *stack, const char *path)
{
    int64_t string = trace_string_add(stack->trace, path, strlen(path));
    const struct code_module module = {.path = (uint32_t)string,
                                       .kind = *path == '[' ? MODULE_VDSO : MODULE_ELF};
    return string > 0 ? stacks_module(trace_stacks(stack->trace), &module) : string;
}

static int64_t native_frame(struct look_stack *stack, uint64_t address, bool leaf)
{
    struct look_name name;
    look_space_name(&stack->space, address, !leaf, &name);
    int64_t module = add_module(stack, name.module);
    if (module < 0)
        return module;
    const struct label like = {.module = (uint32_t)module,
                               .kind = name.jit ? FRAME_JIT : FRAME_NATIVE};
    int64_t label = trace_label_add(stack->trace, &like, name.function);
    const struct frame frame = {.kind = like.kind,
                                .label = (uint32_t)label,
                                .module = like.module,
                                .address = name.address};
    return label < 0 ? label : stacks_frame(trace_stacks(stack->trace), &frame);
}

/* ---- One thread ------------------------------------------------------------------------------ */

struct reading {
    struct look_walk walk;
    struct python_remote_frame python[LOOK_DEPTH];
    struct python_native natives[LOOK_DEPTH];
    struct python_frame frames[LOOK_DEPTH];
    struct python_joint joints[2 * LOOK_DEPTH];
    uint32_t python_count;
    enum stack_end python_end;
    uint64_t sp;
};

static void read_python(struct look_stack *stack, int32_t tid, struct reading *reading)
{
    reading->python_end = stack->python ? STACK_NO_THREAD : STACK_NOT_WALKED;
    for (int i = 0; i < stack->thread_count; i++) {
        if (stack->threads[i].tid != tid)
            continue;
        for (int attempt = 0; attempt < PYTHON_TRIES; attempt++) {
            reading->python_count =
                python_remote_stack(stack->python, &stack->threads[i], reading->python, LOOK_DEPTH,
                                    &reading->python_end);
            if (reading->python_end != STACK_TORN)
                return;
        }
        reading->python_count = 0; /* it runs: discard the frames */
        return;
    }
}

static uint32_t join(struct look_stack *stack, struct reading *reading)
{
    uint32_t unplaced;
    struct python_join join = {
        .natives = reading->natives,
        .native_count = reading->walk.count,
        .native_begin = reading->sp,
        .frames = reading->frames,
        .frame_count = reading->python_count,
    };
    if (stack->python) {
        const struct python_runtime *runtime = python_remote_runtime(stack->python);
        join.offsets = &runtime->offsets;
        join.eval = runtime->eval;
        join.eval_end = runtime->eval_end;
    }
    for (uint32_t i = 0; i < reading->walk.count; i++)
        reading->natives[i] =
            (struct python_native){reading->walk.frames[i].address, reading->walk.frames[i].cfa};
    for (uint32_t i = 0; i < reading->python_count; i++)
        reading->frames[i] =
            (struct python_frame){reading->python[i].anchor, reading->python[i].flags};
    return python_stack_join(&join, reading->joints, &unplaced);
}

/* Adds a stack from the root, which is last, to the leaf. */
static int64_t keep(struct look_stack *stack, const struct reading *reading, uint32_t count)
{
    int64_t ordinal = 0;
    for (uint32_t i = count; i-- > 0 && ordinal >= 0;) {
        const struct python_joint *joint = &reading->joints[i];
        const struct python_remote_frame *python = &reading->python[joint->index];
        if (joint->python && python->flags & SAMPLER_PYTHON_SHIM)
            continue;
        int64_t frame = joint->python
                            ? trace_python_frame(stack->trace, python->function, python->file,
                                                 &python->place, python->first_line)
                            : native_frame(stack, reading->walk.frames[joint->index].address,
                                           joint->index == 0);
        ordinal = frame < 0
                      ? frame
                      : stacks_push(trace_stacks(stack->trace), (uint32_t)ordinal, (uint32_t)frame);
    }
    return ordinal;
}

/* ---- State of the interpreter ---------------------------------------------------------------- */

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), size = strlen(ending);
    return length >= size && strcmp(text + length - size, ending) == 0;
}

/* Reads the name from threading.Thread._bootstrap(self), the root of each named thread. */
static void read_name(struct look_stack *stack, const struct python_remote_frame *root,
                      struct look_thread *thread)
{
    struct python_local self;
    if (!ends_with(root->function, "_bootstrap") || !ends_with(root->file, "threading.py") ||
        python_locals(&stack->values, root->address, root->code, &self, 1) != 1)
        return;
    uint64_t name = python_value_attribute(&stack->values, self.value, "_name");
    if (name)
        python_value_text(&stack->values, name, thread->name, sizeof(thread->name));
}

void look_stack_describe(struct look_stack *stack, struct look_thread *thread)
{
    struct python_remote_frame *frames = calloc(LOOK_DEPTH, sizeof(*frames));
    for (int i = 0; frames && i < stack->thread_count; i++) {
        enum stack_end end;
        if (stack->threads[i].tid != thread->tid)
            continue;
        thread->holds_gil = python_remote_holds_gil(stack->python, &stack->threads[i]);
        uint32_t count =
            python_remote_stack(stack->python, &stack->threads[i], frames, LOOK_DEPTH, &end);
        while (count > 0 && frames[count - 1].flags & SAMPLER_PYTHON_SHIM)
            count--;
        if (stack->values.layout && count > 0)
            read_name(stack, &frames[count - 1], thread);
    }
    free(frames);
}

enum { LOCALS_MAX = 64, VALUE_SIZE = 512 };

/* 0 or -ENOMEM. */
static int add_locals(struct look_stack *stack, const struct python_remote_frame *frame,
                      uint32_t index, struct look_thread *thread)
{
    struct python_local locals[LOCALS_MAX];
    char value[VALUE_SIZE];
    uint32_t count = python_locals(&stack->values, frame->address, frame->code, locals, LOCALS_MAX);
    struct look_local *all =
        reallocarray(thread->locals, thread->local_count + count, sizeof(*all));
    if (!all && count > 0)
        return -ENOMEM;
    thread->locals = all ? all : thread->locals;
    for (uint32_t i = 0; i < count; i++) {
        python_value_show(&stack->values, locals[i].value, value, sizeof(value));
        thread->locals[thread->local_count++] =
            (struct look_local){index, strdup(locals[i].name), strdup(value)};
    }
    return 0;
}

static int read_locals(struct look_stack *stack, const struct reading *reading,
                       struct look_thread *thread)
{
    uint32_t index = 0;
    int error = 0;
    for (uint32_t i = 0; i < reading->python_count && error == 0; i++)
        if (!(reading->python[i].flags & SAMPLER_PYTHON_SHIM))
            error = add_locals(stack, &reading->python[i], index++, thread);
    return error;
}

static uint8_t source_of(const struct reading *reading)
{
    if (reading->walk.count > 0)
        return LOOK_REGISTERS;
    return reading->python_count > 0 ? LOOK_PYTHON : LOOK_NOTHING;
}

int look_stack_read(struct look_stack *stack, const struct look_call *call,
                    struct look_thread *thread)
{
    struct reading *reading = calloc(1, sizeof(*reading));
    if (!reading)
        return -ENOMEM;
    struct unwind_registers registers = {
        .rip = call->pc,
        .rsp = call->sp,
        .rbp = call->rbp,
        .rbx = call->rbx,
        .rbp_lost = !call->frame_known,
        .rbx_lost = !call->frame_known,
    };
    reading->sp = call->sp;
    if (call->known)
        look_space_unwind(&stack->space, &registers, &reading->walk);
    read_python(stack, thread->tid, reading);
    int64_t ordinal = keep(stack, reading, join(stack, reading));
    if (ordinal >= 0) {
        thread->stack = (uint32_t)ordinal;
        thread->native_end = (uint8_t)reading->walk.end;
        thread->python_end = (uint8_t)reading->python_end;
        thread->source = source_of(reading);
    }
    int error = ordinal < 0                                   ? -ENOMEM
                : stack->wants_locals && stack->values.layout ? read_locals(stack, reading, thread)
                                                              : 0;
    free(reading);
    return error;
}
