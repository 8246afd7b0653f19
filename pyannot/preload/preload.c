/* SPDX-License-Identifier: MIT */
/* Preloaded into all programs that `annot record` starts: brings pyannot into Python interpreters.
 *
 * The constructor adds an audit hook before Python initializes itself. At the first event of the
 * kind "cpython.run_..." (the interpreter is complete, no line of the program has run) the hook
 * starts pyannot, quickly or by bootstrap.py, and removes itself from the interpreter's list.
 *
 * Other programs must not notice it. This library therefore needs no library, not even libc (so it
 * also loads under musl), defines no symbol, allocates no memory, and has no effect if the program
 * has no PySys_AddAuditHook. Its path contains "libasan.so": AddressSanitizer's shared runtime
 * refuses to run if a library with another path comes before it. (It looks for functions that
 * shadow its own; this library has no functions of these names.) Its own option for that,
 * verify_asan_link_order=0 in ASAN_OPTIONS, is lost when a script below sets ASAN_OPTIONS.
 *
 * Threads: the constructor runs alone; the hook is entered with the GIL, or, without one, by many.
 * Failures are silent: bootstrap.py reports an interpreter without pyannot. */
#include "bootstrap_text.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- The interpreter ------------------------------------------------------------------------- */

/* Functions that a program may have: any of them may be missing, and a program without them is not
 * an interpreter. Declared here, because one library serves all interpreters. */

typedef struct object PyObject;
typedef int audit_hook(const char *event, PyObject *arguments, void *context);

/* NULL if the program does not have it. */
#define OPTIONAL extern __attribute__((weak, visibility("default")))

OPTIONAL int PySys_AddAuditHook(audit_hook *hook, void *context);
OPTIONAL PyObject *PySys_GetObject(const char *name); /* borrowed */
OPTIONAL int PySys_SetObject(const char *name, PyObject *value);
OPTIONAL PyObject *PyRun_StringFlags(const char *text, int start, PyObject *globals,
                                     PyObject *locals, void *flags);
OPTIONAL PyObject *PyDict_New(void);
OPTIONAL ptrdiff_t PyList_Size(PyObject *list);
OPTIONAL PyObject *PyList_GetItem(PyObject *list, ptrdiff_t index); /* borrowed */
OPTIONAL PyObject *PyList_GetSlice(PyObject *list, ptrdiff_t low, ptrdiff_t high);
OPTIONAL int PyList_Append(PyObject *list, PyObject *item);
OPTIONAL int PyMapping_HasKeyString(PyObject *mapping, const char *key);
OPTIONAL PyObject *PySequence_GetItem(PyObject *sequence, ptrdiff_t index);
OPTIONAL PyObject *PyUnicode_DecodeFSDefaultAndSize(const char *text, ptrdiff_t size);
OPTIONAL PyObject *PyUnicode_EncodeFSDefault(PyObject *text);
OPTIONAL char *PyBytes_AsString(PyObject *bytes);
OPTIONAL PyObject *PyObject_GetAttrString(PyObject *object, const char *name);
OPTIONAL int PyObject_SetAttrString(PyObject *object, const char *name, PyObject *value);
OPTIONAL PyObject *PyObject_CallMethod(PyObject *object, const char *name, const char *format, ...);
OPTIONAL int PyObject_IsTrue(PyObject *object);
OPTIONAL PyObject *PyImport_ImportModule(const char *name);
OPTIONAL PyObject *PyErr_Occurred(void); /* borrowed */
OPTIONAL int PyErr_ExceptionMatches(PyObject *class);
OPTIONAL void PyErr_Clear(void);
OPTIONAL void Py_IncRef(PyObject *object);
OPTIONAL void Py_DecRef(PyObject *object);
OPTIONAL PyObject *PyExc_Exception;

/* From libannot-heap.so, if memory is recorded: watches the allocators of Python objects. */
OPTIONAL void annot_heap_python_v1(void);
OPTIONAL void annot_heap_end_v1(void);

/* From the C library. */
OPTIONAL char *getenv(const char *name);
OPTIONAL int access(const char *path, int mode);

/* ---- The quick way into pyannot -------------------------------------------------------------- */

/* Does the work of bootstrap.py in the usual case, without compiling it. Threads: one, with the
 * GIL. */

enum { PATH_BYTES = 4096, READABLE = 4 /* R_OK */ };

struct module {
    const char *name, *file, *loader;
};

/* All are needed: an interpreter that lacks one of them is left to bootstrap.py. */
static bool is_possible(void)
{
    return PySys_GetObject && PySys_SetObject && PyList_Size && PyList_GetItem && PyList_GetSlice &&
           PyList_Append && PyMapping_HasKeyString && PySequence_GetItem &&
           PyUnicode_DecodeFSDefaultAndSize && PyUnicode_EncodeFSDefault && PyBytes_AsString &&
           PyObject_GetAttrString && PyObject_SetAttrString && PyObject_CallMethod &&
           PyObject_IsTrue && PyImport_ImportModule && PyErr_Occurred && PyErr_ExceptionMatches &&
           PyErr_Clear && Py_IncRef && &PyExc_Exception && getenv && access;
}

/* Returns the new end, or NULL: no room. */
static char *append(char *at, const char *end, const char *text)
{
    for (; at && *text; text++) {
        if (at + 1 >= end)
            return NULL;
        *at++ = *text;
        __asm__("" ::: "memory"); /* prevents a call of memcpy, which may be missing */
    }
    if (at)
        *at = 0;
    return at;
}

static bool flag(const char *name)
{
    PyObject *flags = PySys_GetObject("flags");
    PyObject *value = flags ? PyObject_GetAttrString(flags, name) : NULL;
    bool is_set = value && PyObject_IsTrue(value) == 1;
    if (!value)
        PyErr_Clear(); /* safe_path came with 3.11 */
    else
        Py_DecRef(value);
    return is_set;
}

/* Appends the folders that annot gives. */
static bool add_folders(PyObject *own)
{
    const char *at = getenv("ANNOT_PYTHON_PATH");
    while (at && *at) {
        const char *end = at;
        while (*end && *end != ':')
            end++;
        PyObject *folder = PyUnicode_DecodeFSDefaultAndSize(at, end - at);
        bool added = folder && PyList_Append(own, folder) == 0;
        Py_DecRef(folder);
        if (!added)
            return false;
        at = *end ? end + 1 : end;
    }
    return true;
}

/* Returns a copy of sys.path, without the folder of the script: its modules are not ours to import.
 * New reference, or NULL. */
static PyObject *own_path(PyObject *path)
{
    bool is_safe = flag("isolated") || flag("safe_path");
    PyObject *own = PyList_GetSlice(path, is_safe ? 0 : 1, PyList_Size(path));
    if (own && !add_folders(own)) {
        Py_DecRef(own);
        own = NULL;
    }
    return own;
}

/* Writes "/pyannot/_native.cpython-311-x86_64-linux-gnu.so": only a pyannot for this build has
 * it. */
static bool native_file(char *file, const char *end)
{
    PyObject *imp = PyImport_ImportModule("_imp");
    PyObject *suffixes = imp ? PyObject_CallMethod(imp, "extension_suffixes", NULL) : NULL;
    PyObject *suffix = suffixes ? PySequence_GetItem(suffixes, 0) : NULL;
    PyObject *bytes = suffix ? PyUnicode_EncodeFSDefault(suffix) : NULL;
    char *at = append(file, end, "/pyannot/_native");
    bool known = bytes && append(at, end, PyBytes_AsString(bytes));
    Py_DecRef(bytes);
    Py_DecRef(suffix);
    Py_DecRef(suffixes);
    Py_DecRef(imp);
    return known;
}

/* Writes the folder's path, "" if it is not a text, or too long. */
static void folder_path(PyObject *folder, char path[PATH_BYTES])
{
    PyObject *bytes = PyUnicode_EncodeFSDefault(folder);
    const char *text = bytes ? PyBytes_AsString(bytes) : NULL;
    *path = 0;
    if (!text)
        PyErr_Clear();
    if (!text || !append(path, path + PATH_BYTES, text))
        *path = 0;
    Py_DecRef(bytes);
}

/* Finds the first folder that has the file. */
static bool find_folder(PyObject *own, const char *native, char folder[PATH_BYTES])
{
    char path[PATH_BYTES];
    for (ptrdiff_t i = 0; i < PyList_Size(own); i++) {
        folder_path(PyList_GetItem(own, i), folder);
        char *at = *folder ? append(path, path + sizeof(path), folder) : NULL;
        if (append(at, path + sizeof(path), native) && access(path, READABLE) == 0)
            return true;
    }
    return false;
}

/* Loads one of our modules, by the interpreter's own loader: a search by its name would list
 * folders and look for missing files. */
static bool load(const char *folder, const struct module *module)
{
    char path[PATH_BYTES];
    const char *end = path + sizeof(path);
    PyObject *bootstrap = PyImport_ImportModule("_frozen_importlib");
    PyObject *external = PyImport_ImportModule("_frozen_importlib_external");
    PyObject *loader = NULL, *spec = NULL, *loaded = NULL;
    if (bootstrap && external && append(append(path, end, folder), end, module->file))
        loader = PyObject_CallMethod(external, module->loader, "ss", module->name, path);
    if (loader)
        spec = PyObject_CallMethod(bootstrap, "spec_from_loader", "sO", module->name, loader);
    if (spec)
        loaded = PyObject_CallMethod(bootstrap, "_load", "O", spec);
    Py_DecRef(loaded);
    Py_DecRef(spec);
    Py_DecRef(loader);
    Py_DecRef(external);
    Py_DecRef(bootstrap);
    return loaded;
}

/* Sets the module as an attribute of its package, as an import does. */
static bool bind(PyObject *package, const char *name, const char *full_name)
{
    PyObject *module = PyImport_ImportModule(full_name);
    bool bound = module && PyObject_SetAttrString(package, name, module) == 0;
    Py_DecRef(module);
    return bound;
}

static bool load_all(PyObject *own)
{
    char native[256], folder[PATH_BYTES];
    if (!native_file(native, native + sizeof(native)) || !find_folder(own, native, folder))
        return false;
    const struct module modules[] = {
        {"pyannot._native", native, "ExtensionFileLoader"},
        {"pyannot", "/pyannot/__init__.py", "SourceFileLoader"},
        {"pyannot.observe", "/pyannot/observe/__init__.py", "SourceFileLoader"},
    };
    for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++)
        if (!load(folder, &modules[i]))
            return false;
    PyObject *package = PyImport_ImportModule("pyannot");
    bool bound = package && bind(package, "_native", "pyannot._native") &&
                 bind(package, "observe", "pyannot.observe");
    Py_DecRef(package);
    return bound;
}

/* True after an import by a .pth file, for instance. */
static bool is_loaded(void)
{
    PyObject *modules = PySys_GetObject("modules");
    return modules && PyMapping_HasKeyString(modules, "pyannot");
}

static bool call_begin(void)
{
    PyObject *observe = PyImport_ImportModule("pyannot.observe");
    PyObject *begun = observe ? PyObject_CallMethod(observe, "begin", NULL) : NULL;
    Py_DecRef(begun);
    Py_DecRef(observe);
    return begun;
}

static bool begin_by(PyObject *own)
{
    if (PySys_SetObject("path", own) != 0)
        return false;
    PyObject *os = PyImport_ImportModule("os"); /* not imported yet under -S */
    bool begun = os && (is_loaded() || load_all(own)) && call_begin();
    Py_DecRef(os);
    return begun;
}

/* Returns 1 if pyannot has begun, or is not wanted; 0: bootstrap.py may look further and report the
 * reason; -1: an exception is set that is not ours, that of a signal. */
static int quick_begin(void)
{
    if (!is_possible())
        return 0;
    if (!getenv("ANNOT_PYTHON"))
        return 1;
    PyObject *path = PySys_GetObject("path");
    Py_IncRef(path);
    PyObject *own = path ? own_path(path) : NULL;
    int begun = own && begin_by(own);
    if (own && PySys_GetObject("path") == own)
        PySys_SetObject("path", path);
    Py_DecRef(own);
    Py_DecRef(path);
    if (!begun && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_Exception))
            return -1;
        PyErr_Clear();
    }
    return begun;
}

/* ---- The hook -------------------------------------------------------------------------------- */

enum {
    PY_FILE_INPUT = 257, /* Python's Py_file_input, the same in all releases */
    PAGE_SIZE = 4096,
    RUNTIME_MAX = 64 * 1024, /* bytes of _PyRuntime in which its list of hooks is searched */
    WORDS_MAX = RUNTIME_MAX / sizeof(void *),
};

/* An entry of the interpreter's list of hooks; the same from 3.8 on. */
struct hook_entry {
    struct hook_entry *next;
    audit_hook *hook;
    void *context;
};

OPTIONAL struct hook_entry *_PyRuntime[];
OPTIONAL int dladdr1(const void *address, Dl_info *info, void **extra, int flags);

static uint32_t done;            /* W: the hook, swapped in once */
static struct hook_entry **head; /* of the interpreter's list; NULL: not found */
static struct hook_entry *entry; /* ours; while `head` is not NULL */
/* A bit for each word of _PyRuntime; one page, untouched in other programs. */
static uint64_t was_set[WORDS_MAX / 64];

/* 0, or -1 with an exception (that of a signal: bootstrap.py keeps all others to itself). */
static int run_bootstrap(void)
{
    int begun = quick_begin();
    if (begun)
        return begun < 0 ? -1 : 0;
    PyObject *globals = PyDict_New(), *result = NULL;
    if (globals)
        result =
            PyRun_StringFlags((const char *)bootstrap_text, PY_FILE_INPUT, globals, globals, NULL);
    Py_DecRef(result);
    Py_DecRef(globals);
    return result ? 0 : -1;
}

/* ---- Memory at the end ----------------------------------------------------------------------- */

/* PyMethodDef; the layout is part of the stable ABI. */
struct method {
    const char *name;
    PyObject *(*function)(PyObject *self, PyObject *arguments);
    int flags;
    const char *doc;
};

enum { NO_ARGUMENTS = 4 /* METH_NOARGS */ };

OPTIONAL PyObject *PyCFunction_NewEx(struct method *method, PyObject *self, PyObject *module);
OPTIONAL PyObject *Py_BuildValue(const char *format, ...);

static PyObject *end_memory(PyObject *self, PyObject *arguments)
{
    (void)self;
    (void)arguments;
    annot_heap_end_v1();
    return Py_BuildValue("");
}

/* The first exit handler runs last: then the interpreter frees what the program held. */
static void watch_end(void)
{
    static struct method method = {"annot_heap_end", end_memory, NO_ARGUMENTS, NULL};
    if (!annot_heap_end_v1 || !PyCFunction_NewEx || !PyImport_ImportModule || !Py_BuildValue ||
        !PyObject_CallMethod || !PyErr_Clear)
        return;
    PyObject *function = PyCFunction_NewEx(&method, NULL, NULL);
    PyObject *module = function ? PyImport_ImportModule("atexit") : NULL;
    PyObject *result = module ? PyObject_CallMethod(module, "register", "O", function) : NULL;
    if (!result)
        PyErr_Clear();
    Py_DecRef(result);
    Py_DecRef(module);
    Py_DecRef(function);
}

/* A concurrent walk of the list may be at the entry, which therefore stays unchanged. */
static void leave_list(void)
{
    struct hook_entry *expected = entry;
    /* Partner: the interpreter's walk of its list. */
    if (head)
        __atomic_compare_exchange_n(head, &expected, entry->next, 0, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED);
}

static int is_beginning(const char *event)
{
    static const char prefix[] = "cpython.run_";
    for (size_t i = 0; i < sizeof(prefix) - 1; i++)
        if (event[i] != prefix[i])
            return 0;
    return 1;
}

static int on_event(const char *event, PyObject *arguments, void *context)
{
    (void)arguments;
    (void)context;
    /* Partner: itself, on other threads. */
    if (__atomic_load_n(&done, __ATOMIC_RELAXED) || !is_beginning(event) ||
        __atomic_exchange_n(&done, 1, __ATOMIC_ACQ_REL))
        return 0;
    leave_list();
    if (annot_heap_python_v1)
        annot_heap_python_v1();
    watch_end();
    return run_bootstrap();
}

/* Returns the number of words of _PyRuntime to search; 0: unknown. */
static size_t runtime_words(void)
{
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    if (!_PyRuntime || !dladdr1 || !dladdr1(_PyRuntime, &info, (void **)&symbol, RTLD_DL_SYMENT) ||
        !symbol || info.dli_saddr != (void *)_PyRuntime)
        return 0;
    size_t count = symbol->st_size / sizeof(void *);
    return count < WORDS_MAX ? count : WORDS_MAX;
}

/* Finds the word that was NULL before and points to our entry now. */
static void find_head(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct hook_entry *now = _PyRuntime[i];
        /* Other words may change, too, and need not be pointers. */
        if ((uintptr_t)now < PAGE_SIZE || (uintptr_t)now % sizeof(now) ||
            was_set[i / 64] >> i % 64 & 1)
            continue;
        if (now->next == NULL && now->hook == on_event && now->context == &done) {
            head = &_PyRuntime[i];
            entry = now;
            return;
        }
    }
}

__attribute__((constructor)) static void begin(void)
{
    if (!PySys_AddAuditHook || !PyRun_StringFlags || !PyDict_New || !Py_DecRef)
        return;
    size_t count = runtime_words();
    for (size_t i = 0; i < count; i++)
        if (_PyRuntime[i])
            was_set[i / 64] |= UINT64_C(1) << i % 64;
    if (PySys_AddAuditHook(on_event, &done) == 0)
        find_head(count);
}
