/* SPDX-License-Identifier: MIT */
/* The files that processes run: each opened once, held open, its unwind rows loaded once for all.
 *
 * A module is known by device, inode and the time of its last change, so a file that was replaced
 * is another module, and one that was deleted keeps rows and names. Rows of small tables are
 * loaded at first sight, of large ones when the BPF program met them. When all row memory is used
 * up, further modules go without and that is counted. What no process maps is forgotten after a
 * while: names that were given to its addresses are in the trace. Thread-safety: one thread per
 * object. */
#ifndef ANNOT_MODULES_H
#define ANNOT_MODULES_H

#include "hash_map.h"
#include "module_file.h"
#include "python_offsets.h"
#include "python_runtime.h"
#include "row_memory.h"
#include "symbolizer.h"
#include "unwind_table.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct elf_file;

enum module_rows {
    MODULE_ROWS_NONE = 0, /* it has none: follow the frame pointer */
    MODULE_ROWS_LAZY = 1,
    MODULE_ROWS_LOADED = 2,
    MODULE_ROWS_MISSING = 3, /* it may have some, but they cannot be had: walks end there */
    MODULE_ROWS_READING = 4, /* asked for */
};

/* Why a file could not be read. */
enum module_loss {
    MODULE_LOSS_FILES = 0, /* too many are open: tried again */
    MODULE_LOSS_GONE = 1,
    MODULE_LOSS_RIGHT = 2,
    MODULE_LOSS_DAMAGED = 3,
    MODULE_LOSS_COUNT = 4,
};

/* A stretch of a module whose rows lie in one segment. */
struct module_part {
    uint64_t begin, end; /* the module's own addresses */
    struct row_slice slice;
    struct unwind_table table; /* the rows where they lie, for walks of the collector's own */
};

/* What reading the rows of a module gave. */
struct read_rows {
    int error;    /* -ENODATA: there are none */
    bool refused; /* there was no room */
    uint32_t part_count;
    struct module_part parts[];
};

struct code_range {
    uint64_t begin, end; /* the module's own addresses */
};

struct module {
    struct module *next; /* with the same hash */
    uint32_t major, minor;
    uint64_t inode;
    struct timespec changed;
    char *path;            /* without " (deleted)" */
    struct elf_file *file; /* NULL: no ELF file, or not to be had */
    bool not_elf;          /* there is a file or memory, and it is something else */
    int error;             /* -errno of the last attempt to open it */
    uint64_t needed_ns;    /* when somebody last had it mapped: set by who looks after that */
    enum module_rows rows;
    struct module_part *parts;
    uint32_t part_count;
    struct asked_source *code; /* made at the first question */
    struct asked_source *reading;
    int64_t asked_ns;    /* for rows */
    struct map64 frames; /* its own address + 1 -> ordinal of the frame */
    uint32_t ordinal;    /* in the trace; 0 = not there yet */
    bool interpreter;
    VEC(struct code_range) collector; /* where its garbage collector is, as far as that is known */
    struct python_image image;
    int32_t cframe_offset; /* of struct sampler_process; 0 = not learned */
    bool publishes;        /* it is pyannot's extension module and tells offsets */
    struct python_offsets offsets;
};

struct modules {
    struct row_memory rows;
    struct symbolizer *symbolizer; /* outlives it; NULL: no names were asked for */
    struct symbolizer *reader;     /* of rows; own; NULL: they are read at once */
    uint32_t asked;                /* modules whose rows it reads */
    int64_t spent_ns;              /* on rows that were read at once; the step sets it to 0 */
    const char *cache_directory;
    /* Told of each file that was opened, with its descriptor; NULL: nobody. */
    void (*opened)(void *context, struct module *module, int fd);
    void *opened_context;
    struct map64 by_file; /* hash of device and inode -> struct module * */
    VEC(struct module *) all;
    struct module *vdso;
    uint64_t tables_refused; /* no room for their rows */
    uint64_t tables_damaged;
    uint64_t unread[MODULE_LOSS_COUNT]; /* modules */
};

int modules_init(struct modules *modules, const struct row_source *source,
                 const char *cache_directory);
void modules_fini(struct modules *modules);

/* The module that is mapped there; *ret_module NULL: memory without a file. 0 or -ENOMEM. */
int modules_find(struct modules *modules, const struct module_place *place,
                 struct module **ret_module);

/* Tries again to open one that could not be for want of descriptors. 1: these are still missing; 0,
 * -ENOMEM. */
int modules_retry(struct modules *modules, const struct module_place *place, struct module *module);

/* Reads tables of unwind rows on a thread of their own from now on. 0 or -ENOMEM. */
int modules_begin_reading(struct modules *modules);

/* Asks for the rows of a lazy module, or reads them where there is no such thread. 0 or -ENOMEM. */
int modules_load_rows(struct modules *modules, struct module *module);

/* Takes what was read since the last call. 0 or -ENOMEM. */
int modules_take_rows(struct modules *modules);

/* Forgets those that nobody has needed since that time; each is told before. Nothing may refer to
 * them any more, nor to their rows. */
void modules_forget(struct modules *modules, uint64_t since_ns,
                    void (*forgets)(void *context, const struct module *module), void *context);

/* The part that covers an address of its own. NULL: none is loaded there. */
const struct module_part *module_part_at(const struct module *module, uint64_t address);

/* Its own address of a place in a mapping that begins at `begin` with `offset` of the file. */
uint64_t module_address(const struct module *module, uint64_t address, uint64_t begin,
                        uint64_t offset);

#endif
