/* SPDX-License-Identifier: MIT */
/* Storage of the tracer's data for code objects: see tracing_kept.h. */
#include "tracing_kept.h"
#include "compat.h"
#include "tracing_code.h"

#include <stdlib.h>

#if PYANNOT_FREE_THREADED

enum { FIRST_PLACES = 1024 };

struct trace_table *trace_table; /* NULL until trace_kept_setup */

static struct trace_code *spare; /* of freed objects; with the lock, linked by `next` */
static int watcher = -1;

/* ---- The table; with the lock ---------------------------------------------------------------- */

static void put(struct trace_table *table, struct trace_code *kept)
{
    uint32_t place = trace_place_of(table, kept->object);
    while (table->places[place] != NULL)
        place = (place + 1) & table->mask;
    __atomic_store_n(&table->places[place], kept, __ATOMIC_RELEASE); /* partner: trace_kept_find */
    table->count++;
}

static struct trace_table *make_table(uint32_t count)
{
    struct trace_table *table = calloc(1, sizeof(*table) + count * sizeof(*table->places));
    if (table != NULL)
        table->mask = count - 1;
    return table;
}

/* Keeps at least half of the places free. Readers of the older table miss entries added from now
 * on. */
static bool has_room(void)
{
    struct trace_table *table = trace_table;
    if (table->count <= table->mask / 2)
        return true;
    struct trace_table *larger = make_table(2 * (table->mask + 1));
    if (larger == NULL)
        return false;
    larger->older = table;
    for (uint32_t i = 0; i <= table->mask; i++)
        if (table->places[i] != NULL)
            put(larger, table->places[i]);
    __atomic_store_n(&trace_table, larger, __ATOMIC_RELEASE); /* partner: trace_kept_find */
    return true;
}

/* Later entries move up, as far as their own first place allows. */
static void take_out(struct trace_table *table, uint32_t place)
{
    uint32_t free_place = place;
    for (uint32_t i = place;;) {
        i = (i + 1) & table->mask;
        struct trace_code *kept = table->places[i];
        if (kept == NULL)
            break;
        uint32_t first = trace_place_of(table, kept->object);
        if (((i - first) & table->mask) < ((i - free_place) & table->mask))
            continue;
        __atomic_store_n(&table->places[free_place], kept, __ATOMIC_RELEASE);
        free_place = i;
    }
    __atomic_store_n(&table->places[free_place], NULL, __ATOMIC_RELEASE);
    table->count--;
}

static struct trace_code *find(const PyCodeObject *code, uint32_t *ret_place)
{
    struct trace_table *table = trace_table;
    uint32_t place = trace_place_of(table, code);
    while (table->places[place] != NULL && table->places[place]->object != code)
        place = (place + 1) & table->mask;
    *ret_place = place;
    return table->places[place];
}

static struct trace_code *take_spare(void)
{
    struct trace_code *kept = spare;
    if (kept == NULL)
        return calloc(1, sizeof(*kept));
    spare = kept->next;
    return kept;
}

/* ---- Objects --------------------------------------------------------------------------------- */

struct trace_code *trace_kept_add(PyCodeObject *code)
{
    uint32_t place;
    trace_code_lock();
    struct trace_code *kept = find(code, &place); /* added by another thread, or missed */
    if (kept == NULL && has_room() && (kept = take_spare()) != NULL) {
        trace_code_link(kept, code);
        put(trace_table, kept);
    }
    trace_code_unlock();
    return kept;
}

/* Another object may have this address from now on. */
static void forget(const PyCodeObject *code)
{
    uint32_t place;
    PyObject *reference = NULL;
    trace_code_lock();
    struct trace_code *kept = find(code, &place);
    if (kept != NULL) {
        take_out(trace_table, place);
        trace_code_unlink(kept);
        reference = kept->reference;
        kept->reference = NULL;
        __atomic_store_n(&kept->object, NULL, __ATOMIC_RELEASE); /* partner: trace_kept_find */
        kept->next = spare;
        spare = kept;
    }
    trace_code_unlock();
    Py_XDECREF(reference);
}

static int on_code(PyCodeEvent event, PyCodeObject *code)
{
    if (event == PY_CODE_EVENT_DESTROY)
        forget(code);
    return 0;
}

bool trace_kept_is_set_up(void)
{
    return watcher >= 0;
}

int trace_kept_setup(void)
{
    if (trace_table == NULL && (trace_table = make_table(FIRST_PLACES)) == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    watcher = PyCode_AddWatcher(on_code);
    return watcher >= 0 ? 0 : -1;
}

void trace_kept_forget(void)
{
    trace_table = NULL;
    spare = NULL;
    watcher = -1;
}

#else

Py_ssize_t trace_extra = -1;

/* The code object is freed. */
static void forget(void *pointer)
{
    struct trace_code *kept = pointer;
    if (kept == NULL)
        return;
    trace_code_lock();
    trace_code_unlink(kept);
    trace_code_unlock();
    free(kept);
}

/* Stores `kept`. CPython makes room for all indexes in use, and at the end of the code object calls
 * the free function of each index with room, even without a stored pointer: that of another user of
 * co_extra would be called for every traced code object. Room that CPython made for this pointer is
 * therefore cut after it; it grows when others store theirs. 0, or -1 with an exception. */
static int store(PyCodeObject *code, struct trace_code *kept)
{
    bool is_first = code->co_extra == NULL;
    if (PyUnstable_Code_SetExtra((PyObject *)code, trace_extra, kept) < 0)
        return -1;
    if (is_first)
        ((struct trace_extras *)code->co_extra)->count = trace_extra + 1;
    return 0;
}

struct trace_code *trace_kept_add(PyCodeObject *code)
{
    void *found = NULL;
    if (PyUnstable_Code_GetExtra((PyObject *)code, trace_extra, &found) < 0)
        PyErr_Clear();
    struct trace_code *kept = found ? found : calloc(1, sizeof(*kept));
    if (found != NULL || kept == NULL)
        return kept;
    trace_code_lock();
    trace_code_link(kept, code);
    trace_code_unlock();
    if (store(code, kept) == 0)
        return kept;
    PyErr_Clear();
    forget(kept);
    return NULL;
}

/* True if co_extra is laid out as in all releases so far. */
static bool is_known_layout(PyCodeObject *code)
{
    void *found = NULL;
    static char probe;
    if (PyUnstable_Code_SetExtra((PyObject *)code, trace_extra, &probe) < 0)
        return false;
    const struct trace_extras *extras = (const struct trace_extras *)code->co_extra;
    bool is_known = extras != NULL && extras->count > trace_extra && extras->count < 256 &&
                    extras->items[trace_extra] == &probe &&
                    PyUnstable_Code_GetExtra((PyObject *)code, trace_extra, &found) == 0 &&
                    found == &probe;
    return is_known;
}

static void free_probe(void *ignored)
{
    (void)ignored;
}

/* Uses a separate code object and index, because the probe is not one of our pointers. */
static int check_layout(void)
{
    PyCodeObject *code = PyCode_NewEmpty("probe", "probe", 1);
    if (code == NULL)
        return -1;
    trace_extra = PyUnstable_Eval_RequestCodeExtraIndex(free_probe);
    bool is_known = trace_extra >= 0 && is_known_layout(code);
    Py_DECREF(code);
    trace_extra = -1;
    if (is_known)
        return 0;
    PyErr_Clear();
    PyErr_SetString(PyExc_RuntimeError, "this interpreter keeps no data for code objects");
    return -1;
}

bool trace_kept_is_set_up(void)
{
    return trace_extra >= 0;
}

int trace_kept_setup(void)
{
    if (check_layout() < 0)
        return -1;
    trace_extra = PyUnstable_Eval_RequestCodeExtraIndex(forget);
    if (trace_extra >= 0)
        return 0;
    PyErr_SetString(PyExc_RuntimeError,
                    "other tools have taken all indexes for data of code objects");
    return -1;
}

void trace_kept_forget(void)
{
    trace_extra = -1;
}

#endif
