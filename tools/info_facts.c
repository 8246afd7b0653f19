/* SPDX-License-Identifier: MIT */
/* `annot info`: the file, the session, counts by kind, damage, refusals. */
#include "info_parts.h"

#include "losses.h"
#include "number_text.h"
#include "recording.h"
#include "term.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

enum { FILTERS_SHOWN = 10 };

static const char *text_of(const struct trace *trace, uint32_t string)
{
    return trace_string(trace, string)->bytes;
}

static uint64_t sum_of(const struct info_counts *counts)
{
    uint64_t sum = 0;
    for (unsigned kind = 0; kind < EVENT_KINDS; kind++)
        sum += event_is_record((uint8_t)kind) ? counts->by_kind[kind] : 0;
    return sum;
}

/* Whether all is here that was to be recorded. */
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
    uint64_t records = sum_of(counts);
    store_reader_info(reader, &info);
    printf("size       %s in %s chunks", number_size(info.file_bytes, a),
           number_count(info.chunk_count, b));
    if (records)
        printf(", %.1f bytes a record (%.1f before compression)",
               (double)info.file_bytes / (double)records, (double)info.raw_bytes / (double)records);
    printf("\nformat     %u.%u, %s\n", info.major, info.minor, completeness(options, &info));
}

static void print_command(const struct trace *trace, const struct trace_session *session)
{
    if (!session->command)
        return;
    int status = session->command_status;
    printf("command    ");
    term_print(text_of(trace, session->command));
    if (status == -1)
        printf(" (status unknown)\n");
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

/* A session without a filter says nothing; one that had several tells the last ones. */
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

/* Unless all just drop their newest records. */
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

/* Which boot it was; of further hosts, how their times were brought to the first one's. */
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
        }
        putchar('\n');
    }
}

void info_print_facts(const struct info_options *options, const struct store_reader *reader,
                      const struct info_counts *counts)
{
    const struct trace *trace = options->trace;
    const struct trace_session *session = trace_session_get(trace);
    char text[NUMBER_TEXT_SIZE];
    print_lines("recording", options->path);
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
    };
    char text[NUMBER_TEXT_SIZE];
    (void)options;
    printf("\nrecords    %s\n", number_count(sum_of(counts), text));
    for (unsigned kind = 1; kind < EVENT_KINDS; kind++)
        if (counts->by_kind[kind])
            printf("  %-15s %12s\n", names[kind], number_count(counts->by_kind[kind], text));
    if (counts->key_values)
        printf("  %-15s %12s\n", "key-values", number_count(counts->key_values, text));
}

void info_print_damage(const struct info_options *options, const struct store_reader *reader,
                       const struct info_counts *counts)
{
    uint64_t missing = loss_of_damage(reader, options->trace, sum_of(counts));
    uint32_t count = store_reader_damage_count(reader);
    char text[NUMBER_TEXT_SIZE];
    if (!count)
        return;
    if (recording_is_cut(reader)) {
        printf("\ncut        it has no end: what was not written yet is missing\n");
        return;
    }
    printf("\ndamage     %u %s; all else was read\n", count, count == 1 ? "part" : "parts");
    if (missing)
        printf("  records that were recorded and could not be read: %s\n",
               number_count(missing, text));
    for (uint32_t i = 0; i < count; i++) {
        const struct store_damage *damage = store_reader_damage(reader, i);
        printf("  at byte %llu: ", (unsigned long long)damage->offset);
        if (damage->length)
            printf("%s, ", number_size(damage->length, text));
        printf("%s\n", damage->reason);
    }
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
