/* SPDX-License-Identifier: MIT */
/* Calls of libannot: see stack_calls.h. Their arguments are in static memory, since the frames of
 * the callers are measured, too. */
#include "stack_calls.h"

#include <annot/annot.h>
#include <annot/function_calls.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static char counted_text[32];
static annot_range range;
static annot_flow flow;
static struct annot_track track;
static const struct annot_field fields[] = {{.name = "a", .kind = ANNOT_FIELD_INT32}};
static struct annot_value values[2];
static struct annot_event event, event_of_new;
static int number;

static void push(void)
{
    annot_push("range");
}

static void pop(void)
{
    annot_pop();
}

static const char *new_text(void)
{
    number++;
    for (int i = 0, rest = number; i < 8; i++, rest /= 10)
        counted_text[i] = (char)('0' + rest % 10);
    return counted_text;
}

static void push_new(void)
{
    annot_push(new_text());
}

static void push_event(void)
{
    annot_push_event(&event);
}

static void struct_value(void)
{
    static const uint8_t bytes[64];
    static annot_schema schema_of_bytes;
    if (!schema_of_bytes)
        schema_of_bytes = annot_schema_create("bytes", 64, fields, 1);
    static struct annot_value value;
    value = annot_value_struct(schema_of_bytes, bytes, sizeof(bytes));
    annot_pop_values(&value, 1);
}

static void pop_values(void)
{
    annot_pop_values(values, 2);
}

static void start(void)
{
    range = annot_start("start");
}

static void end(void)
{
    annot_end(range);
}

static void end_values(void)
{
    annot_range ended = annot_start_event(&event);
    annot_end_values(ended, values, 2);
}

static void mark(void)
{
    annot_mark("mark");
}

static void mark_macro(void)
{
    ANNOT_MARK("mark");
}

static void mark_event(void)
{
    annot_mark_event(&event);
}

static void counter(void)
{
    annot_counter("counter", 1.5);
}

static void counter_event(void)
{
    annot_counter_event(&event);
}

static void counters(void)
{
    annot_counters("counters", values, 2);
}

static void name_new(void)
{
    annot_name_intern(new_text());
}

/* Long names use up the table's memory, so that more is allocated. */
static void keys_new(void)
{
    static char texts[2][ANNOT_STRING_MAX];
    static struct annot_value new_values[2];
    for (int i = 0; i < 2; i++) {
        memset(texts[i], 'k', sizeof(texts[i]) - 1);
        memcpy(texts[i], new_text(), 8);
        new_values[i] = annot_value_string(texts[i], "text");
    }
    event_of_new.values = new_values;
    annot_mark_event(&event_of_new);
}

static void domain_new(void)
{
    annot_category_create(annot_domain_create(new_text()), "category");
}

static void schema(void)
{
    annot_schema_create("schema", 8, fields, 1);
}

static void unit(void)
{
    annot_counter_unit(0, "counter", "MiB");
}

static void names(void)
{
    annot_name_process("process");
    annot_name_thread("thread");
}

static void flows(void)
{
    flow = annot_flow_new();
    annot_flow_begin(flow, "flow");
    annot_flow_step(flow);
    annot_flow_end(flow);
}

static void tracks(void)
{
    track = annot_track_create("track", NULL);
    annot_track_begin(&track, "in");
    annot_track_mark_event(&track, &event);
    annot_track_end(&track);
}

static void track_event(void)
{
    annot_track_begin_event(&track, &event);
    annot_track_end_values(&track, values, 2);
}

static void shown(void)
{
    annot_emit_show(annot_name_intern("shown"), 0, 1);
    annot_emit_hide(0, 1);
}

static void logged(void)
{
    annot_log(ANNOT_SEVERITY_INFO, "log");
}

static void context(void)
{
    static char text[ANNOT_TRACE_CONTEXT_SIZE];
    annot_trace_context(text);
    annot_trace_context_adopt("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    annot_current();
}

static void note(void)
{
    annot_abort_note("the last word");
}

static void function(void)
{
    const struct annot_call call = {(void *)(uintptr_t)function, NULL, &call};
    annot_emit_call(annot_function_name("/usr/lib/library.so", 4096, 17), &call);
    annot_emit_return(&call, 0);
}

/* Calls with ranges in them, left by an exception: the return closes them all. */
static void functions_left(void)
{
    static const char stack[3][64], places[3];
    static const struct annot_call made[] = {
        {&places[0], NULL, stack[2]}, {&places[1], NULL, stack[1]}, {&places[2], NULL, stack[0]}};
    static annot_name name;
    static int i;
    name = annot_function_name("/usr/lib/library.so", 4096, 17);
    for (i = 0; i < 3; i++) {
        annot_emit_call(name, &made[i]);
        push();
    }
    annot_emit_return(&made[0], 0);
}

static void status(void)
{
    annot_status();
}

#define CALL(name)                                                                                 \
    {                                                                                              \
#name, name                                                                                \
    }

const struct stack_call stack_calls[] = {
    CALL(push),          CALL(pop),        CALL(push_new),
    CALL(push_event),    CALL(pop_values), CALL(start),
    CALL(end),           CALL(end_values), CALL(mark),
    CALL(mark_macro),    CALL(mark_event), CALL(counter),
    CALL(counter_event), CALL(counters),   CALL(name_new),
    CALL(domain_new),    CALL(schema),     CALL(unit),
    CALL(names),         CALL(flows),      CALL(tracks),
    CALL(track_event),   CALL(shown),      CALL(logged),
    CALL(context),       CALL(note),       CALL(function),
    CALL(status),        CALL(keys_new),   CALL(functions_left),
    CALL(struct_value),
};

const int stack_call_count = sizeof(stack_calls) / sizeof(*stack_calls);

__attribute__((constructor)) static void prepare(void)
{
    values[0] = annot_value_int64("key", 1);
    values[1] = annot_value_string("text", "of some length");
    event_of_new = (struct annot_event){.text = "event of new keys", .value_count = 2};
    event = (struct annot_event){.text = "event",
                                 .color = 0xff00ff00,
                                 .payload_kind = ANNOT_PAYLOAD_STRING,
                                 .payload.string = "payload",
                                 .values = values,
                                 .value_count = 2};
}

static void repeat(void (*call)(void), int count)
{
    static int left;
    for (left = count; left > 0; left--)
        call();
}

void stack_call_blocks(void)
{
    repeat(mark_event, 400);
    repeat(keys_new, 200);
    repeat(push, 40);
    repeat(pop, 40);
    repeat(functions_left, 40);
    repeat(counters, 40);
}
