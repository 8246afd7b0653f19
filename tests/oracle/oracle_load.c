/* SPDX-License-Identifier: MIT */
/* Writes the text of the oracle's corpus (README.md) as a recording, through the store's writer.
 *
 * oracle_load FILE <TEXT. Every line is checked: an invalid line ends the program. One thread. */
#include "made_sample.h"
#include "oracle_text.h"
#include "writer.h"

#include "store.h"
#include "trace_maker.h"
#include "vec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct trace *trace;
static struct store_writer *writer;
static const char *path;
static int64_t begin_ns;
static uint64_t line_number;

static VEC(struct event) batch;
static VEC(struct arg) args; /* of the batch */
static uint32_t batch_thread;
static bool in_batch;

static void fail(const char *what)
{
    fprintf(stderr, "oracle_load: line %" PRIu64 ": %s\n", line_number, what);
    exit(1);
}

static uint32_t must(int64_t number)
{
    if (number < 0)
        fail(strerror((int)-number));
    return (uint32_t)number;
}

/* ---- Fields: "key=value key=value" ----------------------------------------------------------- */

static uint64_t number_of(const char *text)
{
    char *end;
    uint64_t value =
        *text == '-' || *text == '+' ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 10);
    if (end == text || (*end && *end != ','))
        fail("no number");
    return value;
}

static void take_counts(const struct text_field *field, void *object, const char *text)
{
    uint64_t *counts = (uint64_t *)(void *)((char *)object + field->offset);
    for (unsigned i = 0; text; i++) {
        if (i == field->count)
            fail("too many counts");
        counts[i] = number_of(text);
        text = strchr(text, ',');
        text += text != NULL;
    }
}

static bool take_field(const struct text_field *fields, void *object, const char *key,
                       const char *text)
{
    while (fields->name && strcmp(fields->name, key) != 0)
        fields++;
    if (!fields->name)
        return false;
    if (fields->type == FIELD_COUNTS) {
        take_counts(fields, object, text);
        return true;
    }
    uint64_t value = number_of(text);
    if (fields->type == FIELD_SINCE)
        value += (uint64_t)begin_ns;
    field_set(fields, object, value);
    return true;
}

/* Returns the next key and sets *ret_value to its value; NULL at the end. */
static const char *next_pair(char **rest, const char **ret_value)
{
    char *pair = strsep(rest, " ");
    char *equals = pair ? strchr(pair, '=') : NULL;
    if (!pair)
        return NULL;
    if (!equals)
        fail("no key=value");
    *equals = 0;
    *ret_value = equals + 1;
    return pair;
}

static void take_fields(const struct text_field *fields, void *object, char *rest)
{
    const char *key, *value;
    while ((key = next_pair(&rest, &value)))
        if (!take_field(fields, object, key, value))
            fail("unknown field");
}

/* ---- Definitions ----------------------------------------------------------------------------- */

static void take_session(char *rest)
{
    struct trace_session session = {.revision = trace_session(trace)->revision + 1};
    take_fields(session_fields, &session, rest);
    *trace_session(trace) = session;
    begin_ns = session.begin_ns;
}

static void take_process(char *rest)
{
    struct trace_process *process = trace_process(trace, must(trace_process_add(trace)));
    process->parent = 0;
    take_fields(process_fields, process, rest);
}

static void take_thread(char *rest)
{
    struct trace_thread thread = {0};
    take_fields(thread_fields, &thread, rest);
    uint32_t ordinal = must(trace_thread_add(trace, thread.process));
    thread.revision = trace_thread(trace, ordinal)->revision;
    *trace_thread(trace, ordinal) = thread;
}

static void take_track(char *rest)
{
    struct trace_lane track = {0};
    take_fields(track_fields, &track, rest);
    struct trace_lane *added = trace_lane(trace, must(trace_lane_add(trace, track.id)));
    added->process = track.process;
    added->name = track.name;
    added->parent = track.parent;
}

static void take_unit(char *rest)
{
    struct trace_unit unit = {0};
    take_fields(unit_fields, &unit, rest);
    must(trace_unit_set(trace, unit.domain, unit.counter, unit.unit));
}

static void take_refusal(char *rest)
{
    struct trace_refusal refusal = {0};
    take_fields(refusal_fields, &refusal, rest);
    must(trace_refusal_add(trace, &refusal));
}

static void take_filter(char *rest)
{
    struct trace_filter filter = {0};
    take_fields(filter_fields, &filter, rest);
    must(trace_filter_add(trace, &filter));
}

static void take_sampling(char *rest)
{
    take_fields(sampling_fields, trace_sampling(trace), rest);
    trace_sampling(trace)->revision++;
}

static void take_fact(char *rest)
{
    struct trace_fact *fact = trace_fact(trace, must(trace_fact_add(trace)));
    take_fields(fact_fields, fact, rest);
    fact->revision++;
}

static void take_type(char *rest)
{
    struct value_type type = {0};
    const char *number = strsep(&rest, " ");
    take_fields(type_fields, &type, rest);
    must(value_types_define(trace_sets(trace), (unsigned)number_of(number), &type));
}

/* Parses at most `size` numbers. Returns their count. */
static unsigned take_list(const char *text, int64_t *numbers, unsigned size)
{
    unsigned count = 0;
    for (; text; count++) {
        if (count == size)
            fail("too many numbers");
        numbers[count] = (int64_t)number_of(text);
        text = strchr(text, ',');
        text += text != NULL;
    }
    return count;
}

static void take_set(char *rest)
{
    struct sample_set set = {0};
    const char *key, *value, *number = strsep(&rest, " ");
    int64_t types[SAMPLE_VALUES_MAX];
    while ((key = next_pair(&rest, &value))) {
        if (strcmp(key, "types") == 0)
            set.count = (uint8_t)take_list(value, types, SAMPLE_VALUES_MAX);
        else if (!take_field(set_fields, &set, key, value))
            fail("unknown field of a set");
    }
    for (unsigned i = 0; i < set.count; i++)
        set.types[i] = (uint16_t)types[i];
    must(sample_sets_define(trace_sets(trace), (unsigned)number_of(number), &set));
}

static int hex(char digit)
{
    const char *const digits = "0123456789abcdef";
    const char *found = digit ? strchr(digits, digit) : NULL;
    if (!found)
        fail("no escape");
    return (int)(found - digits);
}

/* Each new entry must have the next number. */
static void check_number(const char *text, uint32_t number)
{
    if (!text || number_of(text) != number)
        fail("not the next number");
}

static void take_string(char *rest)
{
    const char *number = strsep(&rest, " ");
    size_t length = 0;
    if (!rest)
        fail("no text");
    for (const char *at = rest; *at; length++) {
        bool escape = at[0] == '\\' && at[1] == 'x';
        rest[length] = escape ? (char)(hex(at[2]) << 4 | hex(at[3])) : *at;
        at += escape ? 4 : 1;
    }
    check_number(number, must(trace_string_add(trace, rest, length)));
}

static void take_frame(char *rest)
{
    struct frame_line line = {0};
    const char *number = strsep(&rest, " ");
    int kind = rest ? WORD_NUMBER(frame_words, strsep(&rest, " ")) : -1;
    if (kind < 0)
        fail("unknown kind of frame");
    take_fields(frame_fields, &line, rest);
    const struct maker_frame frame = {.kind = (enum frame_kind)kind,
                                      .function = trace_string(trace, line.function)->bytes,
                                      .file = trace_string(trace, line.file)->bytes,
                                      .module = trace_string(trace, line.module)->bytes,
                                      .line = line.line,
                                      .first_line = line.first_line,
                                      .address = line.address};
    check_number(number, maker_frame_of(trace, &frame));
}

static void take_stack(char *rest)
{
    struct stack stack = {0};
    const char *number = strsep(&rest, " ");
    take_fields(stack_fields, &stack, rest);
    check_number(number, must(stacks_push(trace_stacks(trace), stack.parent, stack.frame)));
}

static void take_path(char *rest)
{
    struct range_path added = {0};
    struct scope scope = {0};
    const char *key, *value;
    const char *number = strsep(&rest, " ");
    int kind = rest ? WORD_NUMBER(path_words, strsep(&rest, " ")) : -1;
    if (kind < 0)
        fail("unknown kind of path");
    added.kind = (uint32_t)kind;
    while ((key = next_pair(&rest, &value)))
        if (!take_field(path_fields, &added, key, value) &&
            !take_field(scope_fields, &scope, key, value))
            fail("unknown field of a path");
    added.scope = must(trace_scope_add(trace, &scope));
    check_number(number, must(stacks_path_add(trace_stacks(trace), &added)));
}

/* ---- Events and samples ---------------------------------------------------------------------- */

static void open_writer(void)
{
    const char *volume = getenv("ORACLE_VOLUME_BYTES"); /* makes many small files */
    const struct store_writer_options options = {
        .overwrite = true, .volume_bytes = volume ? strtoull(volume, NULL, 10) : 0};
    if (!writer)
        must(store_writer_create(path, trace, &options, &writer));
}

static void end_batch(void)
{
    const struct event_batch whole = {.thread = batch_thread,
                                      .count = (uint32_t)batch.count,
                                      .events = batch.items,
                                      .args = args.items};
    open_writer();
    if (in_batch)
        must(store_writer_add(writer, &whole));
    in_batch = false;
    batch.count = args.count = 0;
}

static void take_batch(char *rest)
{
    const char *thread, *key = next_pair(&rest, &thread);
    end_batch();
    if (!key || strcmp(key, "thread") != 0)
        fail("no thread");
    batch_thread = (uint32_t)number_of(thread);
    in_batch = true;
}

static void take_of_kind(struct event *event, const char *key, uint64_t value)
{
    int kind = WORD_NUMBER(value_words, key);
    if (kind > 0) {
        event->value_kind = (uint8_t)kind;
        event->value.uint64 = value;
    } else if (strcmp(key, "records") == 0) {
        event->value.uint64 = value;
    } else if (strcmp(key, "color") == 0) {
        event->flags |= EVENT_HAS_COLOR;
        event->color = (uint32_t)value;
    } else if (strcmp(key, "id") == 0) {
        if (event_has_lane(event->kind))
            event->lane = (uint32_t)value;
        else
            event->id = value;
    } else if (strcmp(key, "origin") == 0) {
        event->origin_ns = event->time_ns - (int64_t)value;
    } else if (strcmp(key, "depth") == 0) {
        event->depth = value;
    } else {
        fail("unknown field of an event");
    }
}

static struct event event_of(int kind, char *rest)
{
    struct event event = {.kind = (uint8_t)kind, .thread = batch_thread};
    struct scope scope = {0};
    const char *key, *value;
    if (!in_batch)
        fail("an event outside of a batch");
    if (kind == EVENT_SPAN)
        event.origin_ns = EVENT_NO_ORIGIN;
    while ((key = next_pair(&rest, &value)))
        if (!take_field(event_fields, &event, key, value) &&
            !take_field(scope_fields, &scope, key, value))
            take_of_kind(&event, key, number_of(value));
    event.scope = must(trace_scope_add(trace, &scope));
    return event;
}

static void take_event(int kind, char *rest)
{
    must(vec_push(&batch, event_of(kind, rest)));
}

static void take_arg(char *rest)
{
    const struct event told = event_of(0, rest);
    struct event *owner = batch.count ? &batch.items[batch.count - 1] : NULL;
    if (!owner)
        fail("a key-value of nothing");
    if (owner->arg_count++ == 0)
        owner->args = (uint32_t)args.count;
    must(vec_push(&args, ((struct arg){told.name, told.value_kind, told.value})));
}

/* Sample of a fixed set, whose values its word implies, or of the recording's own sets. */
static void take_sample(char *rest)
{
    struct sample_line told = {0};
    const char *key, *value, *word = rest ? strsep(&rest, " ") : "";
    int kind = WORD_NUMBER(sample_words, word);
    int64_t values[SAMPLE_VALUES_MAX];
    unsigned count = 0;
    if (kind < 0 && strcmp(word, SET_WORD) != 0)
        fail("unknown kind of sample");
    while ((key = next_pair(&rest, &value))) {
        if (kind < 0 && strcmp(key, "values") == 0)
            count = take_list(value, values, SAMPLE_VALUES_MAX);
        else if (!take_field(sample_fields, &told, key, value))
            fail("unknown field of a sample");
    }
    struct sample sample = told.sample;
    sample.values = values;
    sample.value_count = (uint8_t)count;
    sample.set = kind < 0 ? sample.set : (uint16_t)kind;
    if (kind == SAMPLE_SET_CPU)
        sample = made_cpu(sample, (int64_t)told.weight_ns);
    else if (kind == SAMPLE_SET_OFF_CPU)
        sample = made_wait(sample, told.wake_ns);
    end_batch();
    must(store_writer_add_samples(writer, &sample, 1));
}

static void take_flush(char *rest)
{
    (void)rest;
    end_batch();
    must(store_writer_flush(writer));
}

static void take_end(char *rest)
{
    take_flush(NULL);
    if (strcmp(rest, "complete") == 0)
        must(store_writer_close(writer));
    else if (strcmp(rest, "cut") == 0)
        store_writer_abandon(writer);
    else
        fail("unknown end");
    writer = NULL;
}

static void take_version(char *rest)
{
    if (number_of(rest) != ORACLE_TEXT_VERSION)
        fail("another version of the text");
}

static const struct {
    const char *word;
    void (*take)(char *rest);
} lines[] = {
    {"string", take_string},   {"frame", take_frame},     {"stack", take_stack},
    {"path", take_path},       {"batch", take_batch},     {"sample", take_sample},
    {"flush", take_flush},     {"session", take_session}, {"process", take_process},
    {"thread", take_thread},   {"track", take_track},     {"unit", take_unit},
    {"refusal", take_refusal}, {"filter", take_filter},   {"sampling", take_sampling},
    {"fact", take_fact},       {"oracle", take_version},  {"end", take_end},
    {"type", take_type},       {"set", take_set},
};

static void take_line(char *text)
{
    char *rest = text;
    const char *word = strsep(&rest, " ");
    int kind = WORD_NUMBER(event_words, word);
    if (strcmp(word, PAYLOAD_WORD) == 0) {
        take_arg(rest);
        return;
    }
    if (kind >= 0) {
        take_event(kind, rest);
        return;
    }
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        if (strcmp(lines[i].word, word) == 0) {
            lines[i].take(rest);
            return;
        }
    }
    fail("unknown line");
}

int main(int argc, char **argv)
{
    char *text = NULL;
    size_t capacity = 0;
    ssize_t length;
    if (argc != 2) {
        fputs("usage: oracle_load FILE <TEXT\n", stderr);
        return 2;
    }
    path = argv[1];
    trace = trace_create();
    must(trace ? 0 : -ENOMEM);
    while ((length = getline(&text, &capacity, stdin)) > 0) {
        line_number++;
        if (text[length - 1] == '\n')
            text[length - 1] = 0;
        take_line(text);
    }
    if (writer || line_number == 0)
        fail("no end");
    free(text);
    vec_free(&batch);
    vec_free(&args);
    trace_destroy(trace);
    return 0;
}
