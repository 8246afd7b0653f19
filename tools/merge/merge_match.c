/* SPDX-License-Identifier: MIT */
/* Computes the offset of two clocks from the ranges of one name, matched in order of their begins:
 * first with first, second with second. Main thread only. */
#include "merge_match.h"
#include "reader.h"
#include "volumes.h"

#include "cmd.h"
#include "pass.h"
#include "recording.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MATCHES_MAX = 1 << 20 };

struct begins {
    const struct trace *trace;
    const char *name;
    VEC(int64_t) items;
};

static int take(void *context, const struct item *item)
{
    struct begins *begins = context;
    bool range = item->kind == ITEM_SPAN && item->lane != LANE_QUEUE;
    if (!range || strcmp(trace_string(begins->trace, item->event->name)->bytes, begins->name) != 0)
        return 0;
    return begins->items.count < MATCHES_MAX ? vec_push(&begins->items, item->begin_ns) : -EMSGSIZE;
}

static int by_time(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* Reads the begins, sorted. CMD_OK, or the exit status after a printed message. */
static int read_begins(const char *path, struct begins *begins)
{
    struct store_reader *reader = recording_open_stored(path);
    if (!reader)
        return CMD_FAILED;
    const struct pass_source source = recording_pass_source(reader);
    const struct sink sink = {.take = take, .context = begins, .wants = WANT_EVENTS};
    begins->trace = source.trace;
    int error = pass_read(&source, &PASS_SELECT_ALL, &sink, 1);
    store_reader_close(reader);
    if (error == -EMSGSIZE)
        return cmd_fail(CMD_FAILED, "%s has more than %d ranges %s\n--match a rarer one", path,
                        MATCHES_MAX, begins->name);
    if (error)
        return recording_fail(path, error);
    if (begins->items.count)
        qsort(begins->items.items, begins->items.count, sizeof(int64_t), by_time);
    return CMD_OK;
}

/* The median of the differences; the error is the largest deviation from it. */
static void find_offset(struct begins *first, const struct begins *other,
                        struct store_time_map *time)
{
    int64_t *differences = first->items.items;
    size_t count = first->items.count;
    for (size_t i = 0; i < count; i++)
        differences[i] -= other->items.items[i];
    qsort(differences, count, sizeof(*differences), by_time);
    int64_t middle = differences[count / 2];
    int64_t below = middle - differences[0], above = differences[count - 1] - middle;
    time->offset_ns = middle;
    time->error_ns = below > above ? below : above;
}

int merge_match(const char *first_path, const char *path, const char *name,
                struct store_time_map *time)
{
    struct begins first = {.name = name}, other = {.name = name};
    int status = read_begins(first_path, &first);
    if (status == CMD_OK)
        status = read_begins(path, &other);
    if (status == CMD_OK && (first.items.count != other.items.count || !first.items.count))
        status = cmd_fail(CMD_FAILED,
                          "%s has %zu ranges %s, and %s has %zu: they cannot be matched\n"
                          "--match one that both have as often, or give --offset",
                          first_path, first.items.count, name, path, other.items.count);
    if (status == CMD_OK)
        find_offset(&first, &other, time);
    vec_free(&first.items);
    vec_free(&other.items);
    return status;
}
