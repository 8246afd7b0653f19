/* SPDX-License-Identifier: MIT */
/* Ranges of the track that a thread runs, between its own ones in the live stack. */
#include "arena.h"
#include "test.h"

#include <annot/annot.h>
#include <annot/observers.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct seen seen;
static struct mapped mapped;

static void finish(void)
{
    arena_read(getpid(), &seen, NULL, NULL);
    arena_end();
    arena_clean();
}

/* The record of the calling thread, which must have emitted an event. */
static const struct annot_thread *own_record(void)
{
    char names[2][64];
    CHECK_INT(arena_list(names, 2), 1);
    CHECK(arena_map(names[0], &mapped));
    return &mapped.threads[0];
}

static const char *text_of(uint32_t id)
{
    static char text[64];
    const struct annot_string *string =
        (const void *)(mapped.strings + (size_t)id * ANNOT_STRING_UNIT);
    size_t length = id && string->length < sizeof(text) ? string->length : 0;
    memcpy(text, string + 1, length);
    text[length] = 0;
    return text;
}

/* "<i> a [b] {c}": i is inherited from the parent, a is the thread's, b is a track's outermost
 * range, c one inside of it. */
static const char *live(const struct annot_thread *thread)
{
    static char text[512];
    text[0] = 0;
    for (uint32_t i = 0; i < thread->depth; i++) {
        const struct annot_open *open = &thread->live[i % ANNOT_LIVE_DEPTH];
        const char *form = open->instance                             ? "%s%s"
                           : open->time == ANNOT_OPEN_TRACK_OUTERMOST ? "%s[%s]"
                           : open->time == ANNOT_OPEN_TRACK_INNER     ? "%s{%s}"
                           : open->time == ANNOT_OPEN_INHERITED       ? "%s<%s>"
                                                                      : "%s?%s";
        size_t length = strlen(text);
        (void)snprintf(text + length, sizeof(text) - length, form, i ? " " : "",
                       text_of(open->name));
    }
    return text;
}

static int show(const char *name, int is_outermost)
{
    return annot_track_show(annot_name_intern(name), 0, is_outermost);
}

TEST(ranges_of_a_track_stand_among_the_threads_and_write_nothing)
{
    arena_begin(NULL);
    annot_push("main");
    const struct annot_thread *thread = own_record();
    CHECK_INT(show("task", 1), 1);
    CHECK_INT(show("fetch", 0), 1);
    CHECK_STR(live(thread), "main [task] {fetch}");
    annot_push("inside");
    CHECK_STR(live(thread), "main [task] {fetch} inside");
    annot_pop();
    annot_track_hide(0, 2);
    CHECK_STR(live(thread), "main");
    annot_pop();
    CHECK_STR(live(thread), "");
    CHECK_INT(annot_track_show(0, 0, 1), 0);
    arena_unmap(&mapped);
    finish();
    CHECK_INT(seen.records, 4);
    CHECK_INT(seen.lost_total, 0);
}

TEST(a_pop_closes_no_range_of_a_track)
{
    arena_begin(NULL);
    annot_push("main");
    annot_push("second");
    const struct annot_thread *thread = own_record();
    show("task", 1);
    annot_pop();
    CHECK_STR(live(thread), "main [task]");
    annot_pop();
    CHECK_STR(live(thread), "[task]");
    annot_pop();
    CHECK_STR(live(thread), "[task]");
    annot_track_hide(0, 1);
    CHECK_STR(live(thread), "");
    annot_track_hide(0, 1);
    arena_unmap(&mapped);
    finish();
    CHECK_INT(seen.kinds[ANNOT_REC_POP], 2);
    CHECK_INT(seen.misuse[ANNOT_MISUSE_POP_EMPTY], 1);
}

TEST(what_was_pushed_inside_stays_when_the_track_stops)
{
    arena_begin(NULL);
    annot_push("main");
    const struct annot_thread *thread = own_record();
    show("task", 1);
    annot_push("left open");
    show("eager", 1);
    show("inner", 0);
    CHECK_STR(live(thread), "main [task] left open [eager] {inner}");
    annot_track_hide(2, 1);
    CHECK_STR(live(thread), "main left open [eager] {inner}");
    annot_track_hide(0, 2);
    CHECK_STR(live(thread), "main left open");
    annot_pop();
    annot_pop();
    CHECK_STR(live(thread), "");
    arena_unmap(&mapped);
    finish();
    CHECK_INT(seen.kinds[ANNOT_REC_POP], 2);
    CHECK_INT(seen.lost_total, 0);
}

TEST(an_event_that_the_filter_holds_back_is_not_to_be_shown)
{
    struct annot_event detail = {.text = "detail", .level = 3}, wanted = {.text = "wanted"};
    CHECK_INT(annot_track_wants(&wanted), 0);
    CHECK_INT(show("nobody records", 1), 0);
    arena_begin(&(struct arena_options){.mask = {UINT64_MAX}});
    annot_mark("joined");
    CHECK_INT(annot_track_wants(&detail), 0);
    CHECK_INT(annot_track_wants(&wanted), 1);
    /* A masked range of the thread below and above: neither is visible, each is closed by its
     * pop. */
    annot_push_event(&detail);
    const struct annot_thread *thread = own_record();
    show("task", 1);
    annot_push_event(&detail);
    annot_push("plain");
    CHECK_STR(live(thread), "[task] plain");
    annot_pop();
    annot_pop();
    annot_pop();
    CHECK_STR(live(thread), "[task]");
    annot_track_hide(0, 1);
    arena_unmap(&mapped);
    finish();
    CHECK_INT(seen.misuse[ANNOT_MISUSE_POP_EMPTY], 0);
    CHECK_INT(seen.kinds[ANNOT_REC_PUSH], 1);
}

TEST(a_thread_that_has_recorded_nothing_shows_its_track)
{
    arena_begin(NULL);
    CHECK_INT(show("task", 1), 1);
    CHECK_STR(live(own_record()), "[task]");
    annot_track_hide(0, 1);
    CHECK_INT(mapped.threads[0].depth, 0);
    arena_unmap(&mapped);
    finish();
    CHECK_INT(seen.records, 0);
}

TEST(a_new_recording_begins_without_what_was_shown)
{
    arena_begin(NULL);
    annot_push("main");
    show("task", 1);
    arena_end();
    arena_clean();
    arena_begin(NULL);
    annot_push("again");
    const struct annot_thread *thread = own_record();
    CHECK_STR(live(thread), "again");
    annot_track_hide(0, 1);
    CHECK_STR(live(thread), "again");
    show("task", 1);
    annot_pop();
    CHECK_STR(live(thread), "[task]");
    arena_unmap(&mapped);
    finish();
    CHECK_INT(seen.misuse[ANNOT_MISUSE_POP_EMPTY], 0);
}

/* Open ranges as returned to another thread: "main lib:part [task]", followed by the category. */
static const char *open_ranges(uint32_t room)
{
    static char text[1024];
    struct annot_open_range ranges[64];
    uint32_t count = annot_open_ranges(ranges, room);
    text[0] = 0;
    for (uint32_t i = 0; i < count; i++) {
        size_t length = strlen(text);
        (void)snprintf(text + length, sizeof(text) - length,
                       ranges[i].is_shown ? "%s%u:[%s]%u" : "%s%u:%s.%u", i ? " " : "",
                       ranges[i].domain, text_of(ranges[i].name), ranges[i].category);
    }
    return text;
}

TEST(what_is_open_is_told_with_domain_and_category)
{
    CHECK_INT(annot_open_ranges(&(struct annot_open_range){0}, 1), 0); /* without a recording */
    arena_begin(NULL);
    annot_domain lib = annot_domain_create("lib");
    annot_category io = annot_category_create(lib, "io");
    char expected[64];
    CHECK_STR(open_ranges(8), "");
    annot_push("main");
    own_record();
    annot_push_event(&(struct annot_event){.text = "part", .domain = lib, .category = io});
    annot_track_show(annot_name_intern("task"), lib, 1);
    annot_push("inside");
    (void)snprintf(expected, sizeof(expected), "0:main.0 %u:part.%u %u:[task]0 0:inside.0", lib, io,
                   lib);
    CHECK_STR(open_ranges(8), expected);
    CHECK_STR(open_ranges(1), "0:main.0");
    annot_track_hide(0, 1);
    annot_pop();
    annot_pop();
    annot_push("plain"); /* replaces one with a domain */
    CHECK_STR(open_ranges(8), "0:main.0 0:plain.0");
    annot_pop();
    annot_pop();
    arena_unmap(&mapped);
    finish();
}

TEST(of_a_deep_stack_the_outermost_are_told)
{
    arena_begin(NULL);
    annot_domain lib = annot_domain_create("lib");
    annot_push_event(&(struct annot_event){.text = "outermost", .domain = lib});
    own_record();
    for (int i = 0; i < 3 * ANNOT_LIVE_DEPTH; i++)
        annot_push_event(&(struct annot_event){.text = "deep", .domain = lib});
    struct annot_open_range ranges[64];
    CHECK_INT(annot_open_ranges(ranges, 64), 64);
    CHECK_STR(text_of(ranges[0].name), "outermost");
    CHECK_INT(ranges[0].domain, lib);
    CHECK_STR(text_of(ranges[63].name), "deep");
    CHECK_INT(ranges[63].domain, 0); /* unknown by now */
    for (int i = 0; i < 3 * ANNOT_LIVE_DEPTH + 1; i++)
        annot_pop();
    arena_unmap(&mapped);
    finish();
    CHECK_INT(seen.lost_total, 0);
}

/* The child's own pops close none of the parent's ranges, and the track that it hides is
 * inherited. */
TEST(a_forked_child_has_the_track_of_its_parent_as_inherited)
{
    arena_begin(NULL);
    annot_push("main");
    show("task", 1);
    pid_t pid = fork();
    if (pid == 0) {
        annot_push("own");
        struct annot_open_range open[4];
        if (annot_open_ranges(open, 4) != 1) /* excludes those of its parent */
            _exit(5);
        arena_read(getpid(), &seen, NULL, NULL);
        char names[2][64];
        int count = arena_list(names, 2);
        for (int i = 0; i < count; i++)
            if (atoi(names[i]) == getpid() && !arena_map(names[i], &mapped))
                _exit(1);
        if (strcmp(live(&mapped.threads[0]), "<main> <task> own") != 0)
            _exit(2);
        annot_pop();
        annot_track_hide(0, 1);
        if (strcmp(live(&mapped.threads[0]), "<main>") != 0)
            _exit(3);
        annot_pop();
        _exit(mapped.threads[0].depth == 0 ? 0 : 4);
    }
    int status;
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
    annot_track_hide(0, 1);
    annot_pop();
    finish();
    CHECK_INT(seen.kinds[ANNOT_REC_POP], 1);
}

TEST(a_range_of_a_track_tells_its_domain)
{
    arena_begin(NULL);
    annot_domain domain = annot_domain_create("asyncio");
    annot_push("main");
    const struct annot_thread *thread = own_record();
    CHECK(domain != 0);
    CHECK_INT(annot_track_show(annot_name_intern("task"), domain, 1), 1);
    CHECK_INT(annot_track_show(annot_name_intern("fetch"), UINT16_MAX, 0), 1);
    CHECK_INT(thread->live[1].time, ANNOT_OPEN_MARK(ANNOT_OPEN_TRACK_OUTERMOST, domain));
    CHECK_INT(thread->live[2].time, ANNOT_OPEN_MARK(ANNOT_OPEN_TRACK_INNER, UINT16_MAX));
    CHECK(thread->live[2].time < ANNOT_OPEN_MARK_END &&
          thread->live[0].time >= ANNOT_OPEN_MARK_END);
    annot_track_hide(0, 2);
    annot_pop();
    finish();
}

/* A new block lists only the thread's own ranges. */
TEST(headers_of_blocks_hold_no_range_of_a_track)
{
    arena_begin(NULL);
    annot_push("main");
    const struct annot_thread *thread = own_record();
    show("task", 1);
    annot_push("inner");
    uint32_t sequence = thread->sequence;
    while (thread->sequence == sequence)
        annot_mark("more");
    const struct annot_block *block =
        (const void *)(mapped.blocks + (size_t)(thread->block - 1) * ANNOT_BLOCK_SIZE);
    CHECK_INT(block->open_depth, 2);
    CHECK_INT(block->open_count, 2);
    CHECK_STR(text_of(block->open[0].name), "main");
    CHECK_STR(text_of(block->open[1].name), "inner");
    annot_pop();
    annot_track_hide(0, 1);
    annot_pop();
    arena_unmap(&mapped);
    finish();
    CHECK_INT(seen.kinds[ANNOT_REC_PUSH], 2);
    CHECK_INT(seen.lost_total, 0);
}

/* ---- Random programs compared with a list ---------------------------------------------------- */

enum { ENTRIES_MAX = 400, NAMES = 50 };

struct entry {
    annot_name name;
    bool shown, masked;
};

static struct entry entries[ENTRIES_MAX];
static int count, shown_count;

static void take_out(int at)
{
    shown_count -= entries[at].shown;
    for (count--; at < count; at++)
        entries[at] = entries[at + 1];
}

static void pop_one(void)
{
    annot_pop();
    for (int i = count - 1; i >= 0; i--)
        if (!entries[i].shown) {
            take_out(i);
            return;
        }
}

static void hide_some(unsigned skip, unsigned hidden)
{
    annot_track_hide(skip, hidden);
    for (int i = count - 1; i >= 0 && hidden > 0; i--) {
        if (!entries[i].shown || skip-- > 0)
            continue;
        skip = 0;
        hidden--;
        take_out(i);
    }
}

static void add_one(const annot_name *names, unsigned bits)
{
    struct entry entry = {.name = names[bits % NAMES], .shown = bits % 3 == 0};
    struct annot_event masked = {.name = entry.name, .level = 3};
    entry.masked = !entry.shown && bits % 7 == 0;
    if (count == ENTRIES_MAX)
        return;
    if (entry.shown)
        CHECK_INT(annot_track_show(entry.name, 0, (int)(bits & 1)), 1);
    else if (entry.masked)
        annot_push_event(&masked);
    else
        annot_push_name(entry.name);
    entries[count++] = entry;
    shown_count += entry.shown;
}

static void check_against_list(const struct annot_thread *thread)
{
    uint32_t depth = 0, at = thread->depth;
    for (int i = 0; i < count; i++)
        depth += !entries[i].masked;
    CHECK_INT(thread->depth, depth);
    for (int i = count - 1; i >= 0 && depth - at < ANNOT_LIVE_DEPTH; i--) {
        if (entries[i].masked)
            continue;
        const struct annot_open *open = &thread->live[--at % ANNOT_LIVE_DEPTH];
        CHECK_INT(open->name, entries[i].name);
        CHECK_INT(open->instance == 0, entries[i].shown);
    }
}

TEST(random_programs_show_what_a_list_holds)
{
    annot_name names[NAMES];
    char text[16];
    unsigned limits[] = {6, 40, 150};
    for (int i = 0; i < NAMES; i++) {
        (void)snprintf(text, sizeof(text), "name %d", i);
        names[i] = annot_name_intern(text);
    }
    arena_begin(&(struct arena_options){.mask = {UINT64_MAX}});
    annot_mark("first");
    const struct annot_thread *thread = own_record();
    srandom(7);
    for (int step = 0; step < 200000; step++) {
        unsigned bits = (unsigned)random(), limit = limits[step / 5000 % 3];
        if (bits % 11 == 0)
            hide_some(bits / 16 % 4 ? 0 : bits / 64 % 5, 1 + bits / 1024 % 3);
        else if (count >= (int)limit || bits % 2 == 0)
            pop_one();
        else
            add_one(names, bits / 16);
        check_against_list(thread);
    }
    arena_unmap(&mapped);
    finish();
    CHECK(seen.lost_total > 0 || seen.kinds[ANNOT_REC_PUSH] > 10000);
}

/* Beyond the levels that are kept individually, a hidden track is removed when the depth allows. */
TEST(tracks_in_very_deep_stacks)
{
    arena_begin(NULL);
    annot_push("main");
    const struct annot_thread *thread = own_record();
    show("task", 1);
    for (int i = 0; i < 20000; i++)
        annot_push("deep");
    CHECK_INT(show("too deep", 1), 0);
    annot_track_hide(0, 1);
    CHECK_INT(thread->depth, 20002);
    for (int i = 0; i < 20000; i++)
        annot_pop();
    CHECK_STR(live(thread), "main");
    annot_pop();
    CHECK_INT(thread->depth, 0);
    arena_unmap(&mapped);
    arena_end();
    arena_clean();
}
