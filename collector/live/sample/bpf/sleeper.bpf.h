/* SPDX-License-Identifier: MIT */
/* (MIT OR GPL-2.0) The kernel stack of a sleeping thread, mostly without the kernel's unwinder.
 *
 * Threads sleep in few chains of calls. When the unwinder has walked a stack, the words that may
 * have decided its result are kept, each with its place: all that point into the kernel's image
 * below the first return address, and after that all that could be one of the return addresses. A
 * later stack with the same words at the same places has the same chain: code at one address finds
 * its own return address at one distance from the stack pointer, so each leads on to the next. Only
 * the entry from user space may leave a random gap, hence places near the end are counted from
 * there as well. A word that was there by chance causes a miss, never a wrong chain; when the
 * unwinder then returns the same chain, such words are dropped: those that decide cannot differ. If
 * some return address is not among the words (a tracer replaced it, the stack is too deep) the
 * unwinder is called each time; also when a part is to be sent again, and a mistaken chain is
 * counted then. */
#ifndef ANNOT_SLEEPER_BPF_H
#define ANNOT_SLEEPER_BPF_H

#include "stack.bpf.h"

enum {
    SLEEPER_SETS = 32, /* of each CPU */
    SLEEPER_WAYS = 4,
    SLEEPER_PLACES = 40, /* words of one chain */
    SLEEPER_IMAGE = 31,  /* kernel and modules lie in the last 2^31 bytes */
    SLEEPER_END = 4,     /* words counted from the end */
};

struct sleeper_chain {
    uint64_t key;    /* the wait; 0: empty */
    uint64_t hash;   /* of the chain's kernel part */
    uint64_t filter; /* bits of its return addresses */
    uint32_t count;  /* number of deciding words */
    uint32_t found;  /* return addresses among them, in order */
    uint64_t word[SLEEPER_PLACES];
    int16_t place[SLEEPER_PLACES]; /* in walk->sleeper; < 0: from its end */
};

struct sleeper_set {
    uint64_t next; /* to be replaced */
    struct sleeper_chain chain[SLEEPER_WAYS];
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, SLEEPER_SETS);
    __type(key, uint32_t);
    __type(value, struct sleeper_set);
} sleepers SEC(".maps");

struct sleeper_work {
    struct walk *walk;
    struct sleeper_chain *chain;
};

static __always_inline uint64_t sleeper_bit(uint64_t address)
{
    return 1ull << ((uint32_t)address * 0x9e3779b1u >> 26);
}

/* Copies the stack of a thread that is off CPU. Not 0: too deep. */
static __always_inline int sleeper_read(struct walk *walk, struct task_struct *task)
{
    uint64_t sp = task->thread.sp, size;

    *(volatile uint64_t *)walk->sleeper = bpf_task_pt_regs(task);
    size = *(volatile uint64_t *)walk->sleeper -
           sp; /* read back, the verifier treats it as a number */
    walk->sleeper_words = size / sizeof(walk->sleeper[0]);
    if (size > sizeof(walk->sleeper))
        return -1;
    barrier_var(size);
    return size > sizeof(walk->sleeper) ||
           bpf_probe_read_kernel(walk->sleeper, size, (const void *)sp);
}

/* The word at a place of the copied stack; 0: outside. Without branches, for the verifier. */
static __always_inline uint64_t sleeper_word(const struct walk *walk, int32_t place)
{
    int64_t words = walk->sleeper_words, index = place + (words & (place >> 31));
    int64_t inside = ((index - words) & ~index) >> 63;

    barrier_var(inside);
    return walk->sleeper[index & (WALK_SLEEPER_WORDS - 1)] & inside;
}

/* True if the copied stack has each word at its place. */
__noinline int sleeper_fits(struct walk *walk, struct sleeper_chain *chain)
{
    uint32_t count;

    if (!walk || !chain)
        return 0;
    count = chain->count;
    for (uint32_t i = 0; i < SLEEPER_PLACES; i++) {
        if (i >= count)
            return 1;
        if (sleeper_word(walk, chain->place[i]) != chain->word[i])
            return 0;
    }
    return 1;
}

/* ---- Learning -------------------------------------------------------------------------------- */

static long sleeper_filter_step(uint32_t index, void *context)
{
    struct sleeper_work *work = context;

    if (index >= SAMPLER_KERNEL_MAX)
        return 1;
    work->chain->filter |= sleeper_bit(work->walk->kernel[index]);
    return 0;
}

/* Appends a word. Not 0: too many. */
static __always_inline int sleeper_keep(struct sleeper_work *work, uint64_t word, int32_t place)
{
    struct sleeper_chain *chain = work->chain;
    struct walk *walk = work->walk;
    uint32_t count = chain->count, found = chain->found;

    if (count >= SLEEPER_PLACES)
        return -1;
    chain->word[count] = word;
    chain->place[count] = place;
    chain->count = count + 1;
    if (found < walk->kernel_count && word == walk->kernel[found & (SAMPLER_KERNEL_MAX - 1)])
        chain->found = found + 1;
    return 0;
}

static long sleeper_learn_step(uint32_t index, void *context)
{
    struct sleeper_work *work = context;
    struct sleeper_chain *chain = work->chain;
    uint32_t words = work->walk->sleeper_words;
    int32_t place = index < words ? index : words - 1 - index; /* those at the end once more */
    uint64_t word;

    word = sleeper_word(work->walk, place);
    if (word >> SLEEPER_IMAGE != ~0ull >> SLEEPER_IMAGE ||
        (chain->found && !(chain->filter & sleeper_bit(word))))
        return 0;
    if (sleeper_keep(work, word, place)) {
        chain->found = 0;
        return 1;
    }
    return 0;
}

/* Keeps the chain only if it contains all return addresses. */
static __always_inline void sleeper_settle(const struct walk *walk, struct sleeper_chain *chain)
{
    bool whole = chain->found && chain->found == walk->kernel_count;

    chain->key = whole ? walk->sleeper_key : 0;
}

/* Learns the chain of the copied stack from the unwinder's result in walk->kernel, in place of
 * another one. */
static __always_inline void sleeper_learn(struct walk *walk, struct sleeper_chain *chain,
                                          uint64_t hash)
{
    struct sleeper_work work = {walk, chain};

    chain->filter = 0;
    chain->count = chain->found = 0;
    chain->hash = hash;
    bpf_loop(walk->kernel_count, sleeper_filter_step, &work, 0);
    bpf_loop(walk->sleeper_words + SLEEPER_END, sleeper_learn_step, &work, 0);
    sleeper_settle(walk, chain);
}

static long sleeper_drop_step(uint32_t index, void *context)
{
    struct sleeper_work *work = context;
    struct sleeper_chain *chain = work->chain;
    uint64_t word;
    int32_t place;

    if (index >= SLEEPER_PLACES)
        return 1;
    word = chain->word[index];
    place = chain->place[index];
    if (sleeper_word(work->walk, place) == word)
        sleeper_keep(work, word, place);
    return 0;
}

/* Drops the words of a chain that the copied stack, which has the same chain, does not have. */
static __always_inline void sleeper_drop(struct walk *walk, struct sleeper_chain *chain)
{
    struct sleeper_work work = {walk, chain};
    uint32_t count = chain->count;

    chain->count = chain->found = 0;
    bpf_loop(count, sleeper_drop_step, &work, 0);
    sleeper_settle(walk, chain);
}

/* ---- Use ------------------------------------------------------------------------------------- */

static __always_inline uint64_t sleeper_ask(struct walk *walk, struct task_struct *task)
{
    long bytes = bpf_get_task_stack(task, walk->kernel, sizeof(walk->kernel), 0);

    count(SAMPLER_COUNT_SLEEPERS_ASKED);
    walk->kernel_count = bytes > 0 ? bytes / sizeof(walk->kernel[0]) : 0;
    return stack_send_kernel(walk);
}

/* The hash of the copied stack's chain; 0: unknown. */
__noinline uint64_t sleeper_known(struct walk *walk, struct sleeper_set *set)
{
    if (!walk || !set)
        return 0;
    for (uint32_t i = 0; i < SLEEPER_WAYS; i++)
        if (set->chain[i].key == walk->sleeper_key &&
            (config.check_sleepers == SAMPLER_SLEEPERS_BLIND || sleeper_fits(walk, &set->chain[i])))
            return set->chain[i].hash;
    return 0;
}

/* Updates the chains after the unwinder returned `hash` for the copied stack, which was taken for
 * `known`. */
__noinline int sleeper_heed(struct walk *walk, struct sleeper_set *set, uint64_t known,
                            uint64_t hash)
{
    struct sleeper_chain *chain;

    if (!walk || !set)
        return 0;
    for (uint32_t i = 0; i < SLEEPER_WAYS; i++) {
        chain = &set->chain[i];
        if (chain->key != walk->sleeper_key)
            continue;
        if (known && chain->hash == known)
            chain->key = 0;
        if (chain->hash == hash) {
            sleeper_drop(walk, chain);
            return 0;
        }
    }
    sleeper_learn(walk, &set->chain[set->next++ & (SLEEPER_WAYS - 1)], hash);
    return 0;
}

static long sleeper_alter_step(uint32_t index, void *context)
{
    struct walk *walk = *(struct walk **)context;
    uint64_t *word = &walk->sleeper[index & (WALK_SLEEPER_WORDS - 1)];

    if (*word == walk->kernel[walk->now % walk->kernel_count & (SAMPLER_KERNEL_MAX - 1)])
        *word ^= 1;
    return 0;
}

/* For tests: a stack with any one return address altered must not be taken for the same. */
static __always_inline bool sleeper_is_careless(struct walk *walk, struct sleeper_set *set,
                                                uint64_t known)
{
    bpf_loop(WALK_SLEEPER_WORDS, sleeper_alter_step, &walk, 0);
    return sleeper_known(walk, set) == known;
}

/* The hash of the kernel part of a thread that is off CPU since `stretch`, with its head in `walk`;
 * 0: unavailable. */
static __always_inline uint64_t sleeper_kernel(struct walk *walk, struct task_struct *task,
                                               const struct sampler_switch *stretch)
{
    uint64_t key = emit_mix((uint32_t)stretch->syscall | (uint64_t)stretch->file_mode << 32,
                            stretch->flags & SAMPLER_PREEMPTED) |
                   1;
    uint32_t index = key >> 40 & (SLEEPER_SETS - 1);
    struct sleeper_set *set = bpf_map_lookup_elem(&sleepers, &index);
    uint64_t known = 0, hash;
    bool read;

    if (!set)
        return 0;
    walk->sleeper_key = key;
    read = sleeper_read(walk, task) == 0;
    if (read)
        known = sleeper_known(walk, set);
    if (known) {
        count(SAMPLER_COUNT_SLEEPERS_KNOWN);
        if (!config.check_sleepers && !emit_is_new(known, walk->now))
            return known;
    }
    hash = sleeper_ask(walk, task);
    if (known && hash &&
        (known != hash || (config.check_sleepers == SAMPLER_SLEEPERS_CHECKED &&
                           sleeper_is_careless(walk, set, known))))
        count(SAMPLER_COUNT_SLEEPERS_MISTAKEN);
    if (read && hash && known != hash)
        sleeper_heed(walk, set, known, hash);
    return hash;
}

#endif
