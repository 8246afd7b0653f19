/* SPDX-License-Identifier: MIT */
/* Whole reads and writes of descriptors. Interrupted and short calls go on; a file-size limit
 * (RLIMIT_FSIZE) gives -EFBIG and no SIGXFSZ. Thread-safety: yes. */
#ifndef ANNOT_FILE_IO_H
#define ANNOT_FILE_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* 0 or -errno; then a part may have been written. */
int file_write_all(int fd, const void *bytes, size_t size);

/* Bytes read, fewer than `size` only at the end of the file; or -errno. */
ssize_t file_read_at(int fd, void *bytes, size_t size, uint64_t offset);

#endif
