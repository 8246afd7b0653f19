/* SPDX-License-Identifier: MIT */
/* (MIT OR GPL-2.0) Functions as ranges: a program at each start and exit.
 *
 * The open ranges of a thread form a stack of functions and of the stack pointers at their entry. A
 * function is left at the same stack pointer; deeper entries were left without a return, by longjmp
 * or an exception. In Go each goroutine has such a stack, with places counted from the top of its
 * memory, as that moves. Writes one record for each range, when it ends.
 *
 * Programs of one thread never interrupt each other, so its stack needs no lock. */
#include <linux/bpf_perf_event.h>

#include "emit.bpf.h"

char probes_license[] SEC("license") = "Dual MIT/GPL";

struct probe_key {
    uint64_t who;   /* tid, or the goroutine's address */
    uint32_t pid;   /* in the collector's namespace, as is the tid */
    uint32_t pairs; /* 1: the stack of pairs */
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, SAMPLER_PROBED_MAX);
    __type(key, struct probe_key);
    __type(value, struct sampler_open);
} probe_open SEC(".maps");

/* The number of calls of each function in recorded processes, and in all others. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 2 * SAMPLER_PROBES_MAX);
    __type(key, uint32_t);
    __type(value, uint64_t);
} probe_calls SEC(".maps");

/* The arguments read at places, by the number of their list. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, SAMPLER_ARG_LISTS_MAX);
    __type(key, uint32_t);
    __type(value, struct sampler_args);
} probe_wanted SEC(".maps");

/* The content of a new stack: too large for the BPF stack. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct sampler_open);
} probe_blank SEC(".maps");

/* State of the program at one place. */
struct site {
    uint64_t cookie;
    struct task_struct *task;
    struct sampler_open *open;
    uint64_t now, began;
    int64_t place; /* the stack pointer: callees have lower ones */
    uint32_t function;
};

static __always_inline void probe_count(uint32_t index)
{
    uint64_t *calls = bpf_map_lookup_elem(&probe_calls, &index);

    if (calls)
        __sync_fetch_and_add(calls, 1);
}

/* The running goroutine, and the top of its stack: struct g of Go begins with its bounds. */
static __always_inline int probe_goroutine(struct pt_regs *context, struct probe_key *key,
                                           int64_t *place)
{
    uint64_t top = 0;

    key->who = context->r14;
    if (read_user(&top, sizeof(top), context->r14 + 8))
        return -1;
    *place -= (int64_t)top;
    return 0;
}

/* The stack of open ranges, made if `make`. Discards that of an earlier thread with that number, or
 * of an earlier image. */
static __always_inline struct sampler_open *probe_stack(const struct site *site,
                                                        const struct probe_key *key, bool make)
{
    struct sampler_open *open = bpf_map_lookup_elem(&probe_open, key), *blank;
    const struct task_struct *task = site->task; /* only a name, for CO-RE */
    uint64_t mm = (uint64_t)BPF_CORE_READ(task, mm);
    bool go = site->cookie & SAMPLER_SITE_GO;
    uint64_t start = go ? 0 : task->start_boottime;
    uint32_t zero = 0;

    if (!open && make) {
        blank = bpf_map_lookup_elem(&probe_blank, &zero);
        if (blank)
            bpf_map_update_elem(&probe_open, key, blank, BPF_NOEXIST);
        open = bpf_map_lookup_elem(&probe_open, key);
        if (!open)
            count(SAMPLER_LOSS_PROBE_TABLE);
    }
    if (open && (open->mm != mm || open->start_ns != start)) {
        open->mm = mm;
        open->start_ns = start;
        open->count = open->beyond = 0;
        task_identify(site->task, &open->head, true);
    }
    return open;
}

static __always_inline void probe_emit(const struct site *site, const struct sampler_opened *range,
                                       uint32_t flags)
{
    struct sampler_probed *record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);

    if (!record) {
        count(SAMPLER_LOSS_RING_FULL_PROBE);
        return;
    }
    record->head.kind = SAMPLER_PROBED;
    record->head.size = sizeof(*record);
    record->head.time_ns = site->now;
    task_identify(site->task, &record->head, true);
    record->begin_ns = range->begin_ns;
    record->function = range->function;
    record->flags = flags;
    bpf_ringbuf_submit(record, emit_flags(site->now, false));
}

/* Closes deeper ranges; `same` decides about one at the place itself. One round of the loop: 1:
 * done. */
static long probe_close_round(uint32_t index, void *context)
{
    struct site *site = *(struct site **)context;
    struct sampler_open *open = site->open;
    bool entry = SAMPLER_SITE_KIND(site->cookie) == SAMPLER_SITE_ENTRY;
    struct sampler_opened *top;
    uint32_t last;

    if (!open || open->count == 0)
        return 1;
    last = open->count - 1;
    if (last >= SAMPLER_OPEN_MAX)
        return 1;
    top = &open->ranges[last];
    if (top->place > site->place)
        return 1;
    if (top->place == site->place && top->function == site->function) {
        if (entry && site->cookie & SAMPLER_SITE_RESTARTS)
            return 1;
        open->count = last;
        probe_emit(site, top, entry ? SAMPLER_PROBED_LEFT : 0);
        return !entry;
    }
    if (top->place == site->place && !entry)
        return 1;
    open->count = last;
    probe_emit(site, top, SAMPLER_PROBED_LEFT);
    return 0;
}

static __always_inline void probe_close(struct site *site)
{
    bpf_loop(SAMPLER_OPEN_MAX, probe_close_round, &site, 0);
}

/* Opens the range; false if it was not opened. */
static __always_inline bool probe_enter(struct site *site)
{
    struct sampler_open *open = site->open;
    uint32_t at = open->count;
    struct sampler_opened *range;

    if (at && at <= SAMPLER_OPEN_MAX && site->cookie & SAMPLER_SITE_RESTARTS) {
        range = &open->ranges[(at - 1) & (SAMPLER_OPEN_MAX - 1)];
        if (range->place == site->place && range->function == site->function)
            return false;
    }
    if (at >= SAMPLER_OPEN_MAX) {
        count(SAMPLER_LOSS_PROBE_DEPTH);
        return false;
    }
    range = &open->ranges[at & (SAMPLER_OPEN_MAX - 1)];
    range->begin_ns = site->now;
    range->place = site->place;
    range->function = site->function;
    open->count = at + 1;
    return true;
}

/* True if a conditional jump will be taken. */
static __always_inline bool probe_jumps(uint64_t flags, uint32_t condition)
{
    bool carry = flags & 1, parity = flags & 4, zero = flags & 0x40, sign = flags & 0x80;
    bool overflow = flags & 0x800, is = false;

    switch (condition >> 1) {
    case 0:
        is = overflow;
        break;
    case 1:
        is = carry;
        break;
    case 2:
        is = zero;
        break;
    case 3:
        is = carry || zero;
        break;
    case 4:
        is = sign;
        break;
    case 5:
        is = parity;
        break;
    case 6:
        is = sign != overflow;
        break;
    default:
        is = zero || sign != overflow;
        break;
    }
    return is != (condition & 1);
}

/* By the processor's number. Copies all: the verifier rejects pointers into the context. */
struct probe_registers {
    uint64_t all[SAMPLER_ARG_BASES];
};

static __always_inline void probe_take_registers(const struct pt_regs *context,
                                                 struct probe_registers *registers)
{
    *registers = (struct probe_registers){{
        context->rax,
        context->rcx,
        context->rdx,
        context->rbx,
        context->rsp,
        context->rbp,
        context->rsi,
        context->rdi,
        context->r8,
        context->r9,
        context->r10,
        context->r11,
        context->r12,
        context->r13,
        context->r14,
        context->r15,
        context->rip,
        0,
    }};
    barrier();
}

static __always_inline uint64_t probe_register(const struct probe_registers *registers,
                                               uint32_t number)
{
    if (number >= SAMPLER_ARG_NOTHING)
        return 0;
    return *(const volatile uint64_t *)&registers->all[number];
}

/* Texts end at the first unreadable byte: does not wait or fault in pages. */
static __always_inline int32_t probe_text(const struct probe_registers *registers,
                                          const struct sampler_arg *arg, uint64_t at, char *text)
{
    uint64_t length = probe_register(registers, arg->length);

    if (arg->length == SAMPLER_ARG_NOTHING)
        return (int32_t)bpf_probe_read_user_str(text, SAMPLER_ARG_TEXT_SIZE, (const void *)at);
    BOUND(length, SAMPLER_ARG_TEXT_SIZE - 1);
    if (read_user(text, (uint32_t)length, at))
        return SAMPLER_ARG_LOST - 1;
    return (int32_t)length + 1;
}

static __always_inline int32_t probe_argument(const struct probe_registers *registers,
                                              const struct sampler_arg *arg, uint64_t *ret_value)
{
    uint64_t at = probe_register(registers, arg->base) + (uint64_t)arg->offset +
                  (probe_register(registers, arg->index) << (arg->shift & 3));
    uint32_t size = arg->size;

    *ret_value = at;
    if (size == 0)
        return 0;
    BOUND(size, sizeof(*ret_value));
    *ret_value = 0;
    return read_user(ret_value, size, at) ? SAMPLER_ARG_LOST : 0;
}

/* `size`: a constant, smaller without texts. */
static __always_inline void probe_emit_list(const struct site *site, const struct pt_regs *context,
                                            const struct sampler_args *wanted, uint64_t size)
{
    struct sampler_probed_args *record = bpf_ringbuf_reserve(&ring, size, 0);
    struct probe_registers registers;

    if (!record) {
        count(SAMPLER_LOSS_RING_FULL_PROBE);
        return;
    }
    probe_take_registers(context, &registers);
    record->head.kind = SAMPLER_PROBED_ARGS;
    record->head.size = (uint32_t)size;
    record->head.time_ns = site->began;
    task_identify(site->task, &record->head, true);
    record->function = site->function;
    record->list = SAMPLER_SITE_ARGS(site->cookie);
#pragma unroll
    for (uint32_t i = 0; i < SAMPLER_ARGS_MAX; i++) {
        record->values[i] = 0;
        record->got[i] = 0;
        if (i >= wanted->count)
            continue;
        record->got[i] = probe_argument(&registers, &wanted->items[i], &record->values[i]);
        if (size == sizeof(*record) && wanted->items[i].text && record->got[i] == 0)
            record->got[i] =
                probe_text(&registers, &wanted->items[i], record->values[i], record->texts[i]);
    }
    bpf_ringbuf_submit(record, emit_flags(site->now, false));
}

/* Reads the arguments wanted at this place, for the range that began at site->began. */
static __always_inline void probe_arguments(const struct site *site, const struct pt_regs *context)
{
    uint32_t list = SAMPLER_SITE_ARGS(site->cookie);
    const struct sampler_args *wanted = list ? bpf_map_lookup_elem(&probe_wanted, &list) : NULL;

    if (wanted && wanted->texts)
        probe_emit_list(site, context, wanted, sizeof(struct sampler_probed_args));
    else if (wanted)
        probe_emit_list(site, context, wanted, offsetof(struct sampler_probed_args, texts));
}

/* True if the function is left now. A jump through a register may stay inside the function. */
static __always_inline bool probe_leaves(const struct pt_regs *context, uint64_t cookie)
{
    uint32_t detail = SAMPLER_SITE_DETAIL(cookie);
    struct probe_registers registers;
    uint64_t begin, target;

    switch (SAMPLER_SITE_KIND(cookie)) {
    case SAMPLER_SITE_LEAVE_IF:
        return probe_jumps(context->eflags, detail);
    case SAMPLER_SITE_LEAVE_TO:
        begin = context->rip - SAMPLER_SITE_BEFORE(cookie);
        probe_take_registers(context, &registers);
        target = probe_register(&registers, detail);
        return target - begin >= SAMPLER_SITE_BEFORE(cookie) + SAMPLER_SITE_BEHIND(cookie);
    default:
        return true;
    }
}

SEC("uprobe")

int probes_met(struct pt_regs *context)
{
    struct task_struct *task = bpf_get_current_task_btf();
    uint64_t cookie = bpf_get_attach_cookie(context);
    struct probe_key key = {.who = task_tid(task, true), .pid = task_pid(task, true)};
    struct site site = {.cookie = cookie, .task = task, .function = SAMPLER_SITE_FUNCTION(cookie)};
    bool entry = SAMPLER_SITE_KIND(cookie) == SAMPLER_SITE_ENTRY;

    if (!task_process(task, SAMPLER_LOSS_OTHER_UID)) {
        if (entry)
            probe_count(SAMPLER_PROBES_MAX + site.function);
        return 0;
    }
    site.place = (int64_t)context->rsp;
    if (SAMPLER_SITE_KIND(cookie) == SAMPLER_SITE_RETURNED)
        site.place -= 8; /* the return address is already popped */
    if (cookie & SAMPLER_SITE_GO && probe_goroutine(context, &key, &site.place))
        return 0;
    if (entry)
        probe_count(site.function);
    else if (!probe_leaves(context, cookie))
        return 0;
    site.open = probe_stack(&site, &key, entry);
    if (!site.open)
        return 0;
    site.now = site.began = bpf_ktime_get_ns();
    probe_close(&site);
    if (entry && probe_enter(&site))
        probe_arguments(&site, context);
    return 0;
}

/* ---- Pairs -----------------------------------------------------------------------------------
 *
 * Their starts and ends may be in different functions, so stack pointers are useless: an end closes
 * the last start of the same pair. Pairs may overlap: one that ends below another stays as an empty
 * place until the other has ended. */

static long probe_pair_round(uint32_t index, void *context)
{
    struct site *site = *(struct site **)context;
    struct sampler_open *open = site->open;
    struct sampler_opened *range;

    if (!open || index >= open->count)
        return 1;
    range = &open->ranges[(open->count - 1 - index) & (SAMPLER_OPEN_MAX - 1)];
    if (range->function != site->function)
        return 0;
    site->began = range->begin_ns;
    range->function = SAMPLER_OPENED_NONE;
    return 1;
}

/* Pops empty places off the top. */
static long probe_empty_round(uint32_t index, void *context)
{
    struct site *site = *(struct site **)context;
    struct sampler_open *open = site->open;

    if (!open || open->count == 0 ||
        open->ranges[(open->count - 1) & (SAMPLER_OPEN_MAX - 1)].function != SAMPLER_OPENED_NONE)
        return 1;
    open->count--;
    return 0;
}

static __always_inline void probe_pair_end(struct site *site, const struct pt_regs *context)
{
    struct sampler_opened range = {.function = site->function};

    if (site->open->beyond) {
        site->open->beyond--;
        return;
    }
    bpf_loop(SAMPLER_OPEN_MAX, probe_pair_round, &site, 0);
    bpf_loop(SAMPLER_OPEN_MAX, probe_empty_round, &site, 0);
    if (site->began == 0)
        return;
    range.begin_ns = site->began;
    probe_arguments(site, context);
    probe_emit(site, &range, 0);
}

SEC("uprobe")

int probes_paired(struct pt_regs *context)
{
    struct task_struct *task = bpf_get_current_task_btf();
    uint64_t cookie = bpf_get_attach_cookie(context);
    struct probe_key key = {.who = task_tid(task, true), .pid = task_pid(task, true), .pairs = 1};
    struct site site = {.cookie = cookie, .task = task, .function = SAMPLER_SITE_FUNCTION(cookie)};
    bool begins = SAMPLER_SITE_KIND(cookie) == SAMPLER_SITE_ENTRY;
    bool recorded = task_process(task, SAMPLER_LOSS_OTHER_UID);

    if (begins)
        probe_count((recorded ? 0 : SAMPLER_PROBES_MAX) + site.function);
    if (!recorded)
        return 0;
    site.open = probe_stack(&site, &key, begins);
    if (!site.open)
        return 0;
    site.now = bpf_ktime_get_ns();
    if (!begins) {
        probe_pair_end(&site, context);
    } else if (site.open->count < SAMPLER_OPEN_MAX) {
        site.began = site.now;
        probe_enter(&site);
        probe_arguments(&site, context);
    } else if (site.open->beyond++ < 0xffffffff) {
        count(SAMPLER_LOSS_PROBE_DEPTH);
    }
    return 0;
}

/* A place that is a mark. */
SEC("uprobe")

int probes_marked(struct pt_regs *context)
{
    struct task_struct *task = bpf_get_current_task_btf();
    uint64_t cookie = bpf_get_attach_cookie(context);
    struct site site = {.cookie = cookie, .task = task, .function = SAMPLER_SITE_FUNCTION(cookie)};
    struct sampler_opened range = {.function = site.function};

    if (!task_process(task, SAMPLER_LOSS_OTHER_UID)) {
        probe_count(SAMPLER_PROBES_MAX + site.function);
        return 0;
    }
    probe_count(site.function);
    site.now = site.began = range.begin_ns = bpf_ktime_get_ns();
    probe_arguments(&site, context);
    probe_emit(&site, &range, SAMPLER_PROBED_MARK);
    return 0;
}
