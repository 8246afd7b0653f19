/* SPDX-License-Identifier: MIT */
/* Reasons become sentences here; slots and command names are foreign bytes. */
#include "refusals.h"

#include "clock_now.h"
#include "hash.h"
#include "proc_info.h"
#include "text.h"
#include "vec.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
    REFUSALS_MAX = 4096, /* in one recording */
    DEPTH_MAX = 64,      /* of the process tree */
    COST_FACTOR = 200,
};

#define SCAN_NS INT64_C(1000000000)

void refusals_init(struct refusals *refusals, struct trace *trace)
{
    *refusals = (struct refusals){.trace = trace};
}

void refusals_fini(struct refusals *refusals)
{
    map64_free(&refusals->seen);
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
    uint64_t key =
        hash_bytes(slot->comm, length) ^ (uint64_t)(uint32_t)slot->pid << 16 ^ slot->refusal;
    if (slot->pid <= 0 || map64_find(&refusals->seen, key | 1) ||
        trace_refusal_count(refusals->trace) >= REFUSALS_MAX)
        return 0;
    compose(&text, slot);
    int64_t comm = trace_string_add(refusals->trace, (const char *)slot->comm, length);
    int64_t reason = trace_string_add(refusals->trace, buffer, text.length);
    if (comm < 0 || reason < 0 || map64_put(&refusals->seen, key | 1, 1) != 0)
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

int refusals_poll(struct refusals *refusals, const struct session_file *session)
{
    struct annot_refusal_slot slots[ANNOT_REFUSAL_SLOTS];
    int error = 0;
    if (session->fd >= 0 && session_file_refusals(session, slots) == 0)
        for (int i = 0; i < ANNOT_REFUSAL_SLOTS && error == 0; i++)
            error = refusals_note(refusals, &slots[i]);
    int64_t begin = clock_now_ns();
    if (error != 0 || begin < refusals->next_scan_ns)
        return error;
    error = scan_others(refusals);
    int64_t end = clock_now_ns(), pause = (end - begin) * COST_FACTOR;
    refusals->next_scan_ns = end + (pause > SCAN_NS ? pause : SCAN_NS);
    return error;
}
