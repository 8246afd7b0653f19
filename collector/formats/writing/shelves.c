/* SPDX-License-Identifier: MIT */
/* See shelves.h. In the tree a free shelf ends at INT64_MIN, so it suits every range. */
#include "shelves.h"

#include "export_ids.h"
#include "hash_map.h"
#include "strtab.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void shelves_set_end(struct shelves *shelves, uint32_t shelf, int64_t end_ns)
{
    uint32_t at = shelves->capacity + shelf;
    shelves->ends[at] = end_ns;
    for (at /= 2; at > 0; at /= 2) {
        int64_t left = shelves->ends[2ul * at], right = shelves->ends[2ul * at + 1];
        shelves->ends[at] = left < right ? left : right;
    }
}

static int grow(struct shelves *shelves)
{
    struct shelves grown = {.capacity = shelves->capacity ? shelves->capacity * 2 : 4};
    grown.ends = malloc(2 * (size_t)grown.capacity * sizeof(*grown.ends));
    if (!grown.ends)
        return -ENOMEM;
    for (uint32_t i = 0; i < 2 * grown.capacity; i++)
        grown.ends[i] = INT64_MIN;
    for (uint32_t i = 0; i < shelves->capacity; i++)
        shelves_set_end(&grown, i, shelves->ends[shelves->capacity + i]);
    free(shelves->ends);
    shelves->ends = grown.ends;
    shelves->capacity = grown.capacity;
    return 0;
}

/* The lowest shelf with a last range that has ended by then. */
static int64_t find_shelf(struct shelves *shelves, int64_t start_ns)
{
    if ((shelves->capacity == 0 || shelves->ends[1] > start_ns) && grow(shelves) < 0)
        return -ENOMEM;
    uint32_t at = 1;
    while (at < shelves->capacity)
        at = shelves->ends[2ul * at] <= start_ns ? 2 * at : 2 * at + 1;
    return at - shelves->capacity;
}

int64_t shelves_take(struct shelves *shelves, int64_t start_ns, int64_t end_ns)
{
    int64_t shelf = find_shelf(shelves, start_ns);
    if (shelf >= 0)
        shelves_set_end(shelves, (uint32_t)shelf, end_ns);
    return shelf;
}

/* ---- Out of order ---- */

enum { GAPS_MAX = 256 };

static int add_gap(struct shelves *shelves, int64_t begin_ns, int64_t end_ns, uint32_t shelf)
{
    const struct shelf_gap gap = {begin_ns, end_ns, shelf};
    if (begin_ns >= end_ns)
        return 0;
    if (shelves->gaps.count < GAPS_MAX)
        return vec_push(&shelves->gaps, gap);
    shelves->gaps.items[shelves->next_gap++ % GAPS_MAX] = gap;
    return 0;
}

/* The lowest gap, or NULL. */
static struct shelf_gap *find_gap(const struct shelves *shelves, int64_t start_ns, int64_t end_ns)
{
    struct shelf_gap *found = NULL;
    for (size_t i = 0; i < shelves->gaps.count; i++) {
        struct shelf_gap *gap = &shelves->gaps.items[i];
        bool fits = gap->begin_ns <= start_ns && end_ns <= gap->end_ns;
        if (fits && (!found || gap->shelf < found->shelf))
            found = gap;
    }
    return found;
}

int64_t shelves_fit(struct shelves *shelves, int64_t start_ns, int64_t end_ns)
{
    bool late = start_ns < shelves->latest_ns;
    struct shelf_gap *gap = late ? find_gap(shelves, start_ns, end_ns) : NULL;
    shelves->latest_ns = late ? shelves->latest_ns : start_ns;
    if (gap) {
        int64_t shelf = gap->shelf, rest_ns = gap->end_ns;
        gap->end_ns = start_ns;
        int error = add_gap(shelves, end_ns, rest_ns, (uint32_t)shelf);
        return error ? error : shelf;
    }
    int64_t shelf = find_shelf(shelves, start_ns);
    if (shelf < 0)
        return shelf;
    int64_t before_ns = shelves->ends[shelves->capacity + shelf];
    shelves_set_end(shelves, (uint32_t)shelf, end_ns);
    int error = add_gap(shelves, before_ns, start_ns, (uint32_t)shelf);
    return error ? error : shelf;
}

void shelves_fini(struct shelves *shelves)
{
    vec_free(&shelves->gaps);
    free(shelves->ends);
    *shelves = (struct shelves){0};
}

/* ---- Groups of tracks ------------------------------------------------------------------------ */

/* Groups of tracks, planned from the table of all tracks before the first event; shelves of groups,
 * taken as ranges come, in order of time. Group 0 is for tracks that the trace does not define. */

/* ---- Names without their numbers ---- */

enum { HEX_MIN = 4 };

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

static bool is_hex(char byte)
{
    return is_digit(byte) || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
}

/* The length of the hexadecimal word at `text`, 0 for other text. */
static size_t hex_word(const char *text, size_t length)
{
    bool prefix = length > 2 && text[0] == '0' && text[1] == 'x';
    bool digit = false;
    size_t end = prefix ? 2 : 0;
    for (; end < length && is_hex(text[end]); end++)
        digit = digit || is_digit(text[end]);
    bool whole = end == length || !is_letter(text[end]);
    return whole && (prefix || digit) && end >= HEX_MIN ? end : 0;
}

static size_t number_word(const char *text, size_t length)
{
    size_t end = 0;
    while (end < length && is_digit(text[end]))
        end++;
    return end;
}

size_t track_family(const char *name, size_t length, char *buffer, size_t size)
{
    size_t used = 0;
    for (size_t at = 0; at < length && used + 1 < size;) {
        bool inside = at > 0 && (is_letter(name[at - 1]) || is_digit(name[at - 1]));
        size_t replaced = inside ? 0 : hex_word(name + at, length - at);
        if (!replaced)
            replaced = number_word(name + at, length - at);
        buffer[used++] = name[at];
        if (replaced)
            buffer[used - 1] = '#';
        at += replaced ? replaced : 1;
    }
    used = utf8_whole(buffer, used);
    buffer[used] = 0;
    return used;
}

/* ---- The plan ---- */

#define UNKNOWN UINT32_MAX /* not yet numbered */

/* Tracks with names that differ only in numbers, below parents of one family. */
struct family {
    uint32_t names; /* different ones */
};

struct planner {
    struct track_groups *groups;
    const struct trace *trace;
    struct wide_map families_by_key, names, groups_by_key;
    struct strtab family_names;
    struct family *families; /* at most as many as tracks */
    uint32_t family_count;
    uint32_t *family_of; /* by track */
};

/* Owner of a group: a family, a single name, or the rest beyond the limit. */
enum group_kind { GROUP_FAMILY, GROUP_NAME, GROUP_OTHER };

/* The number of a family's name, which is written to `buffer`; -ENOMEM. */
static int64_t family_name(struct planner *planner, uint32_t name, char *buffer)
{
    const struct trace_string *text = trace_string(planner->trace, name);
    size_t length = track_family(text->bytes, text->length, buffer, TRACK_FAMILY_SIZE);
    return strtab_add(&planner->family_names, buffer, length);
}

/* The parent's number if it is set in `numbers`: parents come first (resolve), except in a cycle.
 * NULL: not set. */
static const uint32_t *number_of_parent(const struct planner *planner, uint32_t track,
                                        const uint32_t *numbers)
{
    uint32_t parent = trace_lane_get(planner->trace, track)->parent;
    bool known = parent && parent <= planner->groups->track_count;
    return known && numbers[parent - 1] != UNKNOWN ? &numbers[parent - 1] : NULL;
}

/* Numbers a track, after its unnumbered ancestors. */
static int resolve(struct planner *planner, uint32_t track, const uint32_t *numbers,
                   int (*number)(struct planner *planner, uint32_t track))
{
    uint32_t chain[TRACE_LANE_LEVELS], count = 0;
    uint32_t at = track + 1;
    while (at && at <= planner->groups->track_count && count < TRACE_LANE_LEVELS &&
           numbers[at - 1] == UNKNOWN) {
        chain[count++] = at - 1;
        at = trace_lane_get(planner->trace, at - 1)->parent;
    }
    int error = 0;
    while (!error && count-- > 0) {
        if (numbers[chain[count]] == UNKNOWN) /* in a cycle it is already numbered */
            error = number(planner, chain[count]);
    }
    return error;
}

/* ---- Families -------------------------------------------------------------------------------- */

static int join_family(struct planner *planner, uint32_t track)
{
    const struct trace_lane *entry = trace_lane_get(planner->trace, track);
    char text[TRACK_FAMILY_SIZE];
    const uint32_t *parent = number_of_parent(planner, track, planner->family_of);
    int64_t name = family_name(planner, entry->name, text);
    if (name < 0)
        return (int)name;
    const struct wide_key *key =
        WIDE_KEY(parent != NULL, parent ? *parent : entry->process, (uint64_t)name);
    const uint64_t *known = wide_map_find(&planner->families_by_key, key);
    uint32_t family = known ? (uint32_t)*known : planner->family_count;
    if (!known) {
        planner->families[planner->family_count++] = (struct family){0};
        if (wide_map_put(&planner->families_by_key, key, family) != 0)
            return -ENOMEM;
    }
    planner->family_of[track] = family;
    const struct wide_key *name_key = WIDE_KEY(family, entry->name);
    if (wide_map_find(&planner->names, name_key))
        return 0;
    planner->families[family].names++;
    return wide_map_put(&planner->names, name_key, 1);
}

/* ---- Groups -----------------------------------------------------------------------------------
 */

static int64_t add_group(struct planner *planner, const struct wide_key *key,
                         struct track_group group)
{
    struct track_groups *groups = planner->groups;
    int64_t index = (int64_t)groups->groups.count;
    if (vec_push(&groups->groups, group) != 0) {
        free(group.text);
        return -ENOMEM;
    }
    return wide_map_put(&planner->groups_by_key, key, (uint64_t)index) ? -ENOMEM : index;
}

/* The group for tracks beyond the limit, in the process of `group`. */
static int64_t find_other(struct planner *planner, struct track_group group)
{
    const struct wide_key *key = WIDE_KEY(GROUP_OTHER, group.process);
    const uint64_t *known = wide_map_find(&planner->groups_by_key, key);
    if (known)
        return (int64_t)*known;
    group = (struct track_group){.process = group.process};
    return add_group(planner, key, group);
}

static int64_t find_group(struct planner *planner, uint32_t track)
{
    struct track_groups *groups = planner->groups;
    const struct trace_lane *entry = trace_lane_get(planner->trace, track);
    const struct family *family = &planner->families[planner->family_of[track]];
    struct track_group group = {.process = entry->process, .name = entry->name};
    char text[TRACK_FAMILY_SIZE];
    const uint32_t *parent = number_of_parent(planner, track, groups->group_of);
    if (parent) {
        const struct track_group *above_it = &groups->groups.items[*parent];
        group.parent = above_it->level + 1 < TRACK_LEVELS_MAX ? *parent + 1 : above_it->parent;
        group.process = above_it->process;
    }
    uint64_t above = group.parent ? group.parent : (uint64_t)group.process << 32;
    bool shared = family->names > TRACK_NAMES_MAX;
    int64_t name = shared ? family_name(planner, entry->name, text) : entry->name;
    if (name < 0)
        return name;
    const struct wide_key *key =
        WIDE_KEY(shared ? GROUP_FAMILY : GROUP_NAME, above, (uint64_t)name);
    const uint64_t *known = wide_map_find(&planner->groups_by_key, key);
    if (known)
        return (int64_t)*known;
    if (groups->groups.count >= TRACK_GROUPS_MAX)
        return find_other(planner, group);
    group.level = group.parent ? groups->groups.items[group.parent - 1].level + 1 : 0;
    group.name = shared ? 0 : entry->name;
    group.text = group.name ? NULL : strdup(shared ? text : EXPORT_UNNAMED);
    return group.name || group.text ? add_group(planner, key, group) : -ENOMEM;
}

static int join_group(struct planner *planner, uint32_t track)
{
    int64_t group = find_group(planner, track);
    if (group < 0)
        return (int)group;
    planner->groups->group_of[track] = (uint32_t)group;
    planner->groups->groups.items[group].track_count++;
    return 0;
}

static int plan(struct planner *planner)
{
    struct track_groups *groups = planner->groups;
    size_t bytes = groups->track_count * sizeof(*groups->group_of);
    int error = 0;
    memset(planner->family_of, UINT8_MAX, bytes); /* UNKNOWN */
    memset(groups->group_of, UINT8_MAX, bytes);
    for (uint32_t i = 0; !error && i < groups->track_count; i++)
        error = resolve(planner, i, planner->family_of, join_family);
    for (uint32_t i = 0; !error && i < groups->track_count; i++)
        error = resolve(planner, i, groups->group_of, join_group);
    return error;
}

int track_groups_init(struct track_groups *groups, const struct trace *trace)
{
    struct planner planner = {.groups = groups, .trace = trace};
    groups->trace = trace;
    groups->track_count = trace_lane_count(trace);
    groups->group_of = calloc(groups->track_count + 1u, sizeof(*groups->group_of));
    planner.family_of = calloc(groups->track_count + 1u, sizeof(*planner.family_of));
    planner.families = calloc(groups->track_count + 1u, sizeof(*planner.families));
    int error = groups->group_of && planner.family_of && planner.families ? 0 : -ENOMEM;
    if (!error)
        error = vec_push(&groups->groups, ((struct track_group){.process = UINT32_MAX}));
    if (!error)
        error = plan(&planner);
    free(planner.family_of);
    free(planner.families);
    wide_map_free(&planner.families_by_key);
    wide_map_free(&planner.names);
    wide_map_free(&planner.groups_by_key);
    strtab_free(&planner.family_names);
    return error;
}

void track_groups_fini(struct track_groups *groups)
{
    for (size_t i = 0; i < groups->groups.count; i++) {
        shelves_fini(&groups->groups.items[i].shelves);
        free(groups->groups.items[i].text);
        free(groups->groups.items[i].ids);
    }
    vec_free(&groups->groups);
    map64_free(&groups->open);
    free(groups->group_of);
    *groups = (struct track_groups){0};
}

uint32_t track_groups_find(const struct track_groups *groups, uint64_t track)
{
    return track < groups->track_count ? groups->group_of[track] : 0;
}

struct trace_string track_group_label(const struct track_groups *groups, uint32_t group)
{
    const struct track_group *entry = &groups->groups.items[group];
    const char *text = entry->text;
    if (entry->name)
        return *trace_string(groups->trace, entry->name);
    if (!text)
        text = group == 0 ? "(unknown track)" : "other tracks";
    return (struct trace_string){text, (uint32_t)strlen(text)};
}

/* ---- Shelves --------------------------------------------------------------------------------- */

static int shelf_id(struct track_groups *groups, uint32_t group, uint32_t shelf, int64_t time_ns,
                    uint64_t *ret_id)
{
    struct track_group *entry = &groups->groups.items[group];
    while (shelf >= entry->id_count) {
        uint64_t *ids = realloc(entry->ids, (entry->id_count + 1ul) * sizeof(*ids));
        if (!ids)
            return -ENOMEM;
        entry->ids = ids;
        int error = groups->describe(groups->context, group, time_ns, &ids[entry->id_count]);
        if (error)
            return error;
        entry->id_count++;
    }
    *ret_id = entry->ids[shelf];
    return 0;
}

int track_group_id(struct track_groups *groups, uint32_t group, int64_t time_ns, uint64_t *ret_id)
{
    return shelf_id(groups, group, 0, time_ns, ret_id);
}

/* A shelf of the track's group, from the time of the event on; that of an open range of the track,
 * if there is one. */
static int64_t take_shelf(struct track_groups *groups, const struct event *event, uint32_t depth,
                          int64_t end_ns)
{
    const uint64_t *open = depth ? map64_find(&groups->open, event->lane + UINT64_C(1)) : NULL;
    struct track_group *group = &groups->groups.items[track_groups_find(groups, event->lane)];
    return open ? (int64_t)*open : shelves_take(&group->shelves, event->time_ns, end_ns);
}

int track_groups_open(struct track_groups *groups, const struct event *begin, uint32_t depth,
                      uint64_t *ret_id)
{
    int64_t shelf = take_shelf(groups, begin, depth, INT64_MAX);
    if (shelf < 0 ||
        (depth == 0 && map64_put(&groups->open, begin->lane + UINT64_C(1), (uint64_t)shelf) != 0))
        return -ENOMEM;
    return shelf_id(groups, track_groups_find(groups, begin->lane), (uint32_t)shelf, begin->time_ns,
                    ret_id);
}

int track_groups_close(struct track_groups *groups, uint64_t track, uint32_t depth, int64_t end_ns,
                       uint64_t *ret_id)
{
    uint32_t group = track_groups_find(groups, track);
    const uint64_t *open = map64_find(&groups->open, track + 1);
    uint64_t shelf = open ? *open : 0;
    if (depth == 0 && map64_take(&groups->open, track + 1, &shelf))
        shelves_set_end(&groups->groups.items[group].shelves, (uint32_t)shelf, end_ns);
    return shelf_id(groups, group, (uint32_t)shelf, end_ns, ret_id);
}

int track_groups_span(struct track_groups *groups, const struct item *span, uint64_t *ret_id)
{
    uint32_t group = track_groups_find(groups, span->event->lane);
    int64_t shelf =
        shelves_fit(&groups->groups.items[group].shelves, span->event->time_ns, span->end_ns);
    return shelf < 0 ? -ENOMEM : shelf_id(groups, group, (uint32_t)shelf, span->begin_ns, ret_id);
}

int track_groups_mark(struct track_groups *groups, const struct event *mark, uint32_t depth,
                      uint64_t *ret_id)
{
    int64_t shelf = take_shelf(groups, mark, depth, mark->time_ns);
    if (shelf < 0)
        return -ENOMEM;
    return shelf_id(groups, track_groups_find(groups, mark->lane), (uint32_t)shelf, mark->time_ns,
                    ret_id);
}
