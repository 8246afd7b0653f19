/* SPDX-License-Identifier: MIT */
/* What is known of the processes that are sampled, in the order of need: rows to unwind by, the
 * files they belong to, mappings of those files, snapshots of these for the BPF program, processes,
 * their interpreters. Thread-safety: one thread per object. */
#ifndef ANNOT_PROCESS_PARTS_H
#define ANNOT_PROCESS_PARTS_H

#include "elf_file.h"
#include "hash_map.h"
#include "lives.h"
#include "module_file.h"
#include "perf_ring.h"
#include "python_runtime.h"
#include "sampler_abi.h"
#include "symbol_other.h"
#include "symbolizer.h"
#include "unwind_table.h"
#include "vec.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Which numbers are free ------------------------------------------------------------------ */

/* Which stretches of a range of numbers are in use: slots of a map, rows of a segment.
 * First fit; neighbours that are free are joined. */

struct extent {
    uint32_t first, count;
};

struct extents {
    VEC(struct extent) free; /* sorted, never touching */
};

/* [0, count) is free. 0 or -ENOMEM. */
int extents_init(struct extents *extents, uint32_t count);
void extents_fini(struct extents *extents);

/* The first of `count` numbers; -ENOSPC. */
int64_t extents_take(struct extents *extents, uint32_t count);
/* 0, or -ENOMEM: then they stay in use. */
int extents_give(struct extents *extents, uint32_t first, uint32_t count);

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Memory of the unwind rows and rules that the BPF program reads: written once per module.
 *
 * Rows lie in segments of SAMPLER_SEGMENT_ROWS, made when needed; rules are shared by all modules.
 * A slice never moves. The program may read while we write: a slice is written before anything
 * points at it, and given back only when nothing has pointed at it for a while (the caller sees to
 * that). Thread-safety: main, and one thread that reads tables; only one of them calls add. */

/* Where the memory comes from. */
struct row_source {
    /* The rows of a new segment, SAMPLER_SEGMENT_ROWS of them, zeroed. 0 or -errno. */
    int (*add_segment)(void *context, uint32_t index, struct unwind_row **ret_rows);
    /* Where rule `index` goes, zeroed. NULL: there is no room for it. */
    struct unwind_rule *(*rule)(void *context, uint32_t index);
    void *context;
};

struct row_segment {
    struct unwind_row *rows;
    struct extents extents;
};

struct row_memory {
    struct row_source source;
    pthread_mutex_t lock; /* of all below; what a segment or a rule has is written once */
    struct row_segment segments[SAMPLER_SEGMENTS_MAX];
    uint32_t segment_count;
    struct unwind_rule *rules; /* our own copy, for the collector's walks */
    struct map64 rule_index;   /* hash of a rule -> its number */
    uint32_t rule_count;       /* 0 is the unknown rule */

    struct row_counts {
        uint64_t rows_used;
        uint64_t rules_refused; /* did not fit: they stand as unknown */
    } counts;
};

struct row_slice {
    uint32_t segment, first, count;
};

/* 0 or -ENOMEM. fini leaves the source's memory alone. */
int row_memory_init(struct row_memory *memory, const struct row_source *source);
void row_memory_fini(struct row_memory *memory);

/* Copies `count` rows of the table from `first` on. 0, -ENOSPC, -ENOMEM, -errno of the source. try:
 * without a new segment, which takes the kernel tens of milliseconds; -EAGAIN: it needs one. */
int row_memory_try(struct row_memory *memory, const struct unwind_table *table, uint32_t first,
                   uint32_t count, struct row_slice *ret_slice);
int row_memory_add(struct row_memory *memory, const struct unwind_table *table, uint32_t first,
                   uint32_t count, struct row_slice *ret_slice);
void row_memory_remove(struct row_memory *memory, const struct row_slice *slice);
struct row_counts row_memory_count(struct row_memory *memory);

/* ---- Modules --------------------------------------------------------------------------------- */

/* The files that processes run: each opened once, held open, its unwind rows loaded once for all.
 *
 * A module is known by device, inode and the time of its last change, so a file that was replaced
 * is another module, and one that was deleted keeps rows and names. Rows of small tables are
 * loaded at first sight, of large ones when the BPF program met them. When all row memory is used
 * up, further modules go without and that is counted. What no process maps is forgotten after a
 * while: names that were given to its addresses are in the trace.
 * */

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

/* ---- Mappings -------------------------------------------------------------------------------- */

/* The executable mappings of a process, sorted; shared by forked processes until one changes it.
 *
 * A list with more than one owner is never changed: mapping_list_put makes a copy first. So
 * whatever holds a reference holds a snapshot. */

struct module;
struct space;

struct mapping {
    uint64_t begin, end;
    uint64_t offset;       /* in the file */
    struct module *module; /* NULL: no file */
};

struct mapping_list {
    unsigned owners;
    size_t count, capacity;
    struct mapping *items;
    uint64_t marked_ns;  /* when its modules were last seen to be needed */
    struct space *space; /* the newest that was made of it, for its users; NULL = none */
};

/* Empty, with one owner. NULL: out of memory. */
struct mapping_list *mapping_list_create(void);
struct mapping_list *mapping_list_ref(struct mapping_list *list);
void mapping_list_unref(struct mapping_list *list); /* accepts NULL */

/* Adds a mapping; what it overlaps is cut or goes. The caller's reference moves to a copy if there
 * are other owners. 0 or -ENOMEM. */
int mapping_list_put(struct mapping_list **list, const struct mapping *mapping);

/* What is mapped there; NULL: nothing. */
const struct mapping *mapping_list_find(const struct mapping_list *list, uint64_t address);

/* ---- Spaces ---------------------------------------------------------------------------------- */

/* Snapshots of mappings that the BPF program walks by: each a number and a slice of map `mappings`.
 *
 * A space never changes: a process whose mappings changed gets another one. Forked processes share
 * theirs. A space that no process has any more stays for two steps and a second: the program may
 * be walking by it, and records under way name it. */

struct space {
    uint32_t number;       /* never 0, never used again */
    uint32_t first, count; /* its slice */
    unsigned users;        /* processes */
    bool lazy;             /* has mappings whose rows are not loaded */
    uint32_t missing;      /* so many of whose files or rows cannot be had */
    uint64_t idle_since_ns, idle_step;
    struct mapping_list *list;
};

struct spaces {
    struct sampler_mapping *memory; /* SAMPLER_MAPPINGS_MAX of them */
    struct extents extents;
    uint32_t last_number;
    struct map64 by_number; /* -> struct space * */
    VEC(struct space *) all;
    uint64_t refused; /* no room for a slice */
};

int spaces_init(struct spaces *spaces, struct sampler_mapping *memory);
void spaces_fini(struct spaces *spaces);

/* A new space of a list, with one user. 0, -ENOSPC, -ENOMEM. */
int spaces_add(struct spaces *spaces, struct mapping_list *list, struct space **ret_space);
struct space *spaces_find(const struct spaces *spaces, uint32_t number); /* NULL: unknown */

/* Whether files of it that could not be had are there by now: its list needs another one. */
bool space_is_behind(const struct space *space);

/* A user comes or goes; both accept NULL. */
struct space *space_use(struct space *space);
void space_leave(struct space *space, uint64_t now_ns, uint64_t step);

/* Frees what has been without users for long enough. */
void spaces_sweep(struct spaces *spaces, uint64_t now_ns, uint64_t step);

/* Whether the program met a mapping of it whose rows are lazy; loads those. 1 = some were loaded,
 * 0, or -ENOMEM. */
int space_load_wanted(struct spaces *spaces, const struct space *space, struct modules *modules);

/* ---- Processes ------------------------------------------------------------------------------- */

/* The processes that are sampled, as the records tell it: mappings, image, interpreter, names.
 *
 * A process is a pid and a start time; each exec begins another image of it. One that ended is
 * kept for two more steps, for records that still name it. */

/* Open ranges: of a record, or of those that a forked process has from its parent, as of the fork.
 */
struct sampled_ranges {
    bool known;
    uint32_t depth, count;
    struct sampler_range ranges[SAMPLER_RANGES_MAX]; /* innermost first */
    int32_t pid;                                     /* whose names they are */
    uint32_t path;                                   /* in the trace; 0: to be found out */
    uint64_t time_ns;                                /* when they were open */
};

enum interpreter_state {
    INTERPRETER_NONE = 0, /* no module of it is one */
    INTERPRETER_WAIT = 1, /* not initialised yet: ask again */
    INTERPRETER_FOUND = 2,
    INTERPRETER_UNKNOWN = 3, /* there is one that we cannot read; see runtime.reason */
};

struct sampled_interpreter {
    enum interpreter_state state;
    struct module *module;
    uint32_t python; /* 1 + index in map `pythons` */
    uint64_t next_try_ns, tries;
    struct python_doubt doubt;
    uint64_t bias; /* load bias of its module */
    struct python_runtime runtime;
};

/* What /proc or the kernel's table said at the last look, and no record did: that it has ended, is
 * another image, is not to be sampled any more. */
enum process_doubt { DOUBT_NONE = 0, DOUBT_GONE = 1, DOUBT_IMAGE = 2, DOUBT_FOREIGN = 3 };

struct sampled {
    struct process *entry; /* of the registry, where it hangs; NULL: another one has the pid */
    int32_t pid, ns_pid;
    uint64_t start_ns; /* CLOCK_BOOTTIME; 0 = not told yet */
    uint64_t family;   /* changes with exec only: forked processes share code objects */
    bool fresh_list;   /* the list begins with the exec that is being told */
    uint64_t fresh_ns;
    bool changed;  /* list or values are not published */
    bool replaced; /* something was mapped in the place of something else */
    bool exited;
    bool waits_exec;  /* not sampled before its exec */
    uint64_t exec_ns; /* when its image began; 0 = no exec was told */
    uint64_t exit_step;
    enum process_doubt doubt;
    bool foreign; /* it became another user's, which is counted: nothing more is told of it */
    uint64_t proc_ticks;   /* field 22 of its stat when it was first looked at; 0 = not yet */
    uint32_t space_floor;  /* spaces up to this number belong to images before the last exec */
    uint64_t published_ns; /* when it was written last */
    struct mapping_list *list;
    size_t compared_count; /* of the list, when it was last compared with /proc */
    uint64_t compared_ns;
    struct space *space; /* published; NULL = none */
    int64_t tls_offset;  /* of libannot's live words; 0 = unknown */
    int64_t served_ns;   /* when the segment was made whose offset was taken last */
    struct sampled_interpreter interpreter;
    struct asked_source *code; /* of what its image makes at run time; made at the first question */
    struct map64 waiting;      /* an address of that + 1 -> a frame that waits for its name */
    struct sampled_ranges inherited;
    struct wide_map threads; /* tid and start -> ordinal in the trace + 1 */
    bool active;             /* the registry knows that its image did something */
};

struct processes {
    struct lives *lives;           /* where they hang; outlives it */
    struct symbolizer *symbolizer; /* outlives it */
    VEC(struct sampled *) all;     /* living ones and just ended ones */
    uint64_t last_family;
};

void processes_fini(struct processes *processes);

/* NULL: not tracked. */
struct sampled *processes_find(const struct processes *processes, int32_t pid);

/* A process that nothing is known of, with an empty list; replaces one of that pid. The task is the
 * process at that time. NULL: out of memory. */
struct sampled *processes_add(struct processes *processes, const struct lives_task *task,
                              uint64_t time_ns);

/* A child that shares mappings, space and interpreter with its parent. NULL: out of memory. */
struct sampled *processes_fork(struct processes *processes, const struct lives_task *task,
                               uint64_t time_ns, const struct sampled *parent);

/* Another image: nothing of the old one holds, but a list that already is the new one's. */
void sampled_exec(struct processes *processes, struct sampled *process, uint64_t now_ns,
                  uint64_t step);

/* Forgets those that ended more than two steps ago. */
void processes_sweep(struct processes *processes, uint64_t now_ns, uint64_t step);

/* ---- Mappings -------------------------------------------------------------------------------- */

/* What the kernel told. 0 or -ENOMEM. */
int sampled_apply_note(struct sampled *process, struct modules *modules,
                       const struct perf_note *note);

/* Reads all of it from /proc. 0, -ESRCH, -errno. */
int sampled_read_maps(struct sampled *process, struct modules *modules);

/* What is unmapped is not told: once the list has grown much, or for some seconds, drops what
 * /proc does not list any more. Nothing is added, for that will be told in its turn. 0 or -ENOMEM.
 */
int sampled_prune_maps(struct sampled *process, uint64_t now_ns);

/* ---- Interpreters ---------------------------------------------------------------------------- */

/* Which Python interpreter a process has, if any, and where it keeps its frames.
 *
 * What was found for one process of a module holds for all, moved by the load bias, so that later
 * ones are known before they have run a line. */

struct python_finder {
    /* Where offsets of number `index` go; NULL: no room. */
    struct python_offsets *(*place)(void *context, uint32_t index);
    void *context;
    VEC(struct python_offsets) known; /* by number */
    struct map64 by_module;           /* struct module * -> index in `found`, plus 1 */
    VEC(struct sampled_interpreter) found;
    uint64_t unknown; /* processes whose frames cannot be read */
    char reason[160]; /* of the last of them */
};

void python_finder_fini(struct python_finder *finder);

/* Looks at a process whose mappings changed, or whose time to ask again has come. 0 or -ENOMEM;
 * then process->interpreter says it and process->changed is set if that is news. */
int python_finder_look(struct python_finder *finder, struct sampled *process, uint64_t now_ns);

/* No process has this module any more, and it will not be valid. */
void python_finder_forget(struct python_finder *finder, const struct module *module);

#endif
