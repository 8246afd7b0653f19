/* SPDX-License-Identifier: MIT */
/* Gathers the ranges that are open where work is handed over: see inherited.h. */
#include "inherited.h"

#include "observed.h"
#include "pool_side.h"
#include "task_shown.h"
#include "task_track.h"

#include <annot/observers.h>
#include <string.h>

enum { OPEN_MAX = 2 * INHERITED_MAX, DOMAINS_KEPT = 64 };

/* Relaxed: all threads store the same value. */
annot_category inherited_category(annot_domain domain)
{
    static annot_category kept[DOMAINS_KEPT];
    annot_category *known = domain < DOMAINS_KEPT ? &kept[domain] : NULL;
    annot_category category = known ? __atomic_load_n(known, __ATOMIC_RELAXED) : 0;
    if (category != 0)
        return category;
    category = annot_category_observed(domain, "inherited", ANNOT_OBSERVER_INHERITED, 0);
    if (known != NULL)
        __atomic_store_n(known, category, __ATOMIC_RELAXED);
    return category;
}

/* ---- Gathering ------------------------------------------------------------------------------- */

struct gathering {
    struct inherited *list;
    bool once; /* lists a range once, so that work that hands on work does not lengthen the path */
};

static void add(const struct gathering *at, annot_name name, annot_domain domain)
{
    struct inherited *list = at->list;
    for (uint32_t i = 0; at->once && i < list->count; i++)
        if (list->ranges[i].name == name && list->ranges[i].domain == domain)
            return;
    if (list->count < INHERITED_MAX)
        list->ranges[list->count++] = (struct inherited_range){name, domain};
}

/* The range of a call that submits many tasks ends before they do. */
static bool is_call(const struct annot_open_range *range)
{
    return range->category != 0 && range->category == pool_side_event(0, ANNOT_POOL_CALL).category;
}

static bool is_inherited(const struct annot_open_range *range)
{
    return range->category != 0 && range->category == inherited_category(range->domain);
}

/* Adds ranges of the thread, and those that it shows for a task. Ranges around those are the
 * loop's: a task with its own (`origin`) does not inherit them. */
static void add_thread(struct gathering *at, bool has_origin)
{
    struct annot_open_range open[OPEN_MAX];
    uint32_t count = annot_open_ranges(open, OPEN_MAX), first = 0;
    while (has_origin && first < count && !open[first].is_shown)
        first++;
    for (uint32_t i = first; i < count; i++) {
        at->once = at->once || is_inherited(&open[i]);
        if (!is_call(&open[i]))
            add(at, open[i].name, open[i].domain);
    }
}

static void add_origin(const struct gathering *at, const struct inherited *origin)
{
    for (uint32_t i = 0; i < origin->count; i++)
        add(at, origin->ranges[i].name, origin->ranges[i].domain);
}

/* Adds ranges of a task without shown steps: the first one of an eager task, those of uvloop. */
static void add_task(const struct gathering *at, struct task_track *track)
{
    struct task_open names[INHERITED_MAX];
    uint32_t count = task_open_names(track, names, INHERITED_MAX);
    for (uint32_t i = 0; i < count; i++)
        add(at, names[i].name, names[i].domain);
}

void inherited_gather(struct state *state, struct inherited *ret_inherited)
{
    struct gathering at = {.list = ret_inherited};
    struct task_track *track = state != NULL ? task_running(state) : NULL;
    const struct inherited *origin = track != NULL ? inherited_of(track->origin) : NULL;
    bool is_shown = track != NULL && task_step != NULL && task_step->track == track;
    ret_inherited->count = 0;
    at.once = track != NULL;
    if (origin != NULL)
        add_origin(&at, origin);
    add_thread(&at, origin != NULL && is_shown);
    if (track != NULL && !is_shown)
        add_task(&at, track);
}

/* ---- Tasks of asyncio ------------------------------------------------------------------------ */

static void capsule_free(PyObject *capsule)
{
    PyMem_Free(PyCapsule_GetPointer(capsule, INHERITED_CAPSULE));
}

/* NULL without an exception: no range is open, or no memory. */
static PyObject *capsule_of(const struct inherited *inherited)
{
    struct inherited *kept = inherited->count ? PyMem_Malloc(sizeof(*kept)) : NULL;
    if (kept == NULL)
        return NULL;
    *kept = *inherited;
    PyObject *capsule = PyCapsule_New(kept, INHERITED_CAPSULE, capsule_free);
    if (capsule == NULL)
        PyMem_Free(kept);
    PyErr_Clear();
    return capsule;
}

PyObject *observed_create(PyObject *self, PyObject *const *args, size_t flags, PyObject *names)
{
    struct observed *observed = (struct observed *)self;
    struct state *state = annot_enabled() ? state_of_type(Py_TYPE(self)) : NULL;
    struct inherited inherited = {.count = 0};
    if (state != NULL)
        inherited_gather(state, &inherited);
    PyObject *task = observed_wrapped(observed, args, flags, names);
    PyObject *capsule = task != NULL ? capsule_of(&inherited) : NULL;
    if (capsule != NULL)
        task_keep_origin(state, task, capsule);
    Py_XDECREF(capsule);
    return task;
}
