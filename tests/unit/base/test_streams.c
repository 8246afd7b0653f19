/* SPDX-License-Identifier: MIT */
/* Output streams: complete files or no file, sticky errors, gzip output readable by gzip. */
#include "out_stream.h"
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

enum { LINES = 60000 };

static const char *file_path(const char *name)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/%s", test_directory(), name);
    return path;
}

static int count_in(const char *path)
{
    int count = 0;
    DIR *directory = opendir(path);
    for (struct dirent *entry; (entry = readdir(directory));)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

static int count_files(void)
{
    return count_in(test_directory());
}

static void write_lines(struct out_stream *out)
{
    char line[32];
    for (int i = 0; i < LINES; i++) {
        if (i % 3 == 0) {
            uint8_t *at = out_reserve(out, 32);
            out_advance(out, (size_t)snprintf((char *)at, 32, "line %d\n", i));
            continue;
        }
        snprintf(line, sizeof(line), "line %d\n", i);
        out_text(out, line);
    }
}

/* gzread reads plain files as well. */
static void check_lines(const char *path)
{
    char line[32], expected[32];
    gzFile file = gzopen(path, "rb");
    CHECK(file);
    for (int i = 0; i < LINES; i++) {
        snprintf(expected, sizeof(expected), "line %d\n", i);
        CHECK(gzgets(file, line, sizeof(line)));
        CHECK_STR(line, expected);
    }
    CHECK(!gzgets(file, line, sizeof(line)));
    CHECK_INT(gzclose(file), Z_OK);
}

TEST(file_takes_its_name_at_close)
{
    struct out_stream *out;
    for (int gzip = 0; gzip < 2; gzip++) {
        const char *path = file_path(gzip ? "x.gz" : "x");
        struct out_stream_options options = {.gzip = gzip};
        CHECK_INT(out_stream_open(path, &options, &out), 0);
        write_lines(out);
        CHECK(access(path, F_OK) != 0);
        uint64_t size = out_bytes(out);
        CHECK_INT(out_stream_close(out), 0);
        struct stat status;
        CHECK_INT(stat(path, &status), 0);
        CHECK(gzip ? (uint64_t)status.st_size < size / 3 : (uint64_t)status.st_size == size);
        CHECK((status.st_mode & 0111) == 0);
        check_lines(path);
        CHECK_INT(count_files(), gzip + 1);
    }
}

TEST(abandoned_file_leaves_nothing)
{
    struct out_stream *out;
    CHECK_INT(out_stream_open(file_path("x"), &(struct out_stream_options){0}, &out), 0);
    write_lines(out);
    out_stream_abandon(out);
    out_stream_abandon(NULL);
    CHECK_INT(count_files(), 0);
}

TEST(existing_file_is_kept_unless_told)
{
    struct out_stream *out;
    struct out_stream_options options = {0};
    CHECK_INT(out_stream_open(file_path("x"), &options, &out), 0);
    CHECK_INT(out_stream_close(out), 0);
    CHECK_INT(out_stream_open(file_path("x"), &options, &out), -EEXIST);
    options.overwrite = true;
    CHECK_INT(out_stream_open(file_path("x"), &options, &out), 0);
    write_lines(out);
    CHECK_INT(out_stream_close(out), 0);
    check_lines(file_path("x"));
    CHECK_INT(count_files(), 1);
}

TEST(file_that_appears_meanwhile_is_kept)
{
    struct out_stream *out;
    CHECK_INT(out_stream_open(file_path("x"), &(struct out_stream_options){0}, &out), 0);
    close(open(file_path("x"), O_CREAT | O_WRONLY, 0600));
    CHECK_INT(out_stream_close(out), -EEXIST);
    CHECK_INT(count_files(), 1);
}

TEST(overwriting_a_link_keeps_the_link)
{
    struct out_stream *out;
    struct stat status;
    char target[512];
    snprintf(target, sizeof(target), "%s", file_path("target"));
    close(open(target, O_CREAT | O_WRONLY, 0600));
    CHECK_INT(symlink(target, file_path("link")), 0);
    struct out_stream_options options = {.overwrite = true};
    CHECK_INT(out_stream_open(file_path("link"), &options, &out), 0);
    write_lines(out);
    CHECK_INT(out_stream_close(out), 0);
    CHECK(lstat(file_path("link"), &status) == 0 && S_ISLNK(status.st_mode));
    check_lines(target);
}

/* ---- Folders --------------------------------------------------------------------------------- */

static const char *const two_files[] = {"a", "b", NULL};

static void write_folder(const char *path, const char *text)
{
    struct out_folder *folder;
    CHECK_INT(out_folder_open(path, two_files, true, &folder), 0);
    out_text(out_folder_stream(folder, 0), text);
    out_text(out_folder_stream(folder, 1), text);
    CHECK_INT(out_folder_close(folder), 0);
}

TEST(folder_takes_its_name_at_close)
{
    struct out_folder *folder;
    CHECK_INT(out_folder_open(file_path("f/"), two_files, false, &folder), 0);
    CHECK(access(file_path("f"), F_OK) != 0);
    out_text(out_folder_stream(folder, 1), "text");
    CHECK_INT(out_folder_close(folder), 0);
    CHECK_INT(count_files(), 1);
    CHECK_INT(count_in(file_path("f")), 2);
    CHECK(access(file_path("f/b"), R_OK) == 0);
}

TEST(abandoned_folder_leaves_nothing)
{
    struct out_folder *folder;
    CHECK_INT(out_folder_open(file_path("f"), two_files, false, &folder), 0);
    out_text(out_folder_stream(folder, 0), "text");
    out_folder_abandon(folder);
    CHECK_INT(count_files(), 0);
    out_folder_abandon(NULL);
}

TEST(existing_folder_is_replaced_only_if_told_and_if_it_has_nothing_else)
{
    struct out_folder *folder;
    char link[4096];
    snprintf(link, sizeof(link), "%s", file_path("link"));
    write_folder(file_path("f"), "old");
    CHECK_INT(out_folder_open(file_path("f"), two_files, false, &folder), -EEXIST);
    CHECK(symlink("f", link) == 0);
    write_folder(link, "new one");
    struct stat status;
    CHECK(lstat(link, &status) == 0 && S_ISLNK(status.st_mode));
    CHECK(stat(file_path("f/a"), &status) == 0 && status.st_size == 7);
    CHECK_INT(count_files(), 2);
    CHECK(close(creat(file_path("f/mine"), 0600)) == 0);
    CHECK_INT(out_folder_open(file_path("f"), two_files, true, &folder), -ENOTEMPTY);
    CHECK_INT(out_folder_open(file_path("f/mine"), two_files, true, &folder), -ENOTDIR);
    CHECK_INT(count_in(file_path("f")), 3);
}

TEST(folder_that_gains_a_file_meanwhile_is_kept)
{
    struct out_folder *folder;
    write_folder(file_path("f"), "old");
    CHECK_INT(out_folder_open(file_path("f"), two_files, true, &folder), 0);
    CHECK(close(creat(file_path("f/mine"), 0600)) == 0);
    CHECK_INT(out_folder_close(folder), -ENOTEMPTY);
    CHECK_INT(count_files(), 1);
    CHECK_INT(count_in(file_path("f")), 3);
    CHECK_INT(out_folder_open(file_path("g"), two_files, false, &folder), 0);
    CHECK(mkdir(file_path("g"), 0700) == 0);
    CHECK_INT(out_folder_close(folder), -EEXIST);
}

/* ---- Errors ---------------------------------------------------------------------------------- */

TEST(errors_stick_and_come_back_at_close)
{
    struct out_stream *out;
    struct out_stream_options options = {0};
    CHECK_INT(out_stream_open("/dev/full", &options, &out), 0);
    write_lines(out);
    CHECK_INT(out_error(out), -ENOSPC);
    write_lines(out);
    CHECK_INT(out_stream_close(out), -ENOSPC);
    CHECK_INT(out_stream_open("/nonexistent/x", &options, &out), -ENOENT);
    CHECK_INT(out_stream_open("/tmp", &options, &out), -EISDIR);
    options.gzip = true;
    CHECK_INT(out_stream_open("/dev/full", &options, &out), 0);
    CHECK_INT(out_stream_close(out), -ENOSPC);
}

TEST(file_size_limit_is_an_error_not_a_signal)
{
    struct rlimit limit = {100000, 100000};
    struct out_stream *out;
    test_directory();
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
    CHECK_INT(out_stream_open(file_path("x"), &(struct out_stream_options){0}, &out), 0);
    write_lines(out);
    CHECK_INT(out_stream_close(out), -EFBIG);
    CHECK_INT(count_files(), 0);
}

TEST(closed_pipe_is_an_error)
{
    struct out_stream *out;
    int fds[2];
    signal(SIGPIPE, SIG_IGN);
    CHECK_INT(pipe(fds), 0);
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[1]);
    CHECK_INT(out_stream_open(path, &(struct out_stream_options){0}, &out), 0);
    close(fds[0]);
    out_text(out, "x");
    CHECK_INT(out_stream_close(out), -EPIPE);
    close(fds[1]);
}

TEST(memory_holds_what_is_written)
{
    struct out_stream *out = out_stream_memory();
    size_t size;
    CHECK(out);
    write_lines(out);
    const uint8_t *bytes = out_stream_memory_bytes(out, &size);
    CHECK_INT(size, out_bytes(out));
    CHECK(memcmp(bytes, "line 0\nline 1\n", 14) == 0);
    CHECK(memcmp(bytes + size - 11, "line 59999\n", 11) == 0);
    CHECK_INT(out_stream_close(out), 0);
}

struct taken {
    char bytes[64];
    size_t sizes[4], count;
    int answer;
};

static int take_piece(void *context, const void *bytes, size_t size)
{
    struct taken *taken = context;
    size_t used = taken->sizes[0] + taken->sizes[1] + taken->sizes[2];
    CHECK(taken->count < 4 && size > 0 && used + size <= sizeof(taken->bytes));
    memcpy(taken->bytes + used, bytes, size);
    taken->sizes[taken->count++] = size;
    return taken->answer;
}

TEST(pieces_are_what_was_written_between_flushes)
{
    struct taken taken = {.count = 0};
    const struct out_taker taker = {take_piece, &taken};
    struct out_stream *out;
    CHECK_INT(out_stream_pieces(&taker, &(struct out_stream_options){0}, &out), 0);
    out_flush(out); /* an empty flush is no piece */
    out_text(out, "one");
    out_text(out, " and");
    out_flush(out);
    out_text(out, "two");
    CHECK_INT(taken.count, 1);
    CHECK_INT(out_stream_close(out), 0);
    CHECK_INT(taken.count, 2);
    CHECK(taken.sizes[0] == 7 && memcmp(taken.bytes, "one andtwo", 10) == 0);
}

TEST(pieces_that_nobody_takes_are_an_error)
{
    struct taken taken = {.answer = -ECOMM};
    const struct out_taker taker = {take_piece, &taken};
    struct out_stream *out;
    CHECK_INT(out_stream_pieces(&taker, &(struct out_stream_options){0}, &out), 0);
    out_text(out, "one");
    out_flush(out);
    CHECK_INT(out_error(out), -ECOMM);
    out_text(out, "two");
    CHECK_INT(out_stream_close(out), -ECOMM);
    CHECK_INT(taken.count, 1);
}

TEST(a_compressed_stream_is_one_piece)
{
    struct taken taken = {.count = 0};
    const struct out_taker taker = {take_piece, &taken};
    struct out_stream *out;
    CHECK_INT(out_stream_pieces(&taker, &(struct out_stream_options){.gzip = true}, &out), 0);
    for (int i = 0; i < 100; i++) {
        out_text(out, "line\n");
        out_flush(out);
    }
    CHECK_INT(out_stream_close(out), 0);
    CHECK_INT(taken.count, 1);
    CHECK(memcmp(taken.bytes, "\x1f\x8b", 2) == 0);
}

TEST(standard_output_stays_open)
{
    struct out_stream *out;
    int saved = dup(STDOUT_FILENO);
    int fd = open(file_path("x"), O_CREAT | O_WRONLY, 0600);
    CHECK(dup2(fd, STDOUT_FILENO) == STDOUT_FILENO);
    close(fd);
    CHECK_INT(out_stream_open("-", &(struct out_stream_options){0}, &out), 0);
    write_lines(out);
    CHECK_INT(out_stream_close(out), 0);
    CHECK(fcntl(STDOUT_FILENO, F_GETFD) >= 0);
    CHECK(dup2(saved, STDOUT_FILENO) == STDOUT_FILENO);
    close(saved);
    check_lines(file_path("x"));
}
