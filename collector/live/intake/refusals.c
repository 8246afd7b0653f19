/* SPDX-License-Identifier: MIT */
/* Turns refusals into sentences; slots and command names are foreign bytes. */
#include "refusals.h"

#include "annot_barrier.h"
#include "clock_now.h"
#include "file_io.h"
#include "guard.h"
#include "proc_info.h"
#include "target.h"
#include "text.h"
#include "vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- The slots' pages ------------------------------------------------------------------------ */

/* Slots are freed under the lock of the wake page, so by one process at a time. */

static int open_pages(const struct directory *directory)
{
    return file_open_regular(directory->fd, ANNOT_WAKE_NAME, O_RDONLY | O_NOFOLLOW, NULL);
}

/* True if the slot did not change while it was copied. */
static bool is_whole(int fd, int index, const struct annot_refusal_slot *slot)
{
    uint64_t after;
    const size_t at = ANNOT_REFUSALS_OFFSET + offsetof(struct annot_refusals, slots) +
                      (size_t)index * sizeof(*slot) +
                      offsetof(struct annot_refusal_slot, generation);
    return slot->generation != 0 && slot->pid > 0 &&
           (uint32_t)(slot->owner >> 32) == (uint32_t)slot->pid &&
           slot->time_ns <= (uint64_t)clock_now_ns() &&
           file_read_at(fd, &after, sizeof(after), at) == sizeof(after) &&
           after == slot->generation;
}

static int read_pages(int fd, struct annot_refusals *pages)
{
    ssize_t got = file_read_at(fd, pages, sizeof(*pages), ANNOT_REFUSALS_OFFSET);
    if (got != sizeof(*pages))
        return got < 0 ? (int)got : -ENOENT;
    for (int i = 0; i < ANNOT_REFUSAL_SLOTS; i++)
        if (pages->slots[i].owner != 0 && !is_whole(fd, i, &pages->slots[i]))
            pages->slots[i].owner = 0;
    return 0;
}

/* Copies the slots; an invalid slot, or one being written, has owner 0 in the copy. 0; -ENOENT: the
 * file has no such pages; or -errno. */
static int refusal_pages_read(const struct directory *directory, struct annot_refusals *ret_pages)
{
    int fd = open_pages(directory);
    if (fd < 0)
        return fd;
    int error = read_pages(fd, ret_pages);
    close(fd);
    return error;
}

int refusal_pages_begin(const struct directory *directory, const struct session_file *file)
{
    const size_t count_at = ANNOT_REFUSALS_OFFSET + offsetof(struct annot_refusals, unnamed);
    const size_t last_at = offsetof(struct annot_wake, last_generation);
    uint64_t last = 0, unnamed = 0;
    int fd = open_pages(directory);
    if (fd < 0 && fd != -ENOENT)
        return fd;
    if (fd >= 0 && file_read_at(fd, &last, sizeof(last), last_at) != sizeof(last))
        last = 0;
    if (fd >= 0 && file_read_at(fd, &unnamed, sizeof(unnamed), count_at) != sizeof(unnamed))
        unnamed = 0;
    if (fd >= 0)
        close(fd);
    return session_file_begin(file, &(struct session_span){last + 1, 0, unnamed});
}

/* ---- Giving back ----------------------------------------------------------------------------- */

struct sweep {
    VEC(struct session_span) spans;
    struct annot_refusals pages;
    struct annot_refusals *shared;
};

static int list_spans(const struct directory *directory, struct sweep *sweep)
{
    int error = 0;
    DIR *stream = file_list_folder(directory->fd);
    if (!stream)
        return -errno;
    for (const struct dirent *entry; error == 0 && (entry = readdir(stream));) {
        struct annot_session session;
        uint64_t id;
        if (!session_name_parse(entry->d_name, &id))
            continue;
        error = session_file_peek(directory, entry->d_name, &session);
        if (error == 0)
            error = vec_push(&sweep->spans, ((struct session_span){session.begin_generation,
                                                                   session.end_generation, 0}));
        else if (error != -EMFILE && error != -ENFILE && error != -ENOMEM)
            error = 0; /* unreadable: it claims no slots */
    }
    closedir(stream);
    return error;
}

static bool is_wanted(const struct sweep *sweep, uint64_t generation)
{
    for (size_t i = 0; i < sweep->spans.count; i++) {
        const struct session_span *span = &sweep->spans.items[i];
        if (span->begin_generation != 0 && generation >= span->begin_generation &&
            (span->end_generation == 0 || generation < span->end_generation))
            return true;
    }
    return false;
}

static int give_back(void *context)
{
    struct sweep *sweep = context;
    for (int i = 0; i < ANNOT_REFUSAL_SLOTS; i++) {
        struct annot_refusal_slot *slot = &sweep->shared->slots[i];
        if (sweep->pages.slots[i].owner == 0 || is_wanted(sweep, sweep->pages.slots[i].generation))
            continue;
        annot_store_relaxed(&slot->lost,
                            UINT64_C(0)); /* later losses: its next owner reports them */
        annot_store_release(&slot->generation, UINT64_C(0)); /* partner: readers' loads */
        annot_store_release(&slot->owner, UINT64_C(0)); /* partner: the swap of its next owner */
    }
    return 0;
}

static void sweep_locked(const struct directory *directory, int fd)
{
    struct sweep sweep = {.shared = MAP_FAILED};
    int error = read_pages(fd, &sweep.pages);
    if (error == 0)
        error = list_spans(directory, &sweep);
    if (error == 0)
        sweep.shared = mmap(NULL, sizeof(*sweep.shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                            ANNOT_REFUSALS_OFFSET);
    if (sweep.shared != MAP_FAILED) {
        const struct guard_range range = {sweep.shared, sizeof(*sweep.shared)};
        if (guard_install() == 0)
            (void)guard_call(&range, give_back, &sweep);
        munmap(sweep.shared, sizeof(*sweep.shared));
    }
    vec_free(&sweep.spans);
}

void refusal_pages_sweep(const struct directory *directory)
{
    int fd = directory_lock(directory);
    if (fd < 0)
        return;
    sweep_locked(directory, fd);
    close(fd);
}

enum {
    REFUSALS_MAX = 4096, /* in one recording */
    DEPTH_MAX = 64,      /* of the process tree */
    COST_FACTOR = 200,
    REFUSAL_SAID = 0xffff, /* not a valid refusal of a slot */
};

#define SCAN_NS INT64_C(1000000000)

#define YOUNG_NS INT64_C(500000000)

#define LOST_BELIEVABLE (UINT64_C(1) << 48)

void refusals_init(struct refusals *refusals, struct trace *trace, struct lives *lives)
{
    *refusals = (struct refusals){
        .trace = trace, .lives = lives, .collector = {getpid(), proc_pid_namespace(0)}};
}

void refusals_fini(struct refusals *refusals)
{
    for (size_t i = 0; i < refusals->refused.count; i++)
        process_watch_close(&refusals->refused.items[i].watch);
    wide_map_free(&refusals->seen);
    vec_free(&refusals->targets);
    vec_free(&refusals->refused);
    vec_free(&refusals->recorded);
}

int refusals_add_target(struct refusals *refusals, int32_t pid, uint64_t pid_ns)
{
    return vec_push(&refusals->targets, ((struct refusal_target){pid, pid_ns}));
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

/* True if the refusal is not noted yet, and there is room. */
static bool is_new(const struct refusals *refusals, const struct annot_refusal_slot *slot,
                   struct wide_key *ret_key)
{
    *ret_key = (struct wide_key){{(uint64_t)(uint32_t)slot->pid << 16 | slot->refusal}};
    memcpy(&ret_key->words[1], slot->comm, strnlen((const char *)slot->comm, sizeof(slot->comm)));
    return slot->pid > 0 && !wide_map_find(&refusals->seen, ret_key) &&
           trace_refusal_count(refusals->trace) < REFUSALS_MAX;
}

static int note(struct refusals *refusals, const struct annot_refusal_slot *slot, const char *why)
{
    struct wide_key key;
    size_t length = strnlen((const char *)slot->comm, sizeof(slot->comm));
    if (!is_new(refusals, slot, &key))
        return 0;
    int64_t comm = trace_string_add(refusals->trace, (const char *)slot->comm, length);
    int64_t reason = trace_string_add(refusals->trace, why, strlen(why));
    if (comm < 0 || reason < 0 || wide_map_put(&refusals->seen, &key, 1) != 0)
        return -ENOMEM;
    struct trace_refusal refusal = {slot->pid, (uint32_t)comm, (uint32_t)reason};
    for (uint32_t i = 0; i < trace_refusal_count(refusals->trace); i++) { /* before a recovery */
        const struct trace_refusal *other = trace_refusal_get(refusals->trace, i);
        if (other->pid == refusal.pid && other->comm == refusal.comm &&
            other->reason == refusal.reason)
            return 0;
    }
    return trace_refusal_add(refusals->trace, &refusal) < 0 ? -ENOMEM : 0;
}

int refusals_note(struct refusals *refusals, const struct annot_refusal_slot *slot)
{
    char buffer[256];
    struct text text = text_init(buffer, sizeof(buffer));
    compose(&text, slot);
    return note(refusals, slot, buffer);
}

int refusals_say(struct refusals *refusals, int32_t pid, const char *comm, const char *reason)
{
    struct annot_refusal_slot slot = {.pid = pid, .refusal = REFUSAL_SAID};
    memcpy(slot.comm, comm, strnlen(comm, sizeof(slot.comm)));
    return note(refusals, &slot, reason);
}

/* ---- Descendants under another uid ----------------------------------------------------------- */

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

/* True if the process is our descendant; *ret_stat is its stat. */
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

/* ---- Sessions of slots ----------------------------------------------------------------------- */

/* Matches an entry of the trace. A process that was only sampled has no namespace there: it is in
 * ours. */
static bool is_named(const struct trace_process *process, int32_t pid, uint64_t pid_ns)
{
    if (process->pid_ns != 0 || pid_ns != proc_pid_namespace(0))
        return process->ns_pid == pid && process->pid_ns == pid_ns;
    return process->pid == pid;
}

static bool is_target(const struct refusal_target *target, int32_t pid, uint64_t pid_ns)
{
    return target->pid == pid && target->pid_ns == pid_ns;
}

/* True if a process with an unknown or ended session belongs to this one: named by `annot attach`,
 * or a descendant of ours or of one of our processes. */
static bool is_ours(const struct refusals *refusals, const struct refused *refused,
                    const struct annot_refusal_slot *slot)
{
    struct proc_stat stat;
    for (size_t i = 0; i < refusals->targets.count; i++)
        if (is_target(&refusals->targets.items[i], slot->pid, slot->pid_ns) ||
            is_target(&refusals->targets.items[i], slot->ppid, slot->pid_ns))
            return true;
    if (is_target(&refusals->collector, slot->ppid, slot->pid_ns) ||
        (refused->watch.pid > 0 && is_descendant(refused->watch.pid, &stat)))
        return true;
    for (uint32_t i = 0; i < trace_process_count(refusals->trace); i++)
        if (is_named(trace_process_get(refusals->trace, i), slot->ppid, slot->pid_ns))
            return true;
    return false;
}

static bool is_others(const struct directory *directory, const struct session_file *session,
                      const struct annot_refusal_slot *slot)
{
    struct annot_session other;
    return slot->session_id != session->id && slot->session_id != 0 &&
           session_file_alive(directory, slot->session_id, &other);
}

/* ---- Processes of slots ---------------------------------------------------------------------- */

/* The pid in our namespace; if invisible here, the one in its namespace. */
static pid_t pid_here(const struct refused *refused, const struct annot_refusal_slot *slot)
{
    return refused->watch.pid > 0 ? refused->watch.pid : slot->pid;
}

static int64_t find_process(const struct refusals *refusals, const struct annot_refusal_slot *slot)
{
    int64_t time_ns = (int64_t)slot->time_ns;
    for (uint32_t i = trace_process_count(refusals->trace); i-- > 0;) {
        const struct trace_process *process = trace_process_get(refusals->trace, i);
        if (is_named(process, slot->pid, slot->pid_ns) && process->start_ns <= time_ns &&
            (process->end_ns == 0 || process->end_ns > time_ns))
            return i;
    }
    return -1;
}

/* The entry of the image in the trace: the sampler's, or the one its segment will use. */
static int64_t enter_process(struct refusals *refusals, const struct refused *refused,
                             const struct annot_refusal_slot *slot)
{
    struct proc_stat stat;
    struct lives_task task = {.pid = pid_here(refused, slot), .ns_pid = slot->pid};
    bool here = refused->watch.pid > 0 || slot->pid_ns == proc_pid_namespace(0);
    if (!refusals->lives || !here) {
        int64_t ordinal = find_process(refusals, slot);
        return ordinal >= 0 ? ordinal : trace_process_add(refusals->trace);
    }
    if (refused->watch.pid > 0 && proc_stat(refused->watch.pid, &stat) == 0)
        task.start_ticks = stat.start_ticks;
    return lives_process(refusals->lives, &task, (int64_t)slot->time_ns);
}

static int enter(struct refusals *refusals, struct refused *refused,
                 const struct annot_refusal_slot *slot)
{
    size_t length = strnlen((const char *)slot->comm, sizeof(slot->comm));
    int64_t comm = trace_string_add(refusals->trace, (const char *)slot->comm, length);
    int64_t ordinal = comm < 0 ? comm : enter_process(refusals, refused, slot);
    if (ordinal < 0)
        return (int)ordinal;
    struct trace_process *process = trace_process(refusals->trace, (uint32_t)ordinal);
    if (process->pid == 0)
        process->pid = pid_here(refused, slot);
    if (process->pid_ns == 0) {
        process->ns_pid = slot->pid;
        process->pid_ns = slot->pid_ns;
    }
    if (process->ppid == 0 && slot->pid_ns == proc_pid_namespace(0))
        process->ppid = slot->ppid;
    if (process->start_ns == 0)
        process->start_ns = (int64_t)slot->time_ns;
    if (process->comm == 0)
        process->comm = (uint32_t)comm;
    process->revision++;
    refused->process = (uint32_t)ordinal;
    refused->entered = true;
    return 0;
}

/* Records the end of a process without a segment or samples, which has no other watch. */
static void emit_end(struct trace_process *process, struct process_watch *watch)
{
    if (process->end != PROCESS_RUNNING || process->end_ns != 0 || !process_watch_poll(watch))
        return;
    process->end = PROCESS_VANISHED;
    process->end_ns = clock_now_ns();
    process->revision++;
}

/* ---- Slots ----------------------------------------------------------------------------------- */

/* Opens a watch, unless the pid was reused since. */
static void watch(struct refused *refused, const struct annot_refusal_slot *slot)
{
    struct proc_stat stat;
    process_watch_open(&refused->watch, &(struct process_watched){slot->pid, slot->pid_ns, 0});
    if (refused->watch.pid <= 0 || proc_stat(refused->watch.pid, &stat) != 0 ||
        clock_ticks_ns(stat.start_ticks, clock_asleep_ns()) <= (int64_t)slot->time_ns)
        return;
    process_watch_close(&refused->watch);
    refused->watch = (struct process_watch){.pidfd = -1, .ended = true};
}

/* NULL: out of memory. */
static struct refused *find_refused(struct refusals *refusals,
                                    const struct annot_refusal_slot *slot)
{
    for (size_t i = 0; i < refusals->refused.count; i++) {
        struct refused *refused = &refusals->refused.items[i];
        if (refused->owner == slot->owner && refused->time_ns == slot->time_ns)
            return refused;
    }
    struct refused fresh = {.owner = slot->owner, .time_ns = slot->time_ns};
    if (vec_push(&refusals->refused, fresh) != 0)
        return NULL;
    watch(&refusals->refused.items[refusals->refused.count - 1], slot);
    return &refusals->refused.items[refusals->refused.count - 1];
}

static void emit_lost(struct refusals *refusals, struct refused *refused, uint64_t lost)
{
    struct trace_process *process = trace_process(refusals->trace, refused->process);
    if (lost == refused->published || lost > LOST_BELIEVABLE)
        return;
    process->lost[LOSS_REFUSED] += lost - refused->published;
    process->revision++;
    refused->published = lost;
}

struct look {
    struct refusals *refusals;
    const struct directory *directory;
    const struct session_file *session;
    struct session_span span;
    bool last;
};

/* Takes a slot. A young one is not named yet: its process may still find a free descriptor. */
static int take_slot(const struct look *look, struct annot_refusal_slot *slot)
{
    struct refusals *refusals = look->refusals;
    if (is_others(look->directory, look->session, slot))
        return 0;
    struct refused *refused = find_refused(refusals, slot);
    if (!refused)
        return -ENOMEM;
    refused->ours =
        refused->ours || slot->session_id == look->session->id || is_ours(refusals, refused, slot);
    if (!refused->ours)
        return 0;
    int error = refused->entered ? 0 : enter(refusals, refused, slot);
    if (error != 0)
        return error;
    emit_lost(refusals, refused, slot->lost);
    refused->over = slot->over != 0;
    if (look->last)
        emit_end(trace_process(refusals->trace, refused->process), &refused->watch);
    if (slot->over || (!look->last && clock_now_ns() - (int64_t)slot->time_ns < YOUNG_NS))
        return 0;
    slot->pid = pid_here(refused, slot);
    return refusals_note(refusals, slot);
}

/* Reports unnamed losses; their session is unknown. */
static int emit_unnamed(const struct look *look)
{
    uint64_t count = look->refusals->pages.unnamed, before = look->span.unnamed_before;
    if (count <= before || count - before > LOST_BELIEVABLE)
        return 0;
    return trace_fact_set(look->refusals->trace, FACT_LOSS,
                          "events: of refused processes, more than could be named", count - before);
}

static int take_slots(const struct look *look)
{
    struct annot_refusals *pages = &look->refusals->pages;
    int error = refusal_pages_read(look->directory, pages);
    if (error == -ENOENT)
        return trace_fact_set(look->refusals->trace, FACT_NOTE,
                              "Programs that cannot take part cannot say so, nor how many events "
                              "they lose: there was no room for that in the annot directory.",
                              1);
    if (error != 0) /* the next look may find a free descriptor */
        return 0;
    for (int i = 0; i < ANNOT_REFUSAL_SLOTS && error == 0; i++) {
        struct annot_refusal_slot *slot = &pages->slots[i];
        if (slot->owner != 0 && slot->generation >= look->span.begin_generation &&
            (look->span.end_generation == 0 || slot->generation < look->span.end_generation))
            error = take_slot(look, slot);
    }
    return error != 0 ? error : emit_unnamed(look);
}

/* Keeps the losses recorded by the dead collector. */
static void keep_recorded(struct refusals *refusals)
{
    for (uint32_t i = 0; i < refusals->recorded.count; i++) {
        struct trace_process *process = trace_process(refusals->trace, i);
        if (process->lost[LOSS_REFUSED] >= refusals->recorded.items[i])
            continue;
        process->lost[LOSS_REFUSED] = refusals->recorded.items[i];
        process->revision++;
    }
}

int refusals_poll(struct refusals *refusals, const struct directory *directory,
                  const struct session_file *session, bool last)
{
    struct look look = {refusals, directory, session, {0}, last};
    int error = 0;
    if (session->fd >= 0 && session_file_span(session, &look.span) == 0 &&
        look.span.begin_generation != 0)
        error = take_slots(&look);
    if (last)
        keep_recorded(refusals);
    int64_t begin = clock_now_ns();
    if (error != 0 || begin < refusals->next_scan_ns || geteuid() == 0)
        return error; /* root can enter their directories */
    error = scan_others(refusals);
    int64_t end = clock_now_ns(), pause = (end - begin) * COST_FACTOR;
    refusals->next_scan_ns = end + (pause > SCAN_NS ? pause : SCAN_NS);
    return error;
}

/* True for the last slot of its process, which is the one to query. */
static bool is_last_of_process(const struct refusals *refusals, size_t index)
{
    const struct refused *refused = refusals->refused.items;
    for (size_t i = index + 1; i < refusals->refused.count; i++)
        if (refused[i].entered && refused[i].process == refused[index].process)
            return false;
    return refused[index].entered;
}

uint32_t refusals_living(struct refusals *refusals)
{
    uint32_t count = 0;
    for (size_t i = 0; i < refusals->refused.count; i++) {
        struct refused *refused = &refusals->refused.items[i];
        count += is_last_of_process(refusals, i) && !refused->over &&
                 !process_watch_poll(&refused->watch);
    }
    return count;
}

static int add_named(void *context, int32_t pid, uint64_t pid_ns)
{
    return refusals_add_target(context, pid, pid_ns);
}

int refusals_resume(struct refusals *refusals, struct trace *trace,
                    const struct directory *directory, const struct annot_session *session)
{
    refusals_init(refusals, trace, NULL);
    refusals->collector =
        (struct refusal_target){session->collector_pid, session->collector_pid_ns};
    refusals->next_scan_ns = INT64_MAX;
    for (uint32_t i = 0; i < trace_process_count(trace); i++) {
        struct trace_process *process = trace_process(trace, i);
        if (vec_push(&refusals->recorded, process->lost[LOSS_REFUSED]) != 0)
            return -ENOMEM;
        process->lost[LOSS_REFUSED] = 0;
    }
    return target_each(directory, session->id, add_named, refusals);
}
