/* SPDX-License-Identifier: MIT */
/* Names of code without a file.
 *
 * perf-PID.map has "START SIZE NAME" a line, numbers in hexadecimal. The directory is opened while
 * the process lives, so that its file is found afterwards too. The file is foreign in every way: it
 * counts only if it belongs to the uid of the process and was written since the program began (pids
 * are reused, and files stay), and its last line may still be growing. */
#include "symbol_other.h"

#include "clock_now.h"
#include "file_io.h"
#include "proc_info.h"
#include "strtab.h"
#include "symbol_name.h"
#include "vec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Named stretches of memory --------------------------------------------------------------- */

/* The one operation lays a newer run over an older one. Each newer stretch splits at most one older
 * one, so n stretches never become more than 2n. */

static int push(struct code_run *out, uint64_t begin, uint64_t end, uint32_t name)
{
    struct code_stretch stretch = {begin, end, name};
    return begin < end ? vec_push(out, stretch) : 0;
}

/* Writes the parts of one older stretch that `newer` leaves visible; `*at` is the first newer one
 * that ends after its start. Also writes newer ones that end inside it. */
static int lay_over(const struct code_run *newer, size_t *at, const struct code_stretch *older,
                    struct code_run *out)
{
    uint64_t begin = older->begin;
    for (; *at < newer->count && newer->items[*at].begin < older->end; (*at)++) {
        const struct code_stretch *top = &newer->items[*at];
        if (push(out, begin, top->begin, older->name) != 0)
            return -ENOMEM;
        begin = top->end > begin ? top->end : begin;
        if (top->end > older->end)
            return 0; /* it continues over the next older one */
        if (vec_push(out, *top) != 0)
            return -ENOMEM;
    }
    return push(out, begin, older->end, older->name);
}

static int merge(const struct code_run *older, const struct code_run *newer, struct code_run *out)
{
    size_t at = 0;
    for (size_t i = 0; i < older->count; i++) {
        for (; at < newer->count && newer->items[at].end <= older->items[i].begin; at++) {
            if (vec_push(out, newer->items[at]) != 0)
                return -ENOMEM;
        }
        if (lay_over(newer, &at, &older->items[i], out) != 0)
            return -ENOMEM;
    }
    for (; at < newer->count; at++) {
        if (vec_push(out, newer->items[at]) != 0)
            return -ENOMEM;
    }
    return 0;
}

/* Makes one run of stretches in order of age. */
static int flatten(const struct code_stretch *stretches, size_t count, struct code_run *out)
{
    if (count == 1)
        return vec_push(out, stretches[0]);
    struct code_run older = {0}, newer = {0};
    int error = flatten(stretches, count / 2, &older);
    if (!error)
        error = flatten(stretches + count / 2, count - count / 2, &newer);
    if (!error)
        error = merge(&older, &newer, out);
    vec_free(&older);
    vec_free(&newer);
    return error;
}

/* Merges the newest two runs while the older is not twice as long. Without memory they stay
 * separate. */
static void join(struct code_runs *runs)
{
    while (runs->runs.count >= 2) {
        struct code_run *older = &runs->runs.items[runs->runs.count - 2], *newer = older + 1;
        struct code_run out = {0};
        if (older->count >= 2 * newer->count)
            return;
        if (merge(older, newer, &out) != 0) {
            vec_free(&out);
            return;
        }
        vec_free(older);
        vec_free(newer);
        *older = out;
        runs->runs.count--;
    }
}

int code_runs_add(struct code_runs *runs, const struct code_stretch *stretches, size_t count)
{
    struct code_run run = {0};
    if (count == 0)
        return 0;
    if (flatten(stretches, count, &run) != 0 || vec_push(&runs->runs, run) != 0) {
        vec_free(&run);
        return -ENOMEM;
    }
    join(runs);
    return 0;
}

static bool find_in(const struct code_run *run, uint64_t address, uint32_t *ret_name)
{
    size_t low = 0, high = run->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (run->items[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address >= run->items[low - 1].end)
        return false;
    *ret_name = run->items[low - 1].name;
    return true;
}

bool code_runs_find(const struct code_runs *runs, uint64_t address, uint32_t *ret_name)
{
    for (size_t i = runs->runs.count; i-- > 0;) {
        if (find_in(&runs->runs.items[i], address, ret_name))
            return true;
    }
    return false;
}

size_t code_runs_count(const struct code_runs *runs)
{
    size_t count = 0;
    for (size_t i = 0; i < runs->runs.count; i++)
        count += runs->runs.items[i].count;
    return count;
}

void code_runs_free(struct code_runs *runs)
{
    for (size_t i = 0; i < runs->runs.count; i++)
        vec_free(&runs->runs.items[i]);
    vec_free(&runs->runs);
}

/* ---- The kernel: /proc/kallsyms, read once, functions only; 8 bytes a symbol and its name ---- */

/* A function without a known end must not name everything after it. */
static const uint64_t REACH_MAX = 1 << 20;

enum { SYMBOLS_MAX = 1 << 21, NAMES_MAX = 128 << 20, KALLSYMS_BUFFER_SIZE = 256 << 10 };

struct kernel_entry {
    uint32_t offset; /* from base, the middle of the range */
    uint32_t name;   /* in names */
};

struct symbol_kernel {
    bool loaded;
    uint64_t base;
    VEC(struct kernel_entry) entries;
    VEC(char) names;
};

struct symbol_kernel *symbol_kernel_create(void)
{
    return calloc(1, sizeof(struct symbol_kernel));
}

void symbol_kernel_destroy(struct symbol_kernel *kernel)
{
    if (!kernel)
        return;
    vec_free(&kernel->entries);
    vec_free(&kernel->names);
    free(kernel);
}

/* A kernel lies within 2 GiB around its text, by its code model. */
static bool offset_of(const struct symbol_kernel *kernel, uint64_t address, uint32_t *ret_offset)
{
    uint64_t offset = address - kernel->base + (1u << 31);
    *ret_offset = (uint32_t)offset;
    return offset <= UINT32_MAX;
}

static int kernel_add(struct symbol_kernel *kernel, uint64_t address, const char *name,
                      size_t length)
{
    uint32_t offset;
    if (kernel->entries.count == 0)
        kernel->base = address;
    if (!offset_of(kernel, address, &offset))
        return 0;
    if (kernel->entries.count == SYMBOLS_MAX || kernel->names.count + length >= NAMES_MAX ||
        vec_reserve(&kernel->names, length + 1) != 0)
        return -1;
    struct kernel_entry entry = {offset, (uint32_t)kernel->names.count};
    memcpy(kernel->names.items + kernel->names.count, name, length);
    kernel->names.items[kernel->names.count + length] = '\0';
    kernel->names.count += length + 1;
    return vec_push(&kernel->entries, entry);
}

/* "ffffffff81000000 T _stext", "ffffffffc0201000 t fn\t[module]". 0 or -1: no room. */
static int kernel_take_line(struct symbol_kernel *kernel, const char *line)
{
    char *at;
    uint64_t address = strtoull(line, &at, 16);
    if (address == 0 || at[0] != ' ' || !at[1] || !strchr("tTwW", at[1]) || at[2] != ' ')
        return 0;
    const char *name = at + 3;
    size_t length = strcspn(name, "\t ");
    return length > 0 ? kernel_add(kernel, address, name, length) : 0;
}

/* Returns the bytes of an incomplete line that stay in the buffer; SIZE_MAX: no room for more. */
static size_t kernel_take_lines(struct symbol_kernel *kernel, char *buffer, size_t size)
{
    char *line = buffer, *end;
    while ((end = memchr(line, '\n', size - (size_t)(line - buffer))) != NULL) {
        *end = '\0';
        if (kernel_take_line(kernel, line) != 0)
            return SIZE_MAX;
        line = end + 1;
    }
    size_t rest = size - (size_t)(line - buffer);
    memmove(buffer, line, rest);
    return rest;
}

static int compare(const void *left, const void *right)
{
    const struct kernel_entry *a = left, *b = right;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name); /* in the order of the file */
}

static void load(struct symbol_kernel *kernel)
{
    kernel->loaded = true;
    int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
    char *buffer = fd < 0 ? NULL : malloc(KALLSYMS_BUFFER_SIZE);
    size_t have = 0;
    ssize_t size;
    while (buffer && have < KALLSYMS_BUFFER_SIZE &&
           (size = read(fd, buffer + have, KALLSYMS_BUFFER_SIZE - have)) > 0) {
        have = kernel_take_lines(kernel, buffer, have + (size_t)size);
    }
    free(buffer);
    if (fd >= 0)
        close(fd);
    if (kernel->entries.count)
        qsort(kernel->entries.items, kernel->entries.count, sizeof(struct kernel_entry), compare);
}

const char *symbol_kernel_find(struct symbol_kernel *kernel, uint64_t address)
{
    uint32_t offset;
    if (!kernel->loaded)
        load(kernel);
    if (kernel->entries.count == 0 || !offset_of(kernel, address, &offset))
        return NULL;
    size_t low = 0, high = kernel->entries.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (kernel->entries.items[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    const struct kernel_entry *entry = &kernel->entries.items[low - 1];
    if (offset - entry->offset > REACH_MAX)
        return NULL;
    while (entry > kernel->entries.items && entry[-1].offset == entry->offset)
        entry--; /* the first of several names */
    return kernel->names.items + entry->name;
}

/* ---- Code made at run time: perf-PID.map ----------------------------------------------------- */

enum {
    FILE_MAX = 64 << 20,
    READ_MAX = 256 << 20, /* of all files of that name, in sequence */
    STRETCHES_MAX = 1 << 20,
    BATCH_MAX = 1 << 16, /* stretches that are added together */
    BUFFER_SIZE = 256 << 10,
    LINE_MAX_BYTES = 4096,
};

static const int64_t PAUSE_NS = INT64_C(100000000);

/* Clocks of files and of processes are coarse. */
static const int64_t COARSE_NS = INT64_C(50000000);

struct symbol_jit {
    int32_t pid, ns_pid;
    int64_t uid;      /* -1 = not yet known */
    int64_t begin_ns; /* of the program, CLOCK_MONOTONIC; 0 = not yet known */
    int directory, file;
    uint64_t offset;     /* of the unread part: start of a line */
    uint64_t read_bytes; /* total */
    bool skip_line;      /* the line at `offset` is too long */
    int64_t read_ns;
    struct code_runs runs;
    struct strtab names;
    VEC(struct code_stretch) batch;
};

/* -1: ended, or unreadable. */
static int64_t effective_uid(int32_t pid)
{
    char path[64], text[4096];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    const char *line =
        file_read_text(path, text, sizeof(text)) > 0 ? strstr(text, "\nUid:\t") : NULL;
    long long uid;
    return line && sscanf(line, "\nUid:\t%*u\t%lld", &uid) == 1 ? uid : -1;
}

static void open_directory(struct symbol_jit *jit)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/root/tmp", (int)jit->pid);
    if (jit->directory < 0)
        jit->directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (jit->uid < 0)
        jit->uid = effective_uid(jit->pid);
    struct proc_stat process;
    if (jit->begin_ns == 0 && proc_stat(jit->pid, &process) == 0)
        jit->begin_ns = clock_ticks_ns(process.start_ticks, clock_asleep_ns());
}

struct symbol_jit *symbol_jit_create(int32_t pid, int32_t ns_pid, int64_t begin_ns)
{
    struct symbol_jit *jit = calloc(1, sizeof(*jit));
    if (!jit)
        return NULL;
    *jit = (struct symbol_jit){
        .pid = pid, .ns_pid = ns_pid, .uid = -1, .begin_ns = begin_ns, .directory = -1, .file = -1};
    open_directory(jit);
    return jit;
}

static void forget(struct symbol_jit *jit)
{
    if (jit->file >= 0)
        close(jit->file);
    jit->file = -1;
    jit->offset = 0;
    jit->skip_line = false;
    code_runs_free(&jit->runs);
    vec_free(&jit->batch);
}

void symbol_jit_destroy(struct symbol_jit *jit)
{
    if (!jit)
        return;
    forget(jit);
    if (jit->directory >= 0)
        close(jit->directory);
    strtab_free(&jit->names);
    free(jit);
}

/* 0, or -1: out of memory, or the limit is reached. */
static int flush_batch(struct symbol_jit *jit)
{
    int error = code_runs_count(&jit->runs) + jit->batch.count > STRETCHES_MAX
                    ? -1
                    : code_runs_add(&jit->runs, jit->batch.items, jit->batch.count);
    jit->batch.count = 0;
    return error ? -1 : 0;
}

/* Adds `line`, which ends with NUL; skips invalid entries. */
static int take_line(struct symbol_jit *jit, const char *line)
{
    char *at, *name, clean[SYMBOL_NAME_SIZE];
    uint64_t begin = strtoull(line, &at, 16);
    uint64_t size = *at == ' ' ? strtoull(at, &name, 16) : 0;
    if (size == 0 || *name != ' ' || size > UINT64_MAX - begin)
        return 0;
    name += strspn(name, " ");
    size_t length = strcspn(name, "\r");
    if (length == 0)
        return 0;
    int64_t ordinal = strtab_add(&jit->names, clean, symbol_clean(name, length, clean));
    struct code_stretch stretch = {begin, begin + size, (uint32_t)ordinal};
    if (ordinal < 0 || vec_push(&jit->batch, stretch) != 0)
        return -1;
    return jit->batch.count == BATCH_MAX ? flush_batch(jit) : 0;
}

/* Adds the whole lines of the buffer. Returns the bytes consumed, or -1: the limit is reached. */
static ssize_t take_lines(struct symbol_jit *jit, char *buffer, size_t size)
{
    char *line = buffer, *end;
    while ((end = memchr(line, '\n', size - (size_t)(line - buffer))) != NULL) {
        *end = '\0';
        bool good = !jit->skip_line && end - line < LINE_MAX_BYTES;
        jit->skip_line = false;
        if (good && take_line(jit, line) != 0)
            return -1;
        line = end + 1;
    }
    if (line == buffer && size == BUFFER_SIZE) { /* a single incomplete line */
        jit->skip_line = true;
        return (ssize_t)size;
    }
    return line - buffer;
}

static void read_on(struct symbol_jit *jit)
{
    char *buffer = malloc(BUFFER_SIZE);
    bool room = buffer != NULL;
    while (room && jit->offset < FILE_MAX && jit->read_bytes < READ_MAX) {
        ssize_t size = file_read_at(jit->file, buffer, BUFFER_SIZE, jit->offset);
        ssize_t taken = size > 0 ? take_lines(jit, buffer, (size_t)size) : 0;
        room = taken >= 0;
        if (taken <= 0)
            break;
        jit->offset += (uint64_t)taken;
        jit->read_bytes += (uint64_t)taken;
    }
    if (flush_batch(jit) != 0 || !room)
        jit->offset = FILE_MAX;
    free(buffer);
}

/* True if the open file is still the one of that name, and not shorter than the part read. */
static bool still_there(const struct symbol_jit *jit, const struct stat *now)
{
    struct stat open_one;
    return jit->file >= 0 && fstat(jit->file, &open_one) == 0 && open_one.st_ino == now->st_ino &&
           open_one.st_dev == now->st_dev &&
           (jit->offset >= FILE_MAX || (uint64_t)now->st_size >= jit->offset);
}

static bool is_its_own(const struct symbol_jit *jit, const struct stat *file)
{
    int64_t written_ns = file->st_mtim.tv_sec * INT64_C(1000000000) + file->st_mtim.tv_nsec;
    int64_t age_ns = jit->begin_ns ? clock_now_ns() - jit->begin_ns : clock_now_ns();
    return file->st_uid == jit->uid && written_ns >= clock_real_ns() - age_ns - COARSE_NS;
}

static void look(struct symbol_jit *jit)
{
    char name[64];
    struct stat now;
    open_directory(jit);
    snprintf(name, sizeof(name), "perf-%d.map", (int)jit->ns_pid);
    if (jit->directory < 0 || jit->uid < 0 ||
        fstatat(jit->directory, name, &now, AT_SYMLINK_NOFOLLOW) != 0)
        return; /* a removed file keeps its names */
    if (!still_there(jit, &now)) {
        forget(jit);
        jit->file = file_open_regular(jit->directory, name, O_RDONLY | O_NOFOLLOW, &now);
        if (jit->file < 0)
            return;
        if (!is_its_own(jit, &now)) {
            forget(jit);
            return;
        }
    }
    if ((uint64_t)now.st_size > jit->offset)
        read_on(jit);
}

const char *symbol_jit_known(const struct symbol_jit *jit, uint64_t address)
{
    uint32_t name;
    return code_runs_find(&jit->runs, address, &name) ? strtab_get(&jit->names, name)->bytes : NULL;
}

bool symbol_jit_has_read(const struct symbol_jit *jit, int64_t fresh_ns)
{
    return jit->read_ns != 0 && (jit->file < 0 || clock_now_ns() - jit->read_ns < fresh_ns);
}

const char *symbol_jit_find(struct symbol_jit *jit, uint64_t address)
{
    int64_t now_ns = clock_now_ns();
    if (jit->read_ns == 0 || now_ns - jit->read_ns >= PAUSE_NS) {
        look(jit);
        jit->read_ns = now_ns;
    }
    return symbol_jit_known(jit, address);
}
