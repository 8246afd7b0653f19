/* SPDX-License-Identifier: MIT */
/* Launches kernels from C functions, inside of ranges, in known numbers.
 *
 *     stacks_program COUNT */
#include "fake_cupti.h"

#include <annot/annot.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static fake_launch_function *launch;

static void *function_of(const char *library, const char *name)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    void *function = handle ? dlsym(handle, name) : NULL;
    if (!function)
        exit(1);
    return function;
}

__attribute__((noinline, noclone)) static void launch_small(void)
{
    launch("small", 100);
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline, noclone)) static void launch_large(void)
{
    launch("large", 1000);
    launch("small", 300);
    __asm__ volatile("" ::: "memory");
}

int main(int count, char **words)
{
    int (*start)(void);
    if (count < 2)
        return 2;
    *(void **)&start = function_of(getenv("CUDA_INJECTION64_PATH"), "InitializeInjection");
    *(void **)&launch = function_of(getenv("FAKE_CUPTI"), "fake_launch");
    start();
    launch("warm", 1);
    usleep(500000);
    annot_push("outer");
    for (int i = atoi(words[1]); i > 0; i--) {
        annot_push("inner");
        launch_small();
        annot_pop();
        launch_large();
    }
    annot_pop();
    return 0;
}
