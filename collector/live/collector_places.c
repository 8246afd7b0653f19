/* SPDX-License-Identifier: MIT */
/* Other annot directories than the session's own, and the processes that meet collectors there. */
#include "collector_places.h"

#include "intake.h"
#include "python_lines.h"
#include "target.h"

#include "annot_places.h"
#include "clock_now.h"
#include "elf_file.h"
#include "proc_info.h"
#include "refusals.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    STRANGERS_MAX = 4096,
    PLACES_MAX = 256,
    SCAN_DEPTH_MAX = 64,
    SCAN_COST = 50, /* a scan takes at most 1/SCAN_COST of the time */
    FEW = 16,       /* strangers */
};

#define FIRST_PAUSE_NS INT64_C(1000000)   /* between the first looks at a stranger; it doubles */
#define LONG_PAUSE_NS  INT64_C(64000000)  /* up to this, more with many strangers */
#define AWAIT_NS       INT64_C(150000000) /* shorter than libannot waits */
#define GLIMPSE_NS     INT64_C(5000000)   /* time for loading libannot */
#define SETTLE_NS      INT64_C(500000000) /* then a process has found its directory, or will not */
#define SCAN_NS        INT64_C(20000000)

struct place {
    struct directory directory;
    struct session_file session;
    struct stat status; /* of the directory */
};

/* ---- Processes elsewhere --------------------------------------------------------------------- */

/* True if that link in its /proc folder leads elsewhere than ours. An unreadable one belongs to
 * another user, and is refused as such. */
static bool differs(int32_t pid, const char *name)
{
    char path[64];
    struct stat theirs, ours;
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    if (stat(path, &theirs) != 0)
        return false;
    snprintf(path, sizeof(path), "/proc/self/%s", name);
    return stat(path, &ours) == 0 && (theirs.st_ino != ours.st_ino || theirs.st_dev != ours.st_dev);
}

/* Root may enter other users' directories. */
static bool is_other_user(int32_t pid)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    return geteuid() == 0 && stat(path, &status) == 0 && status.st_uid != 0;
}

/* The variables of its environment that choose a directory. */
struct surroundings {
    bool session, place; /* set by it */
    bool directory;      /* it leads to ours */
};

static const char *value_of(const char *entry, const char *name)
{
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=' ? entry + length + 1 : NULL;
}

/* Every program without ANNOT_DIR finds the first place; later places depend on its environment and
 * on directories made by other users meanwhile. */
static bool is_first_place(const struct directory *directory)
{
    char first[DIRECTORY_PATH_SIZE];
    return annot_place_path(0, directory->uid, first, sizeof(first)) &&
           strcmp(first, directory->path) == 0;
}

static void read_surroundings(const struct places *places, int32_t pid,
                              struct surroundings *ret_found)
{
    const char *ours = getenv(ANNOT_ENV_DIR), *value;
    char path[64], id[17], *entry = NULL;
    size_t size = 0;
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    snprintf(id, sizeof(id), "%016" PRIx64, places->session->id);
    *ret_found =
        (struct surroundings){.directory = (!ours || !*ours) && is_first_place(places->directory)};
    FILE *file = fopen(path, "re");
    while (file && getdelim(&entry, &size, 0, file) > 0) {
        if ((value = value_of(entry, ANNOT_ENV_DIR)))
            ret_found->directory =
                strcmp(value, ours ? ours : "") == 0 && *value != '.' && (*value == '/' || !*value);
        else if ((value = value_of(entry, ANNOT_ENV_SESSION)))
            ret_found->session = strcmp(value, id) == 0;
        else if (value_of(entry, ANNOT_ENV_PLACE))
            ret_found->place = true;
    }
    if (file)
        fclose(file);
    free(entry);
}

static struct stranger *find_stranger(struct places *places, int32_t pid)
{
    for (size_t i = 0; i < places->strangers.count; i++)
        if (places->strangers.items[i].pid == pid)
            return &places->strangers.items[i];
    return NULL;
}

/* A lives_image_fn: called when a process begins to run another program. */
static void notice(void *context, int32_t pid)
{
    struct places *places = context;
    struct surroundings found;
    struct proc_stat stat;
    if (!places->open || proc_stat(pid, &stat) != 0)
        return;
    read_surroundings(places, pid, &found);
    if (found.directory && !differs(pid, "ns/mnt") && !differs(pid, "ns/user") &&
        !differs(pid, "root") && !is_other_user(pid))
        return;
    struct stranger fresh = {.pid = pid,
                             .start_ticks = stat.start_ticks,
                             .seen_ns = clock_now_ns(),
                             .before_ns = clock_now_ns(),
                             .pause_ns = FIRST_PAUSE_NS,
                             .awaits = found.session && found.place};
    memcpy(fresh.comm, stat.comm, sizeof(fresh.comm));
    struct stranger *known = find_stranger(places, pid);
    if (known)
        *known = fresh;
    else if (places->strangers.count >= STRANGERS_MAX || vec_push(&places->strangers, fresh) != 0)
        places->left_out++;
}

/* ---- Without eBPF: the tree of descendants --------------------------------------------------- */

static void scan_children(struct places *places, int32_t pid, int depth);

static void scan_process(struct places *places, int32_t pid, int depth)
{
    struct proc_stat stat;
    if (proc_stat(pid, &stat) != 0)
        return;
    uint64_t image = stat.start_ticks ^ stat.stack_begin;
    const uint64_t *known = map64_find(&places->seen, (uint64_t)pid);
    if (!known || *known != image)
        notice(places, pid);
    (void)map64_put(&places->seen, (uint64_t)pid, image);
    scan_children(places, pid, depth + 1);
}

static void scan_children(struct places *places, int32_t pid, int depth)
{
    char path[64];
    int child;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *children = depth < SCAN_DEPTH_MAX ? fopen(path, "re") : NULL;
    while (children && fscanf(children, "%d", &child) == 1)
        scan_process(places, child, depth);
    if (children)
        fclose(children);
}

static void scan(struct places *places, int64_t now_ns)
{
    if (now_ns < places->scan_ns || trace_sampling_get(places->trace)->rung == SAMPLING_BPF)
        return;
    scan_children(places, getpid(), 0);
    int64_t end_ns = clock_now_ns(), pause_ns = (end_ns - now_ns) * SCAN_COST;
    places->scan_ns = end_ns + (pause_ns > SCAN_NS ? pause_ns : SCAN_NS);
}

/* ---- Places ---------------------------------------------------------------------------------- */

static void destroy_place(struct place *place)
{
    session_file_remove(&place->directory, &place->session);
    refusal_pages_sweep(&place->directory);
    directory_remove_unused(&place->directory);
    directory_close(&place->directory);
    free(place);
}

/* Copies the session's file. */
static int begin_session(struct places *places, struct place *place)
{
    struct annot_session session;
    int error = session_file_peek(places->directory, places->session->name, &session);
    if (error == 0)
        error = session_file_create(&place->directory, &session, &place->session);
    if (error == 0)
        error = refusal_pages_begin(&place->directory, &place->session);
    return error == 0 ? intake_add_directory(places->intake, &place->directory) : error;
}

/* Takes the directory over. 0 or -errno. */
static int add_place(struct places *places, const struct directory *directory,
                     struct place **ret_place)
{
    struct place *place = calloc(1, sizeof(*place));
    int error = -ENOMEM;
    if (place)
        *place = (struct place){.directory = *directory, .session.fd = -1};
    if (place && fstat(directory->fd, &place->status) == 0)
        error = places->items.count < PLACES_MAX ? vec_reserve(&places->items, 1) : -ENOSPC;
    if (error == 0)
        error = begin_session(places, place);
    if (error != 0 && place) {
        session_file_remove(&place->directory, &place->session);
        free(place);
    }
    if (error != 0)
        return error;
    places->items.items[places->items.count++] = place;
    *ret_place = place;
    return 0;
}

static struct place *find_place(const struct places *places, const struct stat *status)
{
    for (size_t i = 0; i < places->items.count; i++) {
        struct place *place = places->items.items[i];
        if (place->status.st_ino == status->st_ino && place->status.st_dev == status->st_dev)
            return place;
    }
    return NULL;
}

/* True if its libannot still waits, so no event was emitted yet. */
static bool is_in_time(const struct stranger *stranger)
{
    return stranger->awaits && clock_now_ns() - stranger->before_ns < AWAIT_NS;
}

/* Returns 0 if it is in the session, or in another recording, which is noted; 1 if it was assigned
 * and joins at the next generation; or -errno. */
static int claim(struct places *places, const struct place *place, const struct stranger *stranger,
                 const struct target *target)
{
    struct annot_session other;
    uint64_t id = places->session->id;
    int found = target_find_session(&place->directory, target, &other);
    if (found == 1 && other.id == id && is_in_time(stranger))
        return 0;
    int error = found < 0 ? found : target_claim(&place->directory, target, id, &other);
    if (error == -EBUSY)
        return targets_note_other(places->trace, target, other.recording_path) == -ENOMEM ? -ENOMEM
                                                                                          : 0;
    return error != 0 ? error : 1;
}

static int note_late(struct places *places, const struct stranger *stranger,
                     const struct target *target)
{
    char buffer[DIRECTORY_PATH_SIZE + 256];
    struct text text = text_init(buffer, sizeof(buffer));
    int64_t after_ns = clock_now_ns() - stranger->seen_ns;
    text_format(&text,
                "Process %d (%s) uses the annot directory %s. annot reached it %" PRId64
                " ms after its start; what it emitted before is not in the recording.",
                (int)target->pid, target->comm, target->path, after_ns / 1000000);
    places->late_count++;
    int error = trace_fact_set(places->trace, FACT_NOTE, buffer, 1);
    return error != 0 ? error
                      : trace_fact_set(places->trace, FACT_LOSS,
                                       "processes: reached late in another annot directory",
                                       places->late_count);
}

/* Joins a process with a known directory. 0 or -errno. */
static int join(struct places *places, const struct stranger *stranger, const struct target *target,
                struct directory *directory)
{
    struct stat here, there;
    if (fstat(directory->fd, &there) != 0 || fstat(places->directory->fd, &here) != 0)
        return -errno;
    if (here.st_ino == there.st_ino && here.st_dev == there.st_dev)
        return 0;
    struct place *place = find_place(places, &there);
    bool fresh = !place;
    int error = fresh ? add_place(places, directory, &place) : 0;
    if (error != 0)
        return error;
    if (fresh)
        directory->fd = -1; /* now owned by the place */
    bool in_time = is_in_time(stranger);
    int claimed = claim(places, place, stranger, target);
    if (claimed < 0)
        return claimed;
    int64_t generation = fresh || claimed ? directory_wake(&place->directory) : 0;
    if (generation < 0)
        return (int)generation;
    return (fresh || claimed) && !in_time ? note_late(places, stranger, target) : 0;
}

/* ---- Looks ----------------------------------------------------------------------------------- */

/* Notes the refusal given by its libannot. */
static int refuse_known(struct places *places, const struct target *target)
{
    struct annot_refusal_slot slot = {
        .pid = target->pid, .refusal = target->refusal, .error = target->error};
    memcpy(slot.comm, target->comm, sizeof(slot.comm));
    return refusals_note(places->refusals, &slot);
}

static int refuse(struct places *places, const struct stranger *stranger, int error)
{
    char buffer[256];
    struct text text = text_init(buffer, sizeof(buffer));
    if (error != 0)
        text_format(&text, "it has another annot directory, which cannot be used: %s",
                    strerror(-error));
    else if (stranger->state == TARGET_STRAY)
        text_format(&text, "it has another annot directory, which cannot be reached");
    else if (stranger->state == TARGET_HIDDEN)
        text_format(&text, "it is in other namespaces, and its mappings may not be read");
    else
        text_format(&text, "it found no directory to meet annot in");
    return refusals_say(places->refusals, stranger->pid, stranger->comm, buffer);
}

static bool is_without(enum target_state state)
{
    return state == TARGET_SHUT || state == TARGET_STRAY || state == TARGET_HIDDEN;
}

/* Call at its end, or the session's. True if its libannot had no directory, and was not just being
 * loaded. */
static bool was_without(const struct stranger *stranger)
{
    return is_without(stranger->state) && stranger->before_ns - stranger->without_ns >= GLIMPSE_NS;
}

static int take_in(struct places *places, const struct stranger *stranger,
                   const struct target *target)
{
    struct directory directory;
    int error = target_open_directory(target, &directory);
    if (error == 0) {
        error = join(places, stranger, target, &directory);
        directory_close(&directory);
    }
    return error == -ENOMEM || error == 0 ? error : refuse(places, stranger, error);
}

/* True if libannot is linked into the program itself, which has the note of its anchor then. */
static bool has_note(int32_t pid)
{
    char path[64];
    struct elf_file *file = NULL;
    struct elf_section note;
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int error = fd < 0 ? -errno : elf_file_open(fd, &file);
    if (fd >= 0)
        close(fd);
    if (error != 0)
        return false;
    bool found = elf_file_section(file, ".note.annot", &note);
    elf_file_close(file);
    return found;
}

/* 1: final; 0: look again; -ENOMEM. */
static int look(struct places *places, struct stranger *stranger, int64_t now_ns)
{
    struct proc_stat stat;
    struct target target;
    int error = proc_stat(stranger->pid, &stat);
    if (error == 0 && stat.start_ticks != stranger->start_ticks)
        error = -ESRCH;
    if (error == 0)
        error = target_look(stranger->pid, &target);
    if (error == -ESRCH) {
        error = was_without(stranger) ? refuse(places, stranger, 0) : 0;
        return error != 0 ? error : 1;
    }
    if (error != 0)
        return error == -ENOMEM ? error : 0;
    if (target.state == TARGET_PLAIN && has_note(stranger->pid))
        target.state = TARGET_SHUT;
    stranger->state = target.state;
    memcpy(stranger->comm, target.comm, sizeof(stranger->comm));
    if (target.state != TARGET_READY)
        stranger->before_ns = now_ns;
    if (is_without(target.state) && stranger->without_ns == 0)
        stranger->without_ns = now_ns;
    if (target.refusal != 0)
        error = refuse_known(places, &target);
    else if (target.state == TARGET_READY)
        error = take_in(places, stranger, &target);
    else if (is_without(target.state) && now_ns - stranger->without_ns > SETTLE_NS)
        error = refuse(places, stranger, 0);
    else
        return 0;
    return error != 0 ? error : 1;
}

/* Schedules the next look: often at first, and later often enough for libannot's wait when it is
 * loaded. */
static void put_off(const struct places *places, struct stranger *stranger, int64_t now_ns)
{
    int64_t long_ns = LONG_PAUSE_NS * (int64_t)(1 + places->strangers.count / FEW);
    stranger->due_ns = now_ns + stranger->pause_ns;
    if (now_ns - stranger->seen_ns > SETTLE_NS && stranger->pause_ns < long_ns)
        stranger->pause_ns *= 2;
}

int places_step(struct places *places, int64_t now_ns)
{
    size_t kept = 0;
    int error = 0;
    if (!places->open)
        return 0;
    scan(places, now_ns);
    for (size_t i = 0; i < places->strangers.count; i++) {
        struct stranger *stranger = &places->strangers.items[i];
        int done = error == 0 && stranger->due_ns <= now_ns ? look(places, stranger, now_ns) : 0;
        if (done < 0)
            error = done;
        if (done > 0)
            continue;
        if (stranger->due_ns <= now_ns)
            put_off(places, stranger, now_ns);
        places->strangers.items[kept++] = *stranger;
    }
    places->strangers.count = kept;
    return error;
}

int places_timeout_ms(const struct places *places, int most_ms)
{
    int64_t now_ns = places->strangers.count > 0 ? clock_now_ns() : 0;
    for (size_t i = 0; i < places->strangers.count; i++) {
        int64_t rest_ns = places->strangers.items[i].due_ns - now_ns;
        int rest_ms = rest_ns > 0 ? (int)((rest_ns + 999999) / 1000000) : 0;
        most_ms = rest_ms < most_ms ? rest_ms : most_ms;
    }
    return most_ms;
}

/* ---- All strangers --------------------------------------------------------------------------- */

void places_open(struct places *places)
{
    places->open = true;
    lives_watch(places->lives, notice, places);
}

/* Refuses strangers at the end, with unknown losses. */
static int refuse_strangers(struct places *places)
{
    int error = 0;
    for (size_t i = 0; i < places->strangers.count && error == 0; i++)
        if (was_without(&places->strangers.items[i]))
            error = refuse(places, &places->strangers.items[i], 0);
    if (error == 0 && places->left_out > 0)
        error = trace_fact_set(places->trace, FACT_LOSS,
                               "processes: in other annot directories, too many to look at",
                               places->left_out);
    return error;
}

int places_poll_refusals(struct places *places, bool last)
{
    int error = last ? refuse_strangers(places) : 0;
    if (error == 0)
        error = refusals_poll(places->refusals, places->directory, places->session, last);
    for (size_t i = 0; i < places->items.count && error == 0; i++)
        error = refusals_poll(places->refusals, &places->items.items[i]->directory,
                              &places->items.items[i]->session, last);
    return error;
}

int places_take_lines(struct places *places)
{
    int error = python_lines_take(places->session->fd, places->trace);
    for (size_t i = 0; i < places->items.count && error == 0; i++)
        error = python_lines_take(places->items.items[i]->session.fd, places->trace);
    return error;
}

void places_close(struct places *places)
{
    places->open = false;
    for (size_t i = 0; i < places->items.count; i++) {
        session_file_end(&places->items.items[i]->session);
        directory_wake(&places->items.items[i]->directory);
    }
}

void places_leave(struct places *places)
{
    for (size_t i = 0; i < places->items.count; i++)
        session_file_leave(&places->items.items[i]->session);
}

void places_fini(struct places *places)
{
    for (size_t i = 0; i < places->items.count; i++)
        destroy_place(places->items.items[i]);
    vec_free(&places->items);
    vec_free(&places->strangers);
    map64_free(&places->seen);
}

void place_text(const struct directory *directory, char text[40])
{
    struct stat status;
    text[0] = 0;
    if (fstat(directory->fd, &status) == 0)
        snprintf(text, 40, "%llx-%llx", (unsigned long long)status.st_dev,
                 (unsigned long long)status.st_ino);
}
