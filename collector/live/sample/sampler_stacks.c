/* SPDX-License-Identifier: MIT */
/* Parts of stacks from the kernel: addresses and code objects become frames when a part arrives,
 * while the process's mappings are those of that time. Records are from the kernel, the program's
 * memory in them is foreign: bounded. Thread-safety: one thread per object. */
#include "sampler_stacks.h"

#include "clock_now.h"
#include "frames.h"
#include "modules.h"
#include "processes.h"
#include "sampler_bpf.h"
#include "sampler_records.h"
#include "spaces.h"
#include "stack_join.h"

#include "unwind_stack.h"

#include <errno.h>
#include <string.h>

/* The mappings for an address of a part: the process's current ones, which are newer than the space
 * it was walked by; the space's if the address is unmapped now. But during an exec the current ones
 * are already those of the new image, and a part may be shared with other processes. */
static const struct mapping_list *address_list(const struct sampled *process,
                                               const struct space *space, uint64_t address)
{
    bool older = process->fresh_list || !mapping_list_find(process->list, address);
    return space && older ? space->list : process->list;
}

/* Adds frames of native addresses, leaf first, to a part that has room. */
static int name_natives(struct bpf_sampler *sampler, struct sampled *process,
                        struct stack_part *part)
{
    const struct space *space = spaces_find(&sampler->spaces, part->space);
    for (uint32_t i = 0; i < part->count; i++) {
        struct part_item *item = &part->items[i];
        uint64_t address = item->address - (i > 0 && item->address > 0);
        const struct mapping_list *list = address_list(process, space, address);
        int64_t frame = frame_native(&sampler->names, process, list, address);
        if (frame < 0)
            return (int)frame;
        item->frame = (uint32_t)frame;
    }
    return 0;
}

static int take_native(struct bpf_sampler *sampler, struct sampled *process,
                       const struct sampler_part *record)
{
    const struct sampler_native *natives = (const struct sampler_native *)(record + 1);
    struct stack_part *part =
        stack_parts_add(&sampler->parts, PART_NATIVE, record->hash, record->count);
    if (!part)
        return -ENOMEM;
    for (uint32_t i = 0; i < record->count; i++)
        part->items[i] = (struct part_item){natives[i].address, natives[i].cfa, 0, 0};
    part->base = record->base;
    part->space = record->space;
    part->end = record->end;
    part->used_ns = sampler->now_ns;
    return name_natives(sampler, process, part);
}

static int take_kernel(struct bpf_sampler *sampler, const struct sampler_part *record)
{
    const uint64_t *addresses = (const uint64_t *)(record + 1);
    struct stack_part *part =
        stack_parts_add(&sampler->parts, PART_KERNEL, record->hash, record->count);
    uint32_t last = 0, kept = 0;
    if (!part)
        return -ENOMEM;
    for (uint32_t i = 0; i < record->count; i++) {
        int64_t frame = frame_kernel(&sampler->names, addresses[i]);
        if (frame < 0)
            return (int)frame;
        /* With hidden names, one "[kernel]" is enough. */
        if (kept > 0 && last == frame && last == sampler->names.kernel_unnamed)
            continue;
        last = (uint32_t)frame;
        part->items[kept++] = (struct part_item){addresses[i], 0, last, 0};
    }
    for (uint32_t i = kept; i < part->count; i++)
        part->items[i] = (struct part_item){0};
    part->used_ns = sampler->now_ns;
    return 0;
}

static int take_python(struct bpf_sampler *sampler, const struct sampled *process,
                       const struct sampler_part *record)
{
    const struct sampler_python *frames = (const struct sampler_python *)(record + 1);
    struct stack_part *part =
        stack_parts_add(&sampler->parts, PART_PYTHON, record->hash, record->count);
    if (!part)
        return -ENOMEM;
    part->base = record->base;
    part->space = record->space;
    part->end = record->end;
    part->used_ns = sampler->now_ns;
    for (uint32_t i = 0; i < record->count; i++) {
        int64_t frame = 0;
        if (frames[i].code)
            frame = code_names_frame(&sampler->codes, sampler->options.trace, process, &frames[i]);
        if (frames[i].code && frame == 0) {
            sampler->counts.code_unread++;
            frame = frame_code_unread(&sampler->names);
        }
        part->items[i] = (struct part_item){frames[i].code, frames[i].anchor,
                                            frame > 0 ? (uint32_t)frame : 0, frames[i].flags};
        if (frame < 0)
            return (int)frame;
    }
    return 0;
}

int sampler_take_part(struct bpf_sampler *sampler, const struct sampler_head *record)
{
    const struct sampler_part *part = (const struct sampler_part *)record;
    size_t item = record->kind == SAMPLER_KERNEL   ? sizeof(uint64_t)
                  : record->kind == SAMPLER_NATIVE ? sizeof(struct sampler_native)
                                                   : sizeof(struct sampler_python);
    if (record->size < sizeof(*part) || (record->size - sizeof(*part)) / item < part->count)
        return sampler_pass_damaged(sampler);
    if (record->kind == SAMPLER_KERNEL)
        return take_kernel(sampler, part);
    struct sampled *process = sampler_process_of(sampler, record);
    if (!process)
        return -ENOMEM;
    return record->kind == SAMPLER_NATIVE ? take_native(sampler, process, part)
                                          : take_python(sampler, process, part);
}

/* ---- Walks ----------------------------------------------------------------------------------- */

/* Limit of a stack's wait for rows being read, and at the end of the recording. */
#define ROWS_NS      INT64_C(700000000)
#define LAST_ROWS_NS INT64_C(2000000000)

struct native_walk {
    struct bpf_sampler *sampler;
    const struct mapping_list *list;
    const struct native_source *source;
    bool waits; /* for rows */
};

/* Requests the rows. Waits unless that takes too long, or records would be lost meanwhile. */
static bool waits_for_rows(struct bpf_sampler *sampler, struct module *module)
{
    int64_t most_ns = sampler->finished ? LAST_ROWS_NS : ROWS_NS;
    return modules_load_rows(&sampler->modules, module) == 0 &&
           module->rows == MODULE_ROWS_READING && clock_now_ns() - module->requested_ns < most_ns &&
           (sampler->finished || !bpf_program_is_filling(sampler->program));
}

static bool walk_find(void *context, uint64_t address, struct unwind_place *ret_place)
{
    struct native_walk *walk = context;
    const struct mapping *mapping = mapping_list_find(walk->list, address);
    if (!mapping)
        return false;
    *ret_place = (struct unwind_place){0};
    struct module *module = mapping->module;
    if (!module)
        return true;
    walk->waits |= waits_for_rows(walk->sampler, module);
    ret_place->missing = module->rows != MODULE_ROWS_LOADED && module->rows != MODULE_ROWS_NONE;
    uint64_t own = module_address(module, address, mapping->begin, mapping->offset);
    const struct module_part *part = module_part_at(module, own);
    ret_place->table = part ? &part->table : NULL;
    ret_place->bias = address - own;
    return true;
}

static bool walk_read(void *context, uint64_t address, uint64_t *ret_value)
{
    const struct native_source *source = ((const struct native_walk *)context)->source;
    return source->read(source->context, address, ret_value);
}

int sampler_unwind(struct bpf_sampler *sampler, struct sampled *process, uint64_t hash,
                   const struct native_source *source)
{
    static _Thread_local struct unwind_frame frames[SAMPLER_NATIVE_MAX];
    struct native_walk walk = {sampler, process->list, source, false};
    struct unwind_request request = {
        .registers = source->registers, .find = walk_find, .read = walk_read, .context = &walk};
    enum stack_end end = STACK_NOT_WALKED;
    uint32_t count = unwind_stack(&request, frames, SAMPLER_NATIVE_MAX, &end);
    if (walk.waits)
        return SAMPLER_LATER;
    struct stack_part *part = stack_parts_add(&sampler->parts, PART_NATIVE, hash, count);
    if (!part)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        part->items[i] = (struct part_item){frames[i].address, frames[i].cfa, 0, 0};
        part->base = frames[i].cfa ? frames[i].cfa : part->base;
    }
    part->end = (uint8_t)end;
    part->space = source->space;
    part->used_ns = sampler->now_ns;
    return name_natives(sampler, process, part);
}

static bool copy_read(void *context, uint64_t address, uint64_t *ret_value)
{
    const struct sampler_copy *copy = context;
    uint64_t offset = address - copy->rsp;
    if (offset > copy->size || copy->size - offset < sizeof(*ret_value))
        return false;
    memcpy(ret_value, (const uint8_t *)(copy + 1) + offset, sizeof(*ret_value));
    return true;
}

int sampler_take_copy(struct bpf_sampler *sampler, const struct sampler_copy *copy)
{
    struct sampled *process = sampler_process_of(sampler, &copy->head);
    struct native_source source = {
        .registers = {.rip = copy->rip, .rsp = copy->rsp, .rbp = copy->rbp, .rbx = copy->rbx},
        .read = copy_read,
        .context = (void *)copy,
        .space = copy->space};
    if (copy->head.size < sizeof(*copy) || copy->size > copy->head.size - sizeof(*copy))
        return sampler_pass_damaged(sampler);
    if (!process)
        return -ENOMEM;
    int error = sampler_unwind(sampler, process, copy->hash, &source);
    sampler->counts.copies += error != SAMPLER_LATER;
    return error;
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

/* Longer than the kernel takes from the end of an image to the start of the next; limited, in case
 * the exec's own record is lost. */
#define EXEC_NS UINT64_C(1000000000)

/* Drops used copies: they come once. */
static void forget_copy(struct bpf_sampler *sampler, const struct sampler_stack *stack)
{
    if (stack->flags & SAMPLER_COPIED)
        stack_parts_drop(&sampler->parts, PART_NATIVE, stack->native);
}

static int64_t stale_stack(struct bpf_sampler *sampler, struct sampler_stack *stack)
{
    sampler->counts.stacks_stale++;
    stack->native_end = STACK_NO_MAPPING;
    stack->python_end = STACK_NOT_WALKED;
    return 0;
}

/* The index of the first frame whose place is mapped differently now than when the walk's space was
 * made; count: none. Its own address is right, but its callers were found by wrong rows. */
static uint32_t first_replaced(const struct stack_part *part, const struct mapping_list *then,
                               const struct mapping_list *now)
{
    for (uint32_t i = 0; i < part->count; i++) {
        uint64_t address = part->items[i].address - (i > 0 && part->items[i].address > 0);
        const struct mapping *old = mapping_list_find(then, address);
        const struct mapping *new = old ? mapping_list_find(now, address) : NULL;
        if (new &&
            (new->module != old->module || new->offset - new->begin != old->offset - old->begin))
            return i;
    }
    return part->count;
}

enum { CUT_AT_BITS = 10 };

_Static_assert(SAMPLER_NATIVE_MAX <= 1 << CUT_AT_BITS, "place and frame are one number");

/* The reliable frames of a native part: a library may have replaced another one before the program
 * got the new mappings. NULL: out of memory. The caller drops a part made for this. */
static struct stack_part *cut_replaced(struct bpf_sampler *sampler, struct sampled *process,
                                       struct sampler_stack *stack, struct stack_part *part)
{
    const struct space *space = spaces_find(&sampler->spaces, stack->space);
    if (!part || !space || space->list == process->list || process->fresh_list ||
        (stack->flags & SAMPLER_COPIED))
        return part;
    uint32_t at = first_replaced(part, space->list, process->list);
    if (at == part->count)
        return part;
    int64_t frame =
        frame_native(&sampler->names, process, process->list, part->items[at].address - (at > 0));
    struct stack_part *cut =
        frame > 0 ? stack_parts_add(&sampler->parts, PART_CUT, part->hash, at + 1) : NULL;
    if (!cut)
        return NULL;
    memcpy(cut->items, part->items, (at + 1) * sizeof(cut->items[0]));
    cut->items[at].frame = (uint32_t)frame;
    cut->cut = (uint64_t)frame << CUT_AT_BITS | at;
    cut->base = part->base;
    cut->space = part->space;
    cut->used_ns = sampler->now_ns;
    cut->end = stack->native_end = STACK_NO_TABLE;
    sampler->counts.stacks_replaced++;
    return cut;
}

int64_t sampler_find_stack(struct bpf_sampler *sampler, struct sampled *process,
                           struct sampler_stack *stack)
{
    if (stack->space && stack->space <= process->space_floor)
        return stale_stack(sampler, stack);
    struct stack_parts *parts = &sampler->parts;
    struct stack_part *native =
        stack_parts_find(parts, PART_NATIVE, stack->native, sampler->now_ns);
    struct join_request request = {
        .kernel = stack_parts_find(parts, PART_KERNEL, stack->kernel, sampler->now_ns),
        .native = cut_replaced(sampler, process, stack, native),
        .python = stack_parts_find(parts, PART_PYTHON, stack->python, sampler->now_ns),
        .process = process,
        .collects = stack->flags & SAMPLER_GC,
    };
    if (native && !request.native)
        return -ENOMEM;
    if ((stack->kernel && !request.kernel) || (stack->native && !request.native) ||
        (stack->python && !request.python))
        sampler->counts.stacks_missing++;
    if ((stack->flags & SAMPLER_COPIED) && request.native)
        stack->native_end = request.native->end;
    if (process->fresh_list && sampler->now_ns - process->fresh_ns < EXEC_NS) {
        /* The old image's stack is discarded, the new one has none yet: it is all kernel time. */
        request.native = request.python = NULL;
        stack->native_end = stack->python_end = STACK_NOT_WALKED;
    }
    request.native_end = stack->native_end;
    request.python_end = stack->python_end;
    int64_t ordinal = stack_join_parts(&sampler->join, &sampler->names, &request);
    forget_copy(sampler, stack);
    stack_parts_drop(parts, PART_CUT, stack->native);
    return ordinal;
}
