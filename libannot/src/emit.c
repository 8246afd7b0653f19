/* SPDX-License-Identifier: MIT */
/* The general way of an event: see emit.h.
 *
 * enter (join, register, or notice a signal handler) -> BUSY -> range stack, names, room, record,
 * commit -> ready. Calls that pass the mask are either a record or counted as lost, exactly. */
#include "emit.h"

#include "levels.h"
#include "proc.h"
#include "process.h"
#include "record.h"
#include "stream.h"
#include "strings.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

/* Events are marked near the entry of a public function. An event whose own frame stands lower than
 * the mark by more than the frames of two public functions differ is a handler's; else the marked
 * event was left by siglongjmp. */
enum { STALE_MARGIN = 192, STALE_LIMIT = 8 << 20, RANGE_BATCH = 1024 };

enum { KEYS_WITHOUT_MEMORY = 32 }; /* glibc keeps so many values in the thread itself */

/* Stack address of the thread's join in progress, or 0: guards what has no BUSY mark yet. */
static __thread uintptr_t joining __attribute__((tls_model("initial-exec")));

static pthread_key_t exit_key;
static int exit_key_made;

/* For a later key the C library allocates memory at the thread's first event, which may be in a
 * signal handler. Without a key, dead threads are found when blocks or records run out. */
void emit_setup(void)
{
    if (pthread_key_create(&exit_key, emit_thread_exit) != 0)
        return;
    exit_key_made = exit_key < KEYS_WITHOUT_MEMORY;
    if (!exit_key_made)
        pthread_key_delete(exit_key);
}

static int is_stale(uintptr_t marked, uintptr_t frame)
{
    stack_t stack;
    uintptr_t now = frame + STALE_MARGIN;
    if (now < marked || now - marked > STALE_LIMIT)
        return 0;
    return sigaltstack(NULL, &stack) == 0 && !(stack.ss_flags & SS_ONSTACK);
}

static int passes(const struct control *control, const struct emission *emission)
{
    if (!control->mask || emission->kind == ANNOT_REC_POP || emission->kind == ANNOT_REC_RANGE_END)
        return 1;
    /* Partner: the collector's stores; any order will do. */
    uint64_t mask = annot_load_relaxed(&control->mask[emission->level & (ANNOT_LEVELS - 1)]);
    return (mask >> (emission->category & 63) & 1) != 0;
}

/* ---- Signal handlers that met a commit of their own thread ----------------------------------- */

static void nested_lose(struct control *control, const struct emission *emission)
{
    if (emission->kind == ANNOT_REC_RANGE_END && emission->id == 0)
        return;
    if (control->segment && !control->shadow) {
        stream_lose(control, ANNOT_LOSS_INTERRUPTED);
        return;
    }
    process_lose(ANNOT_LOSS_INTERRUPTED);
    if (control->shadow) /* a child may live and end in the handler that made it */
        process_tell_losses(annot_gate_v1.generation);
}

/* Nothing can be recorded; the stack is put right by the next event that isn't interrupted. */
static void nested(struct control *control, struct emission *emission)
{
    int counts = passes(control, emission);
    if (emission->kind == ANNOT_REC_PUSH) {
        control->nested_bits = control->nested_bits << 1 | (uint64_t)counts;
        control->nested_depth++;
    } else if (emission->kind == ANNOT_REC_POP && control->nested_depth > 0) {
        counts = (control->nested_bits & 1) != 0;
        control->nested_bits >>= 1;
        control->nested_depth--;
    } else if (emission->kind == ANNOT_REC_POP) {
        control->nested_pops++;
    } else if (emission->kind == ANNOT_REC_RANGE_START && counts) {
        emission->id = process_nonce() | RANGE_DROPPED;
    }
    if (control->nested_depth || control->nested_pops)
        control->end = NULL; /* sends the next event here */
    if (counts)
        nested_lose(control, emission);
}

static void apply_nested(struct control *control)
{
    int counted;
    if (control->block)
        control->end = (uint8_t *)control->block + ANNOT_BLOCK_SIZE;
    for (; control->nested_pops > 0 && control->depth > 0; control->nested_pops--)
        if (levels_pop(control, &counted) == LEVEL_RECORDED)
            control->gap_pending = 1;
    control->nested_pops = 0;
    control->last_cause = ANNOT_LOSS_INTERRUPTED;
    for (; control->nested_depth > 0; control->nested_depth--) {
        uint32_t shift = control->nested_depth - 1;
        int counts = shift > 63 || (control->nested_bits >> shift & 1);
        levels_push(control, counts ? LEVEL_DROPPED : LEVEL_MASKED, 0, clock_now(), counts);
    }
}

/* The marked event was left by siglongjmp: takes back what it had begun. */
static void repair(struct control *control)
{
    control->generation = 0;
    if (!control->block)
        return;
    uint8_t *data = (uint8_t *)control->block + ANNOT_BLOCK_HEADER_SIZE;
    control->position = data + control->block->committed;
    control->gap_pending = 1; /* a new block states what is open */
    stream_lose(control, ANNOT_LOSS_INTERRUPTED);
}

/* ---- Joining --------------------------------------------------------------------------------- */

static struct control *take_control(void)
{
    struct control *control = control_take();
    if (control && exit_key_made && pthread_getspecific(exit_key) != control)
        pthread_setspecific(exit_key, control);
    return control;
}

static void leave(void)
{
    struct control *control = annot_control;
    if (control != &control_dummy && control->segment)
        stream_detach(control);
}

static struct control *join(uint64_t generation)
{
    struct segment *segment = process_join(generation);
    if (!segment) {
        leave();
        if (!process_takes_no_part(generation)) /* whoever makes the segment has not finished */
            process_lose(process_is_put_off() ? ANNOT_LOSS_NO_MEMORY : ANNOT_LOSS_INTERRUPTED);
        return NULL;
    }
    struct control *control = take_control();
    if (!control) {
        annot_fetch_add_relaxed(&segment->header->shared.lost[ANNOT_LOSS_THREAD_LIMIT],
                                UINT64_C(1));
        segment_put(segment);
        return NULL;
    }
    if (control->segment == segment) {
        segment_put(segment);
    } else {
        stream_detach(control);
        stream_attach(control, segment);
    }
    process_flush(segment);
    control->attached_generation = generation;
    annot_signal_fence();
    control->generation = generation;
    return control;
}

/* A handler that jumped out of a join would leave descriptors open: signals wait for the join. */
static struct control *join_undisturbed(uint64_t generation)
{
    sigset_t before;
    if (process_takes_no_part(generation)) {
        leave();
        return NULL;
    }
    if (process_is_put_off()) {
        process_lose(ANNOT_LOSS_NO_MEMORY);
        return NULL;
    }
    proc_block_signals(&before);
    struct control *control = join(generation);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return control;
}

/* The event that the fork interrupted has ended: from here on all is as after any fork. */
static void leave_shadow(struct control *control)
{
    sigset_t before;
    proc_block_signals(&before);
    apply_nested(control);
    control_save_stack(control);
    stream_detach(control);
    control_wipe(control);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Whether the event may go on: then the thread is joined and its control block not busy. */
static struct control *enter(struct emission *emission, uintptr_t frame)
{
    struct control *control = annot_control;
    uint64_t gate = annot_gate_v1.generation;
    if (gate == 0)
        return NULL;
    if (control != &control_dummy && IS_BUSY(control->generation)) {
        if (!is_stale(BUSY_STACK(control->generation), frame)) {
            nested(control, emission);
            return NULL;
        }
        repair(control);
    }
    if (control->shadow)
        leave_shadow(control);
    if (control->generation == gate && control->segment)
        return control;
    if (joining && !is_stale(joining, frame)) {
        process_lose(ANNOT_LOSS_INTERRUPTED);
        return NULL;
    }
    joining = frame;
    annot_signal_fence();
    control = join_undisturbed(gate);
    annot_signal_fence();
    joining = 0;
    return control;
}

/* As enter, and then marks the control block, unless a handler forked between the two: the child's
 * control block is a new one. */
static struct control *enter_busy(struct emission *emission, uintptr_t frame,
                                  uint64_t *ret_generation)
{
    struct control *control;
    while ((control = enter(emission, frame))) {
        *ret_generation = control->generation;
        control->generation = BUSY(frame);
        annot_signal_fence();
        if (control->segment && !control->shadow)
            return control;
        control->generation = 0;
        annot_signal_fence();
    }
    return NULL;
}

void emit_thread_exit(void *pointer)
{
    struct control *control = pointer;
    int error = errno;
    sigset_t before;
    proc_block_signals(&before);
    if (annot_control == control && control->owner != 0) {
        control->generation = BUSY(stack_pointer());
        annot_signal_fence();
        stream_detach(control);
        annot_control = &control_dummy;
        annot_signal_fence();
        control_give(control);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* A hash of length, beginning and end: good enough for a cache that compares the whole text. */
static uint32_t cache_slot(const char *text, size_t length)
{
    uint64_t first = 0, last = 0;
    if (length >= 8) {
        memcpy(&first, text, 8);
        memcpy(&last, text + length - 8, 8);
    } else if (length >= 4) {
        memcpy(&first, text, 4);
        memcpy(&last, text + length - 4, 4);
    } else if (length > 0) {
        first = (unsigned char)text[0];
        last = (uint64_t)(unsigned char)text[length / 2] << 8 | (unsigned char)text[length - 1];
    }
    uint64_t hash = (first ^ (last << 7 | last >> 57) ^ length) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 58);
}

_Static_assert(NAME_CACHE_SIZE == 1 << 6, "cache_slot gives six bits");

uint32_t emit_cached_name(struct control *control, const char *text)
{
    if (!text)
        return 0;
    size_t length = strlen(text);
    uint32_t id = control->keep->cache[cache_slot(text, length)];
    if (id == 0)
        return 0;
    const struct annot_string *string = strings_known(id);
    if (annot_load_relaxed(&string->length) == length &&
        memcmp(string_bytes(string), text, length) == 0)
        return id;
    return 0;
}

/* What a record says about its name. */
struct spelled {
    uint32_t id;       /* or 0: */
    const char *bytes; /* inline, */
    uint16_t length;
    uint8_t flags; /* enum annot_record_flags */
};

static void spell_inline(struct control *control, const struct string_key *key,
                         struct spelled *spelled)
{
    spelled->id = 0;
    spelled->bytes = key->bytes;
    spelled->length = key->length;
    spelled->flags =
        ANNOT_FLAG_NAME_INLINE | (key->flags & ANNOT_STRING_CUT ? ANNOT_FLAG_NAME_CUT : 0);
    process_misuse(control->segment, ANNOT_MISUSE_NAME_INLINE);
}

/* An id that is ready in the segment, or the text to put inline. */
static void spell_name(struct control *control, const struct emission *emission,
                       struct spelled *spelled)
{
    struct string_key key = {.length = 0};
    uint32_t id = emission->name;
    *spelled = (struct spelled){0};
    if (id == 0)
        id = emit_cached_name(control, emission->text);
    if (id == 0) {
        string_key_init(&key, emission->text, ANNOT_STRING_NAME);
        if (key.flags & ANNOT_STRING_CUT)
            process_misuse(control->segment, ANNOT_MISUSE_NAME_CUT);
        id = strings_intern(&key);
        if (id && key.bytes == emission->text && !key.flags)
            control->keep->cache[cache_slot(key.bytes, key.length)] = id;
    }
    if (id >= control->name_limit)
        control->name_limit = strings_sync(control->segment);
    if (id && (id < control->name_limit || strings_sync_one(control->segment, id))) {
        spelled->id = id;
        return;
    }
    if (id) { /* in the mirror, but not in this segment */
        const struct annot_string *string = strings_get(id);
        key.bytes = string ? string_bytes(string) : "";
        key.length = string ? string->length : 0;
        key.flags = string ? string->flags : 0;
    }
    spell_inline(control, &key, spelled);
}

/* ---- Records --------------------------------------------------------------------------------- */

struct parts {
    struct spelled name;
    struct string_key string; /* payload */
    uint32_t granules;
    uint8_t flags;
};

static uint32_t granules_of(uint32_t bytes)
{
    return (bytes + ANNOT_GRANULE - 1) / ANNOT_GRANULE;
}

static void plan(struct control *control, const struct emission *emission, struct parts *parts)
{
    *parts = (struct parts){.granules = 1};
    if (emission->kind == ANNOT_REC_POP)
        parts->name.id = control->recorded - 1;
    else if (emission->kind != ANNOT_REC_RANGE_END)
        spell_name(control, emission, &parts->name);
    parts->flags = parts->name.flags;
    if (emission->value_kind || emission->domain || emission->category || emission->color) {
        parts->flags |= ANNOT_FLAG_ATTR;
        parts->granules++;
        control->name_limit = strings_sync(control->segment); /* domains are told there */
    }
    if (emission->id) {
        parts->flags |= ANNOT_FLAG_ID;
        parts->granules++;
    }
    parts->granules += granules_of(parts->name.length);
    if (emission->value_kind == ANNOT_VALUE_STRING) {
        string_key_init(&parts->string, emission->string, ANNOT_STRING_NAME);
        parts->flags |= ANNOT_FLAG_VALUE_STRING;
        if (parts->string.flags & ANNOT_STRING_CUT)
            parts->flags |= ANNOT_FLAG_VALUE_CUT;
        parts->granules += granules_of(parts->string.length);
    }
}

static int has_room(struct control *control, uint32_t size)
{
    if (control->block && !control->gap_pending &&
        (uint8_t *)control->block + ANNOT_BLOCK_SIZE - control->position >= (ptrdiff_t)size)
        return 1;
    stream_close(control);
    return stream_open(control);
}

static uint8_t *put_bytes(uint8_t *at, const char *bytes, uint32_t length)
{
    uint32_t padded = granules_of(length) * ANNOT_GRANULE;
    if (length == 0)
        return at;
    memset(at + padded - ANNOT_GRANULE, 0, ANNOT_GRANULE);
    memcpy(at, bytes, length);
    return at + padded;
}

static void write_record(struct control *control, const struct emission *emission,
                         const struct parts *parts, uint64_t time)
{
    uint8_t *at = control->position;
    uint32_t level = emission->level | (uint32_t)emission->value_kind << 3 |
                     (emission->color ? ANNOT_RECORD_HAS_COLOR : 0);
    uint32_t name = parts->flags & ANNOT_FLAG_NAME_INLINE ? parts->name.length : parts->name.id;
    record_base(at, time, record_head(emission->kind, parts->granules, parts->flags, level), name);
    at += sizeof(struct annot_record);
    if (parts->flags & ANNOT_FLAG_ATTR) {
        const struct annot_attr attr = {
            .value =
                parts->flags & ANNOT_FLAG_VALUE_STRING ? parts->string.length : emission->value,
            .color = emission->color,
            .domain = emission->domain,
            .category = emission->category,
        };
        memcpy(at, &attr, sizeof(attr));
        at += sizeof(attr);
    }
    if (parts->flags & ANNOT_FLAG_ID) {
        const struct annot_id id = {.id = emission->id};
        memcpy(at, &id, sizeof(id));
        at += sizeof(id);
    }
    at = put_bytes(at, parts->name.bytes, parts->name.length);
    put_bytes(at, parts->string.bytes, parts->string.length);
    record_commit(control, parts->granules * ANNOT_GRANULE);
}

/* Returns the time of the record, or 0: it is lost and counted. */
static uint64_t record(struct control *control, const struct emission *emission, uint32_t *ret_name)
{
    struct parts parts;
    plan(control, emission, &parts);
    if (ret_name)
        *ret_name = parts.name.id;
    if (!control->thread || !has_room(control, parts.granules * ANNOT_GRANULE)) {
        stream_lose(control, (enum annot_loss)control->last_cause);
        return 0;
    }
    uint64_t time = clock_now();
    write_record(control, emission, &parts, time);
    return time;
}

/* ---- Kinds ----------------------------------------------------------------------------------- */

static void do_push(struct control *control, struct emission *emission)
{
    uint32_t name = 0;
    if (!passes(control, emission)) {
        levels_push(control, LEVEL_MASKED, 0, 0, 0);
    } else if (!levels_can_record(control)) {
        stream_lose(control, (enum annot_loss)control->last_cause);
        levels_push(control, LEVEL_DROPPED, 0, 0, 1);
    } else {
        uint64_t time = record(control, emission, &name);
        levels_push(control, time ? LEVEL_RECORDED : LEVEL_DROPPED, name, time ? time : clock_now(),
                    1);
    }
}

static void do_pop(struct control *control, struct emission *emission)
{
    int counted = 0;
    if (control->depth == 0) {
        process_misuse(control->segment, ANNOT_MISUSE_POP_EMPTY);
        return;
    }
    uint32_t level = control->depth - 1;
    int is_recorded = control->deep_suppressed == 0 &&
                      (level >= LEVELS_KEPT || control->levels[level] == LEVEL_RECORDED);
    if (is_recorded)
        record(control, emission, NULL); /* lost or not: the range is closed */
    else if (levels_pop(control, &counted) == LEVEL_DROPPED && counted)
        stream_lose(control, (enum annot_loss)control->last_cause);
    if (is_recorded)
        levels_pop(control, &counted);
}

static uint64_t take_range(struct control *control)
{
    if (control->range_next == control->range_end) {
        control->range_next = process_take_ranges(RANGE_BATCH);
        control->range_end = control->range_next + RANGE_BATCH;
    }
    return process_nonce() | (control->range_next++ & (RANGE_DROPPED - 1));
}

static void do_start(struct control *control, struct emission *emission)
{
    emission->id = 0;
    if (!passes(control, emission))
        return;
    emission->id = take_range(control);
    if (record(control, emission, NULL) == 0)
        emission->id |= RANGE_DROPPED;
}

static void do_end(struct control *control, const struct emission *emission)
{
    const uint64_t counter = (UINT64_C(1) << RANGE_COUNTER_BITS) - 1;
    if ((emission->id & ~counter) != process_nonce())
        process_misuse(control->segment, ANNOT_MISUSE_END_FOREIGN);
    else if (emission->id & RANGE_DROPPED)
        stream_lose(control, (enum annot_loss)control->last_cause);
    else
        record(control, emission, NULL);
}

/* A counter's value is an int64 or a double; what is no number counts as 0. */
static void make_number(struct emission *emission)
{
    if (emission->value_kind == ANNOT_VALUE_UINT64 && emission->value > INT64_MAX) {
        double value = (double)emission->value;
        memcpy(&emission->value, &value, sizeof(value));
        emission->value_kind = ANNOT_VALUE_DOUBLE;
    }
    if (emission->value_kind == ANNOT_VALUE_NONE || emission->value_kind == ANNOT_VALUE_STRING)
        emission->value = 0;
    if (emission->value_kind != ANNOT_VALUE_DOUBLE)
        emission->value_kind = ANNOT_VALUE_INT64;
}

static void dispatch(struct control *control, struct emission *emission)
{
    emission->level &= ANNOT_LEVELS - 1;
    if (emission->value_kind > ANNOT_VALUE_STRING)
        emission->value_kind = ANNOT_VALUE_NONE;
    if (emission->kind == ANNOT_REC_COUNTER)
        make_number(emission);
    if (emission->kind == ANNOT_REC_PUSH)
        do_push(control, emission);
    else if (emission->kind == ANNOT_REC_POP)
        do_pop(control, emission);
    else if (emission->kind == ANNOT_REC_RANGE_START)
        do_start(control, emission);
    else if (emission->kind == ANNOT_REC_RANGE_END)
        do_end(control, emission);
    else if (passes(control, emission))
        record(control, emission, NULL);
}

void emit_name_thread(uint32_t name)
{
    int error = errno;
    sigset_t before;
    proc_block_signals(&before); /* a handler that forks or joins would change all this */
    struct control *control = annot_control;
    if (control == &control_dummy || !IS_BUSY(control->generation))
        control = take_control();
    if (control)
        control->keep->name = name;
    if (control && control->thread && strings_sync_one(control->segment, name)) {
        /* Partner: the collector's loads; the name follows the thread. */
        annot_store_release(&control->thread->name, name);
        if (control->block)
            annot_store_release(&control->block->thread_name, name);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
}

__attribute__((noinline, cold)) void emit_general(struct emission *emission)
{
    int error = errno;
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    uint64_t generation;
    struct control *control = enter_busy(emission, frame, &generation);
    if (control) {
        if (control->nested_depth || control->nested_pops)
            apply_nested(control);
        stream_register(control);
        dispatch(control, emission);
        if (control->nested_depth || control->nested_pops || control->shadow)
            control->end = NULL;
        annot_signal_fence();
        control->generation = generation;
    }
    errno = error;
}
