/* SPDX-License-Identifier: MIT */
/* Implements heaps_stacks.h. */
#include "heaps_stacks.h"

#include "heaps_file.h"
#include "proc_info.h"
#include "stacks.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Names of native code -------------------------------------------------------------------- */

/* Nothing is unwound here: there is no room for rows of unwind tables. */
static int no_segment(void *context, uint32_t index, struct unwind_row **ret_rows)
{
    (void)context;
    (void)index;
    *ret_rows = NULL;
    return -ENOSPC;
}

static struct unwind_rule *no_rule(void *context, uint32_t index)
{
    (void)context;
    (void)index;
    return NULL;
}

int heaps_namer_init(struct heaps_namer *namer, struct trace *trace)
{
    static const struct row_source no_rows = {no_segment, no_rule, NULL};
    namer->frames.trace = trace;
    namer->frames.symbolizer = symbolizer_create();
    int error = namer->frames.symbolizer ? modules_init(&namer->modules, &no_rows, NULL) : -ENOMEM;
    namer->modules.symbolizer = namer->frames.symbolizer;
    return error;
}

void heaps_namer_fini(struct heaps_namer *namer)
{
    if (!namer->frames.symbolizer)
        return;
    modules_fini(&namer->modules);
    symbolizer_destroy(namer->frames.symbolizer);
    address_frames_fini(&namer->frames);
}

void heaps_stacks_fini(struct heaps_stacks *stacks)
{
    for (size_t i = 0; i < stacks->mappings.count; i++)
        mapping_list_unref(stacks->mappings.items[i]);
    vec_free(&stacks->mappings);
    vec_free(&stacks->places);
    map64_free(&stacks->labels);
    map64_free(&stacks->process.waiting);
}

/* ---- Texts ----------------------------------------------------------------------------------- */

enum { TEXT_BYTES_MAX = 8192 };

struct heaps_text {
    const char *file, *name;
    uint32_t file_size, name_size, first_line;
    char bytes[TEXT_BYTES_MAX];
};

/* A text is complete before a place or a module refers to it. */
static bool read_text(const struct heaps_file *file, uint32_t number, struct heaps_text *ret_text)
{
    struct annot_heap_text head;
    off_t at = (off_t)ANNOT_HEAP_TEXTS_AT + (off_t)number * 8;
    if (number == 0 || number >= ANNOT_HEAP_TEXTS_MAX / 8 ||
        pread(file->fd, &head, sizeof(head), at) != (ssize_t)sizeof(head))
        return false;
    size_t size = (size_t)head.file_size + head.name_size;
    if (size > sizeof(ret_text->bytes) ||
        pread(file->fd, ret_text->bytes, size, at + (off_t)sizeof(head)) != (ssize_t)size)
        return false;
    ret_text->file = ret_text->bytes;
    ret_text->name = ret_text->bytes + head.file_size;
    ret_text->file_size = head.file_size;
    ret_text->name_size = head.name_size;
    ret_text->first_line = head.first_line;
    return true;
}

/* ---- Files ----------------------------------------------------------------------------------- */

static int add_mapping(struct heaps_file *file, struct heaps_namer *namer,
                       const struct annot_heap_module *entry)
{
    char path[PATH_MAX];
    struct heaps_text text;
    bool named = read_text(file, entry->path, &text);
    snprintf(path, sizeof(path), "%.*s", named ? (int)text.file_size : 0, named ? text.file : "");
    const struct module_place place = {.pid = file->pid,
                                       .begin = entry->begin,
                                       .end = entry->end,
                                       .offset = entry->offset,
                                       .major = entry->major,
                                       .minor = entry->minor,
                                       .inode = entry->inode,
                                       .path = path};
    struct mapping mapping = {entry->begin, entry->end, entry->offset, NULL};
    struct mapping_list *list = mapping_list_create();
    int error = list ? modules_find(&namer->modules, &place, &mapping.module) : -ENOMEM;
    if (error == 0)
        error = mapping_list_put(&list, &mapping);
    if (error == 0)
        error = vec_push(&file->stacks.mappings, list);
    if (error != 0)
        mapping_list_unref(list);
    return error;
}

static int read_modules(struct heaps_file *file, struct heaps_namer *namer)
{
    struct annot_heap_module entry;
    uint32_t count = file->header.module_count;
    int error = 0;
    while (file->stacks.mappings.count < count &&
           file->stacks.mappings.count < ANNOT_HEAP_MODULES_MAX && error == 0) {
        off_t at =
            (off_t)ANNOT_HEAP_MODULES_AT + (off_t)(file->stacks.mappings.count * sizeof(entry));
        if (pread(file->fd, &entry, sizeof(entry), at) != (ssize_t)sizeof(entry))
            break;
        error = add_mapping(file, namer, &entry);
    }
    return error;
}

/* ---- Processes and threads ------------------------------------------------------------------- */

static struct lives_task task_of(const struct heaps_file *file, int32_t ns_tid)
{
    bool inside = file->pid != file->header.pid;
    int32_t tid = inside && ns_tid ? proc_tid_outside(file->pid, ns_tid) : ns_tid;
    return (struct lives_task){.pid = file->pid,
                               .tid = ns_tid && !tid ? file->pid : tid,
                               .ns_pid = file->header.pid,
                               .ns_tid = ns_tid,
                               .start_ticks = file->start_ticks};
}

/* The youngest program of that pid that began before the file was made; -1: unknown. */
static int64_t find_recorded(const struct heaps_file *file, const struct trace *trace)
{
    int64_t found = -1, best_ns = INT64_MIN, created_ns = (int64_t)file->header.created_ns;
    for (uint32_t i = 0; i < trace_process_count(trace); i++) {
        const struct trace_process *entry = trace_process_get(trace, i);
        int32_t pid = entry->ns_pid ? entry->ns_pid : entry->pid;
        bool same_space = entry->pid_ns == 0 || entry->pid_ns == file->header.pid_ns;
        if (pid != file->header.pid || !same_space || entry->start_ns > created_ns ||
            entry->start_ns < best_ns)
            continue;
        found = i;
        best_ns = entry->start_ns;
    }
    return found;
}

static int64_t add_process(const struct heaps_file *file, struct trace *trace)
{
    int64_t ordinal = trace_process_add(trace);
    if (ordinal < 0)
        return ordinal;
    struct trace_process *entry = trace_process(trace, (uint32_t)ordinal);
    entry->pid = file->pid ? file->pid : file->header.pid;
    entry->ns_pid = file->header.pid;
    entry->pid_ns = file->header.pid_ns;
    entry->start_ns = (int64_t)file->header.created_ns;
    entry->end = PROCESS_VANISHED;
    return ordinal;
}

int64_t heaps_process(const struct heaps_file *file, const struct heaps_options *options)
{
    int64_t created_ns = (int64_t)file->header.created_ns, ordinal;
    const char *comm = (const char *)file->header.comm;
    if (options->lives && file->pid) {
        const struct lives_task task = task_of(file, 0);
        ordinal = lives_process(options->lives, &task, created_ns);
    } else {
        ordinal = options->lives ? -1 : find_recorded(file, options->trace);
        if (ordinal == -1)
            ordinal = add_process(file, options->trace);
    }
    int64_t name = trace_string_add(options->trace, comm, strnlen(comm, sizeof(file->header.comm)));
    if (ordinal < 0 || name < 0)
        return -ENOMEM;
    struct trace_process *entry = trace_process(options->trace, (uint32_t)ordinal);
    if (entry->comm == 0) {
        entry->comm = (uint32_t)name;
        entry->revision++;
    }
    return ordinal;
}

static int64_t find_thread(const struct trace *trace, uint32_t process, int32_t tid)
{
    for (uint32_t i = 0; i < trace_thread_count(trace); i++) {
        const struct trace_thread *entry = trace_thread_get(trace, i);
        if (entry->process == process && entry->tid == tid)
            return i;
    }
    return -1;
}

static int64_t thread_of(const struct heaps_file *file, const struct heaps_options *options,
                         uint64_t where)
{
    uint32_t process = (uint32_t)file->process;
    int32_t ns_tid = (int32_t)(where & INT32_MAX);
    if (options->lives && file->pid) {
        const struct lives_task task = task_of(file, ns_tid);
        int64_t since_ns = (int64_t)(where >> 32) * 1000000;
        return lives_thread(options->lives, &task, (int64_t)file->header.created_ns + since_ns);
    }
    int64_t ordinal = find_thread(options->trace, process, ns_tid);
    if (ordinal >= 0)
        return ordinal;
    ordinal = trace_thread_add(options->trace, process);
    if (ordinal >= 0) {
        struct trace_thread *entry = trace_thread(options->trace, (uint32_t)ordinal);
        entry->tid = ns_tid;
        entry->first_ns = (int64_t)file->header.created_ns;
    }
    return ordinal;
}

/* ---- Places ---------------------------------------------------------------------------------- */

/* 0: invalid. */
static int64_t python_frame(struct heaps_file *file, const struct heaps_options *options,
                            const struct annot_heap_place *place)
{
    struct heaps_text text;
    uint32_t number = place->what & ANNOT_HEAP_WHAT_MASK;
    const uint64_t *found = map64_find(&file->stacks.labels, number + UINT64_C(1));
    int64_t label = found ? (int64_t)*found : 0;
    if (!found && read_text(file, number, &text)) {
        int64_t name = trace_string_add(options->trace, text.name, text.name_size);
        int64_t path = trace_string_add(options->trace, text.file, text.file_size);
        if (name < 0 || path < 0)
            return -ENOMEM;
        label = name ? trace_python_label(options->trace, (uint32_t)name, (uint32_t)path,
                                          (int32_t)text.first_line)
                     : 0;
        if (label < 0 ||
            map64_put(&file->stacks.labels, number + UINT64_C(1), (uint64_t)label) != 0)
            return -ENOMEM;
    }
    const struct frame frame = {.kind = FRAME_PYTHON,
                                .label = (uint32_t)label,
                                .line = place->where <= INT32_MAX ? (int32_t)place->where : 0};
    return label > 0 ? stacks_frame(trace_stacks(options->trace), &frame) : 0;
}

/* The call lies before the return address. */
static int64_t native_frame(struct heaps_file *file, struct heaps_namer *namer,
                            const struct annot_heap_place *place)
{
    static const struct mapping_list empty;
    uint32_t module = place->what & ANNOT_HEAP_WHAT_MASK;
    bool known = module > 0 && module <= file->stacks.mappings.count;
    return frame_native(&namer->frames, &file->stacks.process,
                        known ? file->stacks.mappings.items[module - 1] : &empty, place->where - 1);
}

static int64_t frame_of(struct heaps_file *file, struct heaps_namer *namer,
                        const struct heaps_options *options, const struct annot_heap_place *place)
{
    switch (place->what >> ANNOT_HEAP_KIND_SHIFT) {
    case ANNOT_HEAP_PYTHON:
        return python_frame(file, options, place);
    case ANNOT_HEAP_NATIVE:
        return native_frame(file, namer, place);
    default:
        return 0; /* of a later version */
    }
}

/* A place without a valid frame counts for its caller. */
static int resolve(struct heaps_file *file, struct heaps_namer *namer,
                   const struct heaps_options *options, uint32_t index)
{
    const struct annot_heap_place *place = &file->places.items[index];
    struct heaps_place *resolved = &file->stacks.places.items[index];
    uint32_t first = file->header.first_place;
    if (place->what >> ANNOT_HEAP_KIND_SHIFT == ANNOT_HEAP_THREAD) {
        int64_t thread = thread_of(file, options, place->where);
        resolved->thread = thread < 0 ? 0 : (uint32_t)thread + 1;
        return thread < 0 ? -ENOMEM : 0;
    }
    if (place->parent < first || place->parent - first >= index)
        return 0;
    const struct heaps_place parent = file->stacks.places.items[place->parent - first];
    if (parent.thread == 0)
        return 0;
    int64_t frame = frame_of(file, namer, options, place);
    int64_t stack = frame > 0
                        ? stacks_push(trace_stacks(options->trace), parent.stack, (uint32_t)frame)
                        : parent.stack;
    if (frame < 0 || stack < 0)
        return -ENOMEM;
    *resolved = (struct heaps_place){parent.thread, (uint32_t)stack};
    return 0;
}

int heaps_stacks_read(struct heaps_file *file, struct heaps_namer *namer,
                      const struct heaps_options *options)
{
    struct heaps_stacks *stacks = &file->stacks;
    int error = read_modules(file, namer);
    stacks->process.pid = file->pid;
    stacks->process.ns_pid = file->header.pid;
    while (error == 0 && stacks->places.count < file->places.count)
        error = vec_push(&stacks->places, ((struct heaps_place){0}));
    for (uint32_t i = 0; i < file->places.count && error == 0; i++)
        if (stacks->places.items[i].thread == 0 && file->places.items[i].what != 0)
            error = resolve(file, namer, options, i);
    return error;
}
