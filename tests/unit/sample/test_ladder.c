/* SPDX-License-Identifier: MIT */
/* Tests causes that this machine does not have with invented facts: each has its sentence and
 * remedy. Actual causes are tested on `annot doctor` (tests/system/test_doctor.py). The ladder is
 * also run for real, with any result accepted. */
#include "ladder.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>

static const uint64_t all = ~UINT64_C(0);

/* A machine without obstacles. */
static struct ladder_trial sound(void)
{
    struct ladder_trial trial = {
        .facts = {.kernel = "6.1.0-18-amd64",
                  .kernel_version = 6 << 8 | 1,
                  .machine = "x86_64",
                  .effective = all,
                  .bounding = all,
                  .has_btf = true,
                  .perf_paranoid = 2,
                  .yama_scope = 1,
                  .program = "/usr/bin/annot"},
        .error = -EPERM,
        .detail = "cannot load the BPF program: Operation not permitted",
    };
    return trial;
}

#ifdef HAVE_EBPF

static void check(const struct ladder_trial *trial, const char *reason, const char *hint)
{
    struct ladder_step step = {0};
    ladder_explain_bpf(trial, &step);
    CHECK_STR(step.reason, reason);
    CHECK_STR(step.hint, hint);
}

TEST(what_is_not_known_is_told_as_it_came)
{
    struct ladder_trial trial = sound();
    check(&trial, "cannot load the BPF program: Operation not permitted", "");
}

TEST(old_kernels_are_told_first)
{
    struct ladder_trial trial = sound();
    trial.facts.kernel_version = 5 << 8 | 4;
    snprintf(trial.facts.kernel, sizeof(trial.facts.kernel), "5.4.0");
    trial.facts.effective = 0;
    check(&trial, "Linux 5.4.0 is too old: eBPF sampling needs 5.17", "");
    trial.facts.kernel_version = 5 << 8 | 15; /* may work, so it is reported last */
    check(&trial, "the capabilities CAP_BPF and CAP_PERFMON are missing",
          "sudo setcap cap_bpf,cap_perfmon=ep /usr/bin/annot");
    trial.facts.effective = all;
    check(&trial, "Linux 5.4.0 is too old: eBPF sampling needs 5.17", "");
}

TEST(a_kernel_without_types_is_told)
{
    struct ladder_trial trial = sound();
    trial.facts.has_btf = false;
    check(&trial, "the kernel tells no types: there is no /sys/kernel/btf/vmlinux",
          "boot a kernel with CONFIG_DEBUG_INFO_BTF=y");
}

TEST(a_kernel_without_the_calls_is_no_filter)
{
    struct ladder_trial trial = sound();
    trial.bpf_errno = ENOSYS;
    check(&trial, "the kernel has no system call bpf: Function not implemented",
          "boot a kernel with CONFIG_BPF_SYSCALL=y and CONFIG_PERF_EVENTS=y");
}

TEST(where_old_kernels_refuse_bpf_capabilities_are_the_cause)
{
    struct ladder_trial trial = sound();
    trial.bpf_errno = EPERM;
    trial.facts.effective = 1ull << FACT_CAP_PERFMON;
    check(&trial, "the capability CAP_BPF is missing",
          "sudo setcap cap_bpf,cap_perfmon=ep /usr/bin/annot");
}

TEST(a_locked_down_kernel_is_told)
{
    struct ladder_trial trial = sound();
    trial.facts.lockdown_confidential = true;
    check(&trial, "the kernel is locked down (confidentiality): nobody may read its memory",
          "boot without lockdown=confidentiality");
}

TEST(remedies_for_filters_are_those_of_the_container)
{
    static const struct {
        enum container_kind kind;
        const char *hint;
    } cases[] = {
        {CONTAINER_DOCKER, "start the container by: docker run --cap-add BPF --cap-add PERFMON "
                           "--security-opt seccomp=unconfined ..."},
        {CONTAINER_PODMAN, "start the container by: podman run --cap-add BPF --cap-add PERFMON "
                           "--security-opt seccomp=unconfined ..."},
        {CONTAINER_KUBERNETES, "in the pod's securityContext: capabilities: {add: [\"BPF\", "
                               "\"PERFMON\"]}, seccompProfile: {type: Unconfined}"},
        {CONTAINER_OTHER, "give this container the capabilities CAP_BPF and CAP_PERFMON and a "
                          "seccomp filter that allows bpf and perf_event_open"},
        {CONTAINER_NONE, "start annot outside of this sandbox, or let its seccomp filter (systemd: "
                         "SystemCallFilter=) allow bpf and perf_event_open"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct ladder_trial trial = sound();
        trial.facts.seccomp_mode = 2;
        trial.bpf_errno = trial.perf_errno = EPERM;
        trial.facts.container = cases[i].kind;
        check(&trial, "a seccomp filter denies the system calls bpf and perf_event_open",
              cases[i].hint);
    }
}

TEST(capabilities_that_cannot_be_gained_have_another_remedy)
{
    struct ladder_trial trial = sound();
    trial.facts.effective = trial.facts.bounding = 0;
    trial.facts.container = CONTAINER_PODMAN;
    check(&trial, "the capabilities CAP_BPF and CAP_PERFMON are missing",
          "start the container by: podman run --cap-add BPF --cap-add PERFMON ...");
    trial.facts.container = CONTAINER_NONE;
    check(&trial, "the capabilities CAP_BPF and CAP_PERFMON are missing",
          "let what starts annot keep CAP_BPF and CAP_PERFMON (systemd: CapabilityBoundingSet=)");
    trial.facts.bounding = all;
    trial.facts.nosuid = true;
    check(&trial,
          "the capabilities CAP_BPF and CAP_PERFMON are missing, and annot lies on a file system "
          "mounted nosuid",
          "sudo install /usr/bin/annot /usr/local/bin/ && sudo setcap cap_bpf,cap_perfmon=ep "
          "/usr/local/bin/annot");
}

TEST(a_stricter_paranoia_than_the_kernels_own_is_told)
{
    struct ladder_trial trial = sound();
    trial.error = -EACCES;
    trial.facts.perf_paranoid = 4;
    trial.facts.effective = all & ~(UINT64_C(1) << FACT_CAP_SYS_ADMIN);
    check(&trial, "kernel.perf_event_paranoid is 4: perf events are for root only",
          "sudo sysctl kernel.perf_event_paranoid=2");
    trial.facts.effective = all; /* root gets the detail */
    check(&trial, trial.detail, "");
}

#else

TEST(without_ebpf_the_way_to_build_it_is_told)
{
    struct ladder_trial trial = sound();
    struct ladder_step step = {0};
    ladder_explain_bpf(&trial, &step);
    CHECK_STR(step.reason, "this annot was built without eBPF");
    CHECK(strstr(step.hint, "meson") != NULL);
}

#endif

TEST(memory_that_yama_closes_is_told)
{
    struct ladder_trial trial = sound();
    struct ladder_step step = {0};
    trial.facts.yama_scope = 2;
    ladder_explain_remote(&trial.facts, -EPERM, &step);
    CHECK_STR(step.reason, "kernel.yama.ptrace_scope is 2: no process may read another's memory");
    CHECK_STR(step.hint, "sudo sysctl kernel.yama.ptrace_scope=1");
}

TEST(the_ladder_leaves_nothing_behind_and_says_why_it_does_not_hold)
{
    struct ladder_step steps[LADDER_STEPS];
    ladder_try(steps);
    CHECK_INT(steps[0].rung, SAMPLING_BPF);
    CHECK_INT(steps[1].rung, SAMPLING_REMOTE);
    CHECK_INT(steps[2].rung, SAMPLING_NONE);
    CHECK(steps[2].possible);
    for (int i = 0; i < LADDER_STEPS; i++) {
        printf("  rung %d: %s%s; %s\n", (int)steps[i].rung,
               steps[i].possible ? "works" : "no: ", steps[i].reason, steps[i].hint);
        CHECK(steps[i].possible == (steps[i].reason[0] == '\0'));
    }
    CHECK_INT(waitpid(-1, NULL, WNOHANG | __WALL), -1); /* no child remains */
    CHECK_INT(errno, ECHILD);
}
