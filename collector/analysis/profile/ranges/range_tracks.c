/* SPDX-License-Identifier: MIT */
/* Ranges on tracks: as pushed ranges, but with the path of their track, independent of the threads
 * that begin and end them. A track has a path while ranges are open on it. Thread-safety: none. */
#include "range_parts.h"

#include <errno.h>

static struct track_path *find_track(struct range_stats *stats, uint64_t track)
{
    const uint64_t *index = map64_find(&stats->path_of_track, track + 1);
    return index ? &stats->track_paths.items[*index - 1] : NULL;
}

/* NULL: out of memory. */
static struct track_path *add_track(struct range_stats *stats, uint64_t track)
{
    uint32_t index = stats->free_track_path;
    if (index == 0) {
        if (vec_reserve(&stats->track_paths, 1) != 0 || !stats->track_paths.items)
            return NULL;
        index = (uint32_t)++stats->track_paths.count;
        stats->track_paths.items[index - 1] = (struct track_path){0};
    }
    if (map64_put(&stats->path_of_track, track + 1, index) != 0)
        return NULL;
    struct track_path *path = &stats->track_paths.items[index - 1];
    if (index == stats->free_track_path)
        stats->free_track_path = path->next_free;
    return path;
}

static void leave_track(struct range_stats *stats, uint64_t track, struct track_path *path)
{
    uint64_t index;
    if (!map64_take(&stats->path_of_track, track + 1, &index))
        return;
    path->nodes.count = 0;
    path->next_free = stats->free_track_path;
    stats->free_track_path = (uint32_t)index;
}

int range_track_opened(struct range_stats *stats, const struct event *begin, uint32_t depth)
{
    struct track_path *path = find_track(stats, begin->lane);
    if (!path)
        path = add_track(stats, begin->lane);
    if (!path || !range_path_of(stats, begin->thread))
        return -ENOMEM;
    return range_enter(stats, RANGE_TRACK, &path->nodes, begin, depth);
}

int range_track_closed(struct range_stats *stats, const struct item *span)
{
    uint64_t track = span->event->lane;
    struct track_path *path = find_track(stats, track);
    bool nested;
    if (!path)
        return 0; /* its start is missing */
    struct range_row *row = range_leave(stats, RANGE_TRACK, &path->nodes, span, &nested);
    range_add_duration(stats, row, range_duration_of(span));
    if (span->ranges == 0)
        leave_track(stats, track, path);
    return range_tell(stats, row, span);
}

void range_stats_free_tracks(struct range_stats *stats)
{
    for (size_t i = 0; i < stats->track_paths.count; i++)
        vec_free(&stats->track_paths.items[i].nodes);
    vec_free(&stats->track_paths);
    map64_free(&stats->path_of_track);
}
