/* SPDX-License-Identifier: MIT */
/* Files of cProfile, profile and pstats: {(file, line, name): (primitive calls, calls, own time,
 * total time, {caller: (calls, primitive calls, own time, total time)})}, marshalled. */
#include "from_pstats_parts.h"
#include "marshal_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double number_of(const struct marshal_value *value)
{
    double number = value->kind == MARSHAL_INT      ? (double)value->number
                    : value->kind == MARSHAL_DOUBLE ? value->real
                                                    : 0;
    return isfinite(number) && number > 0 ? number : 0;
}

static bool is_function(const struct marshal_reader *reader, const struct marshal_value *value)
{
    return value->kind == MARSHAL_TUPLE && value->count == 3 &&
           marshal_item(reader, value, 0)->kind == MARSHAL_TEXT &&
           marshal_item(reader, value, 1)->kind == MARSHAL_INT &&
           marshal_item(reader, value, 2)->kind == MARSHAL_TEXT;
}

/* Made if new. -EBADMSG, -ENOMEM. */
static int64_t find_function(struct from_pstats *stats, const struct marshal_reader *reader,
                             const struct marshal_value *value)
{
    struct from_pstats_function made = {0};
    if (!is_function(reader, value))
        return -EBADMSG;
    int64_t line = marshal_item(reader, value, 1)->number;
    made.file = marshal_item(reader, value, 0)->text;
    made.name = marshal_item(reader, value, 2)->text;
    made.line = line > 0 && line <= INT32_MAX ? (int32_t)line : 0;
    const struct wide_key *key = WIDE_KEY(made.name, made.file, (uint64_t)made.line, 1);
    const uint64_t *found = wide_map_find(&stats->index, key);
    if (found)
        return (int64_t)*found;
    if (strcmp(trace_string(stats->sink->trace, made.file)->bytes, "~") == 0)
        made.file = 0;
    if (vec_push(&stats->functions, made) != 0 ||
        wide_map_put(&stats->index, key, stats->functions.count - 1) != 0)
        return -ENOMEM;
    return (int64_t)stats->functions.count - 1;
}

/* Calls, and those that are not recursive, in an order that differs by tool; own and total
 * seconds. */
static struct from_pstats_sums take_sums(const struct marshal_reader *reader,
                                         const struct marshal_value *value)
{
    return (struct from_pstats_sums){.calls = fmax(number_of(marshal_item(reader, value, 0)),
                                                   number_of(marshal_item(reader, value, 1))),
                                     .own_ns = 1e9 * number_of(marshal_item(reader, value, 2)),
                                     .total_ns = 1e9 * number_of(marshal_item(reader, value, 3))};
}

static int take_callers(struct from_pstats *stats, const struct marshal_reader *reader,
                        uint32_t callee, const struct marshal_value *callers)
{
    for (uint32_t i = 0; i + 1 < callers->count; i += 2) {
        int64_t caller = find_function(stats, reader, marshal_item(reader, callers, i));
        const struct marshal_value *value = marshal_item(reader, callers, i + 1);
        struct from_pstats_edge edge = {.callee = callee};
        if (caller < 0)
            return (int)caller;
        edge.caller = (uint32_t)caller;
        if (value->kind == MARSHAL_TUPLE && value->count == 4)
            edge.sums = take_sums(reader, value), edge.timed = true;
        else if (value->kind == MARSHAL_INT)
            edge.sums.calls = number_of(value); /* of the module profile: no times */
        else
            return -EBADMSG;
        if (vec_push(&stats->edges, edge) != 0)
            return -ENOMEM;
    }
    return 0;
}

static int by_caller(const void *left, const void *right)
{
    const struct from_pstats_edge *a = left, *b = right;
    if (a->caller != b->caller)
        return a->caller < b->caller ? -1 : 1;
    return a->callee < b->callee ? -1 : a->callee > b->callee;
}

static void sort_edges(struct from_pstats *stats)
{
    if (stats->edges.count)
        qsort(stats->edges.items, stats->edges.count, sizeof(*stats->edges.items), by_caller);
    for (size_t i = 0; i < stats->edges.count; i++) {
        struct from_pstats_function *caller = &stats->functions.items[stats->edges.items[i].caller];
        if (caller->count++ == 0)
            caller->first = (uint32_t)i;
    }
}

static int take_all(struct from_pstats *stats, const struct marshal_reader *reader,
                    const struct marshal_value *all)
{
    if (all->kind != MARSHAL_DICT)
        return -EBADMSG;
    for (uint32_t i = 0; i + 1 < all->count; i += 2) {
        int64_t function = find_function(stats, reader, marshal_item(reader, all, i));
        const struct marshal_value *value = marshal_item(reader, all, i + 1);
        if (function < 0)
            return (int)function;
        if (value->kind != MARSHAL_TUPLE || value->count != 5 ||
            marshal_item(reader, value, 4)->kind != MARSHAL_DICT)
            return -EBADMSG;
        stats->functions.items[function].sums = take_sums(reader, value);
        int error = take_callers(stats, reader, (uint32_t)function, marshal_item(reader, value, 4));
        if (error)
            return error;
    }
    sort_edges(stats);
    return 0;
}

static int read_bytes(struct from_pstats *stats, const char *bytes, size_t size)
{
    struct marshal_reader reader = {.sink = stats->sink};
    int64_t all = marshal_read(&reader, bytes, size);
    int error = all < 0 ? (int)all : take_all(stats, &reader, marshal_get(&reader, (uint32_t)all));
    if (error == -EBADMSG)
        import_problem(stats->sink, reader.problem ? reader.problem : "not a dict of functions",
                       (uint64_t)(reader.at - bytes));
    marshal_fini(&reader);
    return error;
}

static int read_pstats(struct import_input *input, struct import_sink *sink)
{
    struct from_pstats stats = {.sink = sink};
    const char *bytes;
    int64_t want = 1 << 16, size = import_input_peek(input, (size_t)want, &bytes);
    for (; size >= want && want < INPUT_PIECE_MAX; want *= 2)
        size = import_input_peek(input, (size_t)(2 * want), &bytes);
    if (size >= INPUT_PIECE_MAX) {
        import_problem(sink, "the file is larger than 64 MiB", 0);
        return -EBADMSG;
    }
    int error = size < 0 ? (int)size : read_bytes(&stats, bytes, (size_t)size);
    if (!error)
        error = from_pstats_rings(&stats);
    if (!error)
        error = from_pstats_enter(&stats);
    if (!error)
        error = from_pstats_tell(&stats);
    vec_free(&stats.rings);
    vec_free(&stats.members);
    vec_free(&stats.detours);
    vec_free(&stats.ways);
    vec_free(&stats.functions);
    vec_free(&stats.edges);
    wide_map_free(&stats.index);
    return error;
}

/* A dict whose first key is a tuple of three. */
static bool sniff(const char *bytes, size_t size)
{
    return size >= 3 && (bytes[0] & 0x7f) == '{' &&
           (((bytes[1] & 0x7f) == ')' && bytes[2] == 3) ||
            ((bytes[1] & 0x7f) == '(' && bytes[2] == 3));
}

const struct importer import_pstats = {
    .format = {.name = "pstats",
               .summary = "statistics of Python's profilers",
               .from = "cProfile, profile, pstats, yappi, annot"},
    .sniff = sniff,
    .read = read_pstats,
};
