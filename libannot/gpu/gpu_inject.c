/* SPDX-License-Identifier: MIT */
/* What the driver calls when it starts (CUDA_INJECTION64_PATH).
 *
 * A tool that was set before (ANNOT_CUDA_NEXT) comes first, as if it were alone; CUPTI is then used
 * only if that tool does not. ANNOT_GPU, words by comma, says what is wanted:
 *   on        a window for as long as somebody records
 *   profiler  only between cudaProfilerStart and cudaProfilerStop
 *   nodes     each kernel of a graph, not graphs as a whole
 * Without it nothing happens here: no CUPTI, no thread. ANNOT_GPU_KINDS, the same way, says of what
 * else than work of the GPU records are wanted (gpu_kinds.c). */
#include "gpu_parts.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct gpu_settings gpu_settings;

__attribute__((visibility("default"))) int InitializeInjection(void);

bool gpu_has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(words, word); at; at = strstr(at + 1, word))
        if ((at == words || at[-1] == ',') && (at[length] == 0 || at[length] == ','))
            return true;
    return false;
}

static void read_settings(void)
{
    const char *words = getenv("ANNOT_GPU");
    if (!words)
        return;
    gpu_settings.nodes = gpu_has_word(words, "nodes");
    gpu_settings.profiler = gpu_has_word(words, "profiler");
    gpu_kinds_read();
    gpu_settings.wanted = gpu_settings.nodes || gpu_settings.profiler || gpu_has_word(words, "on");
}

/* Whatever it answers, the driver shall not hear: this library is there in any case. */
static void start_next(void)
{
    const char *path = getenv("ANNOT_CUDA_NEXT");
    int (*start)(void);
    if (!path || !*path)
        return;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        gpu_tell_note("the tool in CUDA_INJECTION64_PATH could not be loaded");
        return;
    }
    *(void **)&start = dlsym(library, "InitializeInjection");
    if (start && start != InitializeInjection)
        (void)start();
}

/* The driver calls once; a program that loads the driver anew may make it call again. */
int InitializeInjection(void)
{
    static uint32_t calls;
    char text[512];
    if (__atomic_fetch_add(&calls, 1, __ATOMIC_SEQ_CST) > 0)
        return 1;
    start_next();
    read_settings();
    if (!gpu_settings.wanted)
        return 1;
    if (gpu_library_find(text, sizeof(text)) != 0) {
        gpu_tell_note(text);
        return 1;
    }
    pthread_atfork(NULL, NULL, gpu_thread_forget);
    if (gpu_thread_start() == 0)
        (void)atexit(gpu_thread_end);
    else
        gpu_tell_note("no thread could be started to read them");
    return 1;
}
