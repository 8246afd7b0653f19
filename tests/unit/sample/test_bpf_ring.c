/* SPDX-License-Identifier: MIT */
/* Takes records out of a ring in plain memory with the kernel's layout: complete records, discarded
 * ones, ones under construction, and malformed ones. */
#include "bpf_state.h"
#include "test.h"

#include <linux/bpf.h>
#include <stdlib.h>

enum { RING_SIZE = 4096 };

struct scene {
    struct sampler_bpf program;
    uint8_t data[2 * RING_SIZE];
    uint64_t consumer, producer;
    unsigned taken;
    uint16_t kinds[16];
};

static int take(void *context, const struct sampler_head *record)
{
    struct scene *scene = context;
    scene->kinds[scene->taken++ % 16] = record->kind;
    return 0;
}

/* Writes to both views of the ring. */
static void put(struct scene *scene, const void *bytes, uint32_t length, uint32_t bits)
{
    uint32_t header[2] = {length | bits, 0};
    size_t at = scene->producer % RING_SIZE;
    memcpy(scene->data + at, header, sizeof(header));
    memcpy(scene->data + at + sizeof(header), bytes, length);
    scene->producer += (sizeof(header) + length + 7) / 8 * 8;
}

static void put_exit(struct scene *scene, uint16_t kind, uint32_t size, uint32_t bits)
{
    struct sampler_exit exit = {.head = {.kind = kind, .size = size}};
    put(scene, &exit, sizeof(exit), bits);
}

static struct scene *open_scene(void)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    CHECK(scene);
    scene->program.ring = (struct bpf_ring){.consumer = &scene->consumer,
                                            .producer = &scene->producer,
                                            .data = scene->data,
                                            .size = RING_SIZE};
    return scene;
}

TEST(damaged_records_are_passed_over_and_counted)
{
    struct scene *scene = open_scene();
    const uint32_t size = sizeof(struct sampler_exit);
    put_exit(scene, SAMPLER_EXIT, size, 0);
    put_exit(scene, SAMPLER_EXIT, size, BPF_RINGBUF_DISCARD_BIT); /* discarded: not a loss */
    put_exit(scene, 0, size, 0);
    put_exit(scene, SAMPLER_EXIT + 1, size, 0);
    put_exit(scene, SAMPLER_EXIT, size + 1, 0);                        /* longer than its place */
    put_exit(scene, SAMPLER_EXIT, sizeof(struct sampler_head) - 1, 0); /* shorter than any record */
    put_exit(scene, SAMPLER_EXIT, size - 1, 0);                        /* shorter than its kind */
    put(scene, "short", 5, 0);
    put_exit(scene, SAMPLER_EXIT, size, 0);
    put_exit(scene, SAMPLER_EXIT, size, BPF_RINGBUF_BUSY_BIT);
    put_exit(scene, SAMPLER_EXIT, size, 0);
    uint64_t position = bpf_program_position(&scene->program);
    CHECK_INT(bpf_program_drain(&scene->program, position, take, scene), 0);
    CHECK_INT(scene->taken, 2);
    CHECK_INT(scene->program.ring.damaged, 6);
    CHECK(scene->consumer < scene->producer); /* waits for the record under construction */
    free(scene);
}
