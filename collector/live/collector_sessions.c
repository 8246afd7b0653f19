/* SPDX-License-Identifier: MIT */
/* Reads sessions from their files. A session that ends meanwhile is skipped: the lock of its file
 * shows that. */
#include "collector_sessions.h"

#include "annot_places.h"
#include "clock_now.h"
#include "file_io.h"
#include "intake_filter.h"
#include "session_file.h"
#include "target.h"
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TOLD_NS INT64_C(5000000000)

_Static_assert((int)COLLECTOR_QUEUES_OFF == (int)ANNOT_WISH_OFF &&
                   (int)COLLECTOR_QUEUES_ON == (int)ANNOT_WISH_ON,
               "wishes are those of the wire");

/* ---- All sessions ---------------------------------------------------------------------------- */

static int read_filter(int fd, char text[COLLECTOR_FILTER_SIZE])
{
    struct session_filter filter;
    int error = session_filter_read(fd, &filter);
    if (error == -EAGAIN) { /* of a writer that died; the collector will restore it */
        text[0] = 0;
        return 0;
    }
    if (error != 0)
        return error;
    memcpy(text, filter.text, filter.size);
    text[filter.size] = 0;
    return 0;
}

static int describe(const struct directory *directory, const char *name,
                    struct collector_session *ret_session)
{
    struct annot_session session;
    int error = session_file_peek(directory, name, &session);
    if (error != 0)
        return error;
    *ret_session = (struct collector_session){.id = session.id,
                                              .collector_pid = session.collector_pid,
                                              .captures = session.capture[0] != 0};
    _Static_assert(sizeof(session.recording_path) <= sizeof(ret_session->recording), "it fits");
    memcpy(ret_session->recording, session.recording_path, sizeof(session.recording_path));
    int fd = file_open_regular(directory->fd, name, O_RDONLY | O_NOFOLLOW, NULL);
    if (fd < 0)
        return fd;
    error = read_filter(fd, ret_session->filter);
    if (error == 0)
        error = session_wishes_read(fd, &ret_session->wishes);
    close(fd);
    return error;
}

static int each_session(const struct directory *directory, collector_session_fn *visit,
                        void *context)
{
    DIR *stream = file_list_folder(directory->fd);
    int result = 0;
    if (!stream)
        return -errno;
    for (const struct dirent *entry; result == 0 && (entry = readdir(stream));) {
        struct collector_session session;
        uint64_t id;
        if (session_name_parse(entry->d_name, &id) &&
            session_file_is_live(directory, entry->d_name) &&
            describe(directory, entry->d_name, &session) == 0)
            result = visit(context, &session);
    }
    closedir(stream);
    return result;
}

/* Closes the directory and removes it if unused: inspection must leave no files. */
static void close_directory(struct directory *directory)
{
    if (session_count_live(directory) == 0)
        directory_remove_unused(directory);
    directory_close(directory);
}

int collector_sessions(const char *directory, collector_session_fn *visit, void *context)
{
    struct directory opened;
    int result = directory_open(directory, &opened);
    if (result != 0)
        return result;
    result = each_session(&opened, visit, context);
    close_directory(&opened);
    return result;
}

/* ---- The session of a process ---------------------------------------------------------------- */

/* Opens the directory in which a process meets collectors, or the default one if it has none or is
 * 0. */
static int open_place(int32_t pid, struct target *ret_target, struct directory *ret_directory)
{
    int error = pid ? target_look(pid, ret_target) : 0;
    if (error != 0)
        return error;
    if (pid && ret_target->state == TARGET_READY)
        return target_open_directory(ret_target, ret_directory);
    return directory_open(NULL, ret_directory);
}

struct search {
    int32_t pid;
    struct collector_session *session;
};

static int is_collected_by(void *context, const struct collector_session *session)
{
    struct search *search = context;
    if (session->collector_pid != search->pid)
        return 0;
    *search->session = *session;
    return 1;
}

/* 1, 0 or -errno. */
static int find_session(const struct directory *directory, const struct target *target,
                        struct collector_session *ret_session)
{
    char name[SESSION_NAME_SIZE];
    struct annot_session session;
    struct search search = {target->pid, ret_session};
    int found =
        target->state == TARGET_READY ? target_find_session(directory, target, &session) : 0;
    if (found < 0)
        return found;
    if (found == 0)
        return each_session(directory, is_collected_by, &search);
    snprintf(name, sizeof(name), ANNOT_SESSION_PREFIX "%016" PRIx64, session.id);
    int error = describe(directory, name, ret_session);
    return error != 0 ? error : 1;
}

_Static_assert((int)COLLECTOR_PLACES == (int)ANNOT_PLACES, "places");

bool collector_place_path(int place, char path[COLLECTOR_PATH_SIZE])
{
    return annot_place_path(place, geteuid(), path, COLLECTOR_PATH_SIZE) > 0;
}

int collector_place_open(int32_t pid, struct directory *ret_directory)
{
    struct target target;
    return open_place(pid, &target, ret_directory);
}

void collector_place_close(struct directory *directory)
{
    close_directory(directory);
}

int collector_session_of(int32_t pid, struct collector_session *ret_session)
{
    struct target target = {.pid = pid};
    struct directory opened;
    int found = open_place(pid, &target, &opened);
    if (found != 0)
        return found;
    found = find_session(&opened, &target, ret_session);
    close_directory(&opened);
    return found < 0 ? found : found == 1 ? 0 : -ESRCH;
}

/* ---- Changing its rules ---------------------------------------------------------------------- */

struct rules_edit {
    collector_edit_fn *function;
    void *context;
    uint32_t sequence; /* sequence number of the new text */
};

/* Writes the wishes first: readers reload both when the sequence changes. */
static int write_rules(int fd, const struct collector_rules *rules, uint32_t *ret_sequence)
{
    int error = session_wishes_write(fd, rules->wishes);
    return error != 0
               ? error
               : session_filter_write(fd, rules->filter, strlen(rules->filter), ret_sequence);
}

static int edit_rules(const struct directory *directory, const char *name, struct rules_edit *edit)
{
    struct collector_rules rules = {0};
    struct annot_session session;
    int error = session_file_peek(directory, name, &session); /* validates file and version */
    if (error != 0)
        return error;
    int fd = file_open_regular(directory->fd, name, O_RDWR | O_NOFOLLOW, NULL);
    if (fd < 0)
        return fd;
    error = session_file_is_live(directory, name) ? read_filter(fd, rules.filter) : -ENOENT;
    if (error == 0)
        error = session_wishes_read(fd, &rules.wishes);
    if (error == 0)
        error = edit->function(edit->context, &rules);
    if (error == 0)
        error = write_rules(fd, &rules, &edit->sequence);
    close(fd);
    return error;
}

/* Sequence numbers wrap around. */
static int wait_until_confirmed(const struct directory *directory, const char *name,
                                uint32_t sequence)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    int64_t end_ns = clock_now_ns() + TOLD_NS;
    uint32_t confirmed = sequence - 1;
    int error = 0;
    int fd = file_open_regular(directory->fd, name, O_RDONLY | O_NOFOLLOW, NULL);
    if (fd < 0)
        return fd;
    while (error == 0 && (int32_t)(confirmed - sequence) < 0 && clock_now_ns() < end_ns) {
        error = session_filter_confirmed(fd, &confirmed);
        if (error == 0 && (int32_t)(confirmed - sequence) < 0) {
            nanosleep(&pause, NULL);
            error = session_file_is_live(directory, name) ? 0 : -ENOENT;
        }
    }
    close(fd);
    return error != 0 ? error : (int32_t)(confirmed - sequence) < 0 ? -EINPROGRESS : 0;
}

int collector_set_rules(int32_t pid, uint64_t id, collector_edit_fn *edit, void *context)
{
    char name[SESSION_NAME_SIZE];
    struct directory opened;
    struct target target;
    int error = open_place(pid, &target, &opened);
    if (error != 0)
        return error;
    snprintf(name, sizeof(name), ANNOT_SESSION_PREFIX "%016" PRIx64, id);
    int lock_fd = directory_lock(&opened);
    struct rules_edit rules_edit = {edit, context, 0};
    error = lock_fd < 0 ? lock_fd : edit_rules(&opened, name, &rules_edit);
    if (lock_fd >= 0)
        close(lock_fd);
    if (error == 0)
        error = wait_until_confirmed(&opened, name, rules_edit.sequence);
    close_directory(&opened);
    return error;
}
