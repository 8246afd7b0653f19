/* SPDX-License-Identifier: MIT */
/* Imports files of cProfile, profile and pstats: {(file, line, name): (primitive calls, calls, own
 * time, total time, {caller: (calls, primitive calls, own time, total time)})}, marshalled. */
#include "from_pstats_rings.h"
#include "import_formats.h"
#include "input.h"
#include "marshal_reader.h"
#include "number.h"
#include "sink.h"
#include "stacks.h"
#include "text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Stacks ---------------------------------------------------------------------------------- */

/* Builds stacks with the sums of a pstats file.
 *
 * The file has the time of each function and of each pair of caller and callee, but no stacks. As
 * in gprof, the callees of a function are assumed to be the same for all its callers: starting at
 * functions without callers, the inflow of a function is distributed over its callees by their
 * shares. That preserves the calls and times of all functions and pairs; stacks of three and more
 * frames are estimates.
 *
 * A ring of functions that call each other is entered as one: all its calls, inside and outside,
 * get the share of the inflow, on the widest way from the entry, or on one with detours
 * (from_pstats_rings.c). So the total times of all callers of the ring match the file. Amounts too
 * small to distribute are reported below their caller's main stack. */

enum { DEPTH_MAX = 200, STACKS_MAX = 500000 };

#define LEAST_PART 1e-7 /* of all time; less is not distributed */

/* The amounts of an edge that were distributed and reported. Rounding errors carry over. */
struct flow {
    double calls, own_ns; /* distributed, unrounded */
    int64_t emitted_calls, emitted_ns;
};

/* The stacks of a function. */
struct place {
    uint32_t frame;
    uint32_t stack; /* the current one, as a member of its ring */
    uint32_t home;  /* the one with the largest share; 0 until set */
    double share;   /* of the home stack */
};

struct emitter {
    struct from_pstats *stats;
    struct import_sink *sink;
    uint16_t set;
    uint32_t thread, depth, stack_count;
    int64_t end_ns;
    double least_ns;
    VEC(struct place) places; /* by function */
    VEC(struct flow) flows;   /* by edge */
};

static double part_of(double part, double whole)
{
    return whole > 0 && part > 0 ? (part < whole ? part / whole : 1) : 0;
}

/* The share of these calls of a function in the inflow of its ring. */
static double share_of(const struct emitter *emitter, uint32_t function,
                       const struct from_pstats_sums *sums)
{
    const struct from_pstats *stats = emitter->stats;
    const struct from_pstats_ring *ring =
        &stats->rings.items[stats->functions.items[function].ring];
    return ring->below_ns >= 0.5 ? part_of(sums->total_ns - sums->own_ns, ring->below_ns)
                                 : part_of(sums->calls, ring->calls);
}

/* ---- Samples --------------------------------------------------------------------------------- */

static int put(struct emitter *emitter, uint32_t stack, int64_t calls, int64_t own_ns)
{
    const int64_t values[] = {calls > 0 ? calls : 0, own_ns > 0 ? own_ns : 0};
    bool sampled = emitter->stats->sampled;
    const struct sample sample = {.set = emitter->set,
                                  .thread = emitter->thread,
                                  .time_ns = 1,
                                  .end_ns = emitter->end_ns,
                                  .stack = stack,
                                  .values = values + sampled,
                                  .value_count = sampled ? 1 : 2};
    return values[0] || values[1] ? import_sample(emitter->sink, &sample) : 0;
}

/* Reports a share of an edge, up to its remaining amount. */
static int put_edge(struct emitter *emitter, uint32_t index, uint32_t stack, double share)
{
    const struct from_pstats_sums *sums = &emitter->stats->edges.items[index].sums;
    struct flow *flow = &emitter->flows.items[index];
    flow->calls = fmin(flow->calls + share * sums->calls, sums->calls);
    flow->own_ns = fmin(flow->own_ns + share * sums->own_ns, sums->own_ns);
    int64_t calls = llround(flow->calls) - flow->emitted_calls;
    int64_t own_ns = llround(flow->own_ns) - flow->emitted_ns;
    flow->emitted_calls += calls;
    flow->emitted_ns += own_ns;
    emitter->stack_count++;
    return put(emitter, stack, calls, own_ns);
}

/* ---- Distribution ---------------------------------------------------------------------------- */

static int flow_on(struct emitter *emitter, uint32_t function, uint32_t stack, double share);

/* Reports a share of an edge and descends into the callee. Small shares are left to emit_rests. */
static int flow_edge(struct emitter *emitter, uint32_t index, uint32_t stack, double share)
{
    const struct from_pstats_edge *edge = &emitter->stats->edges.items[index];
    const struct from_pstats_sums sums = {edge->sums.calls * share, edge->sums.own_ns * share,
                                          edge->sums.total_ns * share};
    bool inside = from_pstats_inside(emitter->stats, edge);
    bool goes_on = !inside && sums.total_ns - sums.own_ns >= emitter->least_ns &&
                   emitter->depth < DEPTH_MAX && emitter->stack_count < STACKS_MAX;
    if ((inside ? sums.own_ns : sums.total_ns) < emitter->least_ns && emitter->depth > 1)
        return 0;
    uint32_t below = import_stack(emitter->sink, stack, emitter->places.items[edge->callee].frame);
    int error = put_edge(emitter, index, below, share);
    double on = goes_on ? share_of(emitter, edge->callee, &sums) : 0;
    return error || on <= 0 ? error : flow_on(emitter, edge->callee, below, on);
}

static void stand(struct place *place, uint32_t stack, double share)
{
    place->stack = stack;
    if (place->home && place->share >= share)
        return;
    place->home = stack;
    place->share = share;
}

/* Distributes a share of the ring, entered at one of its members. */
static int flow_members(struct emitter *emitter, uint32_t function, uint32_t stack, double share)
{
    struct from_pstats *stats = emitter->stats;
    const struct from_pstats_ring *ring =
        &stats->rings.items[stats->functions.items[function].ring];
    struct place *places = emitter->places.items;
    int error = from_pstats_ways(stats, function);
    for (uint32_t i = ring->first; i < ring->first + ring->count && !error; i++) {
        uint32_t member = stats->members.items[i], above = stats->functions.items[member].above;
        stand(&places[member],
              member == function
                  ? stack
                  : import_stack(emitter->sink, places[above].stack, places[member].frame),
              share);
    }
    for (uint32_t i = ring->first; i < ring->first + ring->count && share > 0 && !error; i++) {
        uint32_t member = stats->members.items[i];
        const struct from_pstats_function *caller = &stats->functions.items[member];
        for (uint32_t at = caller->first; at < caller->first + caller->count && !error; at++)
            error = flow_edge(emitter, at, places[member].stack, share);
    }
    return error;
}

/* Distributes a share of a ring over the direct ways and the detours. */
static int flow_on(struct emitter *emitter, uint32_t function, uint32_t stack, double share)
{
    static const struct from_pstats_detours none;
    const struct from_pstats *stats = emitter->stats;
    uint32_t number = stats->rings.items[stats->functions.items[function].ring].detours;
    const struct from_pstats_detours *detours = number ? &stats->detours.items[number - 1] : &none;
    double before = 1;
    int error = 0;
    emitter->depth++;
    for (uint32_t i = 0; i <= detours->count && before > 0 && !error; i++) {
        error = flow_members(emitter, function, stack, share * (before - detours->part[i]));
        before = detours->part[i];
        if (i == detours->count)
            break;
        function = detours->via[i];
        stack = emitter->places.items[function].stack;
    }
    emitter->depth--;
    return error;
}

static int begin_root(struct emitter *emitter, uint32_t function)
{
    const struct from_pstats_sums *sums = &emitter->stats->functions.items[function].root;
    if (sums->calls < 0.5 && sums->total_ns < 0.5)
        return 0;
    uint32_t stack = import_stack(emitter->sink, 0, emitter->places.items[function].frame);
    int error = put(emitter, stack, llround(sums->calls), llround(sums->own_ns));
    double share = share_of(emitter, function, sums);
    return error || share <= 0 ? error : flow_on(emitter, function, stack, share);
}

static int emit_rest(struct emitter *emitter, uint32_t index)
{
    const struct from_pstats_edge *edge = &emitter->stats->edges.items[index];
    const struct flow *flow = &emitter->flows.items[index];
    struct place *caller = &emitter->places.items[edge->caller];
    struct place *callee = &emitter->places.items[edge->callee];
    if (llround(edge->sums.calls) == flow->emitted_calls &&
        llround(edge->sums.own_ns) == flow->emitted_ns)
        return 0;
    if (!caller->home)
        caller->home = import_stack(emitter->sink, 0, caller->frame);
    uint32_t stack = import_stack(emitter->sink, caller->home, callee->frame);
    callee->home = callee->home ? callee->home : stack;
    return put_edge(emitter, index, stack, 1);
}

/* Rings are sorted callees first, so this visits callers before callees. */
static int emit_rests(struct emitter *emitter)
{
    const struct from_pstats *stats = emitter->stats;
    int error = 0;
    for (size_t i = stats->members.count; i > 0; i--) {
        const struct from_pstats_function *caller =
            &stats->functions.items[stats->members.items[i - 1]];
        for (uint32_t at = caller->first; at < caller->first + caller->count && !error; at++)
            error = emit_rest(emitter, at);
    }
    return error;
}

/* ---- The document ---------------------------------------------------------------------------- */

static void make_frames(struct emitter *emitter)
{
    for (size_t i = 0; i < emitter->stats->functions.count; i++) {
        const struct from_pstats_function *function = &emitter->stats->functions.items[i];
        const struct import_frame frame = {.function = function->name,
                                           .file = function->file,
                                           .first_line = function->line,
                                           .kind = function->file ? FRAME_PYTHON : FRAME_NATIVE};
        emitter->places.items[i] = (struct place){.frame = import_frame(emitter->sink, &frame)};
    }
}

static uint16_t make_calls_set(struct import_sink *sink)
{
    const struct sample_set set = {.name = import_text(sink, "calls"),
                                   .flags = SAMPLE_SET_EXACT | SAMPLE_SET_INTERVAL,
                                   .count = 2,
                                   .types = {VALUE_TYPE_CALLS, VALUE_TYPE_WALL}};
    return import_set(sink, &set);
}

/* Makes thread and set, and sums up the total time. 0 or -errno. */
static int begin(struct emitter *emitter)
{
    struct import_sink *sink = emitter->sink;
    const struct import_id one = {.number = 1};
    uint32_t process = import_process(sink, &one);
    double all_ns = 0;
    emitter->thread = import_thread(sink, process, &one);
    emitter->set = emitter->stats->sampled ? import_wall_set(sink) : make_calls_set(sink);
    if (sink->error)
        return sink->error;
    trace_process(sink->trace, process)->name =
        import_text(sink, text_base_name(sink->options->source));
    for (size_t i = 0; i < emitter->stats->functions.count; i++)
        all_ns += emitter->stats->functions.items[i].sums.own_ns;
    emitter->least_ns = all_ns * LEAST_PART;
    if (all_ns > (double)IMPORT_TIME_MAX / 2) {
        import_problem(sink, "times that cannot be", 0);
        return -EBADMSG;
    }
    emitter->end_ns = 2 + llround(all_ns);
    return 0;
}

static int make_tables(struct emitter *emitter)
{
    size_t functions = emitter->stats->functions.count, edges = emitter->stats->edges.count;
    if (vec_reserve(&emitter->places, functions) != 0 || vec_reserve(&emitter->flows, edges) != 0)
        return -ENOMEM;
    if (edges)
        memset(emitter->flows.items, 0, edges * sizeof(*emitter->flows.items));
    make_frames(emitter);
    return 0;
}

static void note(const struct from_pstats *stats)
{
    char text[160], count[NUMBER_TEXT_SIZE];
    if (stats->sampled)
        import_note(stats->sink, "the functions were sampled, not counted: their times are known, "
                                 "their calls are not");
    import_note(stats->sink,
                "the file has callers but no stacks: those of three and more functions "
                "are estimates");
    snprintf(text, sizeof(text),
             "functions that call each other, whose total times are estimates as well: %s",
             number_count(stats->unfit, count));
    if (stats->unfit)
        import_note(stats->sink, text);
}

/* Reports samples of calls, on stacks that have the sums of all functions and edges. 0 or
 * -errno. */
static int from_pstats_emit(struct from_pstats *stats)
{
    struct emitter emitter = {.stats = stats, .sink = stats->sink};
    int error = begin(&emitter);
    if (!error)
        error = make_tables(&emitter);
    for (uint32_t i = 0; i < stats->functions.count && !error; i++)
        error = begin_root(&emitter, i);
    if (!error)
        error = emit_rests(&emitter);
    vec_free(&emitter.places);
    vec_free(&emitter.flows);
    if (!error)
        note(stats);
    return error ? error : stats->sink->error;
}

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
           (marshal_item(reader, value, 2)->kind == MARSHAL_TEXT ||
            marshal_item(reader, value, 2)->kind == MARSHAL_CODE);
}

/* Finds or adds a function. -EBADMSG or -ENOMEM on failure. */
static int64_t find_function(struct from_pstats *stats, struct marshal_reader *reader,
                             const struct marshal_value *value)
{
    struct from_pstats_function made = {0};
    if (!is_function(reader, value))
        return -EBADMSG;
    int64_t line = marshal_item(reader, value, 1)->number;
    made.file = marshal_text(reader, marshal_item(reader, value, 0));
    made.name = marshal_text(reader, marshal_item(reader, value, 2));
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

/* The order of all calls and primitive calls differs by tool, so the larger number is used. Own and
 * total times are in seconds. */
static struct from_pstats_sums take_sums(const struct marshal_reader *reader,
                                         const struct marshal_value *value)
{
    return (struct from_pstats_sums){.calls = fmax(number_of(marshal_item(reader, value, 0)),
                                                   number_of(marshal_item(reader, value, 1))),
                                     .own_ns = 1e9 * number_of(marshal_item(reader, value, 2)),
                                     .total_ns = 1e9 * number_of(marshal_item(reader, value, 3))};
}

/* True for -1, pyinstrument's number of calls. */
static bool is_sampled(const struct marshal_reader *reader, const struct marshal_value *sums)
{
    const struct marshal_value *calls = marshal_item(reader, sums, 0);
    return calls->kind == MARSHAL_INT && calls->number == -1;
}

static int take_callers(struct from_pstats *stats, struct marshal_reader *reader, uint32_t callee,
                        const struct marshal_value *callers)
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
            edge.sums.calls = number_of(value); /* of the module profile, which has no times */
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

static int take_all(struct from_pstats *stats, struct marshal_reader *reader,
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
        stats->sampled = stats->sampled || is_sampled(reader, value);
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
    if (!error && reader.cut)
        import_cut(stats->sink, size);
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
        error = from_pstats_emit(&stats);
    vec_free(&stats.rings);
    vec_free(&stats.members);
    vec_free(&stats.detours);
    vec_free(&stats.ways);
    vec_free(&stats.functions);
    vec_free(&stats.edges);
    wide_map_free(&stats.index);
    return error;
}

/* True for a dict with a tuple of three as its first key. */
static bool sniff(const char *bytes, size_t size)
{
    return size >= 3 && (bytes[0] & 0x7f) == '{' &&
           (((bytes[1] & 0x7f) == ')' && bytes[2] == 3) ||
            ((bytes[1] & 0x7f) == '(' && bytes[2] == 3));
}

const struct importer import_pstats = {
    .format = {.name = "pstats",
               .summary = "statistics of Python's profilers",
               .from = "cProfile, profile, pstats, yappi, pyinstrument, annot"},
    .sniff = sniff,
    .read = read_pstats,
};
