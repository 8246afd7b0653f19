/* SPDX-License-Identifier: MIT */
/* Writes a recording with some of everything (`recording_sums write FILE`), and prints the counts
 * and sums of one (`recording_sums FILE`) as read_recording.py does. */
#include "random_samples.h"
#include "reader.h"
#include "sample_events.h"
#include "stacks.h"
#include "store.h"
#include "test.h"
#include "writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROCESSES = 2,
    THREADS = 3,
    STRINGS = 300,
    BATCHES = 90,
    BATCH = 400,
    KINDS = EVENT_KINDS,
    SAMPLES = 70
};

struct sums {
    uint64_t events, kinds[KINDS], time, name_bytes, domain, category, scope, color, level,
        value_kind;
    uint64_t value, end, id, lane, depth, args, arg_count;
    uint64_t samples, sample_time, sample_end, sample_id, sample_cpu, sample_stack, sample_path;
    uint64_t sample_set, sample_reason, sample_flags, sample_values, sample_walks;
};

/* The sample reports errors through this; the runner of unit tests is not part of this program. */
void test_fail(const char *file, int line, const char *format, ...)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, format);
    exit(1);
}

/* Two hosts, of which the second is ahead and fast. */
static void add_hosts(struct trace *trace)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct trace_host *host = trace_host(trace, (uint32_t)trace_host_add(trace));
        memset(host->boot_id, (int)(0xa0 + i), sizeof(host->boot_id));
        host->name = 1 + i;
        host->rank = (int32_t)i - 1;
        host->offset_ns = -5000 * (int64_t)i;
        host->error_ns = 70 * (int64_t)i;
        host->drift = 1e-6 * i;
        trace_clock_add(trace, i, i ? CLOCK_KIND_GPU : CLOCK_KIND_REALTIME);
        struct trace_anchor anchor = {
            .clock = i, .raw = UINT64_C(1) << 63, .ns = -3, .error_ns = 25};
        trace_anchor_add(trace, &anchor);
    }
    trace_process(trace, 1)->host = 1;
}

/* So that there are checkpoints: no tracks, and not much is open. */
static void make_plain(struct event *events)
{
    for (uint32_t i = 0; i < BATCH; i++) {
        struct event *event = &events[i];
        if (event->kind == EVENT_START || event->kind == EVENT_END)
            event->id %= 8;
        if (event->kind == EVENT_POP || event->kind == EVENT_LOST)
            event->depth %= 10;
        if (event_has_lane(event->kind)) {
            event->kind = EVENT_MARK;
            event->lane = 0;
        }
    }
}

static int write_recording(const char *path, uint64_t volume_bytes)
{
    static struct event events[BATCH];
    static struct sample_source source = {.strings = STRINGS, .random = 11};
    static struct sample samples[SAMPLES];
    uint64_t random = 23;
    struct trace *trace = sample_trace(PROCESSES, THREADS, STRINGS);
    random_stacks(trace, STRINGS, 6000);
    add_hosts(trace);
    struct store_writer *writer;
    struct store_writer_options options = {
        .overwrite = true, .checkpoint_bytes = 20000, .volume_bytes = volume_bytes};
    int error = store_writer_create(path, trace, &options, &writer);
    if (error)
        return error;
    for (uint32_t i = 0; i < BATCHES && !error; i++) {
        uint32_t thread = i % (PROCESSES * THREADS);
        sample_events(&source, thread, events, BATCH);
        if (i < BATCHES / 2)
            make_plain(events);
        struct event_batch batch = {thread, BATCH,       events, {i, 16 * i, 16 * i + 4000},
                                    0,      sample_args, 0,      0};
        error = store_writer_add(writer, &batch);
        random_samples(trace, PROCESSES * THREADS, &random, samples, SAMPLES);
        if (!error)
            error = store_writer_add_samples(writer, samples, SAMPLES);
        if (!error && i % 25 == 24)
            error = store_writer_flush(writer);
    }
    int closed = store_writer_close(writer);
    trace_destroy(trace);
    return error ? error : closed;
}

static void add_args(struct sums *sums, struct args args)
{
    sums->arg_count += args.count;
    for (uint32_t i = 0; i < args.count; i++)
        sums->args +=
            args.items[i].key + UINT64_C(3) * args.items[i].kind + 5 * args.items[i].value.uint64;
}

static void add_event(struct sums *sums, const struct trace *trace, const struct event *event)
{
    sums->events++;
    sums->kinds[event->kind]++;
    sums->time += (uint64_t)event->time_ns * (event->thread + 1);
    sums->name_bytes += trace_string(trace, event->name)->length;
    const struct scope *scope = trace_scope(trace, event->scope);
    sums->domain += scope->domain;
    sums->category += scope->category;
    sums->scope += event->scope;
    sums->color += event->color;
    sums->level += event->level;
    sums->value_kind += event->value_kind;
    sums->value += event->value.uint64;
    sums->end += (uint64_t)event->end_ns;
    if (event->kind == EVENT_POP || event->kind == EVENT_LOST)
        sums->depth += event->depth;
    else
        sums->id += event->id; /* or origin */
    sums->lane += event->lane;
}

static void add_sample(struct sums *sums, const struct sample *sample)
{
    sums->samples++;
    sums->sample_time += (uint64_t)sample->time_ns * (sample->thread + 1);
    sums->sample_end += (uint64_t)sample->end_ns;
    sums->sample_id += sample->id;
    sums->sample_cpu += sample->cpu;
    sums->sample_stack += sample->stack;
    sums->sample_path += sample->path;
    sums->sample_set += sample->set;
    sums->sample_reason += sample->reason;
    sums->sample_flags += sample->flags;
    for (unsigned i = 0; i < sample->value_count; i++)
        sums->sample_values += (uint64_t)sample->values[i] * (i + 1);
    sums->sample_walks += (uint64_t)sample->native_end * 256 + sample->python_end;
}

static uint64_t sum_of_frames(const struct stacks *stacks)
{
    uint64_t sum = 0;
    for (uint32_t i = 1; i < stacks_frame_count(stacks); i++) {
        const struct frame *frame = stacks_get_frame(stacks, i);
        sum += frame->kind + UINT64_C(2) * frame->label + UINT64_C(3) * frame->module +
               4 * (uint64_t)frame->line + 5 * frame->address + UINT64_C(6) * frame->column +
               UINT64_C(7) * frame->end_column + UINT64_C(8) * frame->caller;
    }
    for (uint32_t i = 1; i < stacks_label_count(stacks); i++) {
        const struct label *label = stacks_get_label(stacks, i);
        sum += i * (label->kind + UINT64_C(2) * label->text + UINT64_C(3) * label->source +
                    UINT64_C(4) * label->module + 5 * (uint64_t)label->first_line +
                    UINT64_C(6) * label->flags);
    }
    for (uint32_t i = 1; i < stacks_source_count(stacks); i++) {
        const struct source *source = stacks_get_source(stacks, i);
        sum += i * (source->path + UINT64_C(2) * source->hash[0] + UINT64_C(3) * source->content);
    }
    for (uint32_t i = 1; i < stacks_module_count(stacks); i++) {
        const struct code_module *module = stacks_get_module(stacks, i);
        sum += i * (module->path + UINT64_C(2) * module->kind + UINT64_C(3) * module->build_id[0]);
    }
    return sum;
}

static uint64_t sum_of_stacks(const struct stacks *stacks)
{
    uint64_t sum = 0;
    for (uint32_t i = 1; i < stacks_stack_count(stacks); i++) {
        const struct stack *stack = stacks_get_stack(stacks, i);
        sum += (uint64_t)i * (stack->parent + UINT64_C(1)) + stack->frame;
    }
    return sum;
}

static uint64_t sum_of_paths(const struct stacks *stacks)
{
    uint64_t sum = 0;
    for (uint32_t i = 1; i < stacks_path_count(stacks); i++) {
        const struct range_path *path = stacks_get_path(stacks, i);
        sum += (uint64_t)i * (path->parent + UINT64_C(1)) + path->name +
               UINT64_C(1000003) * i * path->kind + UINT64_C(1000033) * i * path->scope;
    }
    return sum;
}

static uint64_t sum_of_facts(const struct trace *trace)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < trace_fact_count(trace); i++) {
        const struct trace_fact *fact = trace_fact_get(trace, i);
        sum += i * UINT64_C(7) + fact->name + fact->kind + fact->value;
    }
    return sum;
}

static uint64_t sum_of_tracks(const struct trace *trace)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < trace_lane_count(trace); i++) {
        const struct trace_lane *track = trace_lane_get(trace, i);
        sum += track->id +
               (i + UINT64_C(1)) * (track->process + UINT64_C(3) * track->name +
                                    UINT64_C(5) * track->parent + UINT64_C(7) * track->kind);
    }
    return sum;
}

static uint64_t sum_of_units(const struct trace *trace)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < trace_unit_count(trace); i++) {
        const struct trace_unit *unit = trace_unit_get(trace, i);
        sum += unit->domain + UINT64_C(3) * unit->counter + UINT64_C(5) * unit->unit;
    }
    return sum;
}

static uint64_t sum_of_hosts(const struct trace *trace)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < trace_host_count(trace); i++) {
        const struct trace_host *host = trace_host_get(trace, i);
        uint64_t boot = 0, drift;
        for (unsigned byte = 0; byte < sizeof(host->boot_id); byte++)
            boot += host->boot_id[byte];
        memcpy(&drift, &host->drift, sizeof(drift));
        sum += (i + UINT64_C(1)) *
               (boot + UINT64_C(3) * host->name + 5 * (uint64_t)host->rank +
                7 * (uint64_t)host->offset_ns + 11 * (uint64_t)host->error_ns + 13 * drift);
    }
    for (uint32_t i = 0; i < trace_clock_count(trace); i++)
        sum += trace_clock_get(trace, i)->host + UINT64_C(17) * trace_clock_get(trace, i)->kind;
    for (uint32_t i = 0; i < trace_anchor_count(trace); i++) {
        const struct trace_anchor *anchor = trace_anchor_get(trace, i);
        sum += anchor->clock + 19 * anchor->raw + 23 * (uint64_t)anchor->ns +
               29 * (uint64_t)anchor->error_ns;
    }
    for (uint32_t i = 0; i < trace_process_count(trace); i++)
        sum += UINT64_C(31) * trace_process_get(trace, i)->host;
    return sum;
}

static uint64_t sum_of_sampling(const struct trace *trace)
{
    const struct trace_sampling *sampling = trace_sampling_get(trace);
    return sampling->rung + UINT64_C(2) * sampling->off_cpu + UINT64_C(3) * sampling->frequency_hz +
           4 * (uint64_t)sampling->off_cpu_threshold_ns + UINT64_C(5) * sampling->reason +
           UINT64_C(6) * sampling->hint;
}

static void show(const char *key, uint64_t value)
{
    printf("%s %" PRIu64 "\n", key, value);
}

static uint64_t sum_of_scopes(const struct trace *trace)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < trace_scope_count(trace); i++) {
        const struct scope *scope = trace_scope(trace, i);
        sum += i * (scope->domain + UINT64_C(3) * scope->category + UINT64_C(5) * scope->observer +
                    UINT64_C(7) * scope->role);
    }
    return sum;
}

static void show_sample_sums(const struct sums *sums, const struct trace *trace)
{
    show("sample_cpu", sums->sample_cpu);
    show("sample_end", sums->sample_end);
    show("sample_flags", sums->sample_flags);
    show("sample_id", sums->sample_id);
    show("sample_path", sums->sample_path);
    show("sample_reason", sums->sample_reason);
    show("sample_set", sums->sample_set);
    show("sample_stack", sums->sample_stack);
    show("sample_time", sums->sample_time);
    show("sample_values", sums->sample_values);
    show("sample_walks", sums->sample_walks);
    show("samples", sums->samples);
    show("sampling", sum_of_sampling(trace));
    show("scope", sums->scope);
    show("scopes", sum_of_scopes(trace));
    show("stacks", sum_of_stacks(trace_stacks_get(trace)));
}

/* In the order of their names. */
static void show_sums(const struct sums *sums, const struct trace *trace,
                      const struct store_info *info)
{
    uint64_t pid = 0, forker = 0, events = 0, lost = 0, cmdline = 0, tid = 0, owner = 0,
             thread_lost = 0, note = 0;
    for (uint32_t i = 0; i < trace_process_count(trace); i++) {
        const struct trace_process *process = trace_process_get(trace, i);
        pid += (uint64_t)process->pid;
        events += process->event_count;
        forker += process->fork_thread;
        cmdline += trace_string(trace, process->cmdline)->length;
        note += trace_string(trace, process->note)->length + UINT64_C(3) * process->note_thread +
                (uint64_t)process->note_ns;
        for (int cause = 0; cause < LOSS_COUNT; cause++)
            lost += process->lost[cause];
    }
    for (uint32_t i = 0; i < trace_thread_count(trace); i++) {
        const struct trace_thread *thread = trace_thread_get(trace, i);
        tid += (uint64_t)thread->tid;
        owner += thread->process;
        for (int cause = 0; cause < LOSS_COUNT; cause++)
            thread_lost += thread->lost[cause];
    }
    show("arg_count", sums->arg_count);
    show("args", sums->args);
    show("category", sums->category);
    show("checkpoints", info->checkpoint_count);
    show("color", sums->color);
    show("complete", info->complete);
    show("depth", sums->depth);
    show("domain", sums->domain);
    show("end", sums->end);
    show("events", sums->events);
    show("facts", sum_of_facts(trace));
    show("frames", sum_of_frames(trace_stacks_get(trace)));
    show("hosts", sum_of_hosts(trace));
    show("id", sums->id);
    for (int kind = 1; kind < KINDS; kind++)
        printf("kind_%02d %" PRIu64 "\n", kind, sums->kinds[kind]);
    show("lane", sums->lane);
    show("level", sums->level);
    show("name_bytes", sums->name_bytes);
    show("paths", sum_of_paths(trace_stacks_get(trace)));
    show("process_cmdline_bytes", cmdline);
    show("process_events", events);
    show("process_forker", forker);
    show("process_lost", lost);
    show("process_note", note);
    show("process_pid", pid);
    show_sample_sums(sums, trace);
    show("strings", trace_string_count(trace));
    show("thread_lost", thread_lost);
    show("thread_process", owner);
    show("thread_tid", tid);
    show("time", sums->time);
    show("tracks", sum_of_tracks(trace));
    show("units", sum_of_units(trace));
    show("value", sums->value);
    show("value_kind", sums->value_kind);
}

static int show_recording(const char *path)
{
    struct store_reader *reader;
    struct store_info info;
    struct event_batch batch;
    struct sums sums = {0};
    int status = store_reader_open(path, &reader);
    if (status)
        return status;
    while ((status = store_reader_next(reader, &batch)) == 1)
        for (uint32_t i = 0; i < batch.count; i++) {
            add_event(&sums, store_reader_trace(reader), &batch.events[i]);
            add_args(&sums, event_args(&batch, &batch.events[i]));
        }
    const struct sample *samples;
    uint32_t count;
    while (!status && (status = store_reader_next_samples(reader, &samples, &count)) == 1)
        for (status = 0; count > 0; count--)
            add_sample(&sums, samples++);
    store_reader_info(reader, &info);
    show_sums(&sums, store_reader_trace(reader), &info);
    store_reader_close(reader);
    return status;
}

int main(int argc, char **argv)
{
    bool writes = argc >= 3 && strcmp(argv[1], "write") == 0;
    int status = writes      ? write_recording(argv[2], argc > 3 ? strtoull(argv[3], NULL, 10) : 0)
                 : argc == 2 ? show_recording(argv[1])
                             : -22;
    if (status)
        fprintf(stderr, "recording_sums: %s\n", strerror(-status));
    return status != 0;
}
