/* SPDX-License-Identifier: MIT */
/* Samples of the program counter in kernels, with stall reasons of the sampled warps: CUPTI's PC
 * Sampling API, in its continuous mode.
 *
 * A context is sampled from its first launch in a window until the window is shut. CUPTI adds up by
 * place; once a second, and at the end, our thread reads the sums and emits them. If sampling is
 * not permitted, or fails, it is reported once, and the window continues without it. Written by
 * CUPTI's headers and by other users' code; no GPU has run it yet (docs/guides/gpu.md).
 *
 * Threads: any, one at a time by a separate lock. A launch never waits for it; a thread that
 * unloads a module waits for a twentieth of a second at most, one that destroys a context for a
 * second. The lock is held in calls of CUPTI, which makes no callbacks in them. */
#include "gpu_pc.h"

#include "gpu_governor.h"
#include "gpu_library.h"
#include "gpu_session.h"
#include "gpu_thread.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CONTEXTS = 16, TURNS = 64 };

/* Limits of waiting for the lock on threads of the program. */
enum { UNLOAD_NS = 50000000, DESTROY_NS = 1000000000 };

/* Memory of the device, where samples wait for CUPTI; and of the process. */
#define HARDWARE_BYTES ((size_t)128 << 20)
#define SCRATCH_BYTES  ((size_t)8 << 20)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Contexts that are sampled, or were refused: then without reasons. Launching threads read only the
 * first array. */
static CUcontext met[CONTEXTS]; /* NULL: free. W: with the lock; atomic */

static struct sampled {
    struct gpu_pc_reasons *reasons;
    struct gpu_pc_data configured; /* owned by CUPTI until disabled: then the remaining samples */
} sampled[CONTEXTS];
static struct gpu_pc_data taken; /* buffer for CUPTI to fill */
static struct gpu_pc_sums sums;
static uint64_t wrong;      /* unreadable records */
static uint32_t is_over;    /* sampling is off for this process. Atomic */
static uint32_t is_full;    /* more contexts than entries. The same */
static uint32_t was_shared; /* with another tool, which was reported. The same */

static bool is_set(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED) != 0;
}

static CUcontext context_of(int place)
{
    return __atomic_load_n(&met[place], __ATOMIC_RELAXED);
}

static int find(CUcontext context)
{
    for (int i = 0; i < CONTEXTS; i++)
        if (context_of(i) == context)
            return i;
    return -1;
}

static bool take_lock(long patience_ns)
{
    const struct timespec turn = {.tv_nsec = 100000};
    for (long waited_ns = 0; waited_ns < patience_ns; waited_ns += turn.tv_nsec) {
        if (pthread_mutex_trylock(&lock) == 0)
            return true;
        (void)nanosleep(&turn, NULL);
    }
    return false;
}

/* ---- Failures -------------------------------------------------------------------------------- */

#define WITHOUT "kernels are recorded without stall reasons: "

static void give_up(const char *why)
{
    char text[640];
    if (__atomic_exchange_n(&is_over, 1, __ATOMIC_RELAXED) != 0)
        return;
    snprintf(text, sizeof(text), WITHOUT "%s", why);
    gpu_emit_note(text);
}

static bool any_sampled(void)
{
    for (int i = 0; i < CONTEXTS; i++)
        if (sampled[i].reasons)
            return true;
    return false;
}

/* If one context can be sampled, another one may still be refused. */
static void refuse(const char *function, CUptiResult result)
{
    char text[512];
    if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ||
        result == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES)
        snprintf(text, sizeof(text),
                 "the driver lets only administrators sample kernels (annot doctor says more)");
    else
        gpu_library_say(text, sizeof(text), function, result);
    if (!any_sampled())
        give_up(text);
    else
        gpu_emit_note(text);
    gpu_thread_wake();
}

bool gpu_pc_possible(void)
{
    if (!gpu_wanted.pc || is_set(&is_over))
        return false;
    if (!cupti.pc_enable || !cupti.pc_disable || !cupti.pc_get_data || !cupti.pc_configure ||
        !cupti.pc_count_reasons || !cupti.pc_get_reasons)
        give_up("this libcupti cannot sample kernels");
    if (!gpu_session_is_shared() || is_set(&is_over))
        return !is_set(&is_over);
    if (__atomic_exchange_n(&was_shared, 1, __ATOMIC_RELAXED) == 0)
        gpu_emit_note(WITHOUT "another tool uses CUPTI, too");
    return false;
}

/* ---- Reading samples ------------------------------------------------------------------------- */

static void emit_place(void *context, const struct gpu_pc *pc)
{
    (void)context;
    gpu_emit_pc(pc);
}

static void read_data(const struct gpu_pc_data *data, const struct gpu_pc_reasons *reasons)
{
    sums.samples += data->head.totalSamples;
    sums.dropped += data->head.droppedSamples;
    sums.others += data->head.nonUsrKernelsTotalSamples;
    sums.full += data->head.hardwareBufferFull != 0;
    wrong += gpu_pc_data_read(data, reasons, emit_place, NULL);
}

static void emit_of(int place)
{
    CUpti_PCSamplingGetDataParams params = {.size = CUpti_PCSamplingGetDataParamsSize,
                                            .ctx = context_of(place),
                                            .pcSamplingData = &taken.head};
    for (int turn = 0; turn < TURNS; turn++) {
        gpu_pc_data_clear(&taken);
        CUptiResult result = cupti.pc_get_data(&params);
        if (result != CUPTI_SUCCESS && result != CUPTI_ERROR_OUT_OF_MEMORY)
            return;
        read_data(&taken, sampled[place].reasons);
        if (result != CUPTI_SUCCESS || taken.head.remainingNumPcs == 0)
            return;
    }
}

static void emit_sums(void)
{
    char text[128];
    if (sums.samples + sums.dropped + sums.others + sums.full != 0)
        gpu_emit_pc_sums(&sums);
    if (wrong != 0) {
        snprintf(text, sizeof(text), "%lu records of stall reasons could not be read",
                 (unsigned long)wrong);
        gpu_emit_note(text);
    }
    sums = (struct gpu_pc_sums){0};
    wrong = 0;
}

/* ---- Contexts -------------------------------------------------------------------------------- */

static CUptiResult find_reasons(CUcontext context, struct gpu_pc_reasons *reasons)
{
    char *names[GPU_PC_REASONS];
    CUpti_PCSamplingGetNumStallReasonsParams count = {
        .size = CUpti_PCSamplingGetNumStallReasonsParamsSize,
        .ctx = context,
        .numStallReasons = &reasons->count};
    CUpti_PCSamplingGetStallReasonsParams get = {.size = CUpti_PCSamplingGetStallReasonsParamsSize,
                                                 .ctx = context,
                                                 .stallReasonIndex = reasons->indexes,
                                                 .stallReasons = names};
    CUptiResult result = cupti.pc_count_reasons(&count);
    if (result == CUPTI_SUCCESS && reasons->count > GPU_PC_REASONS)
        result = CUPTI_ERROR_MAX_LIMIT_REACHED;
    if (result != CUPTI_SUCCESS)
        return result;
    for (int i = 0; i < GPU_PC_REASONS; i++)
        names[i] = reasons->names[i];
    get.numStallReasons = reasons->count;
    result = cupti.pc_get_reasons(&get);
    for (int i = 0; i < GPU_PC_REASONS; i++)
        reasons->names[i][CUPTI_STALL_REASON_STRING_SIZE - 1] = 0;
    return result;
}

static CUptiResult configure(CUcontext context, struct gpu_pc_data *buffer)
{
    CUpti_PCSamplingConfigurationInfo info[] = {
        {.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE,
         .attributeData.collectionModeData = {CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS}},
        {.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE,
         .attributeData.hardwareBufferSizeData = {HARDWARE_BYTES}},
        {.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE,
         .attributeData.scratchBufferSizeData = {SCRATCH_BYTES}},
        {.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER,
         .attributeData.samplingDataBufferData = {&buffer->head}},
        {.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD,
         .attributeData.samplingPeriodData = {gpu_wanted.pc_period}},
    };
    size_t all = sizeof(info) / sizeof(info[0]);
    CUpti_PCSamplingConfigurationInfoParams params = {
        .size = CUpti_PCSamplingConfigurationInfoParamsSize,
        .ctx = context,
        .numAttributes = gpu_wanted.pc_period ? all : all - 1, /* else CUPTI's default */
        .pPCSamplingConfigurationInfo = info};
    return cupti.pc_configure(&params);
}

static CUptiResult disable(CUcontext context)
{
    CUpti_PCSamplingDisableParams params = {.size = CUpti_PCSamplingDisableParamsSize,
                                            .ctx = context};
    return cupti.pc_disable(&params);
}

/* Prepares an enabled context. On failure, the caller frees `one`. */
static CUptiResult prepare(CUcontext context, struct sampled *one)
{
    one->reasons = calloc(1, sizeof(*one->reasons));
    if (!one->reasons)
        return CUPTI_ERROR_OUT_OF_MEMORY;
    CUptiResult result = find_reasons(context, one->reasons);
    if (result != CUPTI_SUCCESS)
        return result;
    size_t reasons = one->reasons->count;
    if (taken.reasons < reasons) { /* the buffer is used for all contexts in turn */
        gpu_pc_data_fini(&taken);
        if (gpu_pc_data_init(&taken, cupti.version, GPU_PC_ROWS, reasons) != 0)
            return CUPTI_ERROR_OUT_OF_MEMORY;
    }
    if (gpu_pc_data_init(&one->configured, cupti.version, GPU_PC_ROWS, reasons) != 0)
        return CUPTI_ERROR_OUT_OF_MEMORY;
    return configure(context, &one->configured);
}

static void free_one(struct sampled *one)
{
    free(one->reasons);
    gpu_pc_data_fini(&one->configured);
    *one = (struct sampled){0};
}

static void begin(CUcontext context, int place)
{
    CUpti_PCSamplingEnableParams params = {.size = CUpti_PCSamplingEnableParamsSize,
                                           .ctx = context};
    const char *function = "cuptiPCSamplingEnable";
    CUptiResult result = cupti.pc_enable(&params);
    if (result == CUPTI_SUCCESS) {
        function = "PC sampling";
        /* Filled in place: CUPTI keeps the address of the buffer. */
        result = prepare(context, &sampled[place]);
        if (result != CUPTI_SUCCESS)
            (void)disable(context);
    }
    if (result != CUPTI_SUCCESS) {
        free_one(&sampled[place]);
        refuse(function, result);
    }
    __atomic_store_n(&met[place], context, __ATOMIC_RELAXED);
}

static void end(int place)
{
    struct sampled *one = &sampled[place];
    if (one->reasons) {
        emit_of(place);
        if (disable(context_of(place)) == CUPTI_SUCCESS)
            read_data(&one->configured, one->reasons);
        free_one(one);
    }
    __atomic_store_n(&met[place], NULL, __ATOMIC_RELAXED);
}

/* ---- The program's threads ------------------------------------------------------------------- */

void gpu_pc_met(CUcontext context)
{
    struct timespec before, after;
    if (!context || is_set(&is_over) || is_set(&is_full) || find(context) >= 0 ||
        gpu_session_is_shared() || pthread_mutex_trylock(&lock) != 0)
        return;
    clock_gettime(CLOCK_MONOTONIC, &before);
    int place = find(NULL);
    if (find(context) < 0 && place >= 0)
        begin(context, place);
    else if (place < 0 && __atomic_exchange_n(&is_full, 1, __ATOMIC_RELAXED) == 0)
        gpu_emit_note("stall reasons are recorded of 16 contexts, not of all");
    pthread_mutex_unlock(&lock);
    clock_gettime(CLOCK_MONOTONIC, &after);
    gpu_governor_add((uint64_t)((after.tv_sec - before.tv_sec) * INT64_C(1000000000) +
                                after.tv_nsec - before.tv_nsec));
}

void gpu_pc_gone(CUcontext context)
{
    if (!context || find(context) < 0 || !take_lock(DESTROY_NS))
        return;
    int place = find(context);
    if (place >= 0)
        end(place);
    __atomic_store_n(&is_full, 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}

void gpu_pc_unloads(CUcontext context)
{
    if (!context || find(context) < 0)
        return;
    if (!take_lock(UNLOAD_NS)) {
        gpu_emit_note("stall reasons of a module that was unloaded may be another one's");
        return;
    }
    int place = find(context);
    if (place >= 0 && sampled[place].reasons)
        emit_of(place);
    pthread_mutex_unlock(&lock);
}

/* ---- Our thread ------------------------------------------------------------------------------ */

void gpu_pc_emit(void)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < CONTEXTS; i++)
        if (sampled[i].reasons)
            emit_of(i);
    emit_sums();
    pthread_mutex_unlock(&lock);
}

/* Refused contexts stay refused. */
void gpu_pc_shut(void)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < CONTEXTS; i++)
        if (sampled[i].reasons)
            end(i);
    emit_sums();
    __atomic_store_n(&is_full, 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}

void gpu_pc_forget(void)
{
    memset(met, 0, sizeof(met));
    memset(sampled, 0, sizeof(sampled));
    pthread_mutex_init(&lock, NULL);
}
