/* SPDX-License-Identifier: MIT */
/* Reads the machine's permissions, then tries the rungs; for a failing rung, reports the first
 * cause that applies. Causes are ordered so that the remedy of one is useless while an earlier one
 * holds. */
#include "ladder.h"

#include "bpf_program.h"
#include "file_io.h"
#include "proc_info.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Facts: small files of /proc and /sys, each of which may be missing ---------------------- */

enum { FILE_BYTES = 8192 };

static int read_number(const char *path)
{
    char text[FILE_BYTES];
    return file_read_text(path, text, sizeof(text)) > 0 ? (int)strtol(text, NULL, 10) : INT32_MIN;
}

/* The number after "\nNAME:" */
static uint64_t field(const char *text, const char *name, int base, uint64_t otherwise)
{
    const char *at = strstr(text, name);
    return at ? strtoull(at + strlen(name), NULL, base) : otherwise;
}

static void read_status(struct host_facts *facts)
{
    char text[FILE_BYTES];
    file_read_text("/proc/self/status", text, sizeof(text));
    facts->effective = field(text, "\nCapEff:", 16, 0);
    facts->bounding = field(text, "\nCapBnd:", 16, 0);
    facts->no_new_privileges = field(text, "\nNoNewPrivs:", 10, 0) == 1;
    facts->seccomp_mode = (int)field(text, "\nSeccomp:", 10, (uint64_t)-1);
}

static void read_kernel(struct host_facts *facts)
{
    struct utsname name;
    unsigned major = 0, minor = 0;
    if (uname(&name) != 0)
        return;
    snprintf(facts->kernel, sizeof(facts->kernel), "%s", name.release);
    snprintf(facts->machine, sizeof(facts->machine), "%s", name.machine);
    if (sscanf(name.release, "%u.%u", &major, &minor) == 2)
        facts->kernel_version = major << 8 | (minor & 0xff);
}

/* The first namespace maps all ids to themselves. */
static bool in_user_namespace(void)
{
    char text[FILE_BYTES];
    unsigned inside = 1, outside = 1, count = 0;
    if (file_read_text("/proc/self/uid_map", text, sizeof(text)) <= 0)
        return false;
    return sscanf(text, "%u %u %u", &inside, &outside, &count) != 3 || inside != 0 ||
           outside != 0 || count != UINT32_MAX;
}

static enum container_kind find_container(void)
{
    const char *named = getenv("container");
    if (getenv("KUBERNETES_SERVICE_HOST"))
        return CONTAINER_KUBERNETES;
    if (access("/.dockerenv", F_OK) == 0)
        return CONTAINER_DOCKER;
    if (access("/run/.containerenv", F_OK) == 0)
        return CONTAINER_PODMAN;
    return named && *named ? CONTAINER_OTHER : CONTAINER_NONE;
}

/* Quotes for a shell; "" if it does not fit. */
static void quote(const char *path, char *quoted, size_t size)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_@%+=:,./-";
    size_t used = 0, marks = path[strspn(path, plain)] != '\0';
    if (marks)
        quoted[used++] = '\'';
    for (; *path && used + 8 < size; path++) {
        if (*path == '\'')
            used += (size_t)snprintf(quoted + used, size - used, "'\\''");
        else
            quoted[used++] = *path;
    }
    if (marks)
        quoted[used++] = '\'';
    quoted[*path ? 0 : used] = '\0';
}

static void read_program(struct host_facts *facts)
{
    char path[PATH_MAX];
    struct statvfs status;
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (length <= 0)
        return;
    path[length] = '\0';
    quote(path, facts->program, sizeof(facts->program));
    facts->nosuid = statvfs("/proc/self/exe", &status) == 0 && (status.f_flag & ST_NOSUID);
}

void host_facts_read(struct host_facts *facts)
{
    char text[FILE_BYTES];
    *facts = (struct host_facts){.uid = geteuid()};
    read_kernel(facts);
    read_status(facts);
    read_program(facts);
    facts->user_namespace = in_user_namespace();
    facts->has_btf = access("/sys/kernel/btf/vmlinux", R_OK) == 0;
    facts->perf_paranoid = read_number("/proc/sys/kernel/perf_event_paranoid");
    facts->yama_scope = read_number("/proc/sys/kernel/yama/ptrace_scope");
    facts->lockdown_confidential =
        file_read_text("/sys/kernel/security/lockdown", text, sizeof(text)) > 0 &&
        strstr(text, "[confidentiality]") != NULL;
    facts->container = find_container();
}

/* ---- Rungs ----------------------------------------------------------------------------------- */

enum { TRY_FREQUENCY_HZ = 99, TRY_RING_BYTES = 64 << 10, TOO_LARGE = 1 << 20 };

/* Calls that fail for their arguments before permissions are checked (from Linux 5.12 on in the
 * case of bpf): another error comes from a filter, or from a kernel without the call. */
static int probe_bpf(void)
{
    static char zeros[TOO_LARGE];
    long rc = syscall(SYS_bpf, BPF_MAP_CREATE, zeros, sizeof(zeros));
    return rc < 0 && errno != E2BIG ? errno : 0;
}

static int probe_perf(void)
{
    struct perf_event_attr attributes = {.size = sizeof(attributes)};
    long rc = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, ~0ul);
    if (rc >= 0)
        close((int)rc);
    return rc < 0 && errno != EINVAL ? errno : 0;
}

static void try_bpf(struct ladder_trial *trial)
{
    struct bpf_program_options options = {
        .frequency_hz = TRY_FREQUENCY_HZ,
        .uid = trial->facts.uid ? (int64_t)trial->facts.uid : -1,
        .ring_bytes = TRY_RING_BYTES,
    };
    struct sampler_bpf *program = NULL;
    char *reason = malloc(BPF_PROGRAM_REASON_MAX);
    if (!reason) {
        trial->error = -ENOMEM;
        return;
    }
    trial->error = bpf_program_create(&options, &program, reason);
    bpf_program_destroy(program);
    size_t length = strcspn(reason, "\n");
    if (length >= sizeof(trial->detail))
        length = sizeof(trial->detail) - 1;
    memcpy(trial->detail, reason, length);
    trial->detail[length] = '\0';
    free(reason);
    if (trial->error == 0)
        return;
    trial->bpf_errno = probe_bpf();
    trial->perf_errno = probe_perf();
}

/* Starts a child without an exit signal, so that other waits for children do not see it. It makes
 * only these calls, because locks may be held by threads that it does not have. A program with file
 * capabilities is not dumpable until it says so, unlike the programs it samples. */
static pid_t start_target(int ready)
{
    pid_t pid = (pid_t)syscall(SYS_clone, 0ul, NULL, NULL, NULL, 0ul);
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_DUMPABLE, 1);
    if (write(ready, "x", 1) == 1)
        pause();
    _exit(0);
}

static const char remote_text[] = "read from another process";

static int read_target(pid_t pid, int ready)
{
    char byte, text[sizeof(remote_text)];
    if (read(ready, &byte, 1) != 1)
        return -ECHILD;
    int64_t size = proc_read_memory(pid, (uintptr_t)remote_text, text, sizeof(text));
    if (size < 0)
        return (int)size;
    return size == sizeof(text) && memcmp(text, remote_text, sizeof(text)) == 0 ? 0 : -EIO;
}

static int try_remote(void)
{
    int ready[2];
    if (pipe2(ready, O_CLOEXEC) != 0)
        return -errno;
    pid_t pid = start_target(ready[1]);
    int error = pid < 0 ? -errno : 0;
    close(ready[1]);
    if (pid > 0) {
        error = read_target(pid, ready[0]);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, __WALL);
    }
    close(ready[0]);
    return error;
}

void ladder_try(struct ladder_step steps[LADDER_STEPS])
{
    struct ladder_trial trial = {0};
    memset(steps, 0, LADDER_STEPS * sizeof(*steps));
    host_facts_read(&trial.facts);
    steps[0].rung = SAMPLING_BPF;
    steps[1].rung = SAMPLING_REMOTE;
    steps[2] = (struct ladder_step){.rung = SAMPLING_NONE, .possible = true};
    try_bpf(&trial);
    steps[0].possible = trial.error == 0;
    if (trial.error)
        ladder_explain_bpf(&trial, &steps[0]);
    int error = try_remote();
    steps[1].possible = error == 0;
    if (error)
        ladder_explain_remote(&trial.facts, error, &steps[1]);
}

/* ---- Causes ---- */

/* The causes, each a function that returns true if it applies. */

enum {
    KERNEL_WITH_CAPABILITIES = 5 << 8 | 8, /* CAP_BPF, CAP_PERFMON */
    KERNEL_WANTED = 5 << 8 | 17,
    PARANOID_PLAIN = 2, /* the highest level of the mainline kernel; distributions add more */
    SECCOMP_FILTER = 2,
};

#ifdef HAVE_EBPF
static const bool built_with_ebpf = true;
#else
static const bool built_with_ebpf = false;
#endif

__attribute__((format(printf, 2, 3))) static void reason(struct ladder_step *step,
                                                         const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(step->reason, sizeof(step->reason), format, arguments);
    va_end(arguments);
}

__attribute__((format(printf, 2, 3))) static void hint(struct ladder_step *step, const char *format,
                                                       ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(step->hint, sizeof(step->hint), format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof(step->hint))
        step->hint[0] = '\0'; /* no hint is better than a truncated command */
}

static const char *program(const struct host_facts *facts)
{
    return facts->program[0] ? facts->program : "$(command -v annot)";
}

/* The hint how to grant rights to this container. `filter`: its seccomp filter must go, too. */
static void hint_container(struct ladder_step *step, const struct host_facts *facts, bool filter)
{
    const char *engine = facts->container == CONTAINER_PODMAN ? "podman" : "docker";
    switch (facts->container) {
    case CONTAINER_DOCKER:
    case CONTAINER_PODMAN:
        hint(step, "start the container by: %s run --cap-add BPF --cap-add PERFMON%s ...", engine,
             filter ? " --security-opt seccomp=unconfined" : "");
        return;
    case CONTAINER_KUBERNETES:
        hint(step, "in the pod's securityContext: capabilities: {add: [\"BPF\", \"PERFMON\"]}%s",
             filter ? ", seccompProfile: {type: Unconfined}" : "");
        return;
    case CONTAINER_OTHER:
        hint(step, "give this container the capabilities CAP_BPF and CAP_PERFMON%s",
             filter ? " and a seccomp filter that allows bpf and perf_event_open" : "");
        return;
    default:
        if (filter)
            hint(step, "start annot outside of this sandbox, or let its seccomp filter (systemd: "
                       "SystemCallFilter=) allow bpf and perf_event_open");
        else
            hint(step, "let what starts annot keep CAP_BPF and CAP_PERFMON (systemd: "
                       "CapabilityBoundingSet=)");
    }
}

static bool not_built(const struct ladder_trial *trial, struct ladder_step *step)
{
    (void)trial;
    if (built_with_ebpf)
        return false;
    reason(step, "this annot was built without eBPF");
    hint(step, "install clang and libbpf-dev, then " ANNOT_REBUILD);
    return true;
}

static bool kernel_ancient(const struct ladder_trial *trial, struct ladder_step *step)
{
    if (trial->facts.kernel_version == 0 || trial->facts.kernel_version >= KERNEL_WITH_CAPABILITIES)
        return false;
    reason(step, "Linux %s is too old: eBPF sampling needs 5.17", trial->facts.kernel);
    return true;
}

/* True if a filter, or a kernel without the calls, blocks one of them. */
static bool call_blocked(const struct ladder_trial *trial, struct ladder_step *step)
{
    const struct host_facts *facts = &trial->facts;
    bool missing =
        !host_facts_may(facts, FACT_CAP_BPF) && !host_facts_may(facts, FACT_CAP_SYS_ADMIN);
    /* Before Linux 5.12, a missing capability also gives EPERM. */
    bool bpf = trial->bpf_errno &&
               !(missing && trial->bpf_errno == EPERM && facts->seccomp_mode != SECCOMP_FILTER);
    bool perf = trial->perf_errno != 0;
    const char *calls = bpf && perf ? "bpf and perf_event_open" : bpf ? "bpf" : "perf_event_open";
    if (!bpf && !perf)
        return false;
    if (facts->seccomp_mode == SECCOMP_FILTER) {
        reason(step, "a seccomp filter denies the system call%s %s", bpf && perf ? "s" : "", calls);
        hint_container(step, facts, true);
    } else {
        reason(step, "the kernel has no system call%s %s: %s", bpf && perf ? "s" : "", calls,
               strerror(bpf ? trial->bpf_errno : trial->perf_errno));
        hint(step, "boot a kernel with CONFIG_BPF_SYSCALL=y and CONFIG_PERF_EVENTS=y");
    }
    return true;
}

static bool no_btf(const struct ladder_trial *trial, struct ladder_step *step)
{
    if (trial->facts.has_btf)
        return false;
    reason(step, "the kernel tells no types: there is no /sys/kernel/btf/vmlinux");
    hint(step, "boot a kernel with CONFIG_DEBUG_INFO_BTF=y");
    return true;
}

static bool locked_down(const struct ladder_trial *trial, struct ladder_step *step)
{
    if (!trial->facts.lockdown_confidential)
        return false;
    reason(step, "the kernel is locked down (confidentiality): nobody may read its memory");
    hint(step, "boot without lockdown=confidentiality");
    return true;
}

/* "CAP_BPF and CAP_PERFMON", one of them, or "" (all present) */
static const char *missing_capabilities(const struct host_facts *facts)
{
    bool all = host_facts_may(facts, FACT_CAP_SYS_ADMIN);
    bool bpf = all || host_facts_may(facts, FACT_CAP_BPF);
    bool perfmon = all || host_facts_may(facts, FACT_CAP_PERFMON);
    if (bpf && perfmon)
        return "";
    if (!bpf && !perfmon)
        return "ies CAP_BPF and CAP_PERFMON are";
    return bpf ? "y CAP_PERFMON is" : "y CAP_BPF is";
}

static bool capabilities_missing(const struct ladder_trial *trial, struct ladder_step *step)
{
    const struct host_facts *facts = &trial->facts;
    const char *missing = missing_capabilities(facts);
    const uint64_t wanted = 1ull << FACT_CAP_BPF | 1ull << FACT_CAP_PERFMON;
    if (!missing[0])
        return false;
    reason(step, "the capabilit%s missing", missing);
    if ((facts->bounding & wanted) != wanted) {
        hint_container(step, facts, false);
    } else if (facts->user_namespace) {
        reason(step, "capabilities count for nothing in a user namespace (rootless container)");
        hint(step, "run annot outside of it");
    } else if (facts->no_new_privileges) {
        reason(step, "the capabilit%s missing, and no_new_privs is set: none can be gained",
               missing);
        hint(step, facts->container == CONTAINER_NONE
                       ? "start annot from a shell that no_new_privs is not set in (systemd: "
                         "NoNewPrivileges=no)"
                       : "start the container with --cap-add BPF --cap-add PERFMON and without "
                         "--security-opt no-new-privileges");
    } else if (facts->nosuid) {
        reason(step, "the capabilit%s missing, and annot lies on a file system mounted nosuid",
               missing);
        hint(step,
             "sudo install %s /usr/local/bin/ && sudo setcap cap_bpf,cap_perfmon=ep "
             "/usr/local/bin/annot",
             program(facts));
    } else {
        hint(step, "sudo setcap cap_bpf,cap_perfmon=ep %s", program(facts));
    }
    return true;
}

static bool namespace_powerless(const struct ladder_trial *trial, struct ladder_step *step)
{
    if (!trial->facts.user_namespace || trial->error != -EPERM)
        return false;
    reason(step, "capabilities count for nothing in a user namespace (rootless container)");
    hint(step, "run annot outside of it");
    return true;
}

/* Some distributions require more than CAP_PERFMON above 2. */
static bool paranoid(const struct ladder_trial *trial, struct ladder_step *step)
{
    if (trial->facts.perf_paranoid <= PARANOID_PLAIN ||
        host_facts_may(&trial->facts, FACT_CAP_SYS_ADMIN) ||
        (trial->error != -EACCES && trial->error != -EPERM))
        return false;
    reason(step, "kernel.perf_event_paranoid is %d: perf events are for root only",
           trial->facts.perf_paranoid);
    hint(step, "sudo sysctl kernel.perf_event_paranoid=%d", PARANOID_PLAIN);
    return true;
}

static bool kernel_old(const struct ladder_trial *trial, struct ladder_step *step)
{
    if (trial->facts.kernel_version == 0 || trial->facts.kernel_version >= KERNEL_WANTED)
        return false;
    reason(step, "Linux %s is too old: eBPF sampling needs 5.17", trial->facts.kernel);
    return true;
}

void ladder_explain_bpf(const struct ladder_trial *trial, struct ladder_step *step)
{
    static bool (*const causes[])(const struct ladder_trial *, struct ladder_step *) = {
        not_built,   kernel_ancient,       call_blocked,        no_btf,
        locked_down, capabilities_missing, namespace_powerless, paranoid,
        kernel_old,
    };
    for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++) {
        if (causes[i](trial, step))
            return;
    }
    reason(step, "%s", trial->detail[0] ? trial->detail : strerror(-trial->error));
}

void ladder_explain_remote(const struct host_facts *facts, int error, struct ladder_step *step)
{
    if (facts->seccomp_mode == SECCOMP_FILTER && (error == -EPERM || error == -ENOSYS) &&
        facts->yama_scope < 2) {
        reason(step, "a seccomp filter denies the system call process_vm_readv");
        if (facts->container == CONTAINER_DOCKER || facts->container == CONTAINER_PODMAN)
            hint(step,
                 "start the container by: %s run --cap-add SYS_PTRACE --security-opt "
                 "seccomp=unconfined ...",
                 facts->container == CONTAINER_PODMAN ? "podman" : "docker");
        else
            hint(step, "start annot outside of this sandbox, or let its seccomp filter (systemd: "
                       "SystemCallFilter=) allow process_vm_readv");
    } else if (error == -ENOSYS) {
        reason(step, "the kernel has no system call process_vm_readv");
        hint(step, "boot a kernel with CONFIG_CROSS_MEMORY_ATTACH=y");
    } else if (error == -EPERM && facts->yama_scope >= 2) {
        reason(step, "kernel.yama.ptrace_scope is %d: no process may read another's memory",
               facts->yama_scope);
        if (facts->yama_scope == 2)
            hint(step, "sudo sysctl kernel.yama.ptrace_scope=1");
        else
            hint(step, "boot with kernel.yama.ptrace_scope=1: 3 cannot be taken back");
    } else {
        reason(step, "memory of a process of our own cannot be read: %s", strerror(-error));
    }
}
