/* SPDX-License-Identifier: MIT */
/* Prints a recording as the text of the oracle's corpus (README.md).
 *
 * oracle_dump FILE. Strings, frames, stacks and range paths are numbered in the order of the text,
 * independent of the file's numbers. One thread. */
#include "chunk.h"
#include "oracle_text.h"
#include "reader.h"

#include "store.h"
#include "trace_maker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct store_reader *reader;
static const struct trace *trace;
static struct trace *told; /* strings, frames, stacks and paths that were printed */
static int64_t begin_ns;
static FILE *line; /* printed when complete, after the definitions that it refers to */
static char *line_text;
static size_t line_size;

static uint32_t must(int64_t number)
{
    if (number >= 0)
        return (uint32_t)number;
    fprintf(stderr, "oracle_dump: %s\n", strerror((int)-number));
    exit(1);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static void begin_line(const char *word)
{
    line = open_memstream(&line_text, &line_size);
    if (!line)
        must(-ENOMEM);
    fputs(word, line);
}

static void end_line(void)
{
    if (fclose(line) != 0)
        must(-ENOMEM);
    puts(line_text);
    free(line_text);
}

static uint32_t tell_string(uint32_t ordinal)
{
    const struct trace_string *string = trace_string(trace, ordinal);
    uint32_t before = trace_string_count(told);
    uint32_t number = must(trace_string_add(told, string->bytes, string->length));
    if (number < before)
        return number;
    printf("string %" PRIu32 " ", number);
    for (uint32_t i = 0; i < string->length; i++) {
        unsigned char byte = (unsigned char)string->bytes[i];
        if (byte < 0x20 || byte == 0x7f || byte == '\\')
            printf("\\x%02x", byte);
        else
            putchar(byte);
    }
    putchar('\n');
    return number;
}

static void print_fields(FILE *out, const struct text_field *fields, const void *object)
{
    for (; fields->name; fields++) {
        if (fields->type == FIELD_COUNTS)
            continue;
        uint64_t value = field_get(fields, object);
        if (value == 0)
            continue;
        if (fields->type == FIELD_SCOPE)
            print_fields(out, scope_fields, trace_scope(told, (uint32_t)value));
        else if (fields->type == FIELD_SINCE)
            fprintf(out, " %s=%+" PRId64, fields->name, (int64_t)(value - (uint64_t)begin_ns));
        else if (fields->type == FIELD_I32 || fields->type == FIELD_I64)
            fprintf(out, " %s=%" PRId64, fields->name, (int64_t)value);
        else
            fprintf(out, " %s=%" PRIu64, fields->name, value);
    }
}

static uint32_t tell_scope(uint32_t ordinal)
{
    struct scope scope = *trace_scope(trace, ordinal);
    scope.domain = tell_string(scope.domain);
    scope.category = tell_string(scope.category);
    return must(trace_scope_add(told, &scope));
}

static uint32_t tell_frame(uint32_t ordinal)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    const struct frame *frame = stacks_get_frame(stacks, ordinal);
    const struct label *label = stacks_get_label(stacks, frame->label);
    if (ordinal == 0)
        return 0;
    const struct frame_line texts = {
        .function = tell_string(label->text),
        .file = tell_string(stacks_get_source(stacks, label->source)->path),
        .module = tell_string(stacks_get_module(stacks, frame->module)->path),
        .line = frame->line,
        .first_line = label->first_line,
        .address = frame->address};
    const struct maker_frame same = {.kind = (enum frame_kind)frame->kind,
                                     .function = trace_string(told, texts.function)->bytes,
                                     .file = trace_string(told, texts.file)->bytes,
                                     .module = trace_string(told, texts.module)->bytes,
                                     .line = texts.line,
                                     .first_line = texts.first_line,
                                     .address = texts.address};
    uint32_t before = stacks_frame_count(trace_stacks_get(told));
    uint32_t number = maker_frame_of(told, &same);
    if (number < before)
        return number;
    printf("frame %" PRIu32 " %s", number, frame_words[frame->kind]);
    print_fields(stdout, frame_fields, &texts);
    putchar('\n');
    return number;
}

/* Starts at the root, without recursion: a stack may be deep. */
static uint32_t tell_stack(uint32_t ordinal)
{
    enum { DEPTH = 1 << 16 };

    static uint32_t frames[DEPTH];
    uint32_t count = stacks_frames(trace_stacks_get(trace), ordinal, frames, DEPTH), number = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct stack stack = {.parent = number, .frame = tell_frame(frames[i])};
        uint32_t before = stacks_stack_count(trace_stacks_get(told));
        number = must(stacks_push(trace_stacks(told), stack.parent, stack.frame));
        if (number < before)
            continue;
        printf("stack %" PRIu32, number);
        print_fields(stdout, stack_fields, &stack);
        putchar('\n');
    }
    return number;
}

static uint32_t tell_path(uint32_t ordinal)
{
    enum { DEPTH = 1 << 12 };

    static uint32_t paths[DEPTH];
    uint32_t count = stacks_paths(trace_stacks_get(trace), ordinal, paths, DEPTH), number = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct range_path path = *stacks_get_path(trace_stacks_get(trace), paths[i]);
        path.parent = number;
        path.name = tell_string(path.name);
        path.scope = tell_scope(path.scope);
        uint32_t before = stacks_path_count(trace_stacks_get(told));
        number = must(stacks_path_add(trace_stacks(told), &path));
        if (number < before)
            continue;
        printf("path %" PRIu32 " %s", number, path_words[path.kind]);
        print_fields(stdout, path_fields, &path);
        putchar('\n');
    }
    return number;
}

static void add_counts(const struct text_field *field, const void *object)
{
    const uint64_t *counts = (const uint64_t *)(const void *)((const char *)object + field->offset);
    bool any = false;
    for (unsigned i = 0; i < field->count; i++)
        any |= counts[i] != 0;
    for (unsigned i = 0; any && i < field->count; i++)
        fprintf(line, "%s%s%s%" PRIu64, i ? "," : " ", i ? "" : field->name, i ? "" : "=",
                counts[i]);
}

/* Prints an object after replacing the file's numbers in it by the text's. */
static void add_fields(const struct text_field *fields, void *object)
{
    for (const struct text_field *field = fields; field->name; field++) {
        if (field->type < FIELD_STRING || field->type == FIELD_COUNTS)
            continue;
        uint32_t ordinal = (uint32_t)field_get(field, object);
        uint32_t number = field->type == FIELD_STRING  ? tell_string(ordinal)
                          : field->type == FIELD_SCOPE ? tell_scope(ordinal)
                          : field->type == FIELD_STACK ? tell_stack(ordinal)
                                                       : tell_path(ordinal);
        field_set(field, object, number);
    }
    print_fields(line, fields, object);
    for (const struct text_field *field = fields; field->name; field++)
        if (field->type == FIELD_COUNTS)
            add_counts(field, object);
}

/* `object`: a copy, which is changed. */
static void print_object(const char *word, const struct text_field *fields, void *object)
{
    begin_line(word);
    add_fields(fields, object);
    end_line();
}

#define PRINT(type, word, fields, source)                                                          \
    do {                                                                                           \
        struct type copy = *(source);                                                              \
        print_object((word), (fields), (&copy));                                                   \
    } while (0)

/* ---- The recording --------------------------------------------------------------------------- */

static void print_type(unsigned number)
{
    struct value_type type = *value_type_get(trace_sets_get(trace), number);
    begin_line("type");
    fprintf(line, " %u", number);
    add_fields(type_fields, &type);
    end_line();
}

static void print_set(unsigned number)
{
    struct sample_set set = *sample_set_get(trace_sets_get(trace), number);
    begin_line("set");
    fprintf(line, " %u", number);
    add_fields(set_fields, &set);
    for (unsigned i = 0; i < set.count; i++)
        fprintf(line, "%s%u", i ? "," : " types=", set.types[i]);
    end_line();
}

/* Prints the recording's own sample sets. */
static void print_sets(void)
{
    const struct sample_sets *sets = trace_sets_get(trace);
    for (unsigned i = VALUE_TYPE_OWN; i < value_types_count(sets); i++)
        print_type(i);
    for (unsigned i = SAMPLE_SET_OWN; i < sample_sets_count(sets); i++)
        print_set(i);
}

static void print_definitions(void)
{
    PRINT(trace_session, "session", session_fields, trace_session_get(trace));
    for (uint32_t i = 0; i < trace_process_count(trace); i++)
        PRINT(trace_process, "process", process_fields, trace_process_get(trace, i));
    for (uint32_t i = 0; i < trace_thread_count(trace); i++)
        PRINT(trace_thread, "thread", thread_fields, trace_thread_get(trace, i));
    for (uint32_t i = 0; i < trace_lane_count(trace); i++)
        PRINT(trace_lane, "track", track_fields, trace_lane_get(trace, i));
    for (uint32_t i = 0; i < trace_unit_count(trace); i++)
        PRINT(trace_unit, "unit", unit_fields, trace_unit_get(trace, i));
    for (uint32_t i = 0; i < trace_refusal_count(trace); i++)
        PRINT(trace_refusal, "refusal", refusal_fields, trace_refusal_get(trace, i));
    for (uint32_t i = 0; i < trace_filter_count(trace); i++)
        PRINT(trace_filter, "filter", filter_fields, trace_filter_get(trace, i));
    PRINT(trace_sampling, "sampling", sampling_fields, trace_sampling_get(trace));
    for (uint32_t i = 0; i < trace_fact_count(trace); i++)
        PRINT(trace_fact, "fact", fact_fields, trace_fact_get(trace, i));
    print_sets();
}

static void print_event(const struct event *source)
{
    struct event event = *source;
    begin_line(event.kind ? event_words[event.kind] : PAYLOAD_WORD);
    add_fields(event_fields, &event);
    if (event.flags & EVENT_HAS_COLOR)
        fprintf(line, " color=%" PRIu32, event.color);
    if (event.kind == EVENT_POP || event.kind == EVENT_LOST)
        fprintf(line, " depth=%" PRIu64, event.depth);
    else if (event_has_lane(event.kind) && event.lane)
        fprintf(line, " id=%" PRIu32, event.lane);
    else if (event.id && !event_has_lane(event.kind))
        fprintf(line, " id=%" PRIu64, event.id);
    if (event.kind == EVENT_SPAN && event.origin_ns != EVENT_NO_ORIGIN)
        fprintf(line, " origin=%" PRId64, event.time_ns - event.origin_ns);
    if (event.kind == EVENT_LOST)
        fprintf(line, " records=%" PRIu64, event.value.uint64);
    else if (event.value_kind == VALUE_STRING)
        fprintf(line, " text=%" PRIu32, tell_string(event.value.string));
    else if (event.value_kind == VALUE_INT64)
        fprintf(line, " int64=%" PRId64, event.value.int64);
    else if (event.value_kind)
        fprintf(line, " %s=%" PRIu64, value_words[event.value_kind], event.value.uint64);
    end_line();
}

static void print_with_args(const struct event_batch *batch, const struct event *event)
{
    const struct args args = event_args(batch, event);
    print_event(event);
    for (uint32_t i = 0; i < args.count; i++)
        print_event(&(struct event){.thread = event->thread,
                                    .time_ns = event->time_ns,
                                    .name = args.items[i].key,
                                    .value_kind = (uint8_t)args.items[i].kind,
                                    .value = args.items[i].value});
}

static void print_sample(const struct sample *source)
{
    int64_t ready_ns = source->time_ns + sample_value(NULL, source, VALUE_TYPE_BLOCKED);
    bool woken = source->set == SAMPLE_SET_OFF_CPU &&
                 ready_ns != (source->reason == WAIT_PREEMPTED ? source->time_ns : source->end_ns);
    struct sample_line sample = {.sample = *source,
                                 .weight_ns = sample_cpu_ns(NULL, source),
                                 .wake_ns = woken ? ready_ns : 0};
    bool fixed = source->set <= SAMPLE_SET_OFF_CPU;
    sample.sample.set = fixed ? 0 : source->set; /* implied by its word */
    begin_line("sample ");
    fputs(fixed ? sample_words[source->set] : SET_WORD, line);
    add_fields(sample_fields, &sample);
    for (unsigned i = 0; !fixed && i < source->value_count; i++)
        fprintf(line, "%s%" PRId64, i ? "," : " values=", source->values[i]);
    end_line();
}

/* Prints at least `count` events, or all remaining ones. */
static void print_events(uint64_t count)
{
    struct event_batch batch;
    uint64_t printed = 0;
    while (printed < count && must(store_reader_next(reader, &batch))) {
        printed += batch.count;
        if (batch.count)
            printf("batch thread=%" PRIu32 "\n", batch.thread);
        for (uint32_t i = 0; i < batch.count; i++)
            print_with_args(&batch, &batch.events[i]);
    }
    puts("flush");
}

static void print_samples(uint64_t count)
{
    const struct sample *samples;
    uint32_t size;
    uint64_t printed = 0;
    while (printed < count && must(store_reader_next_samples(reader, &samples, &size))) {
        printed += size;
        for (uint32_t i = 0; i < size; i++)
            print_sample(&samples[i]);
    }
    puts("flush");
}

/* Alternates events and samples in the order of their chunks in the file: a chunk's times limit the
 * later ones, and thereby determine the order in which readers deliver items. */
static bool print_chunks(const char *path)
{
    struct scan scan;
    struct damage_list damage = {0};
    struct chunk_place chunk;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    must(fd < 0 ? -errno : scan_start(&scan, fd, path, &damage));
    while (must(scan_next(&scan, &chunk))) {
        if (chunk.header.type == STORE_CHUNK_EVENTS)
            print_events(chunk.header.count);
        else if (chunk.header.type == STORE_CHUNK_SAMPLES)
            print_samples(chunk.header.count);
    }
    vec_free(&damage);
    close(fd);
    return scan.ended;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: oracle_dump FILE\n", stderr);
        return 2;
    }
    must(store_reader_open(argv[1], &reader));
    trace = store_reader_trace(reader);
    told = trace_create();
    must(told ? 0 : -ENOMEM);
    begin_ns = trace_session_get(trace)->begin_ns;
    printf("oracle %d\n", ORACLE_TEXT_VERSION);
    print_definitions();
    struct store_volume volume;
    bool ended = false;
    for (uint32_t i = 0; store_reader_volume(reader, i, &volume); i++)
        ended = print_chunks(volume.path);
    puts(ended ? "end complete" : "end cut");
    for (uint32_t i = 0; i < store_reader_damage_count(reader); i++)
        fprintf(stderr, "oracle_dump: damage: %s\n", store_reader_damage(reader, i)->reason);
    trace_destroy(told);
    store_reader_close(reader);
    return fflush(stdout) != 0 || ferror(stdout) ? 1 : 0;
}
