/* SPDX-License-Identifier: MIT */
/* Inspects a running program. Paths in its mappings are from the program's view: they are resolved
 * inside its root, so links resolve as they do for the program. */
#include "target.h"

#include "clock_now.h"
#include "file_io.h"
#include "intake.h"
#include "proc_info.h"
#include "segment_reader.h"
#include "session_file.h"
#include "text.h"
#include "trace.h"
#include "vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char removed[] = " (deleted)";

/* ---- Mappings ---- */

static bool ends_with(const char *text, size_t length, const char *end)
{
    size_t size = strlen(end);
    return length >= size && memcmp(text + length - size, end, size) == 0;
}

/* "DIRECTORY/wake", one page: the first one counts. */
static void take_wake(struct target *target, const struct maps_line *line)
{
    size_t length = strlen(line->path);
    bool gone = ends_with(line->path, length, removed);
    length -= gone ? strlen(removed) : 0;
    if (!ends_with(line->path, length, "/" ANNOT_WAKE_NAME))
        return;
    length -= strlen("/" ANNOT_WAKE_NAME);
    if (length >= sizeof(target->path) || length == 0)
        return;
    memcpy(target->path, line->path, length);
    target->path[length] = 0;
    target->wake_inode = line->inode;
    target->state = gone ? TARGET_STRAY : TARGET_READY;
}

/* Reads the reason why its libannot has no directory. */
static bool take_none(struct target *target, const char *path)
{
    unsigned refusal, error;
    if (sscanf(path, "/memfd:" ANNOT_REFUSED_PREFIX "%5u-%5u", &refusal, &error) != 2)
        return false;
    target->state = TARGET_SHUT;
    target->refusal = (uint16_t)refusal;
    target->error = (uint16_t)error;
    return true;
}

static int take_mapping(void *context, const struct maps_line *line)
{
    struct target *target = context;
    const char *name = strrchr(line->path, '/');
    if (line->path[0] != '/' || target->path[0] || take_none(target, line->path))
        return 0;
    if (line->offset == 0 && line->end - line->begin == ANNOT_PAGE_SIZE)
        take_wake(target, line);
    if (target->state == TARGET_PLAIN &&
        (strncmp(name, "/libannot.so", 12) == 0 || strstr(line->path, "/pyannot/_native.")))
        target->state = TARGET_SHUT; /* unless its wake page follows */
    return 0;
}

/* ---- Identity ---- */

static int read_owner(struct target *target)
{
    char path[64], text[4096];
    unsigned real, effective;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)target->pid);
    ssize_t size = file_read_text(path, text, sizeof(text));
    if (size <= 0)
        return -ESRCH;
    const char *line = strstr(text, "\nUid:");
    if (!line || sscanf(line, "\nUid: %u %u", &real, &effective) != 2)
        return -ESRCH;
    target->uid = effective;
    target->ns_pid = proc_innermost(text);
    return target->ns_pid > 0 ? 0 : -ESRCH;
}

/* True if the process is in our mount namespace; false if unknown. */
static bool shares_mounts(int32_t pid)
{
    char path[64];
    struct stat theirs, ours;
    snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
    return stat(path, &theirs) == 0 && stat("/proc/self/ns/mnt", &ours) == 0 &&
           theirs.st_ino == ours.st_ino;
}

int target_look(int32_t pid, struct target *ret)
{
    struct proc_stat stat;
    struct directory directory;
    *ret = (struct target){.pid = pid, .state = TARGET_PLAIN};
    int error = proc_stat(pid, &stat);
    if (error == 0 && stat.state == 'Z' && stat.thread_count <= 1)
        error = -ESRCH;
    if (error == 0)
        error = read_owner(ret);
    if (error != 0)
        return error;
    memcpy(ret->comm, stat.comm, sizeof(ret->comm));
    ret->pid_ns = proc_pid_namespace(pid);
    ret->start_ticks = stat.start_ticks;
    ret->elsewhere = !shares_mounts(pid);
    error = maps_each(pid, take_mapping, ret);
    if (error == -EACCES || error == -EPERM) {
        ret->state = TARGET_HIDDEN;
        return 0;
    }
    if (error == 0 && ret->state == TARGET_READY) {
        if (target_open_directory(ret, &directory) != 0)
            ret->state = TARGET_STRAY;
        else
            directory_close(&directory);
    }
    return error;
}

/* ---- Its directory ---- */

/* The part below the process's root of a path in its mappings, which starts at the root of its
 * mounts. */
static const char *below_root(const struct target *target, const char *root_link)
{
    char root[DIRECTORY_PATH_SIZE];
    ssize_t length = readlink(root_link, root, sizeof(root));
    bool is_below = length > 1 && length < (ssize_t)sizeof(root) &&
                    strncmp(target->path, root, (size_t)length) == 0 && target->path[length] == '/';
    return target->path + (is_below ? length : 0);
}

static int open_inside(const struct target *target)
{
    const struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
                                 .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/root", (int)target->pid);
    int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return -errno;
    int fd = (int)syscall(SYS_openat2, root, below_root(target, path), &how, sizeof(how));
    fd = fd < 0 ? -errno : fd;
    close(root);
    return fd;
}

static int open_path(const struct target *target)
{
    int fd = open_inside(target);
    if (fd >= 0 || target->elsewhere)
        return fd;
    fd = open(target->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Checks that it is private to its user, and holds the very page that the program has mapped. */
static int check_directory(const struct target *target, int fd, gid_t *ret_gid)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return -errno;
    *ret_gid = status.st_gid;
    if (status.st_uid != target->uid || (status.st_mode & 0777) != 0700)
        return -EACCES;
    if (fstatat(fd, ANNOT_WAKE_NAME, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return -errno;
    return S_ISREG(status.st_mode) && status.st_ino == target->wake_inode &&
                   status.st_uid == target->uid
               ? 0
               : -ESTALE;
}

int target_open_directory(const struct target *target, struct directory *ret)
{
    *ret = (struct directory){
        .fd = -1, .uid = target->uid, .foreign = target->elsewhere || target->uid != geteuid()};
    int fd = open_path(target);
    if (fd < 0)
        return fd;
    int error = check_directory(target, fd, &ret->gid);
    if (error != 0) {
        close(fd);
        return error;
    }
    memcpy(ret->path, target->path, sizeof(ret->path));
    ret->made = directory_is_default(target->path, target->uid);
    ret->fd = fd;
    return 0;
}

/* ---- Its session ---- */

/* Finds the session of a running program by libannot's rules (docs/wire-format.md, "Session file"),
 * and writes the files that assign it to one. */

enum { ANCESTORS_MAX = 64, ID_DIGITS = 16, TEXT_MAX = 48 };

/* ---- The file ---- */

static void format_name(int32_t ns_pid, uint64_t pid_ns, char name[TARGET_NAME_SIZE])
{
    snprintf(name, TARGET_NAME_SIZE, ANNOT_TARGET_PREFIX "%d-%" PRIx64, (int)ns_pid, pid_ns);
}

void target_name(const struct target *target, char name[TARGET_NAME_SIZE])
{
    format_name(target->ns_pid, target->pid_ns, name);
}

/* The session that such a file names for a process with this start time, or 0. */
static uint64_t read_file(const struct directory *directory, const char *name, uint64_t start_ticks)
{
    char text[TEXT_MAX] = "", *end;
    struct stat status;
    int fd = file_open_regular(directory->fd, name, O_RDONLY | O_NOFOLLOW, &status);
    if (fd < 0)
        return 0;
    ssize_t size = -1;
    if (status.st_uid == directory->uid)
        size = file_read_at(fd, text, sizeof(text) - 1, 0);
    close(fd);
    if (size <= ID_DIGITS || strspn(text, "0123456789abcdef") != ID_DIGITS ||
        text[ID_DIGITS] != ' ')
        return 0;
    uint64_t id = strtoull(text, NULL, 16), named = strtoull(text + ID_DIGITS + 1, &end, 10);
    return named == 0 || start_ticks == 0 || clock_same_ticks(named, start_ticks) ? id : 0;
}

static int write_file(const struct directory *directory, const char *name, uint64_t id,
                      uint64_t start_ticks)
{
    char text[TEXT_MAX];
    int length = snprintf(text, sizeof(text), "%016" PRIx64 " %" PRIu64 "\n", id, start_ticks);
    if (unlinkat(directory->fd, name, 0) != 0 && errno != ENOENT)
        return -errno;
    int fd = directory_make_file(directory, name, O_WRONLY);
    if (fd < 0)
        return fd;
    int error = file_write_all(fd, text, (size_t)length);
    close(fd);
    if (error != 0)
        unlinkat(directory->fd, name, 0);
    return error;
}

/* ---- Its recorder ---- */

static int find_by_file(const struct directory *directory, const char *name, uint64_t start_ticks,
                        struct annot_session *ret_session)
{
    uint64_t id = read_file(directory, name, start_ticks);
    return id != 0 && session_file_alive(directory, id, ret_session);
}

/* Finds the session by an existing segment of the process. */
static int find_by_segment(const struct directory *directory, const struct target *target,
                           struct annot_session *ret_session)
{
    int found = 0;
    DIR *stream = file_list_folder(directory->fd);
    if (!stream)
        return -errno;
    for (const struct dirent *entry; !found && (entry = readdir(stream));) {
        struct segment_name parsed;
        struct segment segment;
        if (!segment_name_parse(entry->d_name, &parsed) || parsed.pid != target->ns_pid ||
            parsed.pid_ns != target->pid_ns ||
            segment_open(directory->fd, entry->d_name, &segment) != 0)
            continue;
        bool same = target->start_ticks == 0 || segment.info.start_time_ticks == 0 ||
                    clock_same_ticks(segment.info.start_time_ticks, target->start_ticks);
        found = same && session_file_alive(directory, segment.info.session_id, ret_session);
        segment_close(&segment);
    }
    closedir(stream);
    return found;
}

static int find_by_environment(const struct directory *directory, const struct target *target,
                               struct annot_session *ret_session)
{
    static const char wanted[] = ANNOT_ENV_SESSION "=";
    char path[64], name[SESSION_NAME_SIZE], *text = NULL;
    size_t size = 0;
    uint64_t id;
    int found = 0;
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)target->pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    while (!found && getdelim(&text, &size, 0, file) > 0) {
        if (strncmp(text, wanted, sizeof(wanted) - 1) != 0)
            continue;
        snprintf(name, sizeof(name), ANNOT_SESSION_PREFIX "%.16s", text + sizeof(wanted) - 1);
        found = session_name_parse(name, &id) && session_file_alive(directory, id, ret_session);
    }
    free(text);
    fclose(file);
    return found;
}

/* Sessions that processes join as descendants of the collector. */
typedef VEC(struct annot_session) session_list;

static int list_sessions(const struct directory *directory, session_list *sessions)
{
    int error = 0;
    DIR *stream = file_list_folder(directory->fd);
    if (!stream)
        return -errno;
    for (const struct dirent *entry; error == 0 && (entry = readdir(stream));) {
        struct annot_session session;
        uint64_t id;
        if (session_name_parse(entry->d_name, &id) && session_file_alive(directory, id, &session) &&
            session.flags & ANNOT_SESSION_DESCENDANTS)
            error = vec_push(sessions, session);
    }
    closedir(stream);
    return error;
}

static bool is_collector(const session_list *sessions, int32_t ns_pid, uint64_t pid_ns,
                         struct annot_session *ret_session)
{
    for (size_t i = 0; i < sessions->count; i++) {
        if (sessions->items[i].collector_pid != ns_pid ||
            sessions->items[i].collector_pid_ns != pid_ns)
            continue;
        *ret_session = sessions->items[i];
        return true;
    }
    return false;
}

static int find_above(const struct directory *directory, const struct target *target,
                      struct annot_session *ret_session)
{
    session_list sessions = {0};
    struct proc_stat stat;
    char name[TARGET_NAME_SIZE];
    int found = 0, error = list_sessions(directory, &sessions);
    pid_t pid = proc_stat(target->pid, &stat) == 0 ? stat.ppid : 0;
    for (int i = 0; error == 0 && !found && pid > 0 && i < ANCESTORS_MAX; i++) {
        int32_t ns_pid = proc_pid_inside(pid);
        if (proc_pid_namespace(pid) != target->pid_ns || proc_stat(pid, &stat) != 0)
            break;
        format_name(ns_pid, target->pid_ns, name);
        found = find_by_file(directory, name, stat.start_ticks, ret_session) ||
                is_collector(&sessions, ns_pid, target->pid_ns, ret_session);
        pid = stat.ppid;
    }
    vec_free(&sessions);
    return error != 0 ? error : found;
}

int target_find_session(const struct directory *directory, const struct target *target,
                        struct annot_session *ret_session)
{
    char name[TARGET_NAME_SIZE];
    int found = guard_install();
    *ret_session = (struct annot_session){0};
    target_name(target, name);
    if (found == 0)
        found = find_by_segment(directory, target, ret_session);
    if (found == 0)
        found = find_by_file(directory, name, target->start_ticks, ret_session);
    if (found == 0)
        found = find_by_environment(directory, target, ret_session);
    return found != 0 ? found : find_above(directory, target, ret_session);
}

/* ---- Assignment ---- */

int target_claim(const struct directory *directory, const struct target *target, uint64_t id,
                 struct annot_session *ret_other)
{
    char name[TARGET_NAME_SIZE];
    target_name(target, name);
    int lock = directory_lock(directory); /* of two that attach at once, one comes first */
    if (lock < 0)
        return lock;
    int found = target_find_session(directory, target, ret_other);
    int error = found < 0 ? found : found == 1 && ret_other->id != id ? -EBUSY : 0;
    if (error == 0)
        error = write_file(directory, name, id, target->start_ticks);
    close(lock);
    return error;
}

void target_release(const struct directory *directory, const char *name, uint64_t id)
{
    int lock = directory_lock(directory); /* else another attach could lose the file it just made */
    if (read_file(directory, name, 0) == id)
        unlinkat(directory->fd, name, 0);
    if (lock >= 0)
        close(lock);
}

int target_each(const struct directory *directory, uint64_t id,
                int (*call)(void *context, int32_t pid, uint64_t pid_ns), void *context)
{
    const size_t prefix = strlen(ANNOT_TARGET_PREFIX);
    int error = 0;
    DIR *stream = file_list_folder(directory->fd);
    for (const struct dirent *entry; stream && error == 0 && (entry = readdir(stream));) {
        if (strncmp(entry->d_name, ANNOT_TARGET_PREFIX, prefix) != 0 ||
            read_file(directory, entry->d_name, 0) != id)
            continue;
        char *end;
        long pid = strtol(entry->d_name + prefix, &end, 10);
        if (*end == '-' && pid > 0 && pid <= INT32_MAX)
            error = call(context, (int32_t)pid, strtoull(end + 1, NULL, 16));
    }
    if (stream)
        closedir(stream);
    return error;
}

void target_sweep(const struct directory *directory)
{
    struct annot_session session;
    DIR *stream;
    int lock = directory_lock(directory);
    if (lock < 0)
        return;
    stream = file_list_folder(directory->fd);
    for (const struct dirent *entry; stream && (entry = readdir(stream));) {
        if (strncmp(entry->d_name, ANNOT_TARGET_PREFIX, strlen(ANNOT_TARGET_PREFIX)) != 0)
            continue;
        uint64_t id = read_file(directory, entry->d_name, 0);
        if (id == 0 || !session_file_alive(directory, id, &session))
            unlinkat(directory->fd, entry->d_name, 0);
    }
    if (stream)
        closedir(stream);
    close(lock);
}

/* ---- Targets of a session -------------------------------------------------------------------- */

/* Attaching and leaving. A program unmaps its segment when an event finds that the session is over.
 * With a closed gate no event checks, so the gate stays open for a moment: a program that emits
 * meanwhile unmaps its segment. */

enum { PAUSE_MIN_NS = 500 * 1000, PAUSE_MAX_NS = 16 * 1000 * 1000 };

#define LEAVE_NS INT64_C(100000000)

static bool is_same(const struct directory *one, const struct directory *other)
{
    struct stat first, second;
    return fstat(one->fd, &first) == 0 && fstat(other->fd, &second) == 0 &&
           first.st_ino == second.st_ino && first.st_dev == second.st_dev;
}

/* Checks that the program watches this directory, or will, should it load libannot. */
static int check_watched(struct directory *directory, const struct target *target)
{
    struct directory theirs;
    if (target->state == TARGET_PLAIN && !target->elsewhere && !directory->foreign &&
        target->uid == directory->uid)
        return 0;
    int error = target_open_directory(target, &theirs);
    if (error != 0)
        return error;
    bool same = is_same(directory, &theirs);
    directory_close(&theirs);
    return same ? 0 : -EXDEV;
}

int targets_add(struct targets *targets, struct directory *directory, const struct target *target,
                uint64_t session_id, char *ret_other)
{
    struct target_file file;
    struct annot_session other;
    ret_other[0] = 0;
    int error = check_watched(directory, target);
    if (error != 0)
        return error;
    target_name(target, file.name);
    error = vec_push(&targets->files, file);
    if (error == 0)
        error = target_claim(directory, target, session_id, &other);
    if (error == -ENOENT && directory_wake(directory) > 0) /* the page did not exist yet */
        error = target_claim(directory, target, session_id, &other);
    if (error == -EBUSY)
        memcpy(ret_other, other.recording_path, sizeof(other.recording_path));
    return error;
}

int targets_note_other(struct trace *trace, const struct target *target, const char *other)
{
    char buffer[PATH_MAX + 128];
    struct text text = text_init(buffer, sizeof(buffer));
    text_format(&text, "Annotations of process %d (%s) went to another recording: %s",
                (int)target->pid, target->comm, other);
    int error = trace_fact_set(trace, FACT_NOTE, buffer, 1);
    return error != 0 ? error : -EBUSY;
}

void targets_release(struct targets *targets, struct directory *directory, uint64_t session_id)
{
    for (size_t i = 0; i < targets->files.count; i++)
        target_release(directory, targets->files.items[i].name, session_id);
    targets->gate_held = directory_wake_last(directory) > 0;
}

void targets_shut_gate(struct targets *targets, struct directory *directory,
                       const struct intake *intake)
{
    struct timespec pause = {.tv_nsec = PAUSE_MIN_NS};
    int64_t deadline_ns = clock_now_ns() + LEAVE_NS;
    if (!targets->gate_held)
        return;
    while (intake && intake_is_mapped(intake) && clock_now_ns() < deadline_ns) {
        nanosleep(&pause, NULL);
        pause.tv_nsec = pause.tv_nsec < PAUSE_MAX_NS / 2 ? 2 * pause.tv_nsec : PAUSE_MAX_NS;
    }
    directory_wake(directory);
    targets->gate_held = false;
}

void targets_fini(struct targets *targets)
{
    vec_free(&targets->files);
}
