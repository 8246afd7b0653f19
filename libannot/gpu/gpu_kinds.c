/* SPDX-License-Identifier: MIT */
/* Which kinds of activities a window has.
 *
 * A kind costs something for each activity of it, and most for the calls, which are as many as
 * launches or more (tests/gpu/README.md). ANNOT_GPU_KINDS, words by comma:
 *   runtime   calls of the CUDA runtime; also if there is no such variable
 *   driver    calls of the driver, those of the runtime among them
 *   events    events of streams
 *   unified   memory that moves because it was touched
 *   pc, pc=N  samples of the program counter (gpu_pc.c), one in 2^N cycles; N is 5 to 31
 * While the program counter is sampled, kernels run one after the other: CUPTI does not record
 * those that overlap and sample at the same time. Threads: that of the window, one after the other.
 */
#include "gpu_parts.h"

#include <stdlib.h>
#include <string.h>

struct gpu_wanted gpu_wanted;

static bool is_serial; /* the window that is open */

/* 0: none, or none that there is. */
static uint32_t read_period(const char *words)
{
    const char *word = strstr(words, "pc=");
    unsigned long period = word ? strtoul(word + strlen("pc="), NULL, 10) : 0;
    return period >= GPU_PC_PERIOD_MIN && period <= GPU_PC_PERIOD_MAX ? (uint32_t)period : 0;
}

void gpu_kinds_read(void)
{
    const char *words = getenv("ANNOT_GPU_KINDS");
    words = words ? words : "runtime";
    gpu_wanted = (struct gpu_wanted){
        .runtime = gpu_has_word(words, "runtime"),
        .driver = gpu_has_word(words, "driver"),
        .events = gpu_has_word(words, "events"),
        .unified = gpu_has_word(words, "unified"),
        .pc = gpu_has_word(words, "pc") || read_period(words) != 0,
        .pc_period = read_period(words),
    };
}

static const CUpti_ActivityKind kinds[] = {
    CUPTI_ACTIVITY_KIND_DEVICE,  CUPTI_ACTIVITY_KIND_CONTEXT,         CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,          CUPTI_ACTIVITY_KIND_MEMORY2,
    CUPTI_ACTIVITY_KIND_JIT,     CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_OVERHEAD};

/* Without it, a graph is its kernels. */
static bool has_whole_graphs(void)
{
    return !gpu_settings.nodes && !(gpu_faults(cupti.version) & GPU_FAULT_NO_GRAPHS);
}

/* Each device counts for itself; one that has no unified memory answers with an error. */
static void configure_unified(void)
{
    enum { DEVICES = 16, COUNTERS = 3 };

    static const CUpti_ActivityUnifiedMemoryCounterKind counters[COUNTERS] = {
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT};
    for (uint32_t device = 0; device < DEVICES; device++) {
        CUpti_ActivityUnifiedMemoryCounterConfig configs[COUNTERS];
        for (uint32_t i = 0; i < COUNTERS; i++)
            configs[i] = (CUpti_ActivityUnifiedMemoryCounterConfig){
                CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE, counters[i],
                device, 1};
        if (cupti.configure_unified(configs, COUNTERS) != CUPTI_SUCCESS)
            return;
    }
}

static void enable_asked(bool on)
{
    if (gpu_wanted.runtime)
        gpu_session_enable(CUPTI_ACTIVITY_KIND_RUNTIME, on);
    if (gpu_wanted.runtime && on)
        gpu_api_leave_out();
    if (gpu_wanted.driver)
        gpu_session_enable(CUPTI_ACTIVITY_KIND_DRIVER, on);
    if (gpu_wanted.events)
        gpu_session_enable(CUPTI_ACTIVITY_KIND_CUDA_EVENT, on);
    if (gpu_wanted.unified && cupti.configure_unified) {
        if (on)
            configure_unified();
        gpu_session_enable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, on);
    }
}

static void enable_kernels(bool on)
{
    gpu_session_enable(
        is_serial ? CUPTI_ACTIVITY_KIND_KERNEL : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, on);
}

void gpu_kinds_look(void)
{
    if (!is_serial || gpu_pc_possible())
        return;
    enable_kernels(false);
    is_serial = false;
    enable_kernels(true);
}

void gpu_kinds_enable(bool on)
{
    if (on)
        is_serial = gpu_pc_possible();
    enable_kernels(on);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        gpu_session_enable(kinds[i], on);
    enable_asked(on);
    if (has_whole_graphs() || !on)
        gpu_session_enable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, on);
}
