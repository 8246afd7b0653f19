/* SPDX-License-Identifier: MIT */
/* Inspects processes before attaching, and loads the injection library into those started without
 * it. Names of programs and directories are untrusted: cmd_note escapes them. */
#include "attach.h"
#include "clock_now.h"
#include "cmd.h"
#include "look.h"
#include "look_enter.h"
#include "proc_info.h"
#include "record_inject.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int attach_programs_fail(int32_t pid, int error)
{
    if (error == ESRCH)
        return cmd_fail(CMD_FAILED,
                        "there is no process %d\n\"pgrep -a NAME\" finds the one "
                        "you mean",
                        (int)pid);
    if (error == EPERM || error == EACCES)
        return cmd_fail(CMD_FAILED, "process %d: it runs under another user\nsudo annot %s %d",
                        (int)pid, cmd_name(), (int)pid);
    return cmd_fail(CMD_FAILED, "process %d: %s", (int)pid, strerror(error));
}

static int look(struct attach_program *program, int32_t pid)
{
    program->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (program->pidfd < 0)
        return attach_programs_fail(pid, errno == EINVAL ? ESRCH : errno);
    int error = target_look(pid, &program->target);
    struct pollfd ended = {.fd = program->pidfd, .events = POLLIN};
    if (error == 0 && poll(&ended, 1, 0) == 1) /* the pid may have been reused meanwhile */
        error = -ESRCH;
    if (error == 0 && geteuid() != 0 && program->target.uid != geteuid())
        error = -EPERM;
    return error == 0 ? 0 : attach_programs_fail(pid, -error);
}

int attach_programs_init(struct attach_programs *programs, const struct pid_list *pids,
                         enum attach_rest rest)
{
    int status = 0;
    *programs = (struct attach_programs){.begin_ns = clock_now_ns(), .rest = rest};
    programs->items = calloc(pids->count, sizeof(programs->items[0]));
    if (!programs->items)
        return cmd_fail(CMD_FAILED, "out of memory");
    for (; status == 0 && programs->count < pids->count; programs->count++)
        status = look(&programs->items[programs->count], pids->items[programs->count]);
    return status;
}

void attach_programs_fini(struct attach_programs *programs)
{
    for (uint32_t i = 0; i < programs->count; i++)
        if (programs->items[i].pidfd >= 0)
            close(programs->items[i].pidfd);
    free(programs->items);
    programs->items = NULL;
    programs->count = 0;
}

const struct target *attach_programs_leader(const struct attach_programs *programs)
{
    for (uint32_t i = 0; i < programs->count; i++)
        if (programs->items[i].target.state == TARGET_READY)
            return &programs->items[i].target;
    return NULL;
}

/* "process 12 (python3) is sampled only: WHY" */
static void note(const struct attach_programs *programs, const struct target *target,
                 const char *why, const char *what)
{
    static const char *const rests[] = {
        [ATTACH_SAMPLED] = "is sampled only",
        [ATTACH_LEFT_OUT] = "is left out",
        [ATTACH_NOTHING] = "cannot be recorded",
    };
    cmd_note("process %d (%s) %s: %s%s", (int)target->pid, target->comm, rests[programs->rest], why,
             what);
}

static void note_state(const struct attach_programs *programs, const struct target *target,
                       bool may_come)
{
    switch (target->state) {
    case TARGET_PLAIN: /* most programs: sampling is all that was asked for */
        if (programs->rest != ATTACH_SAMPLED || programs->verbose)
            note(programs, target, "libannot is not in it",
                 may_come ? "; if it loads it, its annotations come as well" : "");
        break;
    case TARGET_SHUT:
        note(programs, target, "its libannot found no directory that it could use", "");
        break;
    case TARGET_STRAY:
        note(programs, target,
             "this is not or no more the directory that its libannot watches: ", target->path);
        break;
    case TARGET_HIDDEN:
        note(programs, target, "its mappings may not be read", "");
        break;
    case TARGET_READY:
        break;
    }
}

static void note_error(const struct attach_programs *programs, const struct target *target,
                       int error, const char *other)
{
    if (error == -EBUSY && other[0])
        note(programs, target, "its annotations go to another recording already: ", other);
    else if (error == -EBUSY)
        note(programs, target, "its annotations go to another recording already", "");
    else if (error == -EXDEV)
        note(programs, target,
             "its libannot watches a different directory; attach to it separately: ", target->path);
    else
        note(programs, target, "its events cannot be requested: ", strerror(-error));
}

uint32_t attach_programs_annotate(struct attach_programs *programs, struct collector *collector)
{
    char other[PATH_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < programs->count; i++) {
        struct attach_program *program = &programs->items[i];
        attach_look_at_loaders(
            &(struct attach_loaders){&program->target, collector, programs->verbose});
        bool may_come = program->target.state == TARGET_PLAIN;
        bool ready = program->target.state == TARGET_READY;
        int error =
            ready || may_come ? collector_annotate(collector, &program->target, other) : -ENOENT;
        if (!ready) {
            note_state(programs, &program->target, error == 0);
            continue;
        }
        if (error != 0)
            note_error(programs, &program->target, error, other);
        program->annotated = error == 0;
        count += program->annotated;
    }
    return count;
}

/* Only a process with a segment has a runtime version. */
bool attach_has_joined(const struct trace *trace, int32_t pid)
{
    for (uint32_t i = 0; i < trace_process_count(trace); i++) {
        const struct trace_process *process = trace_process_get(trace, i);
        if (process->pid == pid && process->runtime_version != 0)
            return true;
    }
    return false;
}

void attach_programs_note_silent(struct attach_programs *programs,
                                 const struct collector *collector, bool last)
{
    const struct trace *trace = collector_trace(collector);
    for (uint32_t i = 0; i < programs->count; i++) {
        struct attach_program *program = &programs->items[i];
        if (!program->annotated || attach_has_joined(trace, program->target.pid))
            continue;
        cmd_note(last ? "process %d (%s) emitted no event"
                      : "process %d (%s): its annotations are on; waiting for its first event",
                 (int)program->target.pid, program->target.comm);
    }
}

/* `annot attach --inject`: loads the injection library into processes started without it. Names of
 * programs are untrusted: cmd_note escapes them. */

static int is_library(void *context, const struct maps_line *line)
{
    (void)context;
    return line->executable && strcmp(text_base_name(line->path), "libannot-inject.so") == 0;
}

static int check_owner(int32_t pid)
{
    int error = proc_check_owner(pid);
    return error == 0 ? 0 : attach_programs_fail(pid, -error);
}

static int refuse(int32_t pid, const char *comm, int error, const struct look_reason *reason)
{
    return cmd_fail(CMD_FAILED,
                    "process %d (%s): nothing can be loaded into it%s: %s\nannot attach without "
                    "--inject samples it; annot run starts a program so that all is there",
                    (int)pid, comm, error == -EAGAIN ? " now" : "", reason->text);
}

static int inject(int32_t pid, const char *library, bool needed)
{
    struct look_reason reason;
    struct proc_stat stat = {.comm = "?"};
    int status = check_owner(pid);
    if (status != 0)
        return status;
    (void)proc_stat(pid, &stat);
    if (maps_each(pid, is_library, NULL) == 1) {
        cmd_note("process %d (%s): the library is in it already", (int)pid, stat.comm);
        return 0;
    }
    int error = look_enter(pid, library, &reason);
    if (error != 0 && needed)
        return refuse(pid, stat.comm, error, &reason);
    if (error != 0) {
        cmd_note("process %d (%s): what calls NVTX or ITT in it stays silent: %s", (int)pid,
                 stat.comm, reason.text);
        return 0;
    }
    cmd_note(
        "process %d (%s): libannot-inject.so is in it now; libraries of it that called NVTX or "
        "ITT before stay silent",
        (int)pid, stat.comm);
    return 0;
}

int attach_inject(const struct pid_list *pids, bool needed)
{
    char library[PATH_MAX];
    int status = 0;
    if (!inject_library(library) && !needed)
        return 0;
    if (!inject_library(library))
        return cmd_fail(CMD_FAILED, "option --inject: this annot has no libannot-inject.so\n"
                                    "" ANNOT_REBUILD);
    for (uint32_t i = 0; status == 0 && i < pids->count; i++)
        status = inject(pids->items[i], library, needed);
    return status;
}
