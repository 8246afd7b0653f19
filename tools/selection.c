/* SPDX-License-Identifier: MIT */
/* Chooses a part of a recording by the user's options. */
#include "selection.h"

#include "cmd.h"
#include "heap_stats.h"
#include "reader.h"
#include "recording.h"
#include "stacks.h"
#include "term.h"
#include "text.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LABEL_SIZE = 4096 };

/* ---- Options --------------------------------------------------------------------------------- */

static int parse_time(const char *name, const char *text, int64_t *ret_ns)
{
    if (!text || options_parse_time(text, ret_ns) == 0)
        return CMD_OK;
    return cmd_fail(CMD_MISUSE,
                    "option --%s: cannot understand \"%.64s\"\na time is a number with a unit "
                    "since the recording's begin: 300ms, 12.5s, 2min",
                    name, text);
}

int selection_check(const struct selection_values *values)
{
    int64_t from_ns = 0, to_ns = INT64_MAX;
    int status = parse_time("from", values->from, &from_ns);
    if (status == CMD_OK)
        status = parse_time("to", values->to, &to_ns);
    if (status == CMD_OK && from_ns >= to_ns)
        return cmd_fail(CMD_MISUSE,
                        "there is nothing between --from and --to\n--to must be the later time");
    return status;
}

/* Returns true if the word is the number, or a part of the label. */
static bool matches(const char *word, int32_t number, const char *label)
{
    char *end;
    long long value = strtoll(word, &end, 10);
    if (*word && !*end)
        return value == number;
    return strstr(label, word) != NULL;
}

static bool look_at(const struct selection *selection, uint32_t thread)
{
    const struct trace *trace = selection->trace;
    const struct trace_thread *entry = trace_thread_get(trace, thread);
    const struct trace_process *process = entry ? trace_process_get(trace, entry->process) : NULL;
    char label[LABEL_SIZE];
    if (!process)
        return false;
    if (selection->values->process) {
        trace_process_label(trace, entry->process, label, sizeof(label));
        if (!matches(selection->values->process, process->pid, label))
            return false;
    }
    if (!selection->values->thread)
        return true;
    trace_thread_label(trace, thread, label, sizeof(label));
    return matches(selection->values->thread, entry->tid, label);
}

static bool wants(void *context, uint32_t thread)
{
    struct selection *selection = context;
    while (selection->threads.count <= thread) {
        if (vec_push(&selection->threads, 0) != 0)
            return look_at(selection, thread);
    }
    uint8_t *known = &selection->threads.items[thread];
    if (*known == 0)
        *known = look_at(selection, thread) ? 1 : 2;
    return *known == 1;
}

/* CMD_OK if a thread is selected, or the recording has no threads. */
static int check_threads(const struct selection *selection, const char *path)
{
    const struct selection_values *values = selection->values;
    uint32_t count = trace_thread_count(selection->trace);
    bool any = count == 0;
    for (uint32_t i = 0; !any && i < count; i++)
        any = pass_selects_thread(&selection->chosen, i);
    if (any)
        return CMD_OK;
    char quoted[256];
    cmd_quote(path, quoted, sizeof(quoted));
    return cmd_fail(CMD_FAILED, "no thread of %s matches %s%s%s%s%s\nannot info %s lists them",
                    path, values->process ? "--process " : "",
                    values->process ? values->process : "",
                    values->process && values->thread ? " " : "", values->thread ? "--thread " : "",
                    values->thread ? values->thread : "", quoted);
}

static int64_t instant(const struct trace *trace, int64_t after_ns)
{
    int64_t sum;
    return __builtin_add_overflow(trace_begin_ns(trace), after_ns, &sum) ? INT64_MAX : sum;
}

int selection_init(struct selection *selection, const struct selection_values *values,
                   const struct trace *trace, const char *path)
{
    int64_t from_ns = 0, to_ns = 0;
    *selection = (struct selection){.values = values, .trace = trace};
    struct pass_selection *chosen = &selection->chosen;
    *chosen = values->from || values->to ? PASS_SELECT_ALL : pass_select_block(trace);
    chosen->range = values->range;
    chosen->flags = values->gil ? SAMPLE_HOLDS_GIL : 0;
    if (values->from && options_parse_time(values->from, &from_ns) == 0)
        chosen->from_ns = instant(trace, from_ns);
    if (values->to && options_parse_time(values->to, &to_ns) == 0)
        chosen->to_ns = instant(trace, to_ns);
    if (!values->process && !values->thread)
        return CMD_OK;
    chosen->wants = wants;
    chosen->context = selection;
    return path ? check_threads(selection, path) : CMD_OK;
}

void selection_fini(struct selection *selection)
{
    vec_free(&selection->threads);
}

bool selection_is_all(const struct selection *selection)
{
    return pass_selects_all(&selection->chosen);
}

size_t selection_describe(const struct selection_values *values, char *buffer, size_t size)
{
    const struct {
        const char *what, *value;
    } parts[] = {{"from ", values->from},        {"to ", values->to},
                 {"in range ", values->range},   {"of process ", values->process},
                 {"of thread ", values->thread}, {"holding the GIL", values->gil ? "" : NULL}};

    struct text text = text_init(buffer, size);
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        if (parts[i].value)
            text_format(&text, "%s%s%s", text.length ? ", " : "", parts[i].what, parts[i].value);
    }
    return text.length;
}

/* ---- Ranges in the recording ----------------------------------------------------------------- */

struct search {
    const struct trace *trace;
    const char *range;
    VEC(uint8_t) looked; /* by string: already compared */
    uint32_t nearest;    /* string with the most similar name; 0: unset */
    unsigned distance;   /* of `nearest` */
    const char *bare;    /* the requested name without its domain, which reports print; or NULL */
    bool any, found, found_bare;
};

static int look_at_name(struct search *search, uint32_t name)
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
    search->found_bare |= search->bare && text_matches(search->bare, text);
    if (distance < search->distance) {
        search->distance = distance;
        search->nearest = name;
    }
    return 0;
}

/* Compares the ranges of samples. */
static int look_at_paths(struct search *search)
{
    const struct stacks *stacks = trace_stacks_get(search->trace);
    int error = 0;
    for (uint32_t i = 1; !error && !search->found && i < stacks_path_count(stacks); i++)
        error = look_at_name(search, stacks_get_path(stacks, i)->name);
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
                event->kind == EVENT_TRACK_BEGIN || event->kind == EVENT_SPAN)
                error = look_at_name(search, event->name);
        }
    }
    if (!error)
        error = status < 0 ? status : store_reader_rewind(reader);
    return error;
}

static int fail_range(const struct search *search, const char *path)
{
    char quoted[256], bare[256];
    cmd_quote(path, quoted, sizeof(quoted));
    if (!search->any)
        return cmd_fail(CMD_FAILED,
                        "no range of %s is named %s: it has no ranges\n"
                        "--process, --thread, --from and --to choose parts of it",
                        path, search->range);
    cmd_quote(search->found_bare ? search->bare : "", bare, sizeof(bare));
    if (search->found_bare)
        return cmd_fail(CMD_FAILED,
                        "no range of %s is named %s\nranges are chosen by their name, whatever "
                        "their domain: --range %s",
                        path, search->range, bare);
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
    const char *colon = strchr(range, ':');
    struct search search = {.trace = store_reader_trace(reader),
                            .range = range,
                            .bare = colon && colon[1] ? colon + 1 : NULL,
                            .distance = options_near_limit(range)};
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

/* Of memory, blocks count that were allocated since --from, as held at --to. */
static void choose_blocks(const struct selection_values *values, struct store_reader *reader)
{
    struct trace *trace = store_reader_trace(reader);
    struct trace_heap_window window = *trace_heap_window(trace);
    int64_t time_ns;
    if (values->from && options_parse_time(values->from, &time_ns) == 0 &&
        instant(trace, time_ns) > window.from_ns)
        window.from_ns = instant(trace, time_ns);
    if (values->to && options_parse_time(values->to, &time_ns) == 0)
        window.at_ns = instant(trace, time_ns);
    trace_heap_window_set(trace, &window);
}

int selection_check_recording(const struct selection_values *values, struct store_reader *reader,
                              const char *path)
{
    int status = CMD_OK;
    choose_blocks(values, reader);
    if (values->from)
        status = check_from(values->from, store_reader_trace(reader), path);
    if (status == CMD_OK && values->range)
        status = check_range(values->range, reader, path);
    return status;
}

/* ---- Values of samples ---- */

/* Reads the samples once more to find the time of the peak. */
static int find_peak(const struct selection *selection, struct store_reader *reader,
                     const char *path)
{
    int error = heap_stats_choose_peak(reader, &selection->chosen);
    return error ? recording_fail(path, error) : CMD_OK;
}

int selection_weight(const char *name, const struct selection *selection,
                     struct store_reader *reader, const char *path,
                     struct sample_weight *ret_weight)
{
    const struct trace *trace = selection->trace;
    char names[2048];
    int error = sample_weight_find(trace, name, ret_weight);
    if (!error)
        return ret_weight->heap == HEAP_PEAK ? find_peak(selection, reader, path) : CMD_OK;
    sample_weight_list(trace, names, sizeof(names));
    if (error == -EDOM)
        return cmd_fail(CMD_FAILED, "%s is a level: its samples have no sum\nvalues with one: %s",
                        name, names);
    return cmd_fail(CMD_FAILED, "no value of the samples of %s is called %s\nthere are: %s", path,
                    name, names);
}

/* The first set of samples other than CPU time and counted calls. */
static unsigned other_set(const struct trace *trace)
{
    const struct sample_sets *sets = trace_sets_get(trace);
    for (unsigned i = SAMPLE_SET_OWN; i < sample_sets_count(sets); i++)
        if (sample_set_get(sets, i)->role == SAMPLE_ROLE_OTHER && sample_set_get(sets, i)->count)
            return i;
    return 0;
}

static bool has_cpu_time(struct store_reader *reader)
{
    const struct sample_sets *sets = trace_sets_get(store_reader_trace(reader));
    const struct sample *samples;
    uint32_t count;
    bool found = false;
    while (!found && store_reader_next_samples(reader, &samples, &count) > 0)
        for (uint32_t i = 0; i < count && !found; i++)
            found = sample_role(sets, &samples[i]) == SAMPLE_ROLE_CPU;
    return store_reader_rewind(reader) != 0 || found;
}

bool selection_other_value(struct store_reader *reader, char name[SELECTION_VALUE_SIZE])
{
    const struct trace *trace = store_reader_trace(reader);
    unsigned set = other_set(trace);
    struct store_info info;
    store_reader_info(reader, &info);
    if (!set || info.event_count || has_cpu_time(reader))
        return false;
    const struct sample_set *entry = sample_set_get(trace_sets_get(trace), set);
    if (sample_heap_any(trace) && entry->flags & SAMPLE_SET_HEAP)
        snprintf(name, SELECTION_VALUE_SIZE, "heap:peak");
    else
        snprintf(name, SELECTION_VALUE_SIZE, "%s", trace_string(trace, entry->name)->bytes);
    return true;
}
