/* SPDX-License-Identifier: MIT */
/* Open ranges of a thread: see nvtx_thread.h. */
#include "nvtx_thread.h"

#include "clock.h"
#include "nvtx_event.h"
#include "strings.h"

#include <annot/observers.h>
#include <annot_barrier.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define ENDED_KEY "popped_ns_before"

__thread struct nvtx_thread *nvtx_thread __attribute__((tls_model("initial-exec")));

static pthread_key_t exit_key;
static int exit_key_made;

/* Other destructors of the thread may pop open ranges: keeps the struct as long as there is another
 * round of them. */
static void free_thread(void *memory)
{
    struct nvtx_thread *thread = memory;
    if (thread->depth > 0 && ++thread->endings < PTHREAD_DESTRUCTOR_ITERATIONS &&
        pthread_setspecific(exit_key, memory) == 0)
        return;
    nvtx_thread = NULL;
    munmap(memory, sizeof(struct nvtx_thread));
}

/* In a forked child: clears ids of ranges of the process, which are the parent's. */
static void after_fork(void)
{
    struct nvtx_thread *thread = nvtx_thread;
    for (uint32_t i = 0; thread && i < thread->depth && i < NVTX_OPEN_KEPT; i++)
        if (thread->open[i].state == NVTX_OPEN_APART)
            thread->open[i].value = 0;
}

__attribute__((constructor)) static void set_up(void)
{
    exit_key_made = pthread_key_create(&exit_key, free_thread) == 0;
    pthread_atfork(NULL, NULL, after_fork);
}

/* Zeroed: no open ranges. */
static struct nvtx_thread *make_thread(void)
{
    int error = errno;
    void *memory = mmap(NULL, sizeof(struct nvtx_thread), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    errno = error;
    if (memory == MAP_FAILED)
        return NULL;
    nvtx_thread = memory; /* the next call may allocate, and so call us */
    if (exit_key_made)
        pthread_setspecific(exit_key, memory);
    return memory;
}

static struct nvtx_thread *thread_made(void)
{
    return nvtx_thread ? nvtx_thread : make_thread();
}

const char *nvtx_thread_text(const wchar_t *wide)
{
    struct nvtx_thread *thread = thread_made();
    return thread ? nvtx_text_from_wide(wide, thread->text) : "(no memory)";
}

/* Other recordings may begin and end during this one: then all is kept. */
__attribute__((noinline, cold)) struct nvtx_thread *nvtx_thread_refresh(void)
{
    struct nvtx_thread *thread = thread_made();
    uint64_t generation = annot_gate_v1.generation, recording = annot_recording();
    if (!thread)
        return NULL;
    if (thread->recording != recording) {
        for (uint32_t lane = 0; thread->depth > 0 && lane < NVTX_LANES; lane++)
            if (thread->lanes[lane].open)
                thread->lanes[lane].open = 0;
        memset(thread->late, 0, sizeof(thread->late));
        thread->depth = 0;
        thread->recording = recording;
    }
    thread->generation = generation;
    return thread;
}

static void pop_now(const struct annot_value *values, size_t count)
{
    if (count)
        annot_emit_pop_values(values, count);
    else
        annot_emit_pop();
}

/* ---- Values of ranges that were popped too early --------------------------------------------- */

/* Makes a value permanent, as its texts are invalid when the range ends: interned names stay. */
static struct annot_value value_that_stays(struct annot_value value)
{
    if (!value.key_name)
        value.key_name = annot_name_intern(value.key);
    value.key = "value"; /* if the table of names is full */
    if (value.kind == ANNOT_PAYLOAD_STRING) {
        annot_name text = annot_name_intern(value.value.string);
        const struct annot_string *string = text ? strings_get(text) : NULL;
        value.value.string = string ? string_bytes(string) : "";
    }
    return value;
}

static void keep_late(struct nvtx_thread *thread, uint64_t popped, const struct annot_value *values,
                      size_t count)
{
    if (count > NVTX_LATE_EACH)
        count = NVTX_LATE_EACH;
    for (uint32_t i = 0; i < NVTX_LATE_KEPT && count > 0; i++) {
        struct nvtx_late *late = &thread->late[i];
        if (late->value.kind != ANNOT_PAYLOAD_NONE)
            continue;
        *late = (struct nvtx_late){popped, value_that_stays(*values)};
        values++;
        count--;
    }
}

static size_t take_late(struct nvtx_thread *thread, uint64_t popped, struct annot_value *values)
{
    size_t count = 0;
    for (uint32_t i = 0; i < NVTX_LATE_KEPT && count < NVTX_LATE_EACH; i++) {
        struct nvtx_late *late = &thread->late[i];
        if (late->value.kind == ANNOT_PAYLOAD_NONE || late->popped != popped)
            continue;
        values[count++] = late->value;
        late->value.kind = ANNOT_PAYLOAD_NONE;
    }
    return count;
}

/* ---- Pops ------------------------------------------------------------------------------------ */

/* Closes ranges at the top that were popped before. */
static void close_ended(struct nvtx_thread *thread)
{
    while (thread->depth > 0 && thread->depth <= NVTX_OPEN_KEPT &&
           thread->open[thread->depth - 1].state == NVTX_OPEN_ENDED) {
        struct nvtx_open *open = &thread->open[--thread->depth];
        struct annot_value values[1 + NVTX_LATE_EACH];
        values[0] = annot_value_uint64(ENDED_KEY, clock_monotonic_ns() - open->value);
        annot_emit_pop_values(values, 1 + take_late(thread, open->value, values + 1));
    }
}

static void take_out(struct nvtx_thread *thread, uint32_t index)
{
    uint32_t last = --thread->depth;
    memmove(&thread->open[index], &thread->open[index + 1],
            (last - index) * sizeof(thread->open[0]));
    close_ended(thread);
}

/* True if no nested range is inside of it; otherwise the lanes of those inside are recorded apart
 * from now on. */
static int is_innermost(struct nvtx_thread *thread, uint32_t index)
{
    int innermost = 1;
    for (uint32_t i = index + 1; i < thread->depth; i++) {
        const struct nvtx_open *open = &thread->open[i];
        if (open->state != NVTX_OPEN_NESTED)
            continue;
        thread->lanes[open->lane].is_apart = 1;
        innermost = 0;
    }
    return innermost;
}

static void close_at(struct nvtx_thread *thread, uint32_t index, const struct annot_value *values,
                     size_t count)
{
    struct nvtx_open *open = &thread->open[index];
    if (open->state == NVTX_OPEN_APART) {
        annot_end_values(open->value, values, count);
        take_out(thread, index);
    } else if (is_innermost(thread, index)) {
        pop_now(values, count);
        take_out(thread, index);
    } else {
        open->state = NVTX_OPEN_ENDED;
        open->value = clock_monotonic_ns();
        keep_late(thread, open->value, values, count);
    }
}

/* Ranges deeper than the table are assumed to nest. A pop without a push closes no range, because
 * the open ones are another domain's, or were not pushed by NVTX. */
int nvtx_thread_pop(struct nvtx_thread *thread, uint32_t lane, const struct annot_value *values,
                    size_t count)
{
    if (!thread) {
        pop_now(values, count);
        return NVTX_NO_PUSH_POP_TRACKING;
    }
    if (thread->lanes[lane].open == 0) {
        annot_emit_pop_empty();
        return NVTX_NO_PUSH_POP_TRACKING;
    }
    int level = (int)--thread->lanes[lane].open;
    if (thread->depth > NVTX_OPEN_KEPT) {
        thread->depth--;
        pop_now(values, count);
        return level;
    }
    for (uint32_t index = thread->depth; index-- > 0;) {
        const struct nvtx_open *open = &thread->open[index];
        if (open->lane == lane && open->state != NVTX_OPEN_ENDED) {
            close_at(thread, index, values, count);
            break;
        }
    }
    return level;
}
