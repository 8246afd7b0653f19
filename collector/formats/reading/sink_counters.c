/* SPDX-License-Identifier: MIT */
/* Names that are made of two of a file, and those of counters: see import_parts.h. */
#include "import_parts.h"

#include <errno.h>
#include <string.h>

static uint32_t join(struct import_sink *sink, uint32_t first, char between, uint32_t second)
{
    const struct trace_string *head = trace_string(sink->trace, first);
    const struct trace_string *tail = trace_string(sink->trace, second);
    size_t length = head->length + 1 + tail->length;
    sink->text.count = 0;
    if (vec_reserve(&sink->text, length) != 0) {
        sink->error = -ENOMEM;
        return first;
    }
    memcpy(sink->text.items, head->bytes, head->length);
    sink->text.items[head->length] = between;
    memcpy(sink->text.items + head->length + 1, tail->bytes, tail->length);
    return import_string(sink, sink->text.items, length);
}

uint32_t import_joined(struct import_sink *sink, uint32_t first, char between, uint32_t second)
{
    const struct wide_key *key = WIDE_KEY(first, second, (uint64_t)between);
    const uint64_t *found = wide_map_find(&sink->joined, key);
    if (found)
        return (uint32_t)*found;
    uint32_t joined = join(sink, first, between, second);
    if (wide_map_put(&sink->joined, key, joined) != 0)
        sink->error = -ENOMEM;
    return joined;
}

static bool is_unit(const char *text)
{
    static const char *const units[] = {"bytes", "B", "KiB", "MiB", "GiB", "ns", "us",
                                        "ms",    "s", "%",   "Hz",  "MHz", "W",  "J"};
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (strcmp(units[i], text) == 0)
            return true;
    return false;
}

static uint32_t counter_name(struct import_sink *sink, uint32_t name, uint32_t key, bool single)
{
    const char *series = trace_string(sink->trace, key)->bytes;
    bool unit = is_unit(series);
    if (single && unit && trace_unit_set(sink->trace, 0, name, key) == -ENOMEM)
        sink->error = -ENOMEM;
    if (single && (unit || strcmp(series, "value") == 0 || key == name))
        return name;
    return import_joined(sink, name, '/', key);
}

int import_counters(struct import_sink *sink, const struct event *event, const struct arg *args,
                    size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct event counter = *event;
        if (args[i].kind == VALUE_STRING || args[i].kind == VALUE_BOOL) {
            sink->left[LEFT_VALUES]++;
            continue;
        }
        counter.kind = EVENT_COUNTER;
        counter.name = counter_name(sink, event->name, args[i].key, count == 1);
        counter.value_kind = (uint8_t)args[i].kind;
        counter.value = args[i].value;
        counter.arg_count = 0;
        int error = import_add(sink, &counter, NULL);
        if (error)
            return error;
    }
    return 0;
}
