/* SPDX-License-Identifier: MIT */
/* See export_rows.h. */
#include "call_label.h"
#include "export_rows.h"

#include <errno.h>

int rows_paths_init(struct rows_paths *paths, const struct trace *trace)
{
    *paths = (struct rows_paths){.trace = trace, .text = out_stream_memory()};
    return paths->text ? 0 : -ENOMEM;
}

void rows_paths_fini(struct rows_paths *paths)
{
    vec_free(&paths->links);
    out_stream_abandon(paths->text);
}

const char *rows_paths_text(const struct rows_paths *paths, size_t *ret_length)
{
    return (const char *)out_stream_memory_bytes(paths->text, ret_length);
}

static bool is_same(const struct rows_link *link, const struct event *event)
{
    return link->name == event->name && link->scope == event->scope;
}

void rows_paths_cut(struct rows_paths *paths, size_t count)
{
    paths->links.count = count;
    out_stream_memory_cut(paths->text, count ? paths->links.items[count - 1].end : 0);
}

int rows_paths_add(struct rows_paths *paths, uint32_t name, uint32_t scope)
{
    struct rows_link link = {.name = name, .scope = scope};
    out_write(paths->text, "/", paths->links.count > 0);
    call_put_range(paths->trace, name, scope, paths->text);
    link.end = out_bytes(paths->text);
    return out_error(paths->text) ? -ENOMEM : vec_push(&paths->links, link);
}

int rows_paths_take(struct rows_paths *paths, const struct item *item)
{
    size_t same = 0;
    int error = 0;
    while (same < paths->links.count && same < item->depth &&
           is_same(&paths->links.items[same], item->parents[same]))
        same++;
    if (same < paths->links.count && same == item->depth &&
        is_same(&paths->links.items[same], item->event))
        same++;
    rows_paths_cut(paths, same);
    for (size_t i = same; i <= item->depth && !error; i++) {
        const struct event *event = i < item->depth ? item->parents[i] : item->event;
        error = rows_paths_add(paths, event->name, event->scope);
    }
    return error;
}
