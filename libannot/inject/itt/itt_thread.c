/* SPDX-License-Identifier: MIT */
/* See itt_thread.h. Separate from itt_tasks.c, so that no function here is inlined there: outside
 * of recordings, a task is a load, a test and a return. */
#include "itt_thread.h"

#include "inject_emit.h"
#include "itt.h"

#include <annot_barrier.h>
#include <pthread.h>
#include <string.h>

__thread uint32_t itt_depth;
__thread uint64_t itt_depth_generation;
__thread struct itt_thread *itt_self;

static pthread_key_t thread_key;
static int has_key;
static struct itt_thread *idle; /* under itt_lock */

static void give_back(void *context)
{
    struct itt_thread *thread = context;
    itt_self = NULL;
    itt_values_give(thread->values);
    thread->values = NULL;
    if (!itt_lock())
        return;
    thread->next = idle;
    idle = thread;
    itt_unlock();
}

static struct itt_thread *take(void)
{
    if (!itt_lock())
        return NULL;
    if (!has_key)
        has_key = pthread_key_create(&thread_key, give_back) == 0;
    struct itt_thread *thread = has_key ? idle : NULL;
    if (thread) {
        idle = thread->next;
        thread->generation = 0;
    }
    itt_unlock();
    if (!thread && has_key)
        thread = itt_memory_take(sizeof(*thread));
    if (thread && pthread_setspecific(thread_key, thread) != 0)
        thread = NULL; /* a block is lost */
    return thread;
}

struct itt_thread *itt_thread_own(void)
{
    uint64_t generation = annot_gate_v1.generation;
    struct itt_thread *thread = itt_self;
    if (!thread)
        thread = itt_self = take();
    if (!thread || thread->generation == generation)
        return thread;
    uint64_t recording = annot_recording();
    thread->generation = generation;
    if (thread->recording == recording) /* another one began or ended */
        return thread;
    thread->recording = recording;
    thread->wait_count = 0;
    memset(thread->skipped, 0, sizeof(thread->skipped));
    if (thread->values)
        thread->values->count = thread->values->text_size = 0;
    return thread;
}

uint64_t itt_thread_number(void)
{
    return (uint64_t)pthread_self();
}

/* Other recordings may begin and end during this one. */
__attribute__((noinline, cold)) void itt_depth_begin(void)
{
    static __thread uint64_t counted __attribute__((tls_model("initial-exec")));
    uint64_t generation = annot_gate_v1.generation, recording = annot_recording();
    if (recording == 0) /* no recording, or this process takes no part */
        return;
    if (counted != recording)
        itt_depth = 0;
    counted = recording;
    itt_depth_generation = generation;
}

void itt_push(const struct annot_event *event)
{
    itt_depth_check();
    itt_depth++;
    inject_emit.push_event(event);
}

/* Returns the index of the first value of the task that ends; `itt_depth` excludes it already. */
static uint32_t first_of_ended(const struct itt_values *values)
{
    uint32_t first = values->count;
    while (first > 0 && values->depths[first - 1] > itt_depth)
        first--;
    return first;
}

static void pop_with_values(struct itt_values *values)
{
    uint32_t first = first_of_ended(values);
    if (first == values->count) {
        inject_emit.pop();
        return;
    }
    annot_emit_pop_values(values->values + first, values->count - first);
    values->count = first;
    if (first == 0)
        values->text_size = 0;
}

void itt_pop(void)
{
    struct itt_thread *thread = itt_self ? itt_thread_own() : NULL;
    itt_depth_check();
    if (itt_depth == 0) {
        annot_emit_pop_empty();
        return;
    }
    itt_depth--;
    if (thread && thread->values)
        pop_with_values(thread->values);
    else
        inject_emit.pop();
}

void itt_pop_value(const struct annot_value *value)
{
    struct itt_thread *thread = itt_self ? itt_thread_own() : NULL;
    itt_depth_check();
    if (thread && thread->values && itt_values_add(thread->values, value, itt_depth)) {
        itt_pop();
        return;
    }
    if (itt_depth > 0)
        itt_depth--;
    annot_emit_pop_values(value, 1);
}
