/* SPDX-License-Identifier: MIT */
/* The public functions of annot.h: fast path, else the general one, else the copy of libannot that
 * serves.
 *
 * Threads, errors and cost: see annot.h. A copy that does not serve has no joined threads, so its
 * fast path always fails and costs the serving copy's users nothing. */
#include "api.h"

#include "fast.h"
#include "fast_event.h"
#include "named.h"
#include "proc.h"
#include "process.h"
#include "spell.h"
#include "strings.h"

#include <errno.h>
#include <string.h>

static uint64_t double_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* ---- Names ----------------------------------------------------------------------------------- */

const char *annot_status(void)
{
    FORWARD_VALUE(status, "another copy of libannot serves");
    int error = errno;
    const char *text = process_status();
    errno = error;
    return text;
}

uint32_t intern_or_tell(const struct string_key *key)
{
    uint32_t id = strings_intern(key);
    if (id == 0)
        process_leave_name();
    return id;
}

annot_name annot_name_intern(const char *text)
{
    struct string_key key;
    FORWARD_VALUE(name_intern, 0, text);
    string_key_init(&key, text, ANNOT_STRING_NAME);
    return intern_or_tell(&key);
}

static APART uint16_t intern_numbered(const char *name, enum annot_string_kind kind,
                                      uint16_t parent)
{
    struct string_key key;
    string_key_init(&key, name, kind);
    key.parent = parent;
    return strings_number(intern_or_tell(&key));
}

annot_domain annot_domain_create(const char *name)
{
    FORWARD_VALUE(domain_create, 0, name);
    uint16_t number = intern_numbered(name, ANNOT_STRING_DOMAIN, 0);
    process_tell_numbers();
    return number;
}

annot_category annot_category_create(annot_domain domain, const char *name)
{
    FORWARD_VALUE(category_create, 0, domain, name);
    uint16_t number = intern_numbered(name, ANNOT_STRING_CATEGORY, domain);
    process_tell_numbers();
    return number;
}

void annot_name_process(const char *name)
{
    FORWARD(name_process, name);
    int error = errno;
    process_set_name(annot_name_intern(name));
    errno = error;
}

void annot_name_thread(const char *name)
{
    FORWARD(name_thread, name);
    emit_name_thread(annot_name_intern(name));
}

void annot_name_thread_of(int tid, const char *name)
{
    FORWARD(name_thread_of, tid, name);
    int error = errno;
    struct emission emission = {.kind = ANNOT_REC_NAME_THREAD, .id = (uint64_t)tid};
    if (tid <= 0)
        return;
    emission.name = annot_name_intern(name);
    emission.text = name ? name : "(null)";
    if (annot_enabled())
        emit_general(&emission);
    named_keep(tid, emission.name); /* behind it, which may be what joins */
    errno = error;
}

/* ---- Ranges ---------------------------------------------------------------------------------- */

void emission_from(struct emission *emission, const struct annot_event *event, uint8_t kind)
{
    static const struct annot_event nothing;
    if (!event)
        event = &nothing;
    *emission = (struct emission){
        .kind = kind,
        .level = event->level,
        .value_kind = event->payload_kind,
        .domain = event->domain,
        .category = event->category,
        .color = event->color,
        .name = event->name,
        .text = event->text,
        .values = event->values,
        .value_count = event->value_count,
    };
    if (event->payload_kind == ANNOT_PAYLOAD_STRING)
        emission->string = event->payload.string;
    else if (event->payload_kind == ANNOT_PAYLOAD_BOOL)
        emission->value = event->payload.boolean != 0;
    else if (event->payload_kind != ANNOT_PAYLOAD_NONE)
        emission->value = event->payload.uint64;
}

static APART void general_event(uint8_t kind, const struct annot_event *event)
{
    struct emission emission;
    emission_from(&emission, event, kind);
    emit_general(&emission);
}

static APART void general_text(uint8_t kind, const char *text)
{
    struct emission emission = {.kind = kind, .text = text};
    emit_general(&emission);
}

static APART void general_name(uint8_t kind, annot_name name)
{
    struct emission emission = {.kind = kind, .name = name};
    emit_general(&emission);
}

/* Of what the first try leaves. */
static __attribute__((noinline)) void push_name_slowly(annot_name name)
{
    if (fast_push(annot_control, name))
        return;
    FORWARD(push_name, name);
    general_name(ANNOT_REC_PUSH, name);
}

HOT void annot_emit_push_name(annot_name name)
{
    if (__builtin_expect(quick_push(annot_control, name), 1))
        return;
    push_name_slowly(name);
}

/* `name`: as the thread's cache has it, or 0. */
static __attribute__((noinline)) void push_slowly(const char *text, annot_name name)
{
    if (name && fast_push(annot_control, name))
        return;
    FORWARD(push, text);
    general_text(ANNOT_REC_PUSH, text);
}

HOT void annot_emit_push(const char *text)
{
    struct control *control = annot_control;
    annot_name name = 0;
    if (__builtin_expect(is_ready(control), 1)) {
        name = spell_cached(control, text);
        if (__builtin_expect(name && quick_push(control, name), 1))
            return;
    }
    push_slowly(text, name);
}

void annot_emit_push_event(const struct annot_event *event)
{
    if (__builtin_expect(fast_event(annot_control, ANNOT_REC_PUSH, event, NULL), 1))
        return;
    FORWARD(push_event, event);
    general_event(ANNOT_REC_PUSH, event);
}

static __attribute__((noinline)) void pop_slowly(void)
{
    if (fast_pop(annot_control))
        return;
    FORWARD(pop);
    general_name(ANNOT_REC_POP, 0);
}

HOT void annot_emit_pop(void)
{
    if (__builtin_expect(quick_pop(annot_control), 1))
        return;
    pop_slowly();
}

annot_range annot_emit_start(const char *text)
{
    FORWARD_VALUE(start, 0, text);
    struct emission emission = {.kind = ANNOT_REC_RANGE_START, .text = text};
    emit_general(&emission);
    return emission.id;
}

annot_range annot_emit_start_event(const struct annot_event *event)
{
    struct emission emission;
    FORWARD_VALUE(start_event, 0, event);
    emission_from(&emission, event, ANNOT_REC_RANGE_START);
    emit_general(&emission);
    return emission.id;
}

void annot_emit_end(annot_range range)
{
    FORWARD(end, range);
    struct emission emission = {.kind = ANNOT_REC_RANGE_END, .id = range};
    if (range)
        emit_general(&emission);
}

/* ---- Marks and counters ---------------------------------------------------------------------- */

void annot_emit_mark_name(annot_name name)
{
    if (__builtin_expect(fast_mark(annot_control, name), 1))
        return;
    FORWARD(mark_name, name);
    general_name(ANNOT_REC_MARK, name);
}

void annot_emit_mark(const char *text)
{
    struct control *control = annot_control;
    if (__builtin_expect(is_ready(control), 1)) {
        annot_name name = spell_cached(control, text);
        if (__builtin_expect(name && fast_mark(control, name), 1))
            return;
    }
    FORWARD(mark, text);
    general_text(ANNOT_REC_MARK, text);
}

void annot_emit_mark_event(const struct annot_event *event)
{
    if (__builtin_expect(fast_event(annot_control, ANNOT_REC_MARK, event, NULL), 1))
        return;
    FORWARD(mark_event, event);
    general_event(ANNOT_REC_MARK, event);
}

static APART void general_counter(annot_name name, const char *text, uint64_t bits, uint8_t kind)
{
    struct emission emission = {
        .kind = ANNOT_REC_COUNTER, .name = name, .text = text, .value = bits, .value_kind = kind};
    emit_general(&emission);
}

void annot_emit_counter_name(annot_name name, double value)
{
    if (__builtin_expect(fast_counter(annot_control, name, double_bits(value), ANNOT_VALUE_DOUBLE),
                         1))
        return;
    FORWARD(counter_name, name, value);
    general_counter(name, NULL, double_bits(value), ANNOT_VALUE_DOUBLE);
}

void annot_emit_counter_int(annot_name name, int64_t value)
{
    if (__builtin_expect(fast_counter(annot_control, name, (uint64_t)value, ANNOT_VALUE_INT64), 1))
        return;
    FORWARD(counter_int, name, value);
    general_counter(name, NULL, (uint64_t)value, ANNOT_VALUE_INT64);
}

void annot_emit_counter(const char *text, double value)
{
    struct control *control = annot_control;
    if (__builtin_expect(is_ready(control), 1)) {
        annot_name name = spell_cached(control, text);
        if (name && fast_counter(control, name, double_bits(value), ANNOT_VALUE_DOUBLE))
            return;
    }
    FORWARD(counter, text, value);
    general_counter(0, text, double_bits(value), ANNOT_VALUE_DOUBLE);
}

static int is_plain_number(const struct annot_event *event)
{
    return event && !event->value_count &&
           (event->payload_kind == ANNOT_PAYLOAD_INT64 ||
            event->payload_kind == ANNOT_PAYLOAD_DOUBLE);
}

void annot_emit_counter_event(const struct annot_event *event)
{
    if (__builtin_expect(is_plain_number(event), 1) &&
        __builtin_expect(fast_event(annot_control, ANNOT_REC_COUNTER, event, NULL), 1))
        return;
    FORWARD(counter_event, event);
    int is_group = event && event->value_count && event->payload_kind == ANNOT_PAYLOAD_NONE;
    general_event(is_group ? ANNOT_REC_COUNTER_GROUP : ANNOT_REC_COUNTER, event);
}

/* ---- For later copies ------------------------------------------------------------------------ */

OWN(annot_status);
OWN(annot_name_intern);
OWN(annot_domain_create);
OWN(annot_category_create);
OWN(annot_name_process);
OWN(annot_name_thread);
OWN(annot_name_thread_of);
OWN(annot_emit_push);
OWN(annot_emit_push_name);
OWN(annot_emit_push_event);
OWN(annot_emit_pop);
OWN(annot_emit_start);
OWN(annot_emit_start_event);
OWN(annot_emit_end);
OWN(annot_emit_mark);
OWN(annot_emit_mark_name);
OWN(annot_emit_mark_event);
OWN(annot_emit_counter);
OWN(annot_emit_counter_name);
OWN(annot_emit_counter_int);
OWN(annot_emit_counter_event);
