/* SPDX-License-Identifier: MIT */
/* From lives to entries of the trace. What the kernel tells wins over what was guessed, and is
 * overwritten by no guess; an entry that the intake claimed keeps what the segment says. */
#include "session_parts.h"

#include "clock_now.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

enum { ANCESTORS_MAX = 64, TICK_NS = 10 * 1000 * 1000 };

static struct process *parent_of(const struct lives *lives, const struct process *life)
{
    if (life->parent.pid <= 0)
        return NULL;
    struct process *parent =
        lives_find_life(lives, life->parent.pid, life->parent.start_ticks, life->fork_ns);
    return parent != life ? parent : NULL;
}

static int64_t text_ordinal(struct lives *lives, const char *text)
{
    return text ? trace_string_add(lives->trace, text, strlen(text)) : 0;
}

int lives_tell_texts(struct lives *lives, const struct image *image)
{
    if (image->ordinal < 0)
        return 0;
    int64_t comm = text_ordinal(lives, image->comm);
    int64_t cmdline = text_ordinal(lives, image->cmdline);
    if (comm < 0 || cmdline < 0)
        return -ENOMEM;
    struct trace_process *entry = trace_process(lives->trace, (uint32_t)image->ordinal);
    if ((entry->comm == 0 && comm != 0) || (entry->cmdline == 0 && cmdline != 0))
        entry->revision++;
    if (entry->comm == 0)
        entry->comm = (uint32_t)comm;
    if (entry->cmdline == 0)
        entry->cmdline = (uint32_t)cmdline;
    return 0;
}

/* A forked child runs what its parent ran at the fork. Which thread forked it matters if that may
 * have ranges, which the child inherits. */
static void tell_family(struct lives *lives, const struct process *life, const struct image *image)
{
    struct trace_process *entry = trace_process(lives->trace, (uint32_t)image->ordinal);
    const struct process *parent_life = parent_of(lives, life);
    const struct image *parent_image = parent_life ? life_image(parent_life, life->fork_ns) : NULL;
    bool known = parent_image && parent_image->ordinal >= 0;
    entry->revision++;
    if (life->parent.pid > 0 && entry->ppid == 0)
        entry->ppid = life->parent.pid;
    if (known && entry->parent < 0)
        entry->parent = (int32_t)parent_image->ordinal;
    if (image != life->first || image->execed || life->fork_ns == 0)
        return;
    entry->fork_ns = life->fork_ns;
    entry->forked = true;
    if (known && parent_image->claimed_ns != 0 && entry->fork_thread == 0 && life->parent.tid > 0) {
        int64_t thread = lives_thread(lives, &life->parent, life->fork_ns);
        entry->fork_thread = thread >= 0 ? (uint32_t)thread + 1 : 0;
    }
    if (known && entry->cmdline == 0)
        entry->cmdline = trace_process(lives->trace, (uint32_t)parent_image->ordinal)->cmdline;
}

void lives_tell_exec(struct lives *lives, const struct process *life, const struct image *image)
{
    if (image->ordinal < 0 || life->fork_ns == 0)
        return;
    struct trace_process *entry = trace_process(lives->trace, (uint32_t)image->ordinal);
    entry->revision += entry->forked;
    entry->forked = false;
    entry->fork_ns = 0;
}

int lives_tell_fork(struct lives *lives, const struct process *life)
{
    if (life->first->ordinal < 0)
        return 0;
    struct process *parent = parent_of(lives, life);
    struct image *parent_image = parent ? life_image(parent, life->fork_ns) : NULL;
    int error = 0;
    if (parent_image && parent_image->ordinal < 0)
        error = lives_enter(lives, parent, parent_image);
    tell_family(lives, life, life->first);
    return error;
}

void lives_tell_image_end(struct lives *lives, const struct image *image, int64_t time_ns)
{
    if (image->ordinal < 0)
        return;
    struct trace_process *entry = trace_process(lives->trace, (uint32_t)image->ordinal);
    entry->end = PROCESS_EXEC;
    entry->end_ns = time_ns;
    entry->revision++;
}

void lives_tell_end(struct lives *lives, const struct process *life)
{
    const struct image *last = life->last;
    if (last->ordinal < 0)
        return;
    struct trace_process *entry = trace_process(lives->trace, (uint32_t)last->ordinal);
    int status = life->wait_status;
    if (status == LIVES_STATUS_UNKNOWN && entry->end != PROCESS_RUNNING)
        return; /* who told it knew more */
    entry->end = WIFSIGNALED(status) ? PROCESS_SIGNALED : PROCESS_EXITED;
    entry->end_value = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    if (status == LIVES_STATUS_UNKNOWN) {
        entry->end = PROCESS_VANISHED;
        entry->end_value = 0;
    }
    if (entry->end_ns == 0 || life->end_ns < entry->end_ns)
        entry->end_ns = life->end_ns;
    entry->revision++;
}

bool lives_take_over(struct lives *lives, struct image *image)
{
    struct image *before = image->before;
    if (image->ordinal >= 0 || before->ordinal < 0 || before->own || before->claimed_ns != 0)
        return false;
    image->ordinal = before->ordinal;
    before->merged = true;
    struct trace_process *entry = trace_process(lives->trace, (uint32_t)image->ordinal);
    entry->comm = entry->cmdline = 0; /* those of the image follow */
    entry->fork_thread = 0;
    entry->revision++;
    return true;
}

void lives_give_back(struct lives *lives, struct image *image)
{
    struct trace_process *entry = trace_process(lives->trace, (uint32_t)image->ordinal);
    entry->start_ns = image->after->begin_ns;
    entry->revision++;
    image->ordinal = -1;
    image->merged = false;
}

/* A process that became what it is by an exec began at its fork, unless it was something else. */
static int64_t start_of(const struct lives *lives, const struct process *life,
                        const struct image *image)
{
    bool first = !image->before || image->before->ordinal < 0;
    if (!first)
        return image->begin_ns;
    if (life->fork_ns != 0)
        return life->fork_ns;
    int64_t start_ns = clock_ticks_ns(life->start_ticks, lives->asleep_ns);
    int64_t begin_ns = trace_begin_ns(lives->trace);
    if (start_ns < begin_ns && begin_ns - start_ns <= TICK_NS)
        start_ns = begin_ns; /* the kernel rounds down */
    return start_ns != 0 && (image->used_ns == 0 || start_ns < image->used_ns) ? start_ns
                                                                               : image->used_ns;
}

static int enter_one(struct lives *lives, struct process *life, struct image *image)
{
    int64_t ordinal = trace_process_add(lives->trace);
    if (ordinal < 0)
        return (int)ordinal;
    image->ordinal = ordinal;
    struct trace_process *entry = trace_process(lives->trace, (uint32_t)ordinal);
    entry->pid = life->pid;
    entry->ns_pid = life->ns_pid;
    entry->start_ns = start_of(lives, life, image);
    tell_family(lives, life, image);
    const struct image *last = life->last;
    if (image != last)
        lives_tell_image_end(lives, image, image->after->begin_ns);
    else if (life->end_ns != 0)
        lives_tell_end(lives, life);
    return lives_tell_texts(lives, image);
}

int lives_enter(struct lives *lives, struct process *life, struct image *image)
{
    struct process *family[ANCESTORS_MAX] = {life};
    struct image *images[ANCESTORS_MAX] = {image};
    int count = 1, error = 0;
    while (count < ANCESTORS_MAX) {
        struct process *parent = parent_of(lives, family[count - 1]);
        struct image *at = parent ? life_image(parent, family[count - 1]->fork_ns) : NULL;
        if (!at || at->ordinal >= 0)
            break;
        family[count] = parent;
        images[count++] = at;
    }
    while (error == 0 && count-- > 0)
        error = enter_one(lives, family[count], images[count]);
    return error;
}
