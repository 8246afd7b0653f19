/* SPDX-License-Identifier: MIT */
/* Python programs under the whole sampler, with each interpreter of this machine: functions have
 * names, files and lines, in the right order, and correct shares. */
#include "interpreters.h"
#include "sampler_scene.h"

#include <math.h>
#include <stdio.h>

static const char script[] = "import time, threading, zlib\n"              /* 1 */
                             "def burn(end):\n"                            /* 2 */
                             "    n = 0\n"                                 /* 3 */
                             "    while time.thread_time() < end:\n"       /* 4 */
                             "        n += sum(i for i in range(200))\n"   /* 5 */
                             "def half(ms):\n"                             /* 6 */
                             "    burn(time.thread_time() + ms * .0005)\n" /* 7 */
                             "def third(ms):\n"                            /* 8 */
                             "    burn(time.thread_time() + ms * .0003)\n" /* 9 */
                             "def fifth(ms):\n"                            /* 10 */
                             "    burn(time.thread_time() + ms * .0002)\n" /* 11 */
                             "class Work:\n"                               /* 12 */
                             "    def run(self, ms):\n"                    /* 13 */
                             "        for i in range(10):\n"               /* 14 */
                             "            half(ms / 10)\n"                 /* 15 */
                             "            third(ms / 10)\n"                /* 16 */
                             "            fifth(ms / 10)\n"                /* 17 */
                             "def packed():\n"                             /* 18 */
                             "    data = bytes(range(256)) * 20000\n"      /* 19 */
                             "    for i in range(12):\n"                   /* 20 */
                             "        zlib.compress(data, 6)\n"            /* 21 */
                             "def main():\n"                               /* 22 */
                             "    t = threading.Thread(target=packed)\n"   /* 23 */
                             "    t.start(); t.join()\n"                   /* 24 */
                             "    Work().run(1500)\n"                      /* 25 */
                             "main()\n";

enum { DEPTH = 600 };

/* The Python frame of a sample by depth from the root; NULL: missing. */
static const struct frame *python_frame(const struct session *session, const struct sample *sample,
                                        unsigned wanted)
{
    static uint32_t frames[DEPTH];
    const struct stacks *stacks = trace_stacks_get(session->trace);
    uint32_t count = stacks_frames(stacks, sample->stack, frames, DEPTH);
    for (uint32_t i = 0; i < count; i++) {
        const struct frame *frame = stacks_get_frame(stacks, frames[i]);
        if (frame->kind == FRAME_PYTHON && wanted-- == 0)
            return frame;
    }
    return NULL;
}

/* A sample inside a known function must have the known callers, with their lines. */
static void check_callers(const struct session *session, const struct sample *sample,
                          const char *path, unsigned version)
{
    static const struct {
        const char *function, *qualified;
        int line, first_line;
    } callers[] = {
        {"<module>", "<module>", 26, 0},
        {"main", "main", 25, 22},
        {"run", "Work.run", 0, 13},
    };

    for (unsigned i = 0; i < 3; i++) {
        const struct frame *frame = python_frame(session, sample, i);
        CHECK(frame);
        CHECK_STR(frame_function(session, frame),
                  version >= 0x030b ? callers[i].qualified : callers[i].function);
        CHECK_STR(frame_file(session, frame), path);
        if (callers[i].line)
            CHECK_INT(frame->line, callers[i].line);
        if (callers[i].first_line)
            CHECK_INT(stacks_get_label(trace_stacks_get(session->trace), frame->label)->first_line,
                      callers[i].first_line);
    }
    const struct frame *work = python_frame(session, sample, 3);
    CHECK(work);
    const char *name = frame_function(session, work);
    int line = strcmp(name, "half") == 0 ? 7 : strcmp(name, "third") == 0 ? 9 : 11;
    CHECK_INT(work->line, line);
    CHECK_INT(python_frame(session, sample, 2)->line, line == 7 ? 15 : line == 9 ? 16 : 17);
}

static size_t check_samples(const struct session *session, const char *path, unsigned version)
{
    size_t inside = 0;
    for (size_t i = 0; i < session->samples.count; i++) {
        const struct sample *sample = &session->samples.items[i];
        if (!session_has(session, sample, "burn"))
            continue;
        inside++;
        check_callers(session, sample, path, version);
    }
    return inside;
}

static void check_near(double actual, double expected, double most)
{
    if (fabs(actual - expected) > most)
        test_fail(__FILE__, __LINE__, "%.1f is not %.1f +- %.1f", actual, expected, most);
}

static void run_one(const struct interpreter *interpreter, const char *path)
{
    struct sampler_options options = {.frequency_hz = 999};
    struct session *session = session_open(&options);
    char *const argv[] = {(char *)interpreter->command, (char *)path, NULL};
    CHECK_INT(session_run(session, argv), 0);
    session_finish(session);
    size_t python = 0;
    for (size_t i = 0; i < session->samples.count; i++)
        python += session->samples.items[i].python_end == STACK_COMPLETE;
    fprintf(stderr, "  %s: %zu samples, native complete %u, Python complete %zu, guessed %llu\n",
            interpreter->text, session->samples.count, session_complete(session), python,
            (unsigned long long)session_fact(session, "Python frames placed by order"));
    if (session_complete(session) < 990)
        session_print(session, 20);
    size_t inside = check_samples(session, path, interpreter->version);
    CHECK(inside > 1000);
    check_near(100.0 * (double)session_count(session, "half") / (double)inside, 50, 3);
    check_near(100.0 * (double)session_count(session, "third") / (double)inside, 30, 3);
    check_near(100.0 * (double)session_count(session, "fifth") / (double)inside, 20, 3);
    CHECK(session_count(session, "packed") > 50);
    CHECK(session_complete(session) >= 990);
    CHECK_INT(session_fact(session, "names of Python functions: not readable"), 0);
    session_close(session);
}

static const char garbage_script[] = "import gc, time\n"
                                     "class Node:\n"
                                     "    pass\n"
                                     "def collecting(keep):\n"
                                     "    end = time.thread_time() + .7\n"
                                     "    while time.thread_time() < end:\n"
                                     "        gc.collect()\n"
                                     "gc.disable()\n"
                                     "collecting([Node() for i in range(200000)])\n";

static void write_script(const char *path, const char *code)
{
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(code, file) >= 0);
    CHECK_INT(fclose(file), 0);
}

/* Nearly all time of `collecting` is garbage collection, which is its callee. */
static void run_garbage(const struct interpreter *interpreter, const char *path)
{
    struct sampler_options options = {.frequency_hz = 999};
    struct session *session = session_open(&options);
    char *const argv[] = {(char *)interpreter->command, (char *)path, NULL};
    CHECK_INT(session_run(session, argv), 0);
    session_finish(session);
    size_t inside = session_count(session, "collecting"), collector = 0;
    for (size_t i = 0; i < session->samples.count; i++)
        collector += session_has(session, &session->samples.items[i], "collecting") &&
                     session_has(session, &session->samples.items[i], "[garbage collector]");
    fprintf(stderr, "  %s: %zu of %zu in the collector\n", interpreter->text, collector, inside);
    CHECK(inside > 500);
    CHECK(collector * 100 > inside * 97);
    CHECK_INT(session_count(session, "[garbage collector]") - collector < inside / 20, true);
    session_close(session);
}

TEST_TIMEOUT(the_garbage_collector_is_a_frame_of_its_own, 200)
{
    static struct interpreter found[INTERPRETERS_MAX];
    char path[4200];
    size_t count = interpreters_find(found);
    if (count == 0)
        test_skip("no CPython here");
    snprintf(path, sizeof(path), "%s/garbage.py", test_directory());
    write_script(path, garbage_script);
    for (size_t i = 0; i < count; i++)
        run_garbage(&found[i], path);
}

TEST_TIMEOUT(functions_of_every_interpreter_have_names_lines_and_shares, 200)
{
    static struct interpreter found[INTERPRETERS_MAX];
    char path[4200];
    size_t count = interpreters_find(found);
    if (count == 0)
        test_skip("no CPython here");
    snprintf(path, sizeof(path), "%s/work.py", test_directory());
    write_script(path, script);
    for (size_t i = 0; i < count; i++)
        run_one(&found[i], path);
}
