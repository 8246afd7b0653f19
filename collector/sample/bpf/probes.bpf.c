/* SPDX-License-Identifier: MIT */
/* (MIT OR GPL-2.0) Functions that are ranges: a program at where they begin and where they are
 * left.
 *
 * What is open of a thread is a stack of its own, of functions and the stack pointer that each was
 * entered with. A function is left at the same stack pointer; whatever lies deeper was left without
 * a return, by longjmp or an exception. Of Go it is the goroutine that has such a stack, and places
 * count from the top of its memory, as that moves. One record for each range, when it ends.
 *
 * Programs of one thread never interrupt each other, so its stack needs no lock. */
#include <linux/bpf_perf_event.h>

#include "emit.bpf.h"

char probes_license[] SEC("license") = "Dual MIT/GPL";

struct probe_key {
    uint64_t who;   /* tid, or the goroutine's address */
    uint32_t pid;   /* as the collector's namespace has it, as the tid */
    uint32_t pairs; /* 1: a stack of its own */
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, SAMPLER_PROBED_MAX);
    __type(key, struct probe_key);
    __type(value, struct sampler_open);
} probe_open SEC(".maps");

/* How often each function was entered, by those that are recorded; and by all others. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 2 * SAMPLER_PROBES_MAX);
    __type(key, uint32_t);
    __type(value, uint64_t);
} probe_calls SEC(".maps");

/* What entries of functions tell, by function. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, SAMPLER_PROBES_MAX);
    __type(key, uint32_t);
    __type(value, struct sampler_args);
} probe_wanted SEC(".maps");

/* As large as a new stack: too large for the program's own. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct sampler_open);
} probe_blank SEC(".maps");

/* Where the program is. */
struct site {
    uint64_t cookie;
    struct task_struct *task;
    struct sampler_open *open;
    uint64_t now;
    int64_t place; /* the stack pointer: callees have lower ones */
    uint32_t function;
};

static __always_inline void probe_count(uint32_t index)
{
    uint64_t *calls = bpf_map_lookup_elem(&probe_calls, &index);

    if (calls)
        __sync_fetch_and_add(calls, 1);
}

/* The goroutine that runs, and the top of its stack: struct g of Go begins with its bounds. */
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

/* The stack of what is open, made if `make`. That of an earlier thread of that number, or of an
 * earlier image, counts for nothing. */
static __always_inline struct sampler_open *probe_stack(const struct site *site,
                                                        const struct probe_key *key, bool make)
{
    struct sampler_open *open = bpf_map_lookup_elem(&probe_open, key), *blank;
    const struct task_struct *task = site->task; /* a name alone, for CO-RE */
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

static __always_inline void probe_tell(const struct site *site, const struct sampler_opened *range,
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

/* Closes what lies deeper; of what lies at the place itself `same` decides. One round of it: 1: all
 * is done. */
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
        probe_tell(site, top, entry ? SAMPLER_PROBED_LEFT : 0);
        return !entry;
    }
    if (top->place == site->place && !entry)
        return 1;
    open->count = last;
    probe_tell(site, top, SAMPLER_PROBED_LEFT);
    return 0;
}

static __always_inline void probe_close(struct site *site)
{
    bpf_loop(SAMPLER_OPEN_MAX, probe_close_round, &site, 0);
}

/* Whether it is open from now on. */
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

/* Whether a jump on a condition will be taken. */
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

/* By the processor's number. All are taken: the verifier wants no pointers into the context. */
static __always_inline uint64_t probe_register(const struct pt_regs *context, uint32_t number)
{
    const uint64_t registers[16] = {
        context->rax, context->rcx, context->rdx, context->rbx, context->rsp, context->rbp,
        context->rsi, context->rdi, context->r8,  context->r9,  context->r10, context->r11,
        context->r12, context->r13, context->r14, context->r15,
    };

    barrier();
    return *(const volatile uint64_t *)&registers[number & 15];
}

/* Texts end at the first byte that cannot be read: nothing is waited for, no page is loaded. */
static __always_inline void probe_arguments(const struct site *site, const struct pt_regs *context)
{
    uint32_t function = site->function;
    const struct sampler_args *wanted = bpf_map_lookup_elem(&probe_wanted, &function);
    struct sampler_probed_args *record;

    if (!wanted)
        return;
    record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);
    if (!record) {
        count(SAMPLER_LOSS_RING_FULL_PROBE);
        return;
    }
    record->head.kind = SAMPLER_PROBED_ARGS;
    record->head.size = sizeof(*record);
    record->head.time_ns = site->now;
    task_identify(site->task, &record->head, true);
    record->function = function;
    record->reserved = 0;
#pragma unroll
    for (uint32_t i = 0; i < SAMPLER_ARGS_MAX; i++) {
        record->values[i] = probe_register(context, wanted->registers[i]);
        record->text_bytes[i] = 0;
        if (i < wanted->count && wanted->kinds[i] == SAMPLER_ARG_STR)
            record->text_bytes[i] = (int32_t)bpf_probe_read_user_str(
                record->texts[i], SAMPLER_ARG_TEXT_SIZE, (const void *)record->values[i]);
    }
    bpf_ringbuf_submit(record, emit_flags(site->now, false));
}

/* Whether the function is left here, now. A jump through a register may be one to another place of
 * its own. */
static __always_inline bool probe_leaves(const struct pt_regs *context, uint64_t cookie)
{
    uint32_t detail = SAMPLER_SITE_DETAIL(cookie);
    uint64_t begin, target;

    switch (SAMPLER_SITE_KIND(cookie)) {
    case SAMPLER_SITE_LEAVE_IF:
        return probe_jumps(context->eflags, detail);
    case SAMPLER_SITE_LEAVE_TO:
        begin = context->rip - SAMPLER_SITE_BEFORE(cookie);
        target = probe_register(context, detail);
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
        site.place -= 8; /* the return address is taken already */
    if (cookie & SAMPLER_SITE_GO && probe_goroutine(context, &key, &site.place))
        return 0;
    if (entry)
        probe_count(site.function);
    else if (!probe_leaves(context, cookie))
        return 0;
    site.open = probe_stack(&site, &key, entry);
    if (!site.open)
        return 0;
    site.now = bpf_ktime_get_ns();
    probe_close(&site);
    if (entry && probe_enter(&site) && SAMPLER_SITE_DETAIL(cookie))
        probe_arguments(&site, context);
    return 0;
}

/* ---- Pairs -----------------------------------------------------------------------------------
 *
 * Their begins and ends may be in different functions, so stack pointers tell nothing: an end is
 * that of the last begin of the same pair. Pairs may overlap: one that ends below another stays as
 * an empty place until the other has ended. */

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
    probe_tell(site, range, 0);
    range->function = SAMPLER_OPENED_NONE;
    return 1;
}

/* Takes empty places off the top. */
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

static __always_inline void probe_pair_end(struct site *site)
{
    if (site->open->beyond) {
        site->open->beyond--;
        return;
    }
    bpf_loop(SAMPLER_OPEN_MAX, probe_pair_round, &site, 0);
    bpf_loop(SAMPLER_OPEN_MAX, probe_empty_round, &site, 0);
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
    if (!begins)
        probe_pair_end(&site);
    else if (site.open->count < SAMPLER_OPEN_MAX)
        probe_enter(&site);
    else if (site.open->beyond++ < 0xffffffff)
        count(SAMPLER_LOSS_PROBE_DEPTH);
    return 0;
}

/* A place that is a mark of its own. */
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
    site.now = range.begin_ns = bpf_ktime_get_ns();
    probe_tell(&site, &range, SAMPLER_PROBED_MARK);
    return 0;
}
