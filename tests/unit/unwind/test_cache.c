/* SPDX-License-Identifier: MIT */
/* The cache on disk: tables are read back as built; damaged, untrusted and excess files are
 * removed; several processes may use it concurrently. */
#include "cfi_index.h"
#include "test.h"
#include "unwind_cache.h"
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
    CHECK_INT(first.st_ino, second.st_ino); /* read, not rewritten */
    unwind_table_destroy(built);
    elf_file_close(file);
    free(folder);
}

/* A copy of the C library with the same build-id, with a changed byte in .eh_frame that gives
 * another table. */
static struct elf_file *open_patched(struct elf_file *file, const struct unwind_table *right)
{
    struct elf_section section;
    struct elf_segment segment = {0};
    CHECK(elf_file_section(file, ".eh_frame", &section));
    for (size_t i = 0; i < elf_file_segment_count(file); i++)
        if (elf_file_segment(file, i).address <= section.address)
            segment = elf_file_segment(file, i);
    uint64_t end = 0, begin = segment.offset + (section.address - segment.address);
    for (size_t i = 0; i < elf_file_segment_count(file); i++)
        end = elf_file_segment(file, i).offset + elf_file_segment(file, i).file_size;
    char *path = folder_path("patched.so"), *bytes = malloc(end);
    CHECK(bytes && elf_file_read(file, 0, bytes, end));
    for (size_t i = section.size / 2; i < section.size; i++) {
        struct unwind_table *other;
        struct elf_file *patched;
        bytes[begin + i] ^= 8;
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
        CHECK(fd >= 0 && write(fd, bytes, end) == (ssize_t)end);
        CHECK_INT(elf_file_open(fd, &patched), 0);
        close(fd);
        bytes[begin + i] ^= 8;
        bool built = unwind_table_build(patched, &other) == 0;
        bool differs = built && (other->row_count != right->row_count ||
                                 memcmp(other->rows, right->rows,
                                        right->row_count * sizeof(*right->rows)) != 0);
        if (built)
            unwind_table_destroy(other);
        if (differs) {
            free(path), free(bytes);
            return patched;
        }
        elf_file_close(patched);
    }
    test_fail(__FILE__, __LINE__, "no byte makes another table");
    return NULL;
}

TEST(two_files_that_claim_one_build_id_have_their_own_tables)
{
    uint8_t one[ELF_BUILD_ID_MAX] = {0}, other[ELF_BUILD_ID_MAX] = {0};
    struct elf_file *right = open_libc();
    struct unwind_table *right_table, *wrong_table;
    CHECK_INT(unwind_table_build(right, &right_table), 0);
    struct elf_file *wrong = open_patched(right, right_table);
    CHECK_INT(unwind_table_build(wrong, &wrong_table), 0);
    CHECK(elf_file_build_id(right, one) > 0 && elf_file_build_id(wrong, other) > 0);
    CHECK(memcmp(one, other, sizeof(one)) == 0);
    char *folder = folder_path("first"), *second = folder_path("second");
    check_table(folder, right, right_table);
    check_table(folder, wrong, wrong_table);
    check_table(folder, right, right_table);
    CHECK_INT(files_in(folder, NULL), 2);
    check_table(second, wrong, wrong_table);
    check_table(second, right, right_table);
    check_table(second, wrong, wrong_table);
    unwind_table_destroy(right_table);
    unwind_table_destroy(wrong_table);
    elf_file_close(right);
    elf_file_close(wrong);
    free(folder), free(second);
}

/* The same bytes in another user's file: tables built from it are used only for that user's
 * files. */
TEST(a_table_made_of_another_users_file_is_not_used_for_ours)
{
    struct elf_file *file = open_libc(), *copy;
    struct unwind_table *built;
    char *folder = folder_path("cache"), *path = folder_path("copy.so"), *bytes;
    uint64_t end = 0;
    if (geteuid() != 0)
        test_skip("giving a file to another user needs root");
    CHECK_INT(unwind_table_build(file, &built), 0);
    for (size_t i = 0; i < elf_file_segment_count(file); i++)
        end = elf_file_segment(file, i).offset + elf_file_segment(file, i).file_size;
    CHECK((bytes = malloc(end)) && elf_file_read(file, 0, bytes, end));
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0700);
    CHECK(fd >= 0 && write(fd, bytes, end) == (ssize_t)end && fchown(fd, 65534, 65534) == 0);
    CHECK_INT(elf_file_open(fd, &copy), 0);
    close(fd);
    check_table(folder, copy, built);
    CHECK_INT(files_in(folder, NULL), 1);
    check_table(folder, file, built);
    CHECK_INT(files_in(folder, NULL), 2);
    unwind_table_destroy(built);
    elf_file_close(file);
    elf_file_close(copy);
    free(folder), free(path), free(bytes);
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
    CHECK_INT(unlink(path), 0);
    CHECK_INT(mkfifo(path, 0600), 0); /* never opened blocking */
    check_table(folder, file, built);
    CHECK_INT(chmod(path, 0666), 0); /* writable by anyone */
    check_table(folder, file, built);
    CHECK_INT(stat(path, &status), 0);
    CHECK_INT(status.st_mode & 0777, 0600);
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
