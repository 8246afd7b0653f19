/* SPDX-License-Identifier: MIT */
/* Names, domains and payloads: interned, inline, truncated, shared between threads. */
#include "arena.h"
#include "test.h"

#include <annot/observers.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void finish(struct seen *seen, arena_visit visit, void *context)
{
    arena_read(getpid(), seen, visit, context);
    arena_end();
    arena_clean();
}

static void keep_last(const struct seen_record *record, void *context)
{
    *(struct seen_record *)context = *record;
}

TEST(all_parts_of_the_long_form_arrive)
{
    struct seen seen;
    struct seen_record last;
    arena_begin(NULL);
    annot_domain domain = annot_domain_create("io");
    struct annot_event event = {
        .text = "read",
        .domain = domain,
        .category = annot_category_create(domain, "disk"),
        .color = 0xff336699,
        .level = 5,
        .payload_kind = ANNOT_PAYLOAD_STRING,
        .payload.string = "some/file with a longer path.txt",
    };
    annot_mark_event(&event);
    finish(&seen, keep_last, &last);
    CHECK_STR(last.text, "read");
    CHECK_STR(last.string, "some/file with a longer path.txt");
    CHECK_INT(last.color, 0xff336699);
    CHECK_INT(last.level, 5);
    CHECK_INT(last.domain, domain);
    CHECK_INT(last.category, event.category);
    CHECK_INT(last.value_kind, ANNOT_VALUE_STRING);
}

static void keep_categories(const struct seen_record *record, void *context)
{
    uint16_t **next = context;
    *(*next)++ = (uint16_t)record->category;
}

/* One name, with a number for each role; the program's own category of that name is distinct. */
TEST(who_observes_has_numbers_of_its_own)
{
    struct seen seen;
    uint16_t told[4], *next = told;
    arena_begin(NULL);
    annot_domain domain = annot_domain_create("python");
    const uint16_t made[4] = {
        annot_category_observed(domain, "pool", ANNOT_OBSERVER_POOL, ANNOT_POOL_SEND),
        annot_category_observed(domain, "pool", ANNOT_OBSERVER_POOL, ANNOT_POOL_RUN),
        annot_category_create(domain, "pool"),
        annot_category_observed(0, "pool", ANNOT_OBSERVER_POOL, ANNOT_POOL_RUN),
    };
    for (int i = 0; i < 4; i++) {
        CHECK(made[i] != 0 && made[i] != domain);
        for (int j = 0; j < i; j++)
            CHECK(made[i] != made[j]);
        annot_mark_event(&(struct annot_event){.text = "m", .domain = domain, .category = made[i]});
    }
    CHECK_INT(annot_category_observed(domain, "pool", ANNOT_OBSERVER_POOL, ANNOT_POOL_SEND),
              made[0]);
    CHECK_INT(annot_category_create(domain, "pool"), made[2]);
    annot_domain nvtx = annot_domain_observed("python", ANNOT_OBSERVER_NVTX, 0);
    CHECK(nvtx != 0 && nvtx != domain);
    CHECK_INT(annot_domain_observed("python", ANNOT_OBSERVER_NVTX, 0), nvtx);
    CHECK_INT(annot_domain_create("python"), domain);
    finish(&seen, keep_categories, &next);
    CHECK(memcmp(told, made, sizeof(told)) == 0);
    CHECK_INT(seen.misuse[ANNOT_MISUSE_NAME_LEFT], 0);
}

TEST(null_empty_and_long_names)
{
    struct seen seen;
    struct seen_record last;
    char text[3000];
    arena_begin(NULL);
    annot_mark(NULL);
    annot_mark("");
    memset(text, 'x', 1023);
    strcpy(text + 1023, "\xc3\xa4 and more");
    annot_mark(text);
    finish(&seen, keep_last, &last);
    CHECK_INT(seen.kinds[ANNOT_REC_MARK], 3);
    CHECK_INT(strlen(last.text), 1023); /* the two-byte character is omitted entirely */
    CHECK_INT(seen.misuse[ANNOT_MISUSE_NAME_CUT], 1);
}

static void check_number(const struct seen_record *record, void *context)
{
    uint64_t *next = context;
    char text[32];
    snprintf(text, sizeof(text), "name %llu", (unsigned long long)*next);
    CHECK_STR(record->text, text);
    ++*next;
}

/* The table of this session is tiny: most names must be stored in the records. */
TEST(names_beyond_the_table_travel_inline)
{
    struct seen seen;
    uint64_t next = 0;
    char text[32];
    arena_begin(&(struct arena_options){.strings_size = 4096});
    for (int i = 0; i < 2000; i++) {
        snprintf(text, sizeof(text), "name %d", i);
        annot_push(text);
        annot_pop();
    }
    arena_end();
    arena_clean();
    arena_begin(&(struct arena_options){.strings_size = 4096});
    for (int i = 0; i < 2000; i++) {
        snprintf(text, sizeof(text), "name %d", i);
        annot_mark(text);
    }
    finish(&seen, check_number, &next);
    CHECK_INT(next, 2000);
    CHECK(seen.misuse[ANNOT_MISUSE_NAME_INLINE] > 1500);
}

/* The table of the process is full: further names get no id, and each such call is counted. */
TEST(names_without_room_are_counted)
{
    struct seen seen;
    char text[ANNOT_STRING_MAX];
    uint64_t left = 0, ignored = 0;
    memset(text, 'x', sizeof(text));
    arena_begin(NULL);
    annot_mark("first");
    for (int i = 0; i < 6000; i++) {
        snprintf(text, 16, "name %9d", i);
        text[strlen(text)] = 'x';
        text[sizeof(text) - 1] = 0;
        left += annot_name_intern(text) == 0;
    }
    left += annot_track_create(text, NULL).name == 0;
    CHECK(left > 1000);
    finish(&seen, NULL, &ignored);
    CHECK_INT(seen.misuse[ANNOT_MISUSE_NAME_LEFT], left);
}

static uint64_t summed;

static void sum_number(const struct seen_record *record, void *context)
{
    (void)context;
    if (record->kind == ANNOT_REC_MARK)
        summed += strtoull(record->text + 5, NULL, 10);
}

static void add_records(uint64_t *records, uint64_t *lost)
{
    struct seen seen;
    arena_read(getpid(), &seen, sum_number, NULL);
    *records += seen.records;
    *lost += seen.lost_total;
}

/* The default table holds 131,070 of them; no record is dropped. */
TEST_TIMEOUT(a_million_distinct_names, 120)
{
    char text[32];
    uint64_t records = 0, lost = 0, count = 0;
    arena_begin(NULL);
    while (count < 1000000) {
        for (int i = 0; i < 100000; i++) {
            snprintf(text, sizeof(text), "name %llu", (unsigned long long)count++);
            annot_mark(text);
        }
        arena_end();
        add_records(&records, &lost);
        arena_clean();
        arena_begin(NULL);
    }
    arena_end();
    CHECK_INT(records, 1000000);
    CHECK_INT(lost, 0);
    CHECK_INT(summed, UINT64_C(999999) * 1000000 / 2);
}

static pthread_barrier_t barrier;

static void *intern_all(void *context)
{
    annot_name *ids = context;
    char text[32];
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 5000; i++) {
        snprintf(text, sizeof(text), "shared %d", i);
        ids[i] = annot_name_intern(text);
        annot_mark_event(&(struct annot_event){.name = ids[i]});
    }
    return NULL;
}

TEST(threads_agree_on_ids)
{
    static annot_name ids[4][5000];
    struct seen seen;
    pthread_t threads[4];
    arena_begin(NULL);
    pthread_barrier_init(&barrier, NULL, 4);
    for (int i = 0; i < 4; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, intern_all, ids[i]), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 1; i < 4; i++)
        CHECK(memcmp(ids[0], ids[i], sizeof(ids[0])) == 0);
    finish(&seen, NULL, NULL);
    CHECK_INT(seen.records, 20000);
}

TEST(names_set_before_the_recording_are_kept)
{
    struct seen seen;
    struct mapped mapped;
    char names[2][64];
    annot_name_process("my process");
    annot_name_thread("my thread");
    arena_begin(NULL);
    annot_mark("first");
    CHECK_INT(arena_list(names, 2), 1);
    CHECK(arena_map(names[0], &mapped));
    CHECK_INT(mapped.threads[0].name, annot_name_intern("my thread"));
    annot_name_thread("renamed");
    annot_mark("second");
    CHECK_INT(mapped.threads[0].name, annot_name_intern("renamed"));
    arena_unmap(&mapped);
    finish(&seen, NULL, NULL);
    CHECK_STR(seen.process_name, "my process");
}

static void check_counter(const struct seen_record *record, void *context)
{
    uint64_t *count = context;
    const double large = 18446744073709551615.0;
    static const uint64_t ints[] = {0, 0, 7, 1, 8};
    CHECK_INT(record->kind, ANNOT_REC_COUNTER);
    if (*count == 5) {
        CHECK_INT(record->value_kind, ANNOT_VALUE_DOUBLE);
        CHECK(memcmp(&record->value, &large, sizeof(large)) == 0);
    } else {
        CHECK_INT(record->value_kind, ANNOT_VALUE_INT64);
        CHECK_INT(record->value, ints[*count]);
    }
    ++*count;
}

static int32_t told_tid;
static char told_name[64];
static uint32_t told_count;

static void note_told(const struct seen_record *record, void *context)
{
    (void)context;
    if (record->kind != ANNOT_REC_NAME_THREAD)
        return;
    told_tid = (int32_t)record->id;
    told_count++;
    snprintf(told_name, sizeof(told_name), "%.60s", record->text);
}

static int32_t other_tid;

static void *wait_for_end(void *meeting)
{
    __atomic_store_n(&other_tid, (int32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
    pthread_barrier_wait(meeting);
    pthread_barrier_wait(meeting);
    return NULL;
}

/* The last name of a living thread is recorded, once in each recording. */
TEST(names_of_other_threads_set_before_the_recording_are_told)
{
    pthread_barrier_t meeting;
    pthread_t thread;
    struct seen seen;
    CHECK_INT(pthread_barrier_init(&meeting, NULL, 2), 0);
    CHECK_INT(pthread_create(&thread, NULL, wait_for_end, &meeting), 0);
    pthread_barrier_wait(&meeting);
    annot_name_thread_of(other_tid, "early");
    annot_name_thread_of(other_tid, "worker");
    annot_name_thread_of(0x3fffff, "nobody");
    for (int i = 0; i < 2; i++) {
        told_count = 0;
        arena_begin(NULL);
        annot_mark("m");
        annot_mark("m");
        arena_read(getpid(), &seen, note_told, NULL);
        CHECK_INT(told_count, 1);
        CHECK_INT(told_tid, other_tid);
        CHECK_STR(told_name, "worker");
        arena_end();
        arena_clean();
    }
    pthread_barrier_wait(&meeting);
    CHECK_INT(pthread_join(thread, NULL), 0);
}

TEST(counters_always_carry_a_number)
{
    struct seen seen;
    uint64_t count = 0;
    struct annot_event event = {.text = "counter"};
    arena_begin(NULL);
    annot_counter_event(&event);
    event.payload_kind = ANNOT_PAYLOAD_STRING;
    event.payload.string = "no number";
    annot_counter_event(&event);
    event.payload_kind = ANNOT_PAYLOAD_UINT64;
    event.payload.uint64 = 7;
    annot_counter_event(&event);
    event.payload_kind = ANNOT_PAYLOAD_BOOL;
    event.payload.boolean = 3;
    annot_counter_event(&event);
    event.payload_kind = ANNOT_PAYLOAD_INT64;
    event.payload.int64 = 8;
    annot_counter_event(&event);
    event.payload_kind = ANNOT_PAYLOAD_UINT64;
    event.payload.uint64 = UINT64_MAX;
    annot_counter_event(&event);
    finish(&seen, check_counter, &count);
    CHECK_INT(count, 6);
}
