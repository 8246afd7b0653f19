/* SPDX-License-Identifier: MIT */
/* annot merge: combines several recordings, also of several hosts. Writes a manifest, no data.
 *
 * Recordings of one boot share a clock. Times of other hosts are mapped by their wall clocks, if
 * the user gives a bound of the clocks' difference, or by an offset that the user gives; without a
 * bound of the error, merging fails. Main thread only. */
#include "cmd.h"
#include "joined.h"
#include "operands.h"
#include "pass.h"
#include "reader.h"
#include "recording.h"
#include "store.h"
#include "vec.h"
#include "volumes.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Computes the offset of two clocks from the ranges of one name, matched in order of their begins:
 * first with first, second with second. */

enum { MATCHES_MAX = 1 << 20 };

struct begins {
    const struct trace *trace;
    const char *name;
    VEC(int64_t) items;
};

static int take(void *context, const struct item *item)
{
    struct begins *begins = context;
    bool range = item->kind == ITEM_SPAN && item->lane != LANE_QUEUE;
    if (!range || strcmp(trace_string(begins->trace, item->event->name)->bytes, begins->name) != 0)
        return 0;
    return begins->items.count < MATCHES_MAX ? vec_push(&begins->items, item->begin_ns) : -EMSGSIZE;
}

static int by_time(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* Reads the begins, sorted. CMD_OK, or the exit status after a printed message. */
static int read_begins(const char *path, struct begins *begins)
{
    struct store_reader *reader = recording_open_stored(path);
    if (!reader)
        return CMD_FAILED;
    const struct pass_source source = recording_pass_source(reader);
    const struct sink sink = {.take = take, .context = begins, .wants = WANT_EVENTS};
    begins->trace = source.trace;
    int error = pass_read(&source, &PASS_SELECT_ALL, &sink, 1);
    store_reader_close(reader);
    if (error == -EMSGSIZE)
        return cmd_fail(CMD_FAILED, "%s has more than %d ranges %s\n--match a rarer one", path,
                        MATCHES_MAX, begins->name);
    if (error)
        return recording_fail(path, error);
    if (begins->items.count)
        qsort(begins->items.items, begins->items.count, sizeof(int64_t), by_time);
    return CMD_OK;
}

/* The median of the differences; the error is the largest deviation from it. */
static void find_offset(struct begins *first, const struct begins *other,
                        struct store_time_map *time)
{
    int64_t *differences = first->items.items;
    size_t count = first->items.count;
    for (size_t i = 0; i < count; i++)
        differences[i] -= other->items.items[i];
    qsort(differences, count, sizeof(*differences), by_time);
    int64_t middle = differences[count / 2];
    int64_t below = middle - differences[0], above = differences[count - 1] - middle;
    time->offset_ns = middle;
    time->error_ns = below > above ? below : above;
}

/* Computes the offset to add to the times of the recording at `path`, so that its ranges of that
 * name begin with those of the first recording, and its largest error. CMD_OK, or the exit status
 * after a printed message. */
static int merge_match(const char *first_path, const char *path, const char *name,
                       struct store_time_map *time)
{
    struct begins first = {.name = name}, other = {.name = name};
    int status = read_begins(first_path, &first);
    if (status == CMD_OK)
        status = read_begins(path, &other);
    if (status == CMD_OK && (first.items.count != other.items.count || !first.items.count))
        status = cmd_fail(CMD_FAILED,
                          "%s has %zu ranges %s, and %s has %zu: they cannot be matched\n"
                          "--match one that both have as often, or give --offset",
                          first_path, first.items.count, name, path, other.items.count);
    if (status == CMD_OK)
        find_offset(&first, &other, time);
    vec_free(&first.items);
    vec_free(&other.items);
    return status;
}

struct merge_values {
    const char *output;
    bool force;
    int64_t clock_error_ns;
    struct option_list offsets;
    const char *match; /* name of ranges in all recordings */
};

/* Wall clock of a recording's host: CLOCK_REALTIME at two instants. */
struct merged {
    uint8_t boot_id[16];
    char name[256];
    int64_t first_ns, last_ns; /* CLOCK_MONOTONIC */
    double first_wall, wall_drift;
    int64_t base_ns;  /* the wall clock at first_ns */
    int64_t error_ns; /* of the anchors */
    bool has_wall;
};

/* A file of a recording, identified independently of its name. */
struct merged_file {
    dev_t device;
    ino_t inode;
    uint64_t set_id;
    uint32_t number;
    size_t part;
};

struct merge {
    const struct merge_values *values;
    struct store_manifest manifest;
    struct merged *of; /* by part */
    VEC(struct merged_file) files;
};

/* ---- Anchors of the recordings --------------------------------------------------------------- */

static void note_anchor(const struct trace_anchor *anchor, struct merged *of)
{
    if (anchor->error_ns > of->error_ns)
        of->error_ns = anchor->error_ns;
    if (!of->has_wall || anchor->ns < of->first_ns) {
        of->first_ns = anchor->ns;
        of->base_ns = (int64_t)anchor->raw;
    }
    of->has_wall = true;
}

enum { DRIFT_LENGTH_NS = 1000000000 };

/* Computes how much faster the wall clock runs. A clock that was set in between gives no drift; its
 * step is added to the error. */
static void find_drift(const struct trace_anchor *anchor, struct merged *of)
{
    double length = (double)(anchor->ns - of->first_ns);
    double change = (double)((int64_t)anchor->raw - of->base_ns) - length;
    if (length < DRIFT_LENGTH_NS || anchor->ns < of->last_ns)
        return;
    of->last_ns = anchor->ns;
    if (change / length < 1e-4 && change / length > -1e-4)
        of->wall_drift = change / length;
    else
        of->error_ns += (int64_t)(change < 0 ? -change : change);
}

static bool is_wall(const struct trace *trace, const struct trace_anchor *anchor)
{
    const struct trace_clock *clock = trace_clock_get(trace, anchor->clock);
    return clock && clock->kind == CLOCK_KIND_REALTIME && clock->host == 0;
}

static void look_at(const struct trace *trace, struct merged *of)
{
    const struct trace_session *session = trace_session_get(trace);
    const struct trace_host *host = trace_host_get(trace, 0);
    uint32_t name = host && host->name ? host->name : session->hostname;
    snprintf(of->name, sizeof(of->name), "%s", trace_string(trace, name)->bytes);
    if (host)
        memcpy(of->boot_id, host->boot_id, sizeof(of->boot_id));
    for (uint32_t i = 0; i < trace_anchor_count(trace); i++)
        if (is_wall(trace, trace_anchor_get(trace, i)))
            note_anchor(trace_anchor_get(trace, i), of);
    for (uint32_t i = 0; i < trace_anchor_count(trace); i++)
        if (is_wall(trace, trace_anchor_get(trace, i)))
            find_drift(trace_anchor_get(trace, i), of);
    if (!of->has_wall && session->begin_realtime_ns) {
        of->has_wall = true;
        of->first_ns = session->begin_ns;
        of->base_ns = session->begin_realtime_ns;
    }
}

/* ---- Clocks ---------------------------------------------------------------------------------- */

static bool same_host(const struct merged *a, const struct merged *b)
{
    static const uint8_t unknown[16];
    return memcmp(a->boot_id, b->boot_id, sizeof(unknown)) == 0 &&
           memcmp(a->boot_id, unknown, sizeof(unknown)) != 0;
}

static bool is_called(const char *text, size_t length, const char *name)
{
    return length == strlen(name) && memcmp(text, name, length) == 0;
}

/* Parses "HOST=NS±NS", also with "+-", and with the recording's path for the host. 1; 0: another
 * host's; or a negative exit status after a printed message. */
static int parse_offset(const char *text, const char *host, const char *path,
                        struct store_time_map *time)
{
    const char *number = strrchr(text, '=');
    char *end;
    if (!number || number == text)
        goto wrong;
    if (!is_called(text, (size_t)(number - text), host) &&
        !is_called(text, (size_t)(number - text), path))
        return 0;
    errno = 0;
    time->offset_ns = strtoll(number + 1, &end, 10);
    if (end == number + 1 || errno != 0)
        goto wrong;
    size_t sign = strncmp(end, "±", strlen("±")) == 0 ? strlen("±")
                  : strncmp(end, "+-", 2) == 0        ? 2
                                                      : 0;
    number = end + sign;
    time->error_ns = strtoll(number, &end, 10);
    if (sign == 0 || end == number || *end || errno != 0 || time->error_ns < 0)
        goto wrong;
    return 1;
wrong:
    return cmd_fail(-CMD_MISUSE,
                    "option --offset: cannot understand \"%s\"\nsay HOST=NS±NS: nanoseconds to add "
                    "to its times, and how far off that may be: node2=1500000±20000",
                    text);
}

/* Maps times by wall clocks: to the time at which the first host's wall clock shows the same. */
static void map_walls(const struct merged *first, const struct merged *of, int64_t clock_error_ns,
                      struct store_time_map *time)
{
    double faster = 1 + first->wall_drift;
    double behind = (double)(of->base_ns - first->base_ns) / faster;
    time->since_ns = of->first_ns;
    time->offset_ns = first->first_ns + (int64_t)behind - of->first_ns;
    time->drift = (1 + of->wall_drift) / faster - 1;
    time->error_ns = clock_error_ns + first->error_ns + of->error_ns;
}

static int fail_unbound(const struct merge *merge, size_t part)
{
    const struct merged *of = &merge->of[part];
    return cmd_fail(
        CMD_FAILED,
        "%s is of another host (%s) than %s (%s): how far their clocks are apart is not "
        "known\nif both follow NTP or PTP, --clock-error 5ms says how well; or give "
        "--offset %s=NS±NS, or --match a range that both have",
        merge->manifest.parts[part].path, of->name, merge->manifest.parts[0].path,
        merge->of[0].name, of->name);
}

/* 0, or the exit status. */
static int map_part(struct merge *merge, size_t part)
{
    struct store_time_map *time = &merge->manifest.parts[part].time;
    const struct merged *of = &merge->of[part];
    const struct option_list *offsets = &merge->values->offsets;
    for (size_t i = 0; i < part; i++)
        if (same_host(&merge->of[i], of)) {
            *time = merge->manifest.parts[i].time;
            return 0;
        }
    for (uint32_t i = 0; i < offsets->count && part > 0; i++) {
        int found =
            parse_offset(offsets->items[i].text, of->name, merge->manifest.parts[part].path, time);
        if (found != 0)
            return found > 0 ? 0 : -found;
    }
    if (part == 0)
        return 0;
    if (merge->values->match)
        return merge_match(merge->manifest.parts[0].path, merge->manifest.parts[part].path,
                           merge->values->match, time);
    if (merge->values->clock_error_ns <= 0 || !of->has_wall || !merge->of[0].has_wall)
        return fail_unbound(merge, part);
    map_walls(&merge->of[0], of, merge->values->clock_error_ns, time);
    return 0;
}

/* ---- The manifest ---------------------------------------------------------------------------- */

/* The path of the file relative to the folder of the output. NULL: out of memory, or a missing
 * file. */
static char *relative_path(const char *output, const char *path)
{
    const char *slash = strrchr(output, '/');
    char *folder = slash ? strndup(output, (size_t)(slash - output) + 1) : strdup(".");
    char *from = folder ? realpath(folder, NULL) : NULL, *to = realpath(path, NULL), *result = NULL;
    size_t common = 0;
    for (size_t i = 0; from && to && i <= strlen(from); i++) {
        if (from[i] != to[i] && !(from[i] == 0 && to[i] == '/'))
            break;
        if (from[i] == 0 || from[i] == '/')
            common = i + 1;
    }
    if (from && to && common > 0) {
        size_t ups = 0;
        for (size_t i = common; i < strlen(from); i++)
            ups += i == common || from[i] == '/';
        if ((result = calloc(1, 3 * ups + strlen(to) + 1))) {
            char *at = result;
            for (size_t i = 0; i < ups; i++)
                at = mempcpy(at, "../", 3);
            memcpy(at, to + common, strlen(to + common) + 1);
        }
    }
    free(folder);
    free(from);
    free(to);
    return result;
}

static const struct merged_file *find_file(const struct merge *merge, const struct stat *status)
{
    for (size_t i = 0; i < merge->files.count; i++) {
        const struct merged_file *file = &merge->files.items[i];
        if (file->device == status->st_dev && file->inode == status->st_ino)
            return file;
    }
    return NULL;
}

static const struct merged_file *find_copy(const struct merge *merge,
                                           const struct store_volume *volume, size_t part)
{
    for (size_t i = 0; volume->set_id != 0 && i < merge->files.count; i++) {
        const struct merged_file *file = &merge->files.items[i];
        if (file->set_id == volume->set_id && file->number == volume->number && file->part != part)
            return file;
    }
    return NULL;
}

/* Opening one volume reads all of its recording, so a second name, or a copy, would count them
 * twice. 0, or the exit status after a printed message. */
static int take_volumes(struct merge *merge, const struct store_reader *reader, const char *path,
                        size_t part)
{
    struct store_volume volume;
    struct stat status;
    for (uint32_t i = 0; store_reader_volume(reader, i, &volume); i++) {
        if (stat(volume.path, &status) != 0)
            continue;
        const struct merged_file *found = find_file(merge, &status);
        if (found && found->part != part)
            return cmd_fail(CMD_FAILED, "%s and %s are one recording\ngive each recording once",
                            merge->manifest.parts[found->part].path, path);
        found = find_copy(merge, &volume, part);
        if (found)
            return cmd_fail(CMD_FAILED,
                            "%s is a copy of %s: what is in them would count twice\ngive each "
                            "recording once",
                            path, merge->manifest.parts[found->part].path);
        const struct merged_file file = {status.st_dev, status.st_ino, volume.set_id, volume.number,
                                         part};
        if (vec_push(&merge->files, file) != 0)
            return cmd_fail(CMD_FAILED, "out of memory");
    }
    return CMD_OK;
}

/* 0, or the exit status. */
static int take_file(struct merge *merge, const char *path, size_t part)
{
    struct store_info info;
    struct store_reader *reader = recording_open_stored(path);
    if (!reader)
        return CMD_FAILED;
    store_reader_info(reader, &info);
    look_at(store_reader_trace(reader), &merge->of[part]);
    int error = info.part_count ? CMD_OK : take_volumes(merge, reader, path, part);
    store_reader_close(reader);
    if (error)
        return error;
    if (info.part_count)
        return cmd_fail(CMD_FAILED,
                        "%s is the result of a merge\ngive the recordings that it names", path);
    struct store_part *entry = &merge->manifest.parts[part];
    entry->path = strdup(path);
    merge->manifest.count = part + 1;
    return entry->path ? map_part(merge, part) : cmd_fail(CMD_FAILED, "out of memory");
}

/* Refuses recordings of one collector that overlap in a process. Recordings of two collectors that
 * sampled one process are accepted, with a note. 0, or the exit status. */
static int look_for_twice(const struct merge *merge)
{
    struct store_reader *reader;
    struct store_twice twice;
    char text[STORE_TWICE_TEXT_SIZE];
    int status = CMD_OK, error = store_reader_open_parts(&merge->manifest, &reader);
    if (error)
        return recording_fail(merge->manifest.parts[0].path, error);
    store_reader_twice(reader, &twice);
    store_twice_text(store_reader_trace(reader), &twice, text);
    if (twice.one_session)
        status = cmd_fail(
            CMD_FAILED,
            "%s and %s are of one session, and both have the same time of process %d: "
            "it would count twice\ngive one of them, or snapshots of different times",
            merge->manifest.parts[twice.part].path, merge->manifest.parts[twice.other].path,
            trace_process_get(store_reader_trace(reader), twice.process)->pid);
    else if (twice.count > 0)
        cmd_note("%s", text);
    store_reader_close(reader);
    return status;
}

static int write_manifest(struct merge *merge)
{
    const char *output = merge->values->output;
    struct stat status;
    if (stat(output, &status) == 0 && find_file(merge, &status))
        return cmd_fail(CMD_FAILED, "%s is one of the recordings\n-o names another file", output);
    for (size_t i = 0; i < merge->manifest.count; i++) {
        struct store_part *part = &merge->manifest.parts[i];
        char *path = relative_path(output, part->path);
        if (!path)
            return recording_fail_output(output, -ENOENT);
        free(part->path);
        part->path = path;
    }
    int error = store_manifest_write(output, &merge->manifest, merge->values->force);
    return error ? recording_fail_output(output, error) : CMD_OK;
}

static int merge_files(struct merge *merge, const struct cmd_call *call)
{
    size_t count = (size_t)call->operand_count;
    merge->manifest.parts = calloc(count, sizeof(*merge->manifest.parts));
    merge->of = calloc(count, sizeof(*merge->of));
    if (!merge->manifest.parts || !merge->of)
        return cmd_fail(CMD_FAILED, "out of memory");
    int status = CMD_OK;
    for (size_t i = 0; i < count && status == CMD_OK; i++)
        status = take_file(merge, call->operands[i], i);
    if (status == CMD_OK)
        status = look_for_twice(merge);
    return status == CMD_OK ? write_manifest(merge) : status;
}

static int run_merge(const struct cmd_call *call)
{
    struct merge merge = {.values = call->values};
    if (!merge.values->output)
        return cmd_fail(CMD_MISUSE, "no output\n-o FILE names it");
    if (call->operand_count > STORE_PARTS_MAX)
        return cmd_fail(CMD_MISUSE, "at most %d recordings", STORE_PARTS_MAX);
    int status = output_check(merge.values->output, "annot", CMD_MISUSE);
    if (status == 0)
        status = merge_files(&merge, call);
    store_manifest_free(&merge.manifest);
    free(merge.of);
    vec_free(&merge.files);
    return status;
}

static const struct option_spec merge_options[] = {
    {"output", 'o', OPTION_TEXT, offsetof(struct merge_values, output), "FILE",
     "what to write; the recordings stay where they are", NULL},
    {"force", 0, OPTION_FLAG, offsetof(struct merge_values, force), NULL,
     "replace an existing file", NULL},
    {"clock-error", 0, OPTION_TIME, offsetof(struct merge_values, clock_error_ns), "TIME",
     "the hosts' wall clocks differ by at most TIME", NULL},
    {"offset", 0, OPTION_LIST, offsetof(struct merge_values, offsets), "HOST=NS±NS",
     "what to add to the times of a host, and its error; may be repeated", NULL},
    {"match", 0, OPTION_TEXT, offsetof(struct merge_values, match), "NAME",
     "find that by the ranges of this name, which all recordings have", NULL},
    {0},
};

const struct cmd cmd_merge = {
    .name = "merge",
    .summary = "read several recordings, also of several hosts, as one",
    .usage = "-o FILE [OPTIONS] RECORDING RECORDING...",
    .details =
        "FILE names the recordings and says how their clocks fit; every command reads it as\n"
        "one recording. Recordings of the same boot of a host share a clock.\n",
    .options = merge_options,
    .values_size = sizeof(struct merge_values),
    .operands_min = 2,
    .operands_max = -1,
    .run = run_merge,
};
