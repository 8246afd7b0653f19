/* SPDX-License-Identifier: MIT */
/* Events that are cut off or interrupted at a step of their commit: a reader's counts stay correct,
 * and partial events never appear. */
#include "arena.h"
#include "control.h"
#include "mix.h"
#include "test.h"
#include "testpoint.h"

#include <annot/annot.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

enum { LIST_MAX = 64 };

static struct seen_record records[LIST_MAX];
static uint32_t record_count;
static struct seen seen;

static void keep(const struct seen_record *record, void *context)
{
    (void)context;
    CHECK(record_count < LIST_MAX);
    records[record_count++] = *record;
}

static void finish(void)
{
    annot_testpoint_hook = NULL;
    record_count = 0;
    arena_read(getpid(), &seen, keep, NULL);
    arena_end();
    arena_clean();
}

static const char *moment;
static sigjmp_buf jump;

static void jump_out(const char *name)
{
    if (!moment || strcmp(name, moment) != 0)
        return;
    moment = NULL;
    siglongjmp(jump, 1);
}

static void push_cut_off_at(const char *name)
{
    arena_begin(NULL);
    ANNOT_PUSH("outer");
    annot_testpoint_hook = jump_out;
    moment = name;
    if (sigsetjmp(jump, 1) == 0)
        ANNOT_PUSH("cut off");
    CHECK(moment == NULL);
    ANNOT_PUSH("afterwards");
    uint64_t number = annot_current();
    ANNOT_POP();
    ANNOT_POP();
    finish();
    uint32_t instance = 0, found = 0;
    for (uint32_t i = 0; i < record_count; i++) {
        instance += records[i].kind == ANNOT_REC_PUSH;
        if (strcmp(records[i].text, "afterwards") != 0)
            continue;
        found++;
        CHECK(number ==
              mix(seen.identity ^ records[i].serial * MIX_SERIAL ^ instance * MIX_INSTANCE));
    }
    CHECK_INT(found, 1);
}

TEST(readers_count_begins_as_the_program_does_after_a_jump)
{
    push_cut_off_at("commit:written");
    push_cut_off_at("commit:before");
    push_cut_off_at("commit:done");
}

static void values_cut_off_at(const char *name)
{
    const struct annot_value values[] = {annot_value_int64("a", 1), annot_value_int64("b", 2)};
    const struct annot_event event = {.text = "event", .values = values, .value_count = 2};
    arena_begin(NULL);
    annot_mark_event(&event);
    annot_testpoint_hook = jump_out;
    moment = name;
    if (sigsetjmp(jump, 1) == 0)
        annot_mark_event(&event);
    annot_mark_event(&event);
    finish();
    CHECK(record_count == 6 || record_count == 9);
    for (uint32_t i = 0; i < record_count; i++)
        CHECK_INT(records[i].kind, i % 3 ? ANNOT_REC_PAYLOAD : ANNOT_REC_MARK);
}

TEST(key_values_are_all_there_or_none)
{
    values_cut_off_at("commit:written");
    values_cut_off_at("commit:before");
    values_cut_off_at("commit:done");
}

static const struct annot_track track = {.id = 77};

static void do_push_format(void)
{
    annot_push_format("%d", 1);
}

static void do_mark_format(void)
{
    annot_mark_format("%d", 1);
}

static void do_log_format(void)
{
    annot_log_format(ANNOT_SEVERITY_INFO, "%d", 1);
}

static void do_log(void)
{
    annot_log(ANNOT_SEVERITY_INFO, "log");
}

static void do_flow(void)
{
    annot_flow_begin(7, "flow");
}

static void do_track(void)
{
    annot_track_begin(&track, "track");
}

static void do_event(void)
{
    annot_mark_event(&(struct annot_event){.text = "event", .color = 1});
}

/* An event left unfinished by a jump is not mistaken for one that this event interrupts. */
TEST(whatever_comes_after_a_jump_is_recorded)
{
    static void (*const calls[])(void) = {do_push_format, do_mark_format, do_log_format, do_log,
                                          do_flow,        do_track,       do_event};
#if defined(__SANITIZE_ADDRESS__)
    test_skip("AddressSanitizer makes all frames large");
#endif
    for (unsigned i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
        arena_begin(NULL);
        ANNOT_MARK("first");
        annot_testpoint_hook = jump_out;
        moment = "commit:written";
        if (sigsetjmp(jump, 1) == 0)
            ANNOT_MARK("cut off");
        calls[i]();
        finish();
        CHECK_INT(seen.records, 2);
        CHECK_INT(seen.lost_total, 1);
    }
}

/* Acts like a handler that interrupts a commit. */
static void pop_here(const char *name)
{
    if (!moment || strcmp(name, moment) != 0)
        return;
    moment = NULL;
    annot_pop();
}

TEST(a_range_closed_in_a_handler_stays_closed_though_the_next_event_is_filtered)
{
    struct arena_options options = {.mask = {1}};
    struct annot_event hidden = {.text = "hidden", .domain = annot_domain_create("off")};
    annot_name next =
        annot_name_intern("next"); /* known to the segment, so the fast path handles it */
    arena_begin(&options);
    ANNOT_PUSH("outer");
    ANNOT_PUSH("inner");
    annot_testpoint_hook = pop_here;
    moment = "commit:before";
    ANNOT_MARK("interrupted");
    annot_mark_event(&hidden);
    annot_push_name(next);
    ANNOT_POP();
    ANNOT_POP();
    finish(); /* the strict reader would find a begin at the wrong depth */
    CHECK_INT(seen.lost[ANNOT_LOSS_INTERRUPTED], 1);
}

/* Records other than ranges of the thread's stack are either present or counted as lost. */
static void emit_here(const char *name)
{
    const struct annot_value value = annot_value_int64("a", 1);
    char text[ANNOT_TRACE_CONTEXT_SIZE];
    if (!moment || strcmp(name, moment) != 0)
        return;
    moment = NULL;
    annot_flow_step(5);
    annot_track_begin(&track, "on a track");
    annot_track_end(&track);
    annot_counters("group", &value, 1);
    annot_log(ANNOT_SEVERITY_ERROR, "in a handler");
    CHECK(annot_current() != 0);
    CHECK_INT(annot_trace_context(text), 1);
    CHECK_INT(annot_trace_context_adopt(text), 1);
    CHECK(annot_flow_new() != 0);
}

TEST(events_of_all_kinds_in_a_handler_that_meets_a_commit_are_counted)
{
    arena_begin(NULL);
    ANNOT_PUSH("outer");
    uint64_t current = annot_current();
    annot_testpoint_hook = emit_here;
    moment = "commit:written";
    ANNOT_MARK("interrupted");
    CHECK(moment == NULL);
    CHECK(annot_current() == current);
    ANNOT_POP();
    finish();
    CHECK_INT(record_count, 3);
    CHECK_INT(seen.lost[ANNOT_LOSS_INTERRUPTED], 7);
    CHECK_INT(seen.lost_total, 7);
}

/* ---- Last words ------------------------------------------------------------------------------ */

static void note_here(const char *name)
{
    if (!moment || strcmp(name, moment) != 0)
        return;
    moment = NULL;
    annot_abort_note("the end is near");
}

static void check_note_at(const char *name)
{
    struct annot_event event = {.text = name, .domain = 1};
    arena_begin(NULL);
    annot_testpoint_hook = note_here;
    moment = name;
    annot_domain_create(name); /* a new text in each round */
    annot_push_event(&event);
    annot_pop();
    CHECK(moment == NULL);
    finish();
    CHECK_INT(seen.segments, 1);
    CHECK_INT(seen.note.state, 2);
    CHECK_INT(seen.note.length, 15);
}

TEST(last_word_is_kept_whatever_it_interrupts)
{
    static const char *const points[] = {
        "create:mapped", "create:filled",       "create:published", "strings:word",
        "claim:raised",  "claim:header-filled", "thread:filling",   "intern:reserved",
        "intern:filled", "commit:written",      "commit:done",
    };
    for (unsigned i = 0; i < sizeof(points) / sizeof(*points); i++)
        check_note_at(points[i]);
}

/* ---- Before the first commit ----------------------------------------------------------------- */

static void push_in_handler(int signal_number)
{
    (void)signal_number;
    annot_push("of a handler");
}

static void interrupt(const char *name)
{
    if (!moment || strcmp(name, moment) != 0)
        return;
    moment = NULL;
    raise(SIGUSR1);
}

/* The first event of a block was abandoned before its record, so none may be committed here; the
 * range that a handler opened must still come first. */
TEST(track_is_shown_inside_of_what_a_handler_opened)
{
    struct sigaction action = {.sa_handler = push_in_handler};
    sigaction(SIGUSR1, &action, NULL);
    arena_begin(NULL);
    annot_name known = annot_name_intern("known");
    annot_testpoint_hook = jump_out;
    moment = "claim:published";
    if (sigsetjmp(jump, 1) == 0)
        ANNOT_MARK("cut off");
    CHECK(moment == NULL);
    CHECK(annot_track_show(known, 0, 1));
    annot_testpoint_hook = interrupt;
    moment = "strings:word";
    CHECK(annot_track_show(annot_name_intern("not in the segment yet"), 0, 0));
    CHECK(moment == NULL);
    CHECK_INT(annot_control->committed, 0);
    CHECK_INT(annot_control->limit, 0);
    CHECK(annot_track_show(known, 0, 0));
    CHECK_INT(annot_control->depth, 4);
    CHECK_INT(annot_control->levels[2], LEVEL_DROPPED);
    CHECK_INT(annot_control->levels[3], LEVEL_SHOWN);
    annot_pop();
    annot_track_hide(0, 3);
    CHECK_INT(annot_control->depth, 0);
    finish();
    CHECK_INT(seen.records, 0);
}
