/* SPDX-License-Identifier: MIT */
/* Finds, opens and caches modules. Thread-safety: one thread per object. */
#include "modules.h"

#include "row_memory.h"
#include "unwind_cache.h"

#include "clock_now.h"
#include "file_io.h"
#include "hash.h"
#include "proc_info.h"
#include "unwind_table.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* ---- Files of modules ------------------------------------------------------------------------ */

/* The three ways to a mapped file. The device number of a mapping may differ from that of stat
 * (overlay and btrfs file systems): the inode decides. Thread-safety: pure. */

static bool is_it(const struct module_place *place, const struct stat *status)
{
    return S_ISREG(status->st_mode) && status->st_ino == place->inode;
}

static int open_path(const struct module_place *place, const char *path, struct stat *ret_status)
{
    int fd = file_open_regular(AT_FDCWD, path, O_RDONLY, ret_status);
    if (fd < 0 || is_it(place, ret_status))
        return fd;
    close(fd);
    return -ENOENT;
}

/* True if trying another way is useless. */
static bool is_settled(int fd)
{
    return fd >= 0 || fd == -EMFILE || fd == -ENFILE;
}

/* Its path in the process's mount namespace, reachable from ours. */
static void root_path(const struct module_place *place, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "/proc/%d/root%s", (int)place->pid, place->path);
}

int module_file_open(const struct module_place *place, struct stat *ret_status)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)place->pid,
             place->begin, place->end);
    int fd = open_path(place, path, ret_status);
    if (is_settled(fd) || place->path[0] != '/')
        return fd;
    root_path(place, path);
    fd = open_path(place, path, ret_status);
    return is_settled(fd) ? fd : open_path(place, place->path, ret_status);
}

bool module_file_is_memory(const struct module_place *place)
{
    static const char *const names[] = {"/memfd:", "/dev/zero", "/SYSV", "/anon_hugepage"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(place->path, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

bool module_file_is_elf(int fd)
{
    char magic[SELFMAG];
    return file_read_at(fd, magic, SELFMAG, 0) == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0;
}

int module_file_look(const struct module_place *place, struct stat *ret_status)
{
    char path[PATH_MAX];
    if (place->path[0] != '/')
        return -ENOENT;
    root_path(place, path);
    if (stat(path, ret_status) == 0 && is_it(place, ret_status))
        return 0;
    return stat(place->path, ret_status) == 0 && is_it(place, ret_status) ? 0 : -ENOENT;
}

/* About 150,000 rows: larger tables are loaded on demand. */
enum { LAZY_INDEX_BYTES = 160 << 10 };

/* Time limit of immediate reads in one step; later ones are deferred, too. */
#define AT_ONCE_NS INT64_C(5000000)

enum { VDSO_BYTES_MAX = 64 << 10 };

static const char deleted_suffix[] = " (deleted)";

static void module_destroy(struct modules *modules, struct module *module)
{
    symbolizer_release(modules->symbolizer, module->code);
    if (modules->reader)
        symbolizer_release(modules->reader, module->reading);
    vec_free(&module->collector);
    elf_file_close(module->file);
    map64_free(&module->frames);
    free(module->parts);
    free(module->path);
    free(module);
}

static struct module *module_create(struct modules *modules, const char *path)
{
    size_t length = strlen(path), suffix = sizeof(deleted_suffix) - 1;
    struct module *module = calloc(1, sizeof(*module));
    if (!module)
        return NULL;
    if (length > suffix && strcmp(path + length - suffix, deleted_suffix) == 0)
        length -= suffix;
    module->path = strndup(path, length);
    if (!module->path || vec_push(&modules->all, module) != 0) {
        free(module->path);
        free(module);
        return NULL;
    }
    return module;
}

static int read_now(struct modules *modules, struct module *module);

/* Reads the facts of an open file. */
static int describe(struct modules *modules, struct module *module)
{
    struct elf_segment index;
    module->interpreter = python_image_find(module->file, &module->image);
    module->publishes = strstr(module->path, "_native") != NULL &&
                        python_offsets_from_module(module->file, &module->offsets);
    bool large = elf_file_header(module->file, PT_GNU_EH_FRAME, &index) &&
                 index.file_size > LAZY_INDEX_BYTES;
    module->rows = MODULE_ROWS_LAZY;
    bool waits = large || (modules->reader && modules->spent_ns > AT_ONCE_NS);
    return waits ? 0 : read_now(modules, module);
}

struct vdso {
    const uint8_t *image;
    size_t size;
};

static int measure(void *context, const struct maps_line *line)
{
    struct vdso *vdso = context;
    if (line->begin == (uintptr_t)vdso->image)
        vdso->size = line->end - line->begin;
    return vdso->size > 0;
}

/* The kernel's own library, the same in every process: read from our own. */
static int open_vdso(struct modules *modules)
{
    struct vdso vdso = {.image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR)};
    if (!vdso.image || maps_each(0, measure, &vdso) != 1 || vdso.size > VDSO_BYTES_MAX)
        return 0;
    modules->vdso = module_create(modules, "[vdso]");
    if (!modules->vdso)
        return -ENOMEM;
    int error = elf_file_open_image(vdso.image, vdso.size, &modules->vdso->file);
    if (error)
        return error == -ENOMEM ? error : 0;
    return describe(modules, modules->vdso);
}

int modules_init(struct modules *modules, const struct row_source *source,
                 const char *cache_directory)
{
    *modules = (struct modules){.cache_directory = cache_directory};
    int error = row_memory_init(&modules->rows, source);
    return error ? error : open_vdso(modules);
}

void modules_fini(struct modules *modules)
{
    symbolizer_destroy(modules->reader);
    modules->reader = NULL;
    for (size_t i = 0; i < modules->all.count; i++)
        module_destroy(modules, modules->all.items[i]);
    vec_free(&modules->all);
    map64_free(&modules->by_file);
    row_memory_fini(&modules->rows);
}

static uint64_t file_key(uint32_t major, uint32_t minor, uint64_t inode)
{
    return hash_u64(inode ^ (uint64_t)major << 52 ^ (uint64_t)minor << 40) | 1;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static struct module *find_known(struct modules *modules, const struct module_place *place)
{
    const uint64_t *found =
        map64_find(&modules->by_file, file_key(place->major, place->minor, place->inode));
    struct module *module = found ? (struct module *)(uintptr_t)*found : NULL;
    while (module && (module->inode != place->inode || module->major != place->major ||
                      module->minor != place->minor))
        module = module->next;
    struct stat status;
    if (!module || !module->file || module_file_look(place, &status) != 0)
        return module;
    return same_time(&status.st_ctim, &module->changed) ? module : NULL;
}

static bool is_shortage(int error)
{
    return error == -EMFILE || error == -ENFILE;
}

static void count_unread(struct modules *modules, int error)
{
    enum module_loss loss = is_shortage(error)                     ? MODULE_LOSS_FILES
                            : error == -ENOENT || error == -ESTALE ? MODULE_LOSS_GONE
                            : error == -EACCES || error == -EPERM  ? MODULE_LOSS_RIGHT
                                                                   : MODULE_LOSS_DAMAGED;
    modules->unread[loss]++;
}

/* Sets file, changed and not_elf. 0 or -errno. */
static int open_file(const struct modules *modules, const struct module_place *place,
                     struct module *module)
{
    struct stat status;
    int fd = module_file_open(place, &status);
    if (fd < 0) {
        module->not_elf = !is_shortage(fd) && module_file_is_memory(place);
        return fd;
    }
    module->changed = status.st_ctim;
    int error = elf_file_open(fd, &module->file);
    module->not_elf = error == -EBADMSG && !module_file_is_elf(fd);
    if (!error && modules->opened)
        modules->opened(modules->opened_context, module, fd);
    close(fd);
    return error;
}

/* Tries to open it; may be retried through another process. 0 or -ENOMEM. */
static int open_module(struct modules *modules, const struct module_place *place,
                       struct module *module)
{
    int error = open_file(modules, place, module), before = module->error;
    if (!error)
        return describe(modules, module);
    if (error == -ENOMEM)
        return error;
    module->error = error;
    module->rows = module->not_elf ? MODULE_ROWS_NONE : MODULE_ROWS_MISSING;
    if (!module->not_elf && before == 0)
        count_unread(modules, error);
    return 0;
}

int modules_retry(struct modules *modules, const struct module_place *place, struct module *module)
{
    if (module->file || !is_shortage(module->error))
        return 0;
    int error = open_module(modules, place, module);
    return error || module->file || !is_shortage(module->error) ? error : 1;
}

static int add_module(struct modules *modules, const struct module_place *place,
                      struct module **ret_module)
{
    struct module *module = module_create(modules, place->path);
    if (!module)
        return -ENOMEM;
    uint64_t key = file_key(place->major, place->minor, place->inode);
    const uint64_t *old = map64_find(&modules->by_file, key);
    module->next = old ? (struct module *)(uintptr_t)*old : NULL;
    module->major = place->major;
    module->minor = place->minor;
    module->inode = place->inode;
    *ret_module = module;
    return map64_put(&modules->by_file, key, (uintptr_t)module);
}

int modules_find(struct modules *modules, const struct module_place *place,
                 struct module **ret_module)
{
    *ret_module = strcmp(place->path, "[vdso]") == 0 ? modules->vdso : NULL;
    if (*ret_module || place->inode == 0 || place->path[0] != '/')
        return 0;
    *ret_module = find_known(modules, place);
    int error = *ret_module ? 0 : add_module(modules, place, ret_module);
    if (!error && !(*ret_module)->file && !(*ret_module)->not_elf)
        error = open_module(modules, place, *ret_module);
    return error;
}

/* ---- Unwind rows ----------------------------------------------------------------------------- */

/* Copies one part of the table; keeps a view of it. */
static int place_part(struct row_memory *memory, const struct unwind_table *table, bool grow,
                      struct module_part *part)
{
    uint32_t first = part->slice.first, count = table->row_count - first;
    bool last = count <= SAMPLER_SEGMENT_ROWS;
    if (!last)
        count = SAMPLER_SEGMENT_ROWS;
    int error = grow ? row_memory_add(memory, table, first, count, &part->slice)
                     : row_memory_try(memory, table, first, count, &part->slice);
    if (error)
        return error;
    part->begin = table->base + table->rows[first].address;
    part->end = last ? table->end : table->base + table->rows[first + count].address;
    part->table = (struct unwind_table){
        .base = table->base,
        .end = part->end,
        .rows = memory->segments[part->slice.segment].rows + part->slice.first,
        .row_count = count,
        .rules = memory->rules,
        .rule_count = SAMPLER_RULES_MAX,
    };
    return 0;
}

static void give_parts(struct row_memory *memory, const struct read_rows *rows)
{
    for (uint32_t i = 0; i < rows->part_count; i++)
        row_memory_remove(memory, &rows->parts[i].slice);
}

/* Places all parts or none. NULL: out of memory. */
static struct read_rows *place_rows(struct row_memory *memory, const struct unwind_table *table,
                                    bool grow)
{
    uint32_t count = (table->row_count + SAMPLER_SEGMENT_ROWS - 1) / SAMPLER_SEGMENT_ROWS;
    struct read_rows *rows = calloc(1, sizeof(*rows) + count * sizeof(rows->parts[0]));
    for (uint32_t i = 0; rows && i < count && !rows->error; i++) {
        rows->parts[i].slice.first = i * SAMPLER_SEGMENT_ROWS;
        rows->error = place_part(memory, table, grow, &rows->parts[i]);
        rows->part_count += rows->error == 0;
    }
    if (rows && rows->error) {
        rows->refused = true;
        give_parts(memory, rows);
        rows->part_count = 0;
    }
    return rows;
}

/* Called by the reader's thread. */
static struct read_rows *keep_rows(void *context, const struct unwind_table *table, int error)
{
    struct read_rows *rows =
        table ? place_rows(context, table, true) : calloc(1, sizeof(struct read_rows));
    if (rows && !table)
        rows->error = error;
    return rows;
}

/* Moves the rows read into the module. 0 or -ENOMEM. */
static int take_rows(struct modules *modules, struct module *module, const struct read_rows *rows)
{
    size_t size = rows->part_count * sizeof(rows->parts[0]);
    module->rows = rows->error == -ENODATA  ? MODULE_ROWS_NONE
                   : rows->error == -EAGAIN ? MODULE_ROWS_LAZY
                   : rows->error            ? MODULE_ROWS_MISSING
                                            : MODULE_ROWS_LOADED;
    modules->tables_refused += module->rows == MODULE_ROWS_MISSING && rows->refused;
    modules->tables_damaged += module->rows == MODULE_ROWS_MISSING && !rows->refused;
    if (rows->error)
        return rows->error == -ENOMEM ? -ENOMEM : 0;
    module->parts = malloc(size + 1);
    if (!module->parts) {
        give_parts(&modules->rows, rows);
        return -ENOMEM;
    }
    memcpy(module->parts, rows->parts, size);
    module->part_count = rows->part_count;
    return 0;
}

/* If another thread makes segments, only existing ones are used. */
static int read_now(struct modules *modules, struct module *module)
{
    struct unwind_table *table = NULL;
    int64_t begin_ns = clock_now_ns();
    int error = unwind_cache_table(modules->cache_directory, module->file, &table);
    struct read_rows failed = {.error = error};
    struct read_rows *rows =
        error ? &failed : place_rows(&modules->rows, table, modules->reader == NULL);
    error = rows ? take_rows(modules, module, rows) : -ENOMEM;
    if (rows != &failed)
        free(rows);
    unwind_table_destroy(table);
    modules->spent_ns += clock_now_ns() - begin_ns;
    return error;
}

int modules_begin_reading(struct modules *modules)
{
    struct row_reader reader = {modules->cache_directory, keep_rows, &modules->rows};
    modules->reader = symbolizer_create();
    if (!modules->reader)
        return -ENOMEM;
    symbolizer_read_rows(modules->reader, &reader);
    return 0;
}

int modules_load_rows(struct modules *modules, struct module *module)
{
    if (module->rows != MODULE_ROWS_LAZY)
        return 0;
    if (!modules->reader)
        return read_now(modules, module);
    module->reading =
        symbolizer_add(modules->reader, code_source_of_file(module->file, module->path), module);
    if (!module->reading)
        return 0; /* for want of descriptors: retry later */
    int error = symbolizer_ask_rows(modules->reader, module->reading);
    if (error) {
        symbolizer_release(modules->reader, module->reading);
        module->reading = NULL;
        return error == -EAGAIN ? 0 : error;
    }
    module->rows = MODULE_ROWS_READING;
    module->requested_ns = clock_now_ns();
    modules->pending++;
    return 0;
}

int modules_take_rows(struct modules *modules)
{
    struct symbol_answer answer;
    int error = 0;
    while (!error && modules->pending && symbolizer_take(modules->reader, &answer)) {
        struct module *module = answer.source->owner;
        modules->pending--;
        if (module) {
            error = take_rows(modules, module, answer.rows);
            symbolizer_release(modules->reader, module->reading);
            module->reading = NULL;
        } else {
            give_parts(&modules->rows, answer.rows);
        }
        free(answer.rows);
    }
    return error;
}

/* ---- Forgetting ------------------------------------------------------------------------------ */

/* Modules of one hash form a list, with the first one in the table. */
static void unlink_module(struct modules *modules, const struct module *module)
{
    uint64_t key = file_key(module->major, module->minor, module->inode), gone;
    uint64_t *found = map64_find(&modules->by_file, key);
    struct module *first = found ? (struct module *)(uintptr_t)*found : NULL;
    struct module **at = &first;
    while (*at && *at != module)
        at = &(*at)->next;
    if (*at)
        *at = module->next;
    if (first)
        *found = (uintptr_t)first;
    else
        map64_take(&modules->by_file, key, &gone);
}

void modules_forget(struct modules *modules, uint64_t since_ns,
                    void (*forgets)(void *context, const struct module *module), void *context)
{
    size_t kept = 0;
    for (size_t i = 0; i < modules->all.count; i++) {
        struct module *module = modules->all.items[i];
        if (module->needed_ns >= since_ns || module == modules->vdso) {
            modules->all.items[kept++] = module;
            continue;
        }
        forgets(context, module);
        unlink_module(modules, module);
        for (uint32_t k = 0; k < module->part_count; k++)
            row_memory_remove(&modules->rows, &module->parts[k].slice);
        module_destroy(modules, module);
    }
    modules->all.count = kept;
}

const struct module_part *module_part_at(const struct module *module, uint64_t address)
{
    for (uint32_t i = 0; i < module->part_count; i++)
        if (address >= module->parts[i].begin && address < module->parts[i].end)
            return &module->parts[i];
    return NULL;
}

uint64_t module_address(const struct module *module, uint64_t address, uint64_t begin,
                        uint64_t offset)
{
    uint64_t own = offset;
    if (module->file)
        elf_file_address(module->file, offset, &own);
    return own + (address - begin);
}
