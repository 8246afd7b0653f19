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

int sample_weight_find(const struct trace *trace, const char *name,
                       struct sample_weight *ret_weight)
{
    unsigned count = sample_sets_count(trace_sets_get(trace));
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
        *ret_weight = (struct sample_weight){is_cpu ? 0 : (uint16_t)set, (uint8_t)index};
        return 0;
    }
    return -ENOENT;
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
            if (!adds_up(trace, entry, i) || entry->role == SAMPLE_ROLE_SHORT_WAITS)
                continue; /* short waits have no place */
            if (entry->count == 1)
                text_format(&text, "%s%s", between, owner);
            else
                text_format(&text, "%s%s:%s", between, owner,
                            sample_value_label(trace, set, i, label, sizeof(label)));
        }
    }
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
