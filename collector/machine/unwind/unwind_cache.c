/* SPDX-License-Identifier: MIT */
/* Tables on disk. A file is struct cache_head, the rules, the rows, in their memory layout; the
 * contents are checked as foreign bytes, also row by row, so that a damaged file can be wrong but
 * not dangerous. Writers create a temporary file and rename it. */
#include "unwind_cache.h"

#include "cfi_index.h"
#include "file_io.h"
#include "hash.h"
#include "text.h"
#include "unwind_table.h"
#include "vec.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- Its directory --------------------------------------------------------------------------- */

/* The cache's directory. A file's modification time is its last use: the cache sets it when it
 * reads. */

enum { LEFTOVER_SECONDS = 600 };

struct cached {
    char name[NAME_MAX + 1];
    time_t used;
    uint64_t size;
};

static int default_path(char path[PATH_MAX])
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = -1;
    if (cache && cache[0] == '/')
        length = snprintf(path, PATH_MAX, "%s/annot/unwind", cache);
    else if (home && home[0] == '/')
        length = snprintf(path, PATH_MAX, "%s/.cache/annot/unwind", home);
    return length > 0 && length < PATH_MAX ? 0 : -ENOENT;
}

/* Creates the missing parts of an absolute path. */
static void make_folders(char *path)
{
    for (char *at = path + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = 0;
        mkdir(path, 0700);
        *at = '/';
    }
    mkdir(path, 0700);
}

int cache_folder_open(const char *directory)
{
    char path[PATH_MAX];
    struct stat status;
    int error = default_path(path);
    if (directory)
        error = snprintf(path, sizeof(path), "%s", directory) < (int)sizeof(path) ? 0 : -ENOENT;
    if (error)
        return error;
    make_folders(path);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return -errno;
    if (fstat(folder, &status) == 0 && status.st_uid == geteuid() &&
        !(status.st_mode & (S_IWGRP | S_IWOTH)))
        return folder;
    close(folder);
    return -EPERM;
}

static int by_use(const void *a, const void *b)
{
    const struct cached *x = a, *y = b;
    return (x->used > y->used) - (x->used < y->used);
}

typedef VEC(struct cached) cached_list;

static uint64_t list_files(DIR *stream, cached_list *list)
{
    uint64_t sum = 0;
    struct dirent *entry;
    while ((entry = readdir(stream)) != NULL) {
        struct cached file;
        struct stat status;
        if (fstatat(dirfd(stream), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISREG(status.st_mode))
            continue;
        snprintf(file.name, sizeof(file.name), "%s", entry->d_name);
        file.used = status.st_mtime;
        file.size = (uint64_t)status.st_size;
        if (file.name[0] == '.' && file.used + LEFTOVER_SECONDS < time(NULL)) {
            unlinkat(dirfd(stream), file.name, 0);
            continue;
        }
        sum += file.size;
        if (vec_push(list, file) < 0)
            break;
    }
    return sum;
}

void cache_folder_trim(int folder, uint64_t size_max)
{
    cached_list list = {0};
    DIR *stream = file_list_folder(folder);
    if (!stream)
        return;
    uint64_t sum = list_files(stream, &list);
    if (sum > size_max)
        qsort(list.items, list.count, sizeof(*list.items), by_use);
    for (size_t i = 0; i < list.count && sum > size_max; i++) {
        if (unlinkat(folder, list.items[i].name, 0) == 0)
            sum -= list.items[i].size;
    }
    vec_free(&list);
    closedir(stream);
}

/* ---- Tables in it ---------------------------------------------------------------------------- */

static const uint64_t CACHE_MAGIC = UINT64_C(0x31776e75746e6e61); /* "anntunw1" */
static const uint64_t CACHE_SIZE_MAX = 256 << 20;

/* CACHE_VERSION: raise it when the same file would give another table.
 * CACHE_ROWS_MIN: smaller tables are built about as fast as they are read. */
enum {
    CACHE_VERSION = 7,
    CACHE_ROWS_MIN = 8192,
    CACHE_ROWS_MAX = 1 << 27,
    CACHE_RULES_MAX = 1 << 16
};

struct cache_head {
    uint64_t magic;
    uint32_t version, owner; /* of the ELF file */
    struct hash128 content;
    uint64_t base, end;
    uint32_t row_count, rule_count, skipped_count;
    uint32_t body_checksum; /* of rules and rows */
    uint32_t reserved;
    uint32_t head_checksum; /* of the fields above */
};

_Static_assert(sizeof(struct cache_head) == 72, "written to disk: no holes, no surprises");

static uint32_t sum_head(const struct cache_head *head)
{
    return checksum_crc32c(0, head, offsetof(struct cache_head, head_checksum));
}

static uint32_t sum_body(const struct unwind_table *table)
{
    uint32_t sum = checksum_crc32c(0, table->rules, table->rule_count * sizeof(*table->rules));
    return checksum_crc32c(sum, table->rows, table->row_count * sizeof(*table->rows));
}

static bool head_valid(const struct cache_head *head, const struct cache_head *expected,
                       uint64_t file_size)
{
    uint64_t size = sizeof(*head) + (uint64_t)head->rule_count * sizeof(struct unwind_rule) +
                    (uint64_t)head->row_count * sizeof(struct unwind_row);
    return head->magic == CACHE_MAGIC && head->version == CACHE_VERSION &&
           head->owner == expected->owner && head->content.low == expected->content.low &&
           head->content.high == expected->content.high && head->head_checksum == sum_head(head) &&
           head->row_count > 0 && head->row_count <= CACHE_ROWS_MAX && head->rule_count > 0 &&
           head->rule_count <= CACHE_RULES_MAX && head->base < head->end &&
           head->end - head->base <= UINT32_MAX && size == file_size;
}

static bool rows_valid(const struct unwind_table *table)
{
    for (uint32_t i = 0; i < table->rule_count; i++) {
        const struct unwind_rule *rule = &table->rules[i];
        if (rule->cfa > UNWIND_CFA_SCRATCH || rule->rbp > UNWIND_SAVE_LOST ||
            rule->rbx > UNWIND_SAVE_LOST || rule->scratch >= UNWIND_SCRATCH_COUNT)
            return false;
    }
    uint32_t bad = table->rows[0].rule >= table->rule_count;
    for (uint32_t i = 1; i < table->row_count; i++)
        bad |= (uint32_t)(table->rows[i].rule >= table->rule_count) |
               (uint32_t)(table->rows[i - 1].address >= table->rows[i].address);
    return !bad;
}

/* NULL: damaged, or out of memory. */
static struct unwind_table *read_table(int fd, const struct cache_head *head)
{
    struct unwind_table *table = calloc(1, sizeof(*table));
    if (!table)
        return NULL;
    size_t rules_size = head->rule_count * sizeof(*table->rules);
    size_t rows_size = head->row_count * sizeof(*table->rows);
    table->base = head->base;
    table->end = head->end;
    table->row_count = head->row_count;
    table->rule_count = head->rule_count;
    table->skipped_count = head->skipped_count;
    table->rules = malloc(rules_size);
    table->rows = malloc(rows_size);
    if (table->rules && table->rows &&
        file_read_at(fd, table->rules, rules_size, sizeof(*head)) == (ssize_t)rules_size &&
        file_read_at(fd, table->rows, rows_size, sizeof(*head) + rules_size) ==
            (ssize_t)rows_size &&
        sum_body(table) == head->body_checksum && rows_valid(table))
        return table;
    unwind_table_destroy(table);
    return NULL;
}

/* NULL: missing, or invalid and deleted. */
static struct unwind_table *load(int folder, const char *name, const struct cache_head *expected)
{
    struct cache_head head;
    struct stat status;
    struct unwind_table *table = NULL;
    int fd = file_open_regular(folder, name, O_RDONLY | O_NOFOLLOW, &status);
    if (fd < 0)
        return NULL;
    if (status.st_uid == geteuid() && !(status.st_mode & (S_IWGRP | S_IWOTH)) &&
        file_read_at(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
        head_valid(&head, expected, (uint64_t)status.st_size))
        table = read_table(fd, &head);
    if (table)
        futimens(fd, NULL); /* mark as used */
    else
        unlinkat(folder, name, 0);
    close(fd);
    return table;
}

static int write_table(int fd, const struct cache_head *head, const struct unwind_table *table)
{
    int error = file_write_all(fd, head, sizeof(*head));
    if (!error)
        error = file_write_all(fd, table->rules, table->rule_count * sizeof(*table->rules));
    if (!error)
        error = file_write_all(fd, table->rows, table->row_count * sizeof(*table->rows));
    return error;
}

/* Best effort: without the file the table is built again. */
static void store(int folder, const char *name, const struct cache_head *id,
                  const struct unwind_table *table)
{
    char draft[NAME_MAX];
    struct cache_head head = *id;
    head.base = table->base;
    head.end = table->end;
    head.row_count = table->row_count;
    head.rule_count = table->rule_count;
    head.skipped_count = table->skipped_count;
    head.body_checksum = sum_body(table);
    head.head_checksum = sum_head(&head);
    snprintf(draft, sizeof(draft), ".%s.%d", name, (int)getpid());
    int fd = openat(folder, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    int error = write_table(fd, &head, table);
    close(fd);
    if (error || renameat(folder, draft, folder, name) < 0)
        unlinkat(folder, draft, 0);
    else
        cache_folder_trim(folder, CACHE_SIZE_MAX);
}

/* Hashes the input of a table except code without descriptions: files of one owner with the same
 * descriptions count as equal. Read once, as the build does. */
static struct hash128 content_of(const struct elf_file *file, const struct cfi_section *section)
{
    struct elf_segment header = {0};
    struct hash128 hash = {0};
    (void)elf_file_header(file, PT_GNU_EH_FRAME, &header);
    for (size_t i = 0; i <= elf_file_segment_count(file); i++) {
        struct elf_segment segment =
            i < elf_file_segment_count(file) ? elf_file_segment(file, i) : header;
        const uint64_t words[] = {segment.address, segment.size, segment.offset, segment.file_size,
                                  segment.flags};
        hash = hash128_bytes(words, sizeof(words), hash);
    }
    const uint64_t facts[] = {elf_file_entry(file), elf_file_machine(file), section->address,
                              section->open};
    hash = hash128_bytes(facts, sizeof(facts), hash);
    return hash128_bytes(section->bytes, section->size, hash);
}

static int table_of(int folder, const struct cache_head *id, struct elf_file *file,
                    const struct cfi_section *section, struct unwind_table **ret_table)
{
    char name[2 * sizeof(id->content) + 2 * sizeof(id->owner) + 8];
    char *end = text_hex(name, (const uint8_t *)&id->content, sizeof(id->content));
    end = text_hex(end, (const uint8_t *)&id->owner, sizeof(id->owner));
    memcpy(end, ".rows", sizeof(".rows"));
    *ret_table = load(folder, name, id);
    if (*ret_table)
        return 0;
    int error = unwind_table_build_section(file, section, ret_table);
    if (!error && (*ret_table)->row_count >= CACHE_ROWS_MIN)
        store(folder, name, id, *ret_table);
    return error;
}

int unwind_cache_table(const char *directory, struct elf_file *file,
                       struct unwind_table **ret_table)
{
    struct cache_head id = {.magic = CACHE_MAGIC, .version = CACHE_VERSION};
    struct cfi_section section;
    int folder = elf_file_owner(file, &id.owner) ? cache_folder_open(directory) : -ENODATA;
    if (folder < 0)
        return unwind_table_build(file, ret_table);
    int error = cfi_section_open(file, &section);
    if (error == 0) {
        id.content = content_of(file, &section);
        error = table_of(folder, &id, file, &section, ret_table);
        cfi_section_close(&section);
    }
    close(folder);
    return error;
}
