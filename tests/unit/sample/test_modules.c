/* SPDX-License-Identifier: MIT */
/* Files of programs: other kinds of files, unreadable ones, and the reasons; real files, with rows
 * in plain memory. */
#include "clock_now.h"
#include "modules.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct scene {
    struct modules modules;
    unsigned segments_max, segments;
    struct unwind_row *rows;
    struct unwind_rule rules[SAMPLER_RULES_MAX];
};

static int add_segment(void *context, uint32_t index, struct unwind_row **ret_rows)
{
    struct scene *scene = context;
    if (index >= scene->segments_max)
        return -ENOSPC;
    *ret_rows = scene->rows = calloc(SAMPLER_SEGMENT_ROWS, sizeof(**ret_rows));
    return *ret_rows ? 0 : -ENOMEM;
}

static struct unwind_rule *rule_place(void *context, uint32_t index)
{
    return &((struct scene *)context)->rules[index];
}

static struct scene *open_scene(unsigned segments_max)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    struct row_source source = {add_segment, rule_place, scene};
    CHECK(scene);
    scene->segments_max = segments_max;
    CHECK_INT(modules_init(&scene->modules, &source, test_directory()), 0);
    return scene;
}

static void close_scene(struct scene *scene)
{
    modules_fini(&scene->modules);
    free(scene->rows);
    free(scene);
}

/* Pretends that this process has mapped the file: it is found by its path only. */
static struct module *find(struct scene *scene, const char *path, uint64_t inode)
{
    struct module_place place = {
        .pid = getpid(), .begin = 0x1000, .end = 0x2000, .inode = inode, .path = path};
    struct module *module = NULL;
    CHECK_INT(modules_find(&scene->modules, &place, &module), 0);
    CHECK(module);
    return module;
}

static struct module *find_file(struct scene *scene, const char *path)
{
    struct stat status;
    CHECK_INT(stat(path, &status), 0);
    return find(scene, path, status.st_ino);
}

static char *make_file(const char *name, const void *bytes, size_t size)
{
    static char path[4200];
    snprintf(path, sizeof(path), "%s/%s", test_directory(), name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    CHECK_INT(write(fd, bytes, size), size);
    close(fd);
    return path;
}

static uint64_t all_unread(const struct scene *scene)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < MODULE_LOSS_COUNT; i++)
        sum += scene->modules.unread[i];
    return sum;
}

TEST(rows_of_a_program_are_loaded)
{
    struct scene *scene = open_scene(1);
    struct module *module = find_file(scene, "/proc/self/exe");
    CHECK_INT(module->rows, MODULE_ROWS_LOADED);
    CHECK_INT(all_unread(scene), 0);
    close_scene(scene);
}

TEST(memory_and_files_that_are_no_programs_are_followed_by_frame_pointers)
{
    struct scene *scene = open_scene(1);
    CHECK_INT(find_file(scene, make_file("code", "\x90\x90\xc3", 3))->rows, MODULE_ROWS_NONE);
    CHECK_INT(find(scene, "/memfd:jit (deleted)", 99)->rows, MODULE_ROWS_NONE);
    CHECK_INT(find(scene, "/dev/zero (deleted)", 98)->rows, MODULE_ROWS_NONE);
    CHECK_INT(all_unread(scene), 0);
    close_scene(scene);
}

TEST(walks_end_at_a_file_that_cannot_be_had_and_its_cause_is_counted)
{
    struct scene *scene = open_scene(1);
    CHECK_INT(find(scene, "/nowhere/libgone.so (deleted)", 99)->rows, MODULE_ROWS_MISSING);
    CHECK_INT(scene->modules.unread[MODULE_LOSS_GONE], 1);
    find(scene, "/nowhere/libgone.so (deleted)", 99); /* once each */
    CHECK_INT(scene->modules.unread[MODULE_LOSS_GONE], 1);
    const char *broken = make_file("libbroken.so",
                                   "\x7f"
                                   "ELF is how it begins",
                                   21);
    CHECK_INT(find_file(scene, broken)->rows, MODULE_ROWS_MISSING);
    CHECK_INT(scene->modules.unread[MODULE_LOSS_DAMAGED], 1);
    CHECK_INT(all_unread(scene), 2);
    close_scene(scene);
}

TEST(walks_end_at_a_program_whose_rows_find_no_room)
{
    struct scene *scene = open_scene(0);
    struct module *module = find_file(scene, "/proc/self/exe");
    CHECK_INT(module->rows, MODULE_ROWS_MISSING);
    CHECK(module->file); /* for its names */
    CHECK_INT(module->part_count, 0);
    CHECK(scene->modules.tables_refused >= 1);
    close_scene(scene);
}

/* ---- Forgetting ------------------------------------------------------------------------------ */

static void count_one(void *context, const struct module *module)
{
    (void)module;
    ++*(int *)context;
}

TEST(what_is_not_needed_is_forgotten_with_its_rows_and_can_come_again)
{
    struct scene *scene = open_scene(1);
    uint64_t rows = scene->modules.rows.counts.rows_used; /* of the vdso */
    struct module *program = find_file(scene, "/proc/self/exe");
    uint64_t of_program = scene->modules.rows.counts.rows_used - rows;
    struct module *other = find(scene, "/nowhere/libgone.so", 99);
    int forgotten = 0;
    CHECK(of_program > 100);
    program->needed_ns = 20;
    other->needed_ns = 10;
    modules_forget(&scene->modules, 10, count_one, &forgotten);
    CHECK_INT(forgotten, 0);
    modules_forget(&scene->modules, 11, count_one, &forgotten);
    CHECK_INT(forgotten, 1);
    CHECK(find_file(scene, "/proc/self/exe") == program);
    modules_forget(&scene->modules, 21, count_one, &forgotten);
    CHECK_INT(forgotten, 2);
    CHECK_INT(scene->modules.rows.counts.rows_used, rows);
    CHECK_INT(scene->modules.by_file.count, 0);
    program = find_file(scene, "/proc/self/exe");
    CHECK_INT(program->rows, MODULE_ROWS_LOADED);
    CHECK_INT(scene->modules.rows.counts.rows_used, rows + of_program);
    close_scene(scene);
}

/* Takes rows until all requests are done. */
static void take_all(struct scene *scene)
{
    struct modules *modules = &scene->modules;
    for (int i = 0; modules->pending > 0 && i < 1000; i++) {
        symbolizer_await(modules->reader, clock_now_ns() + 10000000);
        CHECK_INT(modules_take_rows(modules), 0);
    }
    CHECK_INT(modules->pending, 0);
}

TEST(rows_beyond_what_may_be_read_at_once_are_read_by_another_thread)
{
    struct scene *scene = open_scene(1);
    CHECK_INT(modules_begin_reading(&scene->modules), 0);
    scene->modules.spent_ns = INT64_MAX / 2;
    uint64_t rows = scene->modules.rows.counts.rows_used;
    struct module *program = find_file(scene, "/proc/self/exe");
    CHECK_INT(program->rows, MODULE_ROWS_LAZY);
    CHECK_INT(modules_load_rows(&scene->modules, program), 0);
    CHECK_INT(modules_load_rows(&scene->modules, program), 0); /* once */
    CHECK_INT(program->rows, MODULE_ROWS_READING);
    CHECK_INT(scene->modules.pending, 1);
    take_all(scene);
    CHECK_INT(program->rows, MODULE_ROWS_LOADED);
    CHECK(program->part_count == 1 && program->parts[0].table.row_count > 100);
    CHECK_INT(scene->modules.rows.counts.rows_used, rows + program->parts[0].table.row_count);
    close_scene(scene);
}

TEST(rows_of_a_module_that_was_forgotten_while_they_were_read_are_given_back)
{
    struct scene *scene = open_scene(1);
    int forgotten = 0;
    CHECK_INT(modules_begin_reading(&scene->modules), 0);
    scene->modules.spent_ns = INT64_MAX / 2;
    uint64_t rows = scene->modules.rows.counts.rows_used;
    struct module *program = find_file(scene, "/proc/self/exe");
    CHECK_INT(modules_load_rows(&scene->modules, program), 0);
    modules_forget(&scene->modules, 1, count_one, &forgotten);
    CHECK_INT(forgotten, 1);
    take_all(scene);
    CHECK_INT(scene->modules.rows.counts.rows_used, rows);
    close_scene(scene);
}

/* Data being read when the sampler ends is freed (checked by sanitizers). */
TEST(a_reader_that_is_busy_is_left)
{
    struct scene *scene = open_scene(1);
    CHECK_INT(modules_begin_reading(&scene->modules), 0);
    scene->modules.spent_ns = INT64_MAX / 2;
    CHECK_INT(modules_load_rows(&scene->modules, find_file(scene, "/proc/self/exe")), 0);
    close_scene(scene);
}

/* A file that is rewritten in place keeps its inode number. */
TEST(of_files_with_one_number_each_can_be_forgotten)
{
    struct scene *scene = open_scene(1);
    struct module *modules[3];
    for (int i = 0; i < 3; i++) {
        char command[8600];
        snprintf(command, sizeof(command), "cat /proc/%d/exe > '%s/program'", getpid(),
                 test_directory());
        CHECK_INT(system(command), 0);
        snprintf(command, sizeof(command), "%s/program", test_directory());
        modules[i] = find_file(scene, command);
        modules[i]->needed_ns = 10;
        CHECK(i == 0 || modules[i] != modules[i - 1]);
        usleep(20000); /* timestamps of a file system are coarse */
    }
    int forgotten = 0;
    modules[1]->needed_ns = 1;
    modules_forget(&scene->modules, 5, count_one, &forgotten);
    CHECK_INT(forgotten, 1);
    CHECK(modules[2]->next == modules[0] && !modules[0]->next);
    modules[2]->needed_ns = 1;
    modules_forget(&scene->modules, 5, count_one, &forgotten);
    CHECK_INT(forgotten, 2);
    CHECK_INT(scene->modules.by_file.count, 1);
    close_scene(scene);
}
