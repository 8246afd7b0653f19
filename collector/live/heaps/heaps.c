/* SPDX-License-Identifier: MIT */
/* Implements heaps.h. */
#include "heaps.h"

#include "clock_now.h"
#include "file_io.h"
#include "heaps_file.h"
#include "proc_info.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEARCH_NS INT64_C(100000000)
#define LOOK_NS   INT64_C(1000000000)

/* After its end: until then the kernel's report of it has come. */
#define SETTLE_NS INT64_C(200000000)

enum { FILES_MAX = 1 << 16 };

struct heaps {
    struct heaps_options options;
    char prefix[HEAPS_NAME_SIZE];
    VEC(struct heaps_file *) files;
    struct heaps_recorded recorded;
    struct heaps_namer namer;
    struct heaps_reading reading;
    int64_t search_ns;

    struct counts {
        uint64_t allocations, inherited, lost, unplaced, deep, refused;
    } counts;
};

struct heaps *heaps_create(const struct heaps_options *options)
{
    struct heaps *heaps = calloc(1, sizeof(*heaps));
    if (!heaps)
        return NULL;
    heaps->options = *options;
    snprintf(heaps->prefix, sizeof(heaps->prefix), ANNOT_HEAP_PREFIX "%016" PRIx64 "-",
             options->session_id);
    heaps->reading.options = &heaps->options;
    heaps->reading.namer = &heaps->namer;
    heaps->reading.recorded = &heaps->recorded;
    if (heaps_namer_init(&heaps->namer, options->trace) == 0)
        return heaps;
    heaps_destroy(heaps);
    return NULL;
}

static void free_file(struct heaps *heaps, struct heaps_file *file)
{
    if (file->stacks.process.code)
        symbolizer_release(heaps->namer.frames.symbolizer, file->stacks.process.code);
    heaps_file_fini(file);
    free(file);
}

void heaps_destroy(struct heaps *heaps)
{
    if (!heaps)
        return;
    for (size_t i = 0; i < heaps->files.count; i++)
        free_file(heaps, heaps->files.items[i]);
    vec_free(&heaps->files);
    heaps_namer_fini(&heaps->namer);
    map64_free(&heaps->recorded.by_stack);
    map64_free(&heaps->recorded.by_process);
    vec_free(&heaps->recorded.sums);
    vec_free(&heaps->recorded.processes);
    vec_free(&heaps->reading.samples);
    vec_free(&heaps->reading.values);
    free(heaps);
}

bool heaps_live(const struct heaps *heaps, int32_t pid, int64_t *ret_bytes)
{
    struct annot_heap header;
    for (size_t i = 0; i < heaps->files.count; i++) {
        const struct heaps_file *file = heaps->files.items[i];
        if (file->pid != pid || file->process < 0 || file->ended_ns || file->finished)
            continue;
        if (pread(file->fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
            header.state != ANNOT_HEAP_COUNTS || header.live < 0)
            return false;
        *ret_bytes = header.live;
        return true;
    }
    return false;
}

/* ---- The set --------------------------------------------------------------------------------- */

enum { SET_FLAGS = SAMPLE_SET_HEAP | SAMPLE_SET_EXACT | SAMPLE_SET_INTERVAL };

static bool is_our_set(const struct sample_set *set)
{
    return set->flags == SET_FLAGS && set->count == HEAPS_VALUES &&
           set->types[0] == VALUE_TYPE_ALLOC_BYTES && set->types[3] == VALUE_TYPE_FREE_OBJECTS;
}

static int need_set(struct heaps *heaps)
{
    static const char name[] = "heap";
    struct trace *trace = heaps->options.trace;
    struct sample_sets *sets = trace_sets(trace);
    for (unsigned i = SAMPLE_SET_OWN; i < sample_sets_count(sets) && !heaps->reading.set; i++)
        if (is_our_set(sample_set_get(sets, i)))
            heaps->reading.set = (uint16_t)i;
    if (heaps->reading.set)
        return 0;
    int64_t string = trace_string_add(trace, name, sizeof(name) - 1);
    if (string < 0)
        return (int)string;
    const struct sample_set set = {.name = (uint32_t)string,
                                   .flags = SET_FLAGS,
                                   .count = HEAPS_VALUES,
                                   .types = {VALUE_TYPE_ALLOC_BYTES, VALUE_TYPE_ALLOC_OBJECTS,
                                             VALUE_TYPE_FREE_BYTES, VALUE_TYPE_FREE_OBJECTS}};
    int64_t number = sample_sets_add(sets, &set);
    heaps->reading.set = number > 0 ? (uint16_t)number : 0;
    return number > 0 ? 0 : (int)number;
}

/* ---- A continued recording ------------------------------------------------------------------- */

static struct heaps_sums *noted_sums(struct heaps_recorded *recorded, uint64_t key)
{
    const uint64_t *found = map64_find(&recorded->by_stack, key);
    if (found)
        return &recorded->sums.items[*found - 1];
    if (vec_push(&recorded->sums, (struct heaps_sums){0}) != 0 ||
        map64_put(&recorded->by_stack, key, recorded->sums.count) != 0)
        return NULL;
    return &recorded->sums.items[recorded->sums.count - 1];
}

static struct heaps_progress *noted_progress(struct heaps_recorded *recorded, uint32_t process)
{
    uint64_t key = process + UINT64_C(1);
    const uint64_t *found = map64_find(&recorded->by_process, key);
    if (found)
        return &recorded->processes.items[*found - 1];
    if (vec_push(&recorded->processes, (struct heaps_progress){0}) != 0 ||
        map64_put(&recorded->by_process, key, recorded->processes.count) != 0)
        return NULL;
    return &recorded->processes.items[recorded->processes.count - 1];
}

int heaps_note(struct heaps *heaps, const struct sample *sample)
{
    const struct trace *trace = heaps->options.trace;
    if (!is_our_set(sample_set_get(trace_sets_get(trace), sample->set)) ||
        sample->value_count != HEAPS_VALUES)
        return 0;
    struct heaps_recorded *recorded = &heaps->recorded;
    struct heaps_sums *sums = noted_sums(recorded, heaps_key(sample->thread, sample->stack));
    struct heaps_progress *progress =
        noted_progress(recorded, trace_thread_get(trace, sample->thread)->process);
    if (!sums || !progress)
        return -ENOMEM;
    sums->alloc_bytes += sample->values[0];
    sums->allocs += sample->values[1];
    sums->free_bytes += sample->values[2];
    sums->frees += sample->values[3];
    progress->live += sample->values[0] - sample->values[2];
    if (progress->live > progress->peak)
        progress->peak = progress->live;
    if (sample->end_ns > progress->last_ns)
        progress->last_ns = sample->end_ns;
    return 0;
}

/* ---- Files ----------------------------------------------------------------------------------- */

static bool is_known(const struct heaps *heaps, const char *name)
{
    for (size_t i = 0; i < heaps->files.count; i++)
        if (strcmp(heaps->files.items[i]->name, name) == 0)
            return true;
    return false;
}

/* Finds the process; one that has ended, in another namespace, stays unknown. */
static void find_process(struct heaps_file *file)
{
    struct proc_stat stat;
    bool ours = file->header.pid_ns == 0 || file->header.pid_ns == proc_pid_namespace(0);
    file->pid = ours ? file->header.pid : proc_find(file->header.pid_ns, file->header.pid);
    if (file->pid && proc_has_mapped(file->pid, file->device, file->inode) == 1 &&
        proc_stat(file->pid, &stat) == 0)
        file->start_ticks = stat.start_ticks;
}

static struct heaps_file *open_file(struct heaps *heaps, const char *name)
{
    struct stat status;
    struct heaps_file *file = calloc(1, sizeof(*file));
    if (!file)
        return NULL;
    snprintf(file->name, sizeof(file->name), "%s", name);
    file->process = -1;
    file->fd =
        file_open_regular(heaps->options.directory->fd, name, O_RDONLY | O_NOFOLLOW, &status);
    if (file->fd >= 0 && status.st_uid == heaps->options.directory->uid &&
        status.st_size == ANNOT_HEAP_BYTES && heaps_file_read(file) == 0 &&
        file->header.session == heaps->options.session_id) {
        file->device = status.st_dev;
        file->inode = status.st_ino;
        find_process(file);
        return file;
    }
    heaps_file_fini(file);
    free(file);
    return NULL;
}

/* A file that is not complete yet is found again at the next search. */
static int search(struct heaps *heaps)
{
    DIR *stream = file_list_folder(heaps->options.directory->fd);
    int error = 0;
    for (const struct dirent *entry; stream && error == 0 && (entry = readdir(stream));) {
        if (strncmp(entry->d_name, heaps->prefix, strlen(heaps->prefix)) != 0 ||
            strlen(entry->d_name) >= HEAPS_NAME_SIZE || heaps->files.count >= FILES_MAX ||
            is_known(heaps, entry->d_name))
            continue;
        struct heaps_file *file = open_file(heaps, entry->d_name);
        if (file && (error = vec_push(&heaps->files, file)) != 0)
            free_file(heaps, file);
    }
    if (stream)
        closedir(stream);
    return error;
}

/* True if its program ended: by an exit, a signal, or an exec. */
static bool has_ended(const struct heaps_file *file)
{
    struct proc_stat stat;
    if (!file->pid)
        return true;
    int mapped = proc_has_mapped(file->pid, file->device, file->inode);
    if (mapped < 0) /* without permission */
        return proc_stat(file->pid, &stat) != 0 || stat.state == 'Z';
    return mapped == 0;
}

/* The last sign of a program that has ended. */
static int64_t last_sign(const struct heaps_file *file, int64_t now_ns)
{
    const struct annot_heap *header = &file->header;
    uint64_t last_ns = header->peak_ns > header->last_ns ? header->peak_ns : header->last_ns;
    last_ns = last_ns > header->created_ns ? last_ns : header->created_ns;
    return last_ns < (uint64_t)now_ns ? (int64_t)last_ns : now_ns;
}

/* Without other sources of processes' ends, which are more precise: it is noticed late, and what
 * others hold by then must not add up with what this process held. */
static void report_end(const struct heaps *heaps, struct heaps_file *file, int64_t now_ns)
{
    (void)heaps_file_read(file);

    struct proc_stat stat;
    const struct lives_task task = {.pid = file->pid, .start_ticks = file->start_ticks};
    bool gone = file->pid && (proc_stat(file->pid, &stat) != 0 || stat.state == 'Z');
    if (gone && heaps->options.lives)
        lives_exit(heaps->options.lives, &task, last_sign(file, now_ns), true,
                   LIVES_STATUS_UNKNOWN);
}

/* Not after its end, as far as that is known: what it held then is gone. */
static int64_t last_time(const struct heaps *heaps, const struct heaps_file *file, int64_t now_ns)
{
    const struct trace_process *entry =
        file->process < 0 ? NULL : trace_process_get(heaps->options.trace, (uint32_t)file->process);
    if (!heaps->options.lives && has_ended(file))
        now_ns = last_sign(file, now_ns);
    bool known = entry && entry->end_ns > 0 && entry->end_ns < now_ns;
    return known ? entry->end_ns : now_ns;
}

static void count_file(struct counts *counts, const struct heaps_file *file)
{
    for (size_t i = 0; i < file->rows.count; i++)
        counts->allocations += (uint64_t)file->rows.items[i].now.allocs;
    counts->inherited += file->header.inherited_frees;
    counts->lost += file->header.lost_blocks;
    counts->unplaced += file->header.unplaced_count;
    counts->deep += file->header.deep_count;
    counts->refused += file->header.state == ANNOT_HEAP_NO_SPACE;
}

static int finish_file(struct heaps *heaps, struct heaps_file *file, int64_t now_ns)
{
    if (file->process < 0) {
        report_end(heaps, file, now_ns);
        file->process = heaps_process(file, &heaps->options);
    }
    int error = file->process < 0
                    ? (int)file->process
                    : heaps_file_look(file, &heaps->reading, last_time(heaps, file, now_ns), true);
    count_file(&heaps->counts, file);
    file->finished = true;
    return error == -EAGAIN || error == -EBADMSG ? 0 : error;
}

static int look(struct heaps *heaps, struct heaps_file *file, int64_t now_ns, uint64_t ticket)
{
    if (file->finished)
        return 0;
    if (!file->ended_ns && has_ended(file)) {
        file->ended_ns = now_ns;
        report_end(heaps, file, now_ns);
    }
    if (file->ended_ns) {
        file->ticket = ticket;
        return now_ns - file->ended_ns >= SETTLE_NS ? finish_file(heaps, file, now_ns) : 0;
    }
    if (now_ns - file->looked_ns < LOOK_NS)
        return 0;
    file->looked_ns = now_ns;
    int error = heaps_file_look(file, &heaps->reading, now_ns, false);
    return error == -EAGAIN || error == -EBADMSG ? 0 : error;
}

int heaps_step(struct heaps *heaps, int64_t now_ns, uint64_t ticket)
{
    if (now_ns - heaps->search_ns < SEARCH_NS)
        return 0;
    heaps->search_ns = now_ns;
    int error = need_set(heaps);
    if (error == 0)
        error = search(heaps);
    for (size_t i = 0; i < heaps->files.count && error == 0; i++)
        error = look(heaps, heaps->files.items[i], now_ns, ticket);
    return error ? error : frames_take_names(&heaps->namer.frames);
}

/* ---- End ------------------------------------------------------------------------------------- */

static int note_count(struct heaps *heaps, enum fact_kind kind, const char *name, uint64_t count)
{
    return count ? trace_fact_set(heaps->options.trace, kind, name, count) : 0;
}

static int write_facts(struct heaps *heaps)
{
    const struct counts *counts = &heaps->counts;
    int error =
        note_count(heaps, FACT_COUNT, "allocations of memory, each counted", counts->allocations);
    if (!error)
        error =
            note_count(heaps, FACT_COUNT, "frees of blocks from before a fork", counts->inherited);
    if (!error)
        error = note_count(heaps, FACT_NOTE,
                           "blocks of memory are not counted, as there was no memory for it",
                           counts->lost);
    if (!error)
        error = note_count(heaps, FACT_NOTE,
                           "allocations count for a caller, as there were too many stacks",
                           counts->unplaced);
    if (!error)
        error =
            note_count(heaps, FACT_NOTE,
                       "allocations have only the inner 1,024 frames of their stack", counts->deep);
    if (!error)
        error = note_count(heaps, FACT_NOTE,
                           "processes do not count their memory, as their address space is "
                           "limited (ulimit -v, or vm.overcommit_memory 2)",
                           counts->refused);
    return error;
}

int heaps_finish(struct heaps *heaps, int64_t now_ns)
{
    int error = need_set(heaps);
    if (error == 0)
        error = search(heaps);
    for (size_t i = 0; i < heaps->files.count && error == 0; i++)
        if (!heaps->files.items[i]->finished)
            error = finish_file(heaps, heaps->files.items[i], now_ns);
    if (error == 0)
        error = frames_await_names(&heaps->namer.frames);
    return error ? error : write_facts(heaps);
}

void heaps_free(struct heaps *heaps, uint64_t written)
{
    size_t kept = 0;
    for (size_t i = 0; i < heaps->files.count; i++) {
        struct heaps_file *file = heaps->files.items[i];
        if (file->finished && (written == UINT64_MAX || file->ticket <= written)) {
            unlinkat(heaps->options.directory->fd, file->name, 0);
            free_file(heaps, file);
        } else {
            heaps->files.items[kept++] = file;
        }
    }
    heaps->files.count = kept;
}
