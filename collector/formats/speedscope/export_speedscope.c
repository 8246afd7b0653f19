/* SPDX-License-Identifier: MIT */
/* Exports speedscope's own format: an "evented" profile of ranges for each timeline, and for each
 * thread a "sampled" one of its CPU samples and one of its waits.
 *
 * Ranges that may overlap are spread over several profiles (shelves.h). The format wants each
 * profile in one piece, so they go through a spool. Times are nanoseconds since the recording
 * began. Thread-safety: none. */
#include "export_facts.h"
#include "json_writer.h"
#include "profile_frames.h"
#include "sample_weight.h"
#include "shelves.h"
#include "spool.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENT_SIZE = 96, KNOWN_TEXT_MAX = 16 << 20 };

enum profile_kind { PROFILE_RANGES = 0, PROFILE_SAMPLES, PROFILE_WAITS, PROFILE_KINDS };

struct profile {
    uint8_t kind;           /* enum profile_kind */
    uint32_t events;        /* stream of events; of stacks if sampled */
    uint32_t weights;       /* stream */
    uint64_t count, weight; /* number of entries, and their sum */
    int64_t first_ns, last_ns;
    VEC(uint32_t) open; /* open frames */
    char *title;        /* owned */
};

/* Ranges of a lane that may overlap. */
struct lane_shelves {
    struct shelves shelves;
    VEC(uint32_t) profiles; /* by shelf */
};

struct state {
    const struct export_job *job;
    const struct trace *trace;
    int64_t begin_ns;
    struct profile_frames frames;
    struct spool spool;
    VEC(struct profile) profiles;
    uint32_t (*of_thread)[PROFILE_KINDS]; /* profile + 1; 0 until added */
    uint32_t thread_count;
    struct track_groups groups;
    struct map64 lanes; /* kind << 32 | process or lane: index + 1 of `shelves` */
    VEC(struct lane_shelves) shelves;
    struct sample_weight weight; /* chosen by an option */
    struct map64 stacks;         /* stack + 1: begin << 32 | end in `texts` */
    VEC(char) texts;             /* frames of each stack: numbers joined by commas */
};

/* ---- Profiles -------------------------------------------------------------------------------- */

static int64_t add_profile(struct state *s, enum profile_kind kind, const char *title)
{
    struct profile profile = {.kind = (uint8_t)kind, .last_ns = INT64_MIN, .title = strdup(title)};
    profile.events = spool_add(&s->spool);
    profile.weights = kind == PROFILE_RANGES ? 0 : spool_add(&s->spool);
    if (profile.title && vec_push(&s->profiles, profile) == 0)
        return (int64_t)s->profiles.count - 1;
    free(profile.title);
    return -ENOMEM;
}

static int64_t thread_profile(struct state *s, uint32_t thread, enum profile_kind kind)
{
    static const char *const endings[] = {"ranges", "CPU samples", "waits"};
    char title[PROFILE_TITLE_SIZE + 64];
    uint32_t *place = &s->of_thread[thread][kind];
    if (*place)
        return *place - INT64_C(1);
    profile_full_title(s->trace, thread, title);
    struct text text = {title, sizeof(title), strlen(title)};
    const char *value = s->job->options->value;
    text_format(&text, ": %.40s", kind == PROFILE_SAMPLES && value ? value : endings[kind]);
    int64_t number = add_profile(s, kind, title);
    *place = number < 0 ? 0 : (uint32_t)number + 1;
    return number;
}

/* Writes an "O" or "C" event. Clamps times that go back, as those of foreign recordings may. */
static void put_event(struct state *s, struct profile *profile, char type, uint32_t frame,
                      int64_t time_ns)
{
    uint8_t text[EVENT_SIZE], *at = text;
    int64_t at_ns = time_ns - s->begin_ns;
    if (at_ns < profile->last_ns)
        at_ns = profile->last_ns;
    if (profile->count++ == 0)
        profile->first_ns = at_ns;
    else
        *at++ = ',';
    profile->last_ns = at_ns;
    at = json_put_literal(at, "{\"type\":\"");
    *at++ = (uint8_t)type;
    at = json_put_literal(at, "\",\"frame\":");
    at = json_put_uint(at, frame);
    at = json_put_literal(at, ",\"at\":");
    at = json_put_int(at, at_ns);
    *at++ = '}';
    spool_write(&s->spool, profile->events, text, (size_t)(at - text));
}

static int open_range(struct state *s, int64_t number, const struct event *event)
{
    int64_t frame = number < 0 ? number : profile_frames_range(&s->frames, event);
    if (frame < 0)
        return (int)frame;
    struct profile *profile = &s->profiles.items[number];
    put_event(s, profile, 'O', (uint32_t)frame, event->time_ns);
    return vec_push(&profile->open, (uint32_t)frame);
}

static int close_range(struct state *s, int64_t number, int64_t end_ns)
{
    if (number < 0)
        return (int)number;
    struct profile *profile = &s->profiles.items[number];
    if (profile->open.count > 0)
        put_event(s, profile, 'C', profile->open.items[--profile->open.count], end_ns);
    return 0;
}

/* ---- Ranges ---------------------------------------------------------------------------------- */

static int take_nested(struct state *s, const struct item *item)
{
    if (item->event->thread >= s->thread_count ||
        (item->kind != ITEM_OPENED && item->kind != ITEM_SPAN))
        return 0;
    int64_t number = thread_profile(s, item->event->thread, PROFILE_RANGES);
    return item->kind == ITEM_OPENED ? open_range(s, number, item->event)
                                     : close_range(s, number, item->end_ns);
}

static uint32_t process_of(const struct state *s, const struct item *item)
{
    uint32_t thread = item->event->thread;
    const struct trace_lane *lane =
        item->lane == LANE_QUEUE ? trace_lane_get(s->trace, item->event->lane) : NULL;
    if (lane)
        return lane->process;
    return thread < s->thread_count ? trace_thread_get(s->trace, thread)->process : UINT32_MAX;
}

/* Adds a profile for a shelf of overlapping ranges of a process or queue. */
static int64_t add_shelf(struct state *s, const struct item *item, size_t shelf)
{
    char title[PROFILE_TITLE_SIZE + 1400], name[1200] = "overlapping ranges";
    profile_process_title(s->trace, process_of(s, item), title);
    if (item->lane == LANE_QUEUE)
        trace_lane_path(s->trace, item->event->lane, name, sizeof(name));
    struct text text = {title, sizeof(title), strlen(title)};
    text_format(&text, ": %s", name);
    if (shelf > 0)
        text_format(&text, " (%zu)", shelf + 1);
    return add_profile(s, PROFILE_RANGES, title);
}

static struct lane_shelves *find_lane(struct state *s, const struct item *item)
{
    uint32_t at = item->lane == LANE_QUEUE ? item->event->lane : process_of(s, item);
    uint64_t key = (uint64_t)item->lane << 32 | at;
    const uint64_t *known = map64_find(&s->lanes, key);
    if (known)
        return &s->shelves.items[*known - 1];
    if (vec_push(&s->shelves, (struct lane_shelves){0}) != 0 ||
        map64_put(&s->lanes, key, s->shelves.count) != 0)
        return NULL;
    return &s->shelves.items[s->shelves.count - 1];
}

/* Puts a range on the first shelf that is free at its begin, so that each profile is ordered by
 * time. */
static int take_overlapping(struct state *s, const struct item *item)
{
    struct lane_shelves *lane = item->kind == ITEM_SPAN ? find_lane(s, item) : NULL;
    if (!lane)
        return item->kind == ITEM_SPAN ? -ENOMEM : 0;
    int64_t shelf = shelves_take(&lane->shelves, item->event->time_ns, item->end_ns);
    while (shelf >= 0 && (size_t)shelf >= lane->profiles.count) {
        int64_t number = add_shelf(s, item, lane->profiles.count);
        if (number < 0 || vec_push(&lane->profiles, (uint32_t)number) != 0)
            return -ENOMEM;
    }
    if (shelf < 0)
        return (int)shelf;
    int error = open_range(s, lane->profiles.items[shelf], item->event);
    return error ? error : close_range(s, lane->profiles.items[shelf], item->end_ns);
}

static int describe_track(void *context, uint32_t group, int64_t time_ns, uint64_t *ret_id)
{
    struct state *s = context;
    const struct track_group *entry = &s->groups.groups.items[group];
    char title[PROFILE_TITLE_SIZE + 1400];
    profile_process_title(s->trace, entry->process, title);
    struct text text = {title, sizeof(title), strlen(title)};
    text_format(&text, ": %.1200s", track_group_label(&s->groups, group).bytes);
    text.length = utf8_whole(title, text.length);
    title[text.length] = 0;
    if (entry->id_count > 0)
        text_format(&text, " (%u)", entry->id_count + 1);
    int64_t number = add_profile(s, PROFILE_RANGES, title);
    *ret_id = number < 0 ? 0 : (uint64_t)number + 1;
    (void)time_ns;
    return number < 0 ? (int)number : 0;
}

static int take_track(struct state *s, const struct item *item)
{
    const struct event *event = item->event;
    uint64_t id;
    if (item->kind == ITEM_OPENED) {
        int error = track_groups_open(&s->groups, event, item->depth, &id);
        return error ? error : open_range(s, (int64_t)id - 1, event);
    }
    if (item->kind != ITEM_SPAN)
        return 0;
    int error = track_groups_close(&s->groups, event->lane, item->depth, item->end_ns, &id);
    return error ? error : close_range(s, (int64_t)id - 1, item->end_ns);
}

/* ---- Samples --------------------------------------------------------------------------------- */

/* Returns the frames of a stack as text, "3,17,4". Texts are cached up to KNOWN_TEXT_MAX bytes. */
static int find_text(struct state *s, uint32_t stack, const char **ret_text, size_t *ret_size)
{
    uint32_t frames[PROFILE_DEPTH_MAX];
    const uint64_t *known = map64_find(&s->stacks, stack + UINT64_C(1));
    if (!known) {
        if (s->texts.count > KNOWN_TEXT_MAX) {
            map64_free(&s->stacks);
            s->texts.count = 0;
        }
        int64_t count = profile_frames_stack(&s->frames, stack, frames);
        uint64_t begin = s->texts.count;
        if (count < 0 || vec_reserve(&s->texts, (size_t)count * (JSON_INTEGER_MAX + 1)))
            return -ENOMEM;
        uint8_t *at = (uint8_t *)s->texts.items + begin;
        for (int64_t i = 0; i < count; i++) {
            if (i > 0)
                *at++ = ',';
            at = json_put_uint(at, frames[i]);
        }
        s->texts.count = (size_t)(at - (uint8_t *)s->texts.items);
        if (map64_put(&s->stacks, stack + UINT64_C(1), begin << 32 | s->texts.count) != 0)
            return -ENOMEM;
        known = map64_find(&s->stacks, stack + UINT64_C(1));
    }
    *ret_text = s->texts.items + (*known >> 32);
    *ret_size = (size_t)((*known & UINT32_MAX) - (*known >> 32));
    return 0;
}

enum { NO_LEAF = -1 };

/* Writes a sample. `leaf` is a frame above the stack, NO_LEAF, or -ENOMEM. */
static int put_sample(struct state *s, int64_t number, const struct sample *sample, int64_t leaf,
                      uint64_t weight)
{
    const char *frames;
    size_t size;
    uint8_t text[EVENT_SIZE], *at = text;
    int error = number < 0        ? (int)number
                : leaf == -ENOMEM ? -ENOMEM
                                  : find_text(s, sample->stack, &frames, &size);
    if (error)
        return error;
    struct profile *profile = &s->profiles.items[number];
    const char *separator = profile->count++ ? "," : "";
    spool_write(&s->spool, profile->events, separator, strlen(separator));
    spool_write(&s->spool, profile->events, "[", 1);
    spool_write(&s->spool, profile->events, frames, size);
    if (leaf != NO_LEAF) {
        *at++ = ',';
        at = json_put_uint(at, (uint64_t)leaf);
    }
    *at++ = ']';
    spool_write(&s->spool, profile->events, text, (size_t)(at - text));
    at = mempcpy(text, separator, strlen(separator));
    at = json_put_uint(at, weight);
    spool_write(&s->spool, profile->weights, text, (size_t)(at - text));
    profile->weight += weight;
    return 0;
}

/* Writes a wait as two samples: blocked, with its reason, then runnable. */
static int take_wait(struct state *s, const struct sample *sample)
{
    const struct off_share share = sample_off_share(trace_sets_get(s->trace), sample);
    const struct profile_frame reason = {PROFILE_REASON, sample->reason, 0};
    const struct profile_frame runnable = {PROFILE_RUNNABLE, 0, 0};
    int64_t number = thread_profile(s, sample->thread, PROFILE_WAITS);
    int error = 0;
    if (share.blocked_ns > 0)
        error = put_sample(s, number, sample, profile_frames_add(&s->frames, &reason),
                           share.blocked_ns);
    if (!error && share.runnable_ns > 0)
        error = put_sample(s, number, sample, profile_frames_add(&s->frames, &runnable),
                           share.runnable_ns);
    return error;
}

static int take_sample(struct state *s, const struct sample *sample)
{
    const struct sample_sets *sets = trace_sets_get(s->trace);
    enum sample_role role = sample_role(sets, sample);
    bool waits = role == SAMPLE_ROLE_OFF_CPU || role == SAMPLE_ROLE_SHORT_WAITS;
    if (sample->thread >= s->thread_count)
        return 0;
    if (!s->job->options->value && waits)
        return take_wait(s, sample);
    if (!sample_weight_takes(s->weight, sets, sample))
        return 0;
    return put_sample(s, thread_profile(s, sample->thread, PROFILE_SAMPLES), sample, NO_LEAF,
                      sample_weight_of(s->weight, sets, sample));
}

static int take(void *state, const struct item *item)
{
    struct state *s = state;
    int error = item->kind == ITEM_SAMPLE    ? take_sample(s, item->sample)
                : item->lane == LANE_THREAD  ? take_nested(s, item)
                : item->lane == LANE_PROCESS ? take_overlapping(s, item)
                : item->lane == LANE_QUEUE   ? take_overlapping(s, item)
                                             : take_track(s, item);
    return error ? error : s->spool.error;
}

/* ---- The file -------------------------------------------------------------------------------- */

static int begin(void *state, const struct export_job *job)
{
    struct state *s = state;
    const char *value = job->options->value;
    s->job = job;
    s->trace = job->source->trace;
    s->begin_ns = trace_begin_ns(s->trace);
    spool_init(&s->spool);
    int error = value ? sample_weight_find(s->trace, value, &s->weight) : 0;
    s->thread_count = trace_thread_count(s->trace);
    s->of_thread = calloc(s->thread_count + 1u, sizeof(*s->of_thread));
    if (error || !s->of_thread)
        return error ? error : -ENOMEM;
    s->groups.describe = describe_track;
    s->groups.context = s;
    error = track_groups_init(&s->groups, s->trace);
    return error ? error : profile_frames_init(&s->frames, job);
}

static void put_number(struct out_stream *out, const char *name, int64_t value)
{
    uint8_t text[JSON_INTEGER_MAX];
    out_text(out, name);
    out_write(out, text, (size_t)(json_put_int(text, value) - text));
}

static const char *unit_of(const struct state *s)
{
    switch (sample_unit_of(s->trace, sample_weight_type(s->trace, s->weight))) {
    case UNIT_NS:
        return "nanoseconds";
    case UNIT_BYTES:
        return "bytes";
    case UNIT_OTHER:
        break;
    }
    return "none";
}

static int put_profile(struct state *s, struct profile *profile)
{
    struct out_stream *out = s->job->out;
    bool evented = profile->kind == PROFILE_RANGES;
    while (profile->open.count > 0)
        put_event(s, profile, 'C', profile->open.items[--profile->open.count],
                  profile->last_ns + s->begin_ns);
    out_text(out, evented ? "{\"type\":\"evented\",\"name\":" : "{\"type\":\"sampled\",\"name\":");
    json_string(out, profile->title, strlen(profile->title));
    out_text(out, ",\"unit\":\"");
    out_text(out, profile->kind == PROFILE_SAMPLES ? unit_of(s) : "nanoseconds");
    put_number(out, "\",\"startValue\":", evented ? profile->first_ns : 0);
    put_number(out, ",\"endValue\":", evented ? profile->last_ns : (int64_t)profile->weight);
    out_text(out, evented ? ",\"events\":[" : ",\"weights\":[");
    int error = spool_copy(&s->spool, evented ? profile->events : profile->weights, out);
    if (!error && !evented) {
        out_text(out, "],\"samples\":[");
        error = spool_copy(&s->spool, profile->events, out);
    }
    out_text(out, "]}");
    return error;
}

static void put_frames(struct state *s)
{
    struct out_stream *out = s->job->out;
    struct profile_frame_text text;
    for (uint32_t i = 0; i < s->frames.frames.count; i++) {
        profile_frame_describe(s->trace, s->frames.prefixes, &s->frames.frames.items[i], &text);
        out_text(out, i ? ",\n{\"name\":" : "\n{\"name\":");
        json_string(out, text.name, text.name_length);
        if (text.file) {
            out_text(out, ",\"file\":");
            json_string(out, text.file, strlen(text.file));
        }
        if (text.line > 0)
            put_number(out, ",\"line\":", text.line);
        out_text(out, "}");
        profile_frame_text_fini(&text);
    }
}

/* Writes the profiles in the order in which they were added. */
static int put_profiles(struct state *s)
{
    int error = 0;
    for (uint32_t i = 0; i < s->profiles.count && !error; i++) {
        out_text(s->job->out, i ? ",\n" : "\n");
        error = put_profile(s, &s->profiles.items[i]);
    }
    return error;
}

static int end(void *state)
{
    struct state *s = state;
    struct out_stream *out = s->job->out;
    out_text(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                  "\"exporter\":\"annot\",\"name\":");
    const char *title = session_title(s->trace);
    json_string(out, title, strlen(title));
    out_text(out, ",\"profiles\":[");
    int error = put_profiles(s);
    if (error)
        return error;
    out_text(out, "\n],\"shared\":{\"frames\":[");
    put_frames(s);
    out_text(out, "\n]}}\n");
    return s->spool.error;
}

static void destroy(void *state)
{
    struct state *s = state;
    for (size_t i = 0; i < s->profiles.count; i++) {
        vec_free(&s->profiles.items[i].open);
        free(s->profiles.items[i].title);
    }
    for (size_t i = 0; i < s->shelves.count; i++) {
        shelves_fini(&s->shelves.items[i].shelves);
        vec_free(&s->shelves.items[i].profiles);
    }
    vec_free(&s->profiles);
    vec_free(&s->shelves);
    vec_free(&s->texts);
    map64_free(&s->lanes);
    map64_free(&s->stacks);
    track_groups_fini(&s->groups);
    profile_frames_fini(&s->frames);
    spool_fini(&s->spool);
    free(s->of_thread);
}

static const struct option_spec options[] = {
    EXPORT_OPTION_PYTHON, EXPORT_OPTION_NATIVE, EXPORT_OPTION_VALUE, EXPORT_OPTION_STRIP(NULL), {0},
};

extern const struct exporter export_speedscope;
const struct exporter export_speedscope = {
    .name = "speedscope",
    .extension = ".speedscope.json",
    .summary = "profiles of each thread: ranges, samples and waits, for speedscope",
    .carries = "ranges, calls, samples, waits",
    .viewer = "at www.speedscope.app",
    .lacks = EXPORT_LACKS_MARKS | EXPORT_LACKS_COUNTERS | EXPORT_LACKS_FLOWS |
             EXPORT_LACKS_OTHER_SAMPLES,
    .single_samples = true,
    .options = options,
    .wants = WANT_EVENTS | WANT_BEGINS | WANT_SAMPLES,
    .state_size = sizeof(struct state),
    .begin = begin,
    .take = take,
    .end = end,
    .destroy = destroy,
};
