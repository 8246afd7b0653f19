/* SPDX-License-Identifier: MIT */
/* Maps the program's streams to CUPTI's numbers, for the names that programs give.
 *
 * A launching call has a stream's handle; records have numbers. CUPTI returns the number of a new
 * handle. Handles are reused after a stream is destroyed, so its last name is stored. Threads: any;
 * a lock, except for recently used handles. */
#include "gpu_streams.h"

#include "gpu_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { STREAMS = 1024, TRIES = 16, SEEN = 256, NAME_SIZE = 64 };

/* Kinds in libannot-inject's table: enum inject_object. */
enum { OBJECT_CONTEXT = 2, OBJECT_STREAM = 3, OBJECT_RUNTIME_STREAM = 6 };

static struct stream {
    uint64_t id;     /* context << 32 | number, as in records; 0: empty */
    uint64_t handle; /* 0: the default one's, or unknown */
    uint64_t context;
    bool is_default, is_gone;
    char name[NAME_SIZE]; /* of a destroyed one */
} streams[STREAMS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* By handle and context: known ones. Atomic. */
static uint64_t seen[SEEN];

/* ---- Names by NVTX --------------------------------------------------------------------------- */

typedef const char *find_object(uint32_t kind, uint64_t value);

/* Returns NULL if the program does not use NVTX, or not yet. */
static find_object *objects(void)
{
    static find_object *find;
    if (find)
        return find;
    *(void **)&find = dlsym(RTLD_DEFAULT, "annot_inject_object");
    void *library = find ? NULL : dlopen("libannot-inject.so", RTLD_LAZY | RTLD_NOLOAD);
    if (library)
        *(void **)&find = dlsym(library, "annot_inject_object");
    return find;
}

static const char *name_of(const struct stream *stream)
{
    find_object *find = objects();
    if (stream->is_gone)
        return stream->name[0] ? stream->name : NULL;
    if (!find || (stream->handle == 0 && stream->context == 0))
        return NULL;
    const char *name = find(OBJECT_STREAM, stream->handle);
    return name ? name : find(OBJECT_RUNTIME_STREAM, stream->handle);
}

/* ---- The table ------------------------------------------------------------------------------- */

/* Returns its entry, or an empty one; NULL: all nearby are taken. */
static struct stream *find_place(uint64_t id)
{
    uint64_t at = (id * UINT64_C(0x9e3779b97f4a7c15)) >> 40;
    for (uint32_t i = 0; i < TRIES; i++) {
        struct stream *stream = &streams[(at + i) % STREAMS];
        if (stream->id == id || stream->id == 0)
            return stream;
    }
    return NULL;
}

void gpu_context_met(uint32_t context, uint32_t default_stream)
{
    uint64_t id = (uint64_t)context << 32 | default_stream;
    pthread_mutex_lock(&lock);
    struct stream *stream = find_place(id);
    if (stream) {
        stream->id = id;
        stream->is_default = true;
    }
    pthread_mutex_unlock(&lock);
}

static uint64_t *seen_place(uint64_t key)
{
    return &seen[(key * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
}

static uint64_t key_of(uint64_t handle, uint32_t context)
{
    return (handle ^ (uint64_t)context << 48) + 1;
}

struct meeting {
    CUcontext context;
    CUstream handle;
    uint32_t context_id;
    bool per_thread; /* the meaning of handle 0 */
};

static void enter(const struct meeting *met)
{
    uint32_t number = 0;
    if (!cupti.get_stream_id ||
        cupti.get_stream_id(met->context, met->handle, met->per_thread, &number) != CUPTI_SUCCESS)
        return;
    uint64_t id = (uint64_t)met->context_id << 32 | number;
    pthread_mutex_lock(&lock);
    struct stream *stream = find_place(id);
    if (stream) {
        stream->id = id;
        stream->handle = (uintptr_t)met->handle;
        stream->context = (uintptr_t)met->context;
        stream->is_default = stream->is_default || (uintptr_t)met->handle <= 1;
        stream->is_gone = false;
    }
    pthread_mutex_unlock(&lock);
}

static void meet(const struct meeting *met)
{
    uint64_t key = key_of((uintptr_t)met->handle, met->context_id);
    uint64_t *place = seen_place(key);
    if (__builtin_expect(__atomic_load_n(place, __ATOMIC_RELAXED) == key, 1))
        return;
    __atomic_store_n(place, key, __ATOMIC_RELAXED);
    enter(met);
}

/* Handles calls with the stream at the same offset in every driver version; others follow. */
void gpu_stream_met(CUpti_CallbackId id, const CUpti_CallbackData *call)
{
    const void *words = call->functionParams;
    struct meeting met = {call->context, NULL, call->contextUid, false};
    if (!words)
        return;
    switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
        met.per_thread = true;
        met.handle = ((const cuLaunchKernel_ptsz_params *)words)->hStream;
        break;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
        met.handle = ((const cuLaunchKernel_params *)words)->hStream;
        break;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz:
        met.per_thread = true;
        met.handle = ((const cuGraphLaunch_ptsz_params *)words)->hStream;
        break;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch:
        met.handle = ((const cuGraphLaunch_params *)words)->hStream;
        break;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx: {
        const cuLaunchKernelEx_params *launch = words;
        met.handle = launch->config ? launch->config->hStream : NULL;
        break;
    }
    default:
        return;
    }
    meet(&met);
}

void gpu_stream_gone(CUstream handle)
{
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < STREAMS; i++) {
        struct stream *stream = &streams[i];
        if (stream->id == 0 || stream->is_gone || stream->handle != (uintptr_t)handle ||
            stream->is_default)
            continue;
        const char *name = name_of(stream);
        strncpy(stream->name, name ? name : "", NAME_SIZE - 1);
        stream->is_gone = true;
        uint64_t key = key_of(stream->handle, (uint32_t)(stream->id >> 32));
        __atomic_store_n(seen_place(key), 0, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&lock);
}

void gpu_streams_forget(void)
{
    pthread_mutex_init(&lock, NULL);
}

/* ---- Texts ----------------------------------------------------------------------------------- */

/* Omits the first context, the only one in nearly all programs. */
static void add_context(uint32_t context, const struct stream *stream, char *text, size_t size)
{
    find_object *find = objects();
    const char *name =
        find && stream && stream->context ? find(OBJECT_CONTEXT, stream->context) : NULL;
    size_t used = strlen(text);
    if (name)
        snprintf(text + used, size - used, " of %s", name);
    else if (context != 1)
        snprintf(text + used, size - used, " of context %u", context);
}

void gpu_stream_text(uint32_t context, uint32_t number, char *text, size_t size)
{
    pthread_mutex_lock(&lock);
    uint64_t id = (uint64_t)context << 32 | number;
    const struct stream *stream = find_place(id);
    if (stream && stream->id != id)
        stream = NULL;
    const char *name = stream ? name_of(stream) : NULL;
    if (name)
        snprintf(text, size, "%s (stream %u)", name, number);
    else
        snprintf(text, size, "%s %u", stream && stream->is_default ? "default stream" : "stream",
                 number);
    add_context(context, stream, text, size);
    pthread_mutex_unlock(&lock);
}
