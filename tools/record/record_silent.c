/* SPDX-License-Identifier: MIT */
/* Implements record_silent.h. Findings about living processes are reported at the end, for those
 * that have not joined by then. */
#include "record_silent.h"

#include "attach.h"
#include "clock_now.h"
#include "cmd.h"
#include "proc_info.h"
#include "text.h"
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSES_MAX = 1024, NEVER = -1 };

/* Ages at which a process is inspected: libraries may be loaded late. */
static const int64_t looks_ns[] = {100000000, 1000000000, 5000000000, 25000000000};

enum { LOOKS = sizeof(looks_ns) / sizeof(looks_ns[0]) };

/* Why a loader finds no library. */
enum cause {
    CAUSE_NONE,
    CAUSE_UNSET,
    CAUSE_OTHER, /* the variable names another library */
    CAUSE_ROOM,  /* the TLS space that annot requested is missing */
    CAUSE_BUILT, /* annot was built without the library, or without this part of it */
};

static const struct loader {
    const char *variable, *what;
} loaders[] = {
    {"NVTX_INJECTION64_PATH", "NVTX"},
    {"INTEL_LIBITTNOTIFY64", "ITT"},
};

enum { LOADERS = sizeof(loaders) / sizeof(loaders[0]) };

struct silent_process {
    int32_t pid;
    char comm[16];
    uint32_t looks; /* inspections done */
    int64_t begin_ns;
    bool is_served;
    enum cause causes[LOADERS]; /* with the name of a file that has calls */
    char images[LOADERS][ATTACH_IMAGE_SIZE];
};

/* ---- Inspected processes --------------------------------------------------------------------- */

static void add(struct silent *silent, int32_t pid, int64_t now_ns)
{
    for (uint32_t i = 0; i < silent->count; i++)
        if (silent->items[i].pid == pid)
            return;
    if (silent->count == silent->capacity) {
        uint32_t capacity = silent->capacity ? 2 * silent->capacity : 16;
        void *items = capacity <= PROCESSES_MAX
                          ? realloc(silent->items, capacity * sizeof(*silent->items))
                          : NULL;
        if (!items)
            return;
        silent->items = items;
        silent->capacity = capacity;
    }
    silent->items[silent->count++] = (struct silent_process){.pid = pid, .begin_ns = now_ns};
}

void silent_begin(struct silent *silent, const struct inject_environment *given, int32_t pid)
{
    silent->given = given;
    add(silent, pid, clock_now_ns());
}

static bool is_given(const struct silent *silent, const char *variable)
{
    for (int i = 0; i < INJECT_VARIABLES_MAX; i++) {
        const char *name = silent->given->variables[i].name;
        if (name && strcmp(name, variable) == 0)
            return true;
    }
    return false;
}

static bool is_off(const char *value)
{
    return value && strcmp(value, INJECT_NONE) == 0;
}

static enum cause cause_of(const struct silent *silent, const char *environment,
                           const struct loader *loader)
{
    const char *value = attach_environment_value(environment, loader->variable);
    const char *room = attach_environment_value(environment, INJECT_ROOM_VARIABLE);
    if (is_off(value) || is_off(getenv(loader->variable)))
        return CAUSE_NONE;
    if (!is_given(silent, loader->variable))
        return CAUSE_BUILT;
    if (!value || !*value)
        return CAUSE_UNSET;
    if (strcmp(text_base_name(value), text_base_name(silent->given->library)) != 0)
        return CAUSE_OTHER;
    return inject_has_room(room) ? CAUSE_NONE : CAUSE_ROOM;
}

/* Returns true if the process may have to be inspected again. */
static bool look(const struct silent *silent, struct silent_process *process)
{
    struct proc_stat stat;
    char *environment = attach_environment(process->pid);
    bool any = false;
    if (!environment || proc_stat(process->pid, &stat) != 0 || stat.state == 'Z') {
        free(environment);
        return false;
    }
    memcpy(process->comm, stat.comm, sizeof(process->comm));
    for (int i = 0; i < LOADERS; i++) {
        process->causes[i] = cause_of(silent, environment, &loaders[i]);
        any |= process->causes[i] != CAUSE_NONE;
        if (process->causes[i] != CAUSE_NONE && !process->images[i][0])
            (void)attach_image_with(process->pid, loaders[i].variable, process->images[i]);
    }
    free(environment);
    process->is_served =
        any && silent->given->library[0] && attach_has_mapped(process->pid, silent->given->library);
    return any && !process->is_served;
}

static bool has_image(const struct silent_process *process)
{
    for (int i = 0; i < LOADERS; i++)
        if (process->causes[i] != CAUSE_NONE && process->images[i][0])
            return true;
    return false;
}

static int64_t due_ns(const struct silent_process *process)
{
    return process->looks < LOOKS ? process->begin_ns + looks_ns[process->looks] : NEVER;
}

static void look_at_those_due(struct silent *silent, int64_t now_ns)
{
    for (uint32_t i = 0; i < silent->count;) {
        struct silent_process *process = &silent->items[i];
        int64_t due = due_ns(process);
        bool stays = due == NEVER || due > now_ns;
        if (!stays) {
            process->looks++;
            stays = look(silent, process) || (has_image(process) && !process->is_served);
        }
        if (stays)
            i++;
        else
            *process = silent->items[--silent->count];
    }
}

void silent_step(struct silent *silent, const struct trace *trace, int64_t now_ns)
{
    if (!silent->given || now_ns < silent->next_ns)
        return;
    silent->next_ns = now_ns + looks_ns[0] / 2;
    for (; silent->seen < trace_process_count(trace); silent->seen++)
        add(silent, trace_process_get(trace, silent->seen)->pid, now_ns);
    look_at_those_due(silent, now_ns);
}

/* ---- Messages -------------------------------------------------------------------------------- */

/* Processes with the same message. */
struct group {
    const struct silent_process *first;
    int loader;
    uint32_t others;
};

static bool is_same(const struct group *group, const struct silent_process *process, int loader)
{
    return group->loader == loader && group->first->causes[loader] == process->causes[loader] &&
           strcmp(group->first->images[loader], process->images[loader]) == 0;
}

static uint32_t put(struct group *groups, uint32_t count, const struct silent_process *process,
                    int loader)
{
    for (uint32_t i = 0; i < count; i++)
        if (is_same(&groups[i], process, loader)) {
            groups[i].others++;
            return count;
        }
    if (count == SILENT_SAID_MAX)
        return count;
    groups[count] = (struct group){process, loader, 0};
    return count + 1;
}

static void why_of(const struct group *group, char *text, size_t size)
{
    const struct loader *loader = &loaders[group->loader];
    switch (group->first->causes[group->loader]) {
    case CAUSE_UNSET:
        snprintf(text, size, "%s was not set when it began: nothing of %s is recorded",
                 loader->variable, loader->what);
        break;
    case CAUSE_OTHER:
        snprintf(text, size, "%s named another tool when it began: nothing of %s is recorded",
                 loader->variable, loader->what);
        break;
    case CAUSE_BUILT:
        snprintf(text, size,
                 "annot was built without it: nothing of %s is recorded; " ANNOT_REBUILD,
                 loader->what);
        break;
    default:
        snprintf(text, size,
                 "nothing of %s came: it called nothing, or could not load annot's library, as "
                 "its " INJECT_ROOM_VARIABLE " gives it no room (" INJECT_ROOM_KEY ")",
                 loader->what);
    }
}

static void say(struct silent *silent, const struct group *group, struct collector *collector)
{
    char why[256], others[32] = "", text[ATTACH_IMAGE_SIZE + sizeof(why) + 128];
    why_of(group, why, sizeof(why));
    if (group->others)
        snprintf(others, sizeof(others), " and %u more", group->others);
    snprintf(text, sizeof(text), "process %d (%s)%s: %s has calls of %s, but %s",
             (int)group->first->pid, group->first->comm, others,
             group->first->images[group->loader], loaders[group->loader].what, why);
    (void)collector_note(collector, text); /* out of memory: not in the recording */
    silent->said[silent->said_count] = strdup(text);
    silent->said_count += silent->said[silent->said_count] != NULL;
}

void silent_end(struct silent *silent, struct collector *collector)
{
    struct group groups[SILENT_SAID_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < silent->count; i++) {
        const struct silent_process *process = &silent->items[i];
        if (process->is_served || attach_has_joined(collector_trace(collector), process->pid))
            continue;
        for (int loader = 0; loader < LOADERS; loader++)
            if (process->causes[loader] != CAUSE_NONE && process->images[loader][0])
                count = put(groups, count, process, loader);
    }
    for (uint32_t i = 0; i < count; i++)
        say(silent, &groups[i], collector);
}

void silent_report(struct silent *silent)
{
    for (uint32_t i = 0; i < silent->said_count; i++) {
        cmd_note("%s", silent->said[i]);
        free(silent->said[i]);
    }
    silent->said_count = 0;
}

void silent_fini(struct silent *silent)
{
    for (uint32_t i = 0; i < silent->said_count; i++)
        free(silent->said[i]);
    free(silent->items);
    *silent = (struct silent){0};
}
