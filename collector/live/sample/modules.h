/* SPDX-License-Identifier: MIT */
/* The files that processes run: each opened once, held open, its unwind rows loaded once for all.
 *
 * A module is identified by device, inode and the time of its last change, so a replaced file is
 * another module, and a deleted one keeps rows and names. Rows of small tables are loaded at
 * first sight, of large ones when the BPF program meets them. When all row memory is used up,
 * further modules have no rows and are counted. Unmapped modules are dropped after a while: names
 * of their addresses are in the trace. Thread-safety: one thread per object. */
#ifndef ANNOT_MODULES_H
#define ANNOT_MODULES_H

#include "hash_map.h"
#include "python_offsets.h"
#include "python_runtime.h"
#include "row_memory.h"
#include "symbolizer.h"
#include "unwind_table.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

struct elf_file;

/* A file mapped by a process. */
struct module_place {
    int32_t pid; /* may have ended */
    uint64_t begin, end, offset;
    uint32_t major, minor;
    uint64_t inode;
    const char *path; /* from the kernel, " (deleted)" included */
};

enum module_rows {
    MODULE_ROWS_NONE = 0, /* absent: follow the frame pointer */
    MODULE_ROWS_LAZY = 1,
    MODULE_ROWS_LOADED = 2,
    MODULE_ROWS_MISSING = 3, /* unavailable, though it may have some: walks end there */
    MODULE_ROWS_READING = 4, /* requested */
};

/* The reason why a file is unreadable. */
enum module_loss {
    MODULE_LOSS_FILES = 0, /* too many are open: retried */
    MODULE_LOSS_GONE = 1,
    MODULE_LOSS_RIGHT = 2,
    MODULE_LOSS_DAMAGED = 3,
    MODULE_LOSS_COUNT = 4,
};

/* A range of a module with its rows in one segment. */
struct module_part {
    uint64_t begin, end; /* module addresses */
    struct row_slice slice;
    struct unwind_table table; /* view of the rows, for the collector's own walks */
};

/* The result of reading the rows of a module. */
struct read_rows {
    int error;    /* -ENODATA: no rows */
    bool refused; /* for want of room */
    uint32_t part_count;
    struct module_part parts[];
};

struct code_range {
    uint64_t begin, end; /* module addresses */
};

struct module {
    struct module *next; /* with the same hash */
    uint32_t major, minor;
    uint64_t inode;
    struct timespec changed;
    char *path;            /* without " (deleted)" */
    struct elf_file *file; /* NULL: not an ELF file, or unavailable */
    bool not_elf;          /* a file or memory of another kind */
    int error;             /* -errno of the last attempt to open it */
    uint64_t needed_ns;    /* last time it was seen mapped: set by the upkeep */
    enum module_rows rows;
    struct module_part *parts;
    uint32_t part_count;
    struct requested_source *code; /* made at the first look-up */
    struct requested_source *reading;
    int64_t requested_ns; /* request time of the rows */
    struct map64 frames;  /* module address + 1 -> ordinal of the frame */
    uint32_t ordinal;     /* in the trace; 0 = not there yet */
    bool interpreter;
    VEC(struct code_range) collector; /* known ranges of its garbage collector */
    struct python_image image;
    int32_t cframe_offset; /* of struct sampler_process; 0 = not learned */
    bool publishes;        /* it is pyannot's extension module, with offsets */
    struct python_offsets offsets;
};

struct modules {
    struct row_memory rows;
    struct symbolizer *symbolizer; /* outlives it; NULL: no look-ups yet */
    struct symbolizer *reader;     /* reads rows; owned; NULL: they are read immediately */
    uint32_t pending;              /* modules with a pending request for rows */
    int64_t spent_ns;              /* on immediate reads of rows; the step sets it to 0 */
    const char *cache_directory;
    /* Called for each opened file, with its descriptor; NULL: unused. */
    void (*opened)(void *context, struct module *module, int fd);
    void *opened_context;
    struct map64 by_file; /* hash of device and inode -> struct module * */
    VEC(struct module *) all;
    struct module *vdso;
    uint64_t tables_refused; /* for want of room for their rows */
    uint64_t tables_damaged;
    uint64_t unread[MODULE_LOSS_COUNT]; /* modules */
};

int modules_init(struct modules *modules, const struct row_source *source,
                 const char *cache_directory);
void modules_fini(struct modules *modules);

/* The module mapped there; *ret_module NULL: memory without a file. 0 or -ENOMEM. */
int modules_find(struct modules *modules, const struct module_place *place,
                 struct module **ret_module);

/* Retries a module that could not be opened for want of descriptors. 1: still impossible; 0,
 * -ENOMEM. */
int modules_retry(struct modules *modules, const struct module_place *place, struct module *module);

/* Starts a separate thread that reads tables of unwind rows. 0 or -ENOMEM. */
int modules_begin_reading(struct modules *modules);

/* Requests the rows of a lazy module, or reads them without such a thread. 0 or -ENOMEM. */
int modules_load_rows(struct modules *modules, struct module *module);

/* Takes tables read since the last call. 0 or -ENOMEM. */
int modules_take_rows(struct modules *modules);

/* Drops modules not needed since that time; calls `forgets` for each before. They and their rows
 * must be unreferenced. */
void modules_forget(struct modules *modules, uint64_t since_ns,
                    void (*forgets)(void *context, const struct module *module), void *context);

/* The part that covers a module address. NULL: not loaded. */
const struct module_part *module_part_at(const struct module *module, uint64_t address);

/* The module address of an address in a mapping that begins at `begin` with `offset` of the
 * file. */
uint64_t module_address(const struct module *module, uint64_t address, uint64_t begin,
                        uint64_t offset);

/* ---- Files of modules ------------------------------------------------------------------------ */

/* Opens the file mapped by another process, or finds out that it was replaced.
 *
 * Through /proc/PID/map_files (exact, but needs CAP_CHECKPOINT_RESTORE), else by its path in the
 * process's view, else by its path here; then its inode must be the mapped one. A deleted file is
 * only available through map_files. Devices are never opened. Thread-safety: pure. */

/* An open descriptor and its facts, -ENOENT, or -errno; -EMFILE, -ENFILE: worth a retry. */
int module_file_open(const struct module_place *place, struct stat *ret_status);

/* True if it is memory with a kernel-made name, which may not be reachable by that name. */
bool module_file_is_memory(const struct module_place *place);
/* True if the file begins like an ELF file. */
bool module_file_is_elf(int fd);

/* The facts alone, by path; 0 or -ENOENT. Cheap: detects a replaced file. */
int module_file_look(const struct module_place *place, struct stat *ret_status);

#endif
