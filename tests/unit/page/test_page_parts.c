/* SPDX-License-Identifier: MIT */
/* Histograms, counters, and the tasks of pools. */
#include "page_counters.h"
#include "page_data.h"
#include "page_model.h"
#include "page_ranges.h"
#include "page_tables.h"
#include "page_tasks.h"
#include "test.h"
#include "trace_maker.h"

#include <stdlib.h>

static const char *json_of(struct page *page, int (*put)(struct page *, struct json_doc *))
{
    static struct out_stream *out;
    static char *text;
    size_t size;
    free(text);
    out = out_stream_memory();
    struct json_doc doc = {.out = out};
    json_doc_object(&doc, NULL);
    CHECK_INT(put(page, &doc), 0);
    json_doc_close(&doc);
    const uint8_t *bytes = out_stream_memory_bytes(out, &size);
    text = calloc(size + 1, 1);
    memcpy(text, bytes, size);
    out_stream_abandon(out);
    return text;
}

TEST(counters_keep_least_greatest_and_last_of_each_slot)
{
    struct maker *maker = maker_create();
    uint32_t process = maker_process(maker, 100, 1, "python a.py", 0), zero = 0;
    uint32_t thread = maker_thread(maker, process, 100, "main");
    struct page page = {
        .trace = maker_trace(maker), .process_index = &zero, .text_limit = PAGE_TEXT_MAX};
    page.counters = (struct page_counters){.trace = page.trace, .span = {0, 240}};
    const double values[] = {3, -1, 2};
    for (int i = 0; i < 3; i++) {
        const struct event event = {.time_ns = i / 2,
                                    .thread = thread,
                                    .name = maker_string(maker, "depth"),
                                    .value_kind = VALUE_DOUBLE,
                                    .value = {.float64 = values[i]}};
        const struct item item = {.kind = ITEM_COUNTER, .event = &event};
        CHECK_INT(page_counters_take(&page.counters, &item), 0);
    }
    const char *text = json_of(&page, page_put_counters);
    CHECK(strstr(text, "\"name\":\"depth\"") && strstr(text, "\"count\":3"));
    CHECK(strstr(text, "\"least\":[-1,2,null"));
    CHECK(strstr(text, "\"greatest\":[3,2,null"));
    CHECK(strstr(text, "\"last\":[-1,2,null"));
    page_counters_fini(&page.counters);
    maker_destroy(maker);
}

static struct pool_task task_at(int64_t begin_ns, int64_t run_ns)
{
    return (struct pool_task){.at_ns = {[TASK_SUBMITTED] = begin_ns,
                                        [TASK_RECEIVED] = begin_ns,
                                        [TASK_BEGUN] = begin_ns,
                                        [TASK_ENDED] = begin_ns + run_ns,
                                        [TASK_SENT] = begin_ns + run_ns,
                                        [TASK_READ] = begin_ns + run_ns,
                                        [TASK_FETCHED] = begin_ns + run_ns}};
}

TEST(of_too_many_tasks_of_pools_the_longest_are_kept)
{
    struct maker *maker = maker_create();
    struct page_names names = {.trace = maker_trace(maker)};
    struct page_pools pools = {.names = &names};
    for (int64_t i = 0; i < 200000; i++) {
        struct pool_task task = task_at(i * 10, i % 1000 == 0 ? 100000 : i % 800);
        CHECK_INT(page_pools_take(&pools, &task), 0);
    }
    CHECK_INT(page_pools_finish(&pools), 0);
    size_t long_ones = 0;
    for (size_t i = 0; i < pools.items.count; i++)
        long_ones += pools.items.items[i].timing.at_ns[TASK_ENDED] -
                         pools.items.items[i].timing.at_ns[TASK_BEGUN] ==
                     100000;
    CHECK_INT(long_ones, 200);
    CHECK_INT(pools.items.count + pools.dropped, 200000);
    CHECK(pools.items.count <= 2 * PAGE_TASKS_MAX);
    vec_free(&pools.items);
    page_names_fini(&names);
    maker_destroy(maker);
}

TEST(names_are_kept_once_and_told_with_their_domain)
{
    struct maker *maker = maker_create();
    struct page page = {.text_limit = PAGE_TEXT_MAX, .names = {.trace = maker_trace(maker)}};
    uint32_t load = maker_string(maker, "load"), domain = maker_string(maker, "io");
    CHECK_INT(page_name_of(&page.names, 0, load), 0);
    CHECK_INT(page_name_of(&page.names, domain, load), 1);
    CHECK_INT(page_name_of(&page.names, 0, load), 0);
    CHECK_INT(page_name_of(&page.names, 0, 0), 2);
    CHECK_INT(page_name_of(&page.names, domain, domain), 3); /* unused */
    CHECK_INT(page_names_begin(&page.names), 0);
    for (uint32_t i = 0; i < 3; i++)
        CHECK_INT(page_use_name(&page.names, i), i);
    CHECK_STR(json_of(&page, page_put_names),
              "{\"names\":[\"load\",\"io:load\",\"(no name)\",null]}");
    page_names_fini(&page.names);
    maker_destroy(maker);
}

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    (void)table;
    row_text(row, 0, index == 0 ? "<b>" : "load");
    row_count(row, 1, index);
    row->role = index == 699 ? ROW_REST : ROW_PLAIN;
    row->rest = index == 699 ? "outside" : NULL;
}

TEST(tables_that_compare_are_written_with_their_first_rows_and_their_rest)
{
    struct table table = {.name = "ranges", .fill = fill, .row_count = 700};
    const struct table *tables[] = {&table};
    struct page page = {.text_limit = PAGE_TEXT_MAX, .row_limit = 2};
    table_add_column(&table, (struct table_column){.name = "path"});
    table_add_column(&table, (struct table_column){.name = "count", .type = COLUMN_COUNT});
    CHECK_STR(json_of(&page, page_put_compare), "{\"compare\":null}");
    page.options.compare = (struct page_compare){"a.annot", tables, 1};
    CHECK_STR(json_of(&page, page_put_compare),
              "{\"compare\":{\"file\":\"a.annot\",\"tables\":[{\"name\":\"ranges\",\"title\":\"\","
              "\"columns\":[{\"name\":\"path\",\"type\":\"text\"},{\"name\":\"count\","
              "\"type\":\"count\"}],\"rows\":[{\"cells\":[\"<b>\",0]},{\"cells\":[\"load\",1]},"
              "{\"role\":\"rest\",\"rest\":\"outside\",\"cells\":[\"load\",699]}],\"more\":697,"
              "\"notes\":[]}]}}");
    table_fini(&table);
}

static int put_long(struct page *page, struct json_doc *doc)
{
    char text[3001] = "";
    for (size_t i = 0; i < 3000; i += 3)
        memcpy(text + i, "\xe2\x82\xac", 4); /* euro signs */
    page_put_text(page, doc, "text", text);
    return 0;
}

static int put_bytes(struct page *page, struct json_doc *doc)
{
    (void)page;
    return page_put_bytes(doc, "bytes", (const uint8_t *)"Many hands", 10);
}

TEST(long_texts_are_cut_at_a_character)
{
    struct page page = {.text_limit = PAGE_TEXT_MAX};
    const char *text = json_of(&page, put_long);
    CHECK(strlen(text) < PAGE_TEXT_MAX + 20);
    CHECK_STR(text + strlen(text) - strlen("\xe2\x82\xac…\"}"), "\xe2\x82\xac…\"}");
    CHECK_STR(json_of(&page, put_bytes), "{\"bytes\":\"TWFueSBoYW5kcw==\"}");
}
