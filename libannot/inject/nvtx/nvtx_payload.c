/* SPDX-License-Identifier: MIT */
/* Events with payloads: see nvtx_payload.h. */
#include "nvtx_payload.h"

#include "inject_emit.h"
#include "nvtx_calls.h"

/* Where no place was left, the event says so. */
static const struct annot_value nothing_shown = {
    .key = NVTX_KEY_LEFT_OUT, .kind = ANNOT_PAYLOAD_UINT64, .value = {.uint64 = 1}};

/* Decodes payloads into an event. Returns the place that its values are in, or NULL. */
static struct nvtx_decoding *read_event(struct annot_event *event,
                                        const struct nvtx_blob_said *blobs, size_t count)
{
    struct nvtx_decoding *decoding = nvtx_decoding_take(event->domain, blobs, count);
    if (decoding) {
        nvtx_decode(decoding);
        nvtx_decoding_apply(decoding, event);
    } else {
        event->values = &nothing_shown;
        event->value_count = 1;
    }
    return decoding;
}

/* ---- Of attributes --------------------------------------------------------------------------- */

/* What the payload says is later than what the attributes say, and counts. */
static struct nvtx_decoding *read_blobs(struct annot_event *event, annot_domain domain,
                                        const nvtxEventAttributes_t *attributes)
{
    const struct nvtx_blob_said *blobs =
        (const struct nvtx_blob_said *)(uintptr_t)attributes->payload.ullValue;
    nvtx_event_read(event, domain, attributes);
    return read_event(event, blobs, attributes->reserved0 > 0 ? (size_t)attributes->reserved0 : 0);
}

int nvtx_push_blobs(annot_domain domain, const nvtxEventAttributes_t *attributes)
{
    struct annot_event event;
    struct nvtx_decoding *decoding = read_blobs(&event, domain, attributes);
    int level = nvtx_push_event(&event);
    nvtx_decoding_give(decoding);
    return level;
}

annot_range nvtx_start_blobs(annot_domain domain, const nvtxEventAttributes_t *attributes)
{
    struct annot_event event;
    struct nvtx_decoding *decoding = read_blobs(&event, domain, attributes);
    annot_range range = annot_emit_start_event(&event);
    nvtx_decoding_give(decoding);
    return range;
}

void nvtx_mark_blobs(annot_domain domain, const nvtxEventAttributes_t *attributes)
{
    struct annot_event event;
    struct nvtx_decoding *decoding = read_blobs(&event, domain, attributes);
    inject_emit.mark_event(&event);
    nvtx_decoding_give(decoding);
}

/* ---- Of nothing but payloads ----------------------------------------------------------------- */

static __attribute__((noinline)) void
mark_recorded(annot_domain domain, const struct nvtx_blob_said *blobs, size_t count)
{
    struct annot_event event = {.domain = domain, .text = ""};
    struct nvtx_decoding *decoding = read_event(&event, blobs, count);
    inject_emit.mark_event(&event);
    nvtx_decoding_give(decoding);
}

void nvtx_mark_payload(annot_domain domain, const struct nvtx_blob_said *blobs, size_t count)
{
    if (ANNOT_UNLIKELY(annot_enabled()))
        mark_recorded(domain, blobs, count);
}

static __attribute__((noinline)) int push_recorded(annot_domain domain,
                                                   const struct nvtx_blob_said *blobs, size_t count)
{
    struct annot_event event = {.domain = domain, .text = ""};
    struct nvtx_decoding *decoding = read_event(&event, blobs, count);
    int level = nvtx_push_event(&event);
    nvtx_decoding_give(decoding);
    return level;
}

int nvtx_push_payload(annot_domain domain, const struct nvtx_blob_said *blobs, size_t count)
{
    return ANNOT_UNLIKELY(annot_enabled()) ? push_recorded(domain, blobs, count)
                                           : NVTX_NO_PUSH_POP_TRACKING;
}

static __attribute__((noinline)) nvtxRangeId_t
start_recorded(annot_domain domain, const struct nvtx_blob_said *blobs, size_t count)
{
    struct annot_event event = {.domain = domain, .text = ""};
    struct nvtx_decoding *decoding = read_event(&event, blobs, count);
    annot_range range = annot_emit_start_event(&event);
    nvtx_decoding_give(decoding);
    return range ? range : NVTX_RANGE_NONE;
}

nvtxRangeId_t nvtx_start_payload(annot_domain domain, const struct nvtx_blob_said *blobs,
                                 size_t count)
{
    return ANNOT_UNLIKELY(annot_enabled()) ? start_recorded(domain, blobs, count) : NVTX_RANGE_NONE;
}

/* ---- Ends ------------------------------------------------------------------------------------ */

/* A message that comes with an end is a value of it: the range has its name by then. */
static struct nvtx_decoding *read_end(struct annot_event *event, const struct nvtx_blob_said *blobs,
                                      size_t count)
{
    struct nvtx_decoding *decoding = read_event(event, blobs, count);
    const char *message = decoding ? nvtx_message_text(&decoding->message) : NULL;
    if (message && decoding->value_count < NVTX_VALUES) {
        decoding->values[decoding->value_count] = annot_value_string("message", message);
        event->value_count = ++decoding->value_count;
    }
    return decoding;
}

static __attribute__((noinline)) int pop_recorded(annot_domain domain,
                                                  const struct nvtx_blob_said *blobs, size_t count)
{
    struct annot_event event = {.domain = domain};
    struct nvtx_decoding *decoding = read_end(&event, blobs, count);
    int level = nvtx_thread_pop(nvtx_thread_mine(), domain, event.values, event.value_count);
    nvtx_decoding_give(decoding);
    return level;
}

int nvtx_pop_payload(annot_domain domain, const struct nvtx_blob_said *blobs, size_t count)
{
    return ANNOT_UNLIKELY(annot_enabled()) ? pop_recorded(domain, blobs, count)
                                           : NVTX_NO_PUSH_POP_TRACKING;
}

static __attribute__((noinline)) void end_recorded(annot_domain domain, nvtxRangeId_t range,
                                                   const struct nvtx_blob_said *blobs, size_t count)
{
    struct annot_event event = {.domain = domain};
    struct nvtx_decoding *decoding = read_end(&event, blobs, count);
    annot_emit_end_values(range, event.values, event.value_count);
    nvtx_decoding_give(decoding);
}

void nvtx_end_payload(annot_domain domain, nvtxRangeId_t range, const struct nvtx_blob_said *blobs,
                      size_t count)
{
    if (ANNOT_UNLIKELY(annot_enabled()) && range > NVTX_RANGE_NONE)
        end_recorded(domain, range, blobs, count);
}
