/* SPDX-License-Identifier: MIT */
/* The directory that programs and collectors share, and its wake page.
 *
 * Threads: directory_setup runs once, in the constructor; the rest from any thread.
 * Everything is async-signal-safe; descriptors live only inside a call. Untrusted bytes are copied
 * by pread, bounded and checked. */
#ifndef ANNOT_DIRECTORY_H
#define ANNOT_DIRECTORY_H

#include <annot_wire.h>
#include <stddef.h>
#include <stdint.h>

/* The reason of a refusal, with the errno and a number that explains it. */
struct refusal {
    uint16_t reason; /* enum annot_refusal */
    uint16_t error;
    uint64_t detail;
};

/* Finds and opens (makes, if missing) the directory, and maps its wake page over the gate. On
 * failure the gate stays shut and ret_refusal is filled. */
void directory_setup(struct refusal *ret_refusal);

/* Opens the directory again. Returns a descriptor, or negative errno with ret_refusal filled. */
int directory_open(struct refusal *ret_refusal);

/* Opens a regular file of this user in it. Returns a descriptor or negative errno: -EBADMSG if it
 * is anything else. Never blocks, as opening a pipe would. */
int directory_open_file(int directory_fd, const char *name, int flags);
/* Its two steps, for names that lie on the stack: the first opens anything; the second closes it
 * unless it is such a file. */
int directory_open_any(int directory_fd, const char *name, int flags);
int directory_only_file(int fd);

/* True if this process may write a file of `size` bytes without SIGXFSZ. */
int file_size_allowed(uint64_t size, uint64_t *ret_limit);

#endif
