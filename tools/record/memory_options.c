/* SPDX-License-Identifier: MIT */
/* Implements memory_options.h. */
#include "memory_options.h"

#include "cmd.h"
#include "record_inject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Its path goes through a folder for AddressSanitizer's sake: see libannot/heap/libasan.so. */
static bool find_library(char path[PATH_MAX])
{
    static const char name[] = "libannot-heap.so";
    char found[PATH_MAX];
    if (!library_of_annot(name, found))
        return false;
    size_t folder = strlen(found) - (sizeof(name) - 1);
    int length = snprintf(path, PATH_MAX, "%.*slibasan.so/../%s", (int)folder, found, name);
    return length > 0 && length < PATH_MAX && access(path, R_OK) == 0;
}

/* Bytes between two samples on average: 2,000 samples a second of a program that allocates 1 GB/s,
 * 1 % of a processor. */
enum { RATE_BYTES = 512 * 1024 };

int memory_check(const struct memory_values *values, int status)
{
    char path[PATH_MAX];
    if (!memory_is_on(values) || find_library(path))
        return 0;
    return cmd_fail(status, "option --memory: libannot-heap.so is missing\n"
                            "install annot again");
}

void memory_apply(const struct memory_values *values, struct memory_environment *environment,
                  struct collector_options *options)
{
    if (!memory_is_on(values) || !find_library(environment->library))
        return;
    if (values->exact)
        options->heap_exact = true;
    else
        options->heap_library = environment->library;
}

int memory_begin(const struct memory_values *values, const struct collector *collector, int status)
{
    const struct trace *trace = collector_trace(collector);
    const struct trace_sampling *sampling = trace_sampling_get(trace);
    if (!memory_is_on(values) || values->exact || sampling->rung == SAMPLING_BPF)
        return 0;
    return cmd_fail(status, "option --memory needs eBPF: %s\n%s",
                    trace_string(trace, sampling->reason)->bytes,
                    trace_string(trace, sampling->hint)->bytes);
}

/* See libannot/heap/heap_hooks.c. */
static void write_mode(const struct memory_values *values, const struct collector *collector,
                       struct memory_environment *environment)
{
    if (values->exact)
        snprintf(environment->mode, sizeof(environment->mode), "exact:%s:%s",
                 collector_session_text(collector), collector_directory(collector));
    else
        snprintf(environment->mode, sizeof(environment->mode), "%d", RATE_BYTES);
}

size_t memory_environment(const struct memory_values *values, const struct collector *collector,
                          const char *preload, struct memory_environment *environment)
{
    if (!memory_is_on(values) || environment->library[0] == 0)
        return 0;
    const char *others = preload ? preload : getenv("LD_PRELOAD");
    bool alone = !others || !*others;
    int length = snprintf(environment->preload, sizeof(environment->preload), "%s%s%s",
                          environment->library, alone ? "" : ":", alone ? "" : others);
    if (length < 0 || (size_t)length >= sizeof(environment->preload))
        return 0;
    write_mode(values, collector, environment);
    environment->variables[0] = (struct child_variable){"LD_PRELOAD", environment->preload};
    environment->variables[1] = (struct child_variable){"ANNOT_HEAP", environment->mode};
    return 2;
}
