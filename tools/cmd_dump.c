/* SPDX-License-Identifier: MIT */
/* `annot dump`: prints the present stack of each thread of a process, its state and its open
 * ranges, as text or JSON.
 *
 * Frames are in the order of a debugger: innermost first. Names are untrusted: printed without
 * control characters. */
#include "cmd.h"
#include "code_owner.h"
#include "json_writer.h"
#include "look.h"
#include "operands.h"
#include "record_options.h"
#include "stacks.h"
#include "term.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

enum { FRAMES_MAX = 2048, RANGES_MAX = 64 };

struct dump_values {
    const char *pids, *rung;
    bool json, native, locals;
};

static const char *state_text(const struct look_thread *thread)
{
    static const char *const texts[WAIT_REASON_COUNT] = {
        [WAIT_UNKNOWN] = "waits",
        [WAIT_PREEMPTED] = "waits for a CPU",
        [WAIT_DISK] = "waits for a disk",
        [WAIT_PAGE_FAULT] = "waits for a page of memory",
        [WAIT_PIPE] = "waits for a pipe",
        [WAIT_SOCKET] = "waits for a socket",
        [WAIT_LOCK] = "waits for a lock",
        [WAIT_GIL] = "waits for the GIL",
        [WAIT_SLEEP] = "sleeps",
        [WAIT_POLL] = "waits for events",
        [WAIT_CHILD] = "waits for a child process",
        [WAIT_TERMINAL] = "waits for a terminal or device",
        [WAIT_SIGNAL] = "waits for a signal",
        [WAIT_OTHER_FILE] = "waits for a file",
    };
    if (thread->state == 'T' || thread->state == 't')
        return "stopped";
    if (thread->state == 'Z' || thread->state == 'X')
        return "ended";
    if (thread->runnable)
        return "waits for a CPU";
    if (thread->running)
        return "runs";
    return texts[thread->reason < WAIT_REASON_COUNT ? thread->reason : WAIT_UNKNOWN];
}

/* Addition to the printed state. */
static const char *state_cause(const struct look_thread *thread)
{
    return thread->state == 't'   ? " by a debugger"
           : thread->state == 'Z' ? ", but its parent has not waited for it"
                                  : "";
}

/* Why outer frames may be missing; NULL: the stack is complete. */
static const char *cut_text(const struct look_thread *thread)
{
    if (thread->native_end > STACK_COMPLETE)
        return stack_end_name(thread->native_end);
    if (thread->python_end > STACK_COMPLETE)
        return stack_end_name(thread->python_end);
    return NULL;
}

/* ---- Frames ---------------------------------------------------------------------------------- */

static const struct frame *frame_of(const struct look *look, uint32_t ordinal)
{
    return stacks_get_frame(trace_stacks_get(look->trace), ordinal);
}

/* Returns true for frames that start threads or the interpreter: the same in all stacks. */
static bool is_plumbing(const struct look *look, uint32_t ordinal)
{
    enum code_purpose purpose = code_purpose_of(look->trace, frame_of(look, ordinal)->label);
    return purpose == PURPOSE_THREADS || purpose == PURPOSE_START_UP;
}

/* Reduces a stack with Python frames, root first, to these, without the leading frames of
 * is_plumbing. Returns their number; a stack without Python frames stays unchanged. */
static uint32_t keep_python(const struct look *look, uint32_t *frames, uint32_t count)
{
    uint32_t kept = 0, begin = 0;
    for (uint32_t i = 0; i < count; i++)
        if (frame_of(look, frames[i])->kind == FRAME_PYTHON)
            frames[kept++] = frames[i];
    while (begin + 1 < kept && is_plumbing(look, frames[begin]))
        begin++;
    memmove(frames, frames + begin, (kept - begin) * sizeof(*frames));
    return kept > 0 ? kept - begin : count;
}

/* The texts of a frame; "": unknown. */
struct shown {
    uint8_t kind; /* enum frame_kind */
    int line;
    const char *function, *file, *module;
};

static struct shown show(const struct look *look, uint32_t ordinal)
{
    const struct stacks *stacks = trace_stacks_get(look->trace);
    const struct frame *frame = stacks_get_frame(stacks, ordinal);
    const struct label *label = stacks_get_label(stacks, frame->label);
    uint32_t file = stacks_get_source(stacks, label->source)->path;
    uint32_t module = stacks_get_module(stacks, frame->module)->path;
    struct shown shown = {.kind = frame->kind,
                          .line = frame->line,
                          .function = trace_string(look->trace, label->text)->bytes,
                          .file = trace_string(look->trace, file)->bytes,
                          .module = trace_string(look->trace, module)->bytes};
    look_lines_find(look->lines, ordinal, &shown.file, &shown.line);
    return shown;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void print_python_frame(const struct look *look, const struct frame *frame)
{
    char name[512], place[1024];
    code_name(look->trace, frame->label, name, sizeof(name));
    code_location(look->trace, frame->label, frame->line, place, sizeof(place));
    printf("    ");
    term_print(name);
    printf(" (");
    term_print(place);
    printf(")\n");
}

static void print_frame(const struct look *look, uint32_t ordinal)
{
    struct shown frame = show(look, ordinal);
    if (frame.kind == FRAME_PYTHON) {
        print_python_frame(look, frame_of(look, ordinal));
        return;
    }
    printf("    ");
    term_print(frame.function);
    if (*frame.file) {
        printf(" (");
        term_print(frame.file);
        if (frame.line > 0)
            printf(":%d", frame.line);
        printf(")");
    } else if (*frame.module == '[') { /* "[vdso]" */
        printf(" ");
        term_print(frame.module);
    } else if (*frame.module) {
        printf(" [");
        term_print(text_base_name(frame.module));
        printf("]");
    } else if (frame.kind == FRAME_KERNEL) {
        printf(" [kernel]");
    }
    printf("\n");
}

static void print_ranges(const struct trace *trace, uint32_t path)
{
    uint32_t names[RANGES_MAX];
    uint32_t count = stacks_names(trace_stacks_get(trace), path, names, RANGES_MAX);
    if (count == 0)
        return;
    printf("  in ");
    for (uint32_t i = 0; i < count; i++) {
        printf("%s", i ? " > " : "");
        term_print(trace_string(trace, names[i])->bytes);
    }
    printf("\n");
}

/* `frame`: number of the Python frame; the leaf is 0. */
static void print_locals(const struct look_thread *thread, uint32_t frame)
{
    for (uint32_t i = 0; i < thread->local_count; i++) {
        const struct look_local *local = &thread->locals[i];
        if (local->frame != frame)
            continue;
        printf("        ");
        term_print(local->name ? local->name : "?");
        printf(" = ");
        term_print(local->value ? local->value : "?");
        printf("\n");
    }
}

/* The name set by Python, else the kernel's. */
static const char *name_of(const struct look *look, const struct look_thread *thread)
{
    bool is_main = look->is_python && thread == look->threads;
    return thread->name[0] ? thread->name : is_main ? "MainThread" : thread->comm;
}

static void print_stack(const struct look *look, const struct look_thread *thread, bool native)
{
    static uint32_t frames[FRAMES_MAX];
    uint32_t python = 0;
    uint32_t count =
        stacks_frames(trace_stacks_get(look->trace), thread->stack, frames, FRAMES_MAX);
    if (!native)
        count = keep_python(look, frames, count);
    for (uint32_t i = count; i-- > 0;) {
        print_frame(look, frames[i]);
        if (frame_of(look, frames[i])->kind == FRAME_PYTHON)
            print_locals(thread, python++);
    }
    if (count == 0)
        printf("    [no stack: %s]\n",
               thread->running ? "it runs, and was not sampled" : "its registers cannot be read");
    else if (cut_text(thread))
        printf("    [cut: %s]\n", cut_text(thread));
}

static void print_thread(const struct look *look, const struct look_thread *thread, bool native)
{
    printf("thread %d (", (int)thread->tid);
    term_print(name_of(look, thread));
    printf("): %s%s%s\n", state_text(thread), state_cause(thread),
           thread->holds_gil ? ", holds the GIL" : "");
    print_ranges(look->trace, thread->path);
    print_stack(look, thread, native);
}

static void print_text(const struct look *look, int32_t pid, bool native)
{
    printf("process %d (", (int)pid);
    term_print(look->comm);
    printf("): ");
    term_print(look->command);
    printf("\n");
    for (uint32_t i = 0; i < look->thread_count; i++) {
        printf("\n");
        print_thread(look, &look->threads[i], native);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_text(struct out_stream *out, const char *key, const char *text)
{
    json_string(out, key, strlen(key));
    out_text(out, ":");
    json_string(out, text, strlen(text));
}

static void put_number(struct out_stream *out, const char *key, int64_t value)
{
    json_string(out, key, strlen(key));
    out_text(out, ":");
    uint8_t *begin = out_reserve(out, JSON_INTEGER_MAX);
    out_advance(out, (size_t)(json_put_int(begin, value) - begin));
}

static void put_locals(struct out_stream *out, const struct look_thread *thread, uint32_t frame)
{
    const char *between = ",\"locals\":{";
    for (uint32_t i = 0; i < thread->local_count; i++) {
        const struct look_local *local = &thread->locals[i];
        if (local->frame != frame || !local->name || !local->value)
            continue;
        out_text(out, between);
        put_text(out, local->name, local->value);
        between = ",";
    }
    out_text(out, strcmp(between, ",") == 0 ? "}" : "");
}

/* Leaves the object open. */
static void put_frame(struct out_stream *out, const struct look *look, uint32_t ordinal)
{
    static const char *const kinds[] = {"unknown", "native", "python", "kernel",
                                        "jit",     "gc",     "note"};
    struct shown frame = show(look, ordinal);
    out_text(out, "{");
    put_text(out, "kind", kinds[frame.kind <= FRAME_NOTE ? frame.kind : 0]);
    out_text(out, ",");
    put_text(out, "function", frame.function);
    if (*frame.file) {
        out_text(out, ",");
        put_text(out, "file", frame.file);
    }
    if (frame.line > 0) {
        out_text(out, ",");
        put_number(out, "line", frame.line);
    }
    if (*frame.module) {
        out_text(out, ",");
        put_text(out, "module", frame.module);
    }
}

static void put_lists(struct out_stream *out, const struct look *look,
                      const struct look_thread *thread)
{
    const struct trace *trace = look->trace;
    static uint32_t ordinals[FRAMES_MAX];
    uint32_t count = stacks_names(trace_stacks_get(trace), thread->path, ordinals, RANGES_MAX);
    out_text(out, ",\"ranges\":[");
    for (uint32_t i = 0; i < count; i++) {
        const struct trace_string *name = trace_string(trace, ordinals[i]);
        out_text(out, i ? "," : "");
        json_string(out, name->bytes, name->length);
    }
    count = stacks_frames(trace_stacks_get(trace), thread->stack, ordinals, FRAMES_MAX);
    out_text(out, "],\"frames\":[");
    for (uint32_t i = count, python = 0; i-- > 0;) {
        put_frame(out, look, ordinals[i]);
        if (frame_of(look, ordinals[i])->kind == FRAME_PYTHON)
            put_locals(out, thread, python++);
        out_text(out, i ? "}," : "}");
    }
    out_text(out, "]");
}

static void put_thread(struct out_stream *out, const struct look *look,
                       const struct look_thread *thread)
{
    static const char *const sources[] = {"nothing", "sample", "registers", "python"};
    bool waits = !thread->running;
    out_text(out, "{");
    put_number(out, "tid", thread->tid);
    out_text(out, ",");
    put_text(out, "name", name_of(look, thread));
    out_text(out, ",");
    put_text(out, "state", state_text(thread));
    out_text(out, ",");
    put_text(out, "waits_for", waits ? wait_reason_name(thread->reason) : "");
    if (thread->syscall >= 0) {
        out_text(out, ",");
        put_number(out, "syscall", thread->syscall);
    }
    out_text(out, ",");
    put_text(out, "by", sources[thread->source <= LOOK_PYTHON ? thread->source : 0]);
    out_text(out, thread->holds_gil ? ",\"holds_gil\":true" : "");
    out_text(out, ",\"complete\":");
    out_text(out, thread->stack && !cut_text(thread) ? "true" : "false");
    put_lists(out, look, thread);
    out_text(out, "}");
}

/* 0 or -errno. */
static int print_json(const struct look *look, int32_t pid)
{
    struct out_stream *out;
    const struct out_stream_options options = {.overwrite = true};
    int error = out_stream_open("-", &options, &out);
    if (error != 0)
        return error;
    out_text(out, "{");
    put_number(out, "pid", pid);
    out_text(out, ",");
    put_text(out, "name", look->comm);
    out_text(out, ",");
    put_text(out, "command", look->command);
    out_text(out, ",\"threads\":[");
    for (uint32_t i = 0; i < look->thread_count; i++) {
        out_text(out, i ? "," : "");
        put_thread(out, look, &look->threads[i]);
    }
    out_text(out, "]}\n");
    return out_stream_close(out);
}

/* ---- The command ----------------------------------------------------------------------------- */

static int fail(int32_t pid, int error)
{
    if (error == -ESRCH)
        return cmd_fail(CMD_FAILED,
                        "there is no process %d\n\"pgrep -a NAME\" finds the one you mean",
                        (int)pid);
    if (error == -EPERM || error == -EACCES)
        return cmd_fail(CMD_FAILED,
                        "process %d: its memory may not be read: it runs under another user, or "
                        "the system protects it\nsudo annot dump %d",
                        (int)pid, (int)pid);
    return cmd_fail(CMD_FAILED, "process %d: %s", (int)pid, strerror(-error));
}

static int dump(const struct dump_values *values, int32_t pid, bool first)
{
    struct look *look;
    struct look_options options = {
        .pid = pid,
        .rung_max = sampling_rung_max(values->rung),
        .locals = values->locals,
    };
    int error = look_at(&options, &look);
    if (error != 0)
        return fail(pid, error);
    if (values->json) {
        error = print_json(look, pid);
    } else {
        printf("%s", first ? "" : "\n");
        print_text(look, pid, values->native);
        if (values->locals && !look->locals_known)
            cmd_note("process %d: locals are not readable of this interpreter\nthey are of CPython "
                     "3.9 to 3.14, debug builds from 3.13 on",
                     (int)pid);
        if (look->python_reason[0])
            cmd_note("process %d: its Python frames cannot be read: %s", (int)pid,
                     look->python_reason);
    }
    look_destroy(look);
    return error == 0 ? CMD_OK : cmd_fail(CMD_FAILED, "cannot write: %s", strerror(-error));
}

static int run_dump(const struct cmd_call *call)
{
    const struct dump_values *values = call->values;
    struct pid_list pids;
    struct rlimit files;
    int status = pid_list_parse(values->pids, call->operands, &pids);
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max; /* files of programs stay open for their symbols */
    setrlimit(RLIMIT_NOFILE, &files);
    for (uint32_t i = 0; status == 0 && i < pids.count; i++)
        status = dump(values, pids.items[i], i == 0);
    return status;
}

static const struct option_spec options[] = {
    {"pid", 'p', OPTION_TEXT, offsetof(struct dump_values, pids), "PID[,PID...]",
     "these, as operands do", NULL},
    {"native", 0, OPTION_FLAG, offsetof(struct dump_values, native), NULL,
     "also native frames, and how threads begin", NULL},
    {"locals", 0, OPTION_FLAG, offsetof(struct dump_values, locals), NULL,
     "also the local variables of Python frames", NULL},
    {"json", 0, OPTION_FLAG, offsetof(struct dump_values, json), NULL,
     "one JSON object per process and line", NULL},
    {"sampling", 0, OPTION_CHOICE, offsetof(struct dump_values, rung), "bpf|remote|none",
     "the best way of sampling to try: with eBPF, from outside (remote), or none", "bpf"},
    {0},
};

const struct cmd cmd_dump = {
    .name = "dump",
    .summary = "show what each thread of a process is doing now",
    .usage = "[OPTIONS] PID...",
    .details = "Nothing is paused. The innermost frame is first.\n",
    .options = options,
    .values_size = sizeof(struct dump_values),
    .operands_min = 0,
    .operands_max = -1,
    .run = run_dump,
};
