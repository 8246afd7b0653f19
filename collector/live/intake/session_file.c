/* SPDX-License-Identifier: MIT */
/* A session file is one write of two pages, so it is no hole; a reader that meets a short file
 * comes back later. */
#include "session_file.h"

#include "clock_now.h"
#include "file_io.h"
#include "proc_info.h"
#include "segment_reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { YOUNG_SECONDS = 2, LINES_BYTES = 1 << 20 };

uint64_t session_id_random(void)
{
    uint64_t id = 0;
    if (getrandom(&id, sizeof(id), GRND_NONBLOCK) != sizeof(id) || id == 0) {
        id = (uint64_t)clock_now_ns() << 32 | (uint32_t)getpid();
    }
    return id;
}

bool session_name_parse(const char *name, uint64_t *ret_id)
{
    size_t prefix = strlen(ANNOT_SESSION_PREFIX);
    char *end;
    if (strncmp(name, ANNOT_SESSION_PREFIX, prefix) != 0 || strlen(name) != prefix + 16)
        return false;
    *ret_id = strtoull(name + prefix, &end, 16);
    return *end == 0 && *ret_id != 0;
}

int session_file_create(const struct directory *directory, const struct annot_session *session,
                        struct session_file *ret_file)
{
    *ret_file = (struct session_file){.fd = -1, .id = session->id};
    snprintf(ret_file->name, sizeof(ret_file->name), ANNOT_SESSION_PREFIX "%016" PRIx64,
             session->id);
    int fd = directory_make_file(directory, ret_file->name, O_RDWR);
    if (fd < 0)
        return fd;
    int error = flock(fd, LOCK_EX) != 0 ? -errno : 0; /* others hold it for an instant */
    if (error == 0) {
        ssize_t written = pwrite(fd, session, sizeof(*session), 0);
        error = written < 0 ? -errno : written != sizeof(*session) ? -ENOSPC : 0;
    }
    if (error != 0) {
        unlinkat(directory->fd, ret_file->name, 0);
        close(fd);
        return error;
    }
    ret_file->fd = fd;
    return 0;
}

static int read_session(const struct directory *directory, int fd, struct annot_session *session)
{
    struct stat status;
    *session = (struct annot_session){0};
    if (fstat(fd, &status) != 0)
        return -errno;
    if (status.st_uid != directory->uid)
        return -EBADMSG;
    ssize_t got = pread(fd, session, sizeof(*session), 0);
    if (got < 0)
        return -errno;
    if (got != sizeof(*session))
        return -EAGAIN;
    if (!ANNOT_MAGIC_IS_LIKE(session->magic, ANNOT_SESSION_MAGIC) || session->id == 0)
        return -EBADMSG;
    session->recording_path[sizeof(session->recording_path) - 1] = 0;
    bool is_ours = session->magic == ANNOT_SESSION_MAGIC && session->major == ANNOT_WIRE_MAJOR;
    return is_ours ? 0 : -EPROTONOSUPPORT;
}

int session_file_take(const struct directory *directory, const char *name,
                      struct session_file *ret_file, struct annot_session *ret_session)
{
    *ret_file = (struct session_file){.fd = -1};
    if (!session_name_parse(name, &ret_file->id))
        return -EINVAL;
    memcpy(ret_file->name, name, strlen(name) + 1);
    struct stat status;
    int fd = file_open_regular(directory->fd, name, O_RDWR | O_NOFOLLOW, NULL);
    if (fd < 0)
        return fd;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int error = -errno;
        close(fd);
        return error;
    }
    if (fstat(fd, &status) != 0 || status.st_nlink == 0) {
        close(fd);
        return -ENOENT;
    }
    ret_file->fd = fd;
    int error = read_session(directory, fd, ret_session);
    if (error == 0 && ret_session->id != ret_file->id)
        error = -EBADMSG;
    if (error != -EAGAIN)
        return error;
    if (time(NULL) - status.st_mtime > YOUNG_SECONDS)
        return -EBADMSG;
    close(fd); /* being written now */
    ret_file->fd = -1;
    return -EWOULDBLOCK;
}

int session_file_peek(const struct directory *directory, const char *name,
                      struct annot_session *ret_session)
{
    int fd = file_open_regular(directory->fd, name, O_RDONLY | O_NOFOLLOW, NULL);
    if (fd < 0)
        return fd;
    int error = read_session(directory, fd, ret_session);
    close(fd);
    return error;
}

int session_file_end(const struct session_file *file)
{
    const size_t at = offsetof(struct annot_session, flags);
    uint32_t flags;
    if (file->fd < 0)
        return 0;
    if (pread(file->fd, &flags, sizeof(flags), (off_t)at) != sizeof(flags))
        return -EBADMSG;
    flags |= ANNOT_SESSION_ENDED;
    return pwrite(file->fd, &flags, sizeof(flags), (off_t)at) == sizeof(flags) ? 0 : -errno;
}

int session_file_unwatched(const struct session_file *file, int64_t now_ns)
{
    const off_t at = offsetof(struct annot_session, unwatched_ns);
    int64_t before;
    if (file->fd < 0)
        return 0;
    if (pread(file->fd, &before, sizeof(before), at) != sizeof(before))
        return -EBADMSG;
    if (before != 0)
        return 0;
    return pwrite(file->fd, &now_ns, sizeof(now_ns), at) == sizeof(now_ns) ? 0 : -errno;
}

/* True if a process with a segment of the session may live. */
static bool has_living(const struct directory *directory, uint64_t id)
{
    bool living = false;
    DIR *stream = file_list_folder(directory->fd);
    if (!stream)
        return true;
    for (const struct dirent *entry; !living && (entry = readdir(stream));) {
        struct segment segment;
        struct process_watch watch;
        if (segment_open(directory->fd, entry->d_name, &segment) != 0)
            continue;
        if (segment.info.session_id == id) {
            const struct annot_segment_info *info = &segment.info;
            process_watch_open(
                &watch, &(struct process_watched){info->pid, info->pid_ns, info->start_time_ticks});
            living = !process_watch_poll(&watch);
            process_watch_close(&watch);
        }
        segment_close(&segment);
    }
    closedir(stream);
    return living;
}

_Static_assert(offsetof(struct annot_session, unnamed_before) ==
                       offsetof(struct annot_session, begin_generation) +
                           offsetof(struct session_span, unnamed_before) &&
                   offsetof(struct annot_session, end_generation) ==
                       offsetof(struct annot_session, begin_generation) +
                           offsetof(struct session_span, end_generation),
               "they are read at once");

int session_file_begin(const struct session_file *file, const struct session_span *span)
{
    const off_t at = offsetof(struct annot_session, begin_generation);
    return pwrite(file->fd, span, sizeof(*span), at) == sizeof(*span) ? 0 : -errno;
}

int session_file_span(const struct session_file *file, struct session_span *ret_span)
{
    const off_t at = offsetof(struct annot_session, begin_generation);
    return pread(file->fd, ret_span, sizeof(*ret_span), at) == sizeof(*ret_span) ? 0 : -EBADMSG;
}

static void note_leaving(const struct directory *directory, const struct session_file *file,
                         uint64_t generation)
{
    /* A shared lock, so that other processes do not take it for a live one meanwhile. */
    bool alone = flock(file->fd, LOCK_SH | LOCK_NB) == 0;
    struct annot_session session;
    if (read_session(directory, file->fd, &session) != 0)
        return;
    bool ended = (session.flags & ANNOT_SESSION_ENDED) != 0;
    if ((alone || ended) && session.begin_generation != 0 && session.end_generation == 0)
        (void)!pwrite(file->fd, &generation, sizeof(generation),
                      offsetof(struct annot_session, end_generation));
    if (alone && !ended && session.unwatched_ns == 0 && has_living(directory, file->id))
        session_file_unwatched(file, clock_now_ns());
}

void session_note_leaving(const struct directory *directory, uint64_t generation)
{
    DIR *stream = file_list_folder(directory->fd);
    for (const struct dirent *entry; stream && (entry = readdir(stream));) {
        struct session_file file = {.fd = -1};
        if (session_name_parse(entry->d_name, &file.id))
            file.fd = file_open_regular(directory->fd, entry->d_name, O_RDWR | O_NOFOLLOW, NULL);
        if (file.fd >= 0)
            note_leaving(directory, &file, generation);
        session_file_leave(&file);
    }
    if (stream)
        closedir(stream);
}

void session_file_remove(const struct directory *directory, struct session_file *file)
{
    if (file->fd < 0)
        return;
    unlinkat(directory->fd, file->name, 0);
    close(file->fd);
    file->fd = -1;
}

void session_file_leave(struct session_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

static bool is_live(const struct directory *directory, const char *name,
                    struct annot_session *session)
{
    int fd = file_open_regular(directory->fd, name, O_RDONLY | O_NOFOLLOW, NULL);
    *session = (struct annot_session){0};
    if (fd < 0)
        return false;
    /* A session that is just being made opens the gate itself. */
    bool live = read_session(directory, fd, session) == 0 &&
                !(session->flags & ANNOT_SESSION_ENDED) && flock(fd, LOCK_SH | LOCK_NB) != 0;
    close(fd);
    return live;
}

bool session_file_is_live(const struct directory *directory, const char *name)
{
    struct annot_session session;
    return is_live(directory, name, &session);
}

bool session_file_alive(const struct directory *directory, uint64_t id,
                        struct annot_session *ret_session)
{
    char name[SESSION_NAME_SIZE];
    snprintf(name, sizeof(name), ANNOT_SESSION_PREFIX "%016" PRIx64, id);
    return is_live(directory, name, ret_session) && ret_session->id == id;
}

void session_file_add_nested(const struct directory *directory, uint64_t parent_id,
                             const char *recording_path)
{
    struct annot_session parent;
    char name[SESSION_NAME_SIZE], line[PATH_MAX + 16];
    int length = snprintf(line, sizeof(line), "nested\t%s\n", recording_path);
    if (length >= (int)sizeof(line) || strchr(recording_path, '\n') ||
        !session_file_alive(directory, parent_id, &parent))
        return;
    snprintf(name, sizeof(name), ANNOT_SESSION_PREFIX "%016" PRIx64, parent_id);
    int fd = file_open_regular(directory->fd, name, O_WRONLY | O_APPEND | O_NOFOLLOW, NULL);
    if (fd < 0)
        return;
    if (lseek(fd, 0, SEEK_END) < LINES_BYTES)
        (void)!write(fd, line, (size_t)length);
    close(fd);
}

int session_count_live(const struct directory *directory)
{
    struct annot_session session;
    int count = 0;
    DIR *stream = file_list_folder(directory->fd);
    if (!stream)
        return -errno;
    for (const struct dirent *entry; (entry = readdir(stream));) {
        uint64_t id;
        if (session_name_parse(entry->d_name, &id))
            count += is_live(directory, entry->d_name, &session);
    }
    closedir(stream);
    return count;
}
