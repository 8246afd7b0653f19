/* SPDX-License-Identifier: MIT */
/* `annot doctor`: the Python interpreters of this user, on the PATH and of pyenv. Each is started,
 * prints its version, and waits while its memory is read as by the sampler. */
#include "doctor_python.h"
#include "python_finder.h"

#include "clock_now.h"
#include "ladder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PYTHONS_MAX = 64,
    ANSWER_MAX = 1024,
    WAIT_MS = 10000,
    TRIES = 50,
    TRY_PAUSE_US = 10000,
    OLDEST = 3 << 8 | 9,
};

extern char **environ;

struct python_path {
    char path[PATH_MAX];
    char folder[PATH_MAX]; /* resolved: two links in one folder to one interpreter count once */
    dev_t device;
    ino_t inode;
};

struct python_paths {
    struct python_path *items[PYTHONS_MAX];
    size_t count;
};

/* "python3", "python3.13", "python3.13t" */
static bool is_python(const char *name)
{
    if (strncmp(name, "python3", 7) != 0)
        return false;
    const char *rest = name + 7;
    return *rest == '\0' ||
           (*rest == '.' && rest[1] && rest[1 + strspn(rest + 1, "0123456789t")] == '\0');
}

static void add_path(struct python_paths *paths, const char *folder, const char *name)
{
    struct stat status;
    struct python_path *path = calloc(1, sizeof(*path));
    bool good =
        path && paths->count < PYTHONS_MAX && realpath(folder, path->folder) &&
        (size_t)snprintf(path->path, sizeof(path->path), "%s/%s", folder, name) < PATH_MAX &&
        stat(path->path, &status) == 0 && S_ISREG(status.st_mode) && access(path->path, X_OK) == 0;
    for (size_t i = 0; good && i < paths->count; i++) {
        const struct python_path *other = paths->items[i];
        good = other->inode != status.st_ino || other->device != status.st_dev ||
               strcmp(other->folder, path->folder) != 0;
    }
    if (!good) {
        free(path);
        return;
    }
    path->device = status.st_dev;
    path->inode = status.st_ino;
    paths->items[paths->count++] = path;
}

static void add_folder(struct python_paths *paths, const char *folder)
{
    struct dirent **names;
    int count = strstr(folder, "/shims") ? 0 : scandir(folder, &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        if (is_python(names[i]->d_name))
            add_path(paths, folder, names[i]->d_name);
        free(names[i]);
    }
    if (count > 0)
        free(names);
}

static void add_search_path(struct python_paths *paths)
{
    const char *value = getenv("PATH");
    char *copy = strdup(value ? value : ""), *rest = copy;
    for (char *folder; rest && (folder = strsep(&rest, ":"));) {
        if (folder[0] == '/')
            add_folder(paths, folder);
    }
    free(copy);
}

static void add_pyenv(struct python_paths *paths)
{
    const char *root = getenv("PYENV_ROOT"), *home = getenv("HOME");
    char folder[PATH_MAX];
    struct dirent **names;
    if (root && *root)
        snprintf(folder, sizeof(folder), "%s/versions", root);
    else
        snprintf(folder, sizeof(folder), "%s/.pyenv/versions", home ? home : "");
    int count = scandir(folder, &names, NULL, versionsort);
    for (int i = 0; i < count; i++) {
        char programs[PATH_MAX];
        if (names[i]->d_name[0] != '.' &&
            (size_t)snprintf(programs, sizeof(programs), "%s/%s/bin", folder, names[i]->d_name) <
                sizeof(programs))
            add_path(paths, programs, "python3");
        free(names[i]);
    }
    if (count >= 0)
        free(names);
}

/* A started interpreter: it prints one line, then waits for the end of its input. */
struct running {
    pid_t pid;
    int input, output;
};

static char question[] =
    "import sys\n"
    "sys.path[:] = [folder for folder in sys.path if folder]\n"
    "try:\n"
    "    import pyannot\n"
    "    found = 'pyannot ' + getattr(pyannot, '__version__', '')\n"
    "except ImportError as error:\n"
    "    name = str(getattr(error, 'name', ''))\n"
    "    found = 'pyannot cannot be imported: ' + str(error)\n"
    "    if name == 'pyannot' and 'No module' in str(error):\n"
    "        found = 'without pyannot'\n"
    "    elif name == 'pyannot._native':\n"
    "        found = 'pyannot is there, but built for another Python'\n"
    "except Exception as error:\n"
    "    found = 'pyannot cannot be imported: ' + str(error)\n"
    "v = sys.version_info\n"
    "kind = getattr(sys, 'implementation', None)\n"
    "print('%d.%d.%d%s' % (v[0], v[1], v[2], 't' if 't' in getattr(sys, 'abiflags', '') else ''),\n"
    "      kind.name if kind else 'cpython', found.replace('\\n', ' '), sep='\\t')\n"
    "sys.stdout.flush()\n"
    "sys.stdin.read()\n";

static bool start(const char *path, struct running *ret_running)
{
    int input[2], output[2];
    char *arguments[] = {(char *)path, (char[]){"-c"}, question, NULL};
    posix_spawn_file_actions_t actions;
    if (pipe2(input, O_CLOEXEC) != 0)
        return false;
    if (pipe2(output, O_CLOEXEC) != 0) {
        close(input[0]);
        close(input[1]);
        return false;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int error = posix_spawn(&ret_running->pid, path, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(input[0]);
    close(output[1]);
    ret_running->input = input[1];
    ret_running->output = output[0];
    if (error) {
        close(input[1]);
        close(output[0]);
    }
    return error == 0;
}

static void stop(const struct running *running)
{
    close(running->input);
    close(running->output);
    kill(running->pid, SIGKILL);
    waitpid(running->pid, NULL, 0);
}

/* false: it ended, or has printed no line within WAIT_MS. */
static bool read_answer(const struct running *running, char answer[ANSWER_MAX])
{
    int64_t deadline = clock_now_ns() / 1000000 + WAIT_MS, left;
    size_t have = 0;
    while (have < ANSWER_MAX - 1 && (left = deadline - clock_now_ns() / 1000000) > 0) {
        struct pollfd ready = {.fd = running->output, .events = POLLIN};
        if (poll(&ready, 1, (int)left) < 0 && errno != EINTR)
            return false;
        ssize_t size =
            ready.revents ? read(running->output, answer + have, ANSWER_MAX - 1 - have) : 0;
        if (ready.revents && size <= 0)
            return false;
        have += (size_t)size;
        answer[have] = '\0';
        char *end = strchr(answer, '\n');
        if (end) {
            *end = '\0';
            return true;
        }
    }
    return false;
}

/* Appends to `text`, which begins with the path, how frames can be read. */
static void judge_frames(pid_t pid, const char *pyannot, struct doctor_finding *it)
{
    struct python_check check;
    char path[sizeof(it->text)];
    int error = -EAGAIN;
    for (int i = 0; i < TRIES && (error = python_check_process(pid, &check)) == -EAGAIN; i++)
        usleep(TRY_PAUSE_US);
    memcpy(path, it->text, sizeof(path));
    if (error == 0 && check.readable) {
        snprintf(it->text, sizeof(it->text), "%.200s: stacks by %s, %.200s", path,
                 strcmp(check.source, "table") == 0 ? "a table of annot" : check.source, pyannot);
        return;
    }
    it->state = DOCTOR_MISSING;
    snprintf(it->text, sizeof(it->text), "%.200s: its stacks cannot be read: %.200s", path,
             error == -ENOENT   ? "no interpreter was found in it"
             : error == 0       ? check.reason
             : error == -EAGAIN ? "it did not begin to run"
                                : strerror(-error));
}

static void judge(struct doctor *doctor, const struct python_path *path, pid_t pid, char *answer)
{
    unsigned major = 0, minor = 0;
    bool readable = false;
    char *version = strsep(&answer, "\t"), *kind = strsep(&answer, "\t"), *pyannot = answer;
    if (!version || !kind || !pyannot || sscanf(version, "%u.%u", &major, &minor) != 2)
        return;
    struct doctor_finding *it = doctor_add(doctor, DOCTOR_PYTHON, version);
    if (strcmp(kind, "cpython") != 0) {
        it->state = DOCTOR_NOTE;
        snprintf(it->text, sizeof(it->text), "%.400s: %.32s: native stacks only", path->path, kind);
    } else if ((major << 8 | minor) < OLDEST) {
        it->state = DOCTOR_NOTE;
        snprintf(it->text, sizeof(it->text), "%.400s: native stacks only, Python's from 3.9 on",
                 path->path);
    } else {
        snprintf(it->text, sizeof(it->text), "%.400s", path->path);
        judge_frames(pid, pyannot, it);
        readable = it->state == DOCTOR_GOOD;
    }
    if (it->state == DOCTOR_GOOD && strstr(pyannot, "cannot be imported")) {
        it->state = DOCTOR_MISSING;
        snprintf(it->hint, sizeof(it->hint),
                 "in annot's source: %.200s -m pip install --force-reinstall .", path->path);
    }
    doctor_fact_text(it, "path", path->path);
    doctor_fact_text(it, "version", version);
    doctor_fact_text(it, "implementation", kind);
    doctor_fact_number(it, "stacks", readable);
    doctor_fact_text(it, "pyannot", pyannot);
}

void doctor_look_at_pythons(struct doctor *doctor)
{
    struct python_paths paths = {.count = 0};
    add_search_path(&paths);
    add_pyenv(&paths);
    for (size_t i = 0; i < paths.count; i++) {
        struct running running;
        char answer[ANSWER_MAX];
        if (start(paths.items[i]->path, &running)) {
            if (read_answer(&running, answer))
                judge(doctor, paths.items[i], running.pid, answer);
            stop(&running);
        }
        free(paths.items[i]);
    }
}
