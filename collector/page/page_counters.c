/* SPDX-License-Identifier: MIT */
/* Counters: least, greatest and last value of each time slot. */
#include "page_counters.h"

#include "page_data.h"
#include "page_model.h"

#include "trace.h"
#include "trace_devices.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNTERS_READ = 400 };

struct counter_slot {
    double least, greatest, last;
    int64_t last_ns;
    bool any;
};

struct page_counter {
    uint32_t process, domain, name;
    uint32_t thread; /* of the first value */
    uint64_t count;
    struct counter_slot slots[PAGE_COUNTER_SLOTS];
};

void page_counters_fini(struct page_counters *counters)
{
    for (size_t i = 0; i < counters->items.count; i++)
        free(counters->items.items[i]);
    vec_free(&counters->items);
    map64_free(&counters->index);
}

/* Hashes process, domain and name, each of which has few values. */
static uint64_t key_of(uint32_t process, uint32_t domain, uint32_t name)
{
    return ((uint64_t)process * 0x9e3779b97f4a7c15 ^ (uint64_t)domain << 32 ^ name) | 1;
}

static bool is_same(const struct page_counter *counter, const struct page_counter *other)
{
    return counter->process == other->process && counter->domain == other->domain &&
           counter->name == other->name;
}

/* Sets *ret_counter to NULL beyond PAGE_COUNTERS_MAX. */
static int find_counter(struct page_counters *counters, const struct page_counter *wanted,
                        struct page_counter **ret_counter)
{
    uint64_t key = key_of(wanted->process, wanted->domain, wanted->name);
    const uint64_t *found = map64_find(&counters->index, key);
    *ret_counter = found ? counters->items.items[*found] : NULL;
    if (*ret_counter && is_same(*ret_counter, wanted))
        return 0;
    for (size_t i = 0; found && i < counters->items.count; i++)
        if (is_same(counters->items.items[i], wanted)) {
            *ret_counter = counters->items.items[i];
            return 0;
        }
    *ret_counter = NULL;
    if (counters->items.count >= COUNTERS_READ)
        return 0;
    struct page_counter *counter = calloc(1, sizeof(*counter));
    if (!counter || vec_push(&counters->items, counter) != 0) {
        free(counter);
        return -ENOMEM;
    }
    counter->process = wanted->process;
    counter->domain = wanted->domain;
    counter->name = wanted->name;
    counter->thread = wanted->thread;
    *ret_counter = counter;
    return found ? 0 : map64_put(&counters->index, key, counters->items.count - 1);
}

static double value_of(const struct event *event)
{
    return event->value_kind == VALUE_INT64    ? (double)event->value.int64
           : event->value_kind == VALUE_DOUBLE ? event->value.float64
                                               : (double)event->value.uint64;
}

int page_counters_take(struct page_counters *counters, const struct item *item)
{
    const struct event *event = item->event;
    const struct trace_thread *thread = trace_thread_get(counters->trace, event->thread);
    struct page_counter wanted = {.name = event->name, .thread = event->thread};
    struct page_counter *counter;
    double value = value_of(event);
    if (item->kind != ITEM_COUNTER || !thread || !isfinite(value))
        return 0;
    wanted.process = thread->process;
    wanted.domain = trace_scope_domain(counters->trace, event->scope);
    int error = find_counter(counters, &wanted, &counter);
    if (error || !counter) {
        counters->refused += !error;
        return error;
    }
    struct counter_slot *slot =
        &counter->slots[page_slot(&counters->span, PAGE_COUNTER_SLOTS, event->time_ns)];
    slot->least = !slot->any || value < slot->least ? value : slot->least;
    slot->greatest = !slot->any || value > slot->greatest ? value : slot->greatest;
    if (!slot->any || event->time_ns >= slot->last_ns) {
        slot->last = value;
        slot->last_ns = event->time_ns;
    }
    slot->any = true;
    counter->count++;
    return 0;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static int most_first(const void *left, const void *right)
{
    const struct page_counter *a = *(const struct page_counter *const *)left;
    const struct page_counter *b = *(const struct page_counter *const *)right;
    if (a->count != b->count)
        return a->count < b->count ? 1 : -1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

static void put_column(struct json_doc *doc, const char *key, const struct page_counter *counter,
                       size_t at)
{
    json_doc_array(doc, key);
    for (uint32_t i = 0; i < PAGE_COUNTER_SLOTS; i++) {
        const struct counter_slot *slot = &counter->slots[i];
        if (slot->any)
            json_doc_double(doc, NULL, *(const double *)((const char *)slot + at));
        else
            json_doc_null(doc, NULL);
    }
    json_doc_close(doc);
}

/* Writes the programs that use the counter's device, with its number in each. */
static void put_devices(const struct page *page, struct json_doc *doc,
                        const struct page_counter *counter)
{
    const struct trace *trace = page->trace;
    const char *name = trace_string(trace, counter->name)->bytes;
    char device[PAGE_TEXT_MAX], shown[TRACE_DEVICE_COUNTER_SIZE];
    uint32_t lane = trace_device_next_lane(trace, counter->thread, 0);
    if (lane == 0)
        return;
    json_doc_array(doc, "devices");
    for (; lane; lane = trace_device_next_lane(trace, counter->thread, lane)) {
        const struct device_counter at = {name, counter->thread, lane - 1};
        uint32_t process = page->process_index[trace_lane_get(trace, lane - 1)->process];
        trace_lane_label(trace, lane - 1, device, sizeof(device));
        json_doc_object(doc, NULL);
        json_doc_int(doc, "process", process == PAGE_NONE ? -1 : (int64_t)process);
        json_doc_text(doc, "device", device);
        json_doc_text(doc, "counter", trace_device_counter(trace, &at, shown));
        json_doc_close(doc);
    }
    json_doc_close(doc);
}

static void put_counter(const struct page *page, struct json_doc *doc,
                        const struct page_counter *counter)
{
    const struct trace *trace = page->trace;
    uint32_t unit = trace_unit_find(trace, counter->domain, counter->name);
    uint32_t process = page->process_index[counter->process];
    char name[PAGE_TEXT_MAX];
    const char *domain = trace_string(trace, counter->domain)->bytes;
    snprintf(name, sizeof(name), "%.300s%s%.600s", counter->domain ? domain : "",
             counter->domain ? ":" : "", trace_string(trace, counter->name)->bytes);
    json_doc_object(doc, NULL);
    json_doc_text(doc, "name", name);
    page_put_text(page, doc, "unit", unit ? trace_string(trace, unit)->bytes : "");
    json_doc_int(doc, "process", process == PAGE_NONE ? -1 : (int64_t)process);
    json_doc_uint(doc, "count", counter->count);
    put_devices(page, doc, counter);
    put_column(doc, "least", counter, offsetof(struct counter_slot, least));
    put_column(doc, "greatest", counter, offsetof(struct counter_slot, greatest));
    put_column(doc, "last", counter, offsetof(struct counter_slot, last));
    json_doc_close(doc);
}

int page_put_counters(struct page *page, struct json_doc *doc)
{
    const struct page_counters *counters = &page->counters;
    if (counters->items.count > 0)
        qsort(counters->items.items, counters->items.count, sizeof(*counters->items.items),
              most_first);
    json_doc_array(doc, "counters");
    for (size_t i = 0; i < counters->items.count && i < PAGE_COUNTERS_MAX; i++)
        put_counter(page, doc, counters->items.items[i]);
    json_doc_close(doc);
    return 0;
}
