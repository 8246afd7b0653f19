/* SPDX-License-Identifier: MIT */
/* Several copies of the runtime in one process, and libraries that are unloaded.
 *
 * This program carries a static copy; each plugin carries another, or uses the shared library; one
 * of them claims another version. All of them lead to one segment per process, except with
 * dlmopen. */
#include "arena.h"
#include "runtime.h"
#include "test.h"

#include <annot/annot.h>
#include <annot/watch.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef void (*plugin_run)(int count);

static plugin_run find(void *plugin)
{
    plugin_run run = NULL;
    *(void **)&run = dlsym(plugin, "plugin_run");
    CHECK(run != NULL);
    return run;
}

static void *open_plugin(const char *name, int flags)
{
    void *plugin = dlopen(name, flags);
    if (!plugin)
        test_fail(__FILE__, __LINE__, "%s", dlerror());
    return plugin;
}

static void check(uint32_t segments, uint64_t records, uint32_t threads)
{
    struct seen seen;
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.segments, segments);
    CHECK_INT(seen.records, records);
    CHECK_INT(seen.lost_total, 0);
    CHECK_INT(seen.threads, threads);
    arena_end();
    arena_clean();
}

/* Each call of the plugin makes 3 pushes, 3 pops, a mark, a counter, a start and an end; and 5
 * records on a track, a counter group, 2 ends of flows, a range and a mark by printf, 2 logs, and 2
 * ends of flows for trace contexts: all public functions go through the serving copy. */
enum { RECORDS_PER_RUN = 10 + 15 };

static void run_route(const char *name, int flags)
{
    arena_begin(NULL);
    annot_push("program");
    void *plugin = open_plugin(name, flags);
    find(plugin)(100);
    annot_pop();
    check(1, 100 * RECORDS_PER_RUN + 2, 1);
    dlclose(plugin);
}

TEST(static_program_and_static_plugin_of_the_same_version)
{
    run_route(PLUGIN_STATIC, RTLD_NOW | RTLD_LOCAL);
}

TEST(static_program_and_plugin_with_the_shared_library)
{
    run_route(PLUGIN_SHARED, RTLD_NOW | RTLD_LOCAL);
}

TEST(shared_library_loaded_globally)
{
    run_route(PLUGIN_SHARED, RTLD_LAZY | RTLD_GLOBAL);
}

TEST(static_program_and_plugin_of_another_version)
{
    run_route(PLUGIN_OTHER, RTLD_NOW | RTLD_LOCAL);
}

TEST(static_program_and_plugin_that_hides_its_copy)
{
    run_route(PLUGIN_HIDDEN, RTLD_NOW | RTLD_LOCAL);
}

TEST(three_copies_at_once)
{
    arena_begin(NULL);
    void *first = open_plugin(PLUGIN_STATIC, RTLD_NOW | RTLD_LOCAL);
    void *second = open_plugin(PLUGIN_SHARED, RTLD_NOW | RTLD_LOCAL);
    void *third = open_plugin(PLUGIN_OTHER, RTLD_NOW | RTLD_LOCAL);
    find(first)(10);
    find(second)(10);
    find(third)(10);
    check(1, 30 * RECORDS_PER_RUN, 1);
    dlclose(third);
    dlclose(second);
    dlclose(first);
}

TEST(copy_in_another_namespace_makes_a_segment_of_its_own)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    test_skip("sanitizers do not support a second namespace");
#endif
    arena_begin(NULL);
    annot_mark("program");
    void *plugin = dlmopen(LM_ID_NEWLM, PLUGIN_STATIC, RTLD_NOW | RTLD_LOCAL);
    if (!plugin)
        test_skip("dlmopen: %s", dlerror());
    find(plugin)(10);
    check(2, 10 * RECORDS_PER_RUN + 1, 2);
}

static void count_call(void *context, int begins, uint64_t time)
{
    (void)time;
    ((int *)context)[begins]++;
}

/* Independent of the copy that sets the watch and of the copy that the range came through. */
TEST(watch_of_one_copy_sees_the_ranges_of_all)
{
    static const char *const plugins[] = {PLUGIN_STATIC, PLUGIN_SHARED, PLUGIN_OTHER};
    int calls[3][2] = {{0}};
    arena_begin(NULL);
    for (int i = 0; i < 3; i++) {
        int (*watch)(annot_watch_fn * fn, void *context) = NULL;
        void *plugin = open_plugin(plugins[i], RTLD_NOW | RTLD_LOCAL);
        *(void **)&watch = dlsym(plugin, "plugin_watch");
        CHECK_INT(watch(count_call, calls[i]), 0);
    }
    for (int i = 0; i < 10; i++) {
        annot_push("watched");
        annot_pop();
    }
    for (int i = 0; i < 3; i++) {
        CHECK_INT(calls[i][1], 10);
        CHECK_INT(calls[i][0], 10);
    }
    struct runtime_table older = runtime_own;
    older.size = offsetof(struct runtime_table, watch_range);
    runtime_other = &older;
    CHECK_INT(annot_watch_range("watched", NULL, count_call, calls[0]), -ENOSYS);
    runtime_other = NULL;
    check(1, 20, 1);
}

/* In a program without its own copy, the plugin's copy serves and must stay loaded. */
static int without_own_copy(void)
{
    char path[512];
    snprintf(path, sizeof(path), "ANNOT_TEST_KEEP_ENV=1 %s %s %s", BARE_PROGRAM, PLUGIN_STATIC,
             PLUGIN_SHARED);
    return system(path);
}

/* A copy that forwards may be unloaded: it holds no state of the process. */
TEST(forwarding_copy_is_unloaded)
{
    arena_begin(NULL);
    for (int i = 0; i < 3; i++) {
        void *plugin = open_plugin(PLUGIN_STATIC, RTLD_NOW | RTLD_LOCAL);
        find(plugin)(5);
        dlclose(plugin);
        annot_mark("the program goes on");
    }
    check(1, 3 * (5 * RECORDS_PER_RUN + 1), 1);
}

/* An older copy serves: functions unknown to it do nothing. */
TEST(slots_that_the_serving_copy_lacks_do_nothing)
{
    struct runtime_table older = runtime_own;
    older.size = offsetof(struct runtime_table, mark);
    older.start = NULL;
    arena_begin(NULL);
    runtime_other = &older;
    annot_mark("unknown to it");
    annot_counter("unknown to it", 1);
    CHECK_INT(annot_start("unknown to it"), 0);
    runtime_other = NULL;
    annot_mark("known");
    check(1, 1, 1);
}

static struct runtime_table first;

static void serve_push(const char *text)
{
    runtime_other = NULL;
    runtime_own.push(text);
    runtime_other = &first;
}

static void serve_pop(void)
{
    runtime_other = NULL;
    runtime_own.pop();
    runtime_other = &first;
}

/* Open ranges are closed even if one half of a pair is newer than the serving copy. */
TEST(functions_of_later_versions_do_nothing_in_the_first)
{
    struct seen seen;
    char text[ANNOT_TRACE_CONTEXT_SIZE];
    const struct annot_value value = annot_value_int64("k", 1);
    first = runtime_own;
    first.size = offsetof(struct runtime_table, schema_create);
    first.push = serve_push;
    first.pop = serve_pop;
    arena_begin(NULL);
    runtime_other = &first;
    struct annot_track track = annot_track_create("track", NULL);
    CHECK_INT(track.id, 0);
    annot_track_begin(&track, "t");
    annot_track_end(&track);
    annot_flow_begin(7, "f");
    CHECK_INT(annot_flow_new(), 0);
    annot_counters("c", &value, 1);
    annot_log(ANNOT_SEVERITY_INFO, "l");
    annot_mark_format("%d", 1);
    annot_abort_note("n");
    CHECK_INT(annot_current(), 0);
    CHECK_INT(annot_trace_context(text), 0);
    CHECK_INT(annot_trace_context_adopt(NULL), 0);
    CHECK_INT(annot_schema_create("s", 0, NULL, 0), 0);
    annot_push_format("%d", 1);
    annot_pop();
    annot_push("t");
    annot_pop_values(&value, 1);
    annot_track_end_values(&track, &value, 1);
    runtime_other = NULL;
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.note.state, 0);
    CHECK_INT(seen.kinds[ANNOT_REC_PUSH], 2);
    check(1, 4, 1);
}

TEST(serving_copy_is_unloaded_by_a_program_without_one)
{
    struct seen seen;
    arena_begin(NULL);
    CHECK_INT(without_own_copy(), 0);
    arena_read(0, &seen, NULL, NULL);
    CHECK_INT(seen.segments, 1);
    CHECK_INT(seen.records, (5 + 7 + 5 + 3) * RECORDS_PER_RUN);
    arena_end();
    arena_clean();
}
