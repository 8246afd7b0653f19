/* SPDX-License-Identifier: MIT */
/* Each run is a child process. One that records sends the resource use of the command through a
 * pipe, since its own times are not the command's. The recordings of each command lie in a folder,
 * in the layout that `annot diff` takes. */
#include "stat_run.h"

#include "child.h"
#include "clock_now.h"
#include "cmd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Processes ------------------------------------------------------------------------------- */

static int64_t time_ns(struct timeval time)
{
    return (int64_t)time.tv_sec * 1000000000 + (int64_t)time.tv_usec * 1000;
}

static void set_usage(const struct rusage *usage, struct stat_usage *ret_usage)
{
    ret_usage->user_ns = time_ns(usage->ru_utime);
    ret_usage->system_ns = time_ns(usage->ru_stime);
    ret_usage->memory_bytes = (uint64_t)usage->ru_maxrss * 1024;
}

/* Runs in the child. */
static void redirect(const struct signals *signals, bool shown)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    signals_restore_in_child(signals);
    if (null < 0)
        return;
    dup2(null, STDIN_FILENO);
    if (!shown)
        dup2(null, STDOUT_FILENO);
}

/* Signals from the terminal's keys are meant for the command; this process continues and cleans
 * up. */
static pid_t begin(struct signals *signals, int64_t *ret_begin_ns)
{
    fflush(NULL);
    int error = signals_begin(signals, true);
    if (error) {
        errno = -error;
        return -1;
    }
    *ret_begin_ns = clock_now_ns();
    return fork();
}

static void take_signals(struct signals *signals, pid_t pid)
{
    struct pollfd ready = {.fd = signals->fd, .events = POLLIN};
    struct signal_sent sent;
    poll(&ready, 1, -1);
    while (signals_take(signals, &sent)) {
        if (sent.number != SIGCHLD)
            signals_pass(signals, &sent, pid);
        if (sent.number == SIGTSTP)
            signals_stop(signals, SIGTSTP, pid);
    }
}

static int finish(struct signals *signals, pid_t pid, int64_t begin_ns,
                  struct stat_usage *ret_usage)
{
    struct rusage usage;
    pid_t got;
    while ((got = wait4(pid, &ret_usage->status, WNOHANG, &usage)) == 0)
        take_signals(signals, pid);
    int error = errno;
    ret_usage->wall_ns = clock_now_ns() - begin_ns;
    signals_end(signals);
    if (got < 0)
        return -error;
    set_usage(&usage, ret_usage);
    return 0;
}

int stat_run_command(char **argv, bool shown, struct stat_usage *ret_usage)
{
    struct signals signals;
    int64_t begin_ns = 0;
    pid_t pid = begin(&signals, &begin_ns);
    int error = errno;
    if (pid < 0) {
        signals_end(&signals);
        return -error;
    }
    if (pid == 0) {
        redirect(&signals, shown);
        execvp(argv[0], argv);
        _exit(errno == ENOENT ? 127 : 126);
    }
    return finish(&signals, pid, begin_ns, ret_usage);
}

/* Memory below annot's own peak is reported as unknown: a process starts with the size of the one
 * it was forked from. */
static void run_annot(char **argv, int fd)
{
    struct rusage own = {0};
    int argc = 0;
    while (argv[argc])
        argc++;
    int status = cmd_run(&cmd_record, argc - 2, argv + 2);
    fflush(NULL);
    struct rusage usage = child_usage();
    int failed = getrusage(RUSAGE_SELF, &own);
    if (usage.ru_maxrss <= own.ru_maxrss)
        usage.ru_maxrss = 0;
    if (failed || write(fd, &usage, sizeof(usage)) < 0)
        status = status ? status : 125;
    _exit(status);
}

int stat_run_annot(char **argv, bool shown, struct stat_usage *ret_usage)
{
    struct rusage usage;
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
        return -errno;
    struct signals signals;
    int64_t begin_ns = 0;
    pid_t pid = begin(&signals, &begin_ns);
    int rc = pid < 0 ? -errno : 0;
    if (pid == 0) {
        close(fds[0]);
        redirect(&signals, shown);
        run_annot(argv, fds[1]);
    }
    close(fds[1]);
    if (rc == 0)
        rc = finish(&signals, pid, begin_ns, ret_usage);
    else
        signals_end(&signals);
    if (rc == 0 && read(fds[0], &usage, sizeof(usage)) == (ssize_t)sizeof(usage))
        set_usage(&usage, ret_usage);
    close(fds[0]);
    return rc;
}

/* ---- Folders of recordings ------------------------------------------------------------------- */

static int make_temporary(struct stat_folder *folder)
{
    const char *base = getenv("TMPDIR");
    int length = snprintf(folder->path, sizeof(folder->path), "%s/annot-stat-XXXXXX",
                          base && base[0] ? base : "/tmp");
    if (length >= (int)sizeof(folder->path) || !mkdtemp(folder->path))
        return cmd_fail(CMD_FAILED, "cannot make a folder in %s: %s\nTMPDIR names another one",
                        base && base[0] ? base : "/tmp", strerror(errno));
    folder->temporary = true;
    return CMD_OK;
}

static int make_named(struct stat_folder *folder, const char *name)
{
    int length = snprintf(folder->path, sizeof(folder->path), "%s", name);
    if (length >= (int)sizeof(folder->path))
        return cmd_fail(CMD_FAILED, "cannot make %s: %s", name, strerror(ENAMETOOLONG));
    if (mkdir(folder->path, 0777) != 0 && errno != EEXIST)
        return cmd_fail(CMD_FAILED, "cannot make %s: %s", name, strerror(errno));
    return CMD_OK;
}

/* "DIR/size=a_b" for "size=a/b" */
static void variant_path(const struct stat_folder *folder, size_t variant, char path[PATH_MAX])
{
    int length = snprintf(path, PATH_MAX, "%s/", folder->path);
    snprintf(path + length, (size_t)(PATH_MAX - length), "%s", folder->names[variant]);
    for (char *at = path + length; *at; at++)
        if (*at == '/')
            *at = '_';
}

int stat_folder_init(struct stat_folder *folder, const char *name, const char *const *variants,
                     size_t count)
{
    int status = name ? make_named(folder, name) : make_temporary(folder);
    const char **names = calloc(count, sizeof(*names));
    if (!names)
        return cmd_fail(CMD_FAILED, "out of memory");
    memcpy(names, variants, count * sizeof(*names));
    folder->names = names;
    folder->count = count;
    for (size_t i = 0; i < count && status == CMD_OK; i++) {
        char path[PATH_MAX];
        variant_path(folder, i, path);
        if (mkdir(path, 0777) == 0)
            continue;
        status = errno == EEXIST
                     ? cmd_fail(CMD_FAILED, "%s already exists\nname another folder", path)
                     : cmd_fail(CMD_FAILED, "cannot make %s: %s", path, strerror(errno));
    }
    return status;
}

void stat_folder_path(const struct stat_folder *folder, size_t variant, unsigned run,
                      char path[PATH_MAX])
{
    char base[PATH_MAX];
    path[0] = '\0';
    if (folder->count == 0)
        return;
    variant_path(folder, variant, base);
    if (snprintf(path, PATH_MAX, "%s/%03u.annot", base, run + 1) >= PATH_MAX)
        path[0] = '\0';
}

static void remove_variant(const struct stat_folder *folder, size_t variant)
{
    char path[PATH_MAX], file[PATH_MAX + NAME_MAX + 2];
    struct dirent *entry;
    variant_path(folder, variant, path);
    DIR *listing = opendir(path);
    while (listing && (entry = readdir(listing))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
        unlink(file);
    }
    if (listing)
        closedir(listing);
    rmdir(path);
}

void stat_folder_fini(struct stat_folder *folder)
{
    for (size_t i = 0; i < folder->count && folder->temporary; i++)
        remove_variant(folder, i);
    if (folder->temporary)
        rmdir(folder->path);
    free((void *)folder->names);
}
