/* SPDX-License-Identifier: MIT */
/* The sampler without notifications: unmapping, which is never reported, and lost records. The
 * tests modify its state to lose records. */
#include "processes.h"
#include "sampler_bpf.h"
#include "sampler_records.h"
#include "sampler_scene.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static struct bpf_sampler *state_of(const struct session *session)
{
    CHECK_INT(session->sampler->rung->rung, SAMPLING_BPF);
    return session->sampler->state;
}

static const char *beside(const char *name)
{
    static char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 64);
    CHECK(length > 0);
    path[length] = 0;
    snprintf(strrchr(path, '/'), 64, "/%s", name);
    return path;
}

/* Communication between test and child. */
struct shared {
    atomic_int stage;
};

static struct shared *share(void)
{
    struct shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    return shared;
}

static void wait_for(const struct shared *shared, int stage)
{
    while (atomic_load(&shared->stage) < stage)
        usleep(1000);
}

/* ---- Unmapped code --------------------------------------------------------------------------- */

static void call(void *library, const char *name, int64_t ns)
{
    void *symbol = library ? dlsym(library, name) : NULL;
    void (*function)(int64_t) = NULL;
    memcpy(&function, &symbol, sizeof(function));
    if (!function)
        _exit(1);
    function(ns);
}

static int spin_and_close(void *context)
{
    struct shared *shared = context;
    void *library = dlopen(beside("sampler-plugin.so"), RTLD_NOW);
    atomic_store(&shared->stage, 1);
    call(library, "plugin_spin", 400000000);
    call(library, "plugin_turn", 200000000);
    dlclose(library);
    atomic_store(&shared->stage, 2);
    pause();
    return 0;
}

/* Its mapping is dropped before names are found for its last samples. */
TEST(samples_of_a_library_that_was_closed_have_its_names)
{
    struct sampler_options options = {.frequency_hz = 999};
    struct session *session = session_open(&options);
    struct bpf_sampler *state = state_of(session);
    struct shared *shared = share();
    struct session_child child = session_fork(session, spin_and_close, shared);
    session_go(&child);
    wait_for(shared, 1);
    session_steps(session, 200);
    size_t before = session->samples.count;
    wait_for(shared, 2);
    struct sampled *process = processes_find(&state->processes, child.pid);
    CHECK(process);
    size_t mappings = process->list->count;
    process->compared_count = process->compared_ns = 0;
    CHECK_INT(sampled_prune_maps(process, UINT64_MAX), 0);
    CHECK_INT(process->list->count, mappings - 1);
    session_steps(session, 100);
    kill(child.pid, SIGKILL);
    session_wait(session, child.pid);
    session_finish(session);
    CHECK(session->samples.count > before + 100);
    CHECK_INT(session_count(session, "[not mapped]"), 0);
    CHECK(session_count(session, "plugin_turn") > 100);
    CHECK(session_complete(session) >= 980);
    session_close(session);
}

/* ---- Records that are damaged or lost -------------------------------------------------------- */

TEST(records_that_say_more_than_they_hold_are_counted)
{
    struct sampler_options options = {.frequency_hz = 99};
    struct session *session = session_open(&options);
    struct bpf_sampler *state = state_of(session);
    const struct sampler_head head = {.pid = getpid(), .tid = getpid(), .process_start_ns = 1};
    struct sampler_part part = {.head = head, .hash = 1, .count = 1};
    struct sampler_exec exec = {.head = head, .command_size = 1};
    struct sampler_copy copy = {.head = head, .hash = 1, .size = 1};
    struct sampler_code code = {.head = head, .code = 1, .name_size = 1};
    struct sampler_head *records[] = {&part.head, &part.head, &part.head,
                                      &exec.head, &copy.head, &code.head};
    const uint16_t kinds[] = {SAMPLER_KERNEL, SAMPLER_NATIVE, SAMPLER_PYTHON,
                              SAMPLER_EXEC,   SAMPLER_COPY,   SAMPLER_CODE};
    const uint32_t sizes[] = {sizeof(part), sizeof(part), sizeof(part),
                              sizeof(exec), sizeof(copy), sizeof(code)};
    for (int i = 0; i < 6; i++) {
        records[i]->kind = kinds[i];
        records[i]->size = sizes[i];
        CHECK_INT(sampler_take_record(state, records[i]), 0);
    }
    session_finish(session);
    CHECK_INT(session_fact(session, "records: damaged"), 6);
    session_close(session);
}

/* Sums of short waits are reported when the thread leaves its processor the next time. */
TEST(what_is_told_late_of_the_image_before_an_exec_says_nothing_of_the_next_one)
{
    struct sampler_options options = {.frequency_hz = 99};
    struct session *session = session_open(&options);
    struct bpf_sampler *state = state_of(session);
    const int64_t now_ns = (int64_t)state->now_ns;
    const struct sampler_head head = {
        .pid = getpid(), .tid = getpid(), .process_start_ns = 1, .thread_start_ns = 1};
    struct sampler_exec exec = {.head = head};
    exec.head.kind = SAMPLER_EXEC;
    exec.head.size = sizeof(exec);
    exec.head.time_ns = (uint64_t)now_ns + 2000;
    int64_t before = sampler_thread_of(state, &head, now_ns);
    CHECK(before >= 0);
    CHECK_INT(sampler_take_record(state, &exec.head), 0);
    CHECK_INT(sampler_thread_of(state, &head, now_ns + 1000), before);
    CHECK(sampler_thread_of(state, &head, now_ns + 3000) > before);
    CHECK_INT(sampler_thread_of(state, &head, now_ns + 1000), before);
    session_finish(session);
    session_close(session);
}

static int drop(void *context, const struct sampler_head *record)
{
    (void)record;
    ++*(int *)context;
    return 0;
}

/* Drops the content of the kernel's ring, as if it had been full. */
static void lose_records(struct bpf_sampler *state)
{
    int lost = 0;
    CHECK_INT(bpf_program_drain(state->program, bpf_program_position(state->program), drop, &lost),
              0);
    CHECK(lost > 0);
}

static void lose_notes(struct bpf_sampler *state)
{
    CHECK_INT(perf_rings_drain(state->rings), 0);
    while (perf_rings_next(state->rings, UINT64_MAX))
        continue;
}

static const struct trace_process *entry_of(const struct session *session, pid_t pid)
{
    const struct trace_process *found = NULL;
    for (uint32_t i = 0; i < trace_process_count(session->trace); i++)
        if (trace_process_get(session->trace, i)->pid == pid)
            found = trace_process_get(session->trace, i);
    CHECK(found);
    return found;
}

static int spin_until_told(void *context)
{
    const struct shared *shared = context;
    while (atomic_load(&shared->stage) == 0)
        continue;
    return 0;
}

static void steps_until_forgotten(struct session *session, pid_t pid)
{
    for (int i = 0; i < 100 && processes_find(&state_of(session)->processes, pid); i++)
        session_steps(session, 100);
    CHECK(!processes_find(&state_of(session)->processes, pid));
}

TEST(a_process_whose_end_was_lost_is_ended_and_counted)
{
    struct sampler_options options = {.frequency_hz = 999};
    struct session *session = session_open(&options);
    struct bpf_sampler *state = state_of(session);
    struct shared *shared = share();
    struct session_child child = session_fork(session, spin_until_told, shared);
    struct sampler_process value;
    session_go(&child);
    session_steps(session, 100);
    CHECK(processes_find(&state->processes, child.pid));
    CHECK_INT(bpf_program_get_process(state->program, child.pid, &value), 0);
    atomic_store(&shared->stage, 1);
    CHECK_INT(waitpid(child.pid, NULL, 0), child.pid);
    lose_records(state);
    /* The state after the kernel skips an exit: the next process with this pid would be sampled. */
    CHECK_INT(bpf_program_set_process(state->program, child.pid, &value, false), 0);
    steps_until_forgotten(session, child.pid);
    CHECK_INT(bpf_program_get_process(state->program, child.pid, &value), -ENOENT);
    session_finish(session);
    CHECK_INT(session_fact(session, "processes: their end was not told"), 1);
    CHECK_INT(entry_of(session, child.pid)->end, PROCESS_VANISHED);
    CHECK(entry_of(session, child.pid)->end_ns > 0);
    session_close(session);
}

TEST(a_zombie_whose_end_was_lost_is_ended_although_nobody_waits_for_it)
{
    struct sampler_options options = {.frequency_hz = 999};
    struct session *session = session_open(&options);
    struct shared *shared = share();
    struct session_child child = session_fork(session, spin_until_told, shared);
    siginfo_t info;
    session_go(&child);
    session_steps(session, 100);
    atomic_store(&shared->stage, 1);
    CHECK_INT(waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT), 0);
    lose_records(state_of(session));
    steps_until_forgotten(session, child.pid);
    CHECK_INT(waitpid(child.pid, NULL, 0), child.pid);
    session_finish(session);
    CHECK_INT(session_fact(session, "processes: their end was not told"), 1);
    session_close(session);
}

TEST(ends_that_are_told_are_not_counted)
{
    struct sampler_options options = {.frequency_hz = 999};
    struct session *session = session_open(&options);
    char *const argv[] = {(char *)"sh", (char *)"-c",
                          (char *)"for i in 1 2 3 4 5 6; do sleep .5; done", NULL};
    CHECK_INT(session_run(session, argv), 0);
    session_finish(session);
    CHECK_INT(session_fact(session, "processes: their end was not told"), 0);
    CHECK_INT(session_fact(session, "processes: their exec was not told"), 0);
    session_close(session);
}

static void wait_for_exec(pid_t pid)
{
    char comm[64] = "", path[64];
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    while (strncmp(comm, "sampler-target", 14) != 0) {
        FILE *file = fopen(path, "re");
        CHECK(file && fgets(comm, sizeof(comm), file));
        fclose(file);
        usleep(1000);
    }
    usleep(50000);
}

static int become(void *context)
{
    char *const *argv = context;
    execv(argv[0], argv);
    return 127;
}

/* Complete stacks of the program among the samples from this one on. */
static size_t count_spins(const struct session *session, size_t from)
{
    size_t spins = 0;
    for (size_t i = from; i < session->samples.count; i++)
        spins += session_has(session, &session->samples.items[i], "spin") &&
                 session->samples.items[i].native_end == STACK_COMPLETE;
    return spins;
}

/* Independent of the speed of program and sampler. */
static void steps_until_spins(struct session *session, size_t from, size_t count)
{
    for (int i = 0; i < 250 && count_spins(session, from) < count; i++)
        session_steps(session, 100);
}

/* `notes`: keep perf's notes. */
static void lose_exec(bool notes)
{
    struct sampler_options options = {.frequency_hz = 999};
    struct session *session = session_open(&options);
    char program[4096];
    snprintf(program, sizeof(program), "%s", beside("sampler-target"));
    char *const argv[] = {program, (char *)"spin", (char *)"30000", NULL};
    struct session_child child = session_fork(session, become, (void *)argv);
    session_go(&child);
    wait_for_exec(child.pid);
    lose_records(state_of(session));
    if (notes)
        lose_notes(state_of(session));
    session_steps(session, 3500); /* processes are compared with /proc periodically */
    steps_until_spins(session, 0, 1);
    size_t before = session->samples.count;
    steps_until_spins(session, before, 200);
    kill(child.pid, SIGKILL);
    session_wait(session, child.pid);
    session_finish(session);
    size_t spins = count_spins(session, before);
    fprintf(stderr, "  %zu of %zu\n", spins, session->samples.count - before);
    CHECK(spins >= 200 && spins * 100 > (session->samples.count - before) * 95);
    CHECK_INT(session_fact(session, "processes: their exec was not told"), 1);
    CHECK_STR(trace_string(session->trace, entry_of(session, child.pid)->comm)->bytes,
              "sampler-target");
    session_close(session);
}

TEST(a_program_whose_exec_was_lost_is_sampled_under_its_own_name)
{
    lose_exec(false);
}

TEST(a_program_of_which_nothing_was_told_is_sampled_under_its_own_name)
{
    lose_exec(true);
}

/* The sampler waits only for the exec: without it, it would wait forever. */
TEST(a_command_whose_exec_was_lost_is_sampled)
{
    struct sampler_options options = {.frequency_hz = 999};
    struct session *session = session_open(&options);
    char program[4096];
    snprintf(program, sizeof(program), "%s", beside("sampler-target"));
    char *const argv[] = {program, (char *)"spin", (char *)"4000", NULL};
    struct session_child child = session_start(session, argv);
    session_go(&child);
    wait_for_exec(child.pid);
    lose_records(state_of(session));
    CHECK_INT(session_wait(session, child.pid), 0);
    session_finish(session);
    CHECK(session_count(session, "spin") > 200);
    CHECK_INT(session_fact(session, "processes: their exec was not told"), 1);
    session_close(session);
}
