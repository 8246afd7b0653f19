/* SPDX-License-Identifier: MIT */
/* Lines that interpreters left in the session's file: use of complete ones, and rejection of
 * others. */
#include "annot_wire.h"
#include "intake.h"
#include "python_lines.h"
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct trace *read_lines(struct trace *trace, const char *lines)
{
    char *copy = strdup(lines);
    CHECK_INT(python_lines_read(copy, strlen(copy), trace), 0);
    free(copy);
    return trace;
}

/* A process with this pid and number of received events. */
static void add_process(struct trace *trace, int32_t pid, uint64_t event_count)
{
    int64_t ordinal = trace_process_add(trace);
    CHECK(ordinal >= 0);
    trace_process(trace, (uint32_t)ordinal)->ns_pid = pid;
    trace_process(trace, (uint32_t)ordinal)->event_count = event_count;
}

static bool has_note(const struct trace *trace, const char *part)
{
    for (uint32_t i = 0; i < trace_fact_count(trace); i++) {
        const struct trace_fact *fact = trace_fact_get(trace, i);
        if (fact->kind == FACT_NOTE && strstr(trace_string(trace, fact->name)->bytes, part))
            return true;
    }
    return false;
}

TEST(who_has_no_pyannot_is_named_with_the_remedy_and_counted)
{
    struct trace *trace = trace_create();
    read_lines(trace, "missing\t7\t/opt/python\tcpython-39\tnot installed\n"
                      "missing\t8\t/opt/python\tcpython-39\tnot installed\n"
                      "missing\t9\t/opt/other\tcpython-310\tRuntimeError: broken\n");
    CHECK_INT(trace_fact_value(trace, "Python without pyannot: /opt/python (cpython-39): not "
                                      "installed; in annot's source: /opt/python -m pip install ."),
              2);
    CHECK(has_note(
        trace,
        "RuntimeError: broken; in annot's source: /opt/other -m pip install --force-reinstall ."));
    trace_destroy(trace);
}

TEST(parts_are_counted_by_process)
{
    struct trace *trace = trace_create();
    read_lines(trace, "python\t7\t/opt/python\tcpython-39\t0\tnames,gc\n"
                      "python\t8\t/opt/python\tcpython-39\t0\tnames\n"
                      "forked\t9\t0\n"
                      "part\t8\tpools\ton\n"
                      "part\t8\tasyncio\tAttributeError: run\n");
    CHECK_INT(trace_fact_value(trace, "Python processes with pyannot"), 3);
    CHECK_INT(trace_fact_value(trace, "Python processes: names observed"), 2);
    CHECK_INT(trace_fact_value(trace, "Python processes: gc observed"), 1);
    CHECK_INT(trace_fact_value(trace, "Python processes: pools observed"), 1);
    CHECK(has_note(trace, "pyannot does not observe asyncio: AttributeError: run"));
    trace_destroy(trace);
}

TEST(a_forked_child_counts_for_what_its_parent_observed)
{
    struct trace *trace = trace_create();
    read_lines(trace, "python\t7\t/opt/python\tcpython-39\t0\tnames,gc\n"
                      "forked\t8\t0\tnames,gc\n"
                      "forked\t9\t0\tnames,gc,pools\n"
                      "forked\t10\t0\t\n");
    CHECK_INT(trace_fact_value(trace, "Python processes with pyannot"), 4);
    CHECK_INT(trace_fact_value(trace, "Python processes: names observed"), 3);
    CHECK_INT(trace_fact_value(trace, "Python processes: gc observed"), 3);
    CHECK_INT(trace_fact_value(trace, "Python processes: pools observed"), 1);
    trace_destroy(trace);
}

TEST(what_was_emitted_and_did_not_arrive_is_told)
{
    struct trace *trace = trace_create();
    add_process(trace, 7, 1);
    add_process(trace, 8, 0);
    read_lines(trace, "python\t7\tx\tx\t1\t\nforked\t7\t1\n");
    CHECK(!has_note(trace, "nothing of it arrived"));
    read_lines(trace, "python\t8\tx\tx\t1\t\n");
    CHECK(has_note(trace, "pyannot ran in a Python process, and nothing of it arrived."));
    read_lines(trace, "forked\t9\t1\n");
    CHECK(has_note(trace, "was forked with pyannot, and nothing of it arrived."));
    read_lines(trace, "thread\t7\t70\t1\n");
    CHECK(has_note(trace, "A second thread of Python recorded, and nothing of it arrived."));
    trace_destroy(trace);
}

TEST(what_was_not_emitted_or_was_counted_as_lost_is_not_missed)
{
    struct trace *trace = trace_create();
    add_process(trace, 7, 0);
    trace_process(trace, 0)->lost[LOSS_OVERWRITTEN] = 3;
    read_lines(trace, "python\t7\tx\tx\t1\t\nforked\t8\t0\nthread\t7\t70\t0\n");
    CHECK(!has_note(trace, "arrived"));
    trace_destroy(trace);
}

TEST(what_a_filter_held_back_is_not_missed)
{
    struct trace *trace = trace_create();
    CHECK(trace_filter_add(trace, &(struct trace_filter){0}) >= 0);
    read_lines(trace, "python\t8\tx\tx\t1\t\n");
    CHECK(!has_note(trace, "arrived"));
    trace_destroy(trace);
}

TEST(lines_that_are_none_are_passed_over)
{
    struct trace *trace = trace_create();
    char longer[2 * PYTHON_LINE_BYTES];
    memset(longer, 'x', sizeof(longer));
    memcpy(longer, "missing\t1\t", 10);
    longer[sizeof(longer) - 2] = '\n';
    longer[sizeof(longer) - 1] = 0;
    read_lines(trace, longer);
    read_lines(trace, "\n\t\nmissing\nmissing\t1\t2\t3\npython\t1\nnew kind\t1\t2\nforked\t-1\t1\n"
                      "forked\t99999999999999999999\t1\nthread\t\t\t1\nmissing\t7\ta\tb\tc");
    CHECK_INT(trace_fact_count(trace), 1); /* the two forks are counted */
    CHECK_INT(trace_fact_value(trace, "Python processes with pyannot"), 2);
    trace_destroy(trace);
}

TEST(recordings_of_sessions_inside_are_listed_once_each)
{
    struct trace *trace = trace_create();
    read_lines(trace, "nested\t/a b\tc\nnested\t/a\nnested\t\nnested\t/a\nnested\t/cut");
    CHECK_STR(trace_string(trace, trace_session(trace)->nested)->bytes, "/a b\tc\n/a");
    trace_destroy(trace);
}

TEST(different_notes_have_an_end)
{
    struct trace *trace = trace_create();
    char lines[128 * 64] = "";
    for (int i = 0; i < 128; i++)
        snprintf(lines + strlen(lines), sizeof(lines) - strlen(lines),
                 "missing\t1\t/opt/%d\tx\tnot installed\n", i);
    read_lines(trace, lines);
    CHECK_INT(trace_fact_count(trace), PYTHON_NOTES_MAX);
    trace_destroy(trace);
}

TEST(any_bytes_do_no_harm)
{
    static const char alphabet[] = "\t\t\t\n\n,0179-\xff"
                                   "abc";
    static const char *const words[] = {"python", "forked", "thread", "part", "missing", "on"};
    unsigned seed = 1;
    for (int round = 0; round < 2000; round++) {
        struct trace *trace = trace_create();
        char bytes[512];
        size_t size = 0;
        while (size < sizeof(bytes) - 8) {
            const char *word = words[rand_r(&seed) % 6];
            size_t length = rand_r(&seed) % 3 == 0 ? strlen(word) : 0;
            memcpy(bytes + size, word, length);
            size += length;
            bytes[size++] = alphabet[(unsigned)rand_r(&seed) % sizeof(alphabet)];
        }
        CHECK_INT(python_lines_read(bytes, size, trace), 0);
        trace_destroy(trace);
    }
}

TEST(they_stand_behind_the_two_pages_of_the_file)
{
    static const struct annot_session session;
    static const char line[] = "forked\t7\t0\n";
    char path[4200];
    struct trace *trace = trace_create();
    snprintf(path, sizeof(path), "%s/session", test_directory());
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND, 0600);
    CHECK(fd >= 0);
    CHECK_INT(write(fd, &session, sizeof(session)), sizeof(session));
    CHECK_INT(python_lines_take(fd, trace), 0);
    CHECK_INT(trace_fact_count(trace), 0);
    CHECK_INT(write(fd, line, strlen(line)), strlen(line));
    CHECK_INT(python_lines_take(fd, trace), 0);
    CHECK_INT(trace_fact_value(trace, "Python processes with pyannot"), 1);
    CHECK_INT(python_lines_take(-1, trace), 0);
    close(fd);
    trace_destroy(trace);
}
