/* SPDX-License-Identifier: MIT */
/* Layouts of interpreters: the offsets of the table and of _Py_DebugOffsets must equal those of the
 * interpreter's headers, and must lead to the threads of a running one. */
#include "interpreters.h"
#include "proc_info.h"
#include "python_runtime.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Reads the offsets from the interpreter's headers; false: it has no headers. */
static bool compile_offsets(const struct interpreter *interpreter, struct python_offsets *offsets)
{
    char path[1024], command[4096];
    snprintf(path, sizeof(path), "%s/internal/pycore_runtime.h", interpreter->include);
    if (access(path, R_OK) != 0)
        return false;
    snprintf(path, sizeof(path), "%s/layout.so", test_directory());
    snprintf(command, sizeof(command), "%s -shared -fPIC -fvisibility=hidden -I%s -I%s -o %s %s",
             getenv("ANNOT_TEST_CC"), interpreter->include, getenv("ANNOT_TEST_INCLUDE"), path,
             getenv("ANNOT_TEST_LAYOUT"));
    CHECK_INT(system(command), 0);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct elf_file *file;
    CHECK_INT(elf_file_open(fd, &file), 0);
    close(fd);
    CHECK(python_offsets_from_module(file, offsets));
    struct python_image image;
    CHECK(!python_image_find(file, &image));
    elf_file_close(file);
    return true;
}

static void check_same(const struct python_offsets *actual, const struct python_offsets *expected)
{
    const uint16_t *a = (const uint16_t *)actual, *e = (const uint16_t *)expected;
    for (size_t i = 0; i < sizeof(*actual) / sizeof(*a); i++)
        if (a[i] != e[i])
            test_fail(__FILE__, __LINE__, "%x: bytes %zu.. are %u, by the headers %u",
                      expected->version, i * 2, a[i], e[i]);
}

static const char sleeper[] =
    "import threading, time\n"
    "for i in range(3): threading.Thread(target=time.sleep, args=(99,), daemon=True).start()\n"
    "print(threading.get_ident(), flush=True); time.sleep(99)";

static uint64_t pointer_at(pid_t pid, uint64_t address)
{
    uint64_t value;
    CHECK_INT(proc_read_memory(pid, address, &value, sizeof(value)), sizeof(value));
    return value;
}

/* Four threads; the main one has the thread id that Python reports. */
static void check_threads(pid_t pid, const struct python_runtime *runtime, uint64_t main_ident)
{
    const struct python_offsets *o = &runtime->offsets;
    uint64_t interp = pointer_at(pid, runtime->runtime + o->runtime_interpreters_head);
    uint64_t tstate = pointer_at(pid, interp + o->interp_threads_head);
    int count = 0, mains = 0;
    for (; tstate && count < 9; count++) {
        CHECK(pointer_at(pid, tstate + o->tstate_interp) == interp);
        mains += pointer_at(pid, tstate + o->tstate_thread_id) == main_ident;
        if (o->tstate_native_thread_id != PYTHON_OFFSET_NONE &&
            pointer_at(pid, tstate + o->tstate_thread_id) == main_ident)
            CHECK_INT(pointer_at(pid, tstate + o->tstate_native_thread_id), pid);
        tstate = pointer_at(pid, tstate + o->tstate_next);
    }
    CHECK_INT(count, 4);
    CHECK_INT(mains, 1);
}

static void check_process(pid_t pid, const struct interpreter *interpreter, uint64_t main_ident)
{
    struct python_location location;
    struct python_runtime runtime;
    struct python_memory memory = python_memory_of(&pid);
    CHECK_INT(python_locate(pid, &location), 0);
    CHECK_INT(location.image.version, interpreter->version);
    CHECK(location.image.eval_size > 500 && location.image.runtime_size > 500);
    CHECK(!location.published);
    CHECK_INT(python_runtime_find(&location.image, location.bias, &memory, NULL, &runtime), 0);
    if (interpreter->version > 0x030f) {
        CHECK(strstr(runtime.reason, "newer"));
        return;
    }
    CHECK_STR(runtime.reason, "");
    check_threads(pid, &runtime, main_ident);
    struct python_offsets by_headers;
    if (compile_offsets(interpreter, &by_headers)) {
        check_same(&runtime.offsets, &by_headers);
        CHECK_INT(
            python_runtime_find(&location.image, location.bias, &memory, &by_headers, &runtime), 0);
        CHECK_STR(runtime.source, "pyannot");
        CHECK_STR(runtime.reason, "");
    }
    /* One wrong offset on the way to a thread must be detected. */
    uint16_t *planted[] = {&by_headers.tstate_interp, &by_headers.tstate_thread_id};
    for (size_t i = 0; i < 2; i++) {
        by_headers = runtime.offsets;
        *planted[i] += i ? 4096 : 8;
        int result =
            python_runtime_find(&location.image, location.bias, &memory, &by_headers, &runtime);
        CHECK(result == -EAGAIN || runtime.offsets.version == 0);
        CHECK_INT(python_runtime_find(&location.image, location.bias, &memory, NULL, &runtime), 0);
    }
}

TEST_TIMEOUT(offsets_are_those_of_the_headers_and_lead_to_the_threads, 120)
{
    struct interpreter found[INTERPRETERS_MAX];
    size_t count = interpreters_find(found);
    if (!count)
        test_skip("no CPython 3.9 or later here");
    for (size_t i = 0; i < count; i++) {
        char line[64];
        const char *arguments[] = {"-c", sleeper, NULL};
        struct interpreter_run run = interpreter_start(&found[i], arguments);
        interpreter_line(&run, line, sizeof(line));
        check_process(run.pid, &found[i], strtoull(line, NULL, 10));
        interpreter_stop(&run);
    }
}

/* The wheel's own build publishes its layout, which is used to read a process that imports it. */
TEST(pyannot_tells_the_layout_of_its_interpreter)
{
    const char *command = getenv("ANNOT_TEST_PYTHON"), *package = getenv("ANNOT_TEST_PYANNOT");
    char line[256], code[2048];
    struct interpreter interpreter = {0};
    struct python_location location;
    struct python_runtime runtime;
    if (!command || !package)
        test_skip("built without pyannot");
    snprintf(interpreter.command, sizeof(interpreter.command), "%s", command);
    snprintf(code, sizeof(code),
             "import sys; sys.path.insert(0, '%s'); import pyannot, threading, time\n"
             "print(hex(sys.hexversion >> 16), flush=True); time.sleep(99)",
             package);
    const char *arguments[] = {"-c", code, NULL};
    struct interpreter_run run = interpreter_start(&interpreter, arguments);
    struct python_memory memory = python_memory_of(&run.pid);
    interpreter_line(&run, line, sizeof(line));
    CHECK_INT(python_locate(run.pid, &location), 0);
    CHECK(location.published);
    CHECK_INT(location.offsets.version, strtoul(line, NULL, 16));
    CHECK_INT(
        python_runtime_find(&location.image, location.bias, &memory, &location.offsets, &runtime),
        0);
    CHECK_STR(runtime.source, "pyannot");
    CHECK_STR(runtime.reason, "");
    interpreter_stop(&run);
}

/* Words as published by an interpreter of 3.14 or 3.15, each with a distinct number. */
static void make_words(uint64_t words[PYTHON_DEBUG_OFFSETS_SIZE / 8], uint64_t version,
                       unsigned debugger)
{
    memset(words, 0, PYTHON_DEBUG_OFFSETS_SIZE);
    memcpy(words, "xdebugpy", 8);
    words[1] = version;
    for (unsigned i = 3; i < debugger + 6; i++)
        words[i] = 8ULL * i;
    words[debugger + 3] = 0;   /* the pending call */
    words[debugger + 4] = 4;   /* the path */
    words[debugger + 5] = 512; /* its size */
}

TEST(what_is_told_to_debuggers_is_found)
{
    static const struct {
        uint64_t version;
        unsigned debugger;
    } known[] = {{0x030e00f0, 89}, {0x030f02f0, 105}};

    uint64_t words[PYTHON_DEBUG_OFFSETS_SIZE / 8];
    const uint8_t *bytes = (const uint8_t *)words;
    struct python_debugger debugger;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        unsigned at = known[i].debugger;
        make_words(words, known[i].version, at);
        CHECK_INT(python_offsets_debugger(bytes, sizeof(words), &debugger), 0);
        CHECK_INT(debugger.interp_id, 7 * 8);
        CHECK_INT(debugger.interp_main_thread, 10 * 8);
        CHECK_INT(debugger.tstate_breaker, 8 * at);
        CHECK_INT(debugger.interp_enabled, 8 * (at + 2));
        CHECK_INT(debugger.tstate_pending, 8 * (at + 1));
        CHECK_INT(debugger.tstate_path, 8 * (at + 1) + 4);
        CHECK_INT(debugger.path_size, 512);
        CHECK_INT(python_offsets_debugger(bytes, (at + 5) * sizeof(words[0]), &debugger), -EBADMSG);
        words[at + 5] = 1 << 20;
        CHECK_INT(python_offsets_debugger(bytes, sizeof(words), &debugger), -EBADMSG);
        words[at + 5] = 512;
        words[1] = known[i].version - 0x40; /* a release candidate */
        CHECK_INT(python_offsets_debugger(bytes, sizeof(words), &debugger), -ENOTSUP);
    }
    make_words(words, 0x030d00f0, 89);
    CHECK_INT(python_offsets_debugger(bytes, sizeof(words), &debugger), -ENOTSUP);
    memset(words, 0xff, sizeof(words));
    CHECK_INT(python_offsets_debugger(bytes, sizeof(words), &debugger), -ENOTSUP);
}

TEST(a_process_without_an_interpreter_has_none)
{
    struct python_location location;
    CHECK_INT(python_locate(getpid(), &location), -ENOENT);
    CHECK_INT(python_locate(0x7ffffff0, &location), -ESRCH);
}

static int64_t read_nothing(void *context, uint64_t address, void *buffer, size_t size)
{
    (void)context, (void)address;
    memset(buffer, 0, size);
    return (int64_t)size;
}

/* The memory of a process that ends, or continues, between two reads. */
struct passing_memory {
    struct python_memory real;
    int reads, ends_at, torn_at;
};

static int64_t read_passing(void *context, uint64_t address, void *buffer, size_t size)
{
    struct passing_memory *passing = context;
    int read = passing->reads++;
    if (passing->ends_at >= 0 && read >= passing->ends_at)
        return -ESRCH;
    int64_t got = passing->real.read(passing->real.context, address, buffer, size);
    if (read == passing->torn_at && got > 0)
        memset(buffer, 0x5a, (size_t)got); /* freed and reused */
    return got;
}

/* Returns the number of reads. */
static int check_passing(const struct python_location *location, struct passing_memory *passing)
{
    const struct python_memory memory = {read_passing, passing};
    struct python_runtime runtime;
    passing->reads = 0;
    int result = python_runtime_find(&location->image, location->bias, &memory, NULL, &runtime);
    CHECK_STR(runtime.reason, "");
    CHECK(result == -EAGAIN || (result == 0 && runtime.offsets.version != 0));
    return passing->reads;
}

static void check_at_each_read(const struct interpreter *interpreter)
{
    const char *arguments[] = {"-c", sleeper, NULL};
    struct interpreter_run run = interpreter_start(interpreter, arguments);
    struct python_location location;
    char line[64];
    interpreter_line(&run, line, sizeof(line));
    CHECK_INT(python_locate(run.pid, &location), 0);
    struct passing_memory passing = {python_memory_of(&run.pid), 0, -1, -1};
    int reads = check_passing(&location, &passing);
    CHECK(reads > 4);
    /* The first reads are of the layout, which is constant. */
    int first = interpreter->version >= 0x030d;
    for (int i = first; i < reads; i++) {
        passing.torn_at = i;
        check_passing(&location, &passing);
    }
    passing.torn_at = -1;
    for (int i = 0; i < reads; i++) {
        passing.ends_at = i;
        check_passing(&location, &passing);
    }
    interpreter_stop(&run);
}

TEST_TIMEOUT(a_process_that_ends_or_runs_on_meanwhile_is_not_called_unreadable, 120)
{
    struct interpreter found[INTERPRETERS_MAX];
    size_t count = interpreters_find(found);
    if (!count)
        test_skip("no CPython 3.9 or later here");
    for (size_t i = 0; i < count; i++)
        if (found[i].version <= 0x030f)
            check_at_each_read(&found[i]);
}

TEST(an_unknown_interpreter_is_told_with_a_reason)
{
    struct python_memory memory = {read_nothing, NULL};
    struct python_runtime runtime;
    struct python_image image = {.runtime = 4096, .runtime_size = 4096, .version = 0x0308};
    CHECK_INT(python_runtime_find(&image, 0, &memory, NULL, &runtime), 0);
    CHECK_INT(runtime.offsets.version, 0);
    CHECK_STR(runtime.reason, "CPython 3.8: older than 3.9, its frames cannot be read");
    image.version = 0x030c;
    CHECK_INT(python_runtime_find(&image, 0, &memory, NULL, &runtime), -EAGAIN);
    image.flags = PYTHON_DEBUG_BUILD;
    CHECK_INT(python_runtime_find(&image, 0, &memory, NULL, &runtime), 0);
    CHECK(strstr(runtime.reason, "debug build"));
    image.version = 0x030e;
    CHECK_INT(python_runtime_find(&image, 0, &memory, NULL, &runtime), 0);
    CHECK(strstr(runtime.reason, "makes no sense"));
    image = (struct python_image){.pypy = true};
    CHECK_INT(python_runtime_find(&image, 0, &memory, NULL, &runtime), 0);
    CHECK_INT(runtime.offsets.version, 0);
    CHECK(strstr(runtime.reason, "PyPy"));
}

TEST(debug_offsets_are_bounded)
{
    uint64_t words[PYTHON_DEBUG_OFFSETS_SIZE / 8] = {0};
    struct python_offsets offsets;
    uint32_t version;
    memcpy(words, "xdebugpy", 8);
    words[1] = 0x030d00f0;
    for (size_t i = 3; i < 73; i++)
        words[i] = 8 * i;
    CHECK_INT(python_offsets_debug((uint8_t *)words, sizeof(words), &offsets, &version), 0);
    CHECK_INT(offsets.frame_owner, 33 * 8);
    CHECK_INT(python_offsets_debug((uint8_t *)words, 72 * 8, &offsets, &version), -EBADMSG);
    words[29] = 1 << 20;
    CHECK_INT(python_offsets_debug((uint8_t *)words, sizeof(words), &offsets, &version), -EBADMSG);
    words[1] = 0x031000f0;
    CHECK_INT(python_offsets_debug((uint8_t *)words, sizeof(words), &offsets, &version), -ENOTSUP);
    CHECK_INT(version, 0x0310);
    words[0]++;
    CHECK_INT(python_offsets_debug((uint8_t *)words, sizeof(words), &offsets, &version), -EBADMSG);
}

/* ---- Answers --------------------------------------------------------------------------------- */

static const struct python_runtime known = {.source = "table"},
                                   wrong = {.reason = "wrong", .doubtful = true},
                                   old = {.reason = "older than 3.9"};

TEST(what_looks_wrong_for_a_moment_is_not_believed)
{
    struct python_doubt doubt = {0};
    uint64_t ms = 1000000;
    for (unsigned i = 0; i < 400; i++) /* any number of times at one moment */
        CHECK(!python_answer_stands(&doubt, 0, &wrong, i * ms));
    CHECK(python_answer_stands(&doubt, 0, &known, 400 * ms));
    CHECK(!python_answer_stands(&doubt, 0, &wrong, 1000 * ms));
    CHECK(!python_answer_stands(&doubt, -EAGAIN, &known, 2000 * ms)); /* it starts again */
    CHECK(!python_answer_stands(&doubt, 0, &wrong, 2100 * ms));
    CHECK(!python_answer_stands(&doubt, 0, &wrong, 4000 * ms)); /* for a long time, but rarely */
    CHECK(!python_answer_stands(&doubt, 0, &wrong, 4100 * ms));
    CHECK(!python_answer_stands(&doubt, 0, &wrong, 4200 * ms));
    CHECK(python_answer_stands(&doubt, 0, &wrong, 4300 * ms));
}

TEST(other_answers_stand_at_once)
{
    struct python_doubt doubt = {0};
    CHECK(python_answer_stands(&doubt, 0, &known, 1));
    CHECK(python_answer_stands(&doubt, 0, &old, 1));
    CHECK(python_answer_stands(&doubt, -ESRCH, &known, 1));
    unsigned waits = 0;
    while (!python_answer_stands(&doubt, -EAGAIN, &known, 1) && waits < 10000)
        waits++;
    CHECK(waits > 100 && waits < 1000);
}
