/* SPDX-License-Identifier: MIT */
/* The table of processes or threads of report_functions.h.
 *
 * A build or a shell script starts one program hundreds of times: processes that are called the
 * same are one row, and so are many forked children that did next to nothing. */
#include "report_functions.h"

#include "call_label.h"
#include "number_text.h"
#include "table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct owner {
    struct thread_share share;
    uint32_t ordinal;
    uint32_t count; /* processes in this row; 0: it is in another one */
    bool workers;   /* of its parent: they have no names of their own */
};

/* So many forked children have a row each whatever they did. A minor one has at most so many
 * samples. */
enum { FEW = 16, MINOR_SAMPLES_MAX = 4 };

/* Who was not seen on a CPU is listed if it waited more than this part of the one that waited most:
 * a script's many helpers are not. */
enum { LITTLE_PART = 20 };

static uint64_t off_cpu_ns(const struct owner *owner)
{
    return owner->share.blocked_ns + owner->share.runnable_ns;
}

static int by_cpu(const void *left, const void *right)
{
    const struct owner *a = left, *b = right;
    if (a->share.cpu_ns != b->share.cpu_ns)
        return a->share.cpu_ns < b->share.cpu_ns ? 1 : -1;
    if (off_cpu_ns(a) != off_cpu_ns(b))
        return off_cpu_ns(a) < off_cpu_ns(b) ? 1 : -1;
    return a->ordinal < b->ordinal ? -1 : a->ordinal > b->ordinal;
}

static void add_share(struct owner *owner, const struct thread_share *share)
{
    owner->share.cpu_ns += share->cpu_ns;
    owner->share.sample_count += share->sample_count;
    owner->share.runnable_ns += share->runnable_ns;
    owner->share.blocked_ns += share->blocked_ns;
}

static void join(struct owner *owner, struct owner *other)
{
    add_share(owner, &other->share);
    owner->count += other->count;
    *other = (struct owner){.ordinal = other->ordinal};
}

/* ---- Processes that are called the same ---- */

struct label {
    char *text;
    uint32_t owner;
};

static int by_text(const void *left, const void *right)
{
    const struct label *a = left, *b = right;
    int texts = strcmp(a->text, b->text);
    return texts ? texts : a->owner < b->owner ? -1 : a->owner > b->owner;
}

/* Forked children have numbers, and finding those takes long. */
static int join_programs(const struct trace *trace, struct owner *owners, uint32_t count)
{
    struct label *labels = calloc((size_t)count + 1, sizeof(*labels));
    uint32_t used = 0;
    char text[4096];
    bool failed = !labels;
    for (uint32_t i = 0; i < count && !failed; i++) {
        if (trace_process_get(trace, i)->forked)
            continue;
        trace_process_label(trace, i, text, sizeof(text));
        labels[used] = (struct label){strdup(text), i};
        failed = !labels[used++].text;
    }
    if (!failed)
        qsort(labels, used, sizeof(*labels), by_text);
    for (uint32_t first = 0, i = 1; i < used && !failed; i++) {
        if (strcmp(labels[first].text, labels[i].text) == 0)
            join(&owners[labels[first].owner], &owners[labels[i].owner]);
        else
            first = i;
    }
    for (uint32_t i = 0; i < used; i++)
        free(labels[i].text);
    free(labels);
    return failed ? -ENOMEM : 0;
}

static bool is_minor_worker(const struct trace *trace, const struct owner *owner)
{
    const struct trace_process *process = trace_process_get(trace, owner->ordinal);
    return process->forked && process->parent >= 0 && !process->name &&
           process->end != PROCESS_RUNNING && owner->share.sample_count <= MINOR_SAMPLES_MAX;
}

/* Those of one parent into the first of them, which is told by it. */
static int join_workers(const struct trace *trace, struct owner *owners, uint32_t count)
{
    uint32_t minor = 0, *first_of = calloc((size_t)count + 1, sizeof(*first_of)); /* + 1 */
    if (!first_of)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        minor += is_minor_worker(trace, &owners[i]);
    for (uint32_t i = 0; i < count && minor > FEW; i++) {
        uint32_t parent = (uint32_t)trace_process_get(trace, i)->parent;
        if (!is_minor_worker(trace, &owners[i]) || parent >= count)
            continue;
        if (first_of[parent])
            join(&owners[first_of[parent] - 1], &owners[i]);
        else
            first_of[parent] = i + 1;
        owners[first_of[parent] - 1].workers = true;
    }
    free(first_of);
    return 0;
}

/* ---- Rows ---- */

/* Those that are worth a row come first. How many, or -ENOMEM. */
static int64_t collect_owners(const struct report_functions_options *options, struct owner *owners)
{
    const struct sample_stats *all = &options->samples->all;
    uint32_t count = options->by_thread ? all->thread_count : trace_process_count(options->trace);
    bool join = !options->by_thread && !options->all;
    for (uint32_t i = 0; i < count; i++)
        owners[i] = (struct owner){.ordinal = i, .count = 1};
    for (uint32_t i = 0; i < all->thread_count; i++) {
        const struct thread_share *share = &all->threads[i];
        uint32_t at = options->by_thread ? i : trace_thread_get(options->trace, i)->process;
        if (at >= count)
            continue;
        add_share(&owners[at], share);
    }
    int rc = join ? join_programs(options->trace, owners, count) : 0;
    if (join && rc == 0)
        rc = join_workers(options->trace, owners, count);
    if (rc < 0)
        return rc;
    qsort(owners, count, sizeof(*owners), by_cpu);
    uint64_t used = 0, waited_least = 0;
    for (uint32_t i = 0; i < count && !options->all; i++)
        if (off_cpu_ns(&owners[i]) / LITTLE_PART > waited_least)
            waited_least = off_cpu_ns(&owners[i]) / LITTLE_PART;
    while (used < count &&
           (owners[used].share.cpu_ns > 0 || off_cpu_ns(&owners[used]) > waited_least))
        used++;
    return (int64_t)used;
}

/* Threads of a pool have one name: the kernel's number tells them apart. One without a name has the
 * function that it was started with. */
static void add_thread_name(const struct report_functions_options *options, uint32_t ordinal,
                            char *to, size_t size)
{
    const struct trace *trace = options->trace;
    const struct trace_thread *thread = trace_thread_get(trace, ordinal);
    const struct trace_process *process = trace_process_get(trace, thread->process);
    char name[1024], function[CALL_LABEL_SIZE];
    bool is_main = process && thread->tid == process->ns_pid;
    bool by_kernel =
        !thread->name && thread->comm && process && thread->comm != process->comm && !is_main;
    trace_thread_label(trace, ordinal, name, sizeof(name));
    uint32_t entry =
        thread->name || by_kernel || is_main ? 0 : options->samples->entries[ordinal].frame;
    if (entry) {
        const struct frame *frame = stacks_get_frame(trace_stacks_get(trace), entry);
        call_frame_label(trace, frame, CALL_STRIP_LIBRARIES, function, sizeof(function));
        snprintf(to, size, ", %s: %s", name, function);
    } else if (by_kernel) {
        snprintf(to, size, ", %s (%d)", name, thread->tid);
    } else {
        snprintf(to, size, ", %s", name);
    }
}

static void add_owner(const struct report_functions_options *options, struct table *table,
                      const struct owner *owner, const char *mark)
{
    const struct trace *trace = options->trace;
    char label[4096];
    uint32_t process = owner->ordinal;
    if (options->by_thread)
        process = trace_thread_get(trace, owner->ordinal)->process;
    if (owner->workers && owner->count > 1)
        process = (uint32_t)trace_process_get(trace, process)->parent;
    size_t length = trace_process_label(trace, process, label, sizeof(label) / 2);
    if (options->by_thread)
        add_thread_name(options, owner->ordinal, label + length, sizeof(label) - length);
    else if (owner->count > 1)
        snprintf(label + length, sizeof(label) - length, " (%u %s)", owner->count,
                 owner->workers ? "forked children" : "processes");
    length = strlen(label);
    snprintf(label + length, sizeof(label) - length, "%s", mark);
    table_add(table, label);
}

static void add_share_cells(const struct report_functions_options *options, struct table *table,
                            const struct thread_share *share)
{
    table_add_time(table, share->cpu_ns);
    table_add_percent(table, share->cpu_ns, options->samples->all.all.cpu_ns);
    table_add_count(table, share->sample_count);
    if (!options->samples->off_cpu)
        return;
    table_add_time(table, share->runnable_ns);
    table_add_time(table, share->blocked_ns);
}

/* All that no row before has. */
static void add_rest(const struct report_functions_options *options, struct table *table,
                     const struct owner *owners, uint64_t shown)
{
    struct owner rest = {.share = options->samples->all.all};
    uint64_t more = trace_process_count(options->trace), count = 0;
    if (options->by_thread)
        more = options->samples->all.thread_count;
    for (uint64_t i = 0; i < shown; i++) {
        rest.share.cpu_ns -= owners[i].share.cpu_ns;
        rest.share.sample_count -= owners[i].share.sample_count;
        rest.share.runnable_ns -= owners[i].share.runnable_ns;
        rest.share.blocked_ns -= owners[i].share.blocked_ns;
    }
    for (uint64_t i = shown; i < more; i++)
        count += owners[i].share.sample_count + off_cpu_ns(&owners[i]) > 0;
    if (rest.share.sample_count == 0 && off_cpu_ns(&rest) == 0)
        return;
    char label[NUMBER_TEXT_SIZE + 16], number[NUMBER_TEXT_SIZE];
    snprintf(label, sizeof(label), "(%s more)", number_count(count, number));
    table_add(table, label);
    add_share_cells(options, table, &rest.share);
}

/* Whether one has few samples. */
static bool add_owners(const struct report_functions_options *options, struct table *table,
                       const struct owner *owners, uint64_t count)
{
    bool any = false;
    for (uint64_t i = 0; i < count; i++) {
        bool few = report_few_samples(owners[i].share.sample_count);
        any = any || few;
        add_owner(options, table, &owners[i], few ? REPORT_FEW_MARK : "");
        add_share_cells(options, table, &owners[i].share);
    }
    add_rest(options, table, owners, count);
    return any;
}

int report_owners_print(const struct report_functions_options *options)
{
    const struct table_column columns[] = {
        {options->by_thread ? "thread" : "process", 0, true},
        {"cpu", 0, false},
        {"%", 0, false},
        {"samples", 3, false},
        {"runnable", 1, false},
        {"blocked", 2, false},
    };
    const struct sample_stats *all = &options->samples->all;
    bool off_cpu = options->samples->off_cpu;
    size_t room = (size_t)all->thread_count + trace_process_count(options->trace) + 1;
    struct owner *owners = calloc(room, sizeof(*owners));
    struct table *table = table_create(columns, off_cpu ? 6 : 4);
    int64_t found = owners && table ? collect_owners(options, owners) : -ENOMEM;
    int rc = found < 0 ? (int)found : 0;
    if (found > 0) {
        uint64_t count = (uint64_t)found < options->limit ? (uint64_t)found : options->limit;
        bool few = add_owners(options, table, owners, count);
        printf("\nCPU time by %s\n", columns[0].title);
        size_t hidden;
        rc = table_print(table, options->width, options->color, &hidden);
        if (few)
            report_few_print();
    }
    table_destroy(table);
    free(owners);
    return rc;
}
