/* SPDX-License-Identifier: MIT */
/* Facts about a pool: its class, its size, how its workers are started, and its workers. A
 * recording that begins later gets them as well, when the pool is used next. */
#include "pool_facts.h"

#include "pool_side.h"

#include <stdio.h>
#include <string.h>

#include "annotation.h"
#include "state.h"

/* True for the first time in this recording. */
static bool is_new(struct pool_side *side)
{
    if (!annot_enabled())
        return false;
    uint64_t recording = annot_recording();
    return __atomic_exchange_n(&side->told_facts, recording, __ATOMIC_RELAXED) != recording;
}

struct annot_value pool_facts_value(const struct pool_side *side)
{
    struct annot_value value = annot_value_uint64(NULL, side->scope);
    value.key_name = pool_name(POOL_POOL);
    return value;
}

void pool_facts_emit(struct pool_side *side)
{
    int64_t size = __atomic_load_n(&side->size, __ATOMIC_RELAXED);
    if (side->kind[0] == '\0' || size == 0 || !is_new(side) || pool_side_has_greenlets(side))
        return;
    const struct annot_value values[] = {
        pool_facts_value(side),
        pool_text_value(POOL_NAME, side->label),
        pool_text_value(POOL_KIND, side->kind),
        pool_number_value(POOL_SIZE, size),
        pool_text_value(POOL_STARTED, side->started),
    };
    struct annot_event event = pool_side_event(pool_name(POOL_POOL), ANNOT_POOL_MADE);
    event.values = values;
    event.value_count = sizeof(values) / sizeof(*values);
    annot_mark_event(&event);
}

void pool_facts_emit_worker(struct pool_side *side)
{
    if (!is_new(side) || pool_side_has_greenlets(side))
        return;
    const struct annot_value value = pool_facts_value(side);
    struct annot_event event = pool_side_event(pool_name(POOL_WORKER), ANNOT_POOL_WORKER);
    event.values = &value;
    event.value_count = 1;
    annot_mark_event(&event);
}

/* ---- Methods --------------------------------------------------------------------------------- */

/* made(label, kind, workers, start_method): of a parent. workers 0: not known yet. */
PyObject *pool_facts_made(PyObject *self, PyObject *args)
{
    struct pool_side *side = (struct pool_side *)self;
    const char *label, *kind, *started;
    long long size;
    if (!PyArg_ParseTuple(args, "ssLs:made", &label, &kind, &size, &started))
        return NULL;
    snprintf(side->label, sizeof(side->label), "%s", label);
    snprintf(side->kind, sizeof(side->kind), "%s", kind);
    snprintf(side->started, sizeof(side->started), "%s", started);
    __atomic_store_n(&side->size, size, __ATOMIC_RELAXED);
    pool_facts_emit(side);
    Py_RETURN_NONE;
}

/* joined(): the calling thread is one of the workers. */
PyObject *pool_facts_joined(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    pool_facts_emit_worker((struct pool_side *)self);
    Py_RETURN_NONE;
}

static const char call_name[] = "pyannot.pool_call";

static void call_free(PyObject *call)
{
    struct context_range *range = PyCapsule_GetPointer(call, call_name);
    Py_XDECREF(range->track);
    PyMem_Free(range);
}

/* Returns a capsule; None: the call has no range. */
static PyObject *call_begin(struct pool_side *side, const struct annot_event *event)
{
    if (!annot_enabled() || pool_side_has_greenlets(side))
        Py_RETURN_NONE;
    struct context_range *range = PyMem_Calloc(1, sizeof(*range));
    PyObject *call = range ? PyCapsule_New(range, call_name, call_free) : NULL;
    if (call != NULL)
        context_range_begin(state_of_type(Py_TYPE(side)), range, event);
    else
        PyMem_Free(range);
    return call != NULL || PyErr_Occurred() ? call : PyErr_NoMemory();
}

/* call(method, chunk): opens the range of a call that submits several tasks; returns the argument
 * of called(). chunk 0: each is one item. */
PyObject *pool_facts_call(PyObject *self, PyObject *args)
{
    struct pool_side *side = (struct pool_side *)self;
    const char *method;
    long long chunk;
    if (!PyArg_ParseTuple(args, "sL:call", &method, &chunk))
        return NULL;
    pool_facts_emit(side);
    const struct annot_value values[] = {
        pool_facts_value(side),
        pool_text_value(POOL_METHOD, method),
        pool_number_value(POOL_CHUNK, chunk),
    };
    struct annot_event event = pool_side_event(0, ANNOT_POOL_CALL);
    event.text = method;
    event.values = values;
    event.value_count = sizeof(values) / sizeof(*values);
    return call_begin(side, &event);
}

/* called(call): closes the range. */
PyObject *pool_facts_called(PyObject *self, PyObject *call)
{
    (void)self;
    struct context_range *range = PyCapsule_GetPointer(call, call_name);
    if (range == NULL)
        return NULL;
    context_range_end(range, NULL);
    Py_RETURN_NONE;
}
