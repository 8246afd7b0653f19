/* SPDX-License-Identifier: MIT */
/* Own functions below own functions, folding of other code into them, and sums. */
#include "made_sample.h"
#include "own_tree.h"
#include "test.h"
#include "trace_maker.h"

#include <stdio.h>
#include <stdlib.h>

static struct maker *maker;
static struct own_time *own;
static uint32_t thread;

#define STDLIB "/usr/lib/python3.11/"

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
    struct maker_frame frame = {.kind = FRAME_NATIVE,
                                .function = function,
                                .file = "",
                                .module = module,
                                .address = stack + 16u};
    return maker_stack(maker, stack, &frame);
}

/* Stacks are created first: tables of the sums are sized by their number. */
static void begin(void)
{
    maker = maker_create();
    uint32_t process = maker_process(maker, 100, 1, "python a.py", 0);
    thread = maker_thread(maker, process, 100, "main");
}

static void run_in(uint32_t stack, int64_t cpu_ns)
{
    struct sample sample = made_cpu((struct sample){.stack = stack, .thread = thread}, cpu_ns);
    CHECK_INT(own_time_add(own, &sample), 0);
}

static void sleep_in(uint32_t stack)
{
    struct sample sample = {
        .stack = stack, .thread = thread, .reason = WAIT_SLEEP, .time_ns = 1000, .end_ns = 5000};
    sample = made_wait(sample, 4000);
    CHECK_INT(own_time_add(own, &sample), 0);
}

static void end(void)
{
    own_time_destroy(own);
    maker_destroy(maker);
}

static void check_node(const struct own_node *node, uint32_t depth, const char *name,
                       uint64_t total_ns)
{
    char text[64] = "";
    if (node->label)
        code_name(maker_trace(maker), node->label, text, sizeof(text));
    CHECK_STR(node->reason != OWN_NODE_RUNS ? wait_reason_name((enum wait_reason)node->reason)
              : node->label                 ? text
                                            : code_purpose_name(node->purpose),
              name);
    CHECK_INT(node->depth, depth);
    CHECK_INT(node->total.cpu_ns + node->total.runnable_ns + node->total.blocked_ns, total_ns);
}

TEST(libraries_are_folded_to_what_own_code_calls_and_waits_are_leaves)
{
    const struct own_node *nodes;
    begin();
    uint32_t main = push(0, "main", "/src/a.py");
    uint32_t dumps = push(main, "dumps", STDLIB "json/__init__.py");
    uint32_t encode = push(dumps, "encode", STDLIB "json/encoder.py");
    uint32_t callback = push(encode, "default", "/src/a.py");
    uint32_t find = push(main, "_find_and_load", "<frozen importlib._bootstrap>");
    own = own_time_create(maker_trace(maker));
    run_in(main, 10);
    run_in(encode, 300);
    run_in(callback, 200);
    run_in(find, 50);
    sleep_in(callback);
    CHECK_INT(own_time_finish(own), 0);
    struct own_tree *tree = own_tree_create(own, true);
    CHECK_INT(own_tree_rows(tree, &nodes), 5);
    check_node(&nodes[0], 0, "main", 4560);
    check_node(&nodes[1], 1, "default", 4200);
    CHECK_INT(nodes[1].self.cpu_ns, 200);
    CHECK_INT(nodes[1].self.runnable_ns, 1000);
    check_node(&nodes[2], 2, "sleep", 3000);
    check_node(&nodes[3], 1, "dumps", 300);
    check_node(&nodes[4], 1, "imports", 50);
    CHECK_INT(nodes[2].parent, 1);
    CHECK_INT(nodes[4].parent, 0);
    own_tree_destroy(tree);

    tree = own_tree_create(own, false); /* by CPU time, the library is first */
    CHECK_INT(own_tree_rows(tree, &nodes), 5);
    check_node(&nodes[1], 1, "dumps", 300);
    own_tree_destroy(tree);
    own_tree_destroy(NULL);
    end();
}

#define NATIVE "pyannot/_native.cpython-311-x86_64-linux-gnu.so"

/* Independent of pip's folder; a program's own folder of that name belongs to the program. */
TEST(functions_of_annot_are_folded_wherever_it_is_installed)
{
    static const char *const folders[] = {"/srv/venv/lib/python3.11/site-packages/", "/srv/deps/",
                                          "/src/annot/build/pyannot/"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        const struct own_node *nodes;
        char native[128], python[128];
        snprintf(native, sizeof(native), "%s" NATIVE, folders[i]);
        snprintf(python, sizeof(python), "%spyannot/observe/pools.py", folders[i]);
        begin();
        uint32_t main = push(0, "main", "/src/pyannot/a.py");
        uint32_t traced = push_native(main, "eval_any", native);
        uint32_t dumps = push(traced, "dumps", STDLIB "json/__init__.py");
        uint32_t import = push_native(main, "observed_import", native);
        uint32_t patch = push(import, "patch", python);
        own = own_time_create(maker_trace(maker));
        run_in(traced, 10);
        run_in(dumps, 300);
        run_in(import, 20);
        run_in(patch, 30);
        CHECK_INT(own_time_finish(own), 0);
        struct own_tree *tree = own_tree_create(own, false);
        CHECK_INT(own_tree_rows(tree, &nodes), 2);
        check_node(&nodes[0], 0, "main", 360);
        check_node(&nodes[1], 1, "dumps", 300);
        own_tree_destroy(tree);
        end();
    }
}

TEST(recursion_is_one_node_and_workers_begin_at_the_root)
{
    const struct own_node *nodes;
    begin();
    uint32_t main = push(0, "main", "/src/a.py");
    uint32_t visit = push(main, "visit", "/src/a.py");
    uint32_t children = push(visit, "children", "/src/a.py");
    uint32_t again = push(push(children, "visit", "/src/a.py"), "children", "/src/a.py");
    uint32_t fork = push(main, "_bootstrap", STDLIB "multiprocessing/process.py");
    uint32_t work = push(fork, "work", "/src/a.py");
    own = own_time_create(maker_trace(maker));
    run_in(visit, 5);
    run_in(children, 10);
    run_in(again, 100);
    run_in(work, 40);
    CHECK_INT(own_time_finish(own), 0);
    struct own_tree *tree = own_tree_create(own, false);
    CHECK_INT(own_tree_rows(tree, &nodes), 4);
    check_node(&nodes[0], 0, "main", 115);
    check_node(&nodes[1], 1, "visit", 115);
    CHECK_INT(nodes[1].self.cpu_ns, 5);
    check_node(&nodes[2], 2, "children", 110);
    check_node(&nodes[3], 0, "work", 40);
    own_tree_destroy(tree);
    end();
}

TEST(start_up_is_what_runs_before_the_main_module)
{
    const struct own_node *nodes;
    begin();
    uint32_t site = push(push(0, "main", "<frozen site>"), "abspath", "<frozen posixpath>");
    uint32_t main = push(0, "<module>", "/src/a.py");
    uint32_t join = push(main, "join", "<frozen posixpath>");
    uint32_t decode = push(main, "decode", STDLIB "encodings/utf_8.py");
    uint32_t runpy = push(0, "_run_module_as_main", "<frozen runpy>");
    uint32_t package = push(push(runpy, "_run_code", "<frozen runpy>"), "<module>",
                            "/usr/lib/python3/dist-packages/tool/__main__.py");
    uint32_t tool = push(package, "decode", STDLIB "encodings/utf_8.py");
    own = own_time_create(maker_trace(maker));
    run_in(site, 1000);
    run_in(main, 10);
    run_in(join, 300);
    run_in(decode, 200);
    run_in(runpy, 30);
    run_in(tool, 40);
    CHECK_INT(own_time_finish(own), 0);
    struct own_tree *tree = own_tree_create(own, false);
    CHECK_INT(own_tree_rows(tree, &nodes), 5);
    check_node(&nodes[0], 0, "start-up", 1030);
    check_node(&nodes[1], 0, "<module>", 510);
    check_node(&nodes[2], 1, "join", 300);
    check_node(&nodes[3], 1, "decode", 200);
    check_node(&nodes[4], 0, "<module>", 40);
    own_tree_destroy(tree);
    end();
}

/* The own function that a node counts for; 0: missing, or within an import. */
static uint32_t own_above(const struct own_node *nodes, uint32_t at)
{
    if (nodes[at].purpose == PURPOSE_IMPORT)
        return 0;
    while (nodes[at].depth > 0 && own_time_label(own, nodes[at].label)->owner != CODE_OWN)
        at = nodes[at].parent;
    return own_time_label(own, nodes[at].label)->owner == CODE_OWN ? nodes[at].label : 0;
}

/* Random calls: self times add up to the samples, and per function to its row. */
/* All nodes are outermost. */
TEST(more_functions_than_there_are_nodes_for_count_together)
{
    enum { FUNCTIONS = OWN_TREE_NODES + 1000 };

    const struct own_node *nodes;
    uint32_t *stacks = calloc(FUNCTIONS, sizeof(*stacks));
    uint64_t all_ns = 0;
    begin();
    for (int i = 0; i < FUNCTIONS; i++) {
        char name[32];
        snprintf(name, sizeof(name), "f%d", i);
        stacks[i] = push(0, name, "/src/a.py");
    }
    own = own_time_create(maker_trace(maker));
    for (int i = 0; i < FUNCTIONS; i++)
        run_in(stacks[i], 10);
    CHECK_INT(own_time_finish(own), 0);
    struct own_tree *tree = own_tree_create(own, false);
    CHECK(tree);
    uint32_t count = own_tree_rows(tree, &nodes);
    for (uint32_t i = 0; i < count; i++)
        all_ns += nodes[i].self.cpu_ns;
    CHECK_INT(count, OWN_TREE_NODES - 1); /* without the root */
    CHECK_INT(all_ns, UINT64_C(10) * FUNCTIONS);
    own_tree_destroy(tree);
    free(stacks);
    end();
}

TEST(times_below_nodes_of_a_function_are_those_of_its_row)
{
    static const char *const files[] = {"/src/a.py",
                                        "/src/a.py",
                                        STDLIB "json/decoder.py",
                                        STDLIB "asyncio/events.py",
                                        "<frozen importlib._bootstrap>",
                                        "<frozen runpy>"};
    static const char *const names[] = {"f", "g", "h", "_run", "_find_and_load", "_run_code"};

    enum { STACKS = 400, NAMES = sizeof(names) / sizeof(*names) };

    uint32_t stacks[STACKS] = {0};
    const struct own_node *nodes;
    const struct own_row *rows;
    srand(7);
    begin();
    for (int i = 1; i < STACKS; i++) {
        int which = rand() % NAMES;
        stacks[i] = push(stacks[rand() % i], names[which], files[which]);
    }
    own = own_time_create(maker_trace(maker));
    for (int i = 0; i < 2 * STACKS; i++)
        run_in(stacks[1 + rand() % (STACKS - 1)], 1 + rand() % 1000);
    CHECK_INT(own_time_finish(own), 0);
    struct own_tree *tree = own_tree_create(own, false);
    uint32_t node_count = own_tree_rows(tree, &nodes), row_count = own_time_rows(own, false, &rows);
    uint64_t all_ns = 0;
    for (uint32_t r = 0; r < row_count; r++) {
        uint64_t sum_ns = 0;
        for (uint32_t n = 0; n < node_count; n++)
            sum_ns += own_above(nodes, n) == rows[r].label ? nodes[n].self.cpu_ns : 0;
        if (rows[r].label)
            CHECK_INT(sum_ns, rows[r].cpu_ns);
    }
    for (uint32_t n = 0; n < node_count; n++)
        all_ns += nodes[n].self.cpu_ns;
    CHECK_INT(all_ns, own_time_totals(own)->cpu_ns);
    own_tree_destroy(tree);
    end();
}
