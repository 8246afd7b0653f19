/* SPDX-License-Identifier: MIT */
/* Hooks that gcc and clang call at the begin and end of each function with -finstrument-functions.
 *
 * Threads: any, also signal handlers; lock-free, no allocation, preserves errno. Names are resolved
 * once per function and stored in a fixed table by address. After a dlclose each is resolved again,
 * because another library may be mapped at that address. Without a recording, a call costs a load
 * and a test. */
#include "function_place.h"

#include <annot/annot.h>
#include <annot/function_calls.h>
#include <annot_barrier.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#define EXPORT __attribute__((visibility("default"), no_instrument_function))

enum {
    SLOT_BITS = 17, /* twice libannot's limit of names */
    SLOT_COUNT = 1 << SLOT_BITS,
    PROBES = 32, /* the longest probe sequence */
};

struct slot {
    uintptr_t function; /* 0 = empty; W: swapped in once */
    uint64_t named;     /* epoch << 32 | name; W: all, atomic */
};

static struct slot slots[SLOT_COUNT];
static uint32_t epoch = 1; /* W: all, atomic */
static int (*real_dlclose)(void *handle);
/* Set while learn() runs: a program may interpose functions it calls, compiled with the hooks. */
static __thread int is_learning __attribute__((tls_model("initial-exec")));

EXPORT void __cyg_profile_func_enter(void *function, void *site);
EXPORT void __cyg_profile_func_exit(void *function, void *site);
EXPORT int dlclose(void *handle);

static uint32_t slot_of(uintptr_t function)
{
    return (uint32_t)((uint64_t)function * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SLOT_BITS));
}

static void remember(uintptr_t function, uint64_t named)
{
    uint32_t index = slot_of(function);
    for (uint32_t probe = 0; probe < PROBES; probe++, index++) {
        struct slot *slot = &slots[index % SLOT_COUNT];
        uintptr_t found = annot_load_relaxed(&slot->function);
        /* Partner: itself. */
        if (found == 0 && annot_cas_acq_rel(&slot->function, &found, function))
            found = function;
        if (found == function) {
            annot_store_release(&slot->named, named); /* partner: name_of */
            return;
        }
    }
}

/* Resolves a function at its first call, or its first call since the last dlclose. */
static __attribute__((noinline, cold)) annot_name learn(uintptr_t function)
{
    struct function_place place;
    uint32_t now = annot_load_acquire(&epoch); /* partner: dlclose */
    int error = errno;
    is_learning = 1;
    annot_signal_fence();
    annot_name name = 0;
    if (function_place_find(function, now, &place))
        name = annot_function_name(place.path, function - place.begin + place.offset, place.inode);
    else
        name = annot_name_intern("[anonymous code]");
    if (name != 0)
        remember(function, (uint64_t)now << 32 | name);
    else
        name = annot_name_intern("[too many functions]");
    annot_signal_fence();
    is_learning = 0;
    errno = error;
    return name;
}

static inline annot_name name_of(uintptr_t function)
{
    uint32_t index = slot_of(function);
    for (uint32_t probe = 0; probe < PROBES; probe++, index++) {
        const struct slot *slot = &slots[index % SLOT_COUNT];
        uintptr_t found = annot_load_relaxed(&slot->function);
        if (__builtin_expect(found == function, 1)) {
            uint64_t named = annot_load_acquire(&slot->named); /* partner: remember */
            if (__builtin_expect(named >> 32 == annot_load_relaxed(&epoch), 1))
                return (annot_name)named;
            break;
        }
        if (found == 0)
            break;
    }
    return learn(function);
}

void __cyg_profile_func_enter(void *function, void *site)
{
    if (__builtin_expect(!annot_enabled(), 1) || is_learning)
        return;
    const struct annot_call call = {function, site, __builtin_dwarf_cfa()};
    annot_emit_call(name_of((uintptr_t)function), &call);
}

/* Compilers may tail-call this hook: then it returns directly to the function's call site. */
void __cyg_profile_func_exit(void *function, void *site)
{
    if (__builtin_expect(!annot_enabled(), 1) || is_learning)
        return;
    const struct annot_call call = {function, site, __builtin_dwarf_cfa()};
    annot_emit_return(&call, __builtin_return_address(0) == site);
}

/* Interposes the C library's dlclose. */
int dlclose(void *handle)
{
    int (*next)(void *) = annot_load_relaxed(&real_dlclose);
    if (!next) {
        void *found = dlsym(RTLD_NEXT, "dlclose");
        __builtin_memcpy(&next, &found, sizeof(next));
        annot_store_relaxed(&real_dlclose, next);
    }
    if (!next)
        return -1;
    int result = next(handle);
    annot_fetch_add_relaxed(&epoch, 1u); /* partner: learn, name_of: a dlopen comes after this */
    return result;
}

__attribute__((constructor)) static void begin(void)
{
    pthread_atfork(NULL, NULL, function_place_after_fork);
}
