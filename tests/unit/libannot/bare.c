/* SPDX-License-Identifier: MIT */
/* A program without libannot that loads plugins, unloads them, and still calls the one with the
 * serving copy: the runtime must have pinned itself. Arguments: two plugins. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

typedef void (*plugin_run)(int count);

static plugin_run load(const char *path, void **ret_plugin)
{
    plugin_run run = NULL;
    *ret_plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (*ret_plugin)
        *(void **)&run = dlsym(*ret_plugin, "plugin_run");
    else
        fprintf(stderr, "%s\n", dlerror());
    return run;
}

static void *run_thread(void *context)
{
    plugin_run run = *(plugin_run *)context;
    run(3);
    return NULL;
}

int main(int argc, char **argv)
{
    void *first, *second;
    pthread_t thread;
    if (argc != 3)
        return 2;
    plugin_run run = load(argv[1], &first);
    if (!run)
        return 1;
    run(5);
    plugin_run other = load(argv[2], &second);
    if (!other)
        return 1;
    other(7);
    dlclose(second);
    dlclose(first);
    run(5);
    if (pthread_create(&thread, NULL, run_thread, &run) != 0)
        return 1;
    return pthread_join(thread, NULL);
}
