/* SPDX-License-Identifier: MIT */
/* `annot info`: the file, the session, counts by kind, damage, refusals; how threads were sampled,
 * why no better rung was used, and how complete the stacks are; losses by cause, and calls without
 * effect by contract; GPUs. */
#include "info.h"
#include "losses.h"
#include "missing.h"
#include "number.h"
#include "reader.h"
#include "recording.h"
#include "sample_weight.h"
#include "term.h"
#include "volumes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

enum { FILTERS_SHOWN = 10, LABEL_SIZE = 512 };

static const char *text_of(const struct trace *trace, uint32_t string)
{
    return trace_string(trace, string)->bytes;
}

uint64_t info_record_count(const struct info_counts *counts)
{
    uint64_t sum = 0;
    for (unsigned kind = 0; kind < EVENT_KINDS; kind++)
        sum += event_is_record((uint8_t)kind) ? counts->by_kind[kind] : 0;
    return sum;
}

/* States whether the recording is complete. */
static const char *completeness(const struct info_options *options, const struct store_info *info)
{
    if (!info->complete)
        return "not complete: it has no end mark";
    return trace_unwatched(options->trace) ? "not complete: processes went on, see \"lost\""
                                           : "complete";
}

static void print_file(const struct info_options *options, const struct store_reader *reader,
                       const struct info_counts *counts)
{
    struct store_info info;
    char a[NUMBER_TEXT_SIZE], b[NUMBER_TEXT_SIZE];
    uint64_t records = info_record_count(counts);
    store_reader_info(reader, &info);
    printf("size       %s in %s chunks", number_size(info.file_bytes, a),
           number_count(info.chunk_count, b));
    if (records)
        printf(", %.1f bytes a record (%.1f before compression)",
               (double)info.file_bytes / (double)records, (double)info.raw_bytes / (double)records);
    printf("\nformat     %u.%u, %s\n", info.major, info.minor, completeness(options, &info));
}

/* An imported file has no status of a command. */
static bool is_imported(const struct trace *trace)
{
    uint32_t count = trace_process_count(trace);
    for (uint32_t i = 0; i < count; i++)
        if (trace_process_get(trace, i)->end != PROCESS_UNRECORDED)
            return false;
    return count > 0;
}

static void print_command(const struct trace *trace, const struct trace_session *session)
{
    if (!session->command)
        return;
    int status = session->command_status;
    printf("command    ");
    term_print(text_of(trace, session->command));
    if (status == -1)
        printf("%s\n", is_imported(trace) ? "" : " (status unknown)");
    else if (WIFEXITED(status))
        printf(" (exit %d)\n", WEXITSTATUS(status));
    else
        printf(" (killed by signal %d, %s)\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
}

static void print_time(const struct trace_session *session)
{
    char text[NUMBER_TEXT_SIZE], date[64] = "unknown";
    time_t seconds = (time_t)(session->begin_realtime_ns / 1000000000);
    struct tm parts;
    if (session->begin_realtime_ns > 0 && gmtime_r(&seconds, &parts))
        strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S UTC", &parts);
    printf("began      %s\n", date);
    if (session->end_ns > session->begin_ns)
        printf("lasted     %s\n",
               number_time_plain((uint64_t)(session->end_ns - session->begin_ns), text));
    else
        printf("lasted     unknown: it did not end in order\n");
}

/* A list with one entry per line. */
static void print_lines(const char *key, const char *lines)
{
    while (*lines) {
        size_t length = strcspn(lines, "\n");
        char line[4096];
        snprintf(line, sizeof(line), "%-10s %.*s", key, (int)length, lines);
        term_print(line);
        putchar('\n');
        lines += length + (lines[length] == '\n');
    }
}

/* Prints nothing for a session without a filter, and at most the last FILTERS_SHOWN filters. */
static void print_filters(const struct trace *trace)
{
    uint32_t count = trace_filter_count(trace);
    int64_t begin_ns = trace_begin_ns(trace);
    char text[NUMBER_TEXT_SIZE];
    if (count > FILTERS_SHOWN)
        printf("filter     (%u earlier ones)\n", count - FILTERS_SHOWN);
    for (uint32_t i = count > FILTERS_SHOWN ? count - FILTERS_SHOWN : 0; i < count; i++) {
        const struct trace_filter *filter = trace_filter_get(trace, i);
        const char *rules = text_of(trace, filter->rules);
        printf("filter     ");
        term_print(*rules ? rules : "none: everything is recorded");
        if (filter->time_ns > begin_ns)
            printf(" (from %s on)",
                   number_time_plain((uint64_t)(filter->time_ns - begin_ns), text));
        putchar('\n');
    }
}

/* Prints the policy, unless all processes drop their newest records. */
static void print_policy(const struct trace *trace)
{
    uint64_t overwriting = trace_fact_value(trace, TRACE_FACT_OVERWRITE);
    uint64_t waiting = trace_fact_value(trace, TRACE_FACT_WAIT);
    char text[NUMBER_TEXT_SIZE];
    if (overwriting)
        printf("policy     overwrite the oldest records: %s %s\n", number_count(overwriting, text),
               overwriting == 1 ? "process" : "processes");
    if (waiting)
        printf("policy     wait for room: %s %s\n", number_count(waiting, text),
               waiting == 1 ? "process" : "processes");
}

/* The boot; for further hosts also the mapping of their times to those of the first host. */
static void print_hosts(const struct trace *trace)
{
    char id[TRACE_BOOT_ID_SIZE], error[NUMBER_TEXT_SIZE];
    for (uint32_t i = 0; i < trace_host_count(trace); i++) {
        const struct trace_host *host = trace_host_get(trace, i);
        printf("%-10s %s", i ? "host" : "boot", trace_boot_id(host, id));
        if (i > 0) {
            printf(" ");
            term_print(text_of(trace, host->name));
            printf(": %+lld ns, at most %s off", (long long)host->offset_ns,
                   number_time((uint64_t)host->error_ns, error));
            if (host->drift != 0)
                printf(", drift %+.3f ppm", host->drift * 1e6);
        }
        putchar('\n');
    }
}

/* The files of a recording with several volumes. */
static void print_volumes(const struct store_reader *reader)
{
    struct store_volume volume;
    char line[4096 + NUMBER_TEXT_SIZE], size[NUMBER_TEXT_SIZE];
    for (uint32_t i = 0; store_reader_volume(reader, 1, &volume); i++) {
        if (!store_reader_volume(reader, i, &volume))
            return;
        snprintf(line, sizeof(line), "%s, %s", volume.path, number_size(volume.file_bytes, size));
        print_lines("volume", line);
    }
}

void info_print_facts(const struct info_options *options, const struct store_reader *reader,
                      const struct info_counts *counts)
{
    const struct trace *trace = options->trace;
    const struct trace_session *session = trace_session_get(trace);
    char text[NUMBER_TEXT_SIZE];
    print_lines("recording", options->path);
    print_volumes(reader);
    print_file(options, reader, counts);
    print_lines("version", text_of(trace, session->annot_version));
    if (session->recovered)
        printf("recovered  the collector died; annot recover completed the recording\n");
    print_command(trace, session);
    print_lines("host", text_of(trace, session->hostname));
    print_lines("kernel", text_of(trace, session->kernel));
    print_hosts(trace);
    print_time(session);
    if (session->clock)
        print_lines("clock", text_of(trace, session->clock));
    print_policy(trace);
    if (session->peak_bytes)
        printf("memory     %s of shared memory at most\n", number_size(session->peak_bytes, text));
    if (session->parent_id)
        printf("inside     session %016llx\n", (unsigned long long)session->parent_id);
    print_lines("nested", text_of(trace, session->nested));
    print_filters(trace);
}

void info_print_records(const struct info_options *options, const struct info_counts *counts)
{
    static const char *const names[EVENT_KINDS] = {
        [EVENT_PUSH] = "pushes",
        [EVENT_POP] = "pops",
        [EVENT_START] = "starts",
        [EVENT_END] = "ends",
        [EVENT_MARK] = "marks",
        [EVENT_COUNTER] = "counters",
        [EVENT_LOST] = "gaps",
        [EVENT_EDGE] = "off/on edges",
        [EVENT_FLOW_BEGIN] = "flow begins",
        [EVENT_FLOW_STEP] = "flow steps",
        [EVENT_FLOW_END] = "flow ends",
        [EVENT_TRACK_BEGIN] = "track begins",
        [EVENT_TRACK_END] = "track ends",
        [EVENT_TRACK_MARK] = "track marks",
        [EVENT_TRACK_HIDDEN] = "hidden begins",
        [EVENT_SPAN] = "spans",
    };
    char text[NUMBER_TEXT_SIZE];
    (void)options;
    printf("\nrecords    %s\n", number_count(info_record_count(counts), text));
    for (unsigned kind = 1; kind < EVENT_KINDS; kind++)
        if (counts->by_kind[kind])
            printf("  %-15s %12s\n", names[kind], number_count(counts->by_kind[kind], text));
    if (counts->key_values)
        printf("  %-15s %12s\n", "key-values", number_count(counts->key_values, text));
}

static void print_damage(const struct store_damage *damage, bool several)
{
    char text[STORE_DAMAGE_TEXT_SIZE], size[NUMBER_TEXT_SIZE];
    printf("  ");
    if (damage->missing_count) {
        store_damage_text(damage, text);
        term_print(text);
        printf("\n");
        return;
    }
    if (several) {
        term_print(damage->path);
        printf(": ");
    }
    printf("at byte %llu: ", (unsigned long long)damage->offset);
    if (damage->length)
        printf("%s, ", number_size(damage->length, size));
    printf("%s\n", damage->reason);
}

void info_print_damage(const struct info_options *options, const struct store_reader *reader,
                       const struct info_counts *counts)
{
    uint64_t missing = loss_of_damage(reader, options->trace, info_record_count(counts));
    uint32_t count = store_reader_damage_count(reader);
    char text[NUMBER_TEXT_SIZE];
    struct store_volume second;
    bool several = store_reader_volume(reader, 1, &second);
    if (!count)
        return;
    if (recording_is_cut(reader)) {
        printf("\ncut        it has no end: what was not written yet is missing\n");
        return;
    }
    if (damaged_part_count(reader) > 0)
        printf("\ndamage     %u %s; all else was read\n", count, count == 1 ? "part" : "parts");
    else
        printf("\nincomplete volumes are missing; all else was read\n");
    if (missing)
        printf("  records that were recorded and could not be read: %s\n",
               number_count(missing, text));
    for (uint32_t i = 0; i < count; i++)
        print_damage(store_reader_damage(reader, i), several);
}

void info_print_refusals(const struct info_options *options)
{
    uint32_t count = trace_refusal_count(options->trace);
    char text[NUMBER_TEXT_SIZE];
    if (!count)
        return;
    printf("\nrefused    %s %s could not take part\n", number_count(count, text),
           count == 1 ? "process" : "processes");
    for (uint32_t i = 0; i < count; i++) {
        const struct trace_refusal *refusal = trace_refusal_get(options->trace, i);
        printf("  pid %d (", refusal->pid);
        term_print(text_of(options->trace, refusal->comm));
        printf("): ");
        term_print(text_of(options->trace, refusal->reason));
        putchar('\n');
    }
}

/* ---- Sampling -------------------------------------------------------------------------------- */

static void print_way(const struct trace *trace, const struct trace_sampling *sampling)
{
    char text[NUMBER_TEXT_SIZE], rate[SAMPLING_RATE_SIZE];
    const char *reason = trace_string(trace, sampling->reason)->bytes;
    const char *hint = trace_string(trace, sampling->hint)->bytes;
    printf("\nsampling   %s", sampling_rung_text(sampling->rung));
    if (sampling->rung > SAMPLING_NONE && sampling->frequency_hz)
        printf(", %s", sampling_rate_text(sampling, rate));
    if (sampling->rung > SAMPLING_NONE && sampling->off_cpu)
        printf(", off-CPU stretches from %s on",
               number_time_plain((uint64_t)sampling->off_cpu_threshold_ns, text));
    putchar('\n');
    if (*reason) {
        printf("  reason: ");
        term_print(reason);
        putchar('\n');
    }
    if (*reason && *hint) {
        printf("  remedy: ");
        term_print(hint);
        putchar('\n');
    }
}

enum { NAME_WIDTH = 40 };

static void print_count(const char *name, uint64_t count)
{
    char text[NUMBER_TEXT_SIZE];
    size_t width = term_text_width(name);
    printf("  ");
    term_print(name);
    printf("%*s %12s", (int)(width < NAME_WIDTH ? NAME_WIDTH - width : 0), "",
           number_count(count, text));
}

/* A thread unknown to the interpreter runs no Python and so has no stack to walk. */
static bool is_walked(unsigned end)
{
    return end != STACK_NO_THREAD;
}

/* Walks of one kind that reached the root, and the ends of the others. */
static void print_ends(const char *name, const uint64_t ends[STACK_END_COUNT])
{
    char text[NUMBER_TEXT_SIZE];
    uint64_t walked = 0;
    for (unsigned end = STACK_COMPLETE; end < STACK_END_COUNT; end++)
        walked += is_walked(end) ? ends[end] : 0;
    if (walked == 0)
        return;
    /* Does not round up to 100 %. */
    double percent = 100.0 * (double)ends[STACK_COMPLETE] / (double)walked;
    if (percent > 99.99 && ends[STACK_COMPLETE] != walked)
        percent = 99.99;
    print_count(name, walked);
    printf(", %.2f %% complete", percent);
    for (unsigned end = STACK_COMPLETE + 1; end < STACK_END_COUNT; end++)
        if (ends[end] && is_walked(end))
            printf(", %s %s", number_count(ends[end], text), stack_end_name(end));
    putchar('\n');
}

/* Facts shown elsewhere: those counted from the samples, and policies. */
static bool is_counted_here(const char *name)
{
    return strcmp(name, TRACE_FACT_BLOCK_BEGIN) == 0 || strcmp(name, TRACE_FACT_BLOCK_TIME) == 0 ||
           strcmp(name, TRACE_FACT_OVERWRITE) == 0 || strcmp(name, TRACE_FACT_WAIT) == 0 ||
           strcmp(name, "samples") == 0 || strncmp(name, "native stacks:", 14) == 0 ||
           strncmp(name, "Python stacks:", 14) == 0;
}

static void print_facts(const struct trace *trace)
{
    for (uint32_t i = 0; i < trace_fact_count(trace); i++) {
        const struct trace_fact *fact = trace_fact_get(trace, i);
        const char *name = trace_string(trace, fact->name)->bytes;
        if (fact->kind == FACT_COUNT && fact->value && !is_counted_here(name)) {
            print_count(name, fact->value);
            putchar('\n');
        }
    }
    for (uint32_t i = 0; i < trace_fact_count(trace); i++) {
        const struct trace_fact *fact = trace_fact_get(trace, i);
        char text[NUMBER_TEXT_SIZE];
        if (fact->kind != FACT_NOTE || fact->value == 0)
            continue; /* printed in the section of losses */
        printf("  ");
        term_print(trace_string(trace, fact->name)->bytes);
        if (fact->value > 1)
            printf(" (%s times)", number_count(fact->value, text));
        putchar('\n');
    }
}

/* Comparison of the ranges that samples carry with those of the events. */
static void print_checks(const struct sample_checks *checks)
{
    char text[NUMBER_TEXT_SIZE];
    if (checks->checked == 0)
        return;
    print_count("compared with the events of their thread", checks->checked);
    if (checks->contradicted)
        printf(", %s contradict them", number_count(checks->contradicted, text));
    if (checks->at_edge)
        printf(", %s within 2 us of an event", number_count(checks->at_edge, text));
    if (checks->unsure)
        printf(", %s where events are missing", number_count(checks->unsure, text));
    putchar('\n');
}

static void print_value(const struct trace *trace, unsigned set, unsigned index, uint64_t value)
{
    char text[NUMBER_TEXT_SIZE], label[LABEL_SIZE];
    unsigned type = sample_set_get(trace_sets_get(trace), set)->types[index];
    bool level = value_type_get(trace_sets_get(trace), type)->sum == VALUE_SUM_LEVEL;
    const char *unit = "";
    switch (sample_unit_of(trace, type)) {
    case UNIT_NS:
        number_time_plain(value, text);
        break;
    case UNIT_BYTES:
        number_size(value, text);
        break;
    default:
        number_count(value, text);
        unit = trace_value_unit(trace, type);
    }
    printf("%s ", index ? "," : "");
    term_print(sample_value_label(trace, set, index, label, sizeof(label)));
    printf("%s %s%s", level ? " at most" : "", text, *unit ? " " : "");
    term_print(unit);
}

/* For each set with samples, their number and the totals of its values. */
void info_print_sets(const struct info_options *options, const struct info_sample_counts *counts)
{
    const struct trace *trace = options->trace;
    bool begun = false;
    for (unsigned set = 0; set < counts->sets.count; set++) {
        const struct info_set *entry = &counts->sets.items[set];
        char buffer[16];
        if (entry->count == 0)
            continue;
        if (!begun)
            printf("\nsample sets\n");
        begun = true;
        print_count(trace_set_name(trace, set, buffer), entry->count);
        printf(" ");
        for (unsigned i = 0; i < sample_set_get(trace_sets_get(trace), set)->count; i++)
            print_value(trace, set, i, entry->values[i]);
        putchar('\n');
    }
}

void info_print_sampling(const struct info_options *options,
                         const struct info_sample_counts *counts)
{
    const struct trace *trace = options->trace;
    print_way(trace, trace_sampling_get(trace));
    if (counts->cpu || counts->off_cpu) {
        print_count("samples", counts->cpu);
        if (counts->off_cpu) {
            printf("\n");
            print_count("stretches off the CPU", counts->off_cpu);
        }
        printf("\n");
        print_count("of these in a range", counts->in_range);
        printf("\n");
        print_checks(&counts->checks);
        print_ends("native stacks", counts->native);
        print_ends("Python stacks", counts->python);
        if (counts->python[STACK_NO_THREAD]) {
            print_count("of threads without Python", counts->python[STACK_NO_THREAD]);
            printf("\n");
        }
    }
    print_facts(trace);
}

/* ---- Losses ---------------------------------------------------------------------------------- */

static uint64_t sum_of(const uint64_t *numbers, unsigned count)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += numbers[i];
    return sum;
}

/* Limit of lines for processes and threads, so that 64,000 threads with losses do not bury the
 * rest. */
struct lines {
    uint64_t left, hidden;
};

static bool take_line(struct lines *lines)
{
    lines->hidden += lines->left == 0;
    lines->left -= lines->left > 0;
    return lines->hidden == 0;
}

static void print_threads_of(const struct trace *trace, uint32_t process, struct lines *lines)
{
    char label[LABEL_SIZE];
    for (uint32_t i = 0; i < trace_thread_count(trace); i++) {
        const struct trace_thread *thread = trace_thread_get(trace, i);
        if (thread->process != process || !sum_of(thread->lost, LOSS_COUNT) || !take_line(lines))
            continue;
        trace_thread_label(trace, i, label, sizeof(label));
        printf("    thread %d (", thread->tid);
        term_print(label);
        printf("): ");
        loss_print(thread->lost);
    }
}

/* For a flight recorder: the time since which it is complete. */
static void print_since(const struct trace *trace, int64_t whole_ns)
{
    const struct trace_session *session = trace_session_get(trace);
    int64_t since_ns = whole_ns - session->begin_ns;
    char date[32] = "";
    time_t seconds = (time_t)((session->begin_realtime_ns + since_ns) / 1000000000);
    struct tm parts;
    if (session->begin_realtime_ns > 0 && gmtime_r(&seconds, &parts))
        strftime(date, sizeof(date), " (%H:%M:%S UTC)", &parts);
    printf("    overwritten until %.6f%s; all is here since\n", (double)since_ns / 1e9, date);
}

static void print_processes(const struct info_options *options, const struct info_counts *counts)
{
    const struct trace *trace = options->trace;
    struct lines lines = {options->limit, 0};
    char label[LABEL_SIZE], text[NUMBER_TEXT_SIZE];
    for (uint32_t i = 0; i < trace_process_count(trace); i++) {
        const struct trace_process *process = trace_process_get(trace, i);
        if (!sum_of(process->lost, LOSS_COUNT) || !take_line(&lines))
            continue;
        trace_process_label(trace, i, label, sizeof(label));
        printf("  process %d (", process->pid);
        term_print(label);
        printf("): ");
        loss_print(process->lost);
        if (counts->whole_ns && counts->whole_ns[i] != 0)
            print_since(trace, counts->whole_ns[i]);
        print_threads_of(trace, i, &lines);
    }
    if (lines.hidden)
        printf("  (%s more; --limit 0 lists all)\n", number_count(lines.hidden, text));
}

static void print_call(void *context, const struct missing *missing)
{
    bool *begun = context;
    char text[NUMBER_TEXT_SIZE];
    if (missing->kind != MISSING_CALLS)
        return;
    if (!*begun)
        printf("\nremarkable calls\n");
    *begun = true;
    printf("  %s %s\n", number_count(missing->count, text), missing->what);
}

/* Describes a recording without lost records: other kinds of losses, if any. */
static const char *without_records(const struct trace *trace)
{
    uint64_t calls[MISUSE_COUNT];
    if (trace_unwatched(trace))
        return "an unknown amount:";
    if (sample_loss_any(trace) || queued_any(trace))
        return "no records, but";
    if (trace_refusal_count(trace) > 0)
        return "nothing of the processes that took part";
    return misuse_sums(trace, calls) ? "no records, but see the remarkable calls" : "nothing";
}

void info_print_losses(const struct info_options *options, const struct info_counts *counts,
                       const struct info_sample_counts *samples)
{
    const struct trace *trace = options->trace;
    const struct sample_wholes wholes = {samples->cpu, samples->off_cpu};
    uint64_t total[LOSS_COUNT];
    char text[NUMBER_TEXT_SIZE];
    uint64_t sum = loss_sums(trace, counts->lost, total);
    if (sum == 0)
        printf("\nlost       %s\n", without_records(trace));
    else
        printf("\nlost       %s", number_count(sum, text));
    if (sum) {
        printf(sum == 1 ? " record: " : " records: ");
        loss_print(total);
    }
    sample_loss_print(trace, &wholes, stdout);
    queue_loss_print(trace, stdout);
    print_processes(options, counts);
    bool begun = false;
    missing_each(trace, total, print_call, &begun);
}

/* GPUs in `annot info`: devices and queues, launches and their reported activities, windows and
 * their cost, the version of CUPTI, and messages of libannot-gpu: another user of CUPTI, failed
 * operations. */

enum { NOTES_MAX = 64 };

/* ---- Reading --------------------------------------------------------------------------------- */

static int add_note(struct info_gpu *gpu, uint32_t text)
{
    for (size_t i = 0; i < gpu->notes.count; i++) {
        if (gpu->notes.items[i].text != text)
            continue;
        gpu->notes.items[i].count++;
        return 0;
    }
    gpu->further_notes += gpu->notes.count >= NOTES_MAX;
    const struct info_gpu_note note = {text, 1};
    return gpu->notes.count < NOTES_MAX ? vec_push(&gpu->notes, note) : 0;
}

static void add_window(struct info_gpu *gpu, const struct trace *trace, const struct item *mark,
                       bool opened)
{
    struct info_gpu_switch *window = opened ? &gpu->opened : &gpu->shut;
    const char *wanted = opened ? "opened in [ns]" : "shut in [ns]";
    window->count++;
    for (uint32_t i = 0; i < mark->args.count; i++) {
        const struct arg *arg = &mark->args.items[i];
        const char *key = text_of(trace, arg->key);
        if (arg->kind == VALUE_STRING && strcmp(key, "CUPTI") == 0)
            gpu->cupti = arg->value.string;
        if (arg->kind != VALUE_UINT64 || strcmp(key, wanted) != 0)
            continue;
        window->total_ns += arg->value.uint64;
        if (arg->value.uint64 > window->longest_ns)
            window->longest_ns = arg->value.uint64;
    }
}

int info_gpu_take(struct info_gpu *gpu, const struct trace *trace, const struct item *item)
{
    if (item->kind != ITEM_INSTANT ||
        trace_scope(trace, item->event->scope)->observer != OBSERVER_CUPTI)
        return 0;
    const char *text = text_of(trace, item->event->name);
    bool opened = strcmp(text, "GPU window opened") == 0;
    if (opened || strcmp(text, "GPU window shut") == 0)
        add_window(gpu, trace, item, opened);
    return strncmp(text, "GPU: ", 5) == 0 ? add_note(gpu, item->event->name) : 0;
}

/* ---- Printing -------------------------------------------------------------------------------- */

/* Counts of devices, and of queues with activities. */
struct lanes {
    uint64_t devices, queues, activities;
};

static struct lanes count_lanes(const struct trace *trace, const struct info_counts *counts)
{
    struct lanes lanes = {0};
    for (uint32_t i = 0; i < trace_lane_count(trace); i++) {
        const struct trace_lane *lane = trace_lane_get(trace, i);
        bool used = lane->kind == LANE_QUEUE && counts->tracks && counts->tracks[i].range_count > 0;
        lanes.devices += lane->kind == LANE_DEVICE;
        lanes.queues += used;
        lanes.activities += used ? counts->tracks[i].range_count : 0;
    }
    return lanes;
}

static const struct {
    enum queued which;
    const char *text, *key;
} told[] = {
    {QUEUED_REPORTED, "launched, but never reported", "missing_count"},
    {QUEUED_DROPPED, "dropped by the driver", "dropped_count"},
    {QUEUED_UNTIMED, "without times", "untimed_count"},
    {QUEUED_MISTIMED, "with times that cannot be", "mistimed_count"},
    {QUEUED_ACAUSAL, "before their launch", "before_launch_count"},
};

enum { TOLD = sizeof(told) / sizeof(*told) };

static bool is_of_gpus(const struct trace *trace, const struct info_gpu *gpu)
{
    bool any = gpu->opened.count > 0 || gpu->shut.count > 0 || gpu->notes.count > 0;
    for (uint32_t i = 0; i < trace_scope_count(trace) && !any; i++)
        any = trace_scope(trace, i)->observer == OBSERVER_CUPTI;
    return any;
}

static void print_switch(const struct info_gpu_switch *window, const char *word)
{
    char mean[NUMBER_TEXT_SIZE], longest[NUMBER_TEXT_SIZE], count[NUMBER_TEXT_SIZE];
    if (window->count == 0)
        return;
    printf("  windows %-35s %7s  in %s on average, at most %s\n", word,
           number_count(window->count, count),
           number_time_plain(window->total_ns / window->count, mean),
           number_time_plain(window->longest_ns, longest));
}

static void print_notes(const struct trace *trace, const struct info_gpu *gpu)
{
    for (size_t i = 0; i < gpu->notes.count; i++) {
        const struct info_gpu_note *note = &gpu->notes.items[i];
        printf("  note: ");
        term_print(text_of(trace, note->text) + strlen("GPU: "));
        if (note->count > 1)
            printf(" (%llu times)", (unsigned long long)note->count);
        putchar('\n');
    }
    if (gpu->further_notes)
        printf("  further notes %37llu\n", (unsigned long long)gpu->further_notes);
}

void info_print_gpu(const struct info_options *options, const struct info_counts *counts)
{
    const struct trace *trace = options->trace;
    const struct info_gpu *gpu = &counts->gpu;
    struct lanes lanes = count_lanes(trace, counts);
    uint64_t sums[QUEUED_COUNT] = {0};
    char a[NUMBER_TEXT_SIZE], b[NUMBER_TEXT_SIZE];
    if (!is_of_gpus(trace, gpu))
        return;
    queued_sums(trace, sums);
    printf("\nGPUs       %s devices, %s queues", number_count(lanes.devices, a),
           number_count(lanes.queues, b));
    if (gpu->cupti)
        printf(", CUPTI of CUDA %s", text_of(trace, gpu->cupti));
    printf("\n  %-43s %7s\n", "activities", number_count(lanes.activities, a));
    printf("  %-43s %7s\n", "launched", number_count(sums[QUEUED_LAUNCHED], a));
    for (size_t i = 0; i < TOLD; i++)
        if (sums[told[i].which])
            printf("  %-43s %7s\n", told[i].text, number_count(sums[told[i].which], a));
    print_switch(&gpu->opened, "opened");
    print_switch(&gpu->shut, "shut");
    print_notes(trace, gpu);
}

static void put_switch(struct json_doc *doc, const char *key, const struct info_gpu_switch *window)
{
    json_doc_object(doc, key);
    json_doc_uint(doc, "count", window->count);
    json_doc_uint(doc, "total_ns", window->total_ns);
    json_doc_uint(doc, "max_ns", window->longest_ns);
    json_doc_close(doc);
}

void info_put_gpu(const struct info_json *info, struct json_doc *doc)
{
    const struct trace *trace = info->options->trace;
    const struct info_gpu *gpu = &info->counts->gpu;
    struct lanes lanes = count_lanes(trace, info->counts);
    uint64_t sums[QUEUED_COUNT] = {0};
    if (!is_of_gpus(trace, gpu))
        return;
    queued_sums(trace, sums);
    json_doc_object(doc, "gpu");
    json_doc_uint(doc, "device_count", lanes.devices);
    json_doc_uint(doc, "queue_count", lanes.queues);
    json_doc_uint(doc, "activity_count", lanes.activities);
    json_doc_uint(doc, "launched_count", sums[QUEUED_LAUNCHED]);
    for (size_t i = 0; i < TOLD; i++)
        json_doc_uint(doc, told[i].key, sums[told[i].which]);
    put_switch(doc, "opened", &gpu->opened);
    put_switch(doc, "shut", &gpu->shut);
    if (gpu->cupti)
        json_doc_text(doc, "cupti", text_of(trace, gpu->cupti));
    json_doc_array(doc, "notes");
    for (size_t i = 0; i < gpu->notes.count; i++) {
        json_doc_object(doc, NULL);
        json_doc_text(doc, "text", text_of(trace, gpu->notes.items[i].text));
        json_doc_uint(doc, "count", gpu->notes.items[i].count);
        json_doc_close(doc);
    }
    json_doc_close(doc);
    json_doc_close(doc);
}
