/* SPDX-License-Identifier: MIT */
/* Which session a process belongs to: see directory.h.
 *
 * The environment names it; else the nearest collector above this process does, which also covers
 * children that were given an empty environment. A session whose lock can be had is over. */
#include "session.h"

#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ANCESTORS_MAX = 64, ID_DIGITS = 16 };

static uint64_t environment_session; /* W: constructor */

/* What getdents64 fills in. */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t size;
    uint8_t type;
    char name[];
};

/* Exactly 16 hexadecimal digits, or 0. */
static uint64_t parse_id(const char *text)
{
    uint64_t id = 0;
    for (int i = 0; i < ID_DIGITS; i++) {
        char c = text[i];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
                                                : 16u;
        if (digit == 16)
            return 0;
        id = id << 4 | digit;
    }
    return text[ID_DIGITS] == 0 ? id : 0;
}

void session_setup(void)
{
    const char *text = getenv(ANNOT_ENV_SESSION);
    environment_session = text ? parse_id(text) : 0;
}

static int session_open(int directory_fd, uint64_t id, int flags)
{
    char name[48];
    char *at = text_append(name, name + sizeof(name), ANNOT_SESSION_PREFIX);
    text_append_hex(at, name + sizeof(name), id, ID_DIGITS);
    int fd = openat(directory_fd, name, flags | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Reads the part that matters here. Returns 1 (alive), 0 (over) or negative errno. */
static int session_read(int directory_fd, uint64_t id, struct annot_session *ret_session,
                        struct refusal *refusal)
{
    const size_t size = offsetof(struct annot_session, recording_path);
    struct stat status;
    int result = -EBADMSG;
    int fd = session_open(directory_fd, id, O_RDONLY);
    if (fd < 0)
        return fd;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
        pread(fd, ret_session, size, 0) != (ssize_t)size)
        goto out;
    if (ret_session->magic != ANNOT_SESSION_MAGIC || ret_session->id != id)
        goto out;
    if (ret_session->major != ANNOT_WIRE_MAJOR) {
        refusal->reason = ANNOT_REFUSAL_VERSION;
        refusal->detail = ret_session->major;
        result = -EPROTO;
        goto out;
    }
    result = !(ret_session->flags & ANNOT_SESSION_ENDED) && flock(fd, LOCK_SH | LOCK_NB) != 0 &&
             errno == EWOULDBLOCK;
out:
    close(fd);
    return result;
}

static void session_copy(const struct annot_session *from, struct session *to)
{
    to->id = from->id;
    memcpy(to->category_mask, from->category_mask, sizeof(to->category_mask));
    to->late_ticks = from->late_ticks;
    to->block_count = from->block_count;
    to->thread_count = from->thread_count;
    to->strings_size = from->strings_size;
    to->policy = from->policy;
}

/* Processes above this one, nearest first. */
static int list_ancestors(pid_t *pids)
{
    int count = 0;
    pid_t pid = getppid();
    while (pid > 0 && count < ANCESTORS_MAX) {
        pids[count++] = pid;
        pid = proc_parent(pid);
    }
    return count;
}

struct search {
    int directory_fd;
    int ancestor_count;
    int nearest; /* index of the best one so far */
    uint64_t pid_namespace;
    pid_t ancestors[ANCESTORS_MAX];
};

static void consider(struct search *search, const char *name, struct session *ret_session)
{
    struct annot_session session;
    struct refusal ignored;
    const size_t prefix = sizeof(ANNOT_SESSION_PREFIX) - 1;
    if (strncmp(name, ANNOT_SESSION_PREFIX, prefix) != 0)
        return;
    uint64_t id = parse_id(name + prefix);
    if (id == 0 || session_read(search->directory_fd, id, &session, &ignored) != 1)
        return;
    if (!(session.flags & ANNOT_SESSION_DESCENDANTS) ||
        session.collector_pid_ns != search->pid_namespace)
        return;
    for (int i = 0; i < search->nearest; i++) {
        if (search->ancestors[i] == session.collector_pid) {
            search->nearest = i;
            session_copy(&session, ret_session);
            return;
        }
    }
}

static int find_above(int directory_fd, struct session *ret_session)
{
    struct search search = {.directory_fd = directory_fd};

    union {
        struct entry first;
        char bytes[2048];
    } buffer;

    long size;
    search.ancestor_count = list_ancestors(search.ancestors);
    search.nearest = search.ancestor_count;
    search.pid_namespace = proc_pid_namespace();
    if (lseek(directory_fd, 0, SEEK_SET) < 0)
        return -errno;
    while ((size = syscall(SYS_getdents64, directory_fd, &buffer, sizeof(buffer))) > 0) {
        for (long at = 0; at < size;) {
            const struct entry *entry = (const void *)(buffer.bytes + at);
            consider(&search, entry->name, ret_session);
            at += entry->size;
        }
    }
    return search.nearest < search.ancestor_count;
}

int session_find(int directory_fd, struct session *ret_session, struct refusal *ret_refusal)
{
    struct annot_session session;
    if (environment_session) {
        int found = session_read(directory_fd, environment_session, &session, ret_refusal);
        if (found == 1) {
            session_copy(&session, ret_session);
            return 1;
        }
        if (found == -EPROTO || found == -EMFILE || found == -ENFILE)
            return found;
    }
    return find_above(directory_fd, ret_session);
}

void session_note_refusal(int directory_fd, uint64_t session_id, const struct refusal *refusal)
{
    uint64_t limit;
    struct annot_refusal_slot slot = {
        .pid = getpid(),
        .refusal = refusal->reason,
        .error = refusal->error,
        .detail = refusal->detail,
    };
    char comm[16] = "";
    if (session_id == 0 || !file_size_allowed(sizeof(struct annot_session), &limit))
        return;
    prctl(PR_GET_NAME, comm);
    memcpy(slot.comm, comm, sizeof(slot.comm));
    int fd = session_open(directory_fd, session_id, O_WRONLY);
    if (fd < 0)
        return;
    off_t at = (off_t)(offsetof(struct annot_session, refusals) +
                       (unsigned)slot.pid % ANNOT_REFUSAL_SLOTS * sizeof(slot));
    ssize_t ignored = pwrite(fd, &slot, sizeof(slot), at);
    (void)ignored;
    close(fd);
}
