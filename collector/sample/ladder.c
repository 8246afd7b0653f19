/* SPDX-License-Identifier: MIT */
/* Tries the rungs; of one that fails, the first cause that applies is told. Causes stand in an
 * order in which the remedy of one is of no use while an earlier one holds. */
#include "ladder.h"

#include "bpf_program.h"
#include "host_facts.h"
#include "ladder_causes.h"
#include "proc_info.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRY_FREQUENCY_HZ = 99, TRY_RING_BYTES = 64 << 10, TOO_LARGE = 1 << 20 };

/* Calls that fail for their arguments before anybody's rights are looked at (from Linux 5.12 on in
 * the case of bpf): another error is that of a filter, or of a kernel without the call. */
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

/* Without a signal at its end, so that nobody who waits for children sees it. It makes no call but
 * these, because locks may be held by threads that it does not have. A program with file
 * capabilities is closed to others until it says otherwise, which those it samples are not. */
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
