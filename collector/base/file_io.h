/* SPDX-License-Identifier: MIT */
/* Whole reads and writes of descriptors. Interrupted and short calls are continued; a file-size
 * limit (RLIMIT_FSIZE) gives -EFBIG and no SIGXFSZ. Thread-safety: yes. */
#ifndef ANNOT_FILE_IO_H
#define ANNOT_FILE_IO_H

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Opens a foreign file only if it is a regular file: a FIFO or a device never blocks, and is opened
 * only if it replaces the file between check and open. `flags` are those of openat without O_CREAT;
 * O_CLOEXEC, O_NONBLOCK and O_NOCTTY are added. Returns the descriptor, and in `ret_status` (may be
 * NULL) the result of fstat; -EINVAL: not a regular file; -errno of the open. */
int file_open_regular(int folder, const char *path, int flags, struct stat *ret_status);

/* Opens a file without a name in TMPDIR, /var/tmp or /tmp, as SQLite does; or -errno. */
int file_open_temporary(void);

/* The same with a name, for callers that need a path; the caller removes it. */
enum { FILE_TEMPORARY_SIZE = 4096 };

int file_open_named(char path[FILE_TEMPORARY_SIZE]);

/* 0 or -errno; after an error a part may have been written. */
int file_write_all(int fd, const void *bytes, size_t size);

/* The protection that file_write_all has, for writes by other code in this thread: reaching the
 * limit is an error and raises no signal. `hit`: the limit was reached since. */
void file_limit_hold(sigset_t *ret_before);
bool file_limit_hit(const sigset_t *before);
void file_limit_release(const sigset_t *before);

/* Bytes read, fewer than `size` only at the end of the file; or -errno. */
ssize_t file_read_at(int fd, void *bytes, size_t size, uint64_t offset);

/* Reads a small file of /proc or /sys by one call, so that the text is of one instant: at most
 * `size` - 1 bytes, and NUL. Its length; or -errno and an empty text. */
ssize_t file_read_text(const char *path, char *text, size_t size);

/* Lists the entries of an open directory from the first on, whatever its read position; `folder`
 * stays open. The caller ends it with closedir. NULL: see errno. */
DIR *file_list_folder(int folder);

/* Locks an open file for its descriptor; 0 too on file systems without locks. -EBUSY: locked
 * elsewhere. */
int file_lock(int fd);

#endif
