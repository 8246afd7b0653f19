/* SPDX-License-Identifier: MIT */
/* Lives and their images, from kernel events and from look-ups.
 *
 * The kernel event of an image may come after its first look-up (the intake found its segment
 * first); then the image keeps its entry and gets its start. Invariant: a life has at least one
 * image, they are in order of time, and its pid's list has the youngest first. */
#include "lives.h"

#include "clock_now.h"
#include "lives_state.h"
#include "names.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* A task can be looked up until this long after its end. */
#define LIVES_MEMORY_NS INT64_C(30000000000)

struct lives *lives_create(struct trace *trace)
{
    struct lives *lives = calloc(1, sizeof(*lives));
    if (!lives)
        return NULL;
    lives->trace = trace;
    lives->asleep_ns = clock_asleep_ns();
    return lives;
}

static void free_life(struct process *life)
{
    for (struct image *image = life->first, *after; image; image = after) {
        after = image->after;
        image_forget_names(image);
        free(image->comm);
        free(image->cmdline);
        free(image->earlier_comm);
        free(image->earlier_cmdline);
        free(image);
    }
    free(life);
}

void lives_destroy(struct lives *lives)
{
    if (!lives)
        return;
    for (size_t i = 0; i < lives->by_pid.capacity; i++) {
        struct process *next = NULL, *life = NULL;
        if (lives->by_pid.entries[i].key != 0)
            life = (struct process *)(uintptr_t)lives->by_pid.entries[i].value;
        for (; life; life = next) {
            next = life->older;
            free_life(life);
        }
    }
    lives_free_threads(lives);
    map64_free(&lives->by_pid);
    vec_free(&lives->fading);
    vec_free(&lives->unread);
    kin_free(&lives->kin);
    free(lives);
}

/* ---- Lives ----------------------------------------------------------------------------------- */

static struct process *youngest(const struct lives *lives, int32_t pid)
{
    const uint64_t *found = pid > 0 ? map64_find(&lives->by_pid, (uint64_t)pid) : NULL;
    return found ? (struct process *)(uintptr_t)*found : NULL;
}

struct process *lives_find_life(const struct lives *lives, int32_t pid, uint64_t start_ticks,
                                int64_t time_ns)
{
    struct process *life = youngest(lives, pid);
    for (; life; life = life->older) {
        if (start_ticks != 0 && life->start_ticks != 0 &&
            !clock_same_ticks(life->start_ticks, start_ticks))
            continue;
        if (start_ticks != 0 ||
            (life->fork_ns <= time_ns && (life->end_ns == 0 || time_ns <= life->end_ns)))
            return life;
    }
    return NULL;
}

struct image *life_image(const struct process *life, int64_t time_ns)
{
    struct image *image = life->last;
    while (image->before && image->begin_ns > time_ns)
        image = image->before;
    return image;
}

static bool has_entry(const struct process *life)
{
    const struct image *image = life->first;
    while (image && image->ordinal < 0)
        image = image->after;
    return image != NULL;
}

/* True if the sampler or the intake keeps state here. */
static bool is_kept(const struct process *life)
{
    const struct image *image = life->first;
    if (life->sampled)
        return true;
    while (image && !image->source)
        image = image->after;
    return image != NULL;
}

static void forget(struct lives *lives, struct process *life)
{
    lives->unseen += !has_entry(life);
    struct process *at = youngest(lives, life->pid);
    uint64_t ignored;
    for (const struct image *image = life->first; image; image = image->after)
        if (image->ordinal >= 0)
            lives_forget_threads(lives, (uint32_t)image->ordinal);
    if (at != life) {
        while (at->older != life)
            at = at->older;
        at->older = life->older;
    } else if (life->older) { /* replaces a value, so it cannot fail */
        map64_put(&lives->by_pid, (uint64_t)life->pid, (uint64_t)(uintptr_t)life->older);
    } else {
        map64_take(&lives->by_pid, (uint64_t)life->pid, &ignored);
    }
    free_life(life);
}

/* Queues a life for removal; without memory it is kept until the end. */
static void fade(struct lives *lives, struct process *life)
{
    struct fading note = {life, lives->now_ns};
    if (!life->fading && vec_push(&lives->fading, note) == 0)
        life->fading = true;
}

/* Advances time: removes lives that ended long ago, unless they hold state of the sampler or the
 * intake. */
static void advance(struct lives *lives, int64_t time_ns)
{
    if (time_ns > lives->now_ns)
        lives->now_ns = time_ns;
    while (lives->fading_begin < lives->fading.count) {
        struct fading oldest = lives->fading.items[lives->fading_begin];
        if (lives->now_ns - oldest.time_ns < LIVES_MEMORY_NS)
            break;
        lives->fading_begin++;
        oldest.life->fading = false;
        if (is_kept(oldest.life))
            fade(lives, oldest.life);
        else
            forget(lives, oldest.life);
    }
    if (lives->fading_begin * 2 <= lives->fading.count)
        return;
    lives->fading.count -= lives->fading_begin;
    memmove(lives->fading.items, lives->fading.items + lives->fading_begin,
            lives->fading.count * sizeof(*lives->fading.items));
    lives->fading_begin = 0;
}

/* Inserts an image before `after`, or as the last. NULL: out of memory. */
static struct image *insert_image(struct process *life, struct image *after, int64_t begin_ns)
{
    struct image *image = calloc(1, sizeof(*image));
    if (!image)
        return NULL;
    image->process = life;
    image->ordinal = -1;
    image->begin_ns = begin_ns;
    image->after = after;
    image->before = after ? after->before : life->last;
    *(after ? &after->before : &life->last) = image;
    *(image->before ? &image->before->after : &life->first) = image;
    return image;
}

static struct process *add_life(struct lives *lives, const struct lives_task *task)
{
    struct life *made = calloc(1, sizeof(*made));
    if (!made)
        return NULL;
    struct process *life = &made->process;
    life->pid = task->pid;
    life->ns_pid = task->ns_pid != 0 ? task->ns_pid : task->pid;
    life->start_ticks = task->start_ticks;
    life->older = youngest(lives, task->pid);
    if (!insert_image(life, NULL, 0) ||
        map64_put(&lives->by_pid, (uint64_t)task->pid, (uint64_t)(uintptr_t)life) != 0) {
        free_life(life);
        return NULL;
    }
    if (life->older && life->older->start_ticks < life->start_ticks)
        fade(lives, life->older); /* its pid is in use again, so it ended, reported or not */
    return life;
}

/* NULL: out of memory. */
static struct process *get_life(struct lives *lives, const struct lives_task *task, int64_t time_ns)
{
    struct process *life = lives_find_life(lives, task->pid, task->start_ticks, time_ns);
    if (!life)
        return add_life(lives, task);
    if (task->start_ticks != 0)
        life->start_ticks = task->start_ticks;
    if (task->ns_pid != 0)
        life->ns_pid = task->ns_pid;
    return life;
}

/* ---- Entries of the trace -------------------------------------------------------------------- */

/* Kernel events override guesses; an entry that the intake claimed keeps the segment's data. */

static int lives_enter(struct lives *lives, struct process *life, struct image *image);

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

/* Sets comm and command line where the entry lacks them. 0 or -ENOMEM. */
static int lives_emit_texts(struct lives *lives, const struct image *image)
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

/* Clears the entry's texts, which are those of an earlier image. */
static void lives_forget_texts(struct lives *lives, const struct image *image)
{
    if (image->ordinal < 0)
        return;
    struct trace_process *entry = trace_process(lives->trace, (uint32_t)image->ordinal);
    entry->comm = entry->cmdline = 0;
    entry->revision++;
}

/* A forked child runs the program that its parent ran at the fork. The forking thread is recorded
 * if it may have ranges, which the child inherits. */
static void emit_family(struct lives *lives, const struct process *life, const struct image *image)
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

static void lives_emit_exec(struct lives *lives, const struct process *life,
                            const struct image *image)
{
    if (image->ordinal < 0 || life->fork_ns == 0)
        return;
    struct trace_process *entry = trace_process(lives->trace, (uint32_t)image->ordinal);
    entry->revision += entry->forked;
    entry->forked = false;
    entry->fork_ns = 0;
}

/* Updates images with entries from a later report of their fork. 0 or -ENOMEM. */
static int lives_emit_fork(struct lives *lives, const struct process *life)
{
    if (life->first->ordinal < 0)
        return 0;
    struct process *parent = parent_of(lives, life);
    struct image *parent_image = parent ? life_image(parent, life->fork_ns) : NULL;
    int error = 0;
    if (parent_image && parent_image->ordinal < 0)
        error = lives_enter(lives, parent, parent_image);
    emit_family(lives, life, life->first);
    return error;
}

static void lives_emit_image_end(struct lives *lives, const struct image *image, int64_t time_ns)
{
    if (image->ordinal < 0 || image->merged)
        return;
    struct trace_process *entry = trace_process(lives->trace, (uint32_t)image->ordinal);
    entry->end = PROCESS_EXEC;
    entry->end_ns = time_ns;
    entry->revision++;
}

static void lives_emit_end(struct lives *lives, const struct process *life)
{
    const struct image *last = life->last;
    if (last->ordinal < 0)
        return;
    struct trace_process *entry = trace_process(lives->trace, (uint32_t)last->ordinal);
    int status = life->wait_status;
    if (status == LIVES_STATUS_UNKNOWN && entry->end != PROCESS_RUNNING)
        return; /* the earlier report was more exact */
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

/* Moves the entry of the image before an exec to the image after it, if the former did nothing
 * itself. lives_give_back undoes this if that image turns out to have done something; it has no
 * entry then. */
static bool lives_take_over(struct lives *lives, struct image *image)
{
    struct image *before = image->before;
    if (image->ordinal >= 0 || before->ordinal < 0 || before->own || before->claimed_ns != 0)
        return false;
    image->ordinal = before->ordinal;
    before->merged = true;
    struct trace_process *entry = trace_process(lives->trace, (uint32_t)image->ordinal);
    entry->comm = entry->cmdline = 0; /* the image's own follow */
    if (entry->name == life_title(image->process)->name)
        entry->name = 0;
    entry->fork_thread = 0;
    entry->revision++;
    return true;
}

static void lives_give_back(struct lives *lives, struct image *image)
{
    struct trace_process *entry = trace_process(lives->trace, (uint32_t)image->ordinal);
    entry->start_ns = image->after->begin_ns;
    entry->revision++;
    image->ordinal = -1;
    image->merged = false;
}

/* A process that runs its program since an exec started at its fork, unless it did something
 * before. */
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
    emit_family(lives, life, image);
    const struct image *last = life->last;
    if (image != last)
        lives_emit_image_end(lives, image, image->after->begin_ns);
    else if (life->end_ns != 0)
        lives_emit_end(lives, life);
    return lives_emit_texts(lives, image);
}

/* Gives the image, and the images of its ancestors, entries of the trace. 0 or -ENOMEM. */
static int lives_enter(struct lives *lives, struct process *life, struct image *image)
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

/* ---- Kernel events --------------------------------------------------------------------------- */

static int set_text(char **text, const char *now)
{
    if (!now || !now[0] || (*text && strcmp(*text, now) == 0))
        return 0;
    char *copy = strdup(now);
    if (!copy)
        return -ENOMEM;
    free(*text);
    *text = copy;
    return 0;
}

int lives_fork(struct lives *lives, const struct lives_fork *fork)
{
    advance(lives, fork->time_ns);
    struct process *life = get_life(lives, &fork->child, fork->time_ns);
    if (!life)
        return -ENOMEM;
    struct image *first = life->first;
    life->fork_ns = fork->time_ns;
    life->parent = fork->parent;
    struct process *parent =
        lives_find_life(lives, fork->parent.pid, fork->parent.start_ticks, fork->time_ns);
    if (parent) /* its child inherits its name */
        life_image(parent, fork->time_ns)->own = true;
    if (!first->execed && first->begin_ns == 0)
        first->begin_ns = fork->time_ns;
    if (!first->comm && set_text(&first->comm, fork->comm) != 0)
        return -ENOMEM;
    return lives_emit_fork(lives, life);
}

/* Splits an image whose program made its segment after an exec at that time. The part before keeps
 * what the kernel reported, and shares the entry: its samples may be in it. NULL: out of memory. */
static struct image *split_image(struct image *image, int64_t time_ns)
{
    struct image *before = insert_image(image->process, image, image->begin_ns);
    if (!before)
        return NULL;
    before->used_ns = image->used_ns < time_ns ? image->used_ns : 0;
    before->ordinal = image->ordinal;
    before->merged = true;
    before->execed = image->execed;
    before->comm = image->comm;
    before->cmdline = image->cmdline;
    image->comm = image->cmdline = NULL;
    image->begin_ns = time_ns;
    image->used_ns = image->claimed_ns;
    return image;
}

/* True if it began before that time and runs on after it, as far as is known. */
static bool is_before(const struct image *image, int64_t time_ns)
{
    return image->begin_ns <= time_ns && (image->execed || image->used_ns < time_ns);
}

/* The image begun by an exec at that time: one that was looked up before the kernel event, the
 * first one if it was not seen to run before, or a new one. NULL: out of memory. */
static struct image *begin_image(struct lives *lives, struct process *life, int64_t time_ns)
{
    struct image *first = life->first, *image = first;
    assert(first);
    while (image && is_before(image, time_ns) && image->claimed_ns < time_ns)
        image = image->after;
    if (image && is_before(image, time_ns)) {
        image = split_image(image, time_ns);
    } else if (image && !image->execed && image->used_ns >= time_ns) {
        image->begin_ns = time_ns;
    } else if (image == first->after && !first->execed && first->used_ns == 0 &&
               first->ordinal < 0) {
        image = first;
        image->begin_ns = time_ns;
    } else {
        image = insert_image(life, image, time_ns);
    }
    if (image && image->before && !lives_take_over(lives, image))
        lives_emit_image_end(lives, image->before, time_ns);
    return image;
}

static bool is_text(const char *text, const char *other)
{
    return strcmp(text ? text : "", other ? other : "") == 0;
}

/* Replaces texts of the image before an exec at that time that were read after it. 0 or -ENOMEM. */
static int correct_texts(struct lives *lives, struct image *image, int64_t time_ns,
                         const struct image *next)
{
    bool same = image->earlier_comm && is_text(image->comm, next->comm) &&
                is_text(image->cmdline, next->cmdline);
    if (image->looked_ns == 0 || (!same && image->looked_ns < time_ns))
        return 0;
    free(image->comm);
    free(image->cmdline);
    image->comm = image->earlier_comm;
    image->cmdline = image->earlier_cmdline;
    image->earlier_comm = image->earlier_cmdline = NULL;
    image->looked_ns = 0;
    if (image->claimed_ns != 0 || image->merged) /* a segment or the next image set the texts */
        return 0;
    lives_forget_texts(lives, image);
    return lives_emit_texts(lives, image);
}

int lives_note_look(struct lives *lives, const struct lives_look *look)
{
    const struct lives_task *task = &look->task;
    const struct process *life =
        lives_find_life(lives, task->pid, task->start_ticks, look->time_ns);
    struct image *image = life ? life_image(life, look->time_ns) : NULL;
    if (!image)
        return 0;
    image->looked_ns = look->looked_ns;
    return set_text(&image->earlier_comm, look->earlier_comm) != 0 ||
                   set_text(&image->earlier_cmdline, look->earlier_cmdline) != 0
               ? -ENOMEM
               : 0;
}

void lives_watch(struct lives *lives, lives_image_fn *call, void *context)
{
    lives->image_call = call;
    lives->image_context = context;
}

int lives_exec(struct lives *lives, const struct lives_task *task, int64_t time_ns,
               const char *comm, const char *cmdline)
{
    advance(lives, time_ns);
    struct process *life = get_life(lives, task, time_ns);
    struct image *image = life ? begin_image(lives, life, time_ns) : NULL;
    if (!image)
        return -ENOMEM;
    image->execed = true;
    if (lives->image_call)
        lives->image_call(lives->image_context, task->pid);
    lives_emit_exec(lives, life, image);
    if (set_text(&image->comm, comm) != 0 || set_text(&image->cmdline, cmdline) != 0)
        return -ENOMEM;
    int error = image->before ? correct_texts(lives, image->before, time_ns, image) : 0;
    return error ? error : lives_emit_texts(lives, image);
}

/* The image was claimed by the program after the exec. */
static int exec_claimed(struct lives *lives, struct image *image,
                        const struct lives_exec_seen *seen)
{
    if (image->before && !image->execed)
        lives_emit_image_end(lives, image->before, image->claimed_ns);
    image->execed = true;
    if (lives->image_call)
        lives->image_call(lives->image_context, seen->task.pid);
    lives_emit_exec(lives, image->process, image);
    if (set_text(&image->comm, seen->comm) != 0 || set_text(&image->cmdline, seen->cmdline) != 0)
        return -ENOMEM;
    lives_forget_texts(lives, image);
    return lives_emit_texts(lives, image);
}

int lives_exec_seen(struct lives *lives, const struct lives_exec_seen *seen)
{
    const struct lives_task *task = &seen->task;
    const struct process *life =
        lives_find_life(lives, task->pid, task->start_ticks, seen->time_ns);
    struct image *last = life ? life->last : NULL;
    if (last && last->claimed_ns > seen->since_ns && last->claimed_ns <= seen->time_ns) {
        advance(lives, seen->time_ns);
        return exec_claimed(lives, last, seen);
    }
    int error = lives_exec(lives, task, seen->time_ns, seen->comm, seen->cmdline);
    life = lives_find_life(lives, task->pid, task->start_ticks, seen->time_ns);
    if (life)
        life_image(life, seen->time_ns)->since_ns = seen->since_ns;
    return error;
}

void lives_exit(struct lives *lives, const struct lives_task *task, int64_t time_ns, bool process,
                int wait_status)
{
    advance(lives, time_ns);
    struct process *life = lives_find_life(lives, task->pid, task->start_ticks, time_ns);
    if (!life)
        return;
    const struct image *image = life_image(life, time_ns);
    if (image->ordinal >= 0 && task->tid != 0)
        lives_end_thread(lives, (uint32_t)image->ordinal, task, time_ns);
    if (!process || (wait_status == LIVES_STATUS_UNKNOWN && life->end_ns != 0))
        return;
    life->end_ns = time_ns;
    life->wait_status = wait_status;
    lives_emit_end(lives, life);
    fade(lives, life);
}

void lives_wait(struct lives *lives, int32_t pid, int64_t time_ns, int wait_status)
{
    struct process *life = youngest(lives, pid);
    if (!life || (life->end_ns != 0 && life->wait_status != LIVES_STATUS_UNKNOWN))
        return;
    if (life->end_ns == 0)
        life->end_ns = time_ns;
    life->wait_status = wait_status;
    lives_emit_end(lives, life);
    fade(lives, life);
}

/* ---- Look-ups -------------------------------------------------------------------------------- */

struct process *lives_hang(struct lives *lives, const struct lives_task *task, int64_t time_ns,
                           void *sampled)
{
    struct process *life = get_life(lives, task, time_ns);
    if (life)
        life->sampled = sampled;
    return life;
}

struct process *lives_find_sampled(const struct lives *lives, int32_t pid)
{
    struct process *life = youngest(lives, pid);
    while (life && !life->sampled)
        life = life->older;
    return life;
}

uint64_t lives_unseen(const struct lives *lives)
{
    uint64_t count = lives->unseen;
    for (size_t i = 0; i < lives->by_pid.capacity; i++) {
        const struct map64_entry *entry = &lives->by_pid.entries[i];
        const struct process *life =
            entry->key ? (const struct process *)(uintptr_t)entry->value : NULL;
        for (; life; life = life->older)
            count += !has_entry(life);
    }
    return count;
}

static void note_use(struct image *image, int64_t time_ns)
{
    if (image->used_ns == 0 || time_ns < image->used_ns)
        image->used_ns = time_ns;
}

int64_t lives_process(struct lives *lives, const struct lives_task *task, int64_t time_ns)
{
    struct process *life = get_life(lives, task, time_ns);
    if (!life)
        return -ENOMEM;
    struct image *image = life_image(life, time_ns);
    note_use(image, time_ns);
    image->own = image->own || !task->passing;
    if (image->merged && image->own)
        lives_give_back(lives, image);
    int error = image->ordinal < 0 ? lives_enter(lives, life, image) : 0;
    return error ? error : image->ordinal;
}

/* Inserts an image next to a claimed one; the exec between them is not reported yet. */
static struct image *insert_unclaimed(struct image *image, int64_t created_ns)
{
    int64_t begin_ns = image->begin_ns;
    if (created_ns >= image->claimed_ns)
        return insert_image(image->process, image->after, created_ns);
    image->begin_ns = image->claimed_ns;
    return insert_image(image->process, image, begin_ns);
}

/* True for an image without a segment yet whose exec may have been before that time, though it was
 * noticed later. */
static bool is_noticed_later(const struct image *image, int64_t created_ns)
{
    return image && image->since_ns != 0 && image->since_ns < created_ns && image->claimed_ns == 0;
}

static struct image *begin_earlier(struct lives *lives, struct image *image, int64_t time_ns)
{
    image->begin_ns = time_ns;
    lives_emit_image_end(lives, image->before, time_ns);
    return image;
}

int64_t lives_claim_process(struct lives *lives, int32_t pid, uint64_t start_ticks,
                            int64_t created_ns, struct image **ret_image)
{
    *ret_image = NULL;
    if (pid <= 0)
        return trace_process_add(lives->trace);
    struct lives_task task = {.pid = pid, .start_ticks = start_ticks};
    struct process *life = get_life(lives, &task, created_ns);
    struct image *image = life ? life_image(life, created_ns) : NULL;
    if (image && is_noticed_later(image->after, created_ns))
        image = begin_earlier(lives, image->after, created_ns);
    if (image && image->claimed_ns != 0)
        image = insert_unclaimed(image, created_ns);
    if (!image)
        return -ENOMEM;
    note_use(image, created_ns);
    image->claimed_ns = created_ns != 0 ? created_ns : 1;
    if (image->merged)
        lives_give_back(lives, image);
    int error = image->ordinal < 0 ? lives_enter(lives, life, image) : 0;
    *ret_image = image;
    return error ? error : image->ordinal;
}

/* ---- Programs with libannot ------------------------------------------------------------------ */

void lives_serve(struct lives *lives, struct image *image)
{
    lives->served += image->served_ns != 0;
}

uint64_t lives_served(const struct lives *lives)
{
    return lives->served;
}

const struct image *lives_last_image(const struct lives *lives, int32_t pid, uint64_t start_ticks)
{
    const struct process *life = lives_find_life(lives, pid, start_ticks, INT64_MAX);
    return life && life->end_ns == 0 ? life->last : NULL;
}

int lives_note_search(struct lives *lives, int64_t until_ns, const int32_t *unread, size_t count)
{
    lives->unread.count = 0;
    for (size_t i = 0; i < count; i++)
        if (vec_push(&lives->unread, unread[i]) != 0)
            return -ENOMEM;
    lives->searched_ns = until_ns;
    return 0;
}

static bool is_unread(const struct lives *lives, int32_t pid)
{
    for (size_t i = 0; i < lives->unread.count; i++)
        if (lives->unread.items[i] == pid || lives->unread.items[i] == 0)
            return true;
    return false;
}

/* The segment of each program is older than its ranges: it is made at the first event, some
 * microseconds before that is complete. So a range belongs to the newest segment made before the
 * time at which it was open. */
int lives_names_at(const struct lives *lives, int32_t pid, uint64_t time_ns,
                   struct names **ret_names)
{
    const struct image *found = NULL;
    if (time_ns > (uint64_t)lives->searched_ns || is_unread(lives, pid))
        return -EAGAIN;
    for (const struct process *life = youngest(lives, pid); life; life = life->older) {
        const struct image *image = life->last;
        while (image && (image->served_ns == 0 || image->served_ns > (int64_t)time_ns))
            image = image->before;
        if (image && (!found || image->served_ns > found->served_ns))
            found = image;
    }
    *ret_names = found ? found->names : NULL;
    return *ret_names ? 0 : -ENOENT;
}

void image_forget_names(struct image *image)
{
    if (image->names && !image->names->segment)
        names_destroy(image->names);
    image->names = NULL;
}

struct kin *lives_kin(struct lives *lives)
{
    return &lives->kin;
}
