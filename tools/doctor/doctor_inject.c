/* SPDX-License-Identifier: MIT */
/* `annot doctor`: checks that programs annotated for NVTX can load annot's injection library. The
 * loaders do not report failures, so it is loaded in a child, which reports missing libraries and
 * missing room for thread-local storage. Also checks that a tool that is already set would be
 * chained. */
#include "doctor.h"
#include "record_inject.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs in a child. ANNOT_DIR keeps libannot from creating a directory. */
static void try_to_load(const char *path, const char *function, int fd)
{
    setenv("ANNOT_DIR", "/dev/null/none", 1);
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    const char *why = library ? "" : dlerror();
    if (library && !dlsym(library, function))
        why = dlerror();
    (void)!write(fd, why, strlen(why));
    _exit(0);
}

/* Writes the reason of a failure to `why`; "": loadable. */
static void load_failure(const char *path, const char *function, char *why, size_t size)
{
    int fds[2];
    why[0] = '\0';
    if (pipe(fds) != 0)
        return;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        try_to_load(path, function, fds[1]);
    close(fds[1]);
    ssize_t got = child > 0 ? read(fds[0], why, size - 1) : 0;
    why[got > 0 ? got : 0] = '\0';
    close(fds[0]);
    int status = 0;
    if (child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status))
        snprintf(why, size, "it ends the program with signal %d", WTERMSIG(status));
}

static const struct loader {
    const char *variable, *function, *fact;
} loaders[] = {
    {"NVTX_INJECTION64_PATH", "InitializeInjectionNvtx2", "next"},
    {"INTEL_LIBITTNOTIFY64", "__itt_api_init", "next_itt"},
};

enum { LOADERS = sizeof(loaders) / sizeof(loaders[0]) };

/* Checks the user's tool: a wrong path, or a file that is no tool, is reported nowhere else. */
static void look_at_next(struct doctor_finding *it, const struct loader *loader)
{
    const char *next = inject_next_tool(loader->variable);
    char why[256] = "";
    size_t used = strlen(it->text);
    if (!next || it->state == DOCTOR_MISSING)
        return;
    doctor_fact_text(it, loader->fact, next);
    bool is_there = next[0] != '/' || access(next, R_OK) == 0;
    if (is_there)
        load_failure(next, loader->function, why, sizeof(why));
    if (is_there && !why[0]) {
        snprintf(it->text + used, sizeof(it->text) - used, "; %.200s goes on behind it", next);
        return;
    }
    it->state = DOCTOR_MISSING;
    if (is_there)
        snprintf(it->text + used, sizeof(it->text) - used,
                 "; %s names %.200s, which cannot be loaded: %s", loader->variable, next, why);
    else
        snprintf(it->text + used, sizeof(it->text) - used,
                 "; %s names %.200s, which cannot be read", loader->variable, next);
    snprintf(it->hint, sizeof(it->hint), "unset %s", loader->variable);
}

/* Checks variables that name a missing file: programs then load no library, without a message. */
static void look_at_variables(struct doctor_finding *it)
{
    for (size_t i = 0; i < LOADERS; i++) {
        const char *name = loaders[i].variable, *value = getenv(name);
        size_t used = strlen(it->text);
        if (!value || value[0] != '/' || access(value, R_OK) == 0 || it->state == DOCTOR_MISSING)
            continue;
        it->state = DOCTOR_MISSING;
        snprintf(it->text + used, sizeof(it->text) - used,
                 "; %s names %.200s, which cannot be read: programs load nothing", name, value);
        snprintf(it->hint, sizeof(it->hint), "unset %s, or eval \"$(annot env)\"", name);
    }
}

/* A value that is already set also applies to programs started by annot. */
static void look_at_room(struct doctor_finding *it)
{
    const char *value = getenv(INJECT_ROOM_VARIABLE);
    size_t used = strlen(it->text);
    if (!value || !strstr(value, INJECT_ROOM_KEY) || inject_has_room(value) ||
        it->state == DOCTOR_MISSING)
        return;
    it->state = DOCTOR_NOTE;
    snprintf(it->text + used, sizeof(it->text) - used,
             "; " INJECT_ROOM_VARIABLE " leaves less room for libraries that come late than annot "
             "would: a program that needs it loads nothing");
    snprintf(it->hint, sizeof(it->hint), "take " INJECT_ROOM_KEY " out of it");
}

void doctor_look_at_injection(struct doctor *doctor)
{
    struct doctor_finding *it = doctor_add(doctor, DOCTOR_SAMPLING, "NVTX");
    char path[PATH_MAX], why[256] = "";
    const char *symbol = "annot_inject_entered"; /* exported whichever parts are built in */
    bool found = inject_library(path);
    doctor_fact_text(it, "library", found ? path : "");
    if (!found) {
        it->state = DOCTOR_NOTE;
        snprintf(it->text, sizeof(it->text),
                 "libannot-inject.so is missing: ranges of NVTX and ITT are not recorded");
        snprintf(it->hint, sizeof(it->hint), ANNOT_REBUILD);
        return;
    }
    load_failure(path, symbol, why, sizeof(why));
    if (why[0]) {
        it->state = DOCTOR_MISSING;
        snprintf(it->text, sizeof(it->text), "%.200s cannot be loaded: %s", path, why);
        return;
    }
    snprintf(it->text, sizeof(it->text), "programs annotated for NVTX are recorded as they are");
    for (size_t i = 0; i < LOADERS; i++)
        look_at_next(it, &loaders[i]);
    look_at_variables(it);
    look_at_room(it);
}
