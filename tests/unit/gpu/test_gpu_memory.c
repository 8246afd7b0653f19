/* SPDX-License-Identifier: MIT */
/* The amount of held memory, from the allocations and frees seen in a window. */
#include "gpu_memory.h"
#include "gpu_records.h"
#include "test.h"

/* Replaces gpu_emit.c. */
uint32_t gpu_emit_label(const char *text, const struct gpu_values *values)
{
    (void)text;
    (void)values;
    return 1;
}

static int64_t held_after(uint32_t operation, uint32_t device, uint64_t bytes)
{
    const struct gpu_record record = {
        .kind = GPU_MEMORY, .sort = operation, .device = device, .destination = 3, .bytes = bytes};
    struct gpu_values values = {0};
    (void)gpu_memory_name(&record, &values);
    for (uint32_t i = 0; i < values.count; i++)
        if (values.items[i].key == GPU_KEY_HELD)
            return values.items[i].number;
    return -1;
}

enum {
    TAKE = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION,
    GIVE = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
};

TEST(memory_is_held_from_when_it_is_taken_until_it_is_given_back)
{
    gpu_memory_begin();
    CHECK_INT(held_after(TAKE, 0, 100), 100);
    CHECK_INT(held_after(TAKE, 0, 50), 150);
    CHECK_INT(held_after(TAKE, 1, 7), 7);
    CHECK_INT(held_after(GIVE, 0, 100), 50);
    CHECK_INT(held_after(GIVE, 0, 400), 0); /* allocated before the window */
}

TEST(what_was_given_back_between_two_windows_is_not_held_for_ever)
{
    gpu_memory_begin();
    CHECK_INT(held_after(TAKE, 0, 100), 100);
    gpu_memory_begin();
    CHECK_INT(held_after(TAKE, 0, 30), 30);
}
