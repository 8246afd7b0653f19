/* SPDX-License-Identifier: MIT */
/* Synchronization objects: a wait is a range of the thread, from "prepare" to "acquired" or
 * "cancel", with the name of the object; a release is a mark. Both are in the domain "itt sync". */
#include "itt.h"
#include "itt_names.h"
#include "itt_open.h"
#include "itt_thread.h"

#include <stdio.h>

enum { OBJECT_TEXT = 256 };

#define SYNC_DOMAIN "itt sync"

static annot_domain sync_domain(void)
{
    static struct itt_domain domain = {.name = SYNC_DOMAIN};
    return itt_domain_number(&domain);
}

static struct itt_key object_key(const void *address)
{
    return (struct itt_key){.kind = ITT_OBJECT, .id = {(uintptr_t)address, 0, 0}};
}

static annot_name object_name(const void *address)
{
    const struct itt_key key = object_key(address);
    struct itt_open known;
    return itt_open_find(&key, &known) ? (annot_name)known.number
                                       : annot_name_intern("unnamed object");
}

static void sync_create(void *address, const char *type, const char *name, int attribute)
{
    const struct itt_key key = object_key(address);
    char text[OBJECT_TEXT];
    (void)attribute;
    if (!type && !name)
        return;
    snprintf(text, sizeof(text), "%s%s%s", type ? type : "", type && name ? " " : "",
             name ? name : "");
    itt_open_set(&key, annot_name_intern(text), 0);
}

static void sync_rename(void *address, const char *name)
{
    const struct itt_key key = object_key(address);
    if (name)
        itt_open_set(&key, annot_name_intern(name), 0);
}

static void sync_destroy(void *address)
{
    const struct itt_key key = object_key(address);
    struct itt_open known;
    itt_open_take(&key, &known);
}

/* Returns the index of the thread's wait for this object, or the count if there is no such wait. */
static uint32_t find_wait(const struct itt_thread *thread, const void *address)
{
    for (uint32_t i = 0; i < thread->wait_count; i++)
        if (thread->waits[i] == address)
            return i;
    return thread->wait_count;
}

static void sync_prepare(void *address)
{
    struct itt_thread *thread = itt_is_wanted() ? itt_thread_own() : NULL;
    if (!thread || thread->wait_count == ITT_WAITS_MAX ||
        find_wait(thread, address) < thread->wait_count)
        return;
    thread->waits[thread->wait_count++] = address;
    const struct annot_event event = {.name = object_name(address), .domain = sync_domain()};
    itt_push(&event);
}

/* An acquisition without a wait is ignored. Waits inside of this one end with it. */
static void end_wait(const void *address, const char *outcome)
{
    struct itt_thread *thread = annot_enabled() && itt_self ? itt_thread_own() : NULL;
    const struct annot_value value = annot_value_string("outcome", outcome);
    uint32_t index = thread ? find_wait(thread, address) : 0;
    if (!thread || index == thread->wait_count)
        return;
    while (thread->wait_count > index + 1) {
        thread->wait_count--;
        itt_pop();
    }
    thread->wait_count--;
    itt_pop_value(&value);
}

static void sync_acquired(void *address)
{
    end_wait(address, "acquired");
}

static void sync_cancel(void *address)
{
    end_wait(address, "cancelled");
}

static void sync_releasing(void *address)
{
    if (!itt_is_wanted())
        return;
    const struct annot_value value = annot_value_bool("released", 1);
    const struct annot_event event = {
        .name = object_name(address), .domain = sync_domain(), .values = &value, .value_count = 1};
    annot_emit_mark_event(&event);
}

const struct itt_entry itt_entries_sync[] = {
    {"notify_sync_acquired", sync_acquired},
    {"notify_sync_cancel", sync_cancel},
    {"notify_sync_prepare", sync_prepare},
    {"notify_sync_releasing", sync_releasing},
    {"sync_acquired", sync_acquired},
    {"sync_cancel", sync_cancel},
    {"sync_create", sync_create},
    {"sync_destroy", sync_destroy},
    {"sync_prepare", sync_prepare},
    {"sync_releasing", sync_releasing},
    {"sync_rename", sync_rename},
    {"sync_set_name", sync_create},
    {NULL, NULL},
};
