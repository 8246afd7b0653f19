/* SPDX-License-Identifier: MIT */
/* libannot-gpu.so: records work of NVIDIA GPUs by CUPTI. The entry point, and its settings.
 *
 * The driver loads the library at cuInit (CUDA_INJECTION64_PATH). It is idle until ANNOT_GPU
 * requests a window (gpu_window.h). In a window CUPTI fills buffers (gpu_buffers.h), and one thread
 * (gpu_thread.h) converts their records to spans (gpu_spans.h). A launching thread pays for a
 * callback (gpu_calls.h): a few stores into a table, no lock, no allocation.
 *
 * Records of CUPTI are read within the sizes that are known here; others are counted as unknown.
 * CUPTI's headers give types; the version of the loaded library decides which functions are used.
 *
 * A tool that was set before (ANNOT_CUDA_NEXT) is started first, as if it were alone; CUPTI is then
 * used only if that tool does not. ANNOT_GPU is a list of words, separated by commas:
 *   on        in windows, during recordings
 *   nodes     each kernel of a graph, not graphs as a whole
 *   profiler  windows between cudaProfilerStart and cudaProfilerStop
 *   stacks=exact, stacks=off   stacks of all launches, of none; else of one of many
 * Without it, this library uses no CUPTI and no thread. ANNOT_GPU_KINDS, in the same format,
 * selects records in addition to work of the GPU (gpu_session.c), ANNOT_GPU_WINDOW the windows
 * (gpu_plan.c; "all"), ANNOT_GPU_BUDGET limits the cost (gpu_governor.c; 1 percent, 0: no
 * limit). */
#include "gpu_emit.h"
#include "gpu_library.h"
#include "gpu_session.h"
#include "gpu_settings.h"
#include "gpu_thread.h"
#include "gpu_trigger.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUDGET_PERCENT = 1 };

__attribute__((visibility("default"))) int InitializeInjection(void);

/* Percent; the default for an invalid text. */
static double read_budget(const char *text)
{
    char *end;
    double budget = text ? strtod(text, &end) : 0;
    return text && end != text && *end == 0 && budget >= 0 && budget <= 100 ? budget
                                                                            : BUDGET_PERCENT;
}

static void read_settings(void)
{
    const char *words = getenv("ANNOT_GPU"), *window = getenv("ANNOT_GPU_WINDOW"), *wrong;
    char text[512];
    if (!words)
        return;
    gpu_settings.nodes = gpu_settings.nodes_requested = gpu_has_word(words, "nodes");
    if (gpu_has_word(words, "stacks=exact"))
        gpu_settings.stacks = GPU_STACKS_EXACT;
    else if (gpu_has_word(words, "stacks=off"))
        gpu_settings.stacks = GPU_STACKS_OFF;
    gpu_kinds_read();
    gpu_settings.wanted =
        gpu_settings.nodes || gpu_has_word(words, "on") || gpu_has_word(words, "profiler");
    gpu_settings.budget = read_budget(getenv("ANNOT_GPU_BUDGET"));
    if (!window || !*window)
        window = gpu_has_word(words, "profiler") ? "profiler" : "all";
    if (gpu_plan_parse(window, &gpu_settings.plan, &wrong) == 0)
        return;
    gpu_settings.wanted = false;
    snprintf(text, sizeof(text), "ANNOT_GPU_WINDOW=%.200s: %s", window, wrong);
    gpu_emit_note(text);
}

/* Adds a note for each recording that begins, now or later. */
static void complain(const char *text)
{
    size_t at = 0;
    while (at + 1 < GPU_COMPLAINTS && gpu_settings.complaints[at])
        at++;
    gpu_settings.complaints[at] = text;
}

/* Starts the next tool. Its result is ignored: this library stays loaded in any case. */
static void start_next(void)
{
    const char *path = getenv("ANNOT_CUDA_NEXT");
    int (*start)(void);
    if (!path || !*path)
        return;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        complain("the tool in CUDA_INJECTION64_PATH could not be loaded");
        return;
    }
    *(void **)&start = dlsym(library, "InitializeInjection");
    if (start && start != InitializeInjection)
        (void)start();
}

/* The driver calls once; a program that reloads the driver may make it call again. */
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
    (void)gpu_library_find(text, sizeof(text)); /* on failure, the recording gets a note */
    pthread_atfork(NULL, NULL, gpu_thread_forget);
    if (gpu_trigger_start() != 0)
        complain("what opens windows cannot be watched");
    if (gpu_thread_start() == 0)
        (void)atexit(gpu_thread_end);
    else
        gpu_emit_note("no thread could be started to read them");
    return 1;
}
