/* SPDX-License-Identifier: MIT */
/* Compares names of values with user input. Texts are untrusted. Thread-safety: none. */
#include "sample_weight.h"

#include "text.h"

#include <errno.h>
#include <string.h>

enum { NAME_SIZE = 16, LABEL_SIZE = 512 };

const char *sample_value_label(const struct trace *trace, unsigned set, unsigned index,
                               char *buffer, size_t size)
{
    char set_buffer[NAME_SIZE], value_buffer[NAME_SIZE];
    const struct sample_set *entry = sample_set_get(trace_sets_get(trace), set);
    const char *owner = trace_set_name(trace, set, set_buffer);
    const char *name =
        trace_value_name(trace, index < entry->count ? entry->types[index] : 0, value_buffer);
    size_t length = strlen(owner);
    bool repeats = strncmp(name, owner, length) == 0 && name[length] == '-' && name[length + 1];
    struct text text = text_init(buffer, size);
    text_format(&text, "%s", repeats ? name + length + 1 : name);
    return buffer;
}

static bool adds_up(const struct trace *trace, const struct sample_set *set, unsigned index)
{
    return value_type_get(trace_sets_get(trace), set->types[index])->sum != VALUE_SUM_LEVEL;
}

/* True if `value` is the short or the full name of the value. */
static bool is_value(const struct trace *trace, unsigned set, unsigned index, const char *value)
{
    char label[LABEL_SIZE], buffer[NAME_SIZE];
    const struct sample_set *entry = sample_set_get(trace_sets_get(trace), set);
    return strcmp(value, sample_value_label(trace, set, index, label, sizeof(label))) == 0 ||
           strcmp(value, trace_value_name(trace, entry->types[index], buffer)) == 0;
}

/* Returns the index of the value that the rest of a name refers to; -1: not found. */
static int value_index(const struct trace *trace, unsigned set, const char *rest)
{
    const struct sample_set *entry = sample_set_get(trace_sets_get(trace), set);
    if (!*rest)
        return entry->count > 0 ? 0 : -1;
    for (unsigned i = 0; *rest == ':' && i < entry->count; i++)
        if (is_value(trace, set, i, rest + 1))
            return (int)i;
    return -1;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static const char *const heap_names[] = {[HEAP_ALLOCATED] = "heap:allocated",
                                         [HEAP_HELD] = "heap:held",
                                         [HEAP_PEAK] = "heap:peak",
                                         [HEAP_TEMPORARY] = "heap:temporary"};

/* The first set of allocations; 0: not recorded. */
static unsigned heap_set(const struct trace *trace)
{
    const struct sample_sets *sets = trace_sets_get(trace);
    for (unsigned i = SAMPLE_SET_FIXED; i < sample_sets_count(sets); i++) {
        const struct sample_set *set = sample_set_get(sets, i);
        if (set->flags & SAMPLE_SET_HEAP && sample_set_index(set, VALUE_TYPE_ALLOC_BYTES) >= 0)
            return i;
    }
    return 0;
}

bool sample_heap_any(const struct trace *trace)
{
    return heap_set(trace) != 0;
}

static bool find_heap(const struct trace *trace, const char *name, struct sample_weight *ret_weight)
{
    unsigned set = heap_set(trace);
    for (unsigned i = HEAP_ALLOCATED; set && i <= HEAP_TEMPORARY; i++) {
        const struct sample_set *entry = sample_set_get(trace_sets_get(trace), set);
        if (strcmp(name, heap_names[i]) != 0)
            continue;
        *ret_weight = (struct sample_weight){
            .set = (uint16_t)set,
            .index = (uint8_t)sample_set_index(entry, VALUE_TYPE_ALLOC_BYTES),
            .heap = (uint8_t)i,
            .trace = trace};
        return true;
    }
    return false;
}

static int64_t temporary_bytes(const struct sample_sets *sets, const struct sample *sample)
{
    int lifetime = sample_set_index(sample_set_get(sets, sample->set), VALUE_TYPE_LIFETIME);
    bool soon = lifetime >= 0 && lifetime < sample->value_count &&
                sample->values[lifetime] <= HEAP_TEMPORARY_NS;
    return soon ? sample_value(sets, sample, VALUE_TYPE_FREE_BYTES) : 0;
}

/* Bytes that the sample adds to those held at at_ns, 0: at the end of its process. A process that
 * has ended before at_ns holds nothing. */
static int64_t held_bytes(const struct trace *trace, const struct sample *sample, int64_t at_ns)
{
    const struct sample_sets *sets = trace_sets_get(trace);
    const struct trace_thread *thread = trace_thread_get(trace, sample->thread);
    int64_t from_ns = trace_heap_window(trace)->from_ns;
    int64_t end_ns = at_ns && thread ? trace_process_get(trace, thread->process)->end_ns : 0;
    int64_t lifetime_ns = sample_value(sets, sample, VALUE_TYPE_LIFETIME);
    if ((at_ns && sample_order_ns(sample) > at_ns) || (end_ns > 0 && end_ns <= at_ns) ||
        sample_order_ns(sample) - lifetime_ns < from_ns)
        return 0;
    return sample_value(sets, sample, VALUE_TYPE_ALLOC_BYTES) -
           sample_value(sets, sample, VALUE_TYPE_FREE_BYTES);
}

int64_t sample_heap_weight(struct sample_weight weight, const struct sample *sample)
{
    const struct sample_sets *sets = trace_sets_get(weight.trace);
    const struct trace_heap_window *window = trace_heap_window(weight.trace);
    if (!(sample_set_get(sets, sample->set)->flags & SAMPLE_SET_HEAP))
        return 0;
    switch (weight.heap) {
    case HEAP_HELD:
        return held_bytes(weight.trace, sample, window->at_ns);
    case HEAP_PEAK:
        return held_bytes(weight.trace, sample, window->peak_ns);
    case HEAP_TEMPORARY:
        return temporary_bytes(sets, sample);
    default:
        return sample_value(sets, sample, VALUE_TYPE_ALLOC_BYTES);
    }
}

/* ---- Names ----------------------------------------------------------------------------------- */

int sample_weight_find(const struct trace *trace, const char *name,
                       struct sample_weight *ret_weight)
{
    unsigned count = sample_sets_count(trace_sets_get(trace));
    if (find_heap(trace, name, ret_weight))
        return 0;
    for (unsigned set = 1; set < count; set++) {
        char buffer[NAME_SIZE];
        const char *owner = trace_set_name(trace, set, buffer);
        size_t length = strlen(owner);
        int index = strncmp(name, owner, length) == 0 ? value_index(trace, set, name + length) : -1;
        if (index < 0)
            continue;
        if (!adds_up(trace, sample_set_get(trace_sets_get(trace), set), (unsigned)index))
            return -EDOM;
        bool is_cpu = set == SAMPLE_SET_CPU;
        *ret_weight =
            (struct sample_weight){.set = is_cpu ? 0 : (uint16_t)set, .index = (uint8_t)index};
        return 0;
    }
    return -ENOENT;
}

/* Bytes of memory have the names of `heap_names`. */
static bool has_other_name(const struct sample_set *set, unsigned index)
{
    return set->flags & SAMPLE_SET_HEAP && (set->types[index] == VALUE_TYPE_ALLOC_BYTES ||
                                            set->types[index] == VALUE_TYPE_FREE_BYTES);
}

size_t sample_weight_list(const struct trace *trace, char *buffer, size_t size)
{
    struct text text = text_init(buffer, size);
    unsigned count = sample_sets_count(trace_sets_get(trace));
    for (unsigned set = 1; set < count; set++) {
        const struct sample_set *entry = sample_set_get(trace_sets_get(trace), set);
        for (unsigned i = 0; i < entry->count; i++) {
            char name[NAME_SIZE], label[LABEL_SIZE];
            const char *between = text.length ? ", " : "",
                       *owner = trace_set_name(trace, set, name);
            if (!adds_up(trace, entry, i) || entry->role == SAMPLE_ROLE_SHORT_WAITS ||
                has_other_name(entry, i))
                continue; /* short waits have no place */
            if (entry->count == 1)
                text_format(&text, "%s%s", between, owner);
            else
                text_format(&text, "%s%s:%s", between, owner,
                            sample_value_label(trace, set, i, label, sizeof(label)));
        }
    }
    for (unsigned i = HEAP_ALLOCATED; heap_set(trace) && i <= HEAP_TEMPORARY; i++)
        text_format(&text, "%s%s", text.length ? ", " : "", heap_names[i]);
    return text.length;
}

unsigned sample_weight_type(const struct trace *trace, struct sample_weight weight)
{
    const struct sample_set *set =
        sample_set_get(trace_sets_get(trace), weight.set ? weight.set : SAMPLE_SET_CPU);
    return weight.index < set->count ? set->types[weight.index] : 0;
}

enum sample_unit sample_unit_of(const struct trace *trace, unsigned type)
{
    const char *unit = trace_value_unit(trace, type);
    return strcmp(unit, "ns") == 0 ? UNIT_NS : strcmp(unit, "bytes") == 0 ? UNIT_BYTES : UNIT_OTHER;
}
