/* SPDX-License-Identifier: MIT */
/* Whole reads and writes of descriptors. Interrupted and short calls go on; a file-size limit
 * (RLIMIT_FSIZE) gives -EFBIG and no SIGXFSZ. Thread-safety: yes. */
#ifndef ANNOT_FILE_IO_H
#define ANNOT_FILE_IO_H

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Opens a file that somebody else may have put there, and nothing but a regular file: a FIFO or a
 * device never blocks, and is not even opened unless it takes the file's place at that moment.
 * `flags` are those of openat (O_CLOEXEC, O_NONBLOCK and O_NOCTTY come by themselves), without
 * O_CREAT. The descriptor, and in `ret_status` (may be NULL) what fstat tells of it; -EINVAL: no
 * regular file; -errno of the open. */
int file_open_regular(int folder, const char *path, int flags, struct stat *ret_status);

/* A file without a name, where SQLite has its temporary files, too; or -errno. */
int file_open_temporary(void);

/* The same with a name, for who opens files by their names; the caller removes it. */
enum { FILE_TEMPORARY_SIZE = 4096 };

int file_open_named(char path[FILE_TEMPORARY_SIZE]);

/* 0 or -errno; then a part may have been written. */
int file_write_all(int fd, const void *bytes, size_t size);

/* What file_write_all does around its writes, for writes of others in this thread: to reach the
 * limit is an error and no signal. `hit`: it was reached since. */
void file_limit_hold(sigset_t *ret_before);
bool file_limit_hit(const sigset_t *before);
void file_limit_release(const sigset_t *before);

/* Bytes read, fewer than `size` only at the end of the file; or -errno. */
ssize_t file_read_at(int fd, void *bytes, size_t size, uint64_t offset);

/* The text of a small file of /proc or /sys by one read, so that it is of one instant: at most
 * `size` - 1 bytes, and NUL. Its length; or -errno and an empty text. */
ssize_t file_read_text(const char *path, char *text, size_t size);

/* The entries of an open directory from the first on, whatever was read of it before; `folder`
 * stays open. closedir ends it. NULL: errno says why. */
DIR *file_list_folder(int folder);

/* Locks a file for whoever has it open; where files have no locks, nobody can tell. -EBUSY:
 * somebody else has it. */
int file_lock(int fd);

#endif
