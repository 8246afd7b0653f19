/* SPDX-License-Identifier: MIT */
/* What became of requests: a value "status" of the range, given at its begin or at its end. */
#include "page_parts.h"

#include "trace.h"

#include <string.h>

/* A number, or a string with the mark, or none: 0. */
enum { NUMBER_MAX = 1 << 30 };

#define IS_WORD (UINT32_C(1) << 31)

/* As people and OpenTelemetry call it. */
static bool is_status(const struct trace *trace, const struct arg *value)
{
    static const char *const keys[] = {"status", "status_code", "http.status_code",
                                       "http.response.status_code"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (strcmp(trace_string(trace, value->key)->bytes, keys[i]) == 0)
            return true;
    return false;
}

static uint32_t encode(const struct arg *value)
{
    switch (value->kind) {
    case VALUE_STRING:
        return value->value.string ? IS_WORD | value->value.string : 0;
    case VALUE_INT64:
        return value->value.int64 >= 0 && value->value.int64 < NUMBER_MAX
                   ? (uint32_t)value->value.int64 + 1
                   : 0;
    case VALUE_UINT64:
        return value->value.uint64 < NUMBER_MAX ? (uint32_t)value->value.uint64 + 1 : 0;
    default:
        return 0;
    }
}

/* The last one: what is known at the end is right. */
uint32_t page_status_of(const struct trace *trace, const struct args *values)
{
    for (uint32_t i = values->count; i-- > 0;)
        if (is_status(trace, &values->items[i]) && encode(&values->items[i]) != 0)
            return encode(&values->items[i]);
    return 0;
}

static void put_status(const struct page *page, struct json_doc *doc, uint32_t status)
{
    if (status == 0)
        json_doc_null(doc, NULL);
    else if (status & IS_WORD)
        page_put_text(page, doc, NULL, trace_string(page->trace, status & ~IS_WORD)->bytes);
    else
        json_doc_uint(doc, NULL, status - 1);
}

/* No column if no request has one. */
void page_put_statuses(const struct page *page, struct json_doc *doc,
                       const struct page_longest *requests)
{
    size_t with = 0;
    for (size_t i = 0; i < requests->items.count; i++)
        with += requests->items.items[i].status != 0;
    if (with == 0)
        return;
    json_doc_array(doc, "status");
    for (size_t i = 0; i < requests->items.count; i++)
        put_status(page, doc, requests->items.items[i].status);
    json_doc_close(doc);
}
