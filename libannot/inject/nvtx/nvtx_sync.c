/* SPDX-License-Identifier: MIT */
/* The callbacks of module SYNC: locks and other objects of the program.
 *
 * The time from the start of an acquisition to its outcome is a range of the thread, in category
 * "wait" of the object's domain, with the outcome as a value at its end; the time that the object
 * is held is a range of the process, in category "held". While one thread holds it, others that
 * acquire it as well (a shared lock, a semaphore) are not shown as holders.
 *
 * Objects lie in a table; a handle is the index. Threads: any; lock-free. */
#include "nvtx_event.h"

#include <annot/observers.h>

enum { OBJECTS = 65536 };

/* The handle if the table is full. */
#define OBJECT_NONE ((nvtx_nvtxSyncUser_t)UINTPTR_MAX)
#define HELD_SOON   UINT64_MAX

struct object {
    annot_name name;
    annot_domain domain;
    uint16_t is_used;
    annot_category wait, hold;
    uint32_t next_free; /* number */
    uint64_t held;      /* 0: free; HELD_SOON; a range of the process; W: swapped */
};

static struct object objects[OBJECTS];
static uint64_t free_head;        /* tag << 32 | number; the tag counts swaps, to detect reuse */
static uint32_t fresh_number = 1; /* lower ones were used before; W: all, atomic */

/* ---- Places ---------------------------------------------------------------------------------- */

static uint32_t take_number(void)
{
    uint64_t head = annot_load_acquire(&free_head); /* partner: give_number */
    while ((uint32_t)head) {
        uint32_t next = annot_load_relaxed(&objects[(uint32_t)head].next_free);
        uint64_t after = ((head >> 32) + 1) << 32 | next;
        if (annot_cas_acq_rel(&free_head, &head, after)) /* partner: both */
            return (uint32_t)head;
    }
    uint32_t number = annot_load_relaxed(&fresh_number);
    while (number < OBJECTS)
        if (annot_cas_acq_rel(&fresh_number, &number, number + 1)) /* partner: itself */
            return number;
    return 0;
}

static void give_number(uint32_t number)
{
    uint64_t head = annot_load_relaxed(&free_head), next;
    do {
        annot_store_relaxed(&objects[number].next_free, (uint32_t)head);
        next = ((head >> 32) + 1) << 32 | number;
    } while (!annot_cas_acq_rel(&free_head, &head, next)); /* partner: take_number */
}

static struct object *object_of(nvtx_nvtxSyncUser_t handle)
{
    uintptr_t number = (uintptr_t)handle;
    if (number == 0 || number >= OBJECTS || !objects[number].is_used)
        return NULL;
    return &objects[number];
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

/* The message is the last member. */
static nvtxSyncUserAttributes_t whole_of(const nvtxSyncUserAttributes_t *attributes)
{
    nvtxSyncUserAttributes_t whole = {0};
    if (attributes && attributes->size >= sizeof(whole))
        whole = *attributes;
    return whole;
}

static nvtx_nvtxSyncUser_t create(nvtxDomainHandle_t domain,
                                  const nvtxSyncUserAttributes_t *attributes)
{
    nvtxSyncUserAttributes_t whole = whole_of(attributes);
    uint32_t number = take_number();
    if (number == 0)
        return OBJECT_NONE;
    struct object *object = &objects[number];
    object->domain = nvtx_domain_of(domain);
    object->name = nvtx_message_name(whole.messageType, whole.message);
    object->wait = annot_category_observed(object->domain, "wait", ANNOT_OBSERVER_NVTX, 0);
    object->hold = annot_category_observed(object->domain, "held", ANNOT_OBSERVER_NVTX, 0);
    object->is_used = 1;
    return (nvtx_nvtxSyncUser_t)(uintptr_t)number;
}

static void release(struct object *object)
{
    uint64_t held = annot_load_relaxed(&object->held);
    while (held != 0 && held != HELD_SOON)
        if (annot_cas_acq_rel(&object->held, &held, UINT64_C(0))) { /* partner: acquire */
            annot_end(held);
            return;
        }
}

static void destroy(nvtx_nvtxSyncUser_t handle)
{
    struct object *object = object_of(handle);
    if (!object)
        return;
    release(object);
    object->is_used = 0;
    give_number((uint32_t)(object - objects));
}

static struct annot_event event_of(const struct object *object, annot_category category)
{
    return (struct annot_event){
        .name = object->name, .domain = object->domain, .category = category};
}

static void acquire_start(nvtx_nvtxSyncUser_t handle)
{
    const struct object *object = object_of(handle);
    if (!annot_enabled() || !object)
        return;
    struct annot_event event = event_of(object, object->wait);
    struct nvtx_thread *thread = nvtx_thread_mine();
    if (!thread)
        return;
    if (thread->lanes[NVTX_LANE_SYNC].is_apart) {
        nvtx_thread_push(thread, NVTX_LANE_SYNC, NVTX_OPEN_APART, annot_emit_start_event(&event));
    } else {
        annot_emit_push_event(&event);
        nvtx_thread_push(thread, NVTX_LANE_SYNC, NVTX_OPEN_NESTED, 0);
    }
}

/* An outcome without a recorded start ends no range. */
static void end_wait(int acquired)
{
    struct nvtx_thread *thread = nvtx_thread_mine();
    const struct annot_value value = annot_value_bool("acquired", acquired);
    if (thread && thread->lanes[NVTX_LANE_SYNC].open > 0)
        nvtx_thread_pop(thread, NVTX_LANE_SYNC, &value, 1);
}

static void acquire_failed(nvtx_nvtxSyncUser_t handle)
{
    if (annot_enabled() && object_of(handle))
        end_wait(0);
}

static void acquire_success(nvtx_nvtxSyncUser_t handle)
{
    struct object *object = object_of(handle);
    uint64_t nobody = 0;
    if (!annot_enabled() || !object)
        return;
    end_wait(1);
    if (!annot_cas_acq_rel(&object->held, &nobody, HELD_SOON)) /* partner: release */
        return;
    struct annot_event event = event_of(object, object->hold);
    annot_store_release(&object->held, annot_emit_start_event(&event)); /* partner: release */
}

static void releasing(nvtx_nvtxSyncUser_t handle)
{
    struct object *object = object_of(handle);
    if (object)
        release(object);
}

const NvtxFunctionPointer nvtx_sync_calls[NVTX_CBID_SYNC_SIZE] = {
    [NVTX_CBID_SYNC_DomainSyncUserCreate] = NVTX_CALL(create),
    [NVTX_CBID_SYNC_DomainSyncUserDestroy] = NVTX_CALL(destroy),
    [NVTX_CBID_SYNC_DomainSyncUserAcquireStart] = NVTX_CALL(acquire_start),
    [NVTX_CBID_SYNC_DomainSyncUserAcquireFailed] = NVTX_CALL(acquire_failed),
    [NVTX_CBID_SYNC_DomainSyncUserAcquireSuccess] = NVTX_CALL(acquire_success),
    [NVTX_CBID_SYNC_DomainSyncUserReleasing] = NVTX_CALL(releasing),
};
