/* SPDX-License-Identifier: MIT */
/* `annot attach --inject`: loads the injection library into processes started without it. Names of
 * programs are untrusted: cmd_note escapes them. */
#include "attach.h"
#include "look_enter.h"

#include "cmd.h"
#include "look.h"
#include "proc_info.h"
#include "record_inject.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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
