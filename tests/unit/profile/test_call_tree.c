/* SPDX-License-Identifier: MIT */
/* Trees of calls: merging into nodes, weights, and labels. */
#include "call_label.h"
#include "call_tree.h"
#include "made_sample.h"
#include "report.h"
#include "sampled_trace.h"
#include "test.h"

#include <stdio.h>

static struct call_tree *tree_of(struct maker *maker, unsigned groups, unsigned set,
                                 uint32_t node_limit)
{
    struct call_tree_options options = {.groups = groups,
                                        .prefixes = CALL_STRIP_LIBRARIES,
                                        .node_limit = node_limit,
                                        .frames = FRAMES_ALL};
    struct call_tree *tree = call_tree_create(maker_trace(maker), &options);
    const struct sample *samples;
    uint32_t count;
    CHECK(tree != NULL);
    while (maker_next_samples(maker, &samples, &count) > 0) {
        for (uint32_t i = 0; i < count; i++) {
            if (samples[i].set == set)
                CHECK_INT(call_tree_add(tree, &samples[i]), 0);
        }
    }
    CHECK_INT(call_tree_finish(tree), 0);
    return tree;
}

/* The node at a path of labels, or 0. */
static uint32_t find(const struct call_tree *tree, const char *const *labels)
{
    uint32_t at = 0;
    for (; *labels; labels++) {
        char label[CALL_LABEL_SIZE] = "";
        at = call_tree_node(tree, at)->first_child;
        for (; at; at = call_tree_node(tree, at)->next_sibling) {
            call_item_label(tree, call_tree_node(tree, at)->item, label, sizeof(label));
            if (strcmp(label, *labels) == 0)
                break;
        }
        if (!at)
            return 0;
    }
    return at;
}

#define FIND(tree, ...) find((tree), (const char *const[]){__VA_ARGS__, NULL})

static uint64_t total_ms(const struct call_tree *tree, uint32_t node)
{
    return call_tree_node(tree, node)->total_ns / 1000000;
}

TEST(lines_of_a_function_are_one_node)
{
    struct maker *maker = sampled_trace_create();
    struct call_tree *tree = tree_of(maker, 0, SAMPLE_SET_CPU, 0);
    uint32_t step = FIND(tree, "_start", "main", "Py_RunMain", "<module> (/home/me/app/app.py:90)",
                         "train (/home/me/app/app.py:20)", "Model.step (net/model.py:40)");
    CHECK(step != 0);
    CHECK_INT(total_ms(tree, step), 7 + 1 + 3 + 6 + 2);
    CHECK_INT(call_tree_node(tree, step)->self_ns / 1000000, 2);
    CHECK_INT(call_tree_node(tree, step)->count, 19);
    CHECK_INT(total_ms(tree, 0), 41);
    CHECK_INT(total_ms(tree, FIND(tree, "[no stack]")), 1);
    CHECK_INT(call_tree_cut_count(tree), 0);
    call_tree_destroy(tree);
    maker_destroy(maker);
}

TEST(python_functions_alone_have_the_native_time_they_called)
{
    struct maker *maker = sampled_trace_create();
    struct call_tree *all = tree_of(maker, 0, SAMPLE_SET_CPU, 0);
    struct call_tree_options options = {.prefixes = CALL_STRIP_LIBRARIES, .frames = FRAMES_PYTHON};
    struct call_tree *tree = call_tree_create(maker_trace(maker), &options);
    const struct sample *samples;
    uint32_t count;
    maker_rewind(maker);
    while (maker_next_samples(maker, &samples, &count) > 0)
        for (uint32_t i = 0; i < count; i++)
            if (samples[i].set == SAMPLE_SET_CPU)
                CHECK_INT(call_tree_add(tree, &samples[i]), 0);
    CHECK_INT(call_tree_finish(tree), 0);
    CHECK_INT(total_ms(tree, 0), total_ms(all, 0));
    CHECK(FIND(tree, "_start", "main", "Py_RunMain") == 0);
    uint32_t step = FIND(tree, "<module> (/home/me/app/app.py:90)",
                         "train (/home/me/app/app.py:20)", "Model.step (net/model.py:40)");
    CHECK(step != 0);
    CHECK_INT(total_ms(tree, step), 7 + 1 + 3 + 6 + 2);
    for (uint32_t at = step; at; at = call_tree_node(tree, at)->first_child)
        CHECK(call_item_frame_kind(tree, call_tree_node(tree, at)->item) != FRAME_NATIVE);
    call_tree_destroy(tree);
    call_tree_destroy(all);
    maker_destroy(maker);
}

/* Native code of one owner called by a Python function is one leaf, so that its area is that
 * owner's time. */
TEST(leaves_have_the_owner_of_what_ran)
{
    struct maker *maker = sampled_trace_create();
    struct call_tree_options options = {.prefixes = CALL_STRIP_LIBRARIES, .frames = FRAMES_OWNERS};
    struct call_tree *tree = call_tree_create(maker_trace(maker), &options);
    const struct sample *samples;
    uint32_t count;
    while (maker_next_samples(maker, &samples, &count) > 0)
        for (uint32_t i = 0; i < count; i++)
            CHECK_INT(call_tree_add(tree, &samples[i]), 0);
    CHECK_INT(call_tree_finish(tree), 0);
#define STEP                                                                                       \
    "<module> (/home/me/app/app.py:90)", "train (/home/me/app/app.py:20)",                         \
        "Model.step (net/model.py:40)"
    CHECK_INT(total_ms(tree, FIND(tree, STEP, "cblas_dgemm")), 12);
    CHECK_INT(total_ms(tree, FIND(tree, STEP, "handle_mm_fault")), 1);
    CHECK(FIND(tree, STEP, "cblas_dgemm", "handle_mm_fault") == 0);
    CHECK(FIND(tree, STEP, "asm_exc_page_fault") == 0);
    uint32_t read = FIND(tree, "load (/home/me/app/app.py:50)", "ksys_read");
    CHECK(read != 0 && call_tree_node(tree, read)->first_child == 0); /* the wait is a sibling */
    CHECK(FIND(tree, "load (/home/me/app/app.py:50)", "[disk]") != 0);
    const uint64_t *colours = call_tree_colours(tree);
    uint64_t sum = 0;
    for (int i = 0; i <= COLOUR_COUNT; i++)
        sum += colours[i];
    CHECK_INT(sum, 41000000);
    CHECK_INT(colours[COLOUR_KERNEL], 8000000);
    CHECK_INT(colours[COLOUR_COUNT], 1000000);
    call_tree_destroy(tree);
    maker_destroy(maker);
}

TEST(groups_stand_around_the_root)
{
    struct maker *maker = sampled_trace_create();
    struct call_tree *tree = tree_of(maker, CALL_BY_PROCESS | CALL_BY_RANGE, SAMPLE_SET_CPU, 0);
    const char *app = "python app.py (pid 5000)";
    CHECK_INT(total_ms(tree, FIND(tree, app, "train", "step", "_start")), 8);
    CHECK_INT(total_ms(tree, FIND(tree, app, "train")), 14);
    CHECK_INT(total_ms(tree, FIND(tree, app, "(no range)")), 4);
    CHECK_INT(total_ms(tree, FIND(tree, app, "load", "clone3")), 9);
    call_tree_destroy(tree);
    tree = tree_of(maker, CALL_BY_PROCESS | CALL_BY_THREAD, SAMPLE_SET_CPU, 0);
    CHECK_INT(total_ms(tree, FIND(tree, app, "loader (tid 5001)")), 9);
    call_tree_destroy(tree);
    maker_destroy(maker);
}

TEST(a_wait_has_its_reason_as_the_leaf)
{
    struct maker *maker = sampled_trace_create();
    struct call_tree *tree = tree_of(maker, 0, SAMPLE_SET_OFF_CPU, 0);
    CHECK_INT(total_ms(tree, FIND(tree, "clone3", "thread_run", "load (/home/me/app/app.py:50)",
                                  "take_gil", "[the GIL]")),
              8);
    CHECK_INT(call_tree_node(tree, 0)->total_ns / 1000, 3900 + 1000 + 17000 + 8000 + 2000);
    CHECK_INT(call_tree_node(tree, 0)->count, 5);
    uint32_t read =
        FIND(tree, "clone3", "thread_run", "load (/home/me/app/app.py:50)", "read", "ksys_read");
    CHECK(read != 0);
    const struct call_node *node = call_tree_node(tree, read);
    const struct call_node *disk = call_tree_node(tree, node->first_child);
    const struct call_node *runnable = call_tree_node(tree, disk->next_sibling);
    CHECK_INT(disk->self_ns / 1000, 1500);
    CHECK_INT(runnable->self_ns / 1000, 500);
    CHECK_INT(disk->count, 1);
    CHECK_INT(runnable->count, 0);
    call_tree_destroy(tree);
    maker_destroy(maker);
}

/* Sum of all nodes of that kind. */
static uint64_t sum_of(const struct call_tree *tree, enum call_kind kind, uint32_t id)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < call_tree_node_count(tree); i++) {
        const struct call_node *node = call_tree_node(tree, i);
        const struct call_item *item = call_tree_item(tree, node->item);
        sum += item->kind == (uint32_t)kind && item->id == id ? node->self_ns : 0;
    }
    return sum;
}

TEST(waits_and_their_tables_agree)
{
    struct maker *maker = maker_create();
    struct call_tree_options options = {.frames = FRAMES_ALL};
    struct call_tree *tree = call_tree_create(maker_trace(maker), &options);
    struct sample_stats stats;
    uint32_t random = 12345;
    CHECK_INT(sample_stats_init(&stats, maker_trace(maker)), 0);
    for (int i = 0; i < 10000; i++) {
        random = random * 1664525 + 1013904223;
        struct sample wait = {.reason = (uint8_t)(random >> 8) % WAIT_REASON_COUNT,
                              .time_ns = 1000};
        wait.end_ns = wait.time_ns + (random >> 12) % 100;
        /* Woken never, in time, or, as in a damaged recording, outside of the stretch. */
        wait = made_wait(wait, random >> 28 & 1 ? 0 : 990 + (random >> 16) % 120);
        CHECK_INT(call_tree_add(tree, &wait), 0);
        sample_stats_add(&stats, &wait);
    }
    CHECK_INT(call_tree_finish(tree), 0);
    for (uint32_t reason = 0; reason < WAIT_REASON_COUNT; reason++)
        CHECK_INT(sum_of(tree, CALL_REASON, reason), stats.waits[reason].total_ns);
    CHECK_INT(sum_of(tree, CALL_RUNNABLE, 0), stats.runnable.total_ns);
    CHECK_INT(call_tree_node(tree, 0)->total_ns, stats.all.blocked_ns + stats.all.runnable_ns);
    sample_stats_fini(&stats);
    call_tree_destroy(tree);
    maker_destroy(maker);
}

TEST(what_finds_no_room_is_counted_and_keeps_its_weight)
{
    struct maker *maker = sampled_trace_create();
    for (uint32_t limit = 1; limit < 40; limit++) {
        struct call_tree *tree = tree_of(maker, CALL_BY_PROCESS, SAMPLE_SET_CPU, limit);
        CHECK(call_tree_node_count(tree) <= limit + 1);
        CHECK(call_tree_cut_count(tree) > 0);
        CHECK_INT(total_ms(tree, 0), 41);
        call_tree_destroy(tree);
    }
    maker_destroy(maker);
}

TEST(children_are_sorted_and_no_parent_is_lighter_than_its_children)
{
    struct maker *maker = sampled_trace_create();
    struct call_tree *tree = tree_of(maker, CALL_BY_PROCESS, SAMPLE_SET_CPU, 0);
    for (uint32_t i = 0; i < call_tree_node_count(tree); i++) {
        char last[CALL_LABEL_SIZE] = "", label[CALL_LABEL_SIZE];
        const struct call_node *node = call_tree_node(tree, i);
        uint64_t sum = node->self_ns;
        for (uint32_t at = node->first_child; at; at = call_tree_node(tree, at)->next_sibling) {
            CHECK_INT(call_tree_node(tree, at)->parent, i);
            call_item_label(tree, call_tree_node(tree, at)->item, label, sizeof(label));
            CHECK(strcmp(last, label) < 0);
            snprintf(last, sizeof(last), "%s", label);
            sum += call_tree_node(tree, at)->total_ns;
        }
        CHECK_INT(node->total_ns, sum);
    }
    call_tree_destroy(tree);
    maker_destroy(maker);
}

TEST(paths_are_cut_where_a_library_begins)
{
    const struct {
        const char *path, *prefixes, *expected;
    } cases[] = {
        {"/usr/lib/python3/dist-packages/a/b.py", "lib", "a/b.py"},
        {"/x/lib/python3.11/site-packages/a.py", "lib", "a.py"},
        {"/x/lib/python3.13t/json/__init__.py", "lib", "json/__init__.py"},
        {"/usr/lib64/python3.9/os.py", "lib", "os.py"},
        {"/srv/python3/app.py", "lib", "/srv/python3/app.py"},
        {"/lib/python/app.py", "lib", "/lib/python/app.py"},
        {"/srv/app/a.py", "lib:/srv/app", "a.py"},
        {"/srv/app/a.py", "/srv:/srv/app/", "a.py"},
        {"/srv/application/a.py", "/srv/app", "/srv/application/a.py"},
        {"/srv/app", "/srv/app", "/srv/app"},
        {"/srv/app/", "/srv/app", "/srv/app/"},
        {"/srv/a.py", NULL, "/srv/a.py"},
        {"/srv/a.py", "::", "/srv/a.py"},
        {"<string>", "lib", "<string>"},
        {"", "lib:/", ""},
        {"/srv/app/a.py", "base", "a.py"},
        {"/x/json/__init__.py", "base", "json/__init__.py"},
        {"/__init__.py", "base", "__init__.py"},
        {"__main__.py", "base", "__main__.py"},
        {"/srv/app/", "base", "/srv/app/"},
        {"a.py", "base:lib", "a.py"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        CHECK_STR(call_short_path(cases[i].path, cases[i].prefixes), cases[i].expected);
}

/* As in a recording that is followed: names may arrive after the samples, or never. */
TEST(a_frame_without_a_name_is_called_by_its_place)
{
    static const char path[] = "/lib/libx.so";
    struct trace *trace = trace_create();
    struct stacks *stacks = trace_stacks(trace);
    const struct code_module module = {
        .kind = MODULE_ELF, .path = (uint32_t)trace_string_add(trace, path, sizeof(path) - 1)};
    const struct frame native = {.kind = FRAME_NATIVE,
                                 .address = 0x1230,
                                 .module = (uint32_t)stacks_module(stacks, &module)};
    const struct frame kernel = {.kind = FRAME_KERNEL, .address = 0x1230};
    char label[CALL_LABEL_SIZE];
    call_frame_label(trace, (uint32_t)stacks_frame(stacks, &native), NULL, label, sizeof(label));
    CHECK_STR(label, "libx.so+0x1230");
    call_frame_label(trace, (uint32_t)stacks_frame(stacks, &kernel), NULL, label, sizeof(label));
    CHECK_STR(label, "[kernel]");
    trace_destroy(trace);
}
