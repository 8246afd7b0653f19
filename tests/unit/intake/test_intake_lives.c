/* SPDX-License-Identifier: MIT */
/* A process seen by the sampler and its segment are one entry; the intake reports participation and
 * the meaning of names, also for an ended process; the kernel's reports of exits and execs take
 * precedence. */
#include "clock_map.h"
#include "clock_now.h"
#include "intake.h"
#include "proc_info.h"
#include "segment_maker.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SESSION = 7, OFFSET = -64, SERIAL = 3 };

static struct {
    struct trace *trace;
    struct lives *lives;
    struct clock_map clock;
    struct directory directory;
    struct intake *intake;
    uint32_t name_id;
    int64_t age_ns;             /* of new segments */
    uint64_t at_random_address; /* of their images */
    unsigned event_count;
    unsigned blocks; /* of new segments; 0: one */
    int taken;       /* blocks that found room */
    int room;        /* number of blocks; 0: unlimited */
    uint32_t last;   /* the process of the last event */
    pid_t child;
    struct lives_task task;
} scene;

static int take_batch(void *context, const struct event_batch *batch)
{
    (void)context;
    scene.event_count += batch->count;
    scene.last = trace_thread_get(scene.trace, batch->thread)->process;
    return 0;
}

static bool has_room(void *context)
{
    (void)context;
    return scene.room == 0 || scene.taken++ < scene.room;
}

/* A child that runs until it is killed. */
static void start_child(void)
{
    struct proc_stat stat;
    scene.child = fork();
    if (scene.child == 0)
        for (;;)
            pause();
    CHECK(scene.child > 0);
    CHECK_INT(proc_stat(scene.child, &stat), 0);
    scene.task = (struct lives_task){
        .pid = scene.child, .tid = scene.child, .start_ticks = stat.start_ticks};
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
    struct intake_options options = {
        .directory = &scene.directory,
        .trace = scene.trace,
        .clock = &scene.clock,
        .lives = scene.lives,
        .session_id = SESSION,
        .sink = take_batch,
        .room = has_room,
    };
    CHECK_INT(intake_create(&options, &scene.intake), 0);
    start_child();
}

static void finish(void)
{
    intake_destroy(scene.intake);
    lives_destroy(scene.lives);
    clock_map_fini(&scene.clock);
    trace_destroy(scene.trace);
    directory_close(&scene.directory);
    if (scene.child > 0) {
        kill(scene.child, SIGKILL);
        waitpid(scene.child, NULL, 0);
    }
}

/* A segment of the child, with one thread that pushed a range. */
static void write_segment(uint64_t identity, const char *range)
{
    char name[SEGMENT_NAME_SIZE];
    struct maker *maker = maker_create();
    struct annot_segment_info *info = &maker->page.info;
    info->session_id = SESSION;
    info->pid = scene.child;
    info->pid_ns = proc_pid_namespace(0);
    info->identity = identity;
    info->start_time_ticks = scene.task.start_ticks;
    info->created_time = info->created_ns = (uint64_t)(clock_now_ns() - scene.age_ns);
    info->at_random_address = scene.at_random_address;
    info->tls_offset = OFFSET;
    memcpy(info->comm, "worker", 7);
    scene.name_id = maker_string(maker, ANNOT_STRING_NAME, 0, range);
    for (uint32_t i = 0; i == 0 || i < scene.blocks; i++) {
        struct annot_block *block = maker_block(maker, i, SERIAL, i, ANNOT_BLOCK_RELEASED);
        block->tid = scene.child;
        block->claim_time = block->claim_ns = (uint64_t)clock_now_ns();
        struct annot_record push = {
            .kind = ANNOT_REC_PUSH, .name = scene.name_id, .time = block->claim_time + 10};
        maker_record(block, push, NULL, 0);
    }
    snprintf(name, sizeof(name), "%d-%llx-%llx" ANNOT_SEGMENT_SUFFIX, (int)scene.child,
             (unsigned long long)info->pid_ns, (unsigned long long)identity);
    int fd = openat(scene.directory.fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK_INT(write(fd, maker, sizeof(*maker)), sizeof(*maker));
    close(fd);
    maker_destroy(maker);
}

/* The child's segment appears. */
static void appear(uint64_t identity)
{
    write_segment(identity, "load");
    CHECK(intake_step(scene.intake, true) > 0);
    CHECK_INT(scene.event_count, 1);
}

static const struct trace_process *entry_of(int64_t ordinal)
{
    return trace_process_get(scene.trace, (uint32_t)ordinal);
}

TEST(sampled_first_then_annotated_is_one_process_and_one_thread)
{
    start();
    CHECK_INT(lives_exec(scene.lives, &scene.task, 5000, "prog", "prog --fast"), 0);
    int64_t process = lives_process(scene.lives, &scene.task, clock_now_ns());
    int64_t thread = lives_thread(scene.lives, &scene.task, clock_now_ns());
    CHECK(process >= 0 && thread >= 0);
    appear(11);
    CHECK_INT(trace_process_count(scene.trace), 1);
    CHECK_INT(trace_thread_count(scene.trace), 1);
    CHECK_STR(trace_string(scene.trace, entry_of(process)->comm)->bytes, "worker");
    CHECK_INT(entry_of(process)->identity, 11);
    const struct trace_thread *entry = trace_thread_get(scene.trace, (uint32_t)thread);
    CHECK_INT(entry->serial, SERIAL + 1);
    CHECK_INT(entry->tid, scene.child);
    CHECK_INT(lives_thread(scene.lives, &scene.task, clock_now_ns()), thread);
    const struct image *image = lives_last_image(scene.lives, scene.child, scene.task.start_ticks);
    CHECK_INT(image->tls_offset, OFFSET);
    CHECK_INT(lives_served(scene.lives), 1);
    finish();
}

TEST(annotated_first_then_sampled_is_one_process_and_one_thread)
{
    start();
    appear(11);
    CHECK_INT(lives_process(scene.lives, &scene.task, clock_now_ns()), 0);
    CHECK_INT(lives_thread(scene.lives, &scene.task, clock_now_ns()), 0);
    CHECK_INT(trace_process_count(scene.trace), 1);
    CHECK_INT(trace_thread_count(scene.trace), 1);
    finish();
}

static int64_t ask(int32_t pid, uint64_t time_ns, uint32_t name_id)
{
    struct names *names;
    int error = lives_names_at(scene.lives, pid, time_ns, &names);
    int64_t name = error == 0 ? names_by_id(names, name_id) : error;
    return name == 0 && name_id != 0 ? -ENOENT : name;
}

/* The name of the range that the child had open at that time; "": permanently unknown. */
static const char *name_at(uint64_t time_ns)
{
    int64_t name = ask(scene.child, time_ns, scene.name_id);
    CHECK(name > 0 || name == -ENOENT);
    return name > 0 ? trace_string(scene.trace, (uint32_t)name)->bytes : "";
}

/* A time distinct from those before and after it. */
static uint64_t now_between(void)
{
    usleep(2000);
    uint64_t time_ns = (uint64_t)clock_now_ns();
    usleep(2000);
    return time_ns;
}

TEST(names_are_told_by_pid_also_after_the_end)
{
    start();
    CHECK_INT(ask(scene.child, (uint64_t)clock_now_ns(), 5), -EAGAIN);
    write_segment(11, "load");
    uint64_t time_ns = now_between();
    CHECK_INT(ask(scene.child, time_ns, scene.name_id), -EAGAIN);
    CHECK(intake_step(scene.intake, true) > 0);
    int64_t name = ask(scene.child, time_ns, scene.name_id);
    CHECK_STR(name_at(time_ns), "load");
    CHECK_INT(ask(scene.child, time_ns, 99), -ENOENT);
    CHECK_INT(ask(scene.child, time_ns, UINT32_MAX), -ENOENT);
    CHECK_INT(ask(scene.child, time_ns, 0), 0);
    CHECK_INT(ask(1, time_ns, scene.name_id), -ENOENT);
    CHECK_INT(ask(-1, time_ns, scene.name_id), -ENOENT);
    CHECK_INT(ask(1, (uint64_t)clock_now_ns(), scene.name_id), -EAGAIN);
    kill(scene.child, SIGKILL);
    while (entry_of(0)->end_ns == 0) {
        CHECK(intake_step(scene.intake, true) >= 0);
        usleep(1000);
    }
    intake_free(scene.intake, DRAIN_ALL); /* the segment has been closed */
    CHECK_INT(ask(scene.child, time_ns, scene.name_id), name);
    CHECK_INT(ask(scene.child, time_ns, 99), -ENOENT);
    finish();
}

TEST(a_process_that_ends_while_there_is_no_room_is_read_later)
{
    start();
    write_segment(11, "load");
    scene.room = scene.taken = 1;
    CHECK_INT(intake_step(scene.intake, true), 0);
    kill(scene.child, SIGKILL);
    for (int i = 0; i < 50; i++, usleep(1000))
        CHECK_INT(intake_step(scene.intake, true), 0);
    CHECK_INT(intake_seal(scene.intake, 1), 0);
    intake_free(scene.intake, DRAIN_ALL);
    CHECK_INT(entry_of(0)->end, PROCESS_RUNNING);
    CHECK_INT(intake_look_around(scene.intake), 0);
    scene.room = 0;
    CHECK_INT(intake_step(scene.intake, true), 0);
    CHECK_INT(scene.event_count, 1);
    CHECK(entry_of(0)->end != PROCESS_RUNNING);
    struct intake_counts counts;
    CHECK_INT(intake_seal(scene.intake, 2), 0);
    intake_free(scene.intake, 1); /* its segment stays open until all of it is written */
    CHECK_INT(intake_look_around(scene.intake), 0);
    intake_count(scene.intake, &counts);
    CHECK(counts.shared_bytes > 0);
    intake_free(scene.intake, 2);
    CHECK_INT(intake_look_around(scene.intake), 0);
    intake_count(scene.intake, &counts);
    CHECK_INT(counts.shared_bytes, 0);
    finish();
}

TEST(who_got_the_last_room_comes_last_the_next_time)
{
    start();
    scene.blocks = 2;
    write_segment(11, "load");
    pid_t first = scene.child;
    start_child();
    write_segment(12, "load");
    pid_t second = scene.child;
    const pid_t expected[] = {first, second, first, second};
    scene.room = 1; /* a block per step */
    for (unsigned i = 0; i < 4; i++) {
        scene.taken = 0;
        CHECK(intake_step(scene.intake, true) > 0);
        CHECK_INT(scene.event_count, i + 1);
        CHECK_INT(entry_of(scene.last)->pid, expected[i]);
    }
    kill(first, SIGKILL);
    waitpid(first, NULL, 0);
    finish();
}

TEST(names_are_those_of_the_program_that_ran_at_the_time)
{
    start();
    uint64_t before_ns = now_between();
    write_segment(11, "load");
    uint64_t old_id = scene.name_id, old_ns = now_between();
    CHECK(intake_step(scene.intake, true) > 0);
    uint64_t late_ns = now_between();
    CHECK_INT(ask(scene.child, late_ns, scene.name_id), -EAGAIN); /* another segment may exist */
    write_segment(12, "save");
    uint64_t new_ns = now_between();
    CHECK_INT(scene.name_id, old_id);
    CHECK_STR(name_at(old_ns), "load");
    CHECK_INT(ask(scene.child, new_ns, scene.name_id), -EAGAIN);
    CHECK(intake_step(scene.intake, true) > 0);
    CHECK_INT(entry_of(0)->end, PROCESS_EXEC);
    CHECK_STR(name_at(before_ns), "");
    CHECK_STR(name_at(old_ns), "load");
    CHECK_STR(name_at(late_ns), "load");
    CHECK_STR(name_at(new_ns), "save");
    intake_free(scene.intake, DRAIN_ALL);
    CHECK_INT(intake_look_around(scene.intake), 0);
    CHECK_STR(name_at(old_ns), "load"); /* its samples may still arrive */
    usleep(1100000);
    CHECK_INT(intake_look_around(scene.intake), 0);
    CHECK_STR(name_at(old_ns), "");
    CHECK_STR(name_at(new_ns), "save");
    finish();
}

/* In an order in which a scan of the directory may find them. */
TEST(a_program_lives_although_the_one_before_it_is_found_later)
{
    start();
    scene.at_random_address = proc_at_random(scene.child);
    write_segment(12, "save");
    uint64_t new_ns = now_between();
    scene.age_ns = 1000000000;
    scene.at_random_address++;
    write_segment(11, "load");
    CHECK(intake_step(scene.intake, true) > 0);
    CHECK_INT(intake_look_around(scene.intake), 0);
    CHECK_INT(trace_process_count(scene.trace), 2);
    CHECK_INT(entry_of(0)->identity, 12);
    CHECK_INT(entry_of(0)->end, PROCESS_RUNNING);
    CHECK_INT(entry_of(1)->end, PROCESS_EXEC);
    CHECK_INT(lives_process(scene.lives, &scene.task, clock_now_ns()), 0); /* so do its samples */
    CHECK_INT(lives_process(scene.lives, &scene.task, (int64_t)new_ns - 500000000), 1);
    CHECK_STR(name_at(new_ns), "save");
    CHECK_STR(name_at(new_ns - 500000000), "load");
    finish();
}

/* The newer segment exists and cannot be opened: its names are not those of the older one. */
TEST(names_wait_for_a_segment_that_could_not_be_read)
{
    struct rlimit files, few;
    start();
    appear(11);
    write_segment(12, "save");
    uint64_t time_ns = now_between();
    int next = dup(0);
    close(next);
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &files), 0);
    few = (struct rlimit){(rlim_t)next, files.rlim_max};
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &few), 0);
    CHECK(intake_step(scene.intake, true) >= 0);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &files), 0);
    CHECK_INT(ask(scene.child, time_ns, scene.name_id), -EAGAIN);
    CHECK_INT(ask(1, time_ns, scene.name_id), -ENOENT);
    CHECK(intake_step(scene.intake, true) > 0);
    CHECK_STR(name_at(time_ns), "save");
    finish();
}

TEST(at_the_end_nothing_is_waited_for)
{
    start();
    appear(11);
    CHECK_INT(intake_finish(scene.intake), 0);
    CHECK_STR(name_at((uint64_t)clock_now_ns()), "load");
    CHECK_INT(ask(1, (uint64_t)clock_now_ns(), scene.name_id), -ENOENT);
    finish();
}

TEST(what_the_kernel_told_of_the_end_stays)
{
    start();
    appear(11);
    kill(scene.child, SIGKILL);
    CHECK_INT(waitpid(scene.child, NULL, 0), scene.child); /* its status is no longer available */
    lives_exit(scene.lives, &scene.task, 123456789, true, SIGKILL);
    scene.child = 0;
    CHECK(intake_step(scene.intake, true) >= 0);
    CHECK_INT(intake_look_around(scene.intake), 0);
    CHECK_INT(entry_of(0)->end, PROCESS_SIGNALED);
    CHECK_INT(entry_of(0)->end_value, SIGKILL);
    CHECK_INT(entry_of(0)->end_ns, 123456789);
    finish();
}

TEST(an_exec_that_the_kernel_told_is_not_taken_for_an_end)
{
    start();
    appear(11);
    int64_t exec_ns = clock_now_ns();
    CHECK_INT(lives_exec(scene.lives, &scene.task, exec_ns, "next", "next"), 0);
    kill(scene.child, SIGKILL);
    CHECK_INT(waitpid(scene.child, NULL, 0), scene.child);
    scene.child = 0;
    CHECK(intake_step(scene.intake, true) >= 0);
    CHECK_INT(intake_look_around(scene.intake), 0);
    CHECK_INT(entry_of(0)->end, PROCESS_EXEC);
    CHECK_INT(entry_of(0)->end_ns, exec_ns);
    finish();
}
