/* SPDX-License-Identifier: MIT */
/* Numbers of processes and threads are unique in an export, and real where possible. */
#include "export_ids.h"
#include "test.h"
#include "trace_maker.h"
#include "vec.h"

#include <string.h>

static struct export_ids ids_of(struct maker *maker)
{
    struct export_ids ids = {0};
    CHECK_INT(export_ids_init(&ids, maker_trace(maker)), 0);
    return ids;
}

TEST(numbers_are_real_where_unique)
{
    struct maker *maker = maker_create();
    uint32_t root = maker_process(maker, 100, -1, "a", 0);
    uint32_t child = maker_process(maker, 200, 0, "b", 10);
    uint32_t main_thread = maker_thread(maker, root, 100, "");
    uint32_t helper = maker_thread(maker, root, 101, "");
    uint32_t other = maker_thread(maker, child, 200, "");
    struct export_ids ids = ids_of(maker);
    CHECK_INT(ids.pids[root], 100);
    CHECK_INT(ids.pids[child], 200);
    CHECK_INT(ids.tids[main_thread], 100);
    CHECK_INT(ids.tids[helper], 101);
    CHECK_INT(ids.tids[other], 200);
    CHECK_INT(ids.thread_rank[main_thread], 0);
    CHECK_INT(ids.thread_rank[helper], 1);
    export_ids_fini(&ids);
    maker_destroy(maker);
}

TEST(reused_numbers_are_replaced_and_told)
{
    struct maker *maker = maker_create();
    uint32_t first = maker_process(maker, 100, -1, "a", 0);
    uint32_t second = maker_process(maker, 100, 0, "b", 10);
    uint32_t thread = maker_thread(maker, first, 100, "");
    uint32_t again = maker_thread(maker, first, 100, "");     /* the main thread, once more */
    uint32_t namesake = maker_thread(maker, second, 100, ""); /* of a process without its pid */
    char text[EXPORT_LABEL_SIZE];
    struct export_ids ids = ids_of(maker);
    CHECK_INT(ids.pids[first], 100);
    CHECK_INT(ids.pids[second], EXPORT_SYNTHETIC_ID);
    CHECK_INT(ids.tids[thread], 100);
    CHECK(ids.tids[again] > EXPORT_SYNTHETIC_ID);
    CHECK_INT(ids.tids[namesake], EXPORT_SYNTHETIC_ID);
    CHECK(export_process_note(&ids, maker_trace(maker), second, 1, text) > 0);
    CHECK_STR(text, "pid 100");
    CHECK_INT(export_process_note(&ids, maker_trace(maker), first, 1, text), 0);
    export_thread_label(&ids, maker_trace(maker), again, text);
    CHECK(strstr(text, "(tid 100)") != NULL);
    export_ids_fini(&ids);
    maker_destroy(maker);
}

TEST(other_namespaces_are_told_apart)
{
    struct maker *maker = maker_create();
    char note[EXPORT_NOTE_SIZE];
    maker_process(maker, 7, -1, "a", 0);
    uint32_t inside = maker_process(maker, 300, 0, "b", 10);
    trace_process(maker_trace(maker), inside)->ns_pid = 7;
    uint32_t thread = maker_thread(maker, inside, 7, "");
    struct export_ids ids = ids_of(maker);
    CHECK_INT(ids.pids[inside], 300);
    CHECK_INT(ids.tids[thread], 300);
    CHECK(export_process_note(&ids, maker_trace(maker), inside, 1, note) > 0);
    CHECK_STR(note, "pid 7 inside its namespace");
    export_ids_fini(&ids);
    maker_destroy(maker);
}

TEST(impossible_numbers_are_replaced)
{
    struct maker *maker = maker_create();
    uint32_t process = maker_process(maker, -5, -1, "a", 0);
    uint32_t thread = maker_thread(maker, process, EXPORT_SYNTHETIC_ID, "");
    struct export_ids ids = ids_of(maker);
    CHECK_INT(ids.pids[process], EXPORT_SYNTHETIC_ID);
    CHECK_INT(ids.tids[thread], EXPORT_SYNTHETIC_ID + 1);
    export_ids_fini(&ids);
    maker_destroy(maker);
}

TEST(labels_of_counters_have_any_length)
{
    struct maker *maker = maker_create();
    char name[10001] = {0};
    memset(name, 'n', sizeof(name) - 1);
    struct event event = {.name = maker_string(maker, name), .scope = maker_scope(maker, "d", "")};
    struct export_text label = {0};
    for (int i = 0; i < 2; i++)
        CHECK_INT(export_counter_label(maker_trace(maker), &event, &label), 0);
    CHECK_INT(label.count, 3 + sizeof(name) - 1);
    CHECK(memcmp(label.items, "d: n", 4) == 0);
    CHECK_STR(label.items + 3, name);
    event = (struct event){0};
    CHECK_INT(export_counter_label(maker_trace(maker), &event, &label), 0);
    CHECK_STR(label.items, EXPORT_UNNAMED);
    vec_free(&label);
    maker_destroy(maker);
}
