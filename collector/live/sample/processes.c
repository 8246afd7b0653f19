/* SPDX-License-Identifier: MIT */
/* The table of processes and their lives. Thread-safety: one thread per object. */
#include "processes.h"

#include "heap_blocks.h"
#include "modules.h"
#include "spaces.h"

#include "proc_info.h"

#include <errno.h>
#include <stdlib.h>

enum { EXIT_STEPS = 2 };

static void take_off(struct sampled *process)
{
    if (process->entry)
        process->entry->sampled = NULL;
    process->entry = NULL;
}

static void forget_code(struct processes *processes, struct sampled *process)
{
    symbolizer_release(processes->symbolizer, process->code);
    process->code = NULL;
    map64_free(&process->waiting);
}

/* Nothing frees the blocks of an image that is replaced or has ended. */
static void forget_blocks(struct sampled *process)
{
    heap_blocks_destroy(process->blocks);
    process->blocks = NULL;
}

static void destroy_process(struct processes *processes, struct sampled *process)
{
    take_off(process);
    mapping_list_unref(process->list);
    forget_code(processes, process);
    forget_blocks(process);
    wide_map_free(&process->threads);
    free(process);
}

void processes_fini(struct processes *processes)
{
    for (size_t i = 0; i < processes->all.count; i++)
        destroy_process(processes, processes->all.items[i]);
    vec_free(&processes->all);
}

struct sampled *processes_find(const struct processes *processes, int32_t pid)
{
    const struct process *entry = lives_find_sampled(processes->lives, pid);
    return entry ? entry->sampled : NULL;
}

/* Takes over the reference of `list`, which may be NULL after a failed allocation. */
static struct sampled *add(struct processes *processes, const struct lives_task *task,
                           uint64_t time_ns, struct mapping_list *list)
{
    struct sampled *process = calloc(1, sizeof(*process));
    struct sampled *old = processes_find(processes, task->pid);
    if (list && process && vec_reserve(&processes->all, 1) == 0)
        process->entry = lives_hang(processes->lives, task, (int64_t)time_ns, process);
    if (!process || !process->entry) {
        mapping_list_unref(list);
        free(process);
        return NULL;
    }
    if (old) { /* its pid was reused */
        if (old->entry == process->entry)
            old->entry = NULL;
        take_off(old);
        old->exited = true;
    }
    process->pid = process->ns_pid = task->pid;
    process->list = list;
    process->family = ++processes->last_family;
    processes->all.items[processes->all.count++] = process;
    return process;
}

struct sampled *processes_add(struct processes *processes, const struct lives_task *task,
                              uint64_t time_ns)
{
    return add(processes, task, time_ns, mapping_list_create());
}

struct sampled *processes_fork(struct processes *processes, const struct lives_task *task,
                               uint64_t time_ns, const struct sampled *parent)
{
    struct sampled *process = add(processes, task, time_ns, mapping_list_ref(parent->list));
    if (!process)
        return NULL;
    process->family = parent->family;
    process->changed = parent->changed;
    process->compared_count = parent->compared_count;
    process->space_floor = parent->space_floor;
    process->image = parent->image;
    process->space = space_use(parent->space);
    process->tls_offset = parent->tls_offset;
    process->interpreter = parent->interpreter;
    return process;
}

void sampled_exec(struct processes *processes, struct sampled *process, uint64_t now_ns,
                  uint64_t step)
{
    space_leave(process->space, now_ns, step);
    forget_code(processes, process);
    forget_blocks(process);
    wide_map_free(&process->threads);
    process->space = NULL;
    process->tls_offset = 0;
    process->interpreter = (struct sampled_interpreter){0};
    process->inherited = (struct sampled_ranges){0};
    process->family = ++processes->last_family;
    process->changed = true;
    process->waits_exec = false;
    process->active = false;
    process->fresh_list = false;
    process->compared_count = 0;
    process->doubt = DOUBT_NONE;
}

void processes_sweep(struct processes *processes, uint64_t now_ns, uint64_t step)
{
    for (size_t i = 0; i < processes->all.count;) {
        struct sampled *process = processes->all.items[i];
        if (!process->exited || step - process->exit_step <= EXIT_STEPS) {
            i++;
            continue;
        }
        space_leave(process->space, now_ns, step);
        destroy_process(processes, process);
        processes->all.items[i] = processes->all.items[--processes->all.count];
    }
}

/* ---- Mappings -------------------------------------------------------------------------------- */

/* Mappings of processes, from kernel events or from /proc. Only executable ones count. */

/* Above all user addresses. */
#define ADDRESS_END (UINT64_C(1) << 56)

#define COMPARE_NS UINT64_C(5000000000)

enum { UNMAPPED_MAX = 64 };

/* Without `modules`: only addresses and offsets. */
static int put_place(struct mapping_list **list, struct modules *modules,
                     const struct module_place *place)
{
    struct mapping mapping = {place->begin, place->end, place->offset, NULL};
    if (place->end > ADDRESS_END)
        return 0;
    int error = modules ? modules_find(modules, place, &mapping.module) : 0;
    return error ? error : mapping_list_put(list, &mapping);
}

static int start_list(struct sampled *process, uint64_t time_ns)
{
    struct mapping_list *list = mapping_list_create();
    if (!list)
        return -ENOMEM;
    mapping_list_unref(process->list);
    process->list = list;
    process->fresh_list = true;
    process->fresh_ns = time_ns;
    return 0;
}

int sampled_apply_note(struct sampled *process, struct modules *modules,
                       const struct perf_note *note)
{
    if (note->kind == PERF_NOTE_EXEC)
        return start_list(process, note->time_ns);
    struct module_place place = {.pid = note->pid,
                                 .begin = note->begin,
                                 .end = note->end,
                                 .offset = note->offset,
                                 .major = note->major,
                                 .minor = note->minor,
                                 .inode = note->inode,
                                 .path = note->text};
    const struct mapping *old = mapping_list_find(process->list, place.begin);
    struct module *module = NULL;
    int error = modules_find(modules, &place, &module);
    if (error || place.end > ADDRESS_END)
        return error;
    if (old && old->module == module && module && old->end >= place.end &&
        old->offset + (place.begin - old->begin) == place.offset)
        return 0; /* repeated: its protection changed */
    process->changed = true;
    process->replaced = process->replaced || (old && old->module != module);
    struct mapping mapping = {place.begin, place.end, place.offset, module};
    return mapping_list_put(&process->list, &mapping);
}

struct reading {
    int32_t pid;
    struct modules *modules;
    struct mapping_list **list;
};

static int take_line(void *context, const struct maps_line *line)
{
    const struct reading *reading = context;
    struct module_place place = {reading->pid, line->begin, line->end,   line->offset,
                                 line->major,  line->minor, line->inode, line->path};
    return line->executable ? put_place(reading->list, reading->modules, &place) : 0;
}

/* Reads the current list from /proc. 0, -ESRCH, -errno. */
static int read_list(int32_t pid, struct modules *modules, struct mapping_list **ret_list)
{
    struct mapping_list *list = mapping_list_create();
    struct reading reading = {pid, modules, &list};
    int error = list ? maps_each(pid, take_line, &reading) : -ENOMEM;
    if (!error && list->count == 0)
        error = -ESRCH; /* ended, or ending */
    if (error)
        mapping_list_unref(list);
    else
        *ret_list = list;
    return error;
}

static void take_list(struct sampled *process, struct mapping_list *list)
{
    mapping_list_unref(process->list);
    process->list = list;
    process->compared_count = list->count;
    process->changed = true;
}

int sampled_read_maps(struct sampled *process, struct modules *modules)
{
    struct mapping_list *list;
    int error = read_list(process->pid, modules, &list);
    if (!error)
        take_list(process, list);
    return error;
}

/* True if the same offset of a file is mapped at the same place. The file itself is not compared:
 * on stacked file systems, /proc and the kernel's events may number it differently. */
static bool is_there(const struct mapping_list *list, const struct mapping *mapping)
{
    const struct mapping *found = mapping_list_find(list, mapping->begin);
    return found &&
           (!mapping->module || found->offset - found->begin == mapping->offset - mapping->begin);
}

/* The mappings of one list that are also in the other. NULL: out of memory. */
static struct mapping_list *common_list(const struct mapping_list *one,
                                        const struct mapping_list *other)
{
    struct mapping_list *list = mapping_list_create();
    for (size_t i = 0; list && i < one->count; i++) {
        if (is_there(other, &one->items[i]) && mapping_list_put(&list, &one->items[i]) != 0) {
            mapping_list_unref(list);
            return NULL;
        }
    }
    return list;
}

/* True if many mappings were added since the last comparison, or any, a long time ago. */
static bool is_grown(const struct sampled *process, uint64_t now_ns)
{
    size_t count = process->list->count, compared = process->compared_count;
    return count > 2 * compared + UNMAPPED_MAX ||
           (count > compared && now_ns - process->compared_ns >= COMPARE_NS);
}

int sampled_prune_maps(struct sampled *process, uint64_t now_ns)
{
    struct mapping_list *now, *list;
    if (!is_grown(process, now_ns))
        return 0;
    process->compared_count = process->list->count;
    process->compared_ns = now_ns;
    int error = read_list(process->pid, NULL, &now);
    if (error)
        return error == -ENOMEM ? error : 0;
    list = common_list(process->list, now);
    mapping_list_unref(now);
    if (!list)
        return -ENOMEM;
    take_list(process, list);
    return 0;
}
