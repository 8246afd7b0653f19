/* SPDX-License-Identifier: MIT */
/* Samples wait on the lane of their thread for its events of that time, which give the open ranges,
 * their agreement with the path read, and the off-CPU time.
 *
 * Before an event changes the open ranges, the lane is compared with the samples nearby. Stretches
 * off the CPU add up lane by lane; their overlap with a range is the difference of two such sums.
 * Thread-safety: none. */
#include "lane_samples.h"

#include "origins.h"
#include "pair.h"
#include "pass.h"
#include "pass_state.h"

#include <stdlib.h>
#include <string.h>

static bool sample_path_is_inherited(const struct stacks *stacks, uint32_t path);
static int64_t sample_path_agreed(struct stacks *stacks, uint32_t read, uint32_t told);
static int64_t sample_path_unsure(struct stacks *stacks, uint32_t read, uint32_t told, bool cut);
static bool sample_path_same_names(const struct stacks *stacks, uint32_t a, uint32_t b);

/* ---- Sample paths ---------------------------------------------------------------------------- */

/* The path of ranges of a sample: the path read with it, compared with the events of its thread; in
 * a forked process outside of its own ranges, the inherited path. If both contradict each other,
 * the events win, since they make the rows of reports, and the sample is counted. Where events were
 * lost, ranges seen only on the live stack are RANGE_PATH_UNRECORDED. Thread-safety: none. */

enum { GENERATIONS_MAX = 64 };

/* The process of the thread if it was forked and this is its main thread, which inherited ranges;
 * or NULL. */
static const struct trace_process *heir_process(const struct trace *trace, uint32_t ordinal)
{
    const struct trace_thread *thread = trace_thread_get(trace, ordinal);
    const struct trace_process *process = thread ? trace_process_get(trace, thread->process) : NULL;
    bool forked = process && process->forked && process->fork_ns != 0 &&
                  trace_thread_get(trace, process->fork_thread - 1) != NULL;
    return forked && thread->tid == process->ns_pid ? process : NULL;
}

/* The path open when its process was forked, or an ancestor of it; -1: not yet known. */
static int64_t inherited_path(const struct pass *pass, uint32_t thread)
{
    const struct trace *trace = pass->source.trace;
    const struct trace_process *process;
    for (int i = 0; i < GENERATIONS_MAX && (process = heir_process(trace, thread)) != NULL; i++) {
        int64_t path = pass->inherited[trace_thread_get(trace, thread)->process];
        if (path != 0)
            return path;
        thread = process->fork_thread - 1;
    }
    return 0;
}

/* Decides the path of a sample that has one. -ENOMEM. */
static int64_t judge(struct pass *pass, const struct sample *sample,
                     const struct waiting_sample *answer)
{
    struct stacks *stacks = trace_stacks(pass->source.trace);
    struct sample_checks *checks = &pass->counts.checks;
    checks->checked++;
    if (answer->verdict & (PATH_AGREES | PATH_AT_EDGE)) {
        checks->at_edge += !(answer->verdict & PATH_AGREES);
        return sample_path_agreed(stacks, sample->path, answer->agreed);
    }
    if (answer->verdict & PATH_UNSURE) {
        checks->unsure++;
        return sample_path_unsure(stacks, sample->path, answer->told,
                                  sample->flags & SAMPLE_PATH_CUT);
    }
    checks->contradicted++;
    return answer->told;
}

/* A free has the path of its allocation, at another time: it gets the path that was decided for
 * that, which is kept while the block lives. */
static bool is_free(const struct pass *pass, const struct sample *sample)
{
    const struct sample_set *set = sample_set_get(pass->sets, sample->set);
    return set->flags & SAMPLE_SET_HEAP && sample_set_index(set, VALUE_TYPE_LIFETIME) >= 0;
}

static uint64_t block_key(const struct sample *sample)
{
    return (uint64_t)sample->thread << 40 | (sample->id & ((UINT64_C(1) << 40) - 1));
}

static int keep_block_path(struct pass *pass, const struct sample *sample, uint32_t path)
{
    const struct sample_set *set = sample_set_get(pass->sets, sample->set);
    bool kept = set->flags & SAMPLE_SET_HEAP && sample->id && path && !is_free(pass, sample);
    return kept ? map64_put(&pass->block_paths, block_key(sample), path) : 0;
}

static int64_t free_path(struct pass *pass, const struct sample *sample)
{
    uint64_t path;
    if (sample->id && map64_take(&pass->block_paths, block_key(sample), &path))
        return (int64_t)path;
    return sample_path_unsure(trace_stacks(pass->source.trace), sample->path, 0, false);
}

static int64_t find_own(struct pass *pass, const struct sample *sample,
                        const struct waiting_sample *answer)
{
    bool known = sample->flags & SAMPLE_PATH_KNOWN;
    if (is_free(pass, sample))
        return free_path(pass, sample);
    if (answer)
        return known ? judge(pass, sample, answer) : answer->told;
    struct stacks *stacks = trace_stacks(pass->source.trace);
    return known ? sample_path_unsure(stacks, sample->path, 0, false) : sample->path;
}

static int emit_with_path(struct pass *pass, const struct sample *sample, int64_t path)
{
    struct sample told = *sample;
    if (path < 0)
        return (int)path;
    told.path = (uint32_t)path;
    told.flags &= (uint8_t)~SAMPLE_PATH_CUT;
    told.flags |= SAMPLE_PATH_KNOWN;
    int error = keep_block_path(pass, sample, told.path);
    return error ? error : sample_emit(pass, &told);
}

/* Reports the sample with the inherited path, which the events of the forking threads give with
 * domains. */
static int emit_inherited(struct pass *pass, const struct sample *sample, uint32_t path,
                          uint32_t told)
{
    struct stacks *stacks = trace_stacks(pass->source.trace);
    bool better = told != 0 && (path == 0 || sample_path_same_names(stacks, path, told));
    return emit_with_path(pass, sample, better ? sample_path_inherited(stacks, told) : path);
}

/* Hands out a sample that waited, or one without a lane (`answer` NULL). */
static int sample_finish(struct pass *pass, const struct sample *sample,
                         const struct waiting_sample *answer)
{
    struct sample copy = *sample;
    if (!(pass->wants & WANT_PATHS))
        return sample_emit(pass, &copy);
    int64_t path = find_own(pass, sample, answer);
    const struct stacks *stacks = trace_stacks_get(pass->source.trace);
    bool known = sample->flags & SAMPLE_PATH_KNOWN;
    bool heir =
        path >= 0 && (path == 0 ? !known : sample_path_is_inherited(stacks, (uint32_t)path));
    int64_t told = heir ? inherited_path(pass, sample->thread) : 0;
    if (told < 0)
        return value_pool_keep(&pass->values, &copy) != 0
                   ? -ENOMEM
                   : vec_push(&pass->heirs, ((struct heir){copy, (uint32_t)path}));
    return heir ? emit_inherited(pass, sample, (uint32_t)path, (uint32_t)told)
                : emit_with_path(pass, sample, path);
}

int heirs_finish(struct pass *pass, bool all)
{
    size_t kept = 0;
    int status = 0;
    for (size_t i = 0; !status && i < pass->heirs.count; i++) {
        const struct heir heir = pass->heirs.items[i];
        int64_t told = inherited_path(pass, heir.sample.thread);
        if (told < 0 && !all) {
            pass->heirs.items[kept++] = heir;
            continue;
        }
        status = emit_inherited(pass, &heir.sample, heir.path, told > 0 ? (uint32_t)told : 0);
        value_pool_drop(&pass->values, &heir.sample);
    }
    pass->heirs.count = status ? pass->heirs.count : kept;
    pass->inherited_news = false;
    return status;
}

int sample_emit(struct pass *pass, struct sample *sample)
{
    int64_t values[SAMPLE_VALUES_MAX];
    if (!pass_selects_sample(&pass->selection, pass->sets, sample, values))
        return 0;
    enum sample_role role = sample_role(pass->sets, sample);
    const char *range = pass->selection.range;
    if (range) {
        int match = role == SAMPLE_ROLE_CALLS
                        ? stack_is_inside(pass->source.trace, range, sample->stack)
                        : path_matches(&pass->matches, pass->source.trace, range, sample->path);
        if (match != 1)
            return match;
    }
    *(role == SAMPLE_ROLE_CPU       ? &pass->counts.samples
      : role == SAMPLE_ROLE_OFF_CPU ? &pass->counts.stretches
                                    : &pass->counts.other_samples) += 1;
    struct item *item = &pass->sample;
    item->begin_ns = sample->time_ns;
    item->end_ns = sample_order_ns(sample);
    item->sample = sample;
    return sinks_emit(&pass->samples, item);
}

/* ---- Paths ----------------------------------------------------------------------------------- */

/* Paths are split from the leaf outwards and joined again. Thread-safety: none. */

enum { NODES_MAX = 256 };

/* Ranges of a path, innermost first. */
struct nodes {
    struct range_path items[NODES_MAX];
    uint32_t count;
};

static void take_apart(const struct stacks *stacks, uint32_t path, struct nodes *nodes)
{
    nodes->count = 0;
    for (uint32_t at = path; at != 0 && nodes->count < NODES_MAX;
         at = nodes->items[nodes->count++].parent)
        nodes->items[nodes->count] = *stacks_get_path(stacks, at);
}

static int64_t put_together(struct stacks *stacks, uint32_t outer, struct nodes *nodes)
{
    int64_t path = outer;
    while (nodes->count > 0 && path >= 0) {
        nodes->items[--nodes->count].parent = (uint32_t)path;
        path = stacks_path_add(stacks, &nodes->items[nodes->count]);
    }
    return path;
}

static bool sample_path_is_inherited(const struct stacks *stacks, uint32_t path)
{
    return stacks_get_path(stacks, path)->kind == RANGE_PATH_INHERITED;
}

/* Drops the inherited ranges, which are outermost, if there are others inside. */
static void drop_inherited(struct nodes *nodes)
{
    while (nodes->count > 0 && nodes->items[0].kind != RANGE_PATH_INHERITED &&
           nodes->items[nodes->count - 1].kind == RANGE_PATH_INHERITED)
        nodes->count--;
}

uint32_t sample_path_own(const struct stacks *stacks, uint32_t path)
{
    while (path != 0 && stacks_get_path(stacks, path)->kind == RANGE_PATH_PROBED)
        path = stacks_get_path(stacks, path)->parent;
    return path;
}

static void add_node(struct nodes *nodes, const struct range_path *node)
{
    if (nodes->count < NODES_MAX)
        nodes->items[nodes->count++] = *node;
}

/* Adds the probed ranges at this place of the events' path; returns the path at the thread's own
 * next range. */
static uint32_t add_probed(const struct stacks *stacks, uint32_t told, struct nodes *nodes)
{
    for (uint32_t own = sample_path_own(stacks, told); told != own;) {
        const struct range_path *node = stacks_get_path(stacks, told);
        add_node(nodes, node);
        told = node->parent;
    }
    return told;
}

/* Both agree: the thread's ranges are those of the events, with their domains; ranges of tracks
 * stay at their place in `read`; inherited ranges are dropped if there are any others. */
static int64_t sample_path_agreed(struct stacks *stacks, uint32_t read, uint32_t told)
{
    struct nodes nodes, joined;
    joined.count = 0; /* the items need no initialisation */
    take_apart(stacks, read, &nodes);
    drop_inherited(&nodes);
    if (told != 0 && nodes.count > 0 && nodes.items[0].kind == RANGE_PATH_INHERITED)
        return told;
    for (uint32_t i = 0; i < nodes.count; i++) {
        bool own = nodes.items[i].kind == RANGE_PATH_THREAD;
        if (own)
            told = add_probed(stacks, told, &joined);
        const struct range_path *node = own && told ? stacks_get_path(stacks, told) : NULL;
        add_node(&joined, node ? node : &nodes.items[i]);
        told = node ? node->parent : told;
    }
    return put_together(stacks, told, &joined);
}

/* True if all ranges of the events' path are among those of the thread, in this order. */
static bool is_among(const struct stacks *stacks, const struct nodes *nodes, uint32_t told,
                     bool cut)
{
    told = sample_path_own(stacks, told);
    for (uint32_t i = 0; i < nodes->count && told != 0; i++) {
        const struct range_path *own = stacks_get_path(stacks, told);
        if (nodes->items[i].kind == RANGE_PATH_THREAD && nodes->items[i].name == own->name)
            told = sample_path_own(stacks, own->parent);
    }
    return told == 0 || cut;
}

/* Events may be missing: ranges of the thread in `read` that the events lack become
 * RANGE_PATH_UNRECORDED. `cut`: the outermost are missing in `read`. */
static int64_t sample_path_unsure(struct stacks *stacks, uint32_t read, uint32_t told, bool cut)
{
    struct nodes nodes, joined;
    joined.count = 0; /* the items need no initialisation */
    take_apart(stacks, read, &nodes);
    drop_inherited(&nodes);
    while (!is_among(stacks, &nodes, told, cut))
        told = stacks_get_path(stacks, told)->parent;
    for (uint32_t i = 0; i < nodes.count; i++) {
        struct range_path node = nodes.items[i];
        if (node.kind == RANGE_PATH_THREAD) {
            told = add_probed(stacks, told, &joined);
            const struct range_path own = *stacks_get_path(stacks, told);
            bool same = told != 0 && node.name == own.name;
            node.kind = RANGE_PATH_UNRECORDED;
            node = same ? own : node;
            told = same ? own.parent : told;
        }
        add_node(&joined, &node);
    }
    return put_together(stacks, told, &joined);
}

int64_t sample_path_inherited(struct stacks *stacks, uint32_t path)
{
    struct nodes nodes;
    take_apart(stacks, path, &nodes);
    for (uint32_t i = 0; i < nodes.count; i++)
        nodes.items[i].kind = RANGE_PATH_INHERITED;
    return put_together(stacks, 0, &nodes);
}

/* True if both have the same names. */
static bool sample_path_same_names(const struct stacks *stacks, uint32_t a, uint32_t b)
{
    for (;;) {
        a = sample_path_own(stacks, a);
        b = sample_path_own(stacks, b);
        if (a == 0 || b == 0)
            return a == b;
        const struct range_path *left = stacks_get_path(stacks, a);
        const struct range_path *right = stacks_get_path(stacks, b);
        if (left->name != right->name)
            return false;
        a = left->parent;
        b = right->parent;
    }
}

static int64_t edge_after(int64_t time_ns)
{
    return time_ns > INT64_MAX - PATH_EDGE_NS ? INT64_MAX : time_ns + PATH_EDGE_NS;
}

static struct lane_samples *lane_samples_create(const struct lane *lane)
{
    struct lane_samples *samples = calloc(1, sizeof(*samples));
    if (samples)
        samples->off_ns = lane->since_ns;
    return samples;
}

void lane_samples_free(struct lane *lane)
{
    if (!lane->samples)
        return;
    vec_free(&lane->samples->items);
    free(lane->samples);
    lane->samples = NULL;
}

/* ---- Open ranges ----------------------------------------------------------------------------- */

int64_t range_path_add(struct pass *pass, uint32_t parent, const struct event *begin)
{
    if (event_is_python_call(pass->source.trace, begin))
        return parent;
    const struct range_path node = {.parent = parent,
                                    .name = begin->name,
                                    .kind = begin->kind == EVENT_SPAN ? RANGE_PATH_PROBED
                                                                      : RANGE_PATH_THREAD,
                                    .scope = begin->scope};
    return stacks_path_add(trace_stacks(pass->source.trace), &node);
}

/* Outermost first: each needs the one around it. */
int64_t lane_path(struct pass *pass, struct lane *lane)
{
    size_t known = lane->open.count;
    while (known > 0 && lane->open.items[known - 1].path == 0)
        known--;
    uint32_t parent = known > 0 ? lane->open.items[known - 1].path : 0;
    for (size_t i = known; i < lane->open.count; i++) {
        int64_t path = range_path_add(pass, parent, &lane->open.items[i].begin);
        if (path < 0)
            return path;
        parent = lane->open.items[i].path = (uint32_t)path;
    }
    return parent;
}

/* True if the thread's own ranges in the path read equal those of the events. A name that did not
 * fit the program's table equals any. */
static bool agrees(const struct stacks *stacks, const struct sample *sample, uint32_t told)
{
    const struct range_path *node;
    told = sample_path_own(stacks, told);
    for (uint32_t at = sample->path; at != 0; at = node->parent) {
        node = stacks_get_path(stacks, at);
        if (node->kind != RANGE_PATH_THREAD)
            continue;
        const struct range_path *own = stacks_get_path(stacks, told);
        if (told == 0 || (node->name != 0 && node->name != own->name))
            return false;
        told = sample_path_own(stacks, own->parent);
    }
    return told == 0 || (sample->flags & SAMPLE_PATH_CUT);
}

/* Path open from the lane's since_ns until that time. */
struct stretch {
    int64_t until_ns;
    uint32_t path;
    bool unsure; /* events were lost before, or later ones are missing */
};

static void compare(const struct pass *pass, const struct lane *lane, struct waiting_sample *at,
                    const struct stretch *stretch)
{
    bool inside = at->time_ns >= lane->since_ns && at->time_ns < stretch->until_ns;
    if (inside) {
        at->told = stretch->path;
        at->verdict |= stretch->unsure ? PATH_UNSURE : 0;
    }
    if (!(at->sample.flags & SAMPLE_PATH_KNOWN) || edge_after(at->time_ns) < lane->since_ns ||
        (at->verdict & PATH_AGREES) || ((at->verdict & PATH_AT_EDGE) && !inside) ||
        !agrees(trace_stacks_get(pass->source.trace), &at->sample, stretch->path))
        return;
    at->agreed = stretch->path;
    at->verdict |= inside ? PATH_AGREES : PATH_AT_EDGE;
}

/* ---- Off the CPU ----------------------------------------------------------------------------- */

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Waiting items move: up to two values are stored with their sample, and the pointer is set before
 * use. */
static void waiting_values(struct waiting_sample *at)
{
    if (at->sample.value_count <= 2)
        at->sample.values = at->values;
}

static int keep_values(struct pass *pass, struct waiting_sample *at)
{
    if (at->sample.value_count > 2)
        return value_pool_keep(&pass->values, &at->sample);
    for (unsigned i = 0; i < at->sample.value_count; i++)
        at->values[i] = at->sample.values[i];
    return 0;
}

static bool is_stretch(const struct pass *pass, const struct waiting_sample *at)
{
    return !at->fork && sample_role(pass->sets, &at->sample) == SAMPLE_ROLE_OFF_CPU &&
           at->sample.end_ns > at->sample.time_ns;
}

/* Begin of the next stretch, the latest end of this one. */
static int64_t next_stretch_ns(const struct pass *pass, const struct lane_samples *samples,
                               size_t index)
{
    for (size_t i = index + 1; i < samples->items.count; i++) {
        if (is_stretch(pass, &samples->items.items[i]))
            return samples->items.items[i].sample.time_ns;
    }
    return INT64_MAX;
}

/* The part before `time_ns` of a stretch that is cut at `cut_ns`: blocked first. */
static struct off_share share_before(const struct pass *pass, const struct sample *sample,
                                     int64_t cut_ns, int64_t time_ns)
{
    struct off_share whole = sample_off_share(pass->sets, sample), part;
    uint64_t length = whole.blocked_ns + whole.runnable_ns;
    uint64_t room = (uint64_t)cut_ns - (uint64_t)sample->time_ns;
    uint64_t cut = length > room ? length - room : 0;
    whole.runnable_ns -= smaller(cut, whole.runnable_ns);
    uint64_t off = length - cut;
    uint64_t before = smaller(off, (uint64_t)time_ns - (uint64_t)sample->time_ns);
    part.blocked_ns = smaller(before, off - whole.runnable_ns);
    part.runnable_ns = before - part.blocked_ns;
    return part;
}

/* Adds the part before that time of the stretch at off_next. Returns true if that completes it. */
static bool add_stretch(const struct pass *pass, struct lane_samples *samples, int64_t time_ns)
{
    const struct sample *sample = &samples->items.items[samples->off_next].sample;
    waiting_values(&samples->items.items[samples->off_next]);
    int64_t cut_ns = next_stretch_ns(pass, samples, samples->off_next);
    struct off_share part =
        share_before(pass, sample, time_latest(cut_ns, sample->time_ns), time_ns);
    samples->off.blocked_ns += part.blocked_ns - smaller(samples->part.blocked_ns, part.blocked_ns);
    samples->off.runnable_ns +=
        part.runnable_ns - smaller(samples->part.runnable_ns, part.runnable_ns);
    samples->part = part;
    return time_ns >= time_earliest(sample->end_ns, cut_ns);
}

struct off_share lane_off_until(const struct pass *pass, struct lane *lane, int64_t time_ns)
{
    struct lane_samples *samples = lane->samples;
    samples->off_ns = time_latest(samples->off_ns, time_ns);
    while (samples->off_next < samples->items.count) {
        const struct waiting_sample *at = &samples->items.items[samples->off_next];
        if (at->sample.time_ns >= time_ns ||
            (is_stretch(pass, at) && !at->off_done && !add_stretch(pass, samples, time_ns)))
            break;
        samples->off_next++;
        samples->part = (struct off_share){0};
    }
    return samples->off;
}

/* Adds the part of a stretch before `off_ns` to all open ranges, except the part before they
 * began. */
static struct off_share add_passed(const struct pass *pass, struct lane *lane,
                                   const struct sample *sample, int64_t cut_ns)
{
    struct off_share passed = share_before(pass, sample, cut_ns, lane->samples->off_ns);
    lane->samples->off.blocked_ns += passed.blocked_ns;
    lane->samples->off.runnable_ns += passed.runnable_ns;
    for (size_t i = 0; i < lane->open.count; i++) {
        struct open_range *range = &lane->open.items[i];
        if (range->begin.time_ns <= sample->time_ns)
            continue;
        struct off_share part = share_before(pass, sample, cut_ns, range->begin.time_ns);
        range->off.blocked_ns += part.blocked_ns;
        range->off.runnable_ns += part.runnable_ns;
    }
    return passed;
}

/* Adds a stretch, now at `index`, that began before `off_ns`. Its rest, if any, is added as the
 * lane goes on, as the first unfinished stretch, unless it overlaps others. */
static void add_late(const struct pass *pass, struct lane *lane, size_t index)
{
    struct lane_samples *samples = lane->samples;
    struct waiting_sample *at = &samples->items.items[index];
    waiting_values(at);
    int64_t cut_ns = time_latest(next_stretch_ns(pass, samples, index), at->sample.time_ns);
    bool rest = time_earliest(at->sample.end_ns, cut_ns) > samples->off_ns;
    if (rest && index > samples->off_next)
        return;
    struct off_share passed = add_passed(pass, lane, &at->sample, cut_ns);
    at->off_done = !rest;
    if (rest) {
        samples->off_next = index;
        samples->part = passed;
    } else if (index <= samples->off_next) {
        samples->off_next++;
    }
}

/* Latest time at which a stretch can be in ranges, if no events come before `until_ns`: earlier
 * than that only for a thread with an ended process. */
static int64_t ranges_until(const struct pass *pass, uint32_t thread, int64_t until_ns)
{
    const struct trace *trace = pass->source.trace;
    const struct trace_process *process = trace_process_get(trace, pass_process_of(pass, thread));
    bool known = process && (process->end_ns || process->known_until_ns);
    return known || until_ns == INT64_MAX ? time_earliest(until_ns, pair_end_ns(pass, thread))
                                          : until_ns;
}

/* No events come before `until_ns`; INT64_MAX: no more events. */
static void settle_off(struct pass *pass, uint32_t thread, int64_t until_ns)
{
    struct lane *lane = &pass->lanes.items[thread];
    int64_t end_ns = ranges_until(pass, thread, until_ns);
    lane_off_until(pass, lane, time_earliest(end_ns, pass->selection.to_ns));
    if (until_ns == INT64_MAX) {
        lane->samples->off_next = lane->samples->items.count;
        lane->samples->part = (struct off_share){0};
    }
}

/* ---- Waiting --------------------------------------------------------------------------------- */

/* Drops the samples that were handed out and added up. */
static void drop_passed(struct pass *pass, struct lane_samples *samples)
{
    size_t passed = samples->next;
    if ((pass->wants & WANT_TIMES) && samples->off_next < passed)
        passed = samples->off_next;
    if (passed < 64 || passed * 2 < samples->items.count)
        return;
    for (size_t i = 0; i < passed; i++)
        if (samples->items.items[i].sample.value_count > 2)
            value_pool_drop(&pass->values, &samples->items.items[i].sample);
    size_t kept = samples->items.count - passed;
    memmove(samples->items.items, samples->items.items + passed,
            kept * sizeof(*samples->items.items));
    samples->items.count = kept;
    samples->next -= passed;
    samples->off_next -= smaller(passed, samples->off_next);
    pass->waiting_count -= passed;
}

static int finish_fork(struct pass *pass, const struct waiting_sample *at)
{
    pass->inherited[at->fork - 1] = at->told;
    pass->inherited_news = true;
    return 0;
}

/* Threads without events have only the path that was read. */
static bool has_events(const struct trace *trace, uint32_t thread)
{
    const struct trace_thread *entry = trace_thread_get(trace, thread);
    return entry && (entry->serial != 0 || entry->event_count > 0);
}

static int hand_out(struct pass *pass, struct lane_samples *samples)
{
    struct waiting_sample at = samples->items.items[samples->next++];
    waiting_values(&at);
    if (at.fork)
        return finish_fork(pass, &at);
    bool told = has_events(pass->source.trace, at.sample.thread);
    return sample_finish(pass, &at.sample, told ? &at : NULL);
}

/* True if a sample is not to be compared until that time. `changes`: the open ranges change then;
 * else only samples wholly before it are compared. */
static bool is_later(const struct waiting_sample *at, int64_t until_ns, bool changes)
{
    int64_t last_ns = changes ? edge_before(at->time_ns) : edge_after(at->time_ns);
    return last_ns >= until_ns && until_ns != INT64_MAX;
}

/* Compares those near enough, and hands out those before. */
static int settle(struct pass *pass, struct lane *lane, const struct stretch *stretch, bool changes)
{
    struct lane_samples *samples = lane->samples;
    int status = 0;
    for (size_t i = samples->next; !status && i < samples->items.count; i++) {
        struct waiting_sample *at = &samples->items.items[i];
        if (is_later(at, stretch->until_ns, changes))
            break;
        compare(pass, lane, at, stretch);
        bool passed = edge_after(at->time_ns) < stretch->until_ns || stretch->until_ns == INT64_MAX;
        if (passed && i == samples->next)
            status = hand_out(pass, samples);
    }
    return status;
}

static int settle_lane(struct pass *pass, struct lane *lane, int64_t until_ns, bool changes,
                       bool final)
{
    struct lane_samples *samples = lane->samples;
    if (samples->next == samples->items.count ||
        is_later(&samples->items.items[samples->next], until_ns, changes))
        return 0; /* saves computing a path for each range */
    bool ended = trace_session_get(pass->source.trace)->end_ns != 0;
    int64_t path = lane_path(pass, lane);
    const struct stretch stretch = {until_ns, (uint32_t)path, lane->lossy || (final && !ended)};
    return path < 0 ? (int)path : settle(pass, lane, &stretch, changes);
}

int lane_samples_settle(struct pass *pass, struct lane *lane, int64_t until_ns, bool final)
{
    int status = settle_lane(pass, lane, until_ns, true, final);
    drop_passed(pass, lane->samples);
    return status;
}

/* A recording that was cut may lack the last events of a thread: its last samples wait for the end
 * as long as there is room. */
int samples_settle(struct pass *pass, int64_t until_ns, bool final)
{
    bool ended = trace_session_get(pass->source.trace)->end_ns != 0;
    size_t kept = 0;
    int status = 0;
    if (!ended && !final && pass->waiting_count < SAMPLES_WAITING_MAX / 2)
        return 0;
    for (size_t i = 0; !status && i < pass->waiting_lanes.count; i++) {
        uint32_t thread = pass->waiting_lanes.items[i];
        struct lane *lane = &pass->lanes.items[thread];
        if (pass->wants & WANT_TIMES)
            settle_off(pass, thread, until_ns);
        status = settle_lane(pass, lane, until_ns, false, final);
        drop_passed(pass, lane->samples);
        lane->samples->listed = lane->samples->next < lane->samples->items.count;
        if (lane->samples->listed)
            pass->waiting_lanes.items[kept++] = thread;
    }
    pass->waiting_lanes.count = status ? pass->waiting_lanes.count : kept;
    return status;
}

/* Inserts the last item by time: the input is nearly sorted. */
static void put_in_place(struct pass *pass, struct lane *lane)
{
    struct lane_samples *samples = lane->samples;
    struct waiting_sample *items = samples->items.items;
    size_t at = samples->items.count - 1, first = samples->next;
    if (items[at].time_ns < lane->since_ns) {
        pass->late_samples++;
        items[at].time_ns = lane->since_ns;
    }
    for (; at > first && items[at - 1].time_ns > items[at].time_ns; at--) {
        struct waiting_sample swapped = items[at - 1];
        items[at - 1] = items[at];
        items[at] = swapped;
    }
    if (is_stretch(pass, &items[at]) && items[at].sample.time_ns < samples->off_ns)
        add_late(pass, lane, at);
    else if (at < samples->off_next)
        samples->off_next++;
}

static int insert(struct pass *pass, uint32_t thread, const struct waiting_sample *fresh)
{
    struct lane *lane = pass_lane(pass, thread);
    if (lane && !lane->samples)
        lane->samples = lane_samples_create(lane);
    struct lane_samples *samples = lane ? lane->samples : NULL;
    struct waiting_sample kept = *fresh;
    if (!samples || keep_values(pass, &kept) != 0 || vec_push(&samples->items, kept) != 0)
        return -ENOMEM;
    put_in_place(pass, lane);
    pass->waiting_count++;
    if (samples->listed)
        return 0;
    samples->listed = true;
    return vec_push(&pass->waiting_lanes, thread);
}

static int take_whole(struct pass *pass, const struct sample *sample)
{
    struct waiting_sample fresh = {.sample = *sample, .time_ns = sample->time_ns};
    int64_t values[SAMPLE_VALUES_MAX];
    const struct sample_set *set = sample_set_get(pass->sets, sample->set);
    if (!pass_selects_sample(&pass->selection, pass->sets, &fresh.sample, values))
        return 0;
    if (set->flags & SAMPLE_SET_INTERVAL) /* it has no instant, and so no path */
        return sample_emit(pass, &fresh.sample);
    bool path = (pass->wants & WANT_PATHS) && has_events(pass->source.trace, sample->thread);
    bool times = (pass->wants & WANT_TIMES) && set->role == SAMPLE_ROLE_OFF_CPU &&
                 trace_thread_get(pass->source.trace, sample->thread);
    if (path || times)
        return insert(pass, sample->thread, &fresh);
    return sample_finish(pass, &fresh.sample, NULL);
}

/* With --capture-range, takes the parts inside of it: a wait may outlast several ranges. */
static int take_captured(struct pass *pass, const struct sample *sample)
{
    const struct trace *trace = pass->source.trace;
    const struct trace_thread *thread = trace_thread_get(trace, sample->thread);
    int64_t values[SAMPLE_VALUES_MAX], told_ns = sample_order_ns(sample);
    size_t count = 0;
    int status = 0;
    const struct trace_capture *capture =
        thread ? trace_captures_from(trace, thread->process, sample->time_ns, &count) : NULL;
    for (; status == 0 && count > 0 && capture->process == thread->process; capture++, count--) {
        struct sample part = *sample;
        if (capture->from_ns > told_ns)
            break;
        if (sample_cut(pass->sets, &part, capture->from_ns, capture->to_ns, values))
            status = take_whole(pass, &part);
    }
    return status;
}

static int take(struct pass *pass, const struct sample *sample)
{
    enum sample_role role = sample_role(pass->sets, sample);
    if (pass->launches && role == SAMPLE_ROLE_LAUNCH && origins_launch(pass, sample) != 0)
        return -ENOMEM;
    bool is_limited =
        role == SAMPLE_ROLE_CPU || role == SAMPLE_ROLE_OFF_CPU || role == SAMPLE_ROLE_SHORT_WAITS;
    if (trace_captures(pass->source.trace) == CAPTURES_FAILED)
        return -ENOMEM;
    if (is_limited && trace_captures(pass->source.trace) == CAPTURES_KNOWN)
        return take_captured(pass, sample);
    return take_whole(pass, sample);
}

bool samples_room(const struct pass *pass)
{
    return pass->waiting_count < SAMPLES_WAITING_MAX;
}

int samples_read_some(struct pass *pass, int64_t time_ns)
{
    struct sample_batch batch;
    if (pass->samples_ended || pass->samples_settled_ns > edge_after(time_ns) ||
        !samples_room(pass))
        return 0;
    int status = pass->source.next_samples(pass->source.context, &batch);
    pass->samples_ended = status == 0;
    if (status <= 0)
        return status;
    pass->samples_settled_ns = batch.settled_ns;
    status = 0;
    for (uint32_t i = 0; !status && i < batch.count; i++)
        status = take(pass, &batch.samples[i]);
    return status ? status : 1;
}

/* ---- Forks ----------------------------------------------------------------------------------- */

int samples_start(struct pass *pass)
{
    const struct trace *trace = pass->source.trace;
    uint32_t count = trace_process_count(trace);
    pass->inherited = calloc((size_t)count + 1, sizeof(*pass->inherited));
    int error = pass->inherited ? 0 : -ENOMEM;
    for (uint32_t i = 0; !error && i < count; i++) {
        const struct trace_process *process = trace_process_get(trace, i);
        const struct waiting_sample fork = {.time_ns = process->fork_ns, .fork = i + 1};
        bool told =
            process->forked && process->fork_ns != 0 && has_events(trace, process->fork_thread - 1);
        pass->inherited[i] = told ? -1 : 0;
        if (told)
            error = insert(pass, process->fork_thread - 1, &fork);
    }
    return error;
}
