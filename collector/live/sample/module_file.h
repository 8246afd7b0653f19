/* SPDX-License-Identifier: MIT */
/* Opens the file mapped by another process, or finds out that it was replaced.
 *
 * Through /proc/PID/map_files (exact, but needs CAP_CHECKPOINT_RESTORE), else by its path in the
 * process's view, else by its path here; then its inode must be the mapped one. A deleted file is
 * only available through map_files. Devices are never opened. Thread-safety: pure. */
#ifndef ANNOT_MODULE_FILE_H
#define ANNOT_MODULE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct module_place {
    int32_t pid; /* may have ended */
    uint64_t begin, end, offset;
    uint32_t major, minor;
    uint64_t inode;
    const char *path; /* from the kernel, " (deleted)" included */
};

/* An open descriptor and its facts, -ENOENT, or -errno; -EMFILE, -ENFILE: worth a retry. */
int module_file_open(const struct module_place *place, struct stat *ret_status);

/* True if it is memory with a kernel-made name, which may not be reachable by that name. */
bool module_file_is_memory(const struct module_place *place);
/* True if the file begins like an ELF file. */
bool module_file_is_elf(int fd);

/* The facts alone, by path; 0 or -ENOENT. Cheap: detects a replaced file. */
int module_file_look(const struct module_place *place, struct stat *ret_status);

#endif
