/* SPDX-License-Identifier: MIT */
/* The cost of an export: ranges a second of one core, bytes a range, peak memory.
 *
 *     bench_export [--json] [RANGES [ROW]]
 *
 * Batches of 500 events come out of a pool in memory and get new times on each round, so that any
 * number of ranges can be exported; the row "source" has the cost of this. The row "pairs" adds
 * read/pass. Rows with ".values" have three key-values for each range, with ".flows" an arrow from
 * each range to another thread's, with ".tracks" their ranges on 1,024 tracks of one name, up to 31
 * at a time. Rows with ".fresh" have a pool that is larger than a group of rows of a table, so no
 * content repeats and only the form compresses. Rows with ".loop" are of a program that does the
 * same ten ranges again and again, with times that vary by half. Otherwise ranges take 100 ns to 1
 * ms (evenly spread over the orders of magnitude), have 20 names, nest up to 8 deep, on 8 threads
 * of 2 processes. Output goes to /dev/null. */
#include "export.h"
#include "trace_maker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum {
    BATCH = 500,
    BATCHES = 512,
    FRESH_BATCHES = 1100,
    THREADS = 8,
    NAMES = 20,
    RUNS = 3,
    DEPTH_MAX = 8,
    TRACKS = 1024,
    EVENT_VALUES = 3,
};

enum shape { NESTED, VALUES, FLOWS, ON_TRACKS, FRESH, LOOP };

/* Events for each range. */
static const uint32_t shape_events[] = {
    [NESTED] = 2, [VALUES] = 2, [FLOWS] = 4, [ON_TRACKS] = 2, [FRESH] = 2, [LOOP] = 2};

struct events_source {
    struct event (*pool)[BATCH];
    int64_t round_ns[THREADS]; /* duration of a whole round */
    uint64_t batches_left;
    uint32_t next, batches; /* of the pool: how many */
    enum shape shape;
};

struct result {
    const char *name;
    double ns;    /* per range, best of RUNS */
    double bytes; /* per range */
};

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

static int64_t next_step(void)
{
    double exponent = 2 + 4 * (double)(next_random() >> 11) / 9007199254740992.0;
    return (int64_t)pow(10, exponent);
}

/* Each batch opens and closes its own ranges, so that batches can repeat. */
static void fill_batch(struct event *events, uint32_t thread, int64_t *now, const uint32_t *names)
{
    uint64_t depth = 0;
    for (uint32_t i = 0; i < BATCH; i++) {
        uint32_t left = BATCH - i;
        bool push = depth == 0 || (depth < DEPTH_MAX && left > depth && next_random() % 2);
        *now += next_step();
        events[i] = (struct event){
            .thread = thread, .time_ns = *now, .kind = push ? EVENT_PUSH : EVENT_POP};
        if (push) {
            events[i].name = names[next_random() % NAMES];
            depth++;
        } else {
            events[i].depth = --depth;
        }
    }
}

/* Ten ranges, by their depths. */
static void fill_loop(struct event *events, uint32_t thread, int64_t *now, const uint32_t *names)
{
    static const uint8_t depths[] = {0, 1, 2, 2, 1, 2, 2, 2, 1, 1};
    uint32_t depth = 0, range = 0;
    for (uint32_t i = 0; i < BATCH; i++) {
        uint32_t left = range % sizeof(depths), until = depths[left];
        bool push = depth == until && range < BATCH / 2;
        *now += (300 << left % 5) * (int64_t)(75 + next_random() % 50) / 100;
        events[i] = (struct event){
            .thread = thread, .time_ns = *now, .kind = push ? EVENT_PUSH : EVENT_POP};
        if (push) {
            events[i].name = names[left];
            depth++;
            range++;
        } else {
            events[i].depth = --depth;
        }
    }
}

static struct arg pool_args[(size_t)BATCHES * BATCH * EVENT_VALUES];

static void add_values(struct event *event, uint32_t index, const uint32_t *names)
{
    event->args = index * EVENT_VALUES;
    event->arg_count = EVENT_VALUES;
    for (uint32_t i = 0; i < EVENT_VALUES; i++)
        pool_args[event->args + i] =
            (struct arg){names[1 + i], VALUE_INT64, {.int64 = (int64_t)(next_random() % 100000)}};
}

/* Ranges with three key-values, or with the end of the previous arrow and the begin of another. */
static void fill_others(struct event *events, uint32_t batch, int64_t *now, const uint32_t *names,
                        enum shape shape)
{
    const uint32_t size = shape_events[shape];
    for (uint32_t i = 0; i < BATCH; i++) {
        uint32_t number = batch * (BATCH / size) + i / size;
        *now += i % size == 0 || i % size == size - 1 ? next_step() : 0;
        events[i] = (struct event){.thread = batch % THREADS, .time_ns = *now};
        if (i % size == 0) {
            events[i].kind = EVENT_PUSH;
            events[i].name = names[next_random() % NAMES];
            if (shape == VALUES)
                add_values(&events[i], batch * BATCH + i, names);
        } else if (i % size == size - 1) {
            events[i].kind = EVENT_POP;
        } else {
            events[i].kind = i % size == 1 ? EVENT_FLOW_END : EVENT_FLOW_BEGIN;
            events[i].id = number + i % size;
        }
    }
}

/* Each range ends when 30 more have begun; all batches are of one thread, in order of time. */
static void fill_tracks(struct event *events, uint32_t batch, int64_t *now, const uint32_t *names)
{
    for (uint32_t i = 0; i < BATCH; i++) {
        uint32_t number = batch * (BATCH / 2) + i / 2;
        *now += 100 + (int64_t)(next_random() % 1000);
        events[i] =
            (struct event){.time_ns = *now, .kind = i % 2 ? EVENT_TRACK_END : EVENT_TRACK_BEGIN};
        events[i].name = i % 2 ? 0 : names[next_random() % NAMES];
        events[i].lane = (i % 2 ? number - 30 : number) % TRACKS;
    }
}

static struct maker *make_source(struct events_source *source)
{
    static const char *const words[NAMES] = {
        "load",     "parse",      "analyse", "reduce file", "write result", "decode",     "read",
        "hash",     "sort",       "merge",   "flush",       "wait",         "compress",   "lookup",
        "evaluate", "matrix add", "reshape", "normalise",   "encode",       "checksum it"};
    struct maker *maker = maker_create();
    uint32_t names[NAMES];
    int64_t now[THREADS];
    for (int i = 0; i < NAMES; i++)
        names[i] = maker_string(maker, words[i]);
    for (uint32_t i = 0; i < THREADS; i++) {
        now[i] = MAKER_BEGIN_NS;
        if (i % 4 == 0)
            maker_process(maker, 12340 + (int32_t)i, -1, "python pipeline.py", 0);
        maker_thread(maker, i / 4, 12340 + (int32_t)i, "");
    }
    source->batches = source->shape == FRESH ? FRESH_BATCHES : BATCHES;
    source->pool = malloc(source->batches * sizeof(*source->pool));
    if (!source->pool)
        abort();
    for (uint32_t i = 0; i < TRACKS; i++)
        maker_track(maker, 0, i + 1, "request", -1);
    for (uint32_t i = 0; i < source->batches; i++) {
        if (source->shape == NESTED || source->shape == FRESH)
            fill_batch(source->pool[i], i % THREADS, &now[i % THREADS], names);
        else if (source->shape == LOOP)
            fill_loop(source->pool[i], i % THREADS, &now[i % THREADS], names);
        else if (source->shape == ON_TRACKS)
            fill_tracks(source->pool[i], i, &now[0], names);
        else
            fill_others(source->pool[i], i, &now[i % THREADS], names, source->shape);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        source->round_ns[i] = now[i] - MAKER_BEGIN_NS + 1000;
    maker_finish(maker, 1000);
    return maker;
}

static int next_batch(void *context, struct event_batch *ret_batch)
{
    struct events_source *source = context;
    if (source->batches_left == 0)
        return 0;
    source->batches_left--;
    struct event *events = source->pool[source->next++ % source->batches];
    *ret_batch = (struct event_batch){events[0].thread, BATCH, events, {0}, 0, pool_args, 0, 0};
    if (source->next <= source->batches)
        return 1;
    for (uint32_t i = 0; i < BATCH; i++) {
        events[i].time_ns += source->round_ns[events->thread];
        if (source->shape == FLOWS && event_is_flow(events[i].kind))
            events[i].id += (uint64_t)BATCHES * BATCH;
    }
    return 1;
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void run_export(struct events_source *source, struct trace *trace, struct result *result,
                       bool gzip)
{
    struct out_stream_options options = {
        .overwrite = true, .gzip = gzip, .gzip_level = EXPORT_GZIP_LEVEL};
    const struct pass_source from = {.trace = trace, .next_events = next_batch, .context = source};
    struct out_stream *out;
    char path[] = "/tmp/bench_export.XXXXXX";
    int fd = gzip ? mkstemp(path) : -1;
    char name[64];
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(result->name, "."), result->name);
    const struct exporter *exporter = exporter_by_name(name);
    if (out_stream_open(gzip ? path : "/dev/null", &options, &out) < 0)
        abort();
    const struct export_options all = {.min_duration = "0"};
    const struct export_job job = {.source = &from, .options = &all, .out = out};
    if (export_run(exporter, &job, NULL) < 0)
        abort();
    result->bytes = (double)out_bytes(out);
    if (out_stream_close(out) < 0)
        abort();
    if (fd < 0)
        return;
    FILE *file = fopen(path, "r");
    if (!file || fseek(file, 0, SEEK_END) < 0)
        abort();
    result->bytes = (double)ftell(file);
    fclose(file);
    remove(path);
}

static int count(void *context, const struct item *item)
{
    *(uint64_t *)context += item->kind == ITEM_SPAN;
    return 0;
}

static void run(struct events_source *source, struct trace *trace, struct result *result)
{
    const struct pass_source from = {.trace = trace, .next_events = next_batch, .context = source};
    struct event_batch batch;
    uint64_t spans = 0;
    const struct sink sink = {count, &spans, WANT_EVENTS};
    if (strcmp(result->name, "source") == 0) {
        while (next_batch(source, &batch) > 0)
            ;
    } else if (strcmp(result->name, "pairs") == 0) {
        if (pass_read(&from, &PASS_SELECT_ALL, &sink, 1) < 0)
            abort();
    } else {
        run_export(source, trace, result, strstr(result->name, ".gz") != NULL);
    }
}

static void print(const struct result *result, bool json, bool last)
{
    double rate = 1e3 / result->ns;
    if (json)
        printf("{\"name\": \"%s\", \"ranges_per_second\": %.0f, \"bytes_per_range\": %.2f}%s\n",
               result->name, rate * 1e6, result->bytes, last ? "" : ",");
    else
        printf("%-16s %8.1f ns a range %8.2f M ranges/s %8.2f bytes a range\n", result->name,
               result->ns, rate, result->bytes);
}

static enum shape shape_of(const char *name)
{
    if (strstr(name, ".values"))
        return VALUES;
    if (strstr(name, ".flows"))
        return FLOWS;
    if (strstr(name, ".fresh"))
        return FRESH;
    if (strstr(name, ".loop"))
        return LOOP;
    return strstr(name, ".tracks") ? ON_TRACKS : NESTED;
}

/* Format and shape. */
static const char *const cases[] = {"source",
                                    "pairs",
                                    "perfetto",
                                    "perfetto.gz",
                                    "chrome",
                                    "chrome.gz",
                                    "perfetto.values",
                                    "chrome.values",
                                    "perfetto.flows",
                                    "chrome.flows",
                                    "perfetto.tracks",
                                    "chrome.tracks",
                                    "speedscope",
                                    "csv",
                                    "jsonl",
                                    "parquet",
                                    "arrow",
                                    "csv.values",
                                    "jsonl.values",
                                    "parquet.values",
                                    "arrow.values",
                                    "parquet.fresh",
                                    "arrow.fresh",
                                    "csv.loop",
                                    "jsonl.loop",
                                    "parquet.loop",
                                    "arrow.loop",
                                    "firefox",
                                    "ctf",
                                    "ctf.values",
                                    "otlp",
                                    "otlp-json",
                                    "otlp-json.values",
                                    "nsys",
                                    "nsys.values"};

int main(int argc, char **argv)
{
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    uint64_t ranges = argc > 1 + json ? strtoull(argv[1 + json], NULL, 10) : 2000000;
    struct result results[sizeof(cases) / sizeof(*cases)] = {0};
    const char *wanted = argc > 2 + json ? argv[2 + json] : NULL;
    size_t count = wanted ? 1 : sizeof(cases) / sizeof(*cases);
    for (size_t i = 0; i < count; i++)
        results[i].name = wanted ? wanted : cases[i];
    for (int round = 0; round < RUNS; round++) {
        for (size_t i = 0; i < count; i++) {
            enum shape shape = shape_of(results[i].name);
            struct events_source source = {.batches_left = ranges / (BATCH / shape_events[shape]),
                                           .shape = shape};
            struct maker *maker = make_source(&source);
            double begin = cpu_seconds();
            run(&source, maker_trace(maker), &results[i]);
            double ns = 1e9 * (cpu_seconds() - begin) / (double)ranges;
            if (round == 0 || ns < results[i].ns)
                results[i].ns = ns;
            maker_destroy(maker);
            free(source.pool);
        }
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    if (json)
        printf("{\"results\": [\n");
    for (size_t i = 0; i < count; i++) {
        results[i].bytes /= (double)ranges;
        print(&results[i], json, i + 1 == count);
    }
    printf(json ? "], \"peak_memory_kib\": %ld}\n" : "peak memory %ld KiB\n", usage.ru_maxrss);
    return 0;
}
