/* SPDX-License-Identifier: MIT */
/* Lists threads from /proc, samples for a short while, then reads the threads that were not
 * sampled.
 * Texts are foreign. Thread-safety: one thread. */
#include "look.h"
#include "bpf_program.h"
#include "bpf_registers.h"
#include "clock_now.h"
#include "file_io.h"
#include "look_space.h"
#include "proc_info.h"
#include "python_remote.h"
#include "python_stack.h"
#include "python_value.h"
#include "sampler.h"
#include "sampler_abi.h"
#include "stacks.h"
#include "trace.h"
#include "vec.h"
#include "wait_class.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Reads, joins and names frames. */

/* State of a waiting thread from /proc. Any of it may be missing or denied. */
struct look_call {
    bool known;     /* it waits, with readable registers */
    int32_t number; /* -1: not in a system call */
    uint64_t arguments[6];
    uint64_t sp, pc;
    bool frame_known; /* also rbp and rbx, which /proc lacks */
    uint64_t rbp, rbx;
};

struct look_stack {
    struct trace *trace;
    struct look_space space;
    struct python_remote *python; /* NULL: no Python, or unreadable */
    struct python_remote_thread *threads;
    int thread_count;
    struct python_values values; /* layout NULL: unknown */
    bool wants_locals;
    char reason[PYTHON_REMOTE_REASON_MAX];
};

enum { PYTHON_THREADS_MAX = 65536, PYTHON_TRIES = 20 };

/* 0, -ESRCH, -EPERM, -ENOMEM. */
static int look_stack_open(struct look_stack *stack, int32_t pid, int32_t ns_pid,
                           struct trace *trace)
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

static void look_stack_close(struct look_stack *stack)
{
    free(stack->threads);
    python_remote_close(stack->python);
    look_space_close(&stack->space);
}

/* True if a futex address is the lock of the interpreter. */
static bool look_stack_is_gil(const struct look_stack *stack, uint64_t futex)
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

/* Adds a thread's state in the interpreter: its name, and whether it holds the lock. */
static void look_stack_describe(struct look_stack *stack, struct look_thread *thread)
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

/* Reads the thread, with its registers in `call` if known. Fills stack, ends and source.
 * 0 or -ENOMEM. */
static int look_stack_read(struct look_stack *stack, const struct look_call *call,
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

/* ---- Threads in /proc ------------------------------------------------------------------------ */

static bool read_thread(pid_t pid, int32_t tid, struct look_thread *thread)
{
    char path[64], text[4096];
    *thread = (struct look_thread){.tid = tid, .ns_tid = tid, .syscall = -1};
    snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
    if (file_read_text(path, text, sizeof(text)) <= 0)
        return false;
    const char *state = strstr(text, "\nState:\t");
    thread->state = '?';
    if (state)
        thread->state = state[strlen("\nState:\t")];
    thread->running = thread->state == 'R';
    int32_t inside = proc_innermost(text);
    if (inside)
        thread->ns_tid = inside;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)tid);
    if (file_read_text(path, text, sizeof(text)) > 0)
        snprintf(thread->comm, sizeof(thread->comm), "%.*s", (int)strcspn(text, "\n"), text);
    return true;
}

/* Fills the facts that /proc has of each thread. Returns the threads (free), *ret_count; NULL with
 * errno. */
static struct look_thread *proc_threads(pid_t pid, uint32_t *ret_count)
{
    VEC(struct look_thread) threads = {0};
    char path[64];
    struct dirent *entry;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *directory = opendir(path);
    if (!directory)
        return NULL;
    while ((entry = readdir(directory))) {
        struct look_thread thread;
        int32_t tid = (int32_t)strtol(entry->d_name, NULL, 10);
        if (tid <= 0 || !read_thread(pid, tid, &thread))
            continue;
        if (vec_push(&threads, thread) != 0)
            break;
    }
    closedir(directory);
    if (threads.count == 0)
        errno = ESRCH;
    *ret_count = (uint32_t)threads.count;
    return threads.items;
}

static void proc_call(pid_t pid, int32_t tid, struct look_call *ret_call)
{
    char path[64], text[512];
    uint64_t *a = ret_call->arguments;
    *ret_call = (struct look_call){.number = -1};
    snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
    if (file_read_text(path, text, sizeof(text)) <= 0)
        return; /* denied, or the thread has ended */
    int number, got = sscanf(text,
                             "%d %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
                             " %" SCNx64 " %" SCNx64 " %" SCNx64,
                             &number, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5], &ret_call->sp,
                             &ret_call->pc);
    if (got == 3) { /* "-1 sp pc": a page fault */
        ret_call->sp = a[0];
        ret_call->pc = a[1];
    }
    ret_call->known = got == 9 || got == 3;
    ret_call->number = ret_call->known && number >= 0 ? number : -1;
}

/* st_mode of a descriptor of the process, 0 = unknown. */
static uint32_t proc_file_mode(pid_t pid, uint64_t descriptor)
{
    char path[64];
    struct stat status;
    if (descriptor > INT32_MAX)
        return 0;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, (int)descriptor);
    return stat(path, &status) == 0 ? status.st_mode : 0;
}

/* ---- The look -------------------------------------------------------------------------------- */

enum { WINDOW_MS = 100, FREQUENCY_HZ = 999, STEP_MS = 10 };

struct looking {
    const struct look_options *options;
    struct look *look;
    struct look_ranges ranges;
    struct lives *lives;
    struct sampler *sampler;
    struct bpf_registers registers; /* empty unless sampling is by BPF */
    struct sample *last; /* of each thread, in the order of look->threads, without values; set 0 =
                            not sampled */
};

/* ---- Sampling -------------------------------------------------------------------------------- */

static struct look_thread *find_thread(struct looking *looking, uint32_t ordinal)
{
    const struct trace_thread *thread = trace_thread_get(looking->look->trace, ordinal);
    const struct trace_process *process =
        thread ? trace_process_get(looking->look->trace, thread->process) : NULL;
    for (uint32_t i = 0; process && i < looking->look->thread_count; i++)
        if (process->pid == looking->options->pid &&
            looking->look->threads[i].ns_tid == thread->tid)
            return &looking->look->threads[i];
    return NULL; /* of a descendant, or a newer thread */
}

static int on_samples(void *context, const struct sample *samples, size_t count)
{
    struct looking *looking = context;
    for (size_t i = 0; i < count; i++) {
        struct look_thread *thread = find_thread(looking, samples[i].thread);
        if (!thread)
            continue;
        struct sample *last = &looking->last[thread - looking->look->threads];
        if (last->set == 0 || sample_order_ns(&samples[i]) >= sample_order_ns(last))
            *last = samples[i];
        last->values = NULL;
        last->value_count = 0;
    }
    return 0;
}

/* Registers the current image of the process by its segment. */
static int serve(struct looking *looking)
{
    struct look_ranges *ranges = &looking->ranges;
    struct image *image;
    int64_t now_ns = clock_now_ns();
    if (!ranges->open)
        return 0;
    int64_t claimed = lives_claim_process(looking->lives, looking->options->pid,
                                          ranges->segment.info.start_time_ticks, now_ns, &image);
    if (claimed < 0)
        return (int)claimed;
    image->served_ns = 1; /* earlier images are not looked up */
    image->tls_offset = ranges->segment.info.tls_offset;
    image->names = &ranges->names;
    lives_serve(looking->lives, image);
    return lives_note_search(looking->lives, INT64_MAX, NULL, 0);
}

static int watch(struct looking *looking)
{
    int window = looking->options->window_ms ? (int)looking->options->window_ms : WINDOW_MS;
    int64_t end = clock_now_ns() + window * INT64_C(1000000);
    int error = 0;
    while (error == 0 && clock_now_ns() < end) {
        struct pollfd fd = {.fd = sampler_fd(looking->sampler), .events = POLLIN};
        poll(&fd, 1, STEP_MS);
        error = sampler_step(looking->sampler);
    }
    int last = sampler_finish(looking->sampler);
    return error ? error : last;
}

static bool is_sampling(const struct looking *looking)
{
    return trace_sampling_get(looking->look->trace)->rung >= SAMPLING_BPF;
}

static int sample(struct looking *looking)
{
    struct sampler_options options = {
        .trace = looking->look->trace,
        .lives = looking->lives,
        .frequency_hz = FREQUENCY_HZ,
        .off_cpu = true,
        .rung_max = looking->options->locals ? SAMPLING_NONE : looking->options->rung_max,
        .sink = on_samples,
        .context = looking,
    };
    int error = sampler_create(&options, &looking->sampler);
    if (error != 0 || !is_sampling(looking))
        return error; /* the lower rungs do the same reading as below */
    error = sampler_track(looking->sampler, looking->options->pid, SAMPLER_TRACK_ATTACH);
    if (error != 0)
        return error;
    error = serve(looking);
    if (error != 0)
        return error;
    return watch(looking);
}

static void apply_sample(const struct sample_sets *sets, const struct sample *sample,
                         struct look_thread *thread)
{
    bool off = sample_role(sets, sample) == SAMPLE_ROLE_OFF_CPU;
    bool waits = off && (sample->flags & SAMPLE_UNFINISHED) && sample->reason != WAIT_PREEMPTED;
    thread->source = LOOK_SAMPLED;
    thread->stack = sample->stack;
    thread->path = sample->path;
    thread->native_end = sample->native_end;
    thread->python_end = sample->python_end;
    thread->running = !waits;
    thread->runnable = off && (sample->flags & SAMPLE_UNFINISHED) && !waits;
    thread->reason = waits ? sample->reason : WAIT_UNKNOWN;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* The kernel's state bit of a state letter. */
static uint32_t state_of(char letter)
{
    return letter == 'D' ? 2 : letter == 'T' ? 4 : letter == 't' ? 8 : 1;
}

static void classify(struct looking *looking, const struct look_stack *stack,
                     const struct look_call *call, struct look_thread *thread)
{
    struct wait_facts facts = {
        .syscall = call->number,
        .state = state_of(thread->state),
        .flags = call->number < 0 ? SAMPLER_FAULTED : 0,
        .argument = call->arguments[0],
        .file_mode =
            call->number < 0 ? 0 : proc_file_mode(looking->options->pid, call->arguments[0]),
    };
    thread->syscall = call->number;
    if (thread->running || !call->known)
        return;
    thread->reason = (uint8_t)wait_classify(&facts);
    if (thread->reason == WAIT_LOCK && look_stack_is_gil(stack, call->arguments[0]))
        thread->reason = WAIT_GIL;
}

/* Adds the registers if the thread still waits at the same place as when they were read. */
static void add_frame(const struct bpf_registers *registers, int32_t tid, struct look_call *call)
{
    for (size_t i = 0; i < registers->count; i++) {
        const struct thread_registers *found = &registers->threads[i];
        if (found->tid != tid || found->rip != call->pc || found->rsp != call->sp)
            continue;
        call->frame_known = true;
        call->rbp = found->rbp;
        call->rbx = found->rbx;
    }
}

/* Takes a thread's sample; one that waits for a CPU all the time gets at least its Python
 * frames. */
static int take_sample(struct looking *looking, struct look_stack *stack, uint32_t index)
{
    const struct look_call nowhere = {.number = -1};
    struct look_thread *thread = &looking->look->threads[index];
    apply_sample(trace_sets_get(looking->look->trace), &looking->last[index], thread);
    return thread->stack ? 0 : look_stack_read(stack, &nowhere, thread);
}

static int read_threads(struct looking *looking, struct look_stack *stack)
{
    struct look *look = looking->look;
    int error = 0;
    for (uint32_t i = 0; i < look->thread_count && error == 0; i++) {
        struct look_thread *thread = &look->threads[i];
        struct look_call call;
        if (strchr("ZX", thread->state))
            continue; /* it ended, and has no registers */
        if (looking->last[i].set != 0) {
            error = take_sample(looking, stack, i);
        } else {
            proc_call(looking->options->pid, thread->tid, &call);
            if (call.known)
                add_frame(&looking->registers, thread->tid, &call);
            classify(looking, stack, &call, thread);
            error = look_stack_read(stack, &call, thread);
        }
        look_stack_describe(stack, thread);
        if (thread->path == 0)
            thread->path = look_ranges_path(&looking->ranges, thread->ns_tid);
    }
    memcpy(look->python_reason, stack->reason, sizeof(look->python_reason));
    return error;
}

static int read_rest(struct looking *looking)
{
    struct look_stack *stack = calloc(1, sizeof(*stack));
    if (!stack)
        return -ENOMEM;
    int32_t pid = looking->options->pid;
    if (is_sampling(looking))
        bpf_registers_read(pid, &looking->registers);
    int error = look_stack_open(stack, pid, looking->look->threads[0].ns_tid, looking->look->trace);
    stack->wants_locals = looking->options->locals;
    looking->look->is_python = stack->python != NULL;
    looking->look->locals_known = stack->wants_locals && stack->values.layout;
    if (error == 0)
        error = read_threads(looking, stack);
    look_stack_close(stack);
    free(stack);
    return error;
}

/* ---- The whole look -------------------------------------------------------------------------- */

static int describe(struct looking *looking)
{
    struct look *look = looking->look;
    look->trace = trace_create();
    look->lines = look->trace ? look_lines_create(look->trace, looking->options->pid) : NULL;
    looking->lives = look->trace ? lives_create(look->trace) : NULL;
    if (!look->lines || !looking->lives)
        return -ENOMEM;
    look->threads = proc_threads(looking->options->pid, &look->thread_count);
    if (!look->threads || look->thread_count == 0)
        return look->threads || errno == ENOENT ? -ESRCH : -errno;
    memcpy(look->comm, look->threads[0].comm, sizeof(look->comm));
    proc_command(looking->options->pid, look->command);
    looking->last = calloc(look->thread_count, sizeof(*looking->last));
    look_ranges_open(&looking->ranges, looking->options->pid, look->trace);
    return looking->last ? 0 : -ENOMEM;
}

int look_at(const struct look_options *options, struct look **ret_look)
{
    struct looking looking = {.options = options, .look = calloc(1, sizeof(struct look))};
    looking.ranges.directory.fd = -1;
    int error = looking.look ? describe(&looking) : -ENOMEM;
    if (error == 0)
        error = sample(&looking);
    if (error == 0)
        error = read_rest(&looking);
    sampler_destroy(looking.sampler);
    lives_destroy(looking.lives);
    look_ranges_close(&looking.ranges);
    free(looking.last);
    free(looking.registers.threads);
    if (error == 0)
        *ret_look = looking.look;
    else
        look_destroy(looking.look);
    return error;
}

void look_destroy(struct look *look)
{
    if (!look)
        return;
    look_lines_destroy(look->lines);
    trace_destroy(look->trace);
    for (uint32_t i = 0; i < look->thread_count; i++) {
        for (uint32_t j = 0; j < look->threads[i].local_count; j++) {
            free(look->threads[i].locals[j].name);
            free(look->threads[i].locals[j].value);
        }
        free(look->threads[i].locals);
    }
    free(look->threads);
    free(look);
}
