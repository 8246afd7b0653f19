/* SPDX-License-Identifier: MIT */
/* A recording in several files reads as one; each file is readable alone; missing ones are
 * named. */
#include "pass.h"
#include "reader.h"
#include "sample_events.h"
#include "store.h"
#include "test.h"
#include "volumes.h"
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { THREADS = 3, ROUNDS = 3000, EVENTS = 40, TIME_STEP = 1000 };

static char *path_of(const char *name, char path[512])
{
    snprintf(path, 512, "%s/%s", test_directory(), name);
    return path;
}

/* Each batch leaves one range open, which the thread's next batch closes first. */
static uint32_t fill(struct event *events, uint32_t thread, uint32_t round, int64_t *at_ns)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < EVENTS; i++) {
        struct event event = {.thread = thread, .time_ns = (*at_ns += TIME_STEP)};
        bool pops = i % 2 == 0;
        if (pops && round == 0 && i == 0)
            continue;
        event.kind = pops ? EVENT_POP : EVENT_PUSH;
        event.name = pops ? 0 : 1 + (round + i) % 20;
        events[count++] = event;
    }
    return count;
}

static uint64_t session_id = 7;
static int64_t now_ns;

static struct store_writer *start_recording(const char *path, uint64_t volume_bytes,
                                            struct trace **ret_trace)
{
    const struct store_writer_options options = {.overwrite = true, .volume_bytes = volume_bytes};
    struct store_writer *writer;
    *ret_trace = sample_trace(1, THREADS, 20);
    trace_session(*ret_trace)->id = session_id;
    now_ns = 5000000;
    CHECK_INT(store_writer_create(path, *ret_trace, &options, &writer), 0);
    return writer;
}

static void add_rounds(struct store_writer *writer, uint32_t begin, uint32_t end)
{
    struct event events[EVENTS];
    for (uint32_t round = begin; round < end; round++)
        for (uint32_t thread = 0; thread < THREADS; thread++) {
            struct event_batch batch = {.thread = thread, .events = events};
            batch.count = fill(events, thread, round, &now_ns);
            CHECK_INT(store_writer_add(writer, &batch), 0);
        }
}

static void write_recording(const char *path, uint64_t volume_bytes)
{
    struct trace *trace;
    struct store_writer *writer = start_recording(path, volume_bytes, &trace);
    add_rounds(writer, 0, ROUNDS);
    CHECK_INT(store_writer_close(writer), 0);
    trace_destroy(trace);
}

struct sums {
    uint64_t events, times, lost;
};

static void add_all(struct store_reader *reader, struct sums *sums)
{
    struct event_batch batch;
    int status;
    while ((status = store_reader_next(reader, &batch)) == 1)
        for (uint32_t i = 0; i < batch.count; i++) {
            const struct event *event = &batch.events[i];
            bool lost = event->kind == EVENT_LOST;
            if (lost)
                CHECK_INT(event->level, LOSS_MISSING);
            sums->lost += lost ? event->value.uint64 : 0;
            sums->events += !lost;
            sums->times += lost ? 0 : (uint64_t)event->time_ns * (batch.thread + 1);
        }
    CHECK_INT(status, 0);
}

static struct store_reader *open_recording(const char *path)
{
    struct store_reader *reader;
    CHECK_INT(store_reader_open(path, &reader), 0);
    return reader;
}

static struct sums read_all(const char *path)
{
    struct store_reader *reader = open_recording(path);
    struct sums sums = {0};
    add_all(reader, &sums);
    CHECK_INT(store_reader_damage_count(reader), 0);
    store_reader_close(reader);
    return sums;
}

static uint32_t count_volumes(const char *path)
{
    struct store_reader *reader = open_recording(path);
    struct store_volume volume;
    uint32_t count = 0;
    while (store_reader_volume(reader, count, &volume)) {
        CHECK_INT(volume.number, count);
        count++;
    }
    store_reader_close(reader);
    return count;
}

TEST(any_volume_leads_to_the_whole_recording)
{
    char one[512], many[512];
    write_recording(path_of("one.annot", one), 0);
    write_recording(path_of("many.annot", many), 4096);
    struct sums whole = read_all(one);
    CHECK_INT(whole.events, (uint64_t)ROUNDS * THREADS * EVENTS - THREADS);
    CHECK_INT(count_volumes(one), 1);
    uint32_t count = count_volumes(many);
    CHECK(count > 3);
    for (uint32_t i = 0; i < count; i++) {
        char name[64];
        snprintf(name, sizeof(name), i ? "many.%u.annot" : "many.annot", i);
        struct sums sums = read_all(path_of(name, many));
        CHECK(memcmp(&sums, &whole, sizeof(sums)) == 0);
    }
}

static off_t size_of(const char *name)
{
    char path[512];
    struct stat status;
    CHECK_INT(stat(path_of(name, path), &status), 0);
    return status.st_size;
}

/* Numbers that compress like real ones; at most `noise` random bits each. */
static void add_counters(struct store_writer *writer, uint32_t rounds, uint32_t noise)
{
    static uint64_t seed = 1;
    struct event events[EVENTS];
    for (uint32_t round = 0; round < rounds; round++) {
        struct event_batch batch = {.thread = 0, .events = events, .count = EVENTS};
        for (uint32_t i = 0; i < EVENTS; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            events[i] = (struct event){.time_ns = (now_ns += TIME_STEP),
                                       .kind = EVENT_COUNTER,
                                       .name = 1,
                                       .value_kind = VALUE_UINT64,
                                       .value.uint64 = noise ? seed >> (64 - noise) : round};
        }
        CHECK_INT(store_writer_add(writer, &batch), 0);
        store_writer_await_room(writer);
    }
}

static uint32_t check_sizes(const char *path, off_t least, off_t most)
{
    uint32_t count = count_volumes(path);
    for (uint32_t i = 0; i + 1 < count; i++) {
        char name[64];
        snprintf(name, sizeof(name), i ? "many.%u.annot" : "many.annot", i);
        off_t size = size_of(name);
        if (size < least || size > most)
            test_fail(__FILE__, __LINE__, "%s of %u has %lld bytes", name, count, (long long)size);
    }
    return count;
}

/* Independent of the compression of the first chunks: those of names and a few events hardly
 * compress. */
TEST(a_volume_ends_close_to_the_size_that_was_asked_for)
{
    static const uint32_t noises[] = {8, 24, 60}, rounds[] = {100000, 40000, 20000};
    for (size_t i = 0; i < sizeof(noises) / sizeof(*noises); i++)
        for (int beside = 0; beside < 2; beside++) {
            char many[512];
            struct trace *trace;
            off_t size = 1 << 20;
            struct store_writer *writer =
                start_recording(path_of("many.annot", many), (uint64_t)size, &trace);
            add_rounds(writer, 0, 1);
            CHECK_INT(store_writer_flush(writer), 0);
            CHECK_INT(beside ? store_writer_beside(writer) : 0, 0);
            add_counters(writer, rounds[i], noises[i]);
            CHECK_INT(store_writer_close(writer), 0);
            CHECK(check_sizes(many, size * 9 / 10, size * 11 / 10) > 3);
            trace_destroy(trace);
        }
}

/* Data that compresses well, followed by incompressible data. */
TEST(a_volume_exceeds_its_size_by_one_chunk_at_most)
{
    char many[512];
    struct trace *trace;
    off_t size = 1 << 20;
    struct store_writer *writer =
        start_recording(path_of("many.annot", many), (uint64_t)size, &trace);
    CHECK_INT(store_writer_beside(writer), 0);
    for (int i = 0; i < 3; i++) {
        add_counters(writer, 20000, 0);
        add_counters(writer, 10000, 64);
    }
    CHECK_INT(store_writer_close(writer), 0);
    CHECK(check_sizes(many, 0, size + (1 << 20) + (64 << 10)) > 3);
    trace_destroy(trace);
}

TEST(more_volumes_than_descriptors_are_kept_open)
{
    char one[512], many[512];
    write_recording(path_of("one.annot", one), 0);
    write_recording(path_of("many.annot", many), 1);
    struct sums whole = read_all(one), sums = read_all(many);
    CHECK(count_volumes(many) > 100);
    CHECK(memcmp(&sums, &whole, sizeof(sums)) == 0);
}

TEST(a_missing_volume_is_a_loss_that_is_shown)
{
    char many[512], gone[512], expected[600], text[STORE_DAMAGE_TEXT_SIZE];
    write_recording(path_of("many.annot", many), 4096);
    struct sums whole = read_all(many), sums = {0};
    CHECK_INT(unlink(path_of("many.2.annot", gone)), 0);
    struct store_reader *reader = open_recording(many);
    add_all(reader, &sums);
    CHECK_INT(store_reader_damage_count(reader), 1);
    CHECK_INT(store_reader_damage(reader, 0)->missing_count, 1);
    CHECK_STR(store_reader_damage(reader, 0)->path, gone);
    store_damage_text(store_reader_damage(reader, 0), text);
    snprintf(expected, sizeof(expected), "volume 3 (%s) is missing: no such file", gone);
    CHECK_STR(text, expected);
    CHECK(sums.lost > 0);
    CHECK_INT(sums.events + sums.lost, whole.events);
    store_reader_close(reader);
}

TEST(the_last_volume_does_not_go_missing_unseen)
{
    char many[512], gone[512], name[64];
    write_recording(path_of("many.annot", many), 4096);
    uint32_t count = count_volumes(many);
    struct sums sums = {0};
    struct store_info info;
    snprintf(name, sizeof(name), "many.%u.annot", count - 1);
    CHECK_INT(unlink(path_of(name, gone)), 0);
    struct store_reader *reader = open_recording(many);
    add_all(reader, &sums);
    store_reader_info(reader, &info);
    CHECK(!info.complete);
    CHECK_INT(store_reader_damage_count(reader), 1);
    CHECK_STR(store_reader_damage(reader, 0)->path, gone);
    store_reader_close(reader);
}

struct spans {
    uint64_t count, cut, orphans, unfinished;
};

static int take(void *context, const struct item *item)
{
    struct spans *spans = context;
    spans->count += item->kind == ITEM_SPAN;
    spans->cut += item->kind == ITEM_SPAN && (item->flags & ITEM_CUT_BEGIN);
    spans->orphans += item->kind == ITEM_ORPHAN;
    spans->unfinished += item->kind == ITEM_SPAN && (item->flags & ITEM_UNFINISHED);
    return 0;
}

/* Items open at its begin are cut there; it has no orphans. */
TEST(a_volume_alone_is_a_recording_from_where_it_begins)
{
    char many[512], last[512], alone[512], name[64];
    write_recording(path_of("many.annot", many), 4096);
    snprintf(name, sizeof(name), "many.%u.annot", count_volumes(many) - 1);
    CHECK_INT(rename(path_of(name, last), path_of("alone.annot", alone)), 0);
    struct store_reader *reader = open_recording(alone);
    const struct pass_source source = recording_pass_source(reader);
    struct spans spans = {0};
    const struct sink sink = {take, &spans, WANT_EVENTS};
    CHECK_INT(store_reader_damage_count(reader), 1);
    CHECK(store_reader_damage(reader, 0)->missing_count > 0);
    CHECK(source.begin_ns > 0);
    CHECK_INT(pass_read(&source, &PASS_SELECT_ALL, &sink, 1), 0);
    CHECK(spans.count > 0 && spans.cut <= THREADS && spans.cut > 0);
    CHECK_INT(spans.orphans, 0);
    CHECK_INT(spans.unfinished, THREADS);
    store_reader_close(reader);
}

static void cut_to(const char *path, off_t size)
{
    CHECK_INT(truncate(path, size), 0);
}

/* If the writer dies at any step of switching to the last volume, all previous data is present, and
 * the recording can be continued. */
TEST(dying_between_two_volumes_loses_nothing)
{
    static const off_t sizes[] = {0, 1, 63, 64, 100, 200, 128 + 64};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        char many[512], last[512], name[64];
        write_recording(path_of("many.annot", many), 4096);
        uint32_t count = count_volumes(many);
        struct store_reader *reader = open_recording(many);
        struct sums before = {0}, after = {0};
        struct store_writer *writer;
        snprintf(name, sizeof(name), "many.%u.annot", count - 1);
        cut_to(path_of(name, last), sizes[i]);
        store_reader_close(reader);
        reader = open_recording(many);
        add_all(reader, &before);
        CHECK_INT(before.lost, 0);
        CHECK(before.events > 0);
        CHECK_INT(store_reader_damage(reader, 0)->missing_count, 0);
        CHECK_INT(store_writer_resume(many, store_reader_trace(reader), &writer), 0);
        CHECK_INT(store_writer_close(writer), 0);
        store_reader_close(reader);
        after = read_all(many);
        CHECK(memcmp(&before, &after, sizeof(after)) == 0);
        CHECK_INT(count_volumes(many), sizes[i] < 64 ? count - 1 : count);
        unlink(last);
        CHECK_INT(access(last, F_OK), -1);
    }
}

static void copy_part(const char *from, const char *to, off_t begin, off_t end)
{
    char bytes[4096];
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT, 0600);
    CHECK(in >= 0 && out >= 0);
    for (off_t at = begin; at < end;) {
        off_t part = end - at < (off_t)sizeof(bytes) ? end - at : (off_t)sizeof(bytes);
        CHECK_INT(pread(in, bytes, (size_t)part, at), part);
        CHECK_INT(pwrite(out, bytes, (size_t)part, at), part);
        at += part;
    }
    close(in);
    close(out);
}

TEST(a_recording_is_followed_from_volume_to_volume)
{
    char many[512], growing[512], name[64];
    write_recording(path_of("many.annot", many), 4096);
    struct sums whole = read_all(many), sums = {0};
    uint32_t count = count_volumes(many);
    struct store_reader *reader = NULL;
    for (uint32_t i = 0; i < count; i++) {
        struct stat status;
        snprintf(name, sizeof(name), i ? "many.%u.annot" : "many.annot", i);
        CHECK_INT(stat(path_of(name, many), &status), 0);
        snprintf(name, sizeof(name), i ? "growing.%u.annot" : "growing.annot", i);
        path_of(name, growing);
        for (off_t at = 0; at < status.st_size; at += 777) {
            off_t end = at + 777 < status.st_size ? at + 777 : status.st_size;
            copy_part(many, growing, at, end);
            if (!reader)
                CHECK_INT(store_reader_follow(growing, &reader), 0);
            CHECK(store_reader_more(reader) >= 0);
            add_all(reader, &sums);
            CHECK_INT(store_reader_ended(reader), i + 1 == count && end == status.st_size);
        }
    }
    CHECK(memcmp(&whole, &sums, sizeof(sums)) == 0);
    CHECK_INT(store_reader_damage_count(reader), 0);
    store_reader_close(reader);
}

TEST(files_of_others_are_neither_read_nor_replaced)
{
    char path[512], other[512];
    struct trace *trace = sample_trace(1, 1, 1);
    struct store_writer *writer;
    const struct store_writer_options options = {.volume_bytes = 4096};
    write_recording(path_of("x.annot", path), 0);
    struct sums whole = read_all(path);
    write_recording(path_of("x.1.annot", other), 0);
    CHECK_INT(count_volumes(path), 1);
    struct sums sums = read_all(path);
    CHECK(memcmp(&whole, &sums, sizeof(sums)) == 0);
    CHECK_INT(unlink(path), 0);
    CHECK_INT(store_writer_create(path, trace, &options, &writer), -EEXIST);
    trace_destroy(trace);
}

TEST(overwriting_a_recording_takes_its_volumes_along)
{
    char path[512], volume[512];
    write_recording(path_of("x.annot", path), 4096);
    CHECK_INT(access(path_of("x.3.annot", volume), F_OK), 0);
    write_recording(path, 0);
    CHECK_INT(access(volume, F_OK), -1);
}

TEST(overwriting_a_volume_takes_no_other_along)
{
    char path[512], volume[512];
    write_recording(path_of("x.annot", path), 4096);
    write_recording(path_of("x.2.annot", volume), 0);
    CHECK_INT(read_all(volume).lost, 0);
    CHECK_INT(access(path_of("x.1.annot", volume), F_OK), 0);
    CHECK_INT(access(path_of("x.3.annot", volume), F_OK), 0);
}

/* Files of other recordings, or other files, with the names of volumes. */
TEST(overwriting_a_recording_spares_what_is_not_its_own)
{
    char path[512], other[512], volume[512];
    struct trace *trace = sample_trace(1, 1, 1);
    struct store_writer *writer;
    const struct store_writer_options options = {.overwrite = true, .volume_bytes = 4096};
    write_recording(path_of("x.annot", path), 4096);
    write_recording(path_of("x.2.annot", other), 0);
    struct sums whole = read_all(other);
    CHECK_INT(store_writer_create(path, trace, &options, &writer), -EEXIST);
    struct sums sums = read_all(other);
    CHECK(memcmp(&whole, &sums, sizeof(sums)) == 0);
    CHECK_INT(access(path_of("x.1.annot", volume), F_OK), 0);
    CHECK_INT(unlink(other), 0);
    CHECK_INT(unlink(path), 0); /* leaves volumes without a recording */
    write_recording(path, 4096);
    CHECK(count_volumes(path) > 3);
    trace_destroy(trace);
}

/* The set id becomes unreadable. */
static void damage_header(const char *path)
{
    int fd = open(path, O_WRONLY);
    CHECK_INT(pwrite(fd, "damage", 6, 40), 6);
    close(fd);
}

/* All data is read, and the header is named. */
static void check_damaged(const char *path, const char *damaged, const struct sums *whole)
{
    struct store_reader *reader = open_recording(path);
    struct sums sums = {0};
    add_all(reader, &sums);
    CHECK(memcmp(&sums, whole, sizeof(sums)) == 0);
    CHECK_INT(store_reader_damage_count(reader), 1);
    CHECK_STR(store_reader_damage(reader, 0)->path, damaged);
    CHECK_STR(store_reader_damage(reader, 0)->reason, "file header is damaged");
    store_reader_close(reader);
}

TEST(a_volume_with_a_damaged_header_is_known_by_its_session)
{
    char path[512], volume[512], other[512];
    write_recording(path_of("x.annot", path), 4096);
    struct sums whole = read_all(path);
    damage_header(path_of("x.2.annot", volume));
    check_damaged(path, volume, &whole);
    CHECK_INT(unlink(volume), 0);
    write_recording(path, 4096);
    damage_header(path);
    check_damaged(path, path, &whole);
    write_recording(path, 4096);
    session_id = 8;
    write_recording(path_of("y.annot", other), 0);
    session_id = 7;
    CHECK_INT(rename(other, volume), 0);
    damage_header(volume);
    struct store_reader *reader = open_recording(path);
    CHECK_INT(store_reader_damage_count(reader), 1);
    CHECK_INT(store_reader_damage(reader, 0)->missing_count, 1);
    CHECK_INT(store_reader_damage(reader, 0)->volume, 2);
    CHECK(strstr(store_reader_damage(reader, 0)->reason, "not part of this recording"));
    store_reader_close(reader);
}

static void check_busy(const char *path, const struct trace *trace)
{
    const struct store_writer_options options = {.overwrite = true};
    struct store_writer *writer;
    CHECK_INT(store_writer_create(path, trace, &options, &writer), -EBUSY);
    CHECK_INT(store_writer_resume(path, trace, &writer), -EBUSY);
}

/* Includes the full volumes: they are part of the recording in progress. */
TEST(no_volume_of_a_recording_that_is_written_is_written_by_another)
{
    char path[512], whole[512], volume[512], name[64];
    struct trace *trace;
    write_recording(path_of("whole.annot", whole), 4096);
    struct sums expected = read_all(whole);
    struct store_writer *writer = start_recording(path_of("x.annot", path), 4096, &trace);
    add_rounds(writer, 0, ROUNDS / 2);
    CHECK_INT(store_writer_flush(writer), 0);
    uint32_t count = count_volumes(path);
    CHECK(count > 3);
    for (uint32_t i = 0; i < count; i++) {
        snprintf(name, sizeof(name), i ? "x.%u.annot" : "x.annot", i);
        check_busy(path_of(name, volume), trace);
    }
    add_rounds(writer, ROUNDS / 2, ROUNDS);
    CHECK_INT(store_writer_close(writer), 0);
    struct sums sums = read_all(path);
    CHECK(memcmp(&sums, &expected, sizeof(sums)) == 0);
    trace_destroy(trace);
}

/* One id with two starts, of which the later one is reported first; by two writers of one
 * recording. */
static void add_start(struct store_writer *writer, uint32_t thread, int64_t time_ns)
{
    struct event start = {.kind = EVENT_START, .thread = thread, .time_ns = time_ns, .id = 5};
    const struct event_batch batch = {.thread = thread, .count = 1, .events = &start};
    CHECK_INT(store_writer_add(writer, &batch), 0);
}

static uint64_t count_from(const char *path, int64_t from_ns, bool in_time)
{
    struct store_reader *reader = open_recording(path);
    struct sums sums = {0};
    CHECK_INT(store_reader_seek(reader, from_ns, false, in_time), 0);
    add_all(reader, &sums);
    store_reader_close(reader);
    return sums.events;
}

TEST(ids_of_several_threads_are_told_by_whoever_ends_the_recording)
{
    char path[512];
    for (int mixed = 0; mixed < 2; mixed++) {
        struct trace *trace;
        struct store_writer *writer =
            start_recording(path_of("ids.annot", path), UINT64_C(20000), &trace);
        add_start(writer, 1, 4999000);
        add_rounds(writer, 0, ROUNDS);
        CHECK_INT(store_writer_flush(writer), 0);
        store_writer_abandon(writer);
        trace_destroy(trace);
        struct store_reader *reader = open_recording(path);
        CHECK_INT(store_writer_resume(path, store_reader_trace(reader), &writer), 0);
        add_start(writer, 2, mixed ? 4998000 : now_ns);
        CHECK_INT(store_writer_close(writer), 0);
        store_reader_close(reader);
        uint64_t all = count_from(path, 0, true), near = count_from(path, now_ns - 1, false);
        CHECK(near < all / 2);
        CHECK(mixed ? count_from(path, now_ns - 1, true) == all
                    : count_from(path, now_ns - 1, true) == near);
    }
}
