/* SPDX-License-Identifier: MIT */
/* Calls of ITT with any arguments that programs may pass: any order, repeated ids, texts that are
 * long or not UTF-8, handles that are NULL, invalid types and lengths, with and without a
 * recording.
 *
 * An input is a list of calls: a byte that selects one, and the bytes of its arguments. Pointers
 * are valid or NULL, since invalid ones cannot be checked. */
#define ITT_INSIDE
#include <stdio.h>
#include <unistd.h>

#include "arena.h"
#include "itt_part.h"
#include "test.h"

enum { HANDLES = 8, TEXT_MAX = 6000 };

static const uint8_t *at, *end;
static __itt_domain *domains[HANDLES];
static __itt_string_handle *names[HANDLES];
static __itt_counter counters[HANDLES];

static unsigned byte(void)
{
    return at < end ? *at++ : 0;
}

/* Returns NULL, a few bytes of the input, or the same bytes repeated. */
static const char *text(void)
{
    static char buffer[TEXT_MAX + 1];
    unsigned shape = byte(), length = byte() % 24;
    if (shape % 8 == 0)
        return NULL;
    if (length > (size_t)(end - at))
        length = (unsigned)(end - at);
    size_t total = shape % 8 == 1 ? TEXT_MAX : length;
    for (size_t i = 0; i < total; i++)
        buffer[i] = length ? (char)(at[i % length] ? at[i % length] : 1) : 'x';
    buffer[total] = 0;
    at += length;
    return buffer;
}

static __itt_domain *domain(void)
{
    return domains[byte() % HANDLES];
}

static __itt_string_handle *name(void)
{
    return names[byte() % HANDLES];
}

static __itt_id id(void)
{
    unsigned number = byte() % 6;
    return number ? (__itt_id){number, number % 2, 0} : __itt_null;
}

static void *numbers(void)
{
    static unsigned char buffer[8 * 256];
    for (size_t i = 0; i < 16; i++)
        buffer[i] = (unsigned char)byte();
    return byte() % 8 ? buffer : NULL;
}

static size_t length_of(void)
{
    static const size_t lengths[] = {0, 1, 2, 7, 100, 255, (size_t)-1, 1};
    return lengths[byte() % 8];
}

/* Arrays are as long as claimed. */
static size_t count_of(void)
{
    return length_of() % 256;
}

static void make(void)
{
    unsigned index = byte() % HANDLES;
    switch (byte() % 6) {
    case 0:
        domains[index] = __itt_domain_create(text());
        break;
    case 1:
        names[index] = __itt_string_handle_create(text());
        break;
    case 2:
        counters[index] = __itt_counter_create(text(), NULL);
        break;
    case 3:
        counters[index] = __itt_counter_create_typed("typed", text(), (int)byte() - 3);
        break;
    case 4:
        counters[index] = __itt_counter_create_v3(domain(), text(), (int)byte() % 10);
        break;
    default:
        __itt_thread_set_name(text());
    }
}

static void nested(void)
{
    __itt_domain *in = domain(); /* once: macros evaluate it several times */
    switch (byte() % 6) {
    case 0:
        __itt_task_begin(in, id(), id(), name());
        break;
    case 1:
        __itt_task_begin_ex(in, NULL, byte(), id(), id(), name());
        break;
    case 2:
        __itt_task_begin_fn(in, id(), id(), byte() % 2 ? (void *)nested : NULL);
        break;
    case 3:
        __itt_relation_add_to_current(in, (int)byte(), id());
        break;
    case 4:
        __itt_relation_add(in, id(), (int)byte() - 4, id());
        break;
    default:
        __itt_task_end(in);
    }
}

static void overlapping(void)
{
    __itt_domain *in = domain(); /* once: macros evaluate it several times */
    __itt_id one = id();
    switch (byte() % 10) {
    case 0:
        __itt_task_begin_overlapped(in, one, id(), name());
        break;
    case 1:
        __itt_task_end_overlapped(in, one);
        break;
    case 2:
        __itt_region_begin(in, one, id(), name());
        break;
    case 3:
        __itt_region_end(in, one);
        break;
    case 4:
        __itt_frame_begin_v3(in, byte() % 2 ? &one : NULL);
        break;
    case 5:
        __itt_frame_end_v3(in, byte() % 2 ? &one : NULL);
        break;
    case 6:
        __itt_frame_submit_v3(in, NULL, byte(), byte() % 2 ? byte() : __itt_timestamp_none);
        break;
    case 7:
        __itt_event_start((int)byte() - 2);
        break;
    case 8:
        __itt_event_end((int)byte() - 2);
        break;
    default:
        __itt_event_start(__itt_event_create(text(), (int)byte() - 2));
    }
}

static void describe(void)
{
    __itt_domain *in = domain(); /* once: macros evaluate it several times */
    switch (byte() % 6) {
    case 0: {
        size_t count = count_of();
        int type = (int)byte() % 12 - 1;
        __itt_metadata_add(in, id(), name(), type, count, numbers());
        break;
    }
    case 1: {
        const char *data = text();
        size_t length = length_of();
        __itt_metadata_str_add(in, id(), name(), data, length);
        break;
    }
    case 2:
        __itt_marker(in, id(), name(), (int)byte() - 2);
        break;
    case 3:
        __itt_id_destroy(in, id());
        break;
    case 4:
        __itt_counter_set_value(counters[byte() % HANDLES], numbers());
        break;
    default:
        __itt_counter_inc_delta(counters[byte() % HANDLES], byte());
        __itt_counter_dec_v3(in, name());
    }
}

static void synchronize(void)
{
    static char objects[16];
    void *object = &objects[byte() % sizeof(objects)];
    switch (byte() % 7) {
    case 0:
        __itt_sync_create(object, text(), "object", 0);
        break;
    case 1:
        __itt_sync_rename(object, text());
        break;
    case 2:
        __itt_sync_prepare(object);
        break;
    case 3:
        __itt_sync_acquired(object);
        break;
    case 4:
        __itt_sync_cancel(object);
        break;
    case 5:
        __itt_sync_releasing(object);
        break;
    default:
        __itt_sync_destroy(object);
    }
}

static int is_recording;

static void control(void)
{
    switch (byte() % 8) {
    case 0:
        __itt_pause();
        break;
    case 1: {
        const struct arena_options options = {.policy = ANNOT_POLICY_OVERWRITE_OLDEST};
        if (byte() % 16) /* this takes milliseconds */
            break;
        if (is_recording)
            arena_end();
        else
            arena_begin(&options);
        is_recording = !is_recording;
        break;
    }
    default:
        __itt_resume();
    }
}

static void run_calls(const uint8_t *data, size_t size)
{
    static void (*const calls[])(void) = {make,     nested,      nested,  nested,
                                          describe, overlapping, control, synchronize};
    at = data;
    end = data + size;
    while (at < end)
        calls[byte() % 8]();
}

static void *run_inputs(void *context)
{
    uint64_t *state = context;
    uint8_t data[600];
    for (int input = 0; input < 2000; input++) {
        for (size_t i = 0; i < sizeof(data); i++) {
            *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
            /* Usually small numbers, which select something. */
            data[i] = (uint8_t)(*state >> 40 & (i % 3 ? 15 : 255));
        }
        run_calls(data, 50 + (*state >> 50) % 550);
    }
    return NULL;
}

TEST_TIMEOUT(calls_in_any_order_with_any_argument_do_no_harm, 60)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        uint64_t state = seed;
        fprintf(stderr, "seed %d\n", (int)seed);
        run_inputs(&state);
    }
    if (is_recording)
        arena_end();
    arena_clean();
}

static long resident_kib(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL);
    CHECK_INT(fscanf(file, "%ld %ld", &pages, &resident), 2);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void begin_and_end(__itt_domain *in, __itt_string_handle *task, int first, int count)
{
    for (int i = first; i < first + count; i++) {
        __itt_task_begin(in, __itt_id_make(NULL, (unsigned)i + 1), __itt_null, task);
        __itt_task_end(in);
    }
}

static unsigned metadata_marks;

static void count_metadata(const struct seen_record *record, void *context)
{
    (void)context;
    metadata_marks += record->kind == ANNOT_REC_MARK && strcmp(record->text, "metadata") == 0;
}

/* A task that was open at the end of a recording is not part of the next one. */
TEST(each_recording_begins_without_open_tasks)
{
    struct seen seen;
    int64_t number = 5;
    arena_begin(NULL);
    __itt_domain *in = __itt_domain_create("depth");
    __itt_string_handle *task = __itt_string_handle_create("task");
    __itt_task_begin(in, __itt_null, __itt_null, task);
    arena_end();
    arena_clean();
    __itt_task_end(in);
    arena_begin(NULL);
    __itt_metadata_add(in, __itt_null, task, __itt_metadata_s64, 1, &number);
    __itt_task_begin(in, __itt_null, __itt_null, task);
    __itt_metadata_add(in, __itt_null, task, __itt_metadata_s64, 1, &number);
    __itt_task_end(in);
    metadata_marks = 0;
    arena_read(getpid(), &seen, count_metadata, NULL);
    CHECK_INT(metadata_marks, 1);
    CHECK_INT(seen.kinds[ANNOT_REC_PUSH], 1);
    arena_end();
    arena_clean();
}

TEST(ids_that_are_never_destroyed_take_bounded_memory)
{
    const struct arena_options options = {.policy = ANNOT_POLICY_OVERWRITE_OLDEST,
                                          .block_count = 64};
    arena_begin(&options);
    __itt_domain *in = __itt_domain_create("ids");
    __itt_string_handle *task = __itt_string_handle_create("task");
    begin_and_end(in, task, 0, 200000);
    long before = resident_kib();
    begin_and_end(in, task, 200000, 200000);
    CHECK(resident_kib() - before < 2048);
    arena_end();
    arena_clean();
}
