/* SPDX-License-Identifier: MIT */
/* Programs with libannot in the registry: the one running at a time, and the meaning of its name
 * ids. */
#include "lives.h"
#include "names.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define SECOND INT64_C(1000000000)

static struct trace *trace;
static struct lives *lives;

static void start(void)
{
    trace = trace_create();
    lives = lives_create(trace);
    CHECK(trace && lives);
    CHECK_INT(lives_note_search(lives, INT64_MAX, NULL, 0), 0);
}

static void finish(void)
{
    lives_destroy(lives);
    trace_destroy(trace);
}

/* The image of a closed segment created at made_ns; id 1 is "PID/MADE". */
static struct image *serve(int32_t pid, uint64_t start_ticks, int64_t made_ns)
{
    struct image *image;
    char text[64];
    CHECK(lives_claim_process(lives, pid, start_ticks, made_ns, &image) >= 0);
    int length = snprintf(text, sizeof(text), "%d/%lld", (int)pid, (long long)made_ns);
    int64_t name = trace_string_add(trace, text, (size_t)length);
    image->served_ns = made_ns;
    image->names = calloc(1, sizeof(*image->names));
    image->names->page_count = 1;
    image->names->pages = calloc(1, sizeof(*image->names->pages));
    image->names->pages[0] = calloc(1024, sizeof(*image->names->pages[0]));
    image->names->pages[0][1] = (uint32_t)name + 1;
    lives_serve(lives, image);
    return image;
}

/* The meaning of id 1; "": unknown; "?": not yet known. */
static const char *name_at(int32_t pid, int64_t time_ns)
{
    struct names *names;
    int error = lives_names_at(lives, pid, (uint64_t)time_ns, &names);
    CHECK(error == 0 || error == -EAGAIN || error == -ENOENT);
    if (error != 0)
        return error == -EAGAIN ? "?" : "";
    CHECK_INT(names_by_id(names, 2), 0);
    CHECK_INT(names_by_id(names, 1 << 20), 0);
    return trace_string(trace, (uint32_t)names_by_id(names, 1))->bytes;
}

static int64_t sampled(int32_t pid, uint64_t start_ticks, int64_t time_ns)
{
    struct lives_task task = {.pid = pid, .start_ticks = start_ticks};
    return lives_process(lives, &task, time_ns);
}

TEST(a_name_is_that_of_the_program_before)
{
    start();
    const uint64_t served = lives_served(lives);
    serve(20, 6, 1000);
    serve(20, 6, 5000);
    serve(20, 9, 8000); /* the pid was reused */
    serve(21, 6, 3000);
    CHECK_INT(lives_served(lives), served + 4);
    CHECK_STR(name_at(20, 999), "");
    CHECK_STR(name_at(20, 1000), "20/1000");
    CHECK_STR(name_at(20, 4999), "20/1000");
    CHECK_STR(name_at(20, 5000), "20/5000");
    CHECK_STR(name_at(20, 7999), "20/5000");
    CHECK_STR(name_at(20, 9000), "20/8000");
    CHECK_STR(name_at(21, 9000), "21/3000");
    CHECK_STR(name_at(22, 9000), "");
    CHECK_STR(name_at(-1, 9000), "");
    CHECK_INT(lives_last_image(lives, 20, 9)->served_ns, 8000);
    CHECK_INT(lives_last_image(lives, 20, 6)->served_ns, 5000);
    CHECK(!lives_last_image(lives, 23, 0));
    finish();
}

TEST(nothing_is_said_of_what_may_still_be_found)
{
    const int32_t unread[] = {21, 0};
    start();
    serve(20, 6, 1000);
    serve(21, 6, 1000);
    CHECK_INT(lives_note_search(lives, 2000, unread, 1), 0);
    CHECK_STR(name_at(20, 2000), "20/1000");
    CHECK_STR(name_at(20, 2001), "?");
    CHECK_STR(name_at(21, 1500), "?");
    CHECK_STR(name_at(22, 1500), "");
    CHECK_INT(lives_note_search(lives, 2000, unread, 2), 0); /* of an unidentified process */
    CHECK_STR(name_at(20, 1500), "?");
    CHECK_INT(lives_note_search(lives, 3000, NULL, 0), 0);
    CHECK_STR(name_at(20, 2001), "20/1000");
    finish();
}

TEST(forgotten_names_are_not_taken_for_those_of_an_older_program)
{
    start();
    serve(20, 6, 1000);
    struct image *image = serve(20, 6, 5000);
    image_forget_names(image);
    image_forget_names(image);
    CHECK_STR(name_at(20, 6000), "");
    CHECK_STR(name_at(20, 4000), "20/1000");
    finish();
}

/* In an order in which a scan of the directory may find them. */
TEST(a_program_that_is_found_after_its_successor_ran_before_it)
{
    start();
    serve(20, 6, 5000);
    serve(20, 6, 1000);
    CHECK_STR(name_at(20, 6000), "20/5000");
    CHECK_STR(name_at(20, 4000), "20/1000");
    CHECK_INT(sampled(20, 6, 6000), 0);
    CHECK_INT(sampled(20, 6, 4000), 1);
    CHECK_INT(trace_process_get(trace, 0)->end, PROCESS_RUNNING);
    CHECK_INT(trace_process_get(trace, 1)->end, PROCESS_EXEC);
    CHECK_INT(lives_last_image(lives, 20, 6)->served_ns, 5000);
    finish();
}

/* Advances the time by another process's exit. */
static void pass_time(int64_t time_ns)
{
    struct lives_task task = {.pid = 99, .start_ticks = (uint64_t)time_ns};
    lives_exit(lives, &task, time_ns, true, 0);
}

TEST(an_ended_process_stays_while_its_segment_is_read)
{
    start();
    struct image *image = serve(20, 6, SECOND);
    struct lives_task task = {.pid = 20, .start_ticks = 6};
    image->source = (struct segment_source *)&task;
    lives_exit(lives, &task, 2 * SECOND, true, 0);
    CHECK(!lives_last_image(lives, 20, 6));
    pass_time(100 * SECOND);
    pass_time(200 * SECOND);
    CHECK_STR(name_at(20, 3 * SECOND), "20/1000000000");
    image->source = NULL;
    pass_time(300 * SECOND);
    CHECK_STR(name_at(20, 3 * SECOND), "");
    finish();
}
