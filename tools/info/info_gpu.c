/* SPDX-License-Identifier: MIT */
/* GPUs in `annot info`: devices and queues, launches and their reported activities, windows and
 * their cost, the version of CUPTI, and messages of libannot-gpu: another user of CUPTI, failed
 * operations. */
#include "info.h"
#include "info_json.h"

#include "missing.h"
#include "number.h"
#include "term.h"

#include <stdio.h>
#include <string.h>

enum { NOTES_MAX = 64 };

static const char *text_of(const struct trace *trace, uint32_t string)
{
    return trace_string(trace, string)->bytes;
}

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
