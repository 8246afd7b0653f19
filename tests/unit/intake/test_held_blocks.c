/* SPDX-License-Identifier: MIT */
/* The time at which read blocks are freed: soon if the disk is idle, so that a program with many
 * events reuses them instead of touching new memory. */
#include "clock_map.h"
#include "clock_now.h"
#include "collector_writing.h"
#include "intake.h"
#include "proc_info.h"
#include "segment_maker.h"
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SESSION = 7, SERIAL = 3, POOL = 8192, ENOUGH = (2 << 20) / ANNOT_BLOCK_SIZE };

static struct {
    struct trace *trace;
    struct lives *lives;
    struct clock_map clock;
    struct directory directory;
    struct intake *intake;
    struct annot_segment_info info;
    int fd;
    uint32_t name, count;
} scene;

static int take_batch(void *context, const struct event_batch *batch)
{
    (void)context;
    (void)batch;
    return 0;
}

static bool has_room(void *context)
{
    (void)context;
    return true;
}

static void put(const void *data, size_t size, uint64_t offset)
{
    CHECK_INT(pwrite(scene.fd, data, size, (off_t)offset), size);
}

/* A segment of this process; its pool is a hole in the file until blocks are added. */
static void write_segment(void)
{
    char name[SEGMENT_NAME_SIZE];
    struct proc_stat stat;
    struct maker *maker = maker_create();
    struct annot_segment_info *info = &maker->page.info;
    CHECK_INT(proc_stat(getpid(), &stat), 0);
    info->session_id = SESSION;
    info->pid = getpid();
    info->pid_ns = proc_pid_namespace(0);
    info->identity = 1;
    info->start_time_ticks = stat.start_ticks;
    info->created_time = info->created_ns = (uint64_t)clock_now_ns();
    info->block_count = POOL;
    info->block_states_offset = sizeof(*maker);
    info->block_nexts_offset = info->block_states_offset + POOL * sizeof(uint32_t);
    info->blocks_offset = info->block_nexts_offset + POOL * sizeof(uint32_t);
    info->total_size = info->blocks_offset + (uint64_t)POOL * ANNOT_BLOCK_SIZE;
    scene.name = maker_string(maker, ANNOT_STRING_NAME, 0, "f");
    snprintf(name, sizeof(name), "%d-%llx-%llx" ANNOT_SEGMENT_SUFFIX, (int)getpid(),
             (unsigned long long)info->pid_ns, 1ULL);
    scene.fd = openat(scene.directory.fd, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CHECK_INT(ftruncate(scene.fd, (off_t)info->total_size), 0);
    scene.info = *info;
    put(maker, offsetof(struct maker, states), 0);
    maker_destroy(maker);
}

/* Adds full blocks up to a total of `until`; the collector reads them. */
static void fill(uint32_t until)
{
    const uint32_t state = ANNOT_BLOCK_RELEASED;
    struct maker *maker = maker_create();
    for (; scene.count < until; scene.count++) {
        struct annot_block *block = maker_block(maker, 0, SERIAL, scene.count, state);
        block->tid = getpid();
        block->claim_time = block->claim_ns = (uint64_t)clock_now_ns();
        struct annot_record mark = {
            .kind = ANNOT_REC_MARK, .name = scene.name, .time = block->claim_time};
        maker_record(block, mark, NULL, 0);
        put(block, ANNOT_BLOCK_SIZE,
            scene.info.blocks_offset + (uint64_t)scene.count * ANNOT_BLOCK_SIZE);
        put(&state, sizeof(state), scene.info.block_states_offset + scene.count * sizeof(state));
    }
    put(&scene.count, sizeof(scene.count),
        offsetof(struct annot_segment, shared) + offsetof(struct annot_shared, high_water));
    maker_destroy(maker);
    CHECK(intake_step(scene.intake, false) > 0);
}

static void start(void)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/place", test_directory());
    scene.trace = trace_create();
    scene.lives = lives_create(scene.trace);
    CHECK(scene.trace && scene.lives);
    CHECK_INT(clock_map_init(&scene.clock), 0);
    CHECK_INT(directory_open(path, &scene.directory), 0);
    const struct intake_options options = {
        .directory = &scene.directory,
        .trace = scene.trace,
        .clock = &scene.clock,
        .lives = scene.lives,
        .session_id = SESSION,
        .sink = take_batch,
        .room = has_room,
    };
    CHECK_INT(intake_create(&options, &scene.intake), 0);
    write_segment();
}

static void finish(void)
{
    close(scene.fd);
    intake_destroy(scene.intake);
    lives_destroy(scene.lives);
    clock_map_fini(&scene.clock);
    trace_destroy(scene.trace);
    directory_close(&scene.directory);
}

/* Returns the number of tickets so far. */
static uint64_t seal(struct writing *writing, bool disk_is_idle)
{
    writing->progress.waiting_since_ns = disk_is_idle ? 0 : 1;
    CHECK_INT(writing_seal_if_due(writing, 1, false), 0);
    return writing->sealed;
}

TEST(blocks_go_back_soon_if_nothing_waits_for_the_disk)
{
    start();
    struct writing writing = {.intake = scene.intake};
    fill(ENOUGH - 1);
    CHECK(!intake_holds_much(scene.intake));
    CHECK_INT(seal(&writing, true), 0);
    fill(ENOUGH);
    CHECK(intake_holds_much(scene.intake));
    CHECK(!intake_is_pressed(scene.intake)); /* it is a small part of the pool */
    CHECK_INT(seal(&writing, false), 0);
    CHECK_INT(seal(&writing, true), 1);
    CHECK(!intake_holds_much(scene.intake)); /* the sealed chunk waits for the disk */
    fill(2 * ENOUGH - 1);
    CHECK_INT(seal(&writing, true), 1);
    fill(2 * ENOUGH);
    CHECK_INT(seal(&writing, true), 2);
    finish();
}
