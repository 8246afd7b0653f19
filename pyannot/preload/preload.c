/* SPDX-License-Identifier: MIT */
/* Preloaded into all that `annot record` starts: brings pyannot into Python interpreters.
 *
 * The constructor adds an audit hook before Python initializes itself. At the first event of the
 * kind "cpython.run_..." (the interpreter is complete, no line of the program has run) the hook
 * begins, quickly or by bootstrap.py, and takes itself out of the interpreter's list.
 *
 * All other programs are to notice nothing. This library therefore needs no library, not even libc
 * (so it also loads under musl), defines no symbol, allocates nothing and does nothing if the
 * program has no PySys_AddAuditHook. The path that it is loaded by contains "libasan.so": with its
 * shared runtime, AddressSanitizer refuses to run if a library comes before it whose path does not.
 * (It looks for functions that shadow its own; there are none here.) Its own option for that,
 * verify_asan_link_order=0 in ASAN_OPTIONS, is lost when a script below sets ASAN_OPTIONS.
 *
 * Threads: the constructor runs alone; the hook is entered with the GIL, or, without one, by many.
 * Nothing here fails loudly: an interpreter without pyannot is told by bootstrap.py. */
#include "bootstrap_text.h"
#include "preload_parts.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PY_FILE_INPUT = 257, /* Python's Py_file_input, since ever */
    PAGE_SIZE = 4096,
    RUNTIME_MAX = 64 * 1024, /* of _PyRuntime, as far as its list of hooks is looked for */
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
/* A bit for each word of _PyRuntime; one page, not touched in other programs. */
static uint64_t was_set[WORDS_MAX / 64];

/* 0, or -1 with an exception (that of a signal: all others bootstrap.py keeps to itself). */
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

/* Whoever walks the list now may stand on the entry, which therefore stays as it is. */
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
    return run_bootstrap();
}

/* How many words of _PyRuntime there are to look at; 0: not known. */
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

/* The word that was NULL before and points to our entry now. */
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
