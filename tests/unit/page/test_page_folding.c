/* SPDX-License-Identifier: MIT */
/* Choice of visible frames, and groups of threads. */
#include "made_sample.h"
#include "page_calls.h"
#include "page_data.h"
#include "page_samples.h"
#include "test.h"
#include "trace_maker.h"

#include <stdio.h>

#define STDLIB "/usr/lib/python3.11/"
#define PYTHON "/usr/bin/python3.11"

static struct maker *maker;
static uint32_t thread;

static void begin(void)
{
    maker = maker_create();
    thread = maker_thread(maker, maker_process(maker, 100, 1, "python a.py", 0), 100, "main");
}

static uint32_t push(uint32_t stack, const char *function, const char *file)
{
    struct maker_frame frame = {.kind = FRAME_PYTHON,
                                .function = function,
                                .file = file,
                                .module = "",
                                .line = 11,
                                .first_line = 10};
    return maker_stack(maker, stack, &frame);
}

static uint32_t push_native(uint32_t stack, const char *function, const char *module)
{
    struct maker_frame frame = {
        .kind = FRAME_NATIVE, .function = function, .file = "", .module = module};
    return maker_stack(maker, stack, &frame);
}

/* The tree of one sample with a stack: names from the role on, separated by "/"; after "=", its
 * value. */
static const char *tree_of(uint32_t stack)
{
    static char text[512];
    struct trace *trace = maker_trace(maker);
    struct own_time *own = own_time_create(trace);
    struct page_samples samples;
    struct page_nodes nodes;
    struct sample sample = made_cpu((struct sample){.stack = stack, .thread = thread}, 10);
    const struct item item = {.kind = ITEM_SAMPLE, .sample = &sample};
    size_t length = 0;
    CHECK_INT(own_time_add(own, &sample), 0);
    CHECK_INT(own_time_finish(own), 0);
    CHECK_INT(page_samples_init(&samples, trace, NULL, &(struct page_span){0, 1000}), 0);
    struct sink sink = page_samples_sink(&samples);
    CHECK_INT(sink.take(sink.context, &item), 0);
    CHECK_INT(page_nodes_make(&nodes, &samples, own, NULL), 0);
    CHECK_INT(nodes.sums.items.count, 1);
    for (size_t i = 1; i < nodes.items.count; i++) {
        const struct page_function *function =
            &nodes.functions.items[nodes.items.items[i].function];
        char name[128];
        code_name(trace, function->id, name, sizeof(name));
        length +=
            (size_t)snprintf(text + length, sizeof(text) - length, "%s%s", i > 1 ? "/" : "",
                             function->kind == PAGE_ROLE ? nodes.roles.items[function->id] : name);
    }
    const struct page_function *mine =
        &nodes.functions.items[nodes.items.items[nodes.sums.items.items[0].node].own];
    char name[128] = "";
    code_name(trace, mine->kind == PAGE_FUNCTION ? mine->id : 0, name, sizeof(name));
    snprintf(text + length, sizeof(text) - length, "=%s",
             mine->kind == PAGE_PURPOSE ? code_purpose_name(mine->id) : name);
    page_nodes_fini(&nodes);
    page_samples_fini(&samples);
    own_time_destroy(own);
    return text;
}

TEST(native_code_is_shown_below_python_and_not_between)
{
    begin();
    uint32_t stack = push_native(0, "_start", PYTHON);
    stack = push_native(stack, "Py_RunMain", PYTHON);
    stack = push(stack, "<module>", "/src/a.py");
    stack = push_native(stack, "_PyEval_Vector", PYTHON);
    stack = push(stack, "dumps", STDLIB "json/__init__.py");
    stack = push_native(stack, "encode_string", PYTHON);
    CHECK_STR(tree_of(stack), "main/<module>/dumps/encode_string=<module>");
    maker_destroy(maker);
}

TEST(own_native_code_between_python_functions_stays)
{
    begin();
    uint32_t stack = push(0, "main", "/src/a.py");
    stack = push_native(stack, "apply_all", "/src/fast.so");
    stack = push(stack, "callback", "/src/a.py");
    CHECK_STR(tree_of(stack), "main/main/apply_all/callback=callback");
    maker_destroy(maker);
}

TEST(workers_begin_behind_the_bootstrap_of_their_process)
{
    begin();
    uint32_t process = maker_process(maker, 101, 100, "python a.py", 5);
    trace_process(maker_trace(maker), process)->forked = true;
    trace_process(maker_trace(maker), process)->parent = 0;
    thread = maker_thread(maker, process, 101, "");
    uint32_t stack = push(0, "main", "/src/a.py");
    stack = push(stack, "BaseProcess._bootstrap", STDLIB "multiprocessing/process.py");
    stack = push_native(stack, "method_vectorcall", PYTHON);
    stack = push(stack, "BaseProcess.run", STDLIB "multiprocessing/process.py");
    stack = push(stack, "worker", STDLIB "multiprocessing/pool.py");
    stack = push(stack, "square", "/src/a.py");
    CHECK_STR(tree_of(stack), "worker/worker/square=square");
    maker_destroy(maker);
}

TEST(imports_are_folded_into_what_they_run)
{
    begin();
    uint32_t stack = push(0, "<module>", "/src/a.py");
    stack = push(stack, "_find_and_load", "<frozen importlib._bootstrap>");
    uint32_t load = push(stack, "_load_unlocked", "<frozen importlib._bootstrap>");
    CHECK_STR(tree_of(load), "main/<module>/_find_and_load=imports");
    stack = push(load, "setup", STDLIB "json/decoder.py");
    CHECK_STR(tree_of(stack), "main/<module>/setup=imports");
    maker_destroy(maker);
}

static void check_role(int32_t tid, const char *name, const char *expected)
{
    char role[128];
    uint32_t other = maker_thread(maker, 0, tid, name);
    page_role_name(maker_trace(maker), other, role, sizeof(role));
    CHECK_STR(role, expected);
}

TEST(threads_of_equal_names_but_for_a_number_are_one_role)
{
    char role[128];
    begin();
    check_role(200, "ThreadPoolExecutor-0_3", "thread ThreadPoolExecutor-0");
    check_role(201, "Thread-12 (consume)", "thread consume");
    check_role(202, "Thread-4", "thread without a name");
    check_role(203, "row writer", "thread row writer");
    check_role(204, "7", "thread 7");
    page_role_name(maker_trace(maker), thread, role, sizeof(role));
    CHECK_STR(role, "main");
    page_role_name(maker_trace(maker), 99999, role, sizeof(role));
    CHECK_STR(role, "other threads");
    maker_destroy(maker);
}
