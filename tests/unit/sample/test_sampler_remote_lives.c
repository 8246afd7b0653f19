/* SPDX-License-Identifier: MIT */
/* Lives under the rung of remote reads: threads and processes end in the trace when they end, with
 * their status; a reused tid or pid is another thread or process. */
#include "clock_now.h"
#include "interpreters.h"
#include "proc_info.h"
#include "sampler_scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_HERE = 77 };

/* Common part of the scripts; number() makes the kernel assign the wanted pid or tid next. */
static const char tools[] = "import os, signal, sys, threading, time\n"
                            "def burn(ms):\n"
                            "    end = time.thread_time() + ms * .001\n"
                            "    while time.thread_time() < end:\n"
                            "        sum(range(200))\n"
                            "def first(ms): burn(ms)\n"
                            "def second(ms): burn(ms)\n"
                            "def number(wanted):\n"
                            "    try:\n"
                            "        with open('/proc/sys/kernel/ns_last_pid', 'w') as file:\n"
                            "            file.write(str(wanted - 1))\n"
                            "    except OSError:\n"
                            "        sys.exit(77)\n";

static const char ends[] = "def child(end):\n"
                           "    pid = os.fork()\n"
                           "    if pid == 0:\n"
                           "        first(300)\n"
                           "        end()\n"
                           "    os.waitpid(pid, 0)\n"
                           "child(lambda: os._exit(3))\n"
                           "child(lambda: os.kill(os.getpid(), signal.SIGKILL))\n"
                           "second(200)\n"
                           "os._exit(5)\n";

static const char leaderless[] = "import ctypes\n"
                                 "def rest():\n"
                                 "    burn(600)\n"
                                 "    os._exit(4)\n"
                                 "threading.Thread(target=rest).start()\n"
                                 "burn(100)\n"
                                 "ctypes.CDLL(None).pthread_exit(None)\n";

static const char same_tid[] = "found = threading.Thread(target=first, args=(300,))\n"
                               "found.start()\n"
                               "found.join()\n"
                               "wanted, go = found.native_id, threading.Event()\n"
                               "def work(me):\n"
                               "    go.wait()\n"
                               "    if threading.get_native_id() == wanted: second(300)\n"
                               "for i in range(200):\n"
                               "    number(wanted)\n"
                               "    thread = threading.Thread(target=work, args=(i,))\n"
                               "    thread.start()\n"
                               "    if thread.native_id == wanted: break\n"
                               "go.set()\n"
                               "thread.join()\n"
                               "burn(300)\n"
                               "os._exit(0 if thread.native_id == wanted else 77)\n";

static const char same_pid[] = "wanted = os.fork()\n"
                               "if wanted == 0:\n"
                               "    first(300)\n"
                               "    os._exit(1)\n"
                               "os.waitpid(wanted, 0)\n"
                               "for i in range(200):\n"
                               "    number(wanted)\n"
                               "    pid = os.fork()\n"
                               "    if pid == 0:\n"
                               "        if os.getpid() == wanted: second(300)\n"
                               "        os._exit(2)\n"
                               "    os.waitpid(pid, 0)\n"
                               "    if pid == wanted: os._exit(0)\n"
                               "os._exit(77)\n";

/* True if the kernel keeps the status of children reaped by others: from Linux 6.15 on. */
static bool kernel_remembers(void)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(1);
    int fd = proc_end_open(pid);
    CHECK_INT(waitpid(pid, NULL, 0), pid);
    bool known = fd >= 0 && proc_end_status(fd, pid, &status) == 1;
    close(fd);
    return known;
}

/* The sampler reserves the last descriptors for other work. */
static void leave_few_files(void)
{
    struct rlimit few;
    int next = dup(0);
    close(next);
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &few), 0);
    few.rlim_cur = (rlim_t)next + 16;
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &few), 0);
}

static struct session *run(const char *script, int wanted_status, bool few_files)
{
    static struct interpreter found[INTERPRETERS_MAX];
    struct sampler_options options = {.frequency_hz = 199, .rung_max = SAMPLING_REMOTE};
    char path[4200];
    if (!interpreters_find(found))
        test_skip("no CPython 3.9 or later here");
    snprintf(path, sizeof(path), "%s/script.py", test_directory());
    FILE *file = fopen(path, "w");
    CHECK(file && fprintf(file, "%s%s", tools, script) > 0 && fclose(file) == 0);
    char *const argv[] = {found[0].command, path, NULL};
    struct session *session = session_open(&options);
    CHECK_INT(trace_sampling_get(session->trace)->rung, SAMPLING_REMOTE);
    if (few_files)
        leave_few_files();
    struct session_child child = session_start(session, argv);
    session_go(&child);
    int status = session_wait(session, child.pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_HERE)
        test_skip("numbers of processes cannot be chosen here");
    CHECK_INT(status, wanted_status);
    lives_wait(session->lives, child.pid, clock_now_ns(), status);
    session_finish(session);
    return session;
}

/* The thread of the last sample in that function, which has all but the first few of them: a reused
 * number is detected late. */
static const struct trace_thread *thread_in(const struct session *session, const char *function)
{
    size_t all = 0, others = 0;
    const struct trace_thread *found = NULL;
    for (size_t i = session->samples.count; i-- > 0;) {
        const struct sample *sample = &session->samples.items[i];
        if (!session_has(session, sample, function))
            continue;
        const struct trace_thread *thread = trace_thread_get(session->trace, sample->thread);
        found = found ? found : thread;
        all++;
        others += found != thread;
    }
    if (!found || others * 10 > all)
        session_print(session, 400);
    CHECK(found && others * 10 <= all);
    return found;
}

static int64_t last_in(const struct session *session, const char *function)
{
    int64_t last_ns = 0;
    for (size_t i = 0; i < session->samples.count; i++)
        if (session_has(session, &session->samples.items[i], function))
            last_ns = session->samples.items[i].time_ns;
    return last_ns;
}

static const struct trace_process *process_of(const struct session *session,
                                              const struct trace_thread *thread)
{
    return trace_process_get(session->trace, thread->process);
}

/* Number of processes that ended in that way, soon after their samples. */
static unsigned count_ends(const struct session *session, enum process_end end, int value)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < trace_process_count(session->trace); i++) {
        const struct trace_process *process = trace_process_get(session->trace, i);
        CHECK(process->end != PROCESS_RUNNING && process->end_ns > process->start_ns);
        count += process->end == end && process->end_value == value;
    }
    return count;
}

TEST(processes_end_as_they_did)
{
    struct session *session = run(ends, 5 << 8, false);
    CHECK_INT(trace_process_count(session->trace), 3);
    CHECK_INT(count_ends(session, PROCESS_EXITED, 5), 1);
    CHECK_INT(count_ends(session, PROCESS_EXITED, 3), kernel_remembers());
    CHECK_INT(count_ends(session, PROCESS_SIGNALED, 9), kernel_remembers());
    session_close(session);
}

/* Without the kernel's help: a parent gets the status of its own children only. */
TEST(processes_whose_status_nobody_tells_are_gone_nevertheless)
{
    struct session *session = run(ends, 5 << 8, true);
    CHECK_INT(trace_process_count(session->trace), 3);
    CHECK_INT(count_ends(session, PROCESS_EXITED, 5), 1);
    CHECK(count_ends(session, PROCESS_VANISHED, 0) + count_ends(session, PROCESS_EXITED, 3) +
              count_ends(session, PROCESS_SIGNALED, 9) ==
          2);
    session_close(session);
}

TEST(a_process_lives_longer_than_its_first_thread)
{
    struct session *session = run(leaderless, 4 << 8, false);
    CHECK_INT(trace_process_count(session->trace), 1);
    CHECK_INT(count_ends(session, PROCESS_EXITED, 4), 1);
    const struct trace_process *process = trace_process_get(session->trace, 0);
    CHECK(process->end_ns - process->start_ns > 600000000);
    session_close(session);
}

TEST(a_tid_in_use_again_is_another_thread)
{
    struct session *session = run(same_tid, 0, false);
    const struct trace_thread *older = thread_in(session, "first");
    const struct trace_thread *newer = thread_in(session, "second");
    CHECK(older != newer);
    CHECK_INT(older->tid, newer->tid);
    CHECK_INT(older->process, newer->process);
    CHECK(older->last_ns >= last_in(session, "first"));
    CHECK(older->last_ns <= newer->first_ns);
    CHECK(newer->last_ns >= last_in(session, "second"));
    CHECK(newer->last_ns < process_of(session, newer)->end_ns); /* which continues to burn */
    session_close(session);
}

TEST(a_pid_in_use_again_is_another_process)
{
    struct session *session = run(same_pid, 0, false);
    const struct trace_process *older = process_of(session, thread_in(session, "first"));
    const struct trace_process *newer = process_of(session, thread_in(session, "second"));
    CHECK(older != newer);
    CHECK_INT(older->pid, newer->pid);
    CHECK(older->end_ns >= last_in(session, "first"));
    CHECK(older->end_ns <= newer->end_ns && newer->end_ns >= last_in(session, "second"));
    if (kernel_remembers()) {
        CHECK_INT(older->end_value, 1);
        CHECK_INT(newer->end_value, 2);
    }
    session_close(session);
}
