/* SPDX-License-Identifier: MIT */
/* Ranges of the process, which may overlap and end on another thread: overlapped tasks, regions,
 * frames, and events. An id that is open already is ignored where ITT requires it. And marks:
 * markers, the older marks, task groups. */
#include "itt.h"
#include "itt_names.h"
#include "itt_open.h"
#include "itt_thread.h"

#include <time.h>

static void end_range(struct itt_open *open)
{
    if (open->values)
        annot_end_values(open->number, open->values->values, open->values->count);
    else
        annot_end(open->number);
    itt_values_give(open->values);
}

static void end_of(const struct itt_key *key)
{
    struct itt_open open;
    if (itt_open_take(key, &open))
        end_range(&open);
}

/* Begins a range, unless one of the key is open; one that a parent had open at its fork does not
 * count. */
static void begin_once(const struct itt_key *key, const struct annot_event *event)
{
    struct itt_open known;
    if (itt_open_find(key, &known)) {
        if (known.number)
            return;
        itt_open_take(key, &known);
    }
    annot_range range = annot_start_event(event);
    if (!itt_open_put(key, range))
        annot_end(range); /* another thread was faster */
}

/* ---- Overlapped tasks and regions ------------------------------------------------------------ */

static void begin_overlapped(struct annot_event event, struct itt_id id, unsigned long long time)
{
    const struct itt_key key = {.kind = ITT_TASK, .id = id};
    const struct annot_value value = annot_value_uint64("timestamp", time);
    if (time) {
        event.values = &value;
        event.value_count = 1;
    }
    annot_range range = annot_start_event(&event);
    if (!itt_open_add(&key, range))
        annot_end(range);
}

static void task_begin_overlapped(const struct itt_domain *domain, struct itt_id id,
                                  struct itt_id parent, struct itt_string *name)
{
    (void)parent;
    if (!itt_is_wanted())
        return;
    begin_overlapped(itt_event(domain, name), id, 0);
}

static void task_begin_overlapped_ex(const struct itt_domain *domain, struct itt_clock *clock,
                                     unsigned long long time, struct itt_id id,
                                     struct itt_id parent, struct itt_string *name)
{
    (void)clock;
    (void)parent;
    if (!itt_is_wanted())
        return;
    begin_overlapped(itt_event(domain, name), id, time);
}

/* Also outside of recordings: removes ranges that began before. */
static void task_end_overlapped(const struct itt_domain *domain, struct itt_id id)
{
    const struct itt_key key = {.kind = ITT_TASK, .id = id};
    (void)domain;
    if (annot_enabled() || itt_open_count())
        end_of(&key);
}

static void task_end_overlapped_ex(const struct itt_domain *domain, struct itt_clock *clock,
                                   unsigned long long time, struct itt_id id)
{
    (void)clock;
    (void)time;
    task_end_overlapped(domain, id);
}

static void region_begin(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
                         struct itt_string *name)
{
    const struct itt_key key = {.kind = ITT_REGION, .id = id};
    (void)parent;
    if (!itt_is_wanted())
        return;
    const struct annot_event event = itt_event(domain, name);
    begin_once(&key, &event);
}

static void region_end(const struct itt_domain *domain, struct itt_id id)
{
    const struct itt_key key = {.kind = ITT_REGION, .id = id};
    (void)domain;
    if (annot_enabled() || itt_open_count())
        end_of(&key);
}

/* ---- Frames ---------------------------------------------------------------------------------- */

/* Without an id, a frame belongs to the thread. */
static struct itt_key frame_key(const struct itt_domain *domain, const struct itt_id *id)
{
    struct itt_key key = {.kind = ITT_FRAME, .scope = itt_domain_number(domain)};
    if (id && (id->d1 | id->d2 | id->d3) != 0)
        key.id = *id;
    else
        key.id = (struct itt_id){itt_thread_number(), 0, ~UINT64_C(0)};
    return key;
}

static void frame_begin_v3(const struct itt_domain *domain, struct itt_id *id)
{
    if (!itt_is_wanted())
        return;
    const struct itt_key key = frame_key(domain, id);
    const struct annot_event event = {.text = "frame", .domain = itt_domain_number(domain)};
    begin_once(&key, &event);
}

static void frame_end_v3(const struct itt_domain *domain, struct itt_id *id)
{
    if (!annot_enabled() && !itt_open_count())
        return;
    const struct itt_key key = frame_key(domain, id);
    end_of(&key);
}

static unsigned long long get_timestamp(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec;
}

/* A completed frame: a mark with its times, because ranges begin at the time of the call. */
static void frame_submit_v3(const struct itt_domain *domain, struct itt_id *id,
                            unsigned long long begin, unsigned long long end)
{
    unsigned long long now = get_timestamp();
    (void)id;
    if (!itt_is_wanted())
        return;
    if (end == ITT_TIMESTAMP_NONE)
        end = now;
    const struct annot_value values[] = {
        annot_value_uint64("duration_ns", end > begin ? end - begin : 0),
        annot_value_uint64("ended_ns_ago", now > end ? now - end : 0),
    };
    const struct annot_event event = {
        .text = "frame", .domain = itt_domain_number(domain), .values = values, .value_count = 2};
    annot_emit_mark_event(&event);
}

/* ---- Events: numbers of names, which are the same in all images and in children -------------- */

static int event_create(const char *name, int length)
{
    char text[512];
    size_t size = 0;
    if (!name)
        return 0;
    while (name[size] && size < sizeof(text) - 1 && (length < 0 || size < (size_t)length)) {
        text[size] = name[size];
        size++;
    }
    text[size] = 0;
    return (int)annot_name_intern(text);
}

static struct itt_key event_key(int event)
{
    return (struct itt_key){
        .kind = ITT_EVENT, .scope = itt_thread_number(), .id = {(unsigned)event, 0, 0}};
}

static int event_start(int number)
{
    if (number <= 0 || !itt_is_wanted())
        return 0;
    const struct itt_key key = event_key(number);
    const struct annot_event event = {.name = (annot_name)number, .domain = itt_domain_find(NULL)};
    annot_range range = annot_start_event(&event);
    if (!itt_open_add(&key, range))
        annot_end(range);
    return 0;
}

static int event_end(int number)
{
    if (number <= 0 || (!annot_enabled() && !itt_open_count()))
        return 0;
    const struct itt_key key = event_key(number);
    end_of(&key);
    return 0;
}

/* ---- Marks ----------------------------------------------------------------------------------- */

static const char *scope_text(int scope)
{
    static const char *const texts[] = {NULL, "global", "process", "thread", "task", "marker"};
    return scope > 0 && scope <= ITT_SCOPE_MARKER ? texts[scope] : NULL;
}

static void mark(struct annot_event event, int scope, unsigned long long time)
{
    const char *text = scope_text(scope);
    struct annot_value values[2];
    event.values = values;
    if (text)
        values[event.value_count++] = annot_value_string("scope", text);
    if (time)
        values[event.value_count++] = annot_value_uint64("timestamp", time);
    annot_emit_mark_event(&event);
}

static void marker(const struct itt_domain *domain, struct itt_id id, struct itt_string *name,
                   int scope)
{
    (void)id;
    if (!itt_is_wanted())
        return;
    mark(itt_event(domain, name), scope, 0);
}

static void marker_ex(const struct itt_domain *domain, struct itt_clock *clock,
                      unsigned long long time, struct itt_id id, struct itt_string *name, int scope)
{
    (void)clock;
    (void)id;
    if (!itt_is_wanted())
        return;
    mark(itt_event(domain, name), scope, time);
}

static void task_group(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
                       struct itt_string *name)
{
    (void)parent;
    marker(domain, id, name, 0);
}

/* ---- Marks of the first version: a type is the number of its name -----------------------------
 */

static int mark_create(const char *name)
{
    return name ? (int)annot_name_intern(name) : 0;
}

static int mark_with(int type, const char *parameter, const char *scope)
{
    struct annot_value values[2];
    struct annot_event event = {
        .name = (annot_name)type, .domain = itt_domain_find(NULL), .values = values};
    if (parameter)
        values[event.value_count++] = annot_value_string("parameter", parameter);
    if (scope)
        values[event.value_count++] = annot_value_string("scope", scope);
    annot_emit_mark_event(&event);
    return 0;
}

static int mark_here(int type, const char *parameter)
{
    return type > 0 && itt_is_wanted() ? mark_with(type, parameter, NULL) : 0;
}

static int mark_global(int type, const char *parameter)
{
    return type > 0 && itt_is_wanted() ? mark_with(type, parameter, "global") : 0;
}

const struct itt_entry itt_entries_spans[] = {
    {"event_create", event_create},
    {"event_end", event_end},
    {"event_start", event_start},
    {"frame_begin_v3", frame_begin_v3},
    {"frame_end_v3", frame_end_v3},
    {"frame_submit_v3", frame_submit_v3},
    {"get_timestamp", get_timestamp},
    {"mark", mark_here},
    {"mark_create", mark_create},
    {"mark_global", mark_global},
    {"marker", marker},
    {"marker_ex", marker_ex},
    {"task_group", task_group},
    {"region_begin", region_begin},
    {"region_end", region_end},
    {"task_begin_overlapped", task_begin_overlapped},
    {"task_begin_overlapped_ex", task_begin_overlapped_ex},
    {"task_end_overlapped", task_end_overlapped},
    {"task_end_overlapped_ex", task_end_overlapped_ex},
    {NULL, NULL},
};
