/* SPDX-License-Identifier: MIT */
/* Shelves: ranges on one shelf never overlap, and a shelf is opened only if needed. Sharing of
 * groups by tracks. */
#include "shelves.h"
#include "test.h"
#include "trace_maker.h"

#include <stdio.h>
#include <stdlib.h>

enum { RANGES = 3000 };

struct range {
    int64_t start, end, shelf;
};

static int by_end(const void *left, const void *right)
{
    const struct range *a = left, *b = right;
    return a->end < b->end ? -1 : a->end > b->end;
}

static void make_ranges(struct range *ranges)
{
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < RANGES; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        ranges[i].start = (int64_t)(random >> 20 & 0xffff);
        ranges[i].end = ranges[i].start + (int64_t)(random >> 50 & 0x3ff);
    }
}

static void check_no_overlap(const struct range *ranges)
{
    for (int i = 0; i < RANGES; i++) {
        for (int k = 0; k < i; k++)
            CHECK(ranges[i].shelf != ranges[k].shelf || ranges[i].start >= ranges[k].end ||
                  ranges[k].start >= ranges[i].end);
    }
}

/* The lowest free shelf, found by a full scan. */
static int64_t expected_shelf(const struct range *ranges, int count, int64_t start)
{
    for (int64_t shelf = 0;; shelf++) {
        int64_t last = INT64_MIN;
        for (int i = 0; i < count; i++)
            last = ranges[i].shelf == shelf ? ranges[i].end : last;
        if (last <= start)
            return shelf;
    }
}

TEST(ranges_in_any_order_do_not_overlap)
{
    static struct range ranges[RANGES];
    struct shelves shelves = {0};
    make_ranges(ranges);
    for (int i = 0; i < RANGES; i++)
        ranges[i].shelf = shelves_take(&shelves, ranges[i].start, ranges[i].end);
    check_no_overlap(ranges);
    shelves_fini(&shelves);
}

TEST(the_lowest_free_shelf_is_taken)
{
    static struct range ranges[RANGES];
    struct shelves shelves = {0};
    make_ranges(ranges);
    qsort(ranges, RANGES, sizeof(*ranges), by_end);
    for (int i = 0; i < RANGES; i++) {
        ranges[i].shelf = shelves_take(&shelves, ranges[i].start, ranges[i].end);
        if (i % 16 == 0)
            CHECK_INT(ranges[i].shelf, expected_shelf(ranges, i, ranges[i].start));
    }
    check_no_overlap(ranges);
    shelves_fini(&shelves);
}

static int by_start(const void *left, const void *right)
{
    const struct range *a = left, *b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

/* Fits ranges in order of their starts, shuffled among `disorder` neighbours. Returns the number of
 * shelves. */
static int64_t fit_all(struct range *ranges, int disorder)
{
    struct shelves shelves = {0};
    int64_t last = 0;
    qsort(ranges, RANGES, sizeof(*ranges), by_start);
    for (int i = 0; i < RANGES; i++) {
        int other = i / disorder * disorder + rand() % disorder;
        struct range range = ranges[i];
        ranges[i] = ranges[other % RANGES];
        ranges[other % RANGES] = range;
    }
    for (int i = 0; i < RANGES; i++) {
        ranges[i].shelf = shelves_fit(&shelves, ranges[i].start, ranges[i].end);
        last = ranges[i].shelf > last ? ranges[i].shelf : last;
    }
    check_no_overlap(ranges);
    shelves_fini(&shelves);
    return last + 1;
}

TEST(ranges_that_come_out_of_order_take_few_shelves_more)
{
    static struct range ranges[RANGES];
    make_ranges(ranges);
    int64_t usual = fit_all(ranges, 1);
    int64_t more = fit_all(ranges, 50);
    printf("  %lld shelves in order, %lld out of order\n", (long long)usual, (long long)more);
    CHECK(more <= usual + usual / 4);
}

/* Like those of a queue that runs one item at a time. */
TEST(ranges_that_do_not_overlap_take_one_shelf_in_whatever_order)
{
    struct shelves shelves = {0};
    for (int64_t turn = 0; turn < 100; turn++)
        for (int64_t i = 49; i >= 0; i--)
            CHECK_INT(shelves_fit(&shelves, 500 * turn + 10 * i, 500 * turn + 10 * i + 9), 0);
    shelves_fini(&shelves);
}

TEST(a_range_may_start_when_the_last_ends)
{
    struct shelves shelves = {0};
    CHECK_INT(shelves_take(&shelves, 0, 10), 0);
    CHECK_INT(shelves_take(&shelves, 10, 10), 0);
    CHECK_INT(shelves_take(&shelves, 10, 20), 0);
    CHECK_INT(shelves_take(&shelves, 19, 30), 1);
    CHECK_INT(shelves_take(&shelves, INT64_MIN, INT64_MAX), 2);
    CHECK_INT(shelves_take(&shelves, 0, 1), 3);
    CHECK_INT(shelves_take(&shelves, 0, 1), 4);
    CHECK_INT(shelves_take(&shelves, 1, 2), 3);
    shelves_fini(&shelves);
}

/* ---- Groups of tracks ------------------------------------------------------------------------ */

static struct maker *maker;
static struct track_groups groups;
static uint64_t last_id;

static int describe(void *context, uint32_t group, int64_t time_ns, uint64_t *ret_id)
{
    (void)context, (void)group, (void)time_ns;
    *ret_id = ++last_id;
    return 0;
}

static void begin_tracks(void)
{
    maker = maker_create();
    for (int32_t i = 0; i < 2; i++)
        maker_thread(maker, maker_process(maker, 10 + i, -1, "p", 0), 10 + i, "");
}

static uint32_t add_track(uint32_t process, const char *name, int64_t parent)
{
    uint64_t id = trace_lane_count(maker_trace(maker)) + 1ull;
    return maker_track(maker, process, id, name, parent);
}

static void plan_groups(void)
{
    groups = (struct track_groups){.describe = describe};
    CHECK_INT(track_groups_init(&groups, maker_trace(maker)), 0);
}

static void end_tracks(void)
{
    track_groups_fini(&groups);
    maker_destroy(maker);
}

/* "pool/connection #" */
static const char *path_of(uint64_t track)
{
    static char text[2][512];
    static int turn;
    char *path = text[turn ^= 1], rest[512];
    path[0] = 0;
    for (uint32_t at = track_groups_find(&groups, track) + 1; at;
         at = groups.groups.items[at - 1].parent) {
        snprintf(rest, sizeof(rest), "%s", path);
        snprintf(path, 512, "%.200s%s%.300s", track_group_label(&groups, at - 1).bytes,
                 rest[0] ? "/" : "", rest);
    }
    return path;
}

static void check_family(const char *name, const char *expected)
{
    char family[TRACK_FAMILY_SIZE];
    CHECK_INT(track_family(name, strlen(name), family, sizeof(family)), strlen(expected));
    CHECK_STR(family, expected);
}

TEST(names_that_differ_in_numbers_are_a_family)
{
    check_family("request 4711", "request #");
    check_family("conn-12/req-003", "conn-#/req-#");
    check_family("a1b", "a#b");
    check_family("550e8400-e29b-41d4-a716-446655440000", "#-#-#-#-#");
    check_family("object 0x7f00deadbeef", "object #");
    check_family("0xdeadbeef", "#");
    check_family("face to face", "face to face"); /* letters only */
    check_family("e4 deadline", "e# deadline");
    check_family("f00dish", "f#dish");
    check_family("", "");
    check_family("\xc3\xa4 1", "\xc3\xa4 #");
}

TEST(a_long_name_is_cut_at_a_character)
{
    char family[8];
    CHECK_INT(track_family("abcdef\xe2\x82\xac", 9, family, sizeof(family)), 6);
    CHECK_STR(family, "abcdef");
}

TEST(tracks_of_one_name_share_a_group_where_their_parents_do)
{
    begin_tracks();
    uint32_t pool = add_track(0, "pool", -1);
    uint32_t one = add_track(0, "connection 1", pool), two = add_track(0, "connection 2", pool);
    uint32_t requests[4];
    for (int i = 0; i < 4; i++)
        requests[i] = add_track(0, "request", i % 2 ? one : two);
    uint32_t elsewhere = add_track(1, "pool", -1);
    plan_groups();
    CHECK_STR(path_of(requests[1]), "pool/connection 1/request");
    CHECK_INT(track_groups_find(&groups, requests[1]), track_groups_find(&groups, requests[3]));
    CHECK(track_groups_find(&groups, requests[0]) != track_groups_find(&groups, requests[1]));
    CHECK(track_groups_find(&groups, elsewhere) != track_groups_find(&groups, pool));
    CHECK_INT(groups.groups.items[track_groups_find(&groups, requests[1])].track_count, 2);
    CHECK_STR(path_of(1000), "(unknown track)");
    CHECK_STR(path_of(UINT64_MAX), "(unknown track)");
    end_tracks();
}

TEST(many_names_of_a_family_share_a_group_few_do_not)
{
    begin_tracks();
    char name[32];
    for (int i = 0; i < TRACK_NAMES_MAX; i++) {
        snprintf(name, sizeof(name), "worker %d", i);
        add_track(0, name, -1);
    }
    for (int i = 0; i <= TRACK_NAMES_MAX; i++) {
        snprintf(name, sizeof(name), "request %d", i);
        add_track(0, "query", add_track(0, name, -1));
    }
    plan_groups();
    CHECK_STR(path_of(3), "worker 3");
    CHECK_STR(path_of(TRACK_NAMES_MAX), "request #");
    CHECK_STR(path_of(TRACK_NAMES_MAX + 1), "request #/query");
    CHECK_INT(groups.groups.count, 1 + TRACK_NAMES_MAX + 2);
    end_tracks();
}

TEST(parents_that_were_seen_later_and_tracks_below_themselves)
{
    begin_tracks();
    uint32_t child = add_track(0, "child", -1), parent = add_track(0, "parent", -1);
    uint32_t ring = add_track(0, "ring", -1), other = add_track(0, "other", -1);
    trace_lane(maker_trace(maker), child)->parent = parent + 1;
    trace_lane(maker_trace(maker), ring)->parent = other + 1; /* only damaged files have these */
    trace_lane(maker_trace(maker), other)->parent = ring + 1;
    plan_groups();
    CHECK_STR(path_of(child), "parent/child");
    CHECK(strlen(path_of(ring)) < 20 && strlen(path_of(other)) < 20);
    end_tracks();
}

TEST(what_is_too_deep_or_too_much_is_beside)
{
    begin_tracks();
    char name[32];
    int64_t above = -1;
    for (int i = 0; i < TRACE_LANE_LEVELS; i++)
        above = add_track(0, "deep", above);
    for (int i = 0; i < 2 * TRACK_GROUPS_MAX; i++) {
        snprintf(name, sizeof(name), "%c%c%c", 'g' + i % 13, 'g' + i / 13 % 13, 'g' + i / 169);
        add_track(i % 2 ? 1 : 0, name, -1);
    }
    plan_groups();
    CHECK_INT(groups.groups.items[track_groups_find(&groups, (uint64_t)above)].level,
              TRACK_LEVELS_MAX - 1);
    CHECK_INT(groups.groups.count,
              TRACK_GROUPS_MAX + 2); /* includes "other tracks" of each process */
    CHECK_STR(path_of(trace_lane_count(maker_trace(maker)) - 1u), "other tracks");
    end_tracks();
}

/* ---- Lanes ---- */

static uint64_t open_range(uint32_t track, int64_t time_ns, uint32_t depth)
{
    struct event event = {.kind = EVENT_TRACK_BEGIN, .lane = (uint32_t)track, .time_ns = time_ns};
    uint64_t id;
    CHECK_INT(track_groups_open(&groups, &event, depth, &id), 0);
    return id;
}

static uint64_t close_range(uint32_t track, int64_t time_ns, uint32_t depth)
{
    uint64_t id;
    CHECK_INT(track_groups_close(&groups, track, depth, time_ns, &id), 0);
    return id;
}

static uint64_t mark(uint32_t track, int64_t time_ns, uint32_t depth)
{
    struct event event = {.kind = EVENT_TRACK_MARK, .lane = (uint32_t)track, .time_ns = time_ns};
    uint64_t id;
    CHECK_INT(track_groups_mark(&groups, &event, depth, &id), 0);
    return id;
}

TEST(what_is_nested_stays_on_the_shelf_and_free_shelves_are_taken_again)
{
    begin_tracks();
    uint32_t a = add_track(0, "t", -1), b = add_track(0, "t", -1), c = add_track(0, "t", -1);
    plan_groups();
    uint64_t first = open_range(a, 10, 0), second = open_range(b, 20, 0);
    CHECK(first != second);
    CHECK_INT(open_range(a, 21, 1), first);
    CHECK_INT(mark(a, 22, 2), first);
    CHECK_INT(close_range(a, 23, 1), first);
    CHECK_INT(close_range(a, 30, 0), first);
    CHECK_INT(mark(c, 30, 0), first);
    CHECK_INT(open_range(c, 30, 0), first);
    uint64_t third = mark(a, 31, 0); /* outside of ranges of other tracks */
    CHECK(third != first && third != second);
    CHECK_INT(close_range(b, 40, 0), second);
    CHECK_INT(close_range(c, 50, 0), first);
    CHECK_INT(last_id, 3);
    end_tracks();
}

static uint64_t random_state = 5;

static unsigned draw(unsigned below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % below;
}

TEST(there_are_as_many_shelves_as_ranges_at_a_time)
{
    enum { TRACKS = 200, STEPS = 20000 };

    static uint64_t on[TRACKS]; /* shelf, while open */
    static int64_t shelf_end[TRACKS + 1];
    unsigned open = 0, most = 0;
    begin_tracks();
    last_id = 0;
    for (int i = 0; i < TRACKS; i++)
        add_track(0, "t", -1);
    plan_groups();
    for (int64_t now = 1; now < STEPS; now++) {
        uint32_t track = draw(TRACKS);
        if (on[track]) {
            CHECK_INT(close_range(track, now, 0), on[track]);
            shelf_end[on[track]] = now;
            on[track] = 0;
            open--;
        } else if (open < 20) {
            uint64_t shelf = on[track] = open_range(track, now, 0);
            CHECK(shelf <= TRACKS && shelf_end[shelf] <= now);
            shelf_end[shelf] = INT64_MAX;
            open++;
        }
        most = open > most ? open : most;
    }
    CHECK_INT(last_id, most);
    end_tracks();
}
