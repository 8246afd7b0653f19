/* SPDX-License-Identifier: MIT */
/* Names of ranges, each once. */
#include "page_parts.h"

#include "text.h"
#include "trace.h"

#include <errno.h>
#include <stdlib.h>

int64_t page_name_of(struct page_names *names, uint32_t domain, uint32_t name)
{
    uint64_t key = (uint64_t)domain << 32 | name;
    const uint64_t *found = map64_find(&names->index, key + 1);
    if (found)
        return (int64_t)*found;
    if (vec_push(&names->items, key) != 0 ||
        map64_put(&names->index, key + 1, names->items.count - 1) != 0)
        return -ENOMEM;
    return (int64_t)names->items.count - 1;
}

int page_names_begin(struct page_names *names)
{
    free(names->used);
    names->used = calloc(names->items.count + 1, 1);
    return names->used ? 0 : -ENOMEM;
}

int64_t page_use_name(const struct page_names *names, uint32_t name)
{
    names->used[name] = 1;
    return name;
}

void page_names_fini(struct page_names *names)
{
    free(names->used);
    vec_free(&names->items);
    map64_free(&names->index);
}

/* "load", "nvtx:step", as the tables have them; null where nothing refers to it. */
int page_put_names(struct page *page, struct json_doc *doc)
{
    const struct page_names *names = &page->names;
    char buffer[PAGE_TEXT_MAX + 8];
    json_doc_array(doc, "names");
    for (size_t i = 0; i < names->items.count; i++) {
        struct text text = text_init(buffer, sizeof(buffer));
        if (!names->used[i]) {
            json_doc_null(doc, NULL);
            continue;
        }
        uint32_t domain = (uint32_t)(names->items.items[i] >> 32);
        const struct trace_string *name =
            trace_string(names->trace, (uint32_t)names->items.items[i]);
        if (domain)
            text_format(&text, "%s:", trace_string(names->trace, domain)->bytes);
        text_format(&text, "%s", name->length ? name->bytes : "(no name)");
        page_put_text(page, doc, NULL, buffer);
    }
    json_doc_close(doc);
    return 0;
}
