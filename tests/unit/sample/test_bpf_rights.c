/* SPDX-License-Identifier: MIT */
/* Rights to sample: two capabilities are sufficient, one is not; users are separated; pid
 * namespaces. Needs root. */
#include "bpf_scene.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534, OTHER = 65533, CAP_OF_PERF = 38, CAP_OF_BPF = 39, SPIN_NS = 200000000 };

/* Becomes another user, with exactly these capabilities. */
static void become(uid_t uid, uint64_t capabilities)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {0};

    if (geteuid() != 0)
        test_skip("not root");
    CHECK_INT(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0), 0);
    CHECK_INT(setgroups(0, NULL), 0);
    CHECK_INT(setresgid(uid, uid, uid), 0);
    CHECK_INT(setresuid(uid, uid, uid), 0);
    for (int i = 0; i < 2; i++)
        data[i].permitted = data[i].effective = (uint32_t)(capabilities >> (32 * i));
    CHECK_INT(syscall(SYS_capset, &head, data), 0);
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* else its /proc belongs to root */
}

static int spin(void *context)
{
    (void)context;
    scene_spin(SPIN_NS);
    return 0;
}

/* The build folder may be unreadable for that user; the link itself always leads to the file. */
static bool own_file_is_readable(void)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

    path[length > 0 ? length : 0] = 0;
    return access(path, R_OK) == 0;
}

static void sample_own_child(const struct bpf_program_options *options)
{
    struct bpf_scene scene = {0};
    struct scene_child child;
    size_t samples, complete = 0;

    scene_open(&scene, options);
    child = scene_start(spin, NULL);
    scene_load(&scene, child.pid, NULL);
    CHECK_INT(bpf_program_enable(scene.program), 0);
    scene_go(&child);
    CHECK_INT(scene_wait(&child), 0);
    scene_drain(&scene);
    samples = scene_count(&scene, SAMPLER_SAMPLE, child.pid);
    for (size_t i = 0; i < scene.records.count; i++) {
        const struct sampler_sample *sample = (const void *)scene.records.items[i];

        complete += sample->head.kind == SAMPLER_SAMPLE && sample->native_end == STACK_COMPLETE;
    }
    CHECK(samples > 100);
    if (own_file_is_readable())
        CHECK(complete * 1000 >= samples * 995);
    scene_close(&scene);
}

TEST(two_capabilities_are_enough)
{
    struct bpf_program_options options = {.frequency_hz = 999, .off_cpu = true, .uid = NOBODY};

    become(NOBODY, UINT64_C(1) << CAP_OF_PERF | UINT64_C(1) << CAP_OF_BPF);
    sample_own_child(&options);
}

static void check_refused(uint64_t capabilities)
{
    struct bpf_program_options options = {.frequency_hz = 99, .uid = NOBODY};
    char reason[BPF_PROGRAM_REASON_MAX];
    struct sampler_bpf *program;
    int rc;

    become(NOBODY, capabilities);
    rc = bpf_program_create(&options, &program, reason);
    fprintf(stderr, "  %d %.200s\n", rc, reason);
    CHECK(rc == -EPERM || rc == -EACCES);
    CHECK(program == NULL);
    CHECK(strlen(reason) > 20);
}

TEST(no_capability_is_refused_with_a_reason)
{
    check_refused(0);
}

TEST(only_bpf_is_refused_with_a_reason)
{
    check_refused(UINT64_C(1) << CAP_OF_BPF);
}

TEST(only_perfmon_is_refused_with_a_reason)
{
    check_refused(UINT64_C(1) << CAP_OF_PERF);
}

static int spin_as_other(void *context)
{
    if (setresuid(OTHER, OTHER, OTHER) != 0)
        return 1;
    return spin(context);
}

static size_t samples_of_other(int64_t uid)
{
    struct bpf_program_options options = {.frequency_hz = 999, .uid = uid};
    struct bpf_scene scene = {0};
    struct scene_child child;
    size_t count;

    if (geteuid() != 0)
        test_skip("not root");
    scene_open(&scene, &options);
    child = scene_start(spin_as_other, NULL);
    scene_load(&scene, child.pid, NULL);
    CHECK_INT(bpf_program_enable(scene.program), 0);
    scene_go(&child);
    CHECK_INT(scene_wait(&child), 0);
    scene_drain(&scene);
    count = scene_count(&scene, SAMPLER_SAMPLE, child.pid);
    scene_close(&scene);
    return count;
}

TEST(only_tasks_of_the_user_are_sampled)
{
    CHECK(samples_of_other(OTHER) > 100);
    CHECK_INT(samples_of_other(NOBODY), 0);
    CHECK(samples_of_other(-1) > 100);
}

struct turn {
    atomic_int stage;
};

/* Acts like a server that drops its rights, without an exec. */
static int spin_then_as_other(void *context)
{
    struct turn *turn = context;

    if (setresuid(NOBODY, NOBODY, 0) != 0)
        return 1;
    scene_spin(SPIN_NS);
    turn->stage = 1;
    while (turn->stage == 1)
        usleep(1000);
    if (seteuid(0) != 0 || setresuid(OTHER, OTHER, OTHER) != 0)
        return 1;
    scene_spin(SPIN_NS);
    usleep(1000);
    if (fork() == 0)
        _exit(0);
    wait(NULL);
    return 0;
}

TEST(a_thread_that_becomes_another_users_is_counted)
{
    struct bpf_program_options options = {.frequency_hz = 999, .off_cpu = true, .uid = NOBODY};
    struct bpf_scene scene = {0};
    uint64_t before[SAMPLER_COUNTERS], after[SAMPLER_COUNTERS];
    struct turn *turn = scene_shared(sizeof(*turn));
    struct scene_child child;
    size_t samples;

    if (geteuid() != 0)
        test_skip("not root");
    scene_open(&scene, &options);
    child = scene_start(spin_then_as_other, turn);
    scene_load(&scene, child.pid, NULL);
    CHECK_INT(bpf_program_enable(scene.program), 0);
    scene_go(&child);
    while (turn->stage == 0)
        usleep(1000);
    scene_drain(&scene);
    samples = scene_count(&scene, SAMPLER_SAMPLE, child.pid);
    CHECK_INT(bpf_program_counters(scene.program, before), 0);
    turn->stage = 2;
    CHECK_INT(scene_wait(&child), 0);
    scene_drain(&scene);
    CHECK_INT(bpf_program_counters(scene.program, after), 0);
    CHECK(samples > 100);
    CHECK(before[SAMPLER_LOSS_UID_SAMPLE] < 10); /* while it ran as root */
    CHECK(after[SAMPLER_LOSS_UID_SAMPLE] - before[SAMPLER_LOSS_UID_SAMPLE] > 100);
    CHECK(after[SAMPLER_LOSS_UID_SWITCH] > before[SAMPLER_LOSS_UID_SWITCH]);
    CHECK_INT(after[SAMPLER_LOSS_OTHER_UID], 1); /* its child */
    scene_close(&scene);
}

/* `su` has effective uid 0 after its exec. */
static int exec_as_root(void *context)
{
    const char *path = context;

    if (!freopen("/dev/null", "w", stdout) || setresuid(OTHER, OTHER, OTHER) != 0)
        return 1;
    execl(path, path, "--help", (char *)NULL);
    return 1;
}

TEST(a_new_image_of_another_user_drops_out)
{
    static const char *const paths[] = {"/usr/bin/su", "/bin/su"};
    struct bpf_program_options options = {.frequency_hz = 999, .uid = OTHER};
    const char *path = access(paths[0], X_OK) == 0 ? paths[0] : paths[1];
    struct bpf_scene scene = {0};
    struct sampler_process process;
    uint64_t counters[SAMPLER_COUNTERS];
    struct scene_child child;

    if (geteuid() != 0 || access(path, X_OK) != 0)
        test_skip("not root, or no su");
    scene_open(&scene, &options);
    child = scene_start(exec_as_root, (void *)path);
    scene_load(&scene, child.pid, NULL);
    scene_go(&child);
    scene_wait(&child);
    scene_drain(&scene);
    CHECK_INT(bpf_program_counters(scene.program, counters), 0);
    CHECK_INT(counters[SAMPLER_LOSS_OTHER_UID], 1);
    CHECK_INT(scene_count(&scene, SAMPLER_EXEC, child.pid), 0);
    CHECK_INT(bpf_program_get_process(scene.program, child.pid, &process), -ENOENT);
    scene_close(&scene);
}

static int fork_and_spin(void *context)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(spin(context));
    waitpid(pid, NULL, 0);
    return 0;
}

/* The whole collector runs in a pid namespace, and uses the numbers in it. */
static int sample_inside(void)
{
    struct bpf_program_options options = {.frequency_hz = 999, .off_cpu = true, .uid = -1};
    struct bpf_scene scene = {0};
    struct scene_child child;
    size_t forks = 0, samples = 0;
    int rc;

    scene_open(&scene, &options);
    child = scene_start(fork_and_spin, NULL);
    CHECK(child.pid < 10);
    rc = bpf_program_set_process(scene.program, child.pid, &(struct sampler_process){0}, false);
    CHECK_INT(rc, 0);
    CHECK_INT(bpf_program_enable(scene.program), 0);
    scene_go(&child);
    CHECK_INT(scene_wait(&child), 0);
    scene_drain(&scene);
    for (size_t i = 0; i < scene.records.count; i++) {
        const struct sampler_head *head = scene.records.items[i];

        CHECK(head->pid >= child.pid && head->pid <= child.pid + 1);
        CHECK_INT(head->ns_pid, head->pid);
        CHECK_INT(head->ns_tid, head->tid);
        forks += head->kind == SAMPLER_FORK;
        samples += head->kind == SAMPLER_SAMPLE && head->pid == child.pid + 1;
    }
    CHECK_INT(forks, 1);
    CHECK(samples > 100);
    CHECK_INT(scene_count(&scene, SAMPLER_EXIT, child.pid + 1), 1);
    scene_close(&scene);
    return 0;
}

TEST(pids_are_those_of_the_collectors_namespace)
{
    pid_t pid;
    int state;

    if (geteuid() != 0 || unshare(CLONE_NEWPID) != 0)
        test_skip("no new pid namespace");
    pid = fork();
    if (pid == 0)
        _exit(sample_inside());
    CHECK_INT(waitpid(pid, &state, 0), pid);
    if (state == 77 << 8)
        test_skip("no BPF here");
    CHECK_INT(state, 0);
}

/* A process in a nested pid namespace. */
static int spin_below(void *context)
{
    pid_t pid;

    if (unshare(CLONE_NEWPID) != 0)
        return 77;
    pid = fork();
    if (pid == 0)
        _exit(spin(context));
    waitpid(pid, NULL, 0);
    return 0;
}

TEST(a_child_in_a_namespace_below_has_both_numbers)
{
    struct bpf_program_options options = {.frequency_hz = 999, .uid = -1};
    struct bpf_scene scene = {0};
    struct scene_child child;
    size_t samples = 0;
    int state;

    if (geteuid() != 0)
        test_skip("not root");
    scene_open(&scene, &options);
    child = scene_start(spin_below, NULL);
    scene_load(&scene, child.pid, NULL);
    CHECK_INT(bpf_program_enable(scene.program), 0);
    scene_go(&child);
    state = scene_wait(&child);
    if (state == 77 << 8)
        test_skip("no new pid namespace");
    scene_drain(&scene);
    for (size_t i = 0; i < scene.records.count; i++) {
        const struct sampler_head *head = scene.records.items[i];

        if (head->kind != SAMPLER_SAMPLE || head->pid == child.pid)
            continue;
        CHECK_INT(head->ns_pid, 1);
        CHECK_INT(head->ns_tid, 1);
        CHECK(head->pid > 1 && head->pid == head->tid);
        samples++;
    }
    CHECK(samples > 100);
    scene_close(&scene);
}
