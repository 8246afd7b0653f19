/* SPDX-License-Identifier: MIT */
/* Opens the file behind a mapping of another process, or makes sure that it is another one.
 *
 * Through /proc/PID/map_files (exact, but needs CAP_CHECKPOINT_RESTORE), else by its path as the
 * process sees it, else by its path here; then its inode must be the mapped one. A file that was
 * deleted can be had through map_files only. Devices are never opened. Thread-safety: pure. */
#ifndef ANNOT_MODULE_FILE_H
#define ANNOT_MODULE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct module_place {
    int32_t pid; /* may be gone */
    uint64_t begin, end, offset;
    uint32_t major, minor;
    uint64_t inode;
    const char *path; /* as the kernel tells it, " (deleted)" included */
};

/* An open descriptor and its facts, -ENOENT, or -errno; -EMFILE, -ENFILE: worth another try. */
int module_file_open(const struct module_place *place, struct stat *ret_status);

/* Whether it is memory that the kernel calls by a name, which may be no more to be had by it. */
bool module_file_is_memory(const struct module_place *place);
/* Whether the file begins as ELF files do. */
bool module_file_is_elf(int fd);

/* The facts alone, by path; 0 or -ENOENT. Cheap: says whether a file is still the one we know. */
int module_file_look(const struct module_place *place, struct stat *ret_status);

#endif
