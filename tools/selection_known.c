/* SPDX-License-Identifier: MIT */
/* Is in the recording what a selection names? The ranges are looked for until one is found, so only
 * a name that is nowhere costs a whole pass. Thread-safety: none. */
#include "cmd.h"
#include "number_text.h"
#include "recording.h"
#include "selection.h"
#include "stacks.h"
#include "text.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

struct search {
    const struct trace *trace;
    const char *range;
    VEC(uint8_t) looked; /* at strings */
    uint32_t nearest;    /* string; 0: none is near */
    unsigned distance;   /* of that */
    bool any, found;
};

static int look_at(struct search *search, uint32_t name)
{
    search->any = true;
    while (search->looked.count <= name)
        if (vec_push(&search->looked, 0) != 0)
            return -ENOMEM;
    if (search->looked.items[name])
        return 0;
    search->looked.items[name] = 1;
    const char *text = trace_string(search->trace, name)->bytes;
    unsigned distance = strstr(text, search->range) || strcasecmp(text, search->range) == 0
                            ? 0
                            : options_distance(search->range, text);
    search->found = text_matches(search->range, text);
    if (distance < search->distance) {
        search->distance = distance;
        search->nearest = name;
    }
    return 0;
}

/* Those that samples were in. */
static int look_at_paths(struct search *search)
{
    const struct stacks *stacks = trace_stacks_get(search->trace);
    int error = 0;
    for (uint32_t i = 1; !error && !search->found && i < stacks_path_count(stacks); i++)
        error = look_at(search, stacks_get_path(stacks, i)->name);
    return error;
}

static int look_at_events(struct search *search, struct store_reader *reader)
{
    struct event_batch batch;
    int status = 0, error = 0;
    while (!error && !search->found && (status = store_reader_next(reader, &batch)) > 0) {
        for (uint32_t i = 0; !error && !search->found && i < batch.count; i++) {
            const struct event *event = &batch.events[i];
            if (event->kind == EVENT_PUSH || event->kind == EVENT_START ||
                event->kind == EVENT_TRACK_BEGIN)
                error = look_at(search, event->name);
        }
    }
    if (!error)
        error = status < 0 ? status : store_reader_rewind(reader);
    return error;
}

static int fail_range(const struct search *search, const char *path)
{
    char quoted[256];
    cmd_quote(path, quoted, sizeof(quoted));
    if (!search->any)
        return cmd_fail(CMD_FAILED,
                        "no range of %s is named %s: it has no ranges\n"
                        "--process, --thread, --from and --to choose parts of it",
                        path, search->range);
    if (search->nearest)
        return cmd_fail(CMD_FAILED,
                        "no range of %s is named %s\ndid you mean \"%s\"? annot report %s lists "
                        "the ranges",
                        path, search->range, trace_string(search->trace, search->nearest)->bytes,
                        quoted);
    return cmd_fail(CMD_FAILED, "no range of %s is named %s\nannot report %s lists the ranges",
                    path, search->range, quoted);
}

static int check_range(const char *range, struct store_reader *reader, const char *path)
{
    struct search search = {
        .trace = store_reader_trace(reader), .range = range, .distance = options_near_limit(range)};
    int error = look_at_paths(&search);
    if (!error && !search.found)
        error = look_at_events(&search, reader);
    vec_free(&search.looked);
    if (error)
        return recording_fail(path, error);
    return search.found ? CMD_OK : fail_range(&search, path);
}

static int check_from(const char *from, const struct trace *trace, const char *path)
{
    char length[NUMBER_TEXT_SIZE], quoted[256];
    int64_t from_ns, end_ns = trace_session_get(trace)->end_ns, begin_ns = trace_begin_ns(trace);
    bool ends = end_ns > begin_ns && options_parse_time(from, &from_ns) == 0;
    if (!ends || from_ns < end_ns - begin_ns)
        return CMD_OK;
    cmd_quote(path, quoted, sizeof(quoted));
    return cmd_fail(CMD_FAILED,
                    "--from %s is after the end of %s, which is %s long\ntimes count from the "
                    "recording's begin, as annot cat %s prints them",
                    from, path, number_time_plain((uint64_t)(end_ns - begin_ns), length), quoted);
}

int selection_check_recording(const struct selection_values *values, struct store_reader *reader,
                              const char *path)
{
    int status = CMD_OK;
    if (values->from)
        status = check_from(values->from, store_reader_trace(reader), path);
    if (status == CMD_OK && values->range)
        status = check_range(values->range, reader, path);
    return status;
}
