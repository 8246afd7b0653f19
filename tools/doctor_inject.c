/* SPDX-License-Identifier: MIT */
/* `annot doctor`: whether programs annotated for NVTX can load annot's injection library. Their
 * loaders are silent where they cannot, so it is tried in a child: a library that lacks a library,
 * or finds no room for what its threads need, says so there. And whether a tool that is set already
 * will go on. */
#include "doctor_parts.h"
#include "record_inject.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a child, where libannot is to find no directory to make. */
static void try_to_load(const char *path, int fd)
{
    setenv("ANNOT_DIR", "/dev/null/none", 1);
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    const char *why = library ? "" : dlerror();
    if (library && !dlsym(library, "InitializeInjectionNvtx2"))
        why = "it has no InitializeInjectionNvtx2";
    (void)!write(fd, why, strlen(why));
    _exit(0);
}

/* "": it can be loaded. */
static void load_failure(const char *path, char *why, size_t size)
{
    int fds[2];
    why[0] = '\0';
    if (pipe(fds) != 0)
        return;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        try_to_load(path, fds[1]);
    close(fds[1]);
    ssize_t got = child > 0 ? read(fds[0], why, size - 1) : 0;
    why[got > 0 ? got : 0] = '\0';
    close(fds[0]);
    int status = 0;
    if (child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status))
        snprintf(why, size, "it ends the program with signal %d", WTERMSIG(status));
}

/* Of the user's: a wrong path is not noticed anywhere else. */
static void look_at_next(struct doctor_finding *it, const char *next)
{
    size_t used = strlen(it->text);
    doctor_fact_text(it, "next", next);
    if (access(next, R_OK) == 0) {
        snprintf(it->text + used, sizeof(it->text) - used, "; %s goes on behind it", next);
        return;
    }
    it->state = DOCTOR_MISSING;
    snprintf(it->text + used, sizeof(it->text) - used,
             "; NVTX_INJECTION64_PATH names %s, which cannot be read", next);
    snprintf(it->hint, sizeof(it->hint), "unset NVTX_INJECTION64_PATH");
}

/* Of annot's library, but not there: programs then load nothing, and say nothing. */
static void look_at_variables(struct doctor_finding *it)
{
    static const char *const names[] = {"NVTX_INJECTION64_PATH", "INTEL_LIBITTNOTIFY64"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);
        size_t used = strlen(it->text);
        if (!value || value[0] != '/' || access(value, R_OK) == 0 || it->state == DOCTOR_MISSING)
            continue;
        it->state = DOCTOR_MISSING;
        snprintf(it->text + used, sizeof(it->text) - used,
                 "; %s names %.200s, which cannot be read: programs load nothing", names[i], value);
        snprintf(it->hint, sizeof(it->hint), "unset %s, or eval \"$(annot env)\"", names[i]);
    }
}

void doctor_look_at_injection(struct doctor *doctor)
{
    struct doctor_finding *it = doctor_add(doctor, DOCTOR_SAMPLING, "NVTX");
    const char *next = inject_next_tool("NVTX_INJECTION64_PATH");
    char path[PATH_MAX], why[256] = "";
    bool found = inject_library(path);
    doctor_fact_text(it, "library", found ? path : "");
    if (!found) {
        it->state = DOCTOR_NOTE;
        snprintf(it->text, sizeof(it->text),
                 "there is no libannot-inject.so with this annot: it is built where the headers of "
                 "NVTX are");
        snprintf(it->hint, sizeof(it->hint), "pip install nvidia-nvtx, then build annot again");
        return;
    }
    load_failure(path, why, sizeof(why));
    if (why[0]) {
        it->state = DOCTOR_MISSING;
        snprintf(it->text, sizeof(it->text), "%.200s cannot be loaded: %s", path, why);
        return;
    }
    snprintf(it->text, sizeof(it->text), "programs annotated for NVTX are recorded as they are");
    if (next)
        look_at_next(it, next);
    look_at_variables(it);
}
