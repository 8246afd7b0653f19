/* SPDX-License-Identifier: MIT */
/* A slow tool that then loads a library, and a library that calls NVTX while it is loaded, in
 * another thread at the same time. Arguments: this library, and the tool's library. */
#ifdef SLOW_TOOL
#define NVTX_NO_IMPL
#endif
#include <nvtx3/nvToolsExt.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(SLOW_TOOL)

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t table);

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t table)
{
    (void)table;
    usleep(300000);
    const char *path = getenv("NVTX_LOCKS_LIBRARY");
    return path && dlopen(path, RTLD_NOW) != NULL;
}

#elif defined(AT_LOAD)

__attribute__((constructor)) static void mark(void)
{
    nvtxMarkA("at load");
}

#elif defined(EMPTY)

int nothing_at_all;

#else

static void *load(void *path)
{
    usleep(100000);
    if (!dlopen(path, RTLD_NOW))
        abort();
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc != 3 || setenv("NVTX_LOCKS_LIBRARY", argv[2], 1) != 0 ||
        pthread_create(&thread, NULL, load, argv[1]) != 0)
        return 1;
    nvtxMarkA("main");
    return pthread_join(thread, NULL);
}

#endif
