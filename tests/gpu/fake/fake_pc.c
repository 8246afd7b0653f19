/* SPDX-License-Identifier: MIT */
/* CUPTI's PC Sampling API for machines without a GPU, following the rules of its header. The
 * samples are made up: two kernels with sums that tests know. FAKE_PC has words separated by
 * commas:
 *
 *     privileges   cuptiPCSamplingEnable answers 35: only administrators may
 *     unsupported  it answers 27
 *     attribute    a configuration is refused, after the context was enabled
 *     dropped      a third of the samples were dropped by the device
 *     full         the device's buffer is full: 8, and no places
 *     lies         more places and reasons than there is room for; no name
 *     unloads      a module of the context of the 20th launch is unloaded
 *     gone         that context is destroyed; the next launch is in another one of its number
 *     old          records as before CUDA 12.4 (with FAKE_CUPTI_VERSION below 22)
 *
 * Each enabled context has the same samples, in two parts: cuptiPCSamplingGetData returns
 * ROWS_A_CALL places at a time, and one more place is only returned when it is disabled. */
#include "fake_parts.h"

#include <cupti_pcsampling.h>
#include <stdlib.h>
#include <string.h>

enum { REASONS = 4, PLACES = 40, ROWS_A_CALL = 16, CONTEXTS = 8, STRIDE = 64, OLD_STRIDE = 56 };

static const char *const names[REASONS] = {
    "smsp__pcsamp_warps_issue_stalled_selected",
    "smsp__pcsamp_warps_issue_stalled_long_scoreboard",
    "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued",
    "smsp__pcsamp_warps_issue_stalled_barrier",
};

static struct context {
    CUcontext context; /* NULL: free */
    CUpti_PCSamplingData *buffer;
    int handed_out;
} contexts[CONTEXTS];

static bool has(const char *word)
{
    const char *words = getenv("FAKE_PC");
    return words && strstr(words, word);
}

static struct context *find(CUcontext context)
{
    for (int i = 0; i < CONTEXTS; i++)
        if (contexts[i].context == context)
            return &contexts[i];
    return NULL;
}

bool fake_pc_is_empty(CUcontext context, bool destroyed)
{
    const struct context *found = find(context);
    return destroyed ? !found : found && found->handed_out == PLACES;
}

CUptiResult cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams *params)
{
    fake_rule(params->size == CUpti_PCSamplingEnableParamsSize && params->ctx,
              "params have a size");
    fake_rule(!fake.kinds[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL],
              "kernels that overlap are not recorded while they are sampled");
    fake_rule(!find(params->ctx), "a context is enabled once");
    if (has("privileges"))
        return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
    if (has("unsupported"))
        return CUPTI_ERROR_NOT_SUPPORTED;
    *find(NULL) = (struct context){.context = params->ctx};
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingGetNumStallReasons(CUpti_PCSamplingGetNumStallReasonsParams *params)
{
    fake_rule(find(params->ctx) != NULL, "a context is enabled first");
    *params->numStallReasons = REASONS;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingGetStallReasons(CUpti_PCSamplingGetStallReasonsParams *params)
{
    fake_rule(params->numStallReasons == REASONS, "as many as there are");
    for (uint32_t i = 0; i < REASONS; i++) {
        params->stallReasonIndex[i] = 10 + i;
        strcpy(params->stallReasons[i], names[i]);
    }
    return CUPTI_SUCCESS;
}

CUptiResult
cuptiPCSamplingSetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams *params)
{
    struct context *context = find(params->ctx);
    fake_rule(context != NULL, "a context is enabled first");
    for (size_t i = 0; i < params->numAttributes; i++) {
        const CUpti_PCSamplingConfigurationInfo *info = &params->pPCSamplingConfigurationInfo[i];
        if (info->attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER)
            context->buffer = info->attributeData.samplingDataBufferData.samplingDataBuffer;
        if (info->attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD)
            fake_rule(info->attributeData.samplingPeriodData.samplingPeriod >= 5 &&
                          info->attributeData.samplingPeriodData.samplingPeriod <= 31,
                      "periods are 5 to 31");
    }
    return has("attribute") ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}

/* Place N of the samples: of one of the kernels, with N samples and a few more. */
static void put(CUpti_PCSamplingData *data, int at, int place)
{
    size_t stride = has("old") ? OLD_STRIDE : STRIDE;
    CUpti_PCSamplingPCData row;
    uint8_t *to = (uint8_t *)data->pPcData + (size_t)at * stride;
    memcpy(&row, to, OLD_STRIDE);
    fake_rule(row.size == stride && row.stallReason, "rows have a size and room for reasons");
    row.cubinCrc = 0xc0ffee;
    row.pcOffset = (uint64_t)place * 16;
    row.functionName = (char *)(place % 4 == 0 ? "_Z4copyPfS_i" : "_Z4gemmPfS_S_i");
    row.stallReasonCount = 3;
    row.stallReason[0] = (CUpti_PCSamplingStallReason){10, 5};
    row.stallReason[1] = (CUpti_PCSamplingStallReason){11, (uint32_t)place};
    row.stallReason[2] = (CUpti_PCSamplingStallReason){12, (uint32_t)place / 2};
    if (has("lies") && at == 0)
        row.functionName = NULL;
    if (has("lies") && at == 1)
        row.stallReasonCount = 1000;
    if (has("lies") && at == 2)
        row.stallReason[0].pcSamplingStallReasonIndex = 99;
    memcpy(to, &row, OLD_STRIDE);
    data->totalSamples += 5 + (uint64_t)place;
}

CUptiResult cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams *params)
{
    struct context *context = find(params->ctx);
    CUpti_PCSamplingData *data = params->pcSamplingData;
    fake_rule(context && context->buffer && context->buffer != data,
              "a context is configured first");
    fake_rule(data->size != 0 && data->collectNumPcs >= ROWS_A_CALL, "there is room");
    data->hardwareBufferFull = has("full");
    if (has("full"))
        return CUPTI_ERROR_OUT_OF_MEMORY;
    int count = PLACES - context->handed_out;
    count = count < ROWS_A_CALL ? count : ROWS_A_CALL;
    for (int i = 0; i < count; i++)
        put(data, i, ++context->handed_out);
    data->totalNumPcs = has("lies") && count ? SIZE_MAX / 2 : (size_t)count;
    data->remainingNumPcs = (size_t)(PLACES - context->handed_out);
    if (has("dropped") && count) {
        data->droppedSamples = 100;
        data->totalSamples += 100;
        data->nonUsrKernelsTotalSamples = 7;
    }
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingDisable(CUpti_PCSamplingDisableParams *params)
{
    struct context *context = find(params->ctx);
    fake_rule(context != NULL, "what is disabled was enabled");
    if (context->buffer && !has("full")) {
        put(context->buffer, 0, PLACES + 1);
        context->buffer->totalNumPcs = 1;
    }
    *context = (struct context){0};
    return CUPTI_SUCCESS;
}
