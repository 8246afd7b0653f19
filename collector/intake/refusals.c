/* SPDX-License-Identifier: MIT */
/* Reasons become sentences here; slots and command names are foreign bytes. */
#include "refusals.h"

#include "clock_now.h"
#include "proc_info.h"
#include "text.h"
#include "vec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    REFUSALS_MAX = 4096, /* in one recording */
    DEPTH_MAX = 64,      /* of the process tree */
    COST_FACTOR = 200,
};

#define SCAN_NS         INT64_C(1000000000)
#define YOUNG_NS        INT64_C(500000000)
#define LOST_BELIEVABLE (UINT64_C(1) << 48)

void refusals_init(struct refusals *refusals, struct trace *trace)
{
    *refusals = (struct refusals){.trace = trace};
}

void refusals_fini(struct refusals *refusals)
{
    wide_map_free(&refusals->seen);
    vec_free(&refusals->refused);
}

static const char *explain(uint16_t reason)
{
    static const char *const texts[] = {
        [ANNOT_REFUSAL_SECURE_EXEC] = "it runs with raised privileges (set-uid or capabilities)",
        [ANNOT_REFUSAL_NO_DIRECTORY] = "it found no directory to meet annot in",
        [ANNOT_REFUSAL_DIR_OWNER] = "the directory it meets annot in belongs to another user",
        [ANNOT_REFUSAL_DIR_MODE] = "the directory it meets annot in is not private (mode 0700)",
        [ANNOT_REFUSAL_FILE_SIZE] = "its file size limit (ulimit -f) is smaller than a segment",
        [ANNOT_REFUSAL_NO_SPACE] = "the shared-memory file system is full or read-only",
        [ANNOT_REFUSAL_MAP] = "it could not map its segment",
        [ANNOT_REFUSAL_VERSION] = "its libannot speaks another version of the wire format",
        [ANNOT_REFUSAL_OTHER_UID] = "it runs under another uid",
        [ANNOT_REFUSAL_SYSTEM] = "a system call failed",
    };
    if (reason >= sizeof(texts) / sizeof(texts[0]) || !texts[reason])
        return "for a reason that this version of annot does not know";
    return texts[reason];
}

static void compose(struct text *text, const struct annot_refusal_slot *slot)
{
    text_format(text, "%s", explain(slot->refusal));
    if (slot->refusal == ANNOT_REFUSAL_FILE_SIZE)
        text_format(text, ": %llu bytes", (unsigned long long)slot->detail);
    else if (slot->refusal == ANNOT_REFUSAL_OTHER_UID)
        text_format(text, ": %llu, and annot under %u", (unsigned long long)slot->detail,
                    (unsigned)geteuid());
    else if (slot->error != 0 && slot->error < 4096)
        text_format(text, ": %s", strerror(slot->error));
}

int refusals_note(struct refusals *refusals, const struct annot_refusal_slot *slot)
{
    char buffer[256];
    struct text text = text_init(buffer, sizeof(buffer));
    size_t length = strnlen((const char *)slot->comm, sizeof(slot->comm));
    struct wide_key key = {{(uint64_t)(uint32_t)slot->pid << 16 | slot->refusal}};
    memcpy(&key.words[1], slot->comm, length);
    if (slot->pid <= 0 || wide_map_find(&refusals->seen, &key) ||
        trace_refusal_count(refusals->trace) >= REFUSALS_MAX)
        return 0;
    compose(&text, slot);
    int64_t comm = trace_string_add(refusals->trace, (const char *)slot->comm, length);
    int64_t reason = trace_string_add(refusals->trace, buffer, text.length);
    if (comm < 0 || reason < 0 || wide_map_put(&refusals->seen, &key, 1) != 0)
        return -ENOMEM;
    struct trace_refusal refusal = {slot->pid, (uint32_t)comm, (uint32_t)reason};
    return trace_refusal_add(refusals->trace, &refusal) < 0 ? -ENOMEM : 0;
}

/* ---- Descendants under another uid ---- */

struct other {
    pid_t pid;
    uid_t uid;
};

struct scan {
    VEC(struct other) others;
};

static void collect(void *context, pid_t pid, uid_t uid)
{
    struct scan *scan = context;
    if (uid != geteuid())
        (void)vec_push(&scan->others, ((struct other){pid, uid}));
}

/* Whether it is below us; its own stat in *ret_stat. */
static bool is_descendant(pid_t pid, struct proc_stat *ret_stat)
{
    struct proc_stat stat;
    pid_t self = getpid();
    if (proc_stat(pid, ret_stat) != 0)
        return false;
    pid_t parent = ret_stat->ppid;
    for (int depth = 0; depth < DEPTH_MAX && parent > 1; depth++) {
        if (parent == self)
            return true;
        if (proc_stat(parent, &stat) != 0)
            return false;
        parent = stat.ppid;
    }
    return false;
}

static int scan_others(struct refusals *refusals)
{
    struct scan scan = {0};
    int error = 0;
    proc_each(collect, &scan);
    for (size_t i = 0; i < scan.others.count && error == 0; i++) {
        struct proc_stat stat;
        struct annot_refusal_slot slot = {.pid = scan.others.items[i].pid,
                                          .refusal = ANNOT_REFUSAL_OTHER_UID,
                                          .detail = scan.others.items[i].uid};
        if (!is_descendant(slot.pid, &stat) || stat.state == 'Z')
            continue;
        memcpy(slot.comm, stat.comm, sizeof(slot.comm));
        error = refusals_note(refusals, &slot);
    }
    vec_free(&scan.others);
    return error;
}

/* ---- Slots ---- */

/* Whether a process that does not know its session, or one that is over, is one of ours: named by
 * `annot attach`, or below us. */
static bool is_ours(const struct refusals *refusals, const struct directory *directory,
                    const struct annot_refusal_slot *slot)
{
    struct proc_stat stat;
    char name[64];
    snprintf(name, sizeof(name), ANNOT_TARGET_PREFIX "%d-%llx", (int)slot->pid,
             (unsigned long long)slot->pid_ns);
    if (faccessat(directory->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return true;
    if (slot->pid_ns != proc_pid_namespace(0))
        return false;
    if (is_descendant(slot->pid, &stat) || slot->ppid == getpid())
        return true;
    for (uint32_t i = 0; i < trace_process_count(refusals->trace); i++)
        if (trace_process_get(refusals->trace, i)->pid == slot->ppid)
            return true;
    return false;
}

static bool belongs(const struct refusals *refusals, const struct directory *directory,
                    const struct session_file *session, const struct annot_refusal_slot *slot)
{
    struct annot_session other;
    if (slot->session_id == session->id)
        return true;
    if (slot->session_id != 0 && session_file_alive(directory, slot->session_id, &other))
        return false;
    return is_ours(refusals, directory, slot);
}

/* The entry of the process in the trace: as it was sampled, or one that is made. */
static int64_t find_process(struct refusals *refusals, const struct annot_refusal_slot *slot)
{
    struct trace *trace = refusals->trace;
    for (uint32_t i = trace_process_count(trace); i-- > 0;) {
        const struct trace_process *process = trace_process_get(trace, i);
        if (process->pid == slot->pid &&
            (process->end_ns == 0 || process->end_ns > (int64_t)slot->time_ns))
            return i;
    }
    size_t length = strnlen((const char *)slot->comm, sizeof(slot->comm));
    int64_t comm = trace_string_add(trace, (const char *)slot->comm, length);
    int64_t ordinal = comm < 0 ? comm : trace_process_add(trace);
    if (ordinal < 0)
        return ordinal;
    struct trace_process *process = trace_process(trace, (uint32_t)ordinal);
    process->pid = process->ns_pid = slot->pid;
    process->ppid = slot->ppid;
    process->pid_ns = slot->pid_ns;
    process->start_ns = (int64_t)slot->time_ns;
    process->comm = (uint32_t)comm;
    return ordinal;
}

static void tell_lost(struct refusals *refusals, struct refused *refused, uint64_t lost)
{
    struct trace_process *process = trace_process(refusals->trace, refused->process);
    if (lost == refused->told)
        return;
    process->lost[LOSS_REFUSED] += lost - refused->told;
    process->revision++;
    refused->told = lost;
}

/* The one of a slot; NULL: no memory. */
static struct refused *find_refused(struct refusals *refusals,
                                    const struct annot_refusal_slot *slot)
{
    for (size_t i = 0; i < refusals->refused.count; i++) {
        struct refused *refused = &refusals->refused.items[i];
        if (refused->owner == slot->owner && refused->time_ns == slot->time_ns)
            return refused;
    }
    int64_t process = find_process(refusals, slot);
    struct refused fresh = {
        .owner = slot->owner, .time_ns = slot->time_ns, .process = (uint32_t)process};
    if (process < 0 || vec_push(&refusals->refused, fresh) != 0)
        return NULL;
    return &refusals->refused.items[refusals->refused.count - 1];
}

/* Nobody watched one that made no segment and was not sampled. */
static void tell_end(struct trace_process *process, pid_t pid)
{
    struct proc_stat stat;
    if (process->end_ns != 0 || (proc_stat(pid, &stat) == 0 && stat.state != 'Z'))
        return;
    process->end = PROCESS_VANISHED;
    process->end_ns = clock_now_ns();
    process->revision++;
}

/* One that finds a descriptor in the next moment is none to name. */
static int take_slot(struct refusals *refusals, const struct annot_refusal_slot *slot, bool last)
{
    if (!last && clock_now_ns() - (int64_t)slot->time_ns < YOUNG_NS)
        return 0;
    struct refused *refused =
        refusals->refused.count < REFUSALS_MAX ? find_refused(refusals, slot) : NULL;
    if (refused && last)
        tell_end(trace_process(refusals->trace, refused->process), slot->pid);
    if (refused && slot->lost <= LOST_BELIEVABLE && slot->pending <= LOST_BELIEVABLE) {
        refused->is_there = true;
        refused->lost = slot->lost;
        tell_lost(refusals, refused, slot->lost + slot->pending);
    }
    return refusals_note(refusals, slot);
}

/* A copy that no writer came into. */
static bool read_slot(int fd, int index, struct annot_refusal_slot *slot)
{
    const off_t at = ANNOT_REFUSALS_OFFSET + (off_t)offsetof(struct annot_refusals, slots) +
                     (off_t)index * (off_t)sizeof(*slot);
    uint64_t after;
    if (pread(fd, slot, sizeof(*slot), at) != (ssize_t)sizeof(*slot) || slot->generation == 0)
        return false;
    if (pread(fd, &after, sizeof(after),
              at + (off_t)offsetof(struct annot_refusal_slot, generation)) != sizeof(after))
        return false;
    return after == slot->generation && slot->pid > 0 &&
           slot->time_ns <= (uint64_t)clock_now_ns() &&
           (uint32_t)(slot->owner >> 32) == (uint32_t)slot->pid;
}

static int open_pages(const struct directory *directory)
{
    return openat(directory->fd, ANNOT_WAKE_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
}

/* 0 if there are none. */
static uint64_t read_unnamed(int fd)
{
    uint64_t count;
    const off_t at = ANNOT_REFUSALS_OFFSET + (off_t)offsetof(struct annot_refusals, unnamed);
    bool is_read = fd >= 0 && pread(fd, &count, sizeof(count), at) == (ssize_t)sizeof(count);
    return is_read ? count : 0;
}

void refusals_begin(struct refusals *refusals, const struct directory *directory)
{
    int fd = open_pages(directory);
    refusals->unnamed = read_unnamed(fd);
    if (fd >= 0)
        close(fd);
}

/* Of any session: nobody knows whose they were. */
static int tell_unnamed(const struct refusals *refusals, int fd)
{
    uint64_t count = read_unnamed(fd), more = count - refusals->unnamed;
    if (count <= refusals->unnamed || more > LOST_BELIEVABLE)
        return 0;
    return trace_fact_set(refusals->trace, FACT_LOSS,
                          "events: of refused processes, more than could be named", more);
}

static int take_slots(struct refusals *refusals, const struct directory *directory,
                      const struct session_file *session, bool last)
{
    struct annot_refusal_slot slot;
    int error = 0;
    int fd = open_pages(directory);
    for (size_t i = 0; i < refusals->refused.count; i++)
        refusals->refused.items[i].is_there = false;
    for (int i = 0; fd >= 0 && i < ANNOT_REFUSAL_SLOTS && error == 0; i++)
        if (read_slot(fd, i, &slot) && slot.generation >= refusals->generation &&
            belongs(refusals, directory, session, &slot))
            error = take_slot(refusals, &slot, last);
    for (size_t i = 0; i < refusals->refused.count; i++)
        if (!refusals->refused.items[i].is_there)
            tell_lost(refusals, &refusals->refused.items[i], refusals->refused.items[i].lost);
    if (error == 0)
        error = tell_unnamed(refusals, fd);
    if (fd >= 0)
        close(fd);
    return error;
}

int refusals_poll(struct refusals *refusals, const struct directory *directory,
                  const struct session_file *session, bool last)
{
    int error = session->fd >= 0 ? take_slots(refusals, directory, session, last) : 0;
    int64_t begin = clock_now_ns();
    if (error != 0 || begin < refusals->next_scan_ns)
        return error;
    error = scan_others(refusals);
    int64_t end = clock_now_ns(), pause = (end - begin) * COST_FACTOR;
    refusals->next_scan_ns = end + (pause > SCAN_NS ? pause : SCAN_NS);
    return error;
}
