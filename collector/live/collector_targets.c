/* SPDX-License-Identifier: MIT */
/* Attaching and leaving. A program unmaps its segment when an event finds that the session is over.
 * With a closed gate no event checks, so the gate stays open for a moment: a program that emits
 * meanwhile unmaps its segment. */
#include "collector_targets.h"

#include "clock_now.h"
#include "intake.h"
#include "text.h"
#include "trace.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { PAUSE_MIN_NS = 500 * 1000, PAUSE_MAX_NS = 16 * 1000 * 1000 };

#define LEAVE_NS INT64_C(100000000)

static bool is_same(const struct directory *one, const struct directory *other)
{
    struct stat first, second;
    return fstat(one->fd, &first) == 0 && fstat(other->fd, &second) == 0 &&
           first.st_ino == second.st_ino && first.st_dev == second.st_dev;
}

/* Checks that the program watches this directory, or will, should it load libannot. */
static int check_directory(struct directory *directory, const struct target *target)
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
    int error = check_directory(directory, target);
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
