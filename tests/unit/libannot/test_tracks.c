/* SPDX-License-Identifier: MIT */
/* Flows and tracks, checked by a strict reader. */
#include "arena.h"
#include "test.h"

#include <annot/annot.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIST_MAX = 4096 };

struct list {
    struct seen_record records[LIST_MAX];
    uint32_t count;
};

static struct list list;
static struct seen seen;

static void keep(const struct seen_record *record, void *context)
{
    (void)context;
    CHECK(list.count < LIST_MAX);
    list.records[list.count++] = *record;
}

static void read_all(int pid)
{
    list.count = 0;
    arena_read(pid, &seen, keep, NULL);
}

static void finish(void)
{
    arena_end();
    arena_clean();
}

static void check_flow(uint32_t index, uint32_t kind, annot_flow flow, const char *text)
{
    CHECK(index < list.count);
    const struct seen_record *record = &list.records[index];
    CHECK_INT(record->kind, kind);
    CHECK(record->id == flow);
    CHECK_STR(record->text, text);
}

TEST(flow_has_its_points_and_its_name)
{
    annot_flow flow = annot_flow_new();
    CHECK(flow != 0);
    arena_begin(NULL);
    annot_flow_begin(flow, "request");
    annot_flow_step(flow);
    annot_flow_end(flow);
    annot_flow_begin(annot_flow_id("rpc", 7), NULL);
    annot_flow_begin(0, "no flow");
    annot_emit_flow((enum annot_flow_point)3, flow, "no point");
    read_all(getpid());
    CHECK_INT(list.count, 4);
    check_flow(0, ANNOT_REC_FLOW_BEGIN, flow, "request");
    check_flow(1, ANNOT_REC_FLOW_STEP, flow, "");
    check_flow(2, ANNOT_REC_FLOW_END, flow, "");
    check_flow(3, ANNOT_REC_FLOW_BEGIN, annot_flow_id("rpc", 7), "");
    CHECK_INT(seen.lost_total, 0);
    finish();
}

static void *make_flows(void *context)
{
    annot_flow *flows = context;
    for (int i = 0; i < 3000; i++)
        flows[i] = annot_flow_new();
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    annot_flow left = *(const annot_flow *)a, right = *(const annot_flow *)b;
    return left < right ? -1 : left > right;
}

/* Also before recording starts, in other threads, and in children. */
TEST(new_flows_are_all_different)
{
    static annot_flow flows[12000];
    annot_flow in_child[3000];
    pthread_t thread;
    int ends[2];
    make_flows(flows);
    arena_begin(NULL);
    annot_mark("joined");
    make_flows(flows + 3000);
    CHECK_INT(pthread_create(&thread, NULL, make_flows, flows + 6000), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK_INT(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        make_flows(in_child);
        _exit(write(ends[1], in_child, sizeof(in_child)) != sizeof(in_child));
    }
    for (size_t got = 0; got < sizeof(in_child);) {
        ssize_t size = read(ends[0], (char *)(flows + 9000) + got, sizeof(in_child) - got);
        CHECK(size > 0);
        got += (size_t)size;
    }
    close(ends[0]);
    close(ends[1]);
    waitpid(pid, NULL, 0);
    qsort(flows, 12000, sizeof(*flows), by_value);
    for (int i = 0; i < 12000; i++)
        CHECK(flows[i] != 0 && (i == 0 || flows[i] != flows[i - 1]));
    finish();
}

/* Processes agree on these numbers: they must never change. */
TEST(flows_of_known_numbers_are_the_same_everywhere)
{
    CHECK(annot_flow_id("rpc", 7) == UINT64_C(0x3615a6327b411713));
    CHECK(annot_flow_id("rpc", 7) != annot_flow_id("rpc", 8));
    CHECK(annot_flow_id("rpc", 7) != annot_flow_id("http", 7));
    CHECK(annot_flow_id(NULL, 0) == annot_flow_id("(null)", 0));
}

static void check_tracks(void)
{
    struct annot_track server = annot_track_create("server", NULL);
    struct annot_track request = annot_track_create("request", &server);
    struct annot_value value = annot_value_int64("size", 5);
    arena_begin(NULL);
    struct annot_event event = {.text = "parse",
                                .domain = annot_domain_create("http"),
                                .color = 0xff0000ff,
                                .payload_kind = ANNOT_PAYLOAD_INT64,
                                .payload = {.int64 = 1},
                                .values = &value,
                                .value_count = 1};
    annot_track_begin(&server, "listen");
    annot_track_begin_event(&request, &event);
    annot_track_mark_event(&request, &(struct annot_event){.text = "first byte"});
    annot_track_end(&request);
    annot_track_end(&server);
    read_all(getpid());
    CHECK_INT(list.count, 6);
    const struct seen_record *record = list.records;
    CHECK_INT(record[0].kind, ANNOT_REC_TRACK_BEGIN);
    CHECK(record[0].id == server.id && record[0].parent == 0);
    CHECK_INT(record[0].value, server.name);
    CHECK_STR(record[0].text, "listen");
    CHECK(record[1].id == request.id && record[1].parent == server.id);
    CHECK(record[1].value == ((uint64_t)server.name << 32 | request.name));
    CHECK_INT(record[1].value_kind, ANNOT_VALUE_NONE); /* stored in `values` only */
    CHECK_INT(record[1].domain, event.domain);
    CHECK_INT(record[1].color, event.color);
    CHECK_INT(record[2].kind, ANNOT_REC_PAYLOAD);
    CHECK_INT(record[2].value, 5);
    CHECK_INT(record[3].kind, ANNOT_REC_TRACK_MARK);
    CHECK(record[3].id == request.id && record[3].parent == server.id);
    CHECK(record[3].value == record[1].value);
    CHECK_INT(record[4].kind, ANNOT_REC_TRACK_END);
    CHECK(record[4].id == request.id && record[4].parent == server.id);
    CHECK(record[5].id == server.id);
    finish();
}

TEST(ranges_on_tracks_say_what_the_track_is)
{
    check_tracks();
    check_tracks(); /* all names are known: the fast path */
}

/* The filtered range is not recorded, but its end must not close the enclosing range. */
TEST(range_on_a_track_that_is_filtered_still_pairs)
{
    struct arena_options options = {.mask = {1}}; /* only the default domain */
    struct annot_track track = annot_track_create("track", NULL);
    struct annot_value value = annot_value_int64("secret", 5);
    arena_begin(&options);
    struct annot_event event = {
        .text = "hidden", .domain = annot_domain_create("off"), .values = &value, .value_count = 1};
    annot_track_begin(&track, "outer");
    annot_track_begin_event(&track, &event);
    annot_track_mark_event(&track, &event);
    annot_track_end(&track);
    annot_track_end(&track);
    read_all(getpid());
    CHECK_INT(list.count, 4);
    CHECK_INT(list.records[1].kind, ANNOT_REC_TRACK_BEGIN);
    CHECK_INT(list.records[1].flags, ANNOT_FLAG_ID);
    CHECK_INT(list.records[1].name, 0);
    CHECK(list.records[1].id == track.id);
    CHECK_INT(list.records[2].kind, ANNOT_REC_TRACK_END);
    CHECK_INT(seen.lost_total, 0);
    finish();
}

TEST(misused_tracks_do_nothing)
{
    const struct annot_track none = {0};
    arena_begin(NULL);
    annot_track_begin(NULL, "a");
    annot_track_begin(&none, "a");
    annot_track_begin_event(NULL, &(struct annot_event){.text = "a"});
    annot_track_mark_event(&none, &(struct annot_event){.text = "a"});
    annot_track_end(NULL);
    annot_track_end(&none);
    read_all(getpid());
    CHECK_INT(seen.records, 0);
    struct annot_track nameless = annot_track_create(NULL, NULL);
    annot_track_begin(&nameless, NULL);
    annot_track_end(&nameless);
    annot_track_end(&nameless); /* twice: pairing is left to the reader */
    read_all(getpid());
    CHECK_INT(seen.records, 3);
    CHECK_STR(list.records[0].text, "(null)");
    finish();
}

TEST(track_and_flow_of_a_parent_go_on_in_its_child)
{
    struct annot_track track = annot_track_create("job", NULL);
    annot_flow flow = annot_flow_new();
    int status;
    arena_begin(NULL);
    annot_track_begin(&track, "work");
    annot_flow_begin(flow, "handed over");
    pid_t pid = fork();
    if (pid == 0) {
        annot_flow_end(flow);
        annot_track_end(&track);
        _exit(0);
    }
    CHECK_INT(waitpid(pid, &status, 0), pid);
    read_all(pid);
    CHECK_INT(list.count, 2);
    CHECK(list.records[0].id == flow);
    CHECK(list.records[1].id == track.id);
    finish();
}
