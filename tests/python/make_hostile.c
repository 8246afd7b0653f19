/* SPDX-License-Identifier: MIT */
/* Writes a complete recording with invalid content: `make_hostile FILE SEED`.
 *
 * Its chunks are valid, so that readers reach their content: ends without begins, missing names,
 * tracks and parents, times that jump, numbers that overflow. For test_read_hostile.py. */
#include "store.h"
#include "writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCHES = 60,
    EVENTS = 400,
    THREADS = 4,
    PROCESSES = 3,
    TRACKS = 4,
    STRINGS = 12,
    SCOPES = 6,
    ARGS = 5
};

static uint64_t state;

static uint64_t draw(uint64_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % limit;
}

/* Mostly small valid numbers, sometimes arbitrary ones. */
static uint64_t draw_number(uint64_t usual)
{
    return draw(20) ? draw(usual) : draw(2) ? UINT64_MAX - draw(3) : draw(UINT64_MAX >> 12);
}

static struct trace *make_trace(void)
{
    static const char *const texts[] = {"a", "b", "\xff\xfe", "a/b", "", "\xed\xb3\xbf", "%s%n"};
    struct trace *trace = trace_create();
    for (uint32_t i = 0; i < STRINGS; i++) {
        const char *text = texts[draw(sizeof(texts) / sizeof(*texts))];
        trace_string_append(trace, text, strlen(text)); /* texts may repeat */
    }
    for (uint32_t i = 1; i < SCOPES; i++)
        trace_scope_set(trace, i,
                        &(struct scope){.domain = (uint32_t)(draw(2) * draw_number(STRINGS)),
                                        .category = (uint32_t)(draw(2) * draw_number(STRINGS)),
                                        .observer = (uint16_t)draw_number(15),
                                        .role = (uint16_t)draw_number(6)});
    for (uint32_t i = 0; i < PROCESSES; i++) {
        trace_process_add(trace);
        *trace_process(trace, i) = (struct trace_process){
            .revision = 1,
            .pid = (int32_t)draw_number(3),
            .ppid = (int32_t)draw_number(3),
            .parent = (int32_t)draw_number(PROCESSES + 1),
            .start_ns = (int64_t)draw_number(1000),
            .end_ns = (int64_t)draw_number(1000),
            .end = (uint8_t)draw(8),
            .end_value = (int32_t)draw_number(9),
            .name = (uint32_t)draw_number(STRINGS),
            .cmdline = (uint32_t)draw_number(STRINGS),
            .comm = (uint32_t)draw_number(STRINGS),
            .note = (uint32_t)draw_number(STRINGS),
            .lost = {draw_number(9), draw_number(9)},
            .event_count = draw_number(9),
        };
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        trace_thread_add(trace, (uint32_t)draw(PROCESSES));
        trace_thread(trace, i)->serial = (uint32_t)draw_number(THREADS);
        trace_thread(trace, i)->name = (uint32_t)draw_number(STRINGS);
    }
    for (uint32_t i = 0; i < TRACKS; i++) {
        trace_lane_add(trace, draw_number(TRACKS));
        trace_lane(trace, i)->name = (uint32_t)draw_number(STRINGS);
        trace_lane(trace, i)->parent = (uint32_t)draw_number(TRACKS + 1);
        trace_lane(trace, i)->process = (uint32_t)draw_number(PROCESSES);
    }
    trace_session(trace)->begin_ns = (int64_t)draw_number(1000);
    trace_session(trace)->end_ns = (int64_t)draw_number(1000000);
    trace_session(trace)->revision++;
    return trace;
}

static struct arg args[ARGS];

static void make_args(void)
{
    for (uint32_t i = 0; i < ARGS; i++)
        args[i] = (struct arg){.key = (uint32_t)draw_number(STRINGS),
                               .kind = (uint32_t)draw(6),
                               .value.uint64 = draw_number(STRINGS)};
}

static struct event make_event(uint32_t thread, int64_t *now)
{
    *now += (int64_t)draw(1000);
    bool jumps = draw(50) == 0;
    struct event event = {
        .time_ns = jumps ? (int64_t)draw_number(100000) - 50000 : *now,
        .end_ns = (int64_t)draw_number(100000),
        .thread = thread,
        .kind = (uint8_t)(1 + draw(EVENT_KINDS - 1)),
        .level = (uint8_t)draw(8),
        .value_kind = (uint8_t)draw(6),
        .flags = draw(4),
        .name = (uint32_t)draw_number(STRINGS),
        .scope = (uint32_t)(draw(2) * draw_number(SCOPES)),
        .color = (uint32_t)draw_number(1000),
        .value.uint64 = draw_number(STRINGS),
        .id = draw_number(6),
    };
    event.args = (uint32_t)draw(ARGS);
    event.arg_count = (uint16_t)draw(1 + ARGS - event.args);
    if (event.kind == EVENT_MARK && draw(2)) /* more pushes than ends: nesting gets deep */
        event.kind = EVENT_PUSH;
    return event;
}

static int add_batch(struct store_writer *writer, uint32_t number, int64_t *now)
{
    static struct event events[EVENTS];
    uint32_t thread = (uint32_t)draw(THREADS); /* the writer refuses other ids */
    uint32_t count = 1 + (uint32_t)draw(EVENTS);
    make_args();
    for (uint32_t i = 0; i < count; i++)
        events[i] = make_event(thread, now);
    struct event_batch batch = {thread, count, events, {number, 0, 16 * count}, 0, args, 0, 0};
    int error = store_writer_add(writer, &batch);
    return error == 0 && draw(4) == 0 ? store_writer_flush(writer) : error;
}

int main(int argc, char **argv)
{
    const struct store_writer_options options = {.overwrite = true};
    struct store_writer *writer;
    int64_t now = 0;
    if (argc != 3)
        return 2;
    state = strtoull(argv[2], NULL, 10) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    struct trace *trace = make_trace();
    int error = store_writer_create(argv[1], trace, &options, &writer);
    for (uint32_t i = 0; error == 0 && i < BATCHES; i++)
        error = add_batch(writer, i, &now);
    if (error == 0)
        error = store_writer_close(writer);
    trace_destroy(trace);
    if (error != 0)
        fprintf(stderr, "make_hostile: %s\n", strerror(-error));
    return error != 0;
}
