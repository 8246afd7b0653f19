/* SPDX-License-Identifier: MIT */
/* Calls below the minimum duration: the events that remain, and the time at which they are
 * published. */
#include "calls_scene.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static void attach(void)
{
    maker_attach(&seen, maker);
}

static void drain(void)
{
    attach();
    drain_visit(seen.drain, DRAIN_RELEASED);
}

static void call(const char *text, uint64_t time)
{
    scene_record(ANNOT_REC_PUSH, time, scene_code(text), 0);
}

/* `depth`: ranges open after it. */
static void leave(uint64_t time, uint32_t depth)
{
    scene_record(ANNOT_REC_POP, time, depth, 0);
}

/* "+NAME" and "-DEPTH" of all published events. */
static const char *told(void)
{
    static char text[512];
    size_t used = 0;
    text[0] = 0;
    for (unsigned i = 0; i < seen.count; i++) {
        const struct event *event = &seen.events[i];
        const char *name = event->name ? trace_string(seen.trace, event->name)->bytes : "?";
        if (event->kind == EVENT_POP)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "-%d ", (int)event->depth);
        else
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%c%s ",
                                     event->kind == EVENT_PUSH ? '+' : '*', name);
        CHECK_INT(event->end_ns, 0);
    }
    return text;
}

#define LASTING(name) name "\037a.py\0371\037p\037100"

TEST(calls_that_do_not_last_are_left_out)
{
    scene_begin();
    call(LASTING("f"), 1000);
    call(LASTING("g"), 1010);
    leave(1109, 1); /* less than 100 */
    call(LASTING("h"), 1110);
    leave(1210, 1);
    leave(1220, 0);
    call("any\037a.py\0371\037p", 1230);
    leave(1231, 0);
    drain();
    CHECK_STR(told(), "+f +h -1 -0 +any -0 ");
    CHECK_INT(seen.drain->short_count, 1);
    CHECK_INT(seen.drain->threads.items[0].decode.record_count, seen.count);
    CHECK(trace_thread_get(seen.trace, 0)->unnumbered);
    CHECK_INT(seen.drain->decoder.names.broken, 0);
    scene_end();
}

/* A call that contains other records is kept. */
TEST(short_calls_with_something_inside_stay)
{
    scene_begin();
    uint32_t range = maker_string(maker, ANNOT_STRING_NAME, 0, "range");
    call(LASTING("f"), 1000);
    call(LASTING("g"), 1001);
    scene_record(ANNOT_REC_PUSH, 1002, range, 0);
    call(LASTING("h"), 1003);
    leave(1004, 3);
    leave(1005, 2);
    leave(1006, 1);
    scene_record(ANNOT_REC_PUSH, 1007, scene_code(LASTING("g")), ANNOT_RECORD_CONTINUES);
    leave(1008, 1);
    scene_record(ANNOT_REC_MARK, 1009, range, 0);
    leave(1010, 0);
    drain();
    CHECK_STR(told(), "+f +g +range -2 -1 *range -0 ");
    CHECK_INT(seen.drain->short_count, 1); /* a continued call was counted at its begin */
    scene_end();
}

/* Later records are in the thread's next block, which is read separately. */
static void look_on(uint32_t sequence, uint32_t state)
{
    drain_visit(seen.drain, state == ANNOT_BLOCK_RELEASED ? DRAIN_RELEASED : DRAIN_CLAIMED);
    block = maker_block(maker, sequence, 1, sequence, state);
}

/* Over any number of visits, as soon as the duration is known. */
TEST(calls_wait_until_it_is_known_whether_they_last)
{
    scene_begin();
    call(LASTING("f"), 1000);
    call(LASTING("g"), 1050);
    attach();
    look_on(1, ANNOT_BLOCK_RELEASED);
    CHECK_STR(told(), "");
    leave(1060, 1);
    call(LASTING("h"), 1099);
    look_on(2, ANNOT_BLOCK_RELEASED);
    CHECK_STR(told(), "");
    leave(1100, 1);
    look_on(3, ANNOT_BLOCK_RELEASED);
    CHECK_STR(told(), "+f ");
    call(LASTING("i"), 1101);
    look_on(4, ANNOT_BLOCK_RELEASED);
    CHECK_STR(told(), "+f ");
    look_on(5, ANNOT_BLOCK_CLAIMED); /* no event since, for a long time */
    CHECK_STR(told(), "+f +i ");
    scene_end();
}

TEST(calls_that_are_open_at_the_end_stay)
{
    scene_begin();
    call(LASTING("f"), 1000);
    call(LASTING("g"), 1001);
    drain();
    CHECK_STR(told(), "");
    CHECK_INT(drain_finish(seen.drain), 0);
    CHECK_STR(told(), "+f +g ");
    CHECK_INT(seen.drain->threads.items[0].decode.record_count, seen.count);
    scene_end();
}

/* With a malformed minimum, the function keeps its name. */
TEST(nonsense_for_how_long_calls_last)
{
    static const char *const texts[] = {"f\037a.py\0371\037p\037",
                                        "f\037a.py\0371\037p\0371000000001",
                                        "f\037a.py\0371\037p\037x", "f\037a.py\0371\037pp\03710"};
    scene_begin();
    for (int i = 0; i < 4; i++) {
        call(texts[i], 1000);
        leave(1001, 0);
    }
    drain();
    CHECK_INT(seen.drain->decoder.names.broken, 3); /* the first one has no minimum */
    CHECK_STR(told(), "+f -0 +f -0 +f -0 +f -0 ");
    scene_end();
}

/* ---- Calls on tracks ------------------------------------------------------------------------- */

/* A call of a coroutine, on the track of its task; an end has no text. */
static void on_track(const char *text, uint64_t time, uint64_t track)
{
    const struct {
        struct annot_attr attr;
        struct annot_id id;
    } parts = {.id = {.id = track}};
    struct annot_record record = {.time = time, .kind = ANNOT_REC_TRACK_END, .level = 4};
    record.flags = text ? ANNOT_FLAG_ATTR | ANNOT_FLAG_ID : ANNOT_FLAG_ID;
    if (text) {
        record.kind = ANNOT_REC_TRACK_BEGIN;
        record.name = scene_code(text);
        maker_record(block, record, &parts, sizeof(parts));
    } else {
        maker_record(block, record, &parts.id, sizeof(parts.id));
    }
}

/* Each with its piece on the thread. */
TEST(coroutines_are_left_out_with_their_pieces)
{
    scene_begin();
    call(LASTING("slow"), 1000);
    on_track(LASTING("slow"), 1001, 7);
    call(LASTING("quick"), 1010);
    on_track(LASTING("quick"), 1011, 7);
    on_track(NULL, 1012, 7);
    leave(1013, 1);
    on_track(NULL, 1200, 7);
    leave(1201, 0);
    drain();
    CHECK_STR(told(), "+slow *slow *? -0 ");
    CHECK_INT(seen.drain->short_count, 1);
    CHECK_INT(seen.drain->threads.items[0].decode.record_count, seen.count);
    scene_end();
}

/* The track continues after the call: its events keep their order in time. */
TEST(what_happens_on_a_track_outlives_a_short_call)
{
    scene_begin();
    call(LASTING("f"), 1000);
    on_track(LASTING("long"), 1001, 7);
    on_track("other\037a.py\0371\037p", 1002, 8);
    leave(1003, 0);
    on_track(NULL, 1004, 8);
    call(LASTING("g"), 1005);
    leave(1006, 0);
    on_track(NULL, 1200, 7);
    drain();
    CHECK_STR(told(), "*long *other *? *? ");
    CHECK_INT(seen.events[1].time_ns, 1002);
    CHECK_INT(seen.drain->short_count, 2);
    scene_end();
}
