/* SPDX-License-Identifier: MIT */
/* Choice of a process's session: see directory.h.
 *
 * In order: the target file of this very process, if a collector attached to it; the environment;
 * the session that this process, or the one it was forked from, was in before; the nearest
 * collector or attached process above this process, which also covers children that were given an
 * empty environment. A session with a free lock is over. */
#include "session.h"

#include "proc.h"

#include <annot/annot.h>
#include <annot/observers.h>
#include <annot_barrier.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    ANCESTORS_MAX = 48,
    ID_DIGITS = 16,
    TARGET_TEXT_MAX = 48,
    FILTER_ATTEMPTS = 64,
    LINES_END = 1 << 20, /* of the file: maximum size for appends */
    ENTRIES_SIZE = 288,  /* one entry with the longest name, or four of ours */
    AWAIT_ROUNDS = 200,
    AWAIT_PAUSE_NS = 1000 * 1000,
    AWAIT_NONE_NS = 50 * 1000 * 1000,
};

_Static_assert(offsetof(struct annot_session, filter) ==
                   offsetof(struct annot_session, filter_sequence) +
                       offsetof(struct session_filter, text),
               "a filter is read at once");

static uint64_t environment_session; /* W: constructor */
static uint64_t last_session;        /* survives forks; W: the deciding thread, atomic */
static int environment_policy = -1;  /* enum annot_policy; W: constructor */

/* An entry of getdents64. */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t size;
    uint8_t type;
    char name[];
};

static unsigned digit_of(char c)
{
    return c >= '0' && c <= '9'   ? (unsigned)(c - '0')
           : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
           : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
                                  : 16u;
}

/* Parses exactly 16 hexadecimal digits, followed by `end`. Returns 0 on error. */
static uint64_t parse_id(const char *text, char end)
{
    uint64_t id = 0;
    for (int i = 0; i < ID_DIGITS; i++) {
        unsigned digit = digit_of(text[i]);
        if (digit == 16)
            return 0;
        id = id << 4 | digit;
    }
    return text[ID_DIGITS] == end ? id : 0;
}

/* Returns -1 for an unknown policy. */
static int parse_policy(const char *text)
{
    static const char *const names[] = {
        [ANNOT_POLICY_DROP_NEWEST] = "drop",
        [ANNOT_POLICY_OVERWRITE_OLDEST] = "overwrite",
        [ANNOT_POLICY_WAIT] = "wait",
    };
    for (int policy = 0; policy <= ANNOT_POLICY_WAIT; policy++)
        if (strcmp(text, names[policy]) == 0)
            return policy;
    return -1;
}

void session_setup(void)
{
    const char *text = getenv(ANNOT_ENV_SESSION), *policy = getenv(ANNOT_ENV_POLICY);
    environment_session = text ? parse_id(text, 0) : 0;
    environment_policy = policy ? parse_policy(policy) : -1;
}

/* True if mounts, root, user namespace or ANNOT_DIR differ from the collector's. */
static APART int is_elsewhere(int directory_fd)
{
    char place[40];
    struct stat status;
    const char *end = place + sizeof(place), *named = getenv(ANNOT_ENV_PLACE);
    if (!named || fstat(directory_fd, &status) != 0)
        return 0;
    char *at = text_append_hex(place, end, status.st_dev, 1);
    at = text_append(at, end, "-");
    text_append_hex(at, end, status.st_ino, 1);
    return strcmp(named, place) != 0;
}

static APART void await_gate(void)
{
    const struct timespec pause = {0, AWAIT_PAUSE_NS};
    struct refusal ignored;
    int directory_fd = directory_open(&ignored);
    int rounds = directory_fd >= 0 && is_elsewhere(directory_fd) ? AWAIT_ROUNDS : 0;
    for (int i = 0; i < rounds && annot_gate_v1.generation == 0; i++)
        nanosleep(&pause, NULL);
    if (directory_fd >= 0)
        close(directory_fd);
}

/* Maps a file whose name states why this process has no directory, for its collector to read. */
static APART void show_refusal(const struct refusal *refusal)
{
    const struct timespec pause = {0, AWAIT_NONE_NS};
    char name[48];
    const char *end = name + sizeof(name);
    char *at = text_append(name, end, ANNOT_REFUSED_PREFIX);
    at = text_append_decimal(at, end, refusal->reason);
    at = text_append(at, end, "-");
    text_append_decimal(at, end, refusal->error);
    int fd = (int)syscall(SYS_memfd_create, name, MFD_CLOEXEC);
    if (fd < 0)
        return;
    void *page = mmap(NULL, ANNOT_PAGE_SIZE, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (page != MAP_FAILED)
        nanosleep(&pause, NULL);
}

void session_await(const struct refusal *refusal)
{
    if (!environment_session || !getenv(ANNOT_ENV_PLACE))
        return;
    if (refusal->reason != ANNOT_REFUSAL_NONE)
        show_refusal(refusal);
    else if (annot_gate_v1.generation == 0)
        await_gate();
}

static APART int open_any(int directory_fd, uint64_t id, int flags)
{
    char name[48];
    char *at = text_append(name, name + sizeof(name), ANNOT_SESSION_PREFIX);
    text_append_hex(at, name + sizeof(name), id, ID_DIGITS);
    return directory_open_any(directory_fd, name, flags);
}

static APART int session_open(int directory_fd, uint64_t id, int flags)
{
    return directory_only_file(open_any(directory_fd, id, flags));
}

/* The beginning of a session file; the whole is two pages, too large for a stack. */
struct head {
    _Alignas(8) uint8_t bytes[offsetof(struct annot_session, recording_path)];
};

#define HEAD(head, field)                                                                          \
    (*(const __typeof__(((struct annot_session *)0)->field) *)((head)->bytes +                     \
                                                               offsetof(struct annot_session,      \
                                                                        field)))

/* The collector of a session. */
struct owner {
    uint64_t pid_namespace;
    int32_t pid;
    uint32_t flags; /* enum annot_session_flags */
};

static int head_read(int fd, uint64_t id, struct head *head)
{
    if (pread(fd, head->bytes, sizeof(head->bytes), 0) != (ssize_t)sizeof(head->bytes))
        return -EBADMSG;
    return HEAD(head, magic) == ANNOT_SESSION_MAGIC && HEAD(head, id) == id ? 0 : -EBADMSG;
}

static void session_copy(const struct head *head, struct session *to)
{
    to->id = HEAD(head, id);
    memcpy(to->category_mask, HEAD(head, category_mask), sizeof(to->category_mask));
    to->late_ticks = HEAD(head, late_ticks);
    to->block_count = HEAD(head, block_count);
    to->thread_count = HEAD(head, thread_count);
    to->strings_size = HEAD(head, strings_size);
    to->policy = environment_policy >= 0 ? (uint32_t)environment_policy : HEAD(head, policy);
    to->is_late = 0;
}

static APART int session_take(int fd, uint64_t id, struct session *ret_session,
                              struct owner *ret_owner, struct refusal *refusal)
{
    struct head head;
    int result = head_read(fd, id, &head);
    if (result == 0 && HEAD(&head, major) != ANNOT_WIRE_MAJOR) {
        refusal->reason = ANNOT_REFUSAL_VERSION;
        refusal->detail = HEAD(&head, major);
        result = -EPROTO;
    }
    if (result == 0) {
        session_copy(&head, ret_session);
        *ret_owner = (struct owner){HEAD(&head, collector_pid_ns), HEAD(&head, collector_pid),
                                    HEAD(&head, flags)};
        result = !(ret_owner->flags & ANNOT_SESSION_ENDED) && flock(fd, LOCK_SH | LOCK_NB) != 0 &&
                 errno == EWOULDBLOCK;
    }
    return result;
}

/* Reads the head of a session file. Returns 1 (alive), 0 (over) or negative errno. */
static APART int session_read(int directory_fd, uint64_t id, struct session *ret_session,
                              struct owner *ret_owner, struct refusal *refusal)
{
    int fd = session_open(directory_fd, id, O_RDONLY);
    if (fd < 0)
        return fd;
    int result = session_take(fd, id, ret_session, ret_owner, refusal);
    close(fd);
    return result;
}

/* ---- Attached processes ---- */

/* Reads the session of a target file: "ID START". START, the process's start time, is 0 if unknown;
 * if it differs, the pid was reused. Returns 1, 0 (none) or negative errno. */
static int read_target(int directory_fd, const char *name, uint64_t start_ticks, uint64_t *ret_id)
{
    char text[TARGET_TEXT_MAX] = {0};
    uint64_t named_ticks = 0;
    int fd = directory_open_file(directory_fd, name, O_RDONLY);
    if (fd < 0)
        return fd;
    ssize_t size = pread(fd, text, sizeof(text) - 1, 0);
    close(fd);
    *ret_id = size > ID_DIGITS ? parse_id(text, ' ') : 0;
    for (const char *at = text + ID_DIGITS + 1; *ret_id && *at >= '0' && *at <= '9'; at++)
        named_ticks = named_ticks * 10 + (uint64_t)(*at - '0');
    return *ret_id &&
           (named_ticks == 0 || start_ticks == 0 || proc_same_ticks(named_ticks, start_ticks));
}

static APART int find_target(int directory_fd, struct session *ret_session, struct refusal *refusal)
{
    char name[64];
    struct owner ignored;
    uint64_t id = 0;
    const char *end = name + sizeof(name);
    char *at = text_append(name, end, ANNOT_TARGET_PREFIX);
    at = text_append_decimal(at, end, (uint64_t)getpid());
    at = text_append(at, end, "-");
    text_append_hex(at, end, proc_pid_namespace(), 1);
    if (faccessat(directory_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
        return 0;
    int found = read_target(directory_fd, name, proc_start_ticks(), &id);
    return found == 1 ? session_read(directory_fd, id, ret_session, &ignored, refusal) : found;
}

/* ---- Processes above this one ---- */

/* Nearest first. */
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

/* Searches the ancestors that are nearer than the best so far; -1: not found. */
static int find_ancestor(const struct search *search, pid_t pid)
{
    for (int i = 0; i < search->nearest; i++)
        if (search->ancestors[i] == pid)
            return i;
    return -1;
}

/* Considers a session file: its collector may be above this process. */
static APART void consider_session(struct search *search, const char *id_text,
                                   struct session *ret_session)
{
    struct session session = {0};
    struct owner owner;
    struct refusal ignored;
    uint64_t id = parse_id(id_text, 0);
    if (id == 0 || session_read(search->directory_fd, id, &session, &owner, &ignored) != 1)
        return;
    if (!(owner.flags & ANNOT_SESSION_DESCENDANTS) || owner.pid_namespace != search->pid_namespace)
        return;
    int found = find_ancestor(search, owner.pid);
    if (found < 0)
        return;
    search->nearest = found;
    *ret_session = session;
}

/* "PID-NS" to numbers. Returns 1 or 0. */
static int parse_target(const char *text, uint64_t *ret_pid, uint64_t *ret_namespace)
{
    uint64_t pid = 0, namespace = 0;
    for (; *text >= '0' && *text <= '9' && pid <= INT32_MAX; text++)
        pid = pid * 10 + (uint64_t)(*text - '0');
    if (*text != '-' || pid == 0 || pid > INT32_MAX)
        return 0;
    for (text++; digit_of(*text) < 16; text++)
    namespace = namespace << 4 | digit_of(*text);
    *ret_pid = pid;
    *ret_namespace = namespace;
    return *text == 0;
}

/* Considers a target file: its process may be above this one. */
static APART void consider_target(struct search *search, const char *name,
                                  struct session *ret_session)
{
    struct session session = {0};
    struct owner owner;
    struct refusal ignored;
    uint64_t pid, namespace;
    if (!parse_target(name + sizeof(ANNOT_TARGET_PREFIX) - 1, &pid, &namespace) ||
        namespace != search->pid_namespace)
        return;
    int found = find_ancestor(search, (pid_t)pid);
    if (found < 0)
        return;
    uint64_t id, start_ticks = proc_start_ticks_of((pid_t)pid);
    if (read_target(search->directory_fd, name, start_ticks, &id) != 1 ||
        session_read(search->directory_fd, id, &session, &owner, &ignored) != 1)
        return;
    search->nearest = found;
    *ret_session = session;
    ret_session->is_late = 1;
}

static void consider(struct search *search, const char *name, struct session *ret_session)
{
    const size_t prefix = sizeof(ANNOT_SESSION_PREFIX) - 1;
    if (strncmp(name, ANNOT_SESSION_PREFIX, prefix) == 0)
        consider_session(search, name + prefix, ret_session);
    else if (strncmp(name, ANNOT_TARGET_PREFIX, sizeof(ANNOT_TARGET_PREFIX) - 1) == 0)
        consider_target(search, name, ret_session);
}

static APART int find_above(int directory_fd, struct session *ret_session)
{
    struct search search;

    union {
        struct entry first;
        char bytes[ENTRIES_SIZE];
    } buffer;

    long size;
    search.directory_fd = directory_fd;
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

/* Errors that do not mean the end of a session. */
static int is_final(int found)
{
    return found == -EPROTO || found == -EMFILE || found == -ENFILE;
}

int session_find(int directory_fd, struct session *ret_session, struct refusal *ret_refusal)
{
    struct owner ignored;
    proc_read_ahead(); /* start times are compared */
    int found = find_target(directory_fd, ret_session, ret_refusal);
    int is_late = found == 1;
    if (found != 1 && !is_final(found) && environment_session)
        found = session_read(directory_fd, environment_session, ret_session, &ignored, ret_refusal);
    uint64_t last = annot_load_relaxed(&last_session);
    if (found != 1 && !is_final(found) && last && last != environment_session)
        found = session_read(directory_fd, last, ret_session, &ignored, ret_refusal);
    if (is_final(found))
        return found;
    if (found == 1)
        ret_session->is_late = (uint32_t)is_late;
    else
        found = find_above(directory_fd, ret_session);
    if (found == 1)
        annot_store_relaxed(&last_session, ret_session->id);
    return found;
}

/* The text is consistent if the sequence before and after is the same and even. */
static APART int read_filter_once(int fd, struct session_filter *ret_filter)
{
    const off_t at = offsetof(struct annot_session, filter_sequence);
    uint32_t after;
    if (pread(fd, ret_filter, sizeof(*ret_filter), at) != (ssize_t)sizeof(*ret_filter) ||
        pread(fd, &after, sizeof(after), at) != (ssize_t)sizeof(after))
        return -EBADMSG;
    if (ret_filter->sequence != after || after % 2 != 0)
        return -EAGAIN;
    return ret_filter->size <= ANNOT_FILTER_MAX ? 0 : -EBADMSG;
}

int session_read_filter(int directory_fd, uint64_t id, struct session_filter *ret_filter)
{
    int error = -EAGAIN;
    int fd = session_open(directory_fd, id, O_RDONLY);
    if (fd < 0)
        return fd;
    for (int i = 0; i < FILTER_ATTEMPTS && error == -EAGAIN; i++)
        error = read_filter_once(fd, ret_filter);
    close(fd);
    return error;
}

void session_read_capture(int directory_fd, uint64_t id, char ret_text[ANNOT_CAPTURE_MAX + 1])
{
    int fd = session_open(directory_fd, id, O_RDONLY);
    memset(ret_text, 0, ANNOT_CAPTURE_MAX + 1);
    if (fd < 0)
        return;
    if (pread(fd, ret_text, ANNOT_CAPTURE_MAX, offsetof(struct annot_session, capture)) !=
        ANNOT_CAPTURE_MAX)
        ret_text[0] = 0;
    close(fd);
}

/* Appends a line to the session's file, unless the file is too large: wire-format.md, "Lines". */
static void session_add_line(int directory_fd, uint64_t id, const char *line, uint32_t size)
{
    int fd = session_open(directory_fd, id, O_WRONLY | O_APPEND);
    if (fd < 0)
        return;
    off_t end = lseek(fd, 0, SEEK_END);
    if (end >= (off_t)sizeof(struct annot_session) && end < LINES_END)
        (void)!write(fd, line, size);
    close(fd);
}

uint64_t session_guess(void)
{
    uint64_t last = annot_load_relaxed(&last_session);
    return last ? last : environment_session;
}

/* Notes about the process. */

enum { NOTES_MAX = 8, LINE_SIZE = 320 };

static char kept_notes[NOTES_MAX][ANNOT_PROCESS_NOTE_MAX + 1]; /* W: the index's owner */
static uint32_t notes_taken;                                   /* W: all, atomic */
static uint32_t notes_ready;                                   /* bits; W: all, atomic */

APART void process_notes_emit_one(int directory_fd, uint64_t session_id, const char *text)
{
    char line[LINE_SIZE];
    const char *end = line + sizeof(line);
    char *at = text_append(line, end, "note\t");
    at = text_append_decimal(at, end, (uint64_t)getpid());
    at = text_append(at, end, "\t");
    at = text_append(at, end, text);
    at = text_append(at, end, "\n");
    session_add_line(directory_fd, session_id, line, (uint32_t)(at - line));
}

void process_notes_emit(int directory_fd, uint64_t session_id)
{
    uint32_t known = annot_load_acquire(&notes_ready); /* partner: process_notes_keep */
    for (uint32_t i = 0; i < NOTES_MAX && known >> i != 0; i++)
        if (known >> i & 1)
            process_notes_emit_one(directory_fd, session_id, kept_notes[i]);
}

static int is_kept(const char *text)
{
    uint32_t known = annot_load_acquire(&notes_ready); /* partner: process_notes_keep */
    for (uint32_t i = 0; i < NOTES_MAX; i++)
        if (known >> i & 1 && strcmp(kept_notes[i], text) == 0)
            return 1;
    return 0;
}

/* Fields of a line are separated by tabs. */
static void copy_note(char *to, const char *text)
{
    size_t i = 0;
    for (; i < ANNOT_PROCESS_NOTE_MAX && text[i]; i++) {
        to[i] = text[i];
        if ((unsigned char)text[i] < ' ')
            to[i] = ' ';
    }
    to[i] = 0;
}

uint32_t process_notes_take(char clean[ANNOT_PROCESS_NOTE_MAX + 1], const char *text)
{
    copy_note(clean, text);
    if (is_kept(clean))
        return PROCESS_NOTES_UNKEPT;
    uint32_t index = annot_fetch_add_relaxed(&notes_taken, 1U);
    if (index < NOTES_MAX)
        return index;
    annot_store_relaxed(&notes_taken, (uint32_t)NOTES_MAX);
    return PROCESS_NOTES_UNKEPT;
}

void process_notes_keep(uint32_t index, const char clean[ANNOT_PROCESS_NOTE_MAX + 1])
{
    memcpy(kept_notes[index], clean, sizeof(kept_notes[index]));
    annot_fetch_or_release(&notes_ready, 1U << index); /* partner: process_notes_emit, is_kept */
}
