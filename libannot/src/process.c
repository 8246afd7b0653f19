/* SPDX-License-Identifier: MIT */
/* Joining sessions, forking, leaving: see process.h. */
#include "process.h"

#include "clock.h"
#include "filter.h"
#include "mix.h"
#include "proc.h"
#include "refused.h"
#include "strings.h"
#include "testpoint.h"

#include <annot/annot.h>
#include <annot_barrier.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

enum {
    CREATE_ATTEMPTS = 4, /* names, if one is taken */
    JOIN_ATTEMPTS = 512, /* waits for makers that were stopped in the middle, 11 ms each */
    WAIT_ROUNDS = 10,
    WAIT_NS = 50 * 1000,
    WAIT_MAX_NS = 2000 * 1000,
};

/* Without descriptors a process joins later: about ten attempts a second. */
#define RETRY_TICKS UINT64_C(200000000)

/* On a separate page that a fork wipes: zero is the state of a new child. */
struct wiped {
    struct segment *current;   /* holds a reference; W: all, atomic */
    uint64_t retry_time;       /* timestamp: do not try to join before; W: all, atomic */
    uint64_t retry_generation; /* the generation of retry_time; W: all, atomic */
    uint64_t off_generation;   /* this process takes no part in it; W: all, atomic */
    uint32_t ready;            /* the fork handler ran, or this is the first process */
    uint32_t creating;         /* tid of the thread that makes a segment, or 0; W: all, atomic */
    uint32_t attempts;         /* segments tried; makes names distinct; W: all, atomic */
    uint64_t refused_place;    /* of refused.h, 0: none; W: the deciding thread, atomic */
    uint64_t range_counter;    /* W: all, atomic */
    uint64_t nonce;
    uint64_t id_base;              /* of flows and tracks, 0: not made; W: all, swapped in once */
    uint64_t id_counter;           /* W: all, atomic */
    uint64_t lost[ANNOT_LOSS_ALL]; /* not yet in a segment; W: all, atomic */
    uint64_t names_left;           /* the same */
};

static struct wiped *wiped;

/* Survives forks. */
static uint64_t last_identity;   /* of the current segment */
static uid_t first_uid;          /* W: constructor */
static uint64_t parent_identity; /* W: fork handler in the child */
static uint64_t fork_time;       /* W: fork handler in the child */
static uint32_t process_name;    /* string id; W: all, atomic */
static uint32_t late;            /* joined while running, at least once; W: all, atomic */
static struct refusal refused;   /* the last one, for process_status */

void process_setup(int secure)
{
    if (secure) {
        refused.reason = ANNOT_REFUSAL_SECURE_EXEC;
        return;
    }
    void *page =
        mmap(NULL, ANNOT_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || madvise(page, ANNOT_PAGE_SIZE, MADV_WIPEONFORK) != 0 ||
        strings_setup() != 0) {
        refused = (struct refusal){ANNOT_REFUSAL_SYSTEM, (uint16_t)errno, 0};
        return;
    }
    wiped = page;
    wiped->ready = 1;
    first_uid = geteuid();
    clock_select();
    session_setup();
    directory_setup(&refused);
    session_await(&refused);
}

/* The copy's own address distinguishes copies of the runtime that could not find each other. */
static uint64_t make_identity(uint32_t attempt)
{
    const void *random = (const void *)getauxval(AT_RANDOM);
    const void *copy = &wiped;
    uint64_t start = fork_time ? fork_time : proc_start_ticks();
    uint64_t hash = random ? proc_hash(PROC_HASH_START, random, 16) : PROC_HASH_START;
    uint64_t pid = (uint64_t)getpid();
    hash = proc_hash(hash, &start, sizeof(start));
    hash = proc_hash(hash, &copy, sizeof(copy));
    hash = proc_hash(hash, &pid, sizeof(pid)); /* forks before libannot was loaded: else equal */
    if (attempt)
        hash = proc_hash(hash, &attempt, sizeof(attempt));
    return hash ? hash : 1;
}

static struct segment *current_get(void)
{
    for (;;) {
        struct segment *segment = annot_load_acquire(&wiped->current); /* partner: replace */
        if (!segment)
            return NULL;
        if (!segment_get(segment))
            continue;
        if (annot_load_acquire(&wiped->current) == segment)
            return segment;
        segment_put(segment);
    }
}

/* Makes `next` the current one if `old` still is. Takes over the reference of `next`. */
static int replace(struct segment *old, struct segment *next)
{
    struct segment *expected = old;
    /* Partner: current_get. */
    if (!annot_cas_acq_rel(&wiped->current, &expected, next))
        return 0;
    if (old)
        segment_put(old);
    return 1;
}

/* Leaves, unless another thread has made a segment meanwhile: then that one counts. Both sides
 * write their word and then read the other's, so one of them sees both. */
static void take_no_part(uint64_t generation, struct segment *current)
{
    if (!replace(current, NULL))
        return;
    /* Partners: process_join; create_and_publish. */
    (void)__atomic_exchange_n(&wiped->off_generation, generation, __ATOMIC_SEQ_CST);
    if (annot_load_acquire(&wiped->current))
        annot_store_release(&wiped->off_generation, UINT64_C(0));
}

/* True if the session ended while the segment was made: then its collector may have made its last
 * scan already. If it ends after this, it finds the segment. */
static APART int is_too_late(int directory_fd, const struct session *session, uint64_t generation)
{
    struct session now = {0};
    struct refusal ignored;
    if (annot_gate_v1.generation == generation)
        return 0;
    return session_find(directory_fd, &now, &ignored) != 1 || now.id != session->id;
}

/* The same for all segments of the process: a range may end in a later segment than it began in. */
static void set_nonce(uint64_t identity)
{
    uint64_t unset = 0, nonce = identity >> RANGE_COUNTER_BITS << RANGE_COUNTER_BITS;
    /* Partner: itself. */
    annot_cas_acq_rel(&wiped->nonce, &unset, nonce ? nonce : UINT64_C(1) << RANGE_COUNTER_BITS);
}

/* Tries to make a segment for the session and to publish it. Returns 0, -EAGAIN (another thread was
 * faster) or negative errno. */
static APART int create_and_publish(int directory_fd, const struct session *session,
                                    uint64_t generation, struct segment *current)
{
    struct segment *made = NULL;
    struct identity identity = {
        .parent_hash = parent_identity,
        .fork_time = fork_time,
        .tls_offset = control_tls_offset(),
        .generation = generation,
    };
    struct session filtered = *session;
    uint32_t filter_next = filter_join(directory_fd, &filtered);
    int error = -EEXIST;
    for (int i = 0; i < CREATE_ATTEMPTS && error == -EEXIST; i++) {
        identity.hash = make_identity(annot_fetch_add_relaxed(&wiped->attempts, 1u));
        error = segment_create(directory_fd, &filtered, &identity, &made, &refused);
    }
    if (error)
        return error;
    set_nonce(identity.hash);
    made->first_range = annot_load_relaxed(&wiped->range_counter);
    strings_sync(made);
    made->filter_next = filter_next;
    filter_check(directory_fd, made, filtered.filter_sequence);
    annot_store_relaxed(&made->header->shared.process_name, annot_load_relaxed(&process_name));
    if (is_too_late(directory_fd, session, generation) || !replace(current, made)) {
        segment_discard(directory_fd, made, &identity);
        return -EAGAIN;
    }
    process_emit_numbers();
    if (annot_load_acquire(&wiped->off_generation) == generation) /* partner: take_no_part */
        annot_store_release(&wiped->off_generation, UINT64_C(0));
    last_identity = identity.hash;
    if (session->is_late)
        annot_store_relaxed(&late, 1u);
    refused.reason = ANNOT_REFUSAL_NONE;
    return 0;
}

/* Moves losses that the process counted before it had a place. */
static void move_to_place(uint64_t place, int cause)
{
    if (annot_load_relaxed(&wiped->lost[cause]))
        refusals_count(place, __atomic_exchange_n(&wiped->lost[cause], 0, __ATOMIC_RELAXED));
}

/* Reports that this process cannot take part and why, or ends the report. */
static APART void emit_refusal(int found, uint64_t session_id, uint64_t generation)
{
    uint64_t place = annot_load_acquire(&wiped->refused_place); /* partner: the exchange below */
    if (found >= 0) {
        if (refusals_is_place(place, generation))
            refusals_end(place, found);
        annot_store_relaxed(&wiped->refused_place, UINT64_C(0));
        return;
    }
    if (refused.reason == ANNOT_REFUSAL_NONE)
        refused = (struct refusal){ANNOT_REFUSAL_SYSTEM, (uint16_t)-found, 0};
    if (refused.reason == ANNOT_REFUSAL_DIR_OWNER && geteuid() != first_uid)
        refused = (struct refusal){ANNOT_REFUSAL_OTHER_UID, refused.error, geteuid()};
    place = refusals_note(place, &refused, session_id ? session_id : session_guess(), generation);
    /* Partner: process_lose. Each writes first and then reads the other's word. */
    (void)__atomic_exchange_n(&wiped->refused_place, place, __ATOMIC_SEQ_CST);
    for (int cause = 0; place && cause < ANNOT_LOSS_ALL; cause++)
        move_to_place(place, cause);
}

/* Delays the next attempt; another generation is tried at once. */
static void put_off(uint64_t generation)
{
    annot_store_relaxed(&wiped->retry_time, clock_now() + RETRY_TICKS);
    /* Partner: process_is_put_off. */
    annot_store_release(&wiped->retry_generation, generation);
}

/* Decides for a new generation: stay, leave, join. */
static APART void decide(uint64_t generation)
{
    struct session session = {0};
    struct segment *current = current_get();
    refused.reason = ANNOT_REFUSAL_NONE;
    int directory_fd = directory_open(&refused);
    int found = directory_fd < 0 ? directory_fd : session_find(directory_fd, &session, &refused);
    if (found == 1 && current && current->session_id == session.id) {
        annot_store_release(&current->valid_generation, generation); /* partner: process_join */
    } else if (found == 1) {
        int error = create_and_publish(directory_fd, &session, generation, current);
        if (error && error != -EAGAIN)
            found = error;
    }
    emit_refusal(found, session.id, generation);
    if (refusals_may_pass(-found))
        put_off(generation);
    else if (found <= 0)
        take_no_part(generation, current);
    if (directory_fd >= 0)
        close(directory_fd);
    if (current)
        segment_put(current);
    segment_unmap_inherited();
}

/* Returns 1 if the calling thread shall decide; else another one did or does. The wait is bounded:
 * a thread that was stopped in the middle must not delay the others; one of them takes over. The
 * pauses grow, so that a crowd of threads leaves the maker CPU time. */
static int decide_begin(void)
{
    struct timespec pause = {0, WAIT_NS};
    uint32_t maker = 0, self = (uint32_t)proc_tid();
    if (annot_cas_acq_rel(&wiped->creating, &maker, self)) /* partner: itself */
        return 1;
    for (int i = 0; i < WAIT_ROUNDS; i++) {
        nanosleep(&pause, NULL);
        if (annot_load_acquire(&wiped->creating) != maker) /* partner: decide_end */
            return 0;
        pause.tv_nsec = pause.tv_nsec < WAIT_MAX_NS / 2 ? 2 * pause.tv_nsec : WAIT_MAX_NS;
    }
    return annot_cas_acq_rel(&wiped->creating, &maker, self); /* partner: itself */
}

/* A thread that was replaced leaves `creating` to the other. */
static void decide_end(void)
{
    uint32_t self = (uint32_t)proc_tid();
    (void)annot_cas_acq_rel(&wiped->creating, &self, 0u); /* partner: decide_begin */
}

/* Opening files and waiting are cancellation points; events must not be. */
static APART void decide_once(uint64_t generation)
{
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    if (decide_begin()) {
        decide(generation);
        decide_end();
    }
    pthread_setcancelstate(cancel, &cancel);
}

struct segment *process_join(uint64_t generation)
{
    if (!wiped)
        return NULL;
    if (!wiped->ready) /* a child made without fork handlers */
        process_fork_child();
    for (int i = 0; i < JOIN_ATTEMPTS; i++) {
        if (annot_load_acquire(&wiped->off_generation) == generation) /* partner: take_no_part */
            return NULL;
        if (process_is_put_off())
            return NULL;
        struct segment *segment = current_get();
        /* Partner: decide. */
        if (segment && annot_load_acquire(&segment->valid_generation) == generation)
            return segment;
        if (segment)
            segment_put(segment);
        decide_once(generation);
    }
    return NULL;
}

int process_is_put_off(void)
{
    /* Partner: put_off. */
    return wiped && annot_load_acquire(&wiped->retry_generation) == annot_gate_v1.generation &&
           clock_now() < annot_load_relaxed(&wiped->retry_time);
}

int process_takes_no_part(uint64_t generation)
{
    /* Partner: take_no_part. */
    return !wiped || annot_load_acquire(&wiped->off_generation) == generation;
}

int process_may_join(uint64_t generation)
{
    return wiped && wiped->ready && !process_takes_no_part(generation) && !process_is_put_off();
}

int process_is_late(void)
{
    return annot_load_relaxed(&late) != 0;
}

uint64_t process_nonce(void)
{
    return wiped ? annot_load_relaxed(&wiped->nonce) : 0;
}

uint64_t process_take_ranges(uint64_t count)
{
    return annot_fetch_add_relaxed(&wiped->range_counter, count) + 1;
}

/* Random in 64 bits, so that two processes hardly ever collide. */
static APART uint64_t make_id_base(void)
{
    const void *random = (const void *)getauxval(AT_RANDOM);
    const uint64_t facts[] = {(uint64_t)getpid(), clock_now(), fork_time, (uintptr_t)&facts};
    uint64_t hash = random ? proc_hash(PROC_HASH_START, random, 16) : PROC_HASH_START;
    uint64_t base = mix(proc_hash(hash, facts, sizeof(facts))) & ~(uint64_t)(PROCESS_ID_BATCH - 1);
    return base >> RANGE_COUNTER_BITS ? base : base | UINT64_C(1) << RANGE_COUNTER_BITS;
}

uint64_t process_take_ids(void)
{
    const uint64_t low = (UINT64_C(1) << RANGE_COUNTER_BITS) - 1;
    if (!wiped)
        return 0;
    uint64_t base = annot_load_relaxed(&wiped->id_base);
    if (base == 0) {
        uint64_t made = make_id_base();
        if (annot_cas_acq_rel(&wiped->id_base, &base, made)) /* partner: itself */
            base = made;
    }
    uint64_t counter = annot_fetch_add_relaxed(&wiped->id_counter, (uint64_t)PROCESS_ID_BATCH);
    return (base & ~low) | ((base + counter) & low);
}

void process_lose(enum annot_loss cause)
{
    if (!wiped)
        return;
    /* Partner: emit_refusal. */
    __atomic_fetch_add(&wiped->lost[cause], 1, __ATOMIC_SEQ_CST);
    uint64_t place = __atomic_load_n(&wiped->refused_place, __ATOMIC_SEQ_CST);
    if (refusals_is_place(place, annot_gate_v1.generation))
        move_to_place(place, cause);
}

void process_miss(void)
{
    uint64_t place = wiped ? annot_load_relaxed(&wiped->refused_place) : 0;
    if (refusals_is_place(place, annot_gate_v1.generation))
        refusals_count(place, 1);
}

static void move_count(uint64_t *from, uint64_t *to)
{
    if (annot_load_relaxed(from))
        annot_fetch_add_relaxed(to, __atomic_exchange_n(from, 0, __ATOMIC_RELAXED));
}

void process_flush(struct segment *segment)
{
    struct annot_shared *shared = &segment->header->shared;
    for (int cause = 0; cause < ANNOT_LOSS_ALL; cause++)
        move_count(&wiped->lost[cause], &shared->lost[cause]);
    move_count(&wiped->names_left, &shared->misuse[ANNOT_MISUSE_NAME_LEFT]);
}

/* Without joining, which is for threads that write. */
static void flush_current(void)
{
    uint64_t before = proc_block_signals(); /* a handler that forks would lose the segment */
    struct segment *segment = current_get();
    if (segment) {
        process_flush(segment);
        segment_put(segment);
    }
    proc_restore_signals(before);
}

void process_lose_now(enum annot_loss cause)
{
    process_lose(cause);
    if (wiped)
        flush_current();
}

void process_leave_name(void)
{
    if (!wiped)
        return;
    annot_fetch_add_relaxed(&wiped->names_left, UINT64_C(1));
    flush_current();
}

uint32_t process_intern(const struct string_key *key)
{
    uint32_t id = strings_intern(key);
    if (id == 0)
        process_leave_name();
    return id;
}

void process_misuse(struct segment *segment, enum annot_misuse misuse)
{
    annot_fetch_add_relaxed(&segment->header->shared.misuse[misuse], UINT64_C(1));
}

void process_set_name(uint32_t name)
{
    annot_store_relaxed(&process_name, name);
    uint64_t before = proc_block_signals(); /* a handler that forks would lose the segment */
    struct segment *segment = wiped ? current_get() : NULL;
    if (segment) {
        if (strings_sync_one(segment, name))
            /* Partner: the collector's acquire load. */
            annot_store_release(&segment->header->shared.process_name, name);
        segment_put(segment);
    }
    proc_restore_signals(before);
}

void process_emit_string(uint32_t id)
{
    uint64_t before = proc_block_signals(); /* a handler that forks would lose the segment */
    struct segment *segment = wiped ? current_get() : NULL;
    if (segment) {
        strings_sync_one(segment, id);
        segment_put(segment);
    }
    proc_restore_signals(before);
}

void process_emit_numbers(void)
{
    int cancel, error = errno;
    struct segment *segment = wiped ? annot_load_acquire(&wiped->current) : NULL;
    /* Partner: the swap in filter_numbers. Descriptors of segments are never unmapped. */
    if (!segment || strings_last_number() < annot_load_acquire(&segment->filter_next))
        return;
    uint64_t before = proc_block_signals(); /* a handler that forks would lose the segment */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    segment = current_get();
    if (segment) {
        strings_sync(segment); /* first: the collector updates masks for strings in it */
        filter_numbers(segment);
        segment_put(segment);
    }
    pthread_setcancelstate(cancel, &cancel);
    proc_restore_signals(before);
    errno = error;
}

void process_emit_losses(uint64_t generation)
{
    uint64_t before = proc_block_signals();
    struct segment *segment = process_join(generation);
    if (segment) {
        process_flush(segment);
        segment_put(segment);
    }
    proc_restore_signals(before);
}

void process_let_go(void)
{
    if (!wiped || annot_gate_v1.generation != 0)
        return;
    struct segment *segment = current_get();
    if (!segment)
        return;
    (void)replace(segment, NULL); /* unless another thread was faster */
    segment_put(segment);
}

void process_fork_child(void)
{
    if (!wiped || wiped->ready)
        return;
    proc_forked();
    fork_time = clock_now();
    if (last_identity)
        parent_identity = last_identity;
    last_identity = 0;
    wiped->creating = 0;
    struct control *control = annot_control != &control_dummy ? control_take() : NULL;
    int interrupted = control && control->keep->is_interrupted;
    segment_forget_all(interrupted ? control->keep->interrupted.segment : NULL);
    strings_after_fork();
    if (interrupted)
        control_restore(control);
    wiped->ready = 1;
}

void process_exit(void)
{
    struct segment *segment = wiped ? current_get() : NULL;
    if (!segment)
        return;
    process_flush(segment);
    annot_store_relaxed(&segment->header->shared.exit_time, clock_now());
    /* Partner: the collector's acquire load. */
    annot_store_release(&segment->header->shared.exit_state, (uint32_t)ANNOT_EXIT_ORDERLY);
    segment_put(segment);
}

const char *process_status(void)
{
    uint64_t gate = annot_gate_v1.generation;
    struct segment *segment = gate != 0 ? process_join(gate) : NULL;
    if (!segment)
        return refusals_text(refused.reason);
    segment_put(segment);
    return "recording";
}
