/* SPDX-License-Identifier: MIT */
/* Lines of tracks, planned from the table of all tracks before the first event; shelves of lines,
 * taken as ranges come, in order of time. Line 0 is for tracks that the trace does not define. */
#include "track_lines.h"

#include "export_ids.h"
#include "strtab.h"
#include "text.h"
#include "wide_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* The length of the hexadecimal word at `text`, 0 if there is none. */
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

#define UNKNOWN UINT32_MAX /* number of a track that has none yet */

/* Tracks whose names differ in numbers only, below parents of one family. */
struct family {
    uint32_t names; /* different ones */
};

struct planner {
    struct track_lines *lines;
    const struct trace *trace;
    struct wide_map families_by_key, names, lines_by_key;
    struct strtab family_names;
    struct family *families; /* as many as tracks at most */
    uint32_t family_count;
    uint32_t *family_of; /* of track */
};

/* What has a line: by its family's name, by its own, or as one of too many. */
enum line_kind { LINE_FAMILY, LINE_NAME, LINE_OTHER };

/* The number of a family's name, which is in `buffer` then; -ENOMEM. */
static int64_t family_name(struct planner *planner, uint32_t name, char *buffer)
{
    const struct trace_string *text = trace_string(planner->trace, name);
    size_t length = track_family(text->bytes, text->length, buffer, TRACK_FAMILY_SIZE);
    return strtab_add(&planner->family_names, buffer, length);
}

/* The parent of a track if it has its number in `numbers` already: parents come first (resolve),
 * but for those of a ring. NULL: none. */
static const uint32_t *number_of_parent(const struct planner *planner, uint32_t track,
                                        const uint32_t *numbers)
{
    uint32_t parent = trace_track_get(planner->trace, track)->parent;
    bool known = parent && parent <= planner->lines->track_count;
    return known && numbers[parent - 1] != UNKNOWN ? &numbers[parent - 1] : NULL;
}

/* Numbers a track, after all those above it that have none yet. */
static int resolve(struct planner *planner, uint32_t track, const uint32_t *numbers,
                   int (*number)(struct planner *planner, uint32_t track))
{
    uint32_t chain[TRACE_TRACK_LEVELS], count = 0;
    uint32_t at = track + 1;
    while (at && at <= planner->lines->track_count && count < TRACE_TRACK_LEVELS &&
           numbers[at - 1] == UNKNOWN) {
        chain[count++] = at - 1;
        at = trace_track_get(planner->trace, at - 1)->parent;
    }
    int error = 0;
    while (!error && count-- > 0) {
        if (numbers[chain[count]] == UNKNOWN) /* in a ring it comes again */
            error = number(planner, chain[count]);
    }
    return error;
}

/* ---- Families -------------------------------------------------------------------------------- */

static int join_family(struct planner *planner, uint32_t track)
{
    const struct trace_track *entry = trace_track_get(planner->trace, track);
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

/* ---- Lines ----------------------------------------------------------------------------------- */

static int64_t add_line(struct planner *planner, const struct wide_key *key, struct track_line line)
{
    struct track_lines *lines = planner->lines;
    int64_t index = (int64_t)lines->lines.count;
    if (vec_push(&lines->lines, line) != 0) {
        free(line.text);
        return -ENOMEM;
    }
    return wide_map_put(&planner->lines_by_key, key, (uint64_t)index) ? -ENOMEM : index;
}

/* The line for what there is too much of, in the process of `line`. */
static int64_t find_other(struct planner *planner, struct track_line line)
{
    const struct wide_key *key = WIDE_KEY(LINE_OTHER, line.process);
    const uint64_t *known = wide_map_find(&planner->lines_by_key, key);
    if (known)
        return (int64_t)*known;
    line = (struct track_line){.process = line.process};
    return add_line(planner, key, line);
}

static int64_t find_line(struct planner *planner, uint32_t track)
{
    struct track_lines *lines = planner->lines;
    const struct trace_track *entry = trace_track_get(planner->trace, track);
    const struct family *family = &planner->families[planner->family_of[track]];
    struct track_line line = {.process = entry->process, .name = entry->name};
    char text[TRACK_FAMILY_SIZE];
    const uint32_t *parent = number_of_parent(planner, track, lines->line_of);
    if (parent) {
        const struct track_line *above_it = &lines->lines.items[*parent];
        line.parent = above_it->level + 1 < TRACK_LEVELS_MAX ? *parent + 1 : above_it->parent;
        line.process = above_it->process;
    }
    uint64_t above = line.parent ? line.parent : (uint64_t)line.process << 32;
    bool shared = family->names > TRACK_NAMES_MAX;
    int64_t name = shared ? family_name(planner, entry->name, text) : entry->name;
    if (name < 0)
        return name;
    const struct wide_key *key = WIDE_KEY(shared ? LINE_FAMILY : LINE_NAME, above, (uint64_t)name);
    const uint64_t *known = wide_map_find(&planner->lines_by_key, key);
    if (known)
        return (int64_t)*known;
    if (lines->lines.count >= TRACK_LINES_MAX)
        return find_other(planner, line);
    line.level = line.parent ? lines->lines.items[line.parent - 1].level + 1 : 0;
    line.name = shared ? 0 : entry->name;
    line.text = line.name ? NULL : strdup(shared ? text : EXPORT_UNNAMED);
    return line.name || line.text ? add_line(planner, key, line) : -ENOMEM;
}

static int join_line(struct planner *planner, uint32_t track)
{
    int64_t line = find_line(planner, track);
    if (line < 0)
        return (int)line;
    planner->lines->line_of[track] = (uint32_t)line;
    planner->lines->lines.items[line].track_count++;
    return 0;
}

static int plan(struct planner *planner)
{
    struct track_lines *lines = planner->lines;
    size_t bytes = lines->track_count * sizeof(*lines->line_of);
    int error = 0;
    memset(planner->family_of, UINT8_MAX, bytes); /* UNKNOWN */
    memset(lines->line_of, UINT8_MAX, bytes);
    for (uint32_t i = 0; !error && i < lines->track_count; i++)
        error = resolve(planner, i, planner->family_of, join_family);
    for (uint32_t i = 0; !error && i < lines->track_count; i++)
        error = resolve(planner, i, lines->line_of, join_line);
    return error;
}

int track_lines_init(struct track_lines *lines, const struct trace *trace)
{
    struct planner planner = {.lines = lines, .trace = trace};
    lines->trace = trace;
    lines->track_count = trace_track_count(trace);
    lines->line_of = calloc(lines->track_count + 1u, sizeof(*lines->line_of));
    planner.family_of = calloc(lines->track_count + 1u, sizeof(*planner.family_of));
    planner.families = calloc(lines->track_count + 1u, sizeof(*planner.families));
    int error = lines->line_of && planner.family_of && planner.families ? 0 : -ENOMEM;
    if (!error)
        error = vec_push(&lines->lines, ((struct track_line){.process = UINT32_MAX}));
    if (!error)
        error = plan(&planner);
    free(planner.family_of);
    free(planner.families);
    wide_map_free(&planner.families_by_key);
    wide_map_free(&planner.names);
    wide_map_free(&planner.lines_by_key);
    strtab_free(&planner.family_names);
    return error;
}

void track_lines_fini(struct track_lines *lines)
{
    for (size_t i = 0; i < lines->lines.count; i++) {
        shelves_fini(&lines->lines.items[i].shelves);
        free(lines->lines.items[i].text);
        free(lines->lines.items[i].ids);
    }
    vec_free(&lines->lines);
    map64_free(&lines->open);
    free(lines->line_of);
    *lines = (struct track_lines){0};
}

uint32_t track_lines_find(const struct track_lines *lines, uint64_t track)
{
    return track < lines->track_count ? lines->line_of[track] : 0;
}

struct trace_string track_line_label(const struct track_lines *lines, uint32_t line)
{
    const struct track_line *entry = &lines->lines.items[line];
    const char *text = entry->text;
    if (entry->name)
        return *trace_string(lines->trace, entry->name);
    if (!text)
        text = line == 0 ? "(unknown track)" : "other tracks";
    return (struct trace_string){text, (uint32_t)strlen(text)};
}

/* ---- Lanes ----------------------------------------------------------------------------------- */

static int shelf_id(struct track_lines *lines, uint32_t line, uint32_t shelf, int64_t time_ns,
                    uint64_t *ret_id)
{
    struct track_line *entry = &lines->lines.items[line];
    while (shelf >= entry->id_count) {
        uint64_t *ids = realloc(entry->ids, (entry->id_count + 1ul) * sizeof(*ids));
        if (!ids)
            return -ENOMEM;
        entry->ids = ids;
        int error = lines->describe(lines->context, line, time_ns, &ids[entry->id_count]);
        if (error)
            return error;
        entry->id_count++;
    }
    *ret_id = entry->ids[shelf];
    return 0;
}

int track_line_id(struct track_lines *lines, uint32_t line, int64_t time_ns, uint64_t *ret_id)
{
    return shelf_id(lines, line, 0, time_ns, ret_id);
}

/* A shelf of the track's line, from the time of the event on; of a range that is open there. */
static int64_t take_shelf(struct track_lines *lines, const struct event *event, uint32_t depth,
                          int64_t end_ns)
{
    const uint64_t *open = depth ? map64_find(&lines->open, event->id + 1) : NULL;
    struct track_line *line = &lines->lines.items[track_lines_find(lines, event->id)];
    return open ? (int64_t)*open : shelves_take(&line->shelves, event->time_ns, end_ns);
}

int track_lines_open(struct track_lines *lines, const struct event *begin, uint32_t depth,
                     uint64_t *ret_id)
{
    int64_t shelf = take_shelf(lines, begin, depth, INT64_MAX);
    if (shelf < 0 || (depth == 0 && map64_put(&lines->open, begin->id + 1, (uint64_t)shelf) != 0))
        return -ENOMEM;
    return shelf_id(lines, track_lines_find(lines, begin->id), (uint32_t)shelf, begin->time_ns,
                    ret_id);
}

int track_lines_close(struct track_lines *lines, uint64_t track, uint32_t depth, int64_t end_ns,
                      uint64_t *ret_id)
{
    uint32_t line = track_lines_find(lines, track);
    const uint64_t *open = map64_find(&lines->open, track + 1);
    uint64_t shelf = open ? *open : 0;
    if (depth == 0 && map64_take(&lines->open, track + 1, &shelf))
        shelves_set_end(&lines->lines.items[line].shelves, (uint32_t)shelf, end_ns);
    return shelf_id(lines, line, (uint32_t)shelf, end_ns, ret_id);
}

int track_lines_mark(struct track_lines *lines, const struct event *mark, uint32_t depth,
                     uint64_t *ret_id)
{
    int64_t shelf = take_shelf(lines, mark, depth, mark->time_ns);
    if (shelf < 0)
        return -ENOMEM;
    return shelf_id(lines, track_lines_find(lines, mark->id), (uint32_t)shelf, mark->time_ns,
                    ret_id);
}
