/* SPDX-License-Identifier: MIT */
/* Readable names, the ends of processes, and their order. */
#include "test.h"
#include "trace.h"

#include <signal.h>
#include <stdio.h>

static uint32_t text(struct trace *trace, const char *bytes)
{
    return (uint32_t)trace_string_add(trace, bytes, strlen(bytes));
}

static uint32_t add_process(struct trace *trace, const char *cmdline, int32_t parent,
                            int64_t start_ns)
{
    uint32_t ordinal = (uint32_t)trace_process_add(trace);
    struct trace_process *process = trace_process(trace, ordinal);
    process->pid = 100 + (int32_t)ordinal;
    process->ns_pid = process->pid;
    process->parent = parent;
    process->start_ns = start_ns;
    process->cmdline = text(trace, cmdline);
    return ordinal;
}

static uint32_t add_fork(struct trace *trace, int32_t parent, int64_t start_ns)
{
    uint32_t ordinal = add_process(trace, "", parent, start_ns);
    trace_process(trace, ordinal)->cmdline = trace_process_get(trace, (uint32_t)parent)->cmdline;
    trace_process(trace, ordinal)->forked = true;
    return ordinal;
}

static const char *label(const struct trace *trace, uint32_t process)
{
    static char buffer[256];
    size_t length = trace_process_label(trace, process, buffer, sizeof(buffer));
    CHECK_INT(length, strlen(buffer));
    return buffer;
}

TEST(names_of_labels_are_names_of_their_own)
{
    struct trace *trace = trace_create();
    uint32_t run = text(trace, "run"), first = text(trace, "a.py"), second = text(trace, "b.py");
    uint32_t labels[2] = {(uint32_t)trace_python_label(trace, run, first, 3),
                          (uint32_t)trace_python_label(trace, run, second, 3)};
    uint32_t names[2];
    for (int i = 0; i < 2; i++) {
        names[i] = (uint32_t)trace_label_name(trace, labels[i]);
        CHECK_INT(trace_label_name(trace, labels[i]), names[i]);
        CHECK_INT(trace_name_label(trace, names[i]), labels[i]);
        CHECK_STR(trace_string(trace, names[i])->bytes, "run");
    }
    CHECK(names[0] != names[1]);
    CHECK_INT(text(trace, "run"), run);
    CHECK_INT(trace_name_label(trace, run), 0);
    CHECK_INT(trace_name_label(trace, 1 << 30), 0);
    CHECK_INT(trace_label_name(trace, 0), 0);
    CHECK_INT(trace_label_name(trace, 1 << 30), 0);
    trace_destroy(trace);
}

TEST(names_of_what_is_not_there_are_none)
{
    static const struct trace_label_name wrong[] = {{0, 1}, {1, 0}, {1, 2}, {2000000000, 1}};
    struct trace *trace = trace_create();
    CHECK_INT(trace_python_label(trace, text(trace, "run"), 0, 1), 1);
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        CHECK_INT(trace_label_name_append(trace, &wrong[i]), 0);
        CHECK_INT(trace_label_name_get(trace, i)->label, 0);
        CHECK_INT(trace_name_label(trace, wrong[i].string), 0);
    }
    CHECK_INT(trace_label_name_count(trace), 4);
    trace_destroy(trace);
}

TEST(command_lines_become_programs_and_scripts)
{
    static const struct {
        const char *cmdline, *label;
    } cases[] = {
        {"python3 pipeline.py --x", "python3 pipeline.py"},
        {"/usr/bin/python3.11 -u -X dev -W ignore /srv/job/pipeline.py", "python3.11 pipeline.py"},
        {"python3 -m http.server 8000", "python3 -m http.server"},
        {"python3 -c 'print(1)'", "python3 -c"},
        {"python3", "python3"},
        {"/opt/tool/render --threads 4", "render"},
        {"'/opt/my tool/render' x", "render"},
        {"/opt/my\\ tool/re\\'nder x", "re'nder"},
        {"bash -x ./build.sh all", "bash build.sh"},
        {"-bash", "bash"},
        {"sh -c 'make; make test'", "sh -c"},
        {"node --inspect server.js", "node server.js"},
        {"shred file", "shred"},
        {"a/b/", "a/b/"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct trace *trace = trace_create();
        add_process(trace, cases[i].cmdline, -1, 1);
        CHECK_STR(label(trace, 0), cases[i].label);
        trace_destroy(trace);
    }
}

TEST(pool_workers_are_numbered_by_start)
{
    struct trace *trace = trace_create();
    uint32_t main_process = add_process(trace, "python3 pipeline.py --x", -1, 100);
    uint32_t late = add_fork(trace, (int32_t)main_process, 300);
    uint32_t early = add_fork(trace, (int32_t)main_process, 200);
    uint32_t named = add_fork(trace, (int32_t)main_process, 150);
    uint32_t tied = add_fork(trace, (int32_t)main_process, 300);
    uint32_t grandchild = add_fork(trace, (int32_t)early, 250);
    trace_process(trace, named)->name = text(trace, "loader");
    CHECK_STR(label(trace, main_process), "python3 pipeline.py");
    CHECK_STR(label(trace, early), "python3 pipeline.py (worker 1)");
    CHECK_STR(label(trace, late), "python3 pipeline.py (worker 2)");
    CHECK_STR(label(trace, tied), "python3 pipeline.py (worker 3)");
    CHECK_STR(label(trace, named), "loader");
    CHECK_STR(label(trace, grandchild), "python3 pipeline.py (worker 1.1)");
    trace_process(trace, main_process)->name = text(trace, "Pipeline \xc3\xa4");
    CHECK_STR(label(trace, early), "Pipeline \xc3\xa4 (worker 1)");
    trace_destroy(trace);
}

TEST(spawn_and_forkserver_workers_are_told_apart)
{
    struct trace *trace = trace_create();
    int32_t parent = (int32_t)add_process(trace, "python3 pipeline.py", -1, 100);
    const char *spawn = "/usr/bin/python3 -c 'from multiprocessing.spawn import spawn_main; "
                        "spawn_main(tracker_fd=5, pipe_handle=%d)' --multiprocessing-fork";
    const char *server =
        "/usr/bin/python3 -c 'from multiprocessing.forkserver import main; main()'";
    const char *tracker =
        "/usr/bin/python3 -c 'from multiprocessing.resource_tracker import main;main(4)'";
    uint32_t second = add_process(trace, spawn, parent, 300);
    uint32_t first = add_process(trace, spawn, parent, 200);
    uint32_t orphan = add_process(trace, spawn, -1, 400);
    uint32_t fork_server = add_process(trace, server, parent, 150);
    uint32_t served = add_fork(trace, (int32_t)fork_server, 160);
    CHECK_STR(label(trace, first), "python3 pipeline.py (spawned worker 1)");
    CHECK_STR(label(trace, second), "python3 pipeline.py (spawned worker 2)");
    CHECK_STR(label(trace, orphan), "python3 (spawned worker)");
    CHECK_STR(label(trace, fork_server), "python3 pipeline.py (forkserver)");
    CHECK_STR(label(trace, served), "python3 pipeline.py (forkserver worker 1)");
    CHECK_STR(label(trace, add_process(trace, tracker, parent, 150)),
              "python3 pipeline.py (resource tracker)");
    trace_destroy(trace);
}

TEST(forkserver_workers_without_their_server_are_numbered)
{
    struct trace *trace = trace_create();
    const char *server =
        "/usr/bin/python3 -c 'from multiprocessing.forkserver import main; main()'";
    uint32_t second = add_process(trace, server, -1, 300);
    uint32_t first = add_process(trace, server, -1, 200);
    CHECK_STR(label(trace, first), "python3 (forkserver worker 1)");
    CHECK_STR(label(trace, second), "python3 (forkserver worker 2)");
    trace_destroy(trace);
}

TEST(processes_without_command_line_have_a_name)
{
    struct trace *trace = trace_create();
    uint32_t process = add_process(trace, "", -1, 1);
    CHECK_STR(label(trace, process), "process 100");
    trace_process(trace, process)->comm = text(trace, "kworker");
    CHECK_STR(label(trace, process), "kworker");
    CHECK_STR(label(trace, 99), "unknown process");
    trace_destroy(trace);
}

TEST(labels_fit_their_buffer_and_stay_text)
{
    struct trace *trace = trace_create();
    char buffer[8];
    uint32_t process = add_process(trace, "x", -1, 1);
    trace_process(trace, process)->name = text(trace, "abcdef\xc3\xa4ghi");
    CHECK_INT(trace_process_label(trace, process, buffer, sizeof(buffer)), 6);
    CHECK_STR(buffer, "abcdef"); /* the two-byte character does not fit and is omitted */
    CHECK_INT(trace_process_label(trace, process, buffer, 1), 0);
    trace_destroy(trace);
}

TEST(ends_are_told_as_people_say_them)
{
    static const struct {
        enum process_end end;
        int32_t value;
        const char *text;
    } cases[] = {
        {PROCESS_RUNNING, 0, "still running"},
        {PROCESS_EXITED, 0, "exit 0"},
        {PROCESS_EXITED, 3, "exit 3"},
        {PROCESS_SIGNALED, SIGKILL, "killed by SIGKILL"},
        {PROCESS_SIGNALED, SIGSEGV, "killed by SIGSEGV"},
        {PROCESS_EXEC, 0, "exec"},
        {PROCESS_SIGNALED, 999, "killed by signal 999"},
        {PROCESS_EXITED_ORDERLY, 0, "exited"},
        {PROCESS_VANISHED, 0, "ended, status unknown"},
        {PROCESS_UNRECORDED, 0, "not recorded"},
    };
    struct trace *trace = trace_create();
    char buffer[64];
    uint32_t process = add_process(trace, "x", -1, 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        trace_process(trace, process)->end = (uint8_t)cases[i].end;
        trace_process(trace, process)->end_value = cases[i].value;
        trace_process_end_label(trace, process, buffer, sizeof(buffer));
        CHECK_STR(buffer, cases[i].text);
    }
    trace_destroy(trace);
}

TEST(threads_have_names)
{
    struct trace *trace = trace_create();
    char buffer[64];
    uint32_t process = add_process(trace, "x", -1, 1);
    trace_process(trace, process)->comm = text(trace, "x");
    for (uint32_t i = 0; i < 5; i++) {
        struct trace_thread *thread = trace_thread(trace, (uint32_t)trace_thread_add(trace, 0));
        thread->tid = i == 4 ? 0 : 100 + (int32_t)i;
        thread->serial = i + 1;
        thread->comm = text(trace, i == 2 ? "io" : "x");
        thread->name = i == 3 ? text(trace, "reader") : 0;
    }
    static const char *const expected[] = {"main",   "thread 101", "io",
                                           "reader", "thread #5",  "unknown thread"};
    for (uint32_t i = 0; i < 6; i++) {
        trace_thread_label(trace, i, buffer, sizeof(buffer));
        CHECK_STR(buffer, expected[i]);
    }
    trace_destroy(trace);
}

TEST(processes_come_as_trees_by_start)
{
    struct trace *trace = trace_create();
    uint32_t order[8];
    add_process(trace, "grandchild", 2, 50); /* 0 */
    add_process(trace, "main", -1, 10);      /* 1 */
    add_process(trace, "second", 1, 30);     /* 2 */
    add_process(trace, "first", 1, 20);      /* 3 */
    add_process(trace, "other", 77, 40);     /* 4: its parent is missing from the recording */
    CHECK_INT(trace_process_order(trace, order), 0);
    static const uint32_t expected[] = {1, 3, 2, 0, 4};
    for (size_t i = 0; i < 5; i++)
        CHECK_INT(order[i], expected[i]);
    trace_destroy(trace);
}

TEST(cycles_of_parents_end)
{
    struct trace *trace = trace_create();
    char buffer[64];
    uint32_t order[4];
    bool seen[4] = {false};
    for (int32_t i = 0; i < 4; i++) {
        add_process(trace, "x", (i + 1) % 3, 1);
        trace_process(trace, (uint32_t)i)->forked = true;
    }
    trace_process(trace, 3)->parent = 3;
    CHECK_INT(trace_process_order(trace, order), 0);
    for (int i = 0; i < 4; i++) {
        CHECK(order[i] < 4 && !seen[order[i]]);
        seen[order[i]] = true;
        trace_process_label(trace, (uint32_t)i, buffer, sizeof(buffer));
    }
    trace_destroy(trace);
}

TEST(strings_are_kept_once_and_made_text)
{
    struct trace *trace = trace_create();
    uint32_t load = text(trace, "load");
    const struct trace_string *string = trace_string(trace, load);
    CHECK_INT(text(trace, ""), 0);
    CHECK_INT(trace_string_add(trace, "a\0b\xff\xc3", 5), load + 1);
    CHECK_STR(trace_string(trace, load + 1)->bytes, "a\xef\xbf\xbd"
                                                    "b\xef\xbf\xbd\xef\xbf\xbd");
    for (int i = 0; i < 100000; i++) {
        char name[32];
        int length = snprintf(name, sizeof(name), "name %d", i);
        CHECK_INT(trace_string_add(trace, name, (size_t)length), i + 3);
    }
    CHECK_INT(text(trace, "load"), load);
    CHECK(trace_string(trace, load) == string); /* its address is unchanged */
    CHECK_INT(text(trace, "name 99999"), 100002);
    CHECK_INT(trace_string_append(trace, "load", 4), 100003);
    CHECK_INT(text(trace, "load"), load);
    CHECK_STR(trace_string(trace, 200000)->bytes, "<unknown name 200000>");
    trace_destroy(trace);
}
