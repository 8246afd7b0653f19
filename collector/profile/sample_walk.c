/* SPDX-License-Identifier: MIT */
/* Two passes over the samples: the first notes those whose path must be found out, the second hands
 * them out in the same order. Thread-safety: none. */
#include "sample_walk.h"

#include "path_points.h"
#include "sample_path.h"
#include "text.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { GENERATIONS_MAX = 64 };

struct sample_walk {
    struct sample_source source;
    struct sample_filter filter;
    struct path_points points;
    uint32_t next_point;
    struct path_points forks; /* what was open when processes were forked */
    uint32_t *fork_points;    /* by process: index in `forks` + 1 */
    const struct sample *samples;
    uint32_t at, count;
    struct sample sample;
    VEC(uint8_t) matches; /* of paths: 1 if some range of it has the name */
    struct sample_walk_checks checks;
};

/* Threads without events have no path but what was read. */
static bool has_events(const struct trace *trace, uint32_t ordinal)
{
    const struct trace_thread *thread = trace_thread_get(trace, ordinal);
    return thread && (thread->serial != 0 || thread->event_count > 0);
}

/* The process whose ranges at its fork the sample's thread inherited, or NULL. */
static const struct trace_process *heir(const struct trace *trace, uint32_t thread_ordinal)
{
    const struct trace_thread *thread = trace_thread_get(trace, thread_ordinal);
    const struct trace_process *process = thread ? trace_process_get(trace, thread->process) : NULL;
    bool forked = process && process->forked && process->fork_ns != 0 &&
                  trace_thread_get(trace, process->fork_thread - 1) != NULL;
    return forked && thread->tid == process->ns_pid ? process : NULL;
}

/* Notes the forks that a thread's ranges may come from. */
static int note_forks(struct sample_walk *walk, uint32_t thread)
{
    const struct trace *trace = walk->source.trace;
    const struct trace_process *process;
    int error = 0;
    while (!error && (process = heir(trace, thread)) != NULL) {
        uint32_t *point = &walk->fork_points[trace_thread_get(trace, thread)->process];
        if (*point != 0)
            break;
        thread = process->fork_thread - 1;
        error = path_points_note(
            &walk->forks, &(struct path_point){.time_ns = process->fork_ns, .thread = thread});
        *point = (uint32_t)walk->forks.points.count;
    }
    return error;
}

static uint32_t inherited_path(const struct sample_walk *walk, uint32_t thread)
{
    const struct trace *trace = walk->source.trace;
    const struct trace_process *process;
    for (int i = 0; i < GENERATIONS_MAX && (process = heir(trace, thread)) != NULL; i++) {
        uint32_t point = walk->fork_points[trace_thread_get(trace, thread)->process];
        uint32_t path = point ? walk->forks.answers.items[point - 1].told : 0;
        if (path != 0)
            return path;
        thread = process->fork_thread - 1;
    }
    return 0;
}

static bool passes_kind_and_owner(const struct sample_walk *walk, const struct sample *sample)
{
    const struct sample_filter *filter = &walk->filter;
    const struct trace_thread *thread = trace_thread_get(walk->source.trace, sample->thread);
    return thread && (!filter->kind || filter->kind == sample->kind) &&
           (!filter->thread || filter->thread == sample->thread + 1) &&
           (!filter->process || filter->process == thread->process + 1);
}

static int note_one(struct sample_walk *walk, const struct sample *sample)
{
    const struct trace *trace = walk->source.trace;
    const struct path_point point = {.time_ns = sample->time_ns,
                                     .thread = sample->thread,
                                     .read = sample->path,
                                     .known = sample->flags & SAMPLE_PATH_KNOWN,
                                     .cut = sample->flags & SAMPLE_PATH_CUT};
    int error = 0;
    if (!passes_kind_and_owner(walk, sample))
        return 0;
    if (has_events(trace, sample->thread))
        error = path_points_note(&walk->points, &point);
    if (!error && (!point.known || sample_path_is_inherited(trace_stacks_get(trace), point.read)))
        error = note_forks(walk, sample->thread);
    return error;
}

static int note_all(struct sample_walk *walk)
{
    const struct sample_source *source = &walk->source;
    const struct sample *samples;
    uint32_t count;
    int status;
    while ((status = source->next_samples(source->context, &samples, &count)) == 1)
        for (uint32_t i = 0; i < count; i++)
            if (note_one(walk, &samples[i]) != 0)
                return -ENOMEM;
    return status;
}

static int resolve_all(struct sample_walk *walk)
{
    const struct sample_source *source = &walk->source;
    struct event_batch batch;
    int status = path_points_start(&walk->points, source->trace);
    if (!status)
        status = path_points_start(&walk->forks, source->trace);
    while (!status && (status = source->next_batch(source->context, &batch)) == 1) {
        status = path_points_feed(&walk->points, source->trace, &batch);
        if (!status)
            status = path_points_feed(&walk->forks, source->trace, &batch);
    }
    path_points_finish(&walk->points);
    path_points_finish(&walk->forks);
    return status;
}

static int prepare(struct sample_walk *walk)
{
    const struct sample_source *source = &walk->source;
    int status = source->rewind(source->context);
    if (!status)
        status = note_all(walk);
    if (!status && walk->points.points.count + walk->forks.points.count > 0)
        status = resolve_all(walk);
    vec_free(&walk->points.points);
    vec_free(&walk->forks.points);
    return status ? status : source->rewind(source->context);
}

int sample_walk_create(const struct sample_source *source, const struct sample_filter *filter,
                       struct sample_walk **ret_walk)
{
    struct sample_walk *walk = calloc(1, sizeof(*walk));
    if (!walk)
        return -ENOMEM;
    walk->source = *source;
    walk->filter = *filter;
    walk->fork_points =
        calloc((size_t)trace_process_count(source->trace) + 1, sizeof(*walk->fork_points));
    int status = walk->fork_points ? prepare(walk) : -ENOMEM;
    if (status) {
        sample_walk_destroy(walk);
        return status;
    }
    *ret_walk = walk;
    return 0;
}

void sample_walk_destroy(struct sample_walk *walk)
{
    if (!walk)
        return;
    path_points_fini(&walk->points);
    path_points_fini(&walk->forks);
    free(walk->fork_points);
    vec_free(&walk->matches);
    free(walk);
}

/* The path of a sample that was read; *answer: what its thread's events say. -ENOMEM. */
static int64_t judge(struct sample_walk *walk, const struct sample *sample,
                     const struct path_answer *answer)
{
    struct stacks *stacks = trace_stacks(walk->source.trace);
    walk->checks.checked++;
    if (answer->verdict & (PATH_AGREES | PATH_AT_EDGE)) {
        walk->checks.at_edge += !(answer->verdict & PATH_AGREES);
        return sample_path_agreed(stacks, sample->path, answer->agreed);
    }
    if (answer->verdict & PATH_UNSURE) {
        walk->checks.unsure++;
        return sample_path_unsure(stacks, sample->path, answer->told,
                                  sample->flags & SAMPLE_PATH_CUT);
    }
    walk->checks.contradicted++;
    return answer->told;
}

/* By the events of its thread, if there are any. -ENOMEM. */
static int64_t find_own(struct sample_walk *walk, const struct sample *sample)
{
    bool known = sample->flags & SAMPLE_PATH_KNOWN;
    struct stacks *stacks = trace_stacks(walk->source.trace);
    if (!has_events(walk->source.trace, sample->thread))
        return known ? sample_path_unsure(stacks, sample->path, 0, false) : sample->path;
    if (walk->next_point >= walk->points.answers.count)
        return sample->path;
    const struct path_answer *answer = &walk->points.answers.items[walk->next_point++];
    return known ? judge(walk, sample, answer) : answer->told;
}

/* What the thread inherited, as the events of those who forked tell it, with domains. -ENOMEM. */
static int64_t find_inherited(struct sample_walk *walk, const struct sample *sample, uint32_t path)
{
    struct stacks *stacks = trace_stacks(walk->source.trace);
    uint32_t told = inherited_path(walk, sample->thread);
    bool better = told != 0 && (path == 0 || sample_path_same_names(stacks, path, told));
    return better ? sample_path_inherited(stacks, told) : path;
}

static int find_path(struct sample_walk *walk, struct sample *sample)
{
    const struct stacks *stacks = trace_stacks_get(walk->source.trace);
    bool known = sample->flags & SAMPLE_PATH_KNOWN;
    int64_t path = find_own(walk, sample);
    if (path >= 0 && (path == 0 ? !known : sample_path_is_inherited(stacks, (uint32_t)path)))
        path = find_inherited(walk, sample, (uint32_t)path);
    if (path < 0)
        return (int)path;
    sample->path = (uint32_t)path;
    sample->flags &= (uint8_t)~SAMPLE_PATH_CUT;
    sample->flags |= SAMPLE_PATH_KNOWN;
    return 0;
}

static bool is_wanted_name(const struct sample_walk *walk, uint32_t name)
{
    const char *text = trace_string(walk->source.trace, name)->bytes;
    if (walk->filter.pattern)
        return text_matches(walk->filter.range, text);
    return walk->filter.exact ? strcmp(text, walk->filter.range) == 0
                              : strstr(text, walk->filter.range) != NULL;
}

/* Whether some range of the path has the name. Looks at each path once: parents come first. */
static int passes_range(struct sample_walk *walk, uint32_t path)
{
    const struct stacks *stacks = trace_stacks_get(walk->source.trace);
    while (walk->matches.count <= path) {
        uint32_t next = (uint32_t)walk->matches.count;
        const struct range_path *entry = stacks_get_path(stacks, next);
        bool inside = next != 0 && walk->matches.items[entry->parent];
        bool match = inside || (next != 0 && is_wanted_name(walk, entry->name));
        if (vec_push(&walk->matches, match) != 0)
            return -ENOMEM;
    }
    return walk->matches.items[path];
}

/* 1 if it is wanted. */
static int take_sample(struct sample_walk *walk, const struct sample *sample)
{
    if (!passes_kind_and_owner(walk, sample))
        return 0;
    walk->sample = *sample;
    int error = find_path(walk, &walk->sample);
    if (error)
        return error;
    return walk->filter.range ? passes_range(walk, walk->sample.path) : 1;
}

int sample_walk_next(struct sample_walk *walk, const struct sample **ret_sample)
{
    const struct sample_source *source = &walk->source;
    int status = 0;
    *ret_sample = &walk->sample;
    while (status == 0) {
        if (walk->at == walk->count) {
            walk->at = walk->count = 0;
            status = source->next_samples(source->context, &walk->samples, &walk->count);
            if (status != 1)
                return status;
        }
        status = walk->at < walk->count ? take_sample(walk, &walk->samples[walk->at++]) : 0;
    }
    return status;
}

struct sample_walk_checks sample_walk_checks(const struct sample_walk *walk)
{
    struct sample_walk_checks checks = walk->checks;
    checks.unresolved = walk->points.refused;
    return checks;
}
