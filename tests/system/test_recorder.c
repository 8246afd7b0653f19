/* SPDX-License-Identifier: MIT */
/* Flight recorders of real programs: a snapshot, an end or a recovery gives true events, without
 * holes, which add up with the overwritten ones to the calls that were made. */
#include "reader.h"
#include "scene.h"
#include "test.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WRITERS = 8, THREADS_MAX = 256 };

/* ---- Contents of a recording ----------------------------------------------------------------- */

/* The stream of one thread, event by event. */
struct stream {
    uint64_t lost;   /* by gaps */
    uint64_t events; /* records */
    uint64_t next;   /* the call of the next event, after the gaps */
    unsigned gaps;
};

struct result {
    struct stream streams[THREADS_MAX]; /* by ordinal */
    uint64_t told[KILL_SLOTS];          /* calls that are accounted for, by slot */
    bool seen[KILL_SLOTS];
    uint64_t total; /* events and losses of all processes */
    uint32_t process_count;
    bool complete;
};

static void fail_event(const struct event *event, const struct stream *stream)
{
    test_fail(__FILE__, __LINE__, "event %" PRIu64 " of thread %u (kind %u) is not call %" PRIu64,
              stream->events, event->thread, event->kind, stream->next);
}

/* Which call a counter is: its value says it. */
static uint64_t call_of_counter(const struct event *event)
{
    double value =
        event->value_kind == VALUE_DOUBLE ? event->value.float64 : (double)event->value.int64;
    return 1 + 3 * (uint64_t)value;
}

static void check_call(const struct event *event, const struct stream *stream)
{
    static const uint8_t kinds[] = {EVENT_POP, EVENT_COUNTER, EVENT_PUSH};
    if (event->kind != kinds[stream->next % 3] ||
        (event->kind == EVENT_COUNTER && call_of_counter(event) != stream->next))
        fail_event(event, stream);
}

/* First a gap, "outer", perhaps "work", and a gap again; from there on, call by call. */
static void follow(struct stream *stream, const struct trace *trace, const struct event *event)
{
    const char *name = trace_string(trace, event->name)->bytes;
    if (event->kind == EVENT_LOST) {
        CHECK_INT(event->level, LOSS_OVERWRITTEN);
        stream->gaps++;
        if (stream->gaps > 2 || (stream->gaps == 1 && stream->events > 0) || stream->events > 2)
            test_fail(__FILE__, __LINE__, "a hole in thread %u", event->thread);
        stream->lost += event->value.uint64;
    } else if (stream->events == 0 || stream->gaps == 1) {
        CHECK_INT(event->kind, EVENT_PUSH);
        CHECK_STR(name, stream->events == 0 ? "outer" : "work");
        stream->events++;
    } else {
        check_call(event, stream);
        stream->events++;
    }
    stream->next = stream->lost + stream->events;
}

static bool is_writer(const struct trace *trace, uint32_t thread, unsigned *ret_slot)
{
    const struct trace_thread *entry = trace_thread_get(trace, thread);
    return sscanf(trace_string(trace, entry->name)->bytes, "writer %u", ret_slot) == 1 &&
           *ret_slot < KILL_SLOTS;
}

static void add_streams(const struct trace *trace, struct result *result)
{
    unsigned slot;
    for (uint32_t i = 0; i < trace_thread_count(trace) && i < THREADS_MAX; i++) {
        if (!is_writer(trace, i, &slot))
            continue;
        CHECK(!result->seen[slot]);
        result->seen[slot] = true;
        result->told[slot] = result->streams[i].events + result->streams[i].lost;
    }
    for (uint32_t i = 0; i < trace_process_count(trace); i++) {
        const struct trace_process *process = trace_process_get(trace, i);
        result->total += process->event_count;
        for (int cause = 0; cause < LOSS_COUNT; cause++)
            result->total += process->lost[cause];
    }
    result->process_count = trace_process_count(trace);
}

static struct result read_recording(const char *path)
{
    static struct result result;
    struct store_reader *reader;
    struct event_batch batch;
    struct store_info info;
    unsigned slot;
    memset(&result, 0, sizeof(result));
    CHECK_INT(store_reader_open(path, &reader), 0);
    const struct trace *trace = store_reader_trace(reader);
    while (store_reader_next(reader, &batch) == 1)
        for (uint32_t i = 0; i < batch.count && batch.thread < THREADS_MAX; i++)
            if (is_writer(trace, batch.thread, &slot))
                follow(&result.streams[batch.thread], trace, &batch.events[i]);
    add_streams(trace, &result);
    store_reader_info(reader, &info);
    result.complete = info.complete;
    store_reader_close(reader);
    return result;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static pid_t start(const char *file, const char *pool, const char *brief)
{
    char threads[8];
    snprintf(threads, sizeof(threads), "%d", WRITERS);
    const char *const arguments[] = {"record",      "--sampling=none",
                                     "--policy",    "overwrite",
                                     "--pool-size", pool,
                                     "-o",          file,
                                     "--",          getenv("RECORDER_TARGET"),
                                     threads,       brief,
                                     NULL};
    return scene_annot(arguments);
}

static int snapshot(const char *file)
{
    const char *const arguments[] = {"snapshot", "-o", file, NULL};
    return scene_run(arguments);
}

/* All writers are at work, and have overwritten much of their data. */
static void await_overwriting(const struct scene *scene)
{
    scene_await(scene, WRITERS);
    for (int i = 0; i < WRITERS; i++)
        while (__atomic_load_n(&scene->counts->calls[i], __ATOMIC_SEQ_CST) < 20000)
            usleep(1000);
}

/* The recorded events of each writer, against its own count: one call may be under way. */
static void check_writers(const struct scene *scene, const struct result *result, uint64_t slack)
{
    for (int i = 0; i < WRITERS; i++) {
        uint64_t calls = scene->counts->calls[i];
        if (result->told[i] < calls || result->told[i] > calls + slack)
            test_fail(__FILE__, __LINE__, "writer %d: %" PRIu64 " calls, %" PRIu64 " told", i,
                      calls, result->told[i]);
    }
}

static pid_t target_pid(const struct scene *scene)
{
    return (pid_t)__atomic_load_n(&scene->counts->pid, __ATOMIC_SEQ_CST);
}

/* Writers fill the pool within milliseconds, so a snapshot may miss some of them; its contents are
 * true to the call, at some instant while it was taken. */
#ifdef __SANITIZE_THREAD__
enum { SNAPSHOTS = 4 }; /* which take five seconds each there */
#else
enum { SNAPSHOTS = 10 };
#endif

TEST_TIMEOUT(snapshots_beside_eight_writers_are_true, 280)
{
    struct scene scene;
    uint64_t before[WRITERS], found = 0;
    scene_begin(&scene);
    pid_t annot = start(scene_path("all.annot"), "1M", "1");
    await_overwriting(&scene);
    for (int i = 0; i < SNAPSHOTS; i++) {
        for (int k = 0; k < WRITERS; k++)
            before[k] = __atomic_load_n(&scene.counts->calls[k], __ATOMIC_SEQ_CST);
        unlink(scene_path("s.annot"));
        CHECK_INT(snapshot(scene_path("s.annot")), 0);
        struct result result = read_recording(scene_path("s.annot"));
        CHECK(result.complete);
        for (int k = 0; k < WRITERS; k++) {
            uint64_t after = __atomic_load_n(&scene.counts->calls[k], __ATOMIC_SEQ_CST);
            CHECK(!result.seen[k] || (result.told[k] >= before[k] && result.told[k] <= after + 1));
            found += result.seen[k];
        }
    }
    CHECK(found > 0);
    scene_go_on(&scene);
    CHECK_INT(scene_wait(annot), 0);
    struct result result = read_recording(scene_path("all.annot"));
    check_writers(&scene, &result, 0);
    CHECK_INT(result.total, scene_committed(&scene));
    scene_end(&scene);
}

TEST_TIMEOUT(killed_program_leaves_what_it_did_last, 200)
{
    struct scene scene;
    scene_begin(&scene);
    pid_t annot = start(scene_path("k.annot"), "512K", "0");
    await_overwriting(&scene);
    kill(target_pid(&scene), SIGKILL);
    scene_wait(annot);
    struct result result = read_recording(scene_path("k.annot"));
    check_writers(&scene, &result, 1);
    scene_end(&scene);
}

TEST_TIMEOUT(recorder_goes_on_without_its_collector_and_is_recovered, 200)
{
    struct scene scene;
    scene_begin(&scene);
    pid_t annot = start(scene_path("c.annot"), "512K", "0");
    await_overwriting(&scene);
    kill(annot, SIGKILL);
    scene_wait(annot);
    uint64_t calls = scene.counts->calls[0];
    while (__atomic_load_n(&scene.counts->calls[0], __ATOMIC_SEQ_CST) < calls + 10000)
        usleep(1000);
    CHECK_INT(snapshot(scene_path("s.annot")), 0);
    (void)read_recording(scene_path("s.annot"));
    scene_go_on(&scene);
    while (waitpid(-1, NULL, 0) > 0) /* the program, an orphan of ours by now */
        continue;
    const char *const recover[] = {"recover", NULL};
    CHECK_INT(scene_run(recover), 0);
    struct result result = read_recording(scene_path("c.annot"));
    CHECK(result.complete);
    check_writers(&scene, &result, 0);
    scene_end(&scene);
}

TEST_TIMEOUT(recorder_is_recovered_when_all_were_killed, 200)
{
    struct scene scene;
    scene_begin(&scene);
    pid_t annot = start(scene_path("b.annot"), "512K", "0");
    await_overwriting(&scene);
    kill(annot, SIGKILL);
    scene_wait(annot);
    kill(target_pid(&scene), SIGKILL);
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    const char *const recover[] = {"recover", NULL};
    CHECK_INT(scene_run(recover), 0);
    struct result result = read_recording(scene_path("b.annot"));
    check_writers(&scene, &result, 1);
    scene_end(&scene);
}

/* ---- Processes that begin and end in every way, with pools that hold little -------------------
 */

static void run_ways(const char *policy, const char *mode, const char *end)
{
    struct scene scene;
    scene_begin(&scene);
    unlink(scene_path("w.annot"));
    const char *const arguments[] = {"record",      "--sampling=none",
                                     "--policy",    policy,
                                     "--pool-size", "40K",
                                     "-o",          scene_path("w.annot"),
                                     "--",          getenv("KILL_TARGET"),
                                     mode,          end,
                                     NULL};
    scene_run(arguments);
    struct result result = read_recording(scene_path("w.annot"));
    if (result.total != scene_committed(&scene))
        test_fail(__FILE__, __LINE__, "%s/%s/%s: %" PRIu64 " calls, %" PRIu64 " told", policy, mode,
                  end, scene_committed(&scene), result.total);
    scene_end(&scene);
}

TEST_TIMEOUT(processes_of_all_kinds_account_for_what_they_overwrote, 280)
{
    static const char *const modes[] = {"main", "fork", "vfork", "threads", "spawn", "exec"};
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        run_ways("overwrite", modes[i], "return");
        run_ways("overwrite", modes[i], "_exit");
        run_ways("overwrite", modes[i], "kill");
    }
}

/* The collector hands blocks from thread to thread, which ThreadSanitizer cannot see. */
TEST_TIMEOUT(processes_that_wait_account_for_all, 200)
{
#ifdef __SANITIZE_THREAD__
    test_skip("ThreadSanitizer does not see what happens in two processes");
#endif
    run_ways("wait", "fork", "return");
    run_ways("wait", "threads", "kill");
}

/* A running program becomes a flight recorder, and continues when that ends. */
TEST_TIMEOUT(running_program_is_made_a_recorder, 200)
{
    struct scene scene;
    char pid[16], wake[160];
    scene_begin(&scene);
    fflush(NULL);
    pid_t program = fork();
    if (program == 0) {
        execl(getenv("RECORDER_TARGET"), "recorder_target", "8", "0", (char *)NULL);
        _exit(98);
    }
    scene_await(&scene, WRITERS);
    snprintf(pid, sizeof(pid), "%d", (int)program);
    const char *const arguments[] = {"attach",   "-p",        pid,  "--sampling=none",
                                     "--policy", "overwrite", "-o", scene_path("a.annot"),
                                     NULL};
    pid_t annot = scene_annot(arguments);
    while (snapshot(scene_path("s.annot")) != 0) /* until it has joined */
        usleep(20000);
    CHECK(scene_read(scene_path("s.annot")).record_count > 0);
    kill(annot, SIGINT);
    CHECK_INT(scene_wait(annot), 0);
    CHECK(scene_read(scene_path("a.annot")).record_count > 0);
    CHECK_INT(kill(program, 0), 0);
    scene_go_on(&scene);
    CHECK_INT(scene_wait(program), 0);
    snprintf(wake, sizeof(wake), "%s/wake", scene.directory); /* all that is left: the program's */
    CHECK_INT(unlink(wake), 0);
    CHECK_INT(rmdir(scene.directory), 0);
    scene_end(&scene);
}

/* ---- One recorder beside others ----------------------------------------------------------------
 */

TEST_TIMEOUT(program_may_be_a_recorder_in_another_session, 200)
{
    struct scene scene;
    char pid[16];
    scene_begin(&scene);
    setenv("ANNOT_POLICY", "overwrite", 1);
    const char *const arguments[] = {
        "record", "--sampling=none",         "--pool-size", "512K", "-o", scene_path("o.annot"),
        "--",     getenv("RECORDER_TARGET"), "8",           "0",    NULL};
    pid_t annot = scene_annot(arguments);
    unsetenv("ANNOT_POLICY");
    await_overwriting(&scene);
    scene.counts->slot_count = WRITERS; /* of the other program */
    pid_t other = scene_record(scene_path("d.annot"), "main", "return");
    snprintf(pid, sizeof(pid), "%d", (int)target_pid(&scene));
    const char *const take[] = {"snapshot", "-p", pid, "-o", scene_path("s.annot"), NULL};
    CHECK_INT(scene_run(take), 0);
    CHECK_INT(read_recording(scene_path("s.annot")).process_count, 1);
    const char *const named[] = {"snapshot", scene_path("o.annot"), "--force",
                                 "-o",       scene_path("s.annot"), NULL};
    CHECK_INT(scene_run(named), 0);
    const char *const onto[] = {"snapshot", scene_path("o.annot"), "--force",
                                "-o",       scene_path("o.annot"), NULL};
    CHECK_INT(WEXITSTATUS(scene_run(onto)), 1); /* a recording writes to that file */
    CHECK_INT(scene_wait(other), 0);
    const char *const wrong[] = {"snapshot", scene_path("d.annot"), "-o", scene_path("x.annot"),
                                 NULL};
    CHECK_INT(WEXITSTATUS(scene_run(wrong)), 1);
    CHECK(access(scene_path("x.annot"), F_OK) != 0);
    scene_go_on(&scene);
    CHECK_INT(scene_wait(annot), 0);
    struct result result = read_recording(scene_path("o.annot"));
    check_writers(&scene, &result, 0);
    scene_end(&scene);
}
