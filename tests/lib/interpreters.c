/* SPDX-License-Identifier: MIT */
/* Finds interpreters by running them. */
#include "interpreters.h"

#include "test.h"

#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char question[] =
    "import sys, sysconfig; print(sys.implementation.name, hex(sys.hexversion), "
    "'.'.join(map(str, sys.version_info[:3])), sysconfig.get_path('include'), "
    "sysconfig.get_config_var('LDLIBRARY'))";

/* `answer`: the whole answer, which identifies the build. */
static bool ask(const char *command, struct interpreter *interpreter, char *answer, size_t size)
{
    char line[2048], name[32];
    unsigned long hex;
    snprintf(line, sizeof(line), "'%s' -c \"%s\" 2>/dev/null", command, question);
    FILE *pipe = popen(line, "r");
    bool good = pipe && fgets(answer, (int)size, pipe);
    if (pipe && pclose(pipe) != 0)
        good = false;
    if (!good || sscanf(answer, "%31s %lx %63s %511s", name, &hex, interpreter->text,
                        interpreter->include) != 4)
        return false;
    interpreter->version = (unsigned)(hex >> 16);
    snprintf(interpreter->command, sizeof(interpreter->command), "%s", command);
    return strcmp(name, "cpython") == 0 && interpreter->version >= 0x0309;
}

struct finder {
    struct interpreter *found;
    size_t count;
    char answers[INTERPRETERS_MAX][1024];
};

static void try_command(struct finder *finder, const char *command)
{
    if (finder->count == INTERPRETERS_MAX || access(command, X_OK) != 0)
        return;
    char *answer = finder->answers[finder->count];
    struct interpreter *interpreter = &finder->found[finder->count];
    if (!ask(command, interpreter, answer, sizeof(finder->answers[0])))
        return;
    for (size_t i = 0; i < finder->count; i++)
        if (strcmp(finder->answers[i], answer) == 0)
            return;
    printf("  interpreter %s: %s\n", interpreter->text, command);
    finder->count++;
}

static void try_list(struct finder *finder, const char *list, const char *suffix)
{
    char *copy = strdup(list ? list : "");
    for (char *at = copy, *part; (part = strsep(&at, ":"));) {
        char path[1024];
        snprintf(path, sizeof(path), "%s%s", part, suffix);
        if (*part)
            try_command(finder, path);
    }
    free(copy);
}

size_t interpreters_find(struct interpreter found[INTERPRETERS_MAX])
{
    static struct finder finder;
    finder = (struct finder){.found = found};
    try_list(&finder, getenv("ANNOT_PYTHONS"), "");
    char pattern[1024];
    const char *root = getenv("PYENV_ROOT"), *home = getenv("HOME");
    snprintf(pattern, sizeof(pattern), "%s%s/versions/*/bin/python3",
             root   ? root
             : home ? home
                    : "",
             root ? "" : "/.pyenv");
    glob_t paths;
    if (glob(pattern, 0, NULL, &paths) == 0)
        for (size_t i = 0; i < paths.gl_pathc; i++)
            try_command(&finder, paths.gl_pathv[i]);
    globfree(&paths);
    try_list(&finder, getenv("PATH"), "/python3");
    fflush(stdout);
    return finder.count;
}

struct interpreter_run interpreter_start(const struct interpreter *interpreter,
                                         const char *const arguments[])
{
    int ends[2];
    const char *all[16] = {interpreter->command};
    for (size_t i = 0; arguments[i] && i < 14; i++)
        all[i + 1] = arguments[i];
    CHECK_INT(pipe(ends), 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execv(interpreter->command, (char *const *)all);
        _exit(127);
    }
    close(ends[1]);
    struct interpreter_run run = {pid, fdopen(ends[0], "r")};
    CHECK(run.output);
    return run;
}

void interpreter_line(const struct interpreter_run *run, char *line, size_t size)
{
    if (!fgets(line, (int)size, run->output))
        test_fail(__FILE__, __LINE__, "the interpreter ended before it answered");
    line[strcspn(line, "\n")] = 0;
}

int interpreter_stop(struct interpreter_run *run)
{
    int status = 0;
    fclose(run->output);
    kill(run->pid, SIGKILL);
    waitpid(run->pid, &status, 0);
    return status;
}
