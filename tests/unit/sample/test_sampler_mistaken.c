/* SPDX-License-Identifier: MIT */
/* Objects that reuse the address of others: functions that a Python program creates at run time,
 * and code that forked processes compile at one address. */
#include "interpreters.h"
#include "sampler_scene.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* One after the other, at the same addresses: only the file's name distinguishes them. */
static const char generated[] =
    "import time\n"
    "source = 'def spin():\\n  e = t() + .005\\n  while t() < e: pass\\nspin()\\n'\n"
    "def one(i):\n"
    "    names = {'t': time.thread_time}\n"
    "    exec(compile(source, '<made-%03d>' % (i % 5), 'exec'), names)\n"
    "    names.clear()\n"
    "end = time.thread_time() + .5\n"
    "i = 0\n"
    "while time.thread_time() < end:\n"
    "    one(i)\n"
    "    i += 1\n";

/* Concurrently, at the same addresses of forked processes. */
static const char forked[] = "import os, time\n"
                             "def one(i):\n"
                             "    names = {'t': time.thread_time}\n"
                             "    source = 'def spin%d():\\n  e = t() + .15\\n  while t() < e: "
                             "pass\\nspin%d()\\n' % (i, i)\n"
                             "    exec(compile(source, '<made-%03d>' % i, 'exec'), names)\n"
                             "for i in range(5):\n"
                             "    if os.fork() == 0:\n"
                             "        one(i)\n"
                             "        os._exit(0)\n"
                             "for i in range(5):\n"
                             "    os.wait()\n";

/* The two innermost Python frames, innermost first. */
static bool innermost(const struct session *session, const struct sample *sample,
                      const struct frame *ret_frames[2])
{
    static uint32_t frames[600];
    const struct stacks *stacks = trace_stacks_get(session->trace);
    uint32_t found = 0;
    for (uint32_t i = stacks_frames(stacks, sample->stack, frames, 600); i > 0 && found < 2; i--) {
        const struct frame *frame = stacks_get_frame(stacks, frames[i - 1]);
        if (frame->kind == FRAME_PYTHON)
            ret_frames[found++] = frame;
    }
    return found == 2;
}

/* A function called from a generated file must belong to that file. */
static void check_made(const struct session *session, bool numbered)
{
    unsigned seen[5] = {0};
    for (size_t i = 0; i < session->samples.count; i++) {
        const struct frame *frames[2];
        unsigned file, number;
        if (!innermost(session, &session->samples.items[i], frames) ||
            strncmp(frame_function(session, frames[0]), "spin", 4) != 0)
            continue;
        CHECK_STR(frame_file(session, frames[0]), frame_file(session, frames[1]));
        CHECK_INT(sscanf(frame_file(session, frames[0]), "<made-%u>", &file), 1);
        CHECK(file < 5);
        if (numbered)
            CHECK_INT(sscanf(frame_function(session, frames[0]), "spin%u", &number), 1);
        CHECK(!numbered || number == file);
        seen[file]++;
    }
    fprintf(stderr, "    %u %u %u %u %u\n", seen[0], seen[1], seen[2], seen[3], seen[4]);
    unsigned all = seen[0] + seen[1] + seen[2] + seen[3] + seen[4];
    CHECK(all > 200);
    for (unsigned i = 0; i < 5; i++)
        CHECK(seen[i] * 10 > all); /* a fifth each */
}

static void run_script(const struct interpreter *interpreter, const char *code, bool numbered)
{
    char path[4200];
    struct sampler_options options = {.frequency_hz = 999};
    snprintf(path, sizeof(path), "%s/made.py", test_directory());
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(code, file) >= 0);
    CHECK_INT(fclose(file), 0);
    struct session *session = session_open(&options);
    char *const argv[] = {(char *)interpreter->command, path, NULL};
    CHECK_INT(session_run(session, argv), 0);
    session_finish(session);
    fprintf(stderr, "  %s: %zu samples\n", interpreter->text, session->samples.count);
    check_made(session, numbered);
    session_close(session);
}

static void with_each(const char *code, bool numbered)
{
    static struct interpreter found[INTERPRETERS_MAX];
    size_t count = interpreters_find(found);
    if (count == 0)
        test_skip("no CPython here");
    for (size_t i = 0; i < count; i++)
        run_script(&found[i], code, numbered);
}

TEST_TIMEOUT(a_function_made_where_another_was_has_its_own_name, 100)
{
    with_each(generated, false);
}

TEST_TIMEOUT(functions_made_by_forked_processes_are_not_mixed_up, 100)
{
    with_each(forked, true);
}

/* ---- Code without a file ---- */

enum { SIBLINGS = 3 };

/* 1: dec rdi; jnz 1b; ret */
static const unsigned char loop[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};

/* Its map exists while it runs. */
static void run_code(const void *code, const char *name)
{
    char path[64];
    void (*compiled)(uint64_t);
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    FILE *file = fopen(path, "we");
    if (!file)
        _exit(1);
    fprintf(file, "%lx %zx %s\n", (unsigned long)(uintptr_t)code, sizeof(loop), name);
    fclose(file);
    memcpy(&compiled, &code, sizeof(compiled));
    compiled(1500000000);
    unlink(path);
}

/* Each child compiles a different function, all at one address. */
static int fork_and_compile(void *context)
{
    void *memory =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char name[32];
    int status, failed = memory == MAP_FAILED;
    (void)context;
    for (int i = 0; i < SIBLINGS && !failed; i++) {
        if (fork() != 0)
            continue;
        memcpy(memory, loop, sizeof(loop));
        snprintf(name, sizeof(name), "sibling_%d", i);
        run_code(memory, name);
        _exit(0);
    }
    while (wait(&status) > 0)
        failed |= status != 0;
    return failed;
}

static const struct trace_process *process_of(const struct session *session,
                                              const struct sample *sample)
{
    return trace_process_get(session->trace,
                             trace_thread_get(session->trace, sample->thread)->process);
}

TEST(code_that_forked_processes_compile_at_one_address_has_its_own_names)
{
    struct sampler_options options = {.frequency_hz = 999};
    struct session *session = session_open(&options);
    int32_t pids[SIBLINGS] = {0};
    size_t seen[SIBLINGS] = {0}, mixed = 0;
    struct session_child child = session_fork(session, fork_and_compile, NULL);
    session_go(&child);
    CHECK_INT(session_wait(session, child.pid), 0);
    session_finish(session);
    for (size_t i = 0; i < session->samples.count; i++) {
        const struct sample *sample = &session->samples.items[i];
        int32_t pid = process_of(session, sample)->pid;
        unsigned number;
        if (sscanf(session_leaf(session, sample), "sibling_%u", &number) != 1)
            continue;
        CHECK(number < SIBLINGS);
        pids[number] = pids[number] ? pids[number] : pid;
        mixed += pids[number] != pid;
        seen[number]++;
    }
    fprintf(stderr, "  %zu %zu %zu, %zu mixed up\n", seen[0], seen[1], seen[2], mixed);
    for (int i = 0; i < SIBLINGS; i++)
        CHECK(seen[i] > 100);
    CHECK_INT(mixed, 0);
    session_close(session);
}
