/* SPDX-License-Identifier: MIT */
/* The path of ranges of a sample: what was read together with it, held against what the events of
 * its thread tell; of a forked process outside of its own ranges, what it inherited. Where both
 * contradict each other, the events are believed, of which the rows of reports are made, and the
 * sample is counted. Where events were lost, ranges that only the live stack knows are
 * RANGE_PATH_UNRECORDED. Thread-safety: none. */
#include "read_parts.h"

enum { GENERATIONS_MAX = 64 };

/* The process whose ranges at its fork the thread inherited, or NULL. */
static const struct trace_process *heir_process(const struct trace *trace, uint32_t ordinal)
{
    const struct trace_thread *thread = trace_thread_get(trace, ordinal);
    const struct trace_process *process = thread ? trace_process_get(trace, thread->process) : NULL;
    bool forked = process && process->forked && process->fork_ns != 0 &&
                  trace_thread_get(trace, process->fork_thread - 1) != NULL;
    return forked && thread->tid == process->ns_pid ? process : NULL;
}

/* What was open when its process was forked, or the one before; -1: not known yet. */
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

/* The path of a sample that was read. -ENOMEM. */
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

static int64_t find_own(struct pass *pass, const struct sample *sample,
                        const struct waiting_sample *answer)
{
    bool known = sample->flags & SAMPLE_PATH_KNOWN;
    if (answer)
        return known ? judge(pass, sample, answer) : answer->told;
    struct stacks *stacks = trace_stacks(pass->source.trace);
    return known ? sample_path_unsure(stacks, sample->path, 0, false) : sample->path;
}

static int tell_with_path(struct pass *pass, const struct sample *sample, int64_t path)
{
    struct sample told = *sample;
    if (path < 0)
        return (int)path;
    told.path = (uint32_t)path;
    told.flags &= (uint8_t)~SAMPLE_PATH_CUT;
    told.flags |= SAMPLE_PATH_KNOWN;
    return sample_tell(pass, &told);
}

/* What the thread inherited, as the events of those who forked tell it, with domains. */
static int tell_inherited(struct pass *pass, const struct sample *sample, uint32_t path,
                          uint32_t told)
{
    struct stacks *stacks = trace_stacks(pass->source.trace);
    bool better = told != 0 && (path == 0 || sample_path_same_names(stacks, path, told));
    return tell_with_path(pass, sample, better ? sample_path_inherited(stacks, told) : path);
}

int sample_finish(struct pass *pass, const struct sample *sample,
                  const struct waiting_sample *answer)
{
    struct sample copy = *sample;
    if (!(pass->wants & WANT_PATHS))
        return sample_tell(pass, &copy);
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
    return heir ? tell_inherited(pass, sample, (uint32_t)path, (uint32_t)told)
                : tell_with_path(pass, sample, path);
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
        status = tell_inherited(pass, &heir.sample, heir.path, told > 0 ? (uint32_t)told : 0);
        value_pool_drop(&pass->values, &heir.sample);
    }
    pass->heirs.count = status ? pass->heirs.count : kept;
    pass->inherited_news = false;
    return status;
}

int sample_tell(struct pass *pass, struct sample *sample)
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
    item->end_ns = sample_told_ns(sample);
    item->sample = sample;
    return sinks_tell(&pass->samples, item);
}

/* ---- Paths ----------------------------------------------------------------------------------- */

/* Paths are taken apart from the leaf outwards and put together again. Thread-safety: none. */

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

bool sample_path_is_inherited(const struct stacks *stacks, uint32_t path)
{
    return stacks_get_path(stacks, path)->kind == RANGE_PATH_INHERITED;
}

/* What a process inherited is around all of its own: it goes if there are any. */
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

/* What an observer knows at this place of `told`, whose next range is the thread's own then. */
static uint32_t add_probed(const struct stacks *stacks, uint32_t told, struct nodes *nodes)
{
    for (uint32_t own = sample_path_own(stacks, told); told != own;) {
        const struct range_path *node = stacks_get_path(stacks, told);
        add_node(nodes, node);
        told = node->parent;
    }
    return told;
}

int64_t sample_path_agreed(struct stacks *stacks, uint32_t read, uint32_t told)
{
    struct nodes nodes, joined;
    joined.count = 0; /* the rest is not looked at */
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

/* Whether all ranges of `told` are among those of the thread, in this order. */
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

int64_t sample_path_unsure(struct stacks *stacks, uint32_t read, uint32_t told, bool cut)
{
    struct nodes nodes, joined;
    joined.count = 0; /* the rest is not looked at */
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

bool sample_path_same_names(const struct stacks *stacks, uint32_t a, uint32_t b)
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
