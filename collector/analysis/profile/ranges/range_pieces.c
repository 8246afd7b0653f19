/* SPDX-License-Identifier: MIT */
/* Ranges in pieces: if a traced function opens a range and ends before it, the range is closed with
 * the call and reopened as a continuation. Its duration is the sum of all pieces.
 *
 * A piece is kept until another range begins: then it was the last one. Thread-safety: none. */
#include "range_parts.h"

#include <errno.h>

void range_pieces_end(struct range_stats *stats, struct thread_path *path)
{
    for (size_t i = 0; i < path->closed.count; i++) {
        const struct range_piece *piece = &path->closed.items[i];
        range_add_duration(stats, &stats->rows.items[piece->row], piece->duration);
    }
    path->closed.count = 0;
}

/* Returns the sum of the earlier pieces; zeros if unknown. */
static struct range_duration take_piece(struct thread_path *path, const struct event *begin)
{
    struct range_duration none = {0};
    for (size_t i = path->closed.count; i-- > 0;) {
        struct range_piece piece = path->closed.items[i];
        if (piece.name != begin->name || piece.scope != begin->scope)
            continue;
        path->closed.items[i] = path->closed.items[--path->closed.count];
        return piece.duration;
    }
    return none;
}

int range_piece_opened(struct range_stats *stats, struct thread_path *path, const struct item *item)
{
    struct range_duration before = {0};
    if (item->event->flags & EVENT_CONTINUES)
        before = take_piece(path, item->event);
    else
        range_pieces_end(stats, path);
    while (path->before.count < item->ranges)
        if (vec_push(&path->before, (struct range_duration){0}) != 0)
            return -ENOMEM;
    path->before.count = item->ranges;
    return vec_push(&path->before, before);
}

int range_piece_closed(struct thread_path *path, const struct item *span,
                       const struct range_piece *piece)
{
    struct range_piece whole = *piece;
    if (span->ranges < path->before.count) {
        whole.duration.duration_ns += path->before.items[span->ranges].duration_ns;
        whole.duration.ready_ns += path->before.items[span->ranges].ready_ns;
        path->before.count = span->ranges;
    }
    return vec_push(&path->closed, whole);
}

void range_pieces_free(struct thread_path *path)
{
    vec_free(&path->closed);
    vec_free(&path->before);
}
