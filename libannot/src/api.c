/* SPDX-License-Identifier: MIT */
/* The public functions of annot.h and values.h, and the events of observers.h: fast path, else the
 * general one, else the serving copy of libannot.
 *
 * Threads, errors and cost: see annot.h. A copy that does not serve has no joined threads, so its
 * fast path always fails and costs the serving copy's users nothing. */
#include "api.h"

#include "fast.h"
#include "proc.h"
#include "process.h"
#include "spell.h"
#include "strings.h"
#include "thread_names.h"

#include <annot/observers.h>
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

annot_name annot_name_intern(const char *text)
{
    struct string_key key;
    FORWARD_VALUE(name_intern, 0, text);
    string_key_init(&key, text, ANNOT_STRING_NAME);
    return process_intern(&key);
}

static APART uint16_t intern_numbered(const char *name, enum annot_string_kind kind,
                                      uint16_t parent)
{
    struct string_key key;
    string_key_init(&key, name, kind);
    key.parent = parent;
    return strings_number(process_intern(&key));
}

annot_domain annot_domain_create(const char *name)
{
    FORWARD_VALUE(domain_create, 0, name);
    uint16_t number = intern_numbered(name, ANNOT_STRING_DOMAIN, 0);
    process_emit_numbers();
    return number;
}

annot_category annot_category_create(annot_domain domain, const char *name)
{
    FORWARD_VALUE(category_create, 0, domain, name);
    uint16_t number = intern_numbered(name, ANNOT_STRING_CATEGORY, domain);
    process_emit_numbers();
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
    thread_names_keep(tid, emission.name); /* after it, because it may be the event that joins */
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

/* Second try after quick_push. */
static HOT __attribute__((noinline)) void push_name_slowly(annot_name name)
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

/* `name`: from the thread's cache, or 0. */
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

static HOT __attribute__((noinline)) void pop_slowly(void)
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

/* ---- Ranges and marks with a name and a domain ----------------------------------------------- */

/* Second try, or forwarding. A copy without these functions has events. */
static __attribute__((noinline)) void push_in_slowly(const struct annot_event *event)
{
    if (runtime_other && RUNTIME_HAS(push_in))
        runtime_other->push_in(event->domain, event->name, event->text);
    else
        annot_emit_push_event(event);
}

static __attribute__((noinline)) void mark_in_slowly(const struct annot_event *event)
{
    if (runtime_other && RUNTIME_HAS(mark_in))
        runtime_other->mark_in(event->domain, event->name, event->text);
    else
        annot_emit_mark_event(event);
}

/* Returns 0 if the thread does not have it yet. */
static FAST annot_name known(struct control *control, annot_name name, const char *text)
{
    if (__builtin_expect(name != 0, 1) || !is_ready(control))
        return name;
    return spell_cached(control, text);
}

void annot_emit_push_in(annot_domain domain, annot_name name, const char *text)
{
    annot_name found = known(annot_control, name, text);
    if (__builtin_expect(found && fast_push_in(annot_control, domain, found), 1))
        return;
    const struct annot_event event = {.text = text, .name = name, .domain = domain};
    push_in_slowly(&event);
}

void annot_emit_mark_in(annot_domain domain, annot_name name, const char *text)
{
    annot_name found = known(annot_control, name, text);
    if (__builtin_expect(found && fast_mark_in(annot_control, domain, found), 1))
        return;
    const struct annot_event event = {.text = text, .name = name, .domain = domain};
    mark_in_slowly(&event);
}

/* ---- Observers ------------------------------------------------------------------------------- */

/* The number of an observer's domain or category belongs to a string that names the observer. That
 * string precedes the one with the name, so a reader of the name has seen it. */

static APART uint16_t number_of(char *text, const struct string_key *name, uint32_t who)
{
    struct string_key key;
    const char *end = text + ANNOT_STRING_MAX + 1;
    char *at = text_append_decimal(text, end, who >> 16);
    at = text_append(at, end, "\x1f");
    at = text_append_decimal(at, end, who & 0xffff);
    at = text_append(at, end, name->kind == ANNOT_STRING_DOMAIN ? "\x1f\x1f" : "\x1f");
    text_append(at, end, name->bytes);
    string_key_init(&key, text, ANNOT_STRING_OBSERVED);
    key.parent = name->parent;
    return strings_observe(&key, name);
}

static uint16_t observe(struct string_key *name, uint32_t who)
{
    char *scratch = scratch_take();
    uint16_t number = scratch ? number_of(scratch, name, who) : 0;
    scratch_give(scratch);
    if (number == 0)
        process_leave_name();
    process_emit_numbers();
    return number;
}

annot_domain annot_domain_observed(const char *name, uint16_t observer, uint16_t role)
{
    struct string_key key;
    if (runtime_other && !RUNTIME_HAS(domain_observed))
        return annot_domain_create(name);
    FORWARD_VALUE(domain_observed, 0, name, observer, role);
    string_key_init(&key, name, ANNOT_STRING_DOMAIN);
    return observe(&key, (uint32_t)observer << 16 | role);
}

annot_category annot_category_observed(annot_domain domain, const char *name, uint16_t observer,
                                       uint16_t role)
{
    struct string_key key;
    if (runtime_other && !RUNTIME_HAS(category_observed))
        return annot_category_create(domain, name);
    FORWARD_VALUE(category_observed, 0, domain, name, observer, role);
    string_key_init(&key, name, ANNOT_STRING_CATEGORY);
    key.parent = domain;
    return observe(&key, (uint32_t)observer << 16 | role);
}

void annot_emit_pop_empty(void)
{
    FORWARD(pop_empty);
    struct emission emission = {.kind = EMIT_POP_EMPTY};
    emit_general(&emission);
}

enum { SCHEMA_TEXT_MAX = 1000 };

/* ---- Schemas --------------------------------------------------------------------------------- */

static const uint8_t field_sizes[] = {
    [ANNOT_FIELD_INT8] = 1,
    [ANNOT_FIELD_INT16] = 2,
    [ANNOT_FIELD_INT32] = 4,
    [ANNOT_FIELD_INT64] = 8,
    [ANNOT_FIELD_UINT8] = 1,
    [ANNOT_FIELD_UINT16] = 2,
    [ANNOT_FIELD_UINT32] = 4,
    [ANNOT_FIELD_UINT64] = 8,
    [ANNOT_FIELD_FLOAT] = 4,
    [ANNOT_FIELD_DOUBLE] = 8,
    [ANNOT_FIELD_BOOL] = 1,
    [ANNOT_FIELD_CHARS] = 1,
    [ANNOT_FIELD_POINTER] = sizeof(void *),
};

static uint32_t field_count(const struct annot_field *field)
{
    return field->count ? field->count : 1;
}

static int field_is_inside(const struct annot_field *field, uint32_t size)
{
    if (field->kind < ANNOT_FIELD_INT8 || field->kind > ANNOT_FIELD_POINTER)
        return 0;
    return field->offset + (uint32_t)field_sizes[field->kind] * field_count(field) <= size;
}

static char *append_field(char *at, const char *end, const struct annot_field *field)
{
    at = text_append(at, end, "\x1e");
    at = text_append_clean(at, end, field->name);
    at = text_append(at, end, "\x1f");
    at = text_append_decimal(at, end, field->kind);
    at = text_append(at, end, "\x1f");
    at = text_append_decimal(at, end, field->offset);
    at = text_append(at, end, "\x1f");
    at = text_append_decimal(at, end, field_count(field));
    at = text_append(at, end, "\x1f");
    return field->unit ? text_append_clean(at, end, field->unit) : at;
}

struct schema {
    const char *name;
    const struct annot_field *fields;
    size_t count;
    uint32_t size;
};

static annot_schema intern_schema(char *text, const struct schema *schema)
{
    const struct annot_field *fields = schema->fields;
    const char *end = text + SCHEMA_TEXT_MAX + 2, *name = schema->name;
    size_t count = schema->count;
    uint32_t size = schema->size;
    struct string_key key;
    char *at = text_append_clean(text, end, name);
    at = text_append(at, end, "\x1f");
    at = text_append_decimal(at, end, size);
    for (size_t i = 0; fields && i < count && at < end - 1; i++) {
        if (!field_is_inside(&fields[i], size))
            return 0;
        at = append_field(at, end, &fields[i]);
    }
    if (at - text > SCHEMA_TEXT_MAX)
        return 0;
    string_key_init(&key, text, ANNOT_STRING_SCHEMA);
    return strings_number(process_intern(&key));
}

annot_schema annot_schema_create(const char *name, uint32_t size, const struct annot_field *fields,
                                 size_t count)
{
    FORWARD_VALUE(schema_create, 0, name, size, fields, count);
    const struct schema schema = {name, fields, count, size};
    char *scratch = scratch_take();
    annot_schema number = scratch ? intern_schema(scratch, &schema) : 0;
    scratch_give(scratch);
    return number;
}

/* ---- Counters of several values -------------------------------------------------------------- */

/* Returns 0 if the two are too long for a string. */
static uint32_t intern_unit(char *text, annot_domain domain, const char *counter, const char *unit)
{
    const char *end = text + ANNOT_STRING_MAX + 2;
    struct string_key key;
    char *at = text_append(text, end, counter ? counter : "(null)");
    at = text_append(at, end, "\x1f");
    at = text_append_clean(at, end, unit ? unit : "");
    if (at - text > ANNOT_STRING_MAX)
        return 0;
    string_key_init(&key, text, ANNOT_STRING_COUNTER_UNIT);
    key.number = domain;
    return process_intern(&key);
}

void annot_counter_unit(annot_domain domain, const char *counter, const char *unit)
{
    FORWARD(counter_unit, domain, counter, unit);
    int error = errno;
    char *scratch = scratch_take();
    uint32_t id = scratch ? intern_unit(scratch, domain, counter, unit) : 0;
    scratch_give(scratch);
    if (id)
        process_emit_string(id);
    errno = error;
}

static APART void general_counters(const char *text, const struct annot_value *values, size_t count)
{
    struct emission emission = {
        .kind = ANNOT_REC_COUNTER_GROUP, .text = text, .values = values, .value_count = count};
    emit_general(&emission);
}

void annot_emit_counters(const char *text, const struct annot_value *values, size_t count)
{
    struct control *control = annot_control;
    if (!values || !count)
        return;
    if (__builtin_expect(is_ready(control), 1)) {
        annot_name name = spell_cached(control, text);
        if (__builtin_expect(name && fast_counters(control, name, values, count), 1))
            return;
    }
    FORWARD(counters, text, values, count);
    general_counters(text, values, count);
}

/* ---- The end of a range -----------------------------------------------------------------------
 */

/* A copy without these functions still closes the range. */
void annot_emit_pop_values(const struct annot_value *values, size_t count)
{
    if (runtime_other && !RUNTIME_HAS(pop_values)) {
        runtime_other->pop();
        return;
    }
    FORWARD(pop_values, values, count);
    struct emission emission = {.kind = ANNOT_REC_POP, .values = values, .value_count = count};
    emit_general(&emission);
}

void annot_emit_end_values(annot_range range, const struct annot_value *values, size_t count)
{
    if (runtime_other && !RUNTIME_HAS(end_values)) {
        runtime_other->end(range);
        return;
    }
    FORWARD(end_values, range, values, count);
    struct emission emission = {
        .kind = ANNOT_REC_RANGE_END, .id = range, .values = values, .value_count = count};
    if (range)
        emit_general(&emission);
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
OWN(annot_emit_push_in);
OWN(annot_emit_mark_in);
OWN(annot_domain_observed);
OWN(annot_category_observed);
OWN(annot_emit_pop_empty);
OWN(annot_emit_pop_values);
OWN(annot_emit_end_values);
OWN(annot_schema_create);
OWN(annot_counter_unit);
OWN(annot_emit_counters);
