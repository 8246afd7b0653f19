/* SPDX-License-Identifier: MIT */
/* An annotation: the content of one event, ready to be emitted. The Python class `annotate`.
 * Threads: constant after creation except for the cached name id, so that one object may serve any
 * number of threads, nested and recursive statements. */
#ifndef PYANNOT_ANNOTATION_H
#define PYANNOT_ANNOTATION_H

#include "compat.h"

#include <annot/annot.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- Part for `with` ------------------------------------------------------------------------- */

/* The object that `with` calls to enter an annotation, up to 3.13: see enter.c. It is part of the
 * annotation, so that its look-up allocates no object.
 * Threads: guarded by the GIL; free-threaded builds have ordinary methods. */

/* From 3.14 on, `with` calls an ordinary method without binding it. The benchmark sets it. */
#ifndef PYANNOT_BIND_ENTER
#define PYANNOT_BIND_ENTER (PY_VERSION_HEX < 0x030E0000 && !PYANNOT_FREE_THREADED)
#endif

#if PYANNOT_BIND_ENTER

/* In an annotation or a holder; also the descriptor in their class, which has no object. All zero
 * until the first look-up; holds its object and its type while it is referenced. */
struct enter {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject *object; /* that it is part of */
    bool is_holder;
};

#else

struct enter {
};

#endif

/* ---- Annotations ----------------------------------------------------------------------------- */

struct state;
struct arguments;
struct items;

struct annotation {
    PyObject_HEAD PyObject *name; /* the str it was made from, with its identity as the key of the
                                     cache; NULL: a decorator will set it */
    PyObject *text;               /* owner of event.text */
    PyObject *payload;   /* owner of a string payload; in a renamed copy, the original; or NULL */
    struct items *items; /* owner of event.values, or NULL */
    PyObject *domain, *category; /* str or NULL: names of the event's numbers, for pickling */
    struct annot_event event;
    uint16_t observer, role; /* of annot/observers.h; for pickling */
    bool plain;              /* has only a name */
    struct enter enter;
};

/* Returns the annotation with only this name, from the cache or new. New reference; NULL with a
 * TypeError if `name` is not a str. */
struct annotation *annotation_of_name(struct state *state, PyObject *name);

/* Makes the annotation that the arguments describe; `name` may be missing or None. New reference,
 * or NULL with an exception. */
struct annotation *annotation_create(struct state *state, const struct arguments *arguments);

/* Copies it under another name. New reference, or NULL with an exception. */
struct annotation *annotation_renamed(struct state *state, struct annotation *like, PyObject *name);

/* For a track: makes a single payload the item "value". 0, or -1 with an exception. */
int annotation_payload_to_items(struct annotation *annotation);

/* tp_dealloc of `annotate` only, which identifies its objects. */
void annotation_dealloc(PyObject *self);

static inline bool annotation_is(const PyObject *object)
{
    return Py_TYPE(object)->tp_dealloc == annotation_dealloc;
}

void annotation_name_missing(void);

/* Returns false, with a TypeError, if it still needs a name from a decorator. */
static inline bool annotation_has_name(const struct annotation *annotation)
{
    if (__builtin_expect(annotation->text != NULL, 1))
        return true;
    annotation_name_missing();
    return false;
}

/* For a counter: true if it has a value, or a series. */
static inline bool annotation_says_something(const struct annotation *annotation)
{
    return annotation->event.payload_kind != ANNOT_PAYLOAD_NONE ||
           annotation->event.value_count != 0;
}

/* Returns the id of its name, interned at the first event; 0 if the table of names is full. */
static inline annot_name annotation_name_id(struct annotation *annotation)
{
    /* Relaxed: the id is the same whichever thread stores it. */
    annot_name id = __atomic_load_n(&annotation->event.name, __ATOMIC_RELAXED);
    if (__builtin_expect(id == 0, 0)) {
        id = annot_name_intern(annotation->event.text);
        __atomic_store_n(&annotation->event.name, id, __ATOMIC_RELAXED);
    }
    return id;
}

/* ---- Emitting -------------------------------------------------------------------------------- */

/* Emits an annotation as an event: by name id if it has only a name, else in the long form. Call
 * these only while annot_enabled(). Threads: any. */

static inline void emit_push(struct annotation *annotation)
{
    annot_name id = annotation_name_id(annotation);
    if (__builtin_expect(annotation->plain && id != 0, 1))
        annot_emit_push_name(id);
    else
        annot_emit_push_event(&annotation->event);
}

static inline void emit_mark(struct annotation *annotation)
{
    annot_name id = annotation_name_id(annotation);
    if (__builtin_expect(annotation->plain && id != 0, 1))
        annot_emit_mark_name(id);
    else
        annot_emit_mark_event(&annotation->event);
}

static inline void emit_track_begin(const struct annot_track *track, struct annotation *annotation)
{
    annotation_name_id(annotation);
    annot_emit_track_begin_event(track, &annotation->event);
}

static inline void emit_track_mark(const struct annot_track *track, struct annotation *annotation)
{
    annotation_name_id(annotation);
    annot_emit_track_mark_event(track, &annotation->event);
}

static inline annot_range emit_start(struct annotation *annotation)
{
    annotation_name_id(annotation);
    return annot_emit_start_event(&annotation->event);
}

/* ---- Ends of ranges -------------------------------------------------------------------------- */

/* Ends ranges that an exception leaves: the key-value "exception" of their end is its type, as a
 * traceback spells it ("KeyError", "json.decoder.JSONDecodeError").
 * Threads: any, attached to the interpreter. An exception that is set is preserved. */

/* Returns the type among the arguments of __exit__(type, value, traceback), which may follow the
 * object itself (contextlib.ExitStack); NULL: no exception. Borrowed. */
static inline PyObject *exception_of_exit(PyObject *const *args, Py_ssize_t count)
{
    PyObject *type = count == 3 ? args[0] : count == 4 ? args[1] : Py_None;
    return type == Py_None || !PyExceptionClass_Check(type) ? NULL : type;
}

void exception_pop_slow(PyObject *type);
void exception_end_slow(annot_range range, PyObject *type);
void exception_track_end_slow(const struct annot_track *track, PyObject *type);

/* As annot_pop, annot_end and annot_track_end; `type` may be NULL. */
static inline void exception_pop(PyObject *type)
{
    if (__builtin_expect(type == NULL, 1))
        annot_pop();
    else if (annot_enabled())
        exception_pop_slow(type);
}

static inline void exception_end(annot_range range, PyObject *type)
{
    if (__builtin_expect(type == NULL, 1))
        annot_end(range);
    else if (range != 0 && annot_enabled())
        exception_end_slow(range, type);
}

static inline void exception_track_end(const struct annot_track *track, PyObject *type)
{
    if (__builtin_expect(type == NULL, 1))
        annot_track_end(track);
    else if (annot_enabled())
        exception_track_end_slow(track, type);
}

/* ---- Pickling and copying -------------------------------------------------------------------- */

/* For __reduce__: returns a call of `maker` with the annotation's name and all its attributes. New
 * reference, or NULL with an exception. */
PyObject *annotation_reduce(PyObject *maker, const struct annotation *annotation);

/* ---- Cache by name --------------------------------------------------------------------------- */

/* Maps the identity of a str to its plain annotation, so that annotate("load") costs no allocation,
 * hash or comparison. An entry holds its str, so that the address stays taken.
 * Threads: under the GIL a new name replaces an old one in its slot. Free-threaded, a slot is
 * written once and kept, so that readers need no lock, and only for literals, which are interned
 * there: generated names cannot fill it. */

enum { NAME_CACHE_BITS = 9, NAME_CACHE_SIZE = 1 << NAME_CACHE_BITS, NAME_CACHE_TEXT_MAX = 1024 };

struct name_cache {
    struct annotation *slots[NAME_CACHE_SIZE];
};

static inline struct annotation **name_cache_slot(struct name_cache *cache, const PyObject *name)
{
    uint64_t hash = (uint64_t)(uintptr_t)name * UINT64_C(0x9e3779b97f4a7c15);
    return &cache->slots[hash >> (64 - NAME_CACHE_BITS)];
}

/* New reference, or NULL without an exception. */
static inline struct annotation *name_cache_find(struct name_cache *cache, const PyObject *name)
{
    /* Acquire: partner of the release in name_cache_add. */
    struct annotation *found = __atomic_load_n(name_cache_slot(cache, name), __ATOMIC_ACQUIRE);
    if (found == NULL || found->name != name)
        return NULL;
    Py_INCREF(found);
    return found;
}

void name_cache_add(struct name_cache *cache, struct annotation *annotation);
void name_cache_clear(struct name_cache *cache);

#endif
