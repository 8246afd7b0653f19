/* SPDX-License-Identifier: MIT */
/* The cache on disk: what comes out is what was built; what is damaged, foreign or too much goes;
 * several processes may use it at once. */
#include "cache_folder.h"
#include "test.h"
#include "unwind_table.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct elf_file *open_libc(void)
{
    char line[4096], path[4096] = "";
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof(line), maps)) {
        char *at = strchr(line, '/');
        if (at && strstr(at, "/libc.so.6"))
            sscanf(at, "%4095s", path);
    }
    if (maps)
        fclose(maps);
    if (!path[0])
        test_skip("this program uses no libc.so.6");
    struct elf_file *file;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_INT(elf_file_open(fd, &file), 0);
    close(fd);
    return file;
}

static void check_same(const struct unwind_table *a, const struct unwind_table *b)
{
    CHECK_INT(a->base, b->base);
    CHECK_INT(a->end, b->end);
    CHECK_INT(a->row_count, b->row_count);
    CHECK_INT(a->rule_count, b->rule_count);
    CHECK_INT(a->skipped_count, b->skipped_count);
    CHECK(memcmp(a->rows, b->rows, a->row_count * sizeof(*a->rows)) == 0);
    CHECK(memcmp(a->rules, b->rules, a->rule_count * sizeof(*a->rules)) == 0);
}

static char *folder_path(const char *name)
{
    char *path = NULL;
    CHECK(asprintf(&path, "%s/%s", test_directory(), name) > 0);
    return path;
}

/* The number of files in a folder, and the path of the last one. */
static int files_in(const char *folder, char path[4096])
{
    int count = 0;
    DIR *stream = opendir(folder);
    struct dirent *entry;
    CHECK(stream != NULL);
    while ((entry = readdir(stream)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        count++;
        if (path)
            snprintf(path, 4096, "%s/%s", folder, entry->d_name);
    }
    closedir(stream);
    return count;
}

static void check_table(const char *folder, struct elf_file *file, const struct unwind_table *right)
{
    struct unwind_table *table;
    CHECK_INT(unwind_cache_table(folder, file, &table), 0);
    check_same(table, right);
    unwind_table_destroy(table);
}

TEST(a_table_comes_out_as_it_was_built)
{
    struct elf_file *file = open_libc();
    struct unwind_table *built;
    struct stat first, second;
    char path[4096], *folder = folder_path("deep/down");
    CHECK_INT(unwind_table_build(file, &built), 0);
    check_table(folder, file, built);
    CHECK_INT(files_in(folder, path), 1);
    CHECK_INT(stat(path, &first), 0);
    CHECK_INT(first.st_mode & 0777, 0600);
    check_table(folder, file, built);
    CHECK_INT(stat(path, &second), 0);
    CHECK_INT(first.st_ino, second.st_ino); /* read, not written again */
    unwind_table_destroy(built);
    elf_file_close(file);
    free(folder);
}

static void damage(const char *path, off_t offset, uint8_t bits)
{
    uint8_t byte;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_INT(pread(fd, &byte, 1, offset), 1);
    byte ^= bits;
    CHECK_INT(pwrite(fd, &byte, 1, offset), 1);
    close(fd);
}

TEST(a_file_with_any_damage_is_built_again)
{
    struct elf_file *file = open_libc();
    struct unwind_table *built;
    struct stat status;
    char path[4096], *folder = folder_path("cache");
    CHECK_INT(unwind_table_build(file, &built), 0);
    check_table(folder, file, built);
    CHECK_INT(files_in(folder, path), 1);
    CHECK_INT(stat(path, &status), 0);
    for (off_t offset = 0; offset < status.st_size; offset += offset < 200 ? 1 : 1777) {
        damage(path, offset, (uint8_t)(1u << (offset % 8)));
        check_table(folder, file, built);
        CHECK_INT(files_in(folder, path), 1);
    }
    CHECK_INT(truncate(path, status.st_size - 1), 0);
    check_table(folder, file, built);
    CHECK_INT(truncate(path, 10), 0);
    check_table(folder, file, built);
    CHECK_INT(truncate(path, status.st_size + 8), 0);
    check_table(folder, file, built);
    CHECK_INT(stat(path, &status), 0);
    CHECK_INT(unlink(path), 0);
    CHECK_INT(symlink("/etc/passwd", path), 0); /* never followed */
    check_table(folder, file, built);
    unwind_table_destroy(built);
    elf_file_close(file);
    free(folder);
}

TEST(a_folder_that_cannot_be_trusted_or_written_is_not_used)
{
    struct elf_file *file = open_libc();
    struct unwind_table *built;
    char *folder = folder_path("open"), *text = folder_path("text"), *link = folder_path("link");
    CHECK_INT(unwind_table_build(file, &built), 0);
    CHECK_INT(mkdir(folder, 0700), 0);
    CHECK_INT(chmod(folder, 0777), 0);
    check_table(folder, file, built);
    CHECK_INT(files_in(folder, NULL), 0);
    CHECK_INT(cache_folder_open(folder), -EPERM);
    CHECK_INT(chmod(folder, 0700), 0);
    CHECK_INT(symlink(folder, link), 0);
    check_table(link, file, built);
    CHECK_INT(files_in(folder, NULL), 0);
    close(open(text, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    check_table(text, file, built);
    if (geteuid() == 0) {
        CHECK_INT(chown(folder, 65534, 65534), 0);
        check_table(folder, file, built);
        CHECK_INT(files_in(folder, NULL), 0);
    }
    unwind_table_destroy(built);
    elf_file_close(file);
    free(folder), free(text), free(link);
}

TEST(the_default_is_the_users_cache)
{
    struct elf_file *file = open_libc();
    struct unwind_table *built;
    char *cache = folder_path("xdg"), *inside = folder_path("xdg/annot/unwind"),
         *home = folder_path("home"), *hidden = folder_path("home/.cache/annot/unwind");
    CHECK_INT(unwind_table_build(file, &built), 0);
    setenv("XDG_CACHE_HOME", cache, 1);
    check_table(NULL, file, built);
    CHECK_INT(files_in(inside, NULL), 1);
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", home, 1);
    check_table(NULL, file, built);
    CHECK_INT(files_in(hidden, NULL), 1);
    unsetenv("HOME");
    check_table(NULL, file, built);
    unwind_table_destroy(built);
    elf_file_close(file);
    free(cache), free(inside), free(home), free(hidden);
}

static void make_file(int folder, const char *name, off_t size, time_t used)
{
    struct timespec times[2] = {{.tv_sec = used}, {.tv_sec = used}};
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    CHECK_INT(ftruncate(fd, size), 0);
    CHECK_INT(futimens(fd, times), 0);
    close(fd);
}

TEST(beyond_its_size_the_files_unused_for_longest_go)
{
    char *path = folder_path("full");
    int folder = cache_folder_open(path);
    time_t now = time(NULL);
    CHECK(folder >= 0);
    make_file(folder, "old", 4000, now - 300);
    make_file(folder, "older", 4000, now - 400);
    make_file(folder, "new", 4000, now);
    make_file(folder, ".left-over", 10, now - 10000);
    make_file(folder, ".being-written", 10, now);
    cache_folder_trim(folder, 8500);
    CHECK_INT(faccessat(folder, "older", F_OK, 0), -1);
    CHECK_INT(faccessat(folder, "old", F_OK, 0), 0);
    CHECK_INT(faccessat(folder, "new", F_OK, 0), 0);
    CHECK_INT(faccessat(folder, ".left-over", F_OK, 0), -1);
    CHECK_INT(faccessat(folder, ".being-written", F_OK, 0), 0);
    cache_folder_trim(folder, 4100);
    CHECK_INT(faccessat(folder, "old", F_OK, 0), -1);
    CHECK_INT(faccessat(folder, "new", F_OK, 0), 0);
    close(folder);
    free(path);
}

TEST(processes_share_it_at_the_same_time)
{
    enum { PROCESSES = 4, ROUNDS = 30 };
    struct elf_file *file = open_libc();
    struct unwind_table *built;
    char path[4096], *folder = folder_path("shared");
    CHECK_INT(unwind_table_build(file, &built), 0);
    for (int i = 0; i < PROCESSES; i++) {
        if (fork() != 0)
            continue;
        for (int round = 0; round < ROUNDS; round++) {
            check_table(folder, file, built);
            if (round % 3 == i % 3 && files_in(folder, path) > 0)
                unlink(path);
        }
        _exit(0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        CHECK(wait(&status) > 0);
        CHECK_INT(status, 0);
    }
    unwind_table_destroy(built);
    elf_file_close(file);
    free(folder);
}
