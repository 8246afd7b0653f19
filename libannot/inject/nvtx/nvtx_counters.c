/* SPDX-License-Identifier: MIT */
/* Extension COUNTERS: counters and groups of them become annot's, with their unit.
 *
 * A group is a counter with a series for each of its entries. Samples with explicit times are spans
 * without length on a timeline of the counter, because annot's counters take the time of the call.
 * Differences are summed up. Threads: any. */
#include "nvtx.h"

#include "nvtx_extension.h"
#include "nvtx_line.h"
#include "nvtx_next.h"
#include "nvtx_times.h"

#include <annot/queues.h>
#include <annot_barrier.h>
#include <string.h>

enum { NAME_MAX_SIZE = 255 };

struct counter {
    struct nvtx_object object;
    annot_name name;
    const char *text; /* with the scope's name */
    uint64_t schema;
    uint64_t flags, scale, divisor; /* enum nvtx_counter_flag; 0: 1 */
    uint64_t time, scope;
    uint8_t has_time;
    uint8_t last_kind; /* enum annot_payload_kind; of the last sample. W: any thread */
    uint64_t last;     /* its bits */
};

/* ---- Registration ---------------------------------------------------------------------------- */

static const char *unit_of(const struct nvtx_semantics_counter *semantics)
{
    return semantics && semantics->unit && *semantics->unit ? semantics->unit : NULL;
}

static uint64_t hash_counter(const struct nvtx_counter_given *given,
                             const struct nvtx_semantics_counter *semantics)
{
    uint64_t hash = nvtx_hash_text(nvtx_hash(given->schema, given->scope), given->name);
    if (semantics) {
        hash = nvtx_hash(nvtx_hash(hash, semantics->flags), semantics->scale);
        hash = nvtx_hash_text(nvtx_hash(hash, semantics->divisor), semantics->unit);
    }
    return hash;
}

/* "SCOPE/NAME" if its scope is narrower than the process. */
static const char *full_name(annot_domain domain, const struct nvtx_counter_given *given)
{
    char name[NAME_MAX_SIZE + 1];
    const char *own = given->name ? given->name : "counter";
    const char *scope = given->scope >= NVTX_ID_STATIC ? nvtx_scope_name(domain, given->scope) : "";
    size_t length = strnlen(scope, NAME_MAX_SIZE / 2), more = strnlen(own, NAME_MAX_SIZE / 2);
    memcpy(name, scope, length);
    if (length)
        name[length++] = '/';
    memcpy(name + length, own, more);
    name[length + more] = 0;
    return nvtx_registry_text(name);
}

static uint64_t counter_register(annot_domain domain, const struct nvtx_counter_given *passed,
                                 uint64_t theirs)
{
    struct nvtx_object head = {.kind = NVTX_OBJECT_COUNTER, .domain = domain};
    struct nvtx_counter_given whole = {0};
    if (!passed || passed->size < offsetof(struct nvtx_counter_given, description))
        return 0;
    memcpy(&whole, passed, passed->size < sizeof(whole) ? passed->size : sizeof(whole));
    if (passed->size < sizeof(whole))
        whole.id = 0;
    if (passed->size < offsetof(struct nvtx_counter_given, id))
        whole.semantics = NULL;
    if (passed->size < offsetof(struct nvtx_counter_given, semantics))
        whole.scope = 0;
    const struct nvtx_semantics_counter *semantics =
        nvtx_semantics_of(whole.semantics, NVTX_SEMANTICS_COUNTER);
    const struct nvtx_semantics_number *time =
        nvtx_semantics_of(whole.semantics, NVTX_SEMANTICS_TIME);
    head.hash = hash_counter(&whole, semantics);
    int is_new = nvtx_registry_begin(&head, theirs, whole.id);
    if (is_new != 1)
        return is_new ? head.id : 0;
    struct counter *counter = nvtx_registry_memory(sizeof(*counter));
    if (!counter)
        return 0;
    counter->object = head;
    counter->text = full_name(domain, &whole);
    counter->name = annot_name_intern(counter->text);
    counter->schema = whole.schema;
    counter->scope = whole.scope;
    counter->has_time = time != NULL;
    counter->time = time ? time->number : 0;
    if (semantics) {
        counter->flags = semantics->flags;
        counter->scale = semantics->scale;
        counter->divisor = semantics->divisor;
    }
    if (unit_of(semantics))
        annot_counter_unit(domain, counter->text, unit_of(semantics));
    return nvtx_registry_enter(&counter->object);
}

/* ---- Values ---------------------------------------------------------------------------------- */

static double number_as_double(const struct annot_value *value)
{
    if (value->kind == ANNOT_PAYLOAD_DOUBLE)
        return value->value.float64;
    return value->kind == ANNOT_PAYLOAD_UINT64 ? (double)value->value.uint64
                                               : (double)value->value.int64;
}

/* Returns the largest number of an integer type. */
static double largest_of(annot_domain domain, uint64_t type)
{
    struct nvtx_layout layout = nvtx_layout_of(domain, type);
    double all = 1;
    for (uint64_t i = 0; i < layout.size && i < 8; i++)
        all *= 256;
    return layout.class == NVTX_CLASS_SIGNED ? all / 2 - 1 : all - 1;
}

/* Applies semantics to a number: a share of 1, or a multiple of its unit. */
static void apply(struct annot_value *value, uint64_t flags, const uint64_t scale[2],
                  double largest)
{
    double factor = 1;
    if (flags & NVTX_COUNTER_NORMALIZED && value->kind != ANNOT_PAYLOAD_DOUBLE && largest > 0)
        factor = 1 / largest;
    if (scale[0] > 0 && scale[1] > 0)
        factor *= (double)scale[0] / (double)scale[1];
    if (factor == 1)
        return;
    *value = annot_value_double(value->key, number_as_double(value) * factor);
}

/* A sum has the kind of its first number. */
static void add_to_last(struct counter *counter, struct annot_value *value)
{
    uint8_t kind = annot_load_relaxed(&counter->last_kind);
    if (kind == ANNOT_PAYLOAD_DOUBLE && value->kind != ANNOT_PAYLOAD_DOUBLE)
        *value = annot_value_double(value->key, number_as_double(value));
    else if (kind != ANNOT_PAYLOAD_NONE && kind != value->kind)
        *value = annot_value_int64(value->key, (int64_t)number_as_double(value));
    uint64_t last = annot_load_relaxed(&counter->last), sum;
    do {
        double real;
        sum = last + value->value.uint64;
        if (value->kind != ANNOT_PAYLOAD_DOUBLE)
            continue;
        memcpy(&real, &last, sizeof(real));
        real += value->value.float64;
        memcpy(&sum, &real, sizeof(sum));
    } while (!annot_cas_acq_rel(&counter->last, &last, sum)); /* partner: itself */
    value->value.uint64 = sum;
}

static void emit_value(struct counter *counter, struct annot_value *value)
{
    struct annot_event event = {.text = counter->text,
                                .name = counter->name,
                                .domain = counter->object.domain,
                                .payload_kind = value->kind};
    event.payload.uint64 = value->value.uint64;
    annot_counter_event(&event);
}

static void sample_number(struct counter *counter, struct annot_value *value)
{
    const uint64_t scale[2] = {counter->scale, counter->divisor};
    apply(value, counter->flags, scale, largest_of(counter->object.domain, counter->schema));
    if ((counter->flags & NVTX_COUNTER_VALUE_TYPES) == NVTX_COUNTER_DELTA)
        add_to_last(counter, value);
    else
        annot_store_relaxed(&counter->last, value->value.uint64);
    annot_store_relaxed(&counter->last_kind, value->kind);
    emit_value(counter, value);
}

/* Keeps the numbers of a group; other values are removed and reported once. */
static uint32_t numbers_of(struct counter *counter, struct nvtx_decoding *decoding)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < decoding->value_count; i++) {
        struct annot_value *value = &decoding->values[i];
        const struct nvtx_entry *entry = decoding->entries[i];
        if (!entry || value->kind < ANNOT_PAYLOAD_INT64 || value->kind > ANNOT_PAYLOAD_DOUBLE) {
            nvtx_emit_once(&counter->object, counter->text,
                           "not all of a counter's values are shown");
            continue;
        }
        const uint64_t scale[2] = {entry->scale, entry->divisor};
        annot_name key = value->key_name;
        apply(value, entry->counter_flags | counter->flags, scale,
              largest_of(counter->object.domain, entry->type));
        value->key_name = key;
        decoding->values[count++] = *value;
    }
    return count;
}

static void emit_group(struct counter *counter, struct nvtx_decoding *decoding)
{
    struct annot_event event = {.text = counter->text,
                                .name = counter->name,
                                .domain = counter->object.domain,
                                .values = decoding->values};
    event.value_count = numbers_of(counter, decoding);
    if (event.value_count)
        annot_counter_event(&event);
}

/* Returns the schema of a counter group, or NULL, and the layout of its samples. */
static const struct nvtx_schema *group_of(const struct counter *counter,
                                          struct nvtx_layout *ret_layout)
{
    *ret_layout = nvtx_layout_of(counter->object.domain, counter->schema);
    int is_group = ret_layout->class == NVTX_CLASS_GIVEN && ret_layout->type->type != 0;
    return is_group ? (const struct nvtx_schema *)ret_layout->type : NULL;
}

static void sample_int64(annot_domain domain, uint64_t id, int64_t number)
{
    struct counter *counter = nvtx_registry_find(NVTX_OBJECT_COUNTER, domain, id);
    struct annot_value value = annot_value_int64(NULL, number);
    if (counter)
        sample_number(counter, &value);
}

static void sample_float64(annot_domain domain, uint64_t id, double number)
{
    struct counter *counter = nvtx_registry_find(NVTX_OBJECT_COUNTER, domain, id);
    struct annot_value value = annot_value_double(NULL, number);
    if (counter)
        sample_number(counter, &value);
}

static void sample_no_value(annot_domain domain, uint64_t id, uint8_t reason)
{
    struct counter *counter = nvtx_registry_find(NVTX_OBJECT_COUNTER, domain, id);
    struct nvtx_layout layout;
    struct annot_value value = annot_value_int64(NULL, 0);
    if (!counter)
        return;
    if (reason == NVTX_VALUE_IS_UNCHANGED) {
        value.kind = annot_load_relaxed(&counter->last_kind);
        value.value.uint64 = annot_load_relaxed(&counter->last);
        if (value.kind != ANNOT_PAYLOAD_NONE)
            emit_value(counter, &value);
    } else if (reason != NVTX_VALUE_IS_ZERO) {
        nvtx_emit(domain, counter->text, "a counter's value is not available");
    } else if (!group_of(counter, &layout)) {
        sample_number(counter, &value);
    }
}

/* ---- Samples with explicit times ------------------------------------------------------------- */

static void emit_span(struct counter *counter, const struct nvtx_decoding *decoding,
                      const struct nvtx_stamp *at)
{
    annot_domain domain = counter->object.domain;
    uint64_t number = UINT64_C(3) << 62 | counter->object.number;
    struct nvtx_clock clock;
    struct annot_span span = {.name = counter->name,
                              .domain = domain,
                              .values = decoding->values,
                              .value_count = decoding->value_count};
    span.queue = annot_queue_create(ANNOT_QUEUE_QUEUE, number, 0, counter->text);
    if (nvtx_time_clock(domain, at->domain, counter->scope, &clock)) {
        span.clock = clock.clock;
        span.begin = span.end = nvtx_time_of(&clock, at->ticks);
    }
    annot_emit_spans(&span, 1);
}

/* `at`: its explicit time, or NULL. */
static void sample(struct counter *counter, struct nvtx_bytes bytes, const int64_t *at)
{
    struct nvtx_layout layout;
    struct annot_value value;
    const struct nvtx_schema *group = group_of(counter, &layout);
    const struct nvtx_blob_given blob = {counter->schema, bytes.size, bytes.at};
    if (!group && !at) {
        if (bytes.size >= layout.size && nvtx_number_of(counter->schema, &layout, bytes.at, &value))
            sample_number(counter, &value);
        else
            nvtx_emit_once(&counter->object, counter->text, "a counter's samples are no numbers");
        return;
    }
    struct nvtx_decoding *decoding = nvtx_decoding_take(counter->object.domain, &blob, 1);
    if (!decoding) {
        nvtx_emit_once(&counter->object, counter->text, "a sample that there was no room for");
        return;
    }
    decoding->is_deferred = 1;
    nvtx_decode(decoding);
    if (at)
        decoding->begin = (struct nvtx_stamp){*at, counter->has_time ? counter->time : 0, 1};
    if (decoding->begin.is_there)
        emit_span(counter, decoding, &decoding->begin);
    else
        emit_group(counter, decoding);
    nvtx_decoding_give(decoding);
}

static void sample_bytes(annot_domain domain, uint64_t id, const void *bytes, size_t size)
{
    struct counter *counter = nvtx_registry_find(NVTX_OBJECT_COUNTER, domain, id);
    if (counter && bytes)
        sample(counter, (struct nvtx_bytes){bytes, size}, NULL);
}

static void sample_batch(annot_domain domain, const struct nvtx_samples_given *batch)
{
    struct counter *counter =
        batch ? nvtx_registry_find(NVTX_OBJECT_COUNTER, domain, batch->counter) : NULL;
    if (!counter || !batch->samples)
        return;
    struct nvtx_layout layout = nvtx_layout_of(domain, counter->schema);
    size_t times = batch->times ? batch->times_size / sizeof(*batch->times) : 0;
    int is_interval = (batch->flags & NVTX_BATCH_INTERVALS) != 0;
    if (layout.size == 0 || (is_interval && times < 2)) {
        nvtx_emit_once(&counter->object, counter->text, "a batch of samples that makes no sense");
        return;
    }
    for (size_t i = 0; batch->size / layout.size > i; i++) {
        int64_t at = 0;
        if (is_interval)
            at = (int64_t)((uint64_t)batch->times[0] + i * (uint64_t)batch->times[1]);
        else if (i < times)
            at = batch->times[i];
        struct nvtx_bytes one = {(const uint8_t *)batch->samples + i * layout.size, layout.size};
        sample(counter, one, is_interval || i < times ? &at : NULL);
    }
}

/* ---- Slots ----------------------------------------------------------------------------------- */

enum slot { REGISTER = 0, INT64 = 1, FLOAT64 = 2, SAMPLE = 3, NO_VALUE = 4, BATCH = 5 };

#define NEXT(slot, type) NVTX_NEXT_EXTENSION(NVTX_EXTENSION_COUNTERS, slot, type)

static uint64_t call_register(nvtxDomainHandle_t domain, const struct nvtx_counter_given *given)
{
    typedef uint64_t call(nvtxDomainHandle_t, const struct nvtx_counter_given *);
    call *next = NEXT(REGISTER, call *);
    uint64_t theirs = next ? next(domain, given) : 0;
    uint64_t ours = counter_register(nvtx_domain_known(domain), given, theirs);
    return theirs ? theirs : ours;
}

#define SAMPLES(function, slot, ours, type)                                                        \
    static void function(nvtxDomainHandle_t domain, uint64_t counter, type value)                  \
    {                                                                                              \
        typedef void call(nvtxDomainHandle_t, uint64_t, type);                                     \
        call *next = NEXT(slot, call *);                                                           \
        if (next)                                                                                  \
            next(domain, counter, value);                                                          \
        if (annot_enabled())                                                                       \
            ours(nvtx_domain_known(domain), counter, value);                                       \
    }

SAMPLES(call_int64, INT64, sample_int64, int64_t)
SAMPLES(call_float64, FLOAT64, sample_float64, double)
SAMPLES(call_no_value, NO_VALUE, sample_no_value, uint8_t)

static void call_sample(nvtxDomainHandle_t domain, uint64_t counter, const void *bytes, size_t size)
{
    typedef void call(nvtxDomainHandle_t, uint64_t, const void *, size_t);
    call *next = NEXT(SAMPLE, call *);
    if (next)
        next(domain, counter, bytes, size);
    if (annot_enabled())
        sample_bytes(nvtx_domain_known(domain), counter, bytes, size);
}

static void call_batch(nvtxDomainHandle_t domain, const struct nvtx_samples_given *batch)
{
    typedef void call(nvtxDomainHandle_t, const struct nvtx_samples_given *);
    call *next = NEXT(BATCH, call *);
    if (next)
        next(domain, batch);
    if (annot_enabled())
        sample_batch(nvtx_domain_known(domain), batch);
}

static const intptr_t calls[] = {
    [REGISTER] = (intptr_t)call_register, [INT64] = (intptr_t)call_int64,
    [FLOAT64] = (intptr_t)call_float64,   [SAMPLE] = (intptr_t)call_sample,
    [NO_VALUE] = (intptr_t)call_no_value, [BATCH] = (intptr_t)call_batch,
};

const struct nvtx_extension_calls nvtx_counters_calls = {NVTX_EXTENSION_COUNTERS,
                                                         sizeof(calls) / sizeof(*calls), calls};
