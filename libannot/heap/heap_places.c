/* SPDX-License-Identifier: MIT */
/* Implements heap_places.h. The tables by which places and texts are found are private memory,
 * which a fork empties; so is the state of the process. */
#include "heap_places.h"

#include "heap_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define OPTIONAL extern __attribute__((weak, visibility("default")))
OPTIONAL void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
OPTIONAL int munmap(void *address, size_t size);
OPTIONAL int madvise(void *address, size_t size, int advice);
OPTIONAL int open(const char *path, int flags, ...);
OPTIONAL int close(int fd);
OPTIONAL int unlink(const char *path);
OPTIONAL int ftruncate(int fd, off_t size);
OPTIONAL ssize_t readlink(const char *restrict path, char *restrict buffer, size_t size);
OPTIONAL pid_t getpid(void);
OPTIONAL int prctl(int option, ...);
OPTIONAL int getrlimit(__rlimit_resource_t resource, struct rlimit *limit);
OPTIONAL int clock_gettime(clockid_t clock, struct timespec *time);
OPTIONAL int *__errno_location(void);

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum {
    SLOT_BITS = 20,
    TEXT_SLOT_BITS = 17,
    TEXT_BITS = 21, /* of a text's number, in its slot */
    PROBES_MAX = 1024,
    SESSION_SIZE = 17,
    PATH_SIZE = PATH_MAX,
    TEXT_SIZE_MAX = 4096,
};

struct tables {
    _Atomic uint32_t places[1 << SLOT_BITS];
    _Atomic uint64_t texts[1 << TEXT_SLOT_BITS];
};

struct heap_process *heap_process;
static struct tables *tables;
static char session_text[SESSION_SIZE], directory_path[PATH_SIZE];
static uint8_t *inherited_file; /* of the parent, mapped until the child has its own */
static _Atomic uint32_t epochs;

/* ---- Memory ---------------------------------------------------------------------------------- */

static void *private_memory(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (madvise(memory, size, MADV_WIPEONFORK) == 0)
        return memory;
    munmap(memory, size);
    return NULL;
}

static bool has_functions(void)
{
    return mmap && munmap && madvise && open && close && unlink && ftruncate && readlink &&
           getpid && prctl && getrlimit && clock_gettime && __errno_location;
}

static size_t length_of(const char *text)
{
    size_t length = 0;
    while (text[length])
        length++;
    return length;
}

/* ---- The file -------------------------------------------------------------------------------- */

static char *append(char *at, const char *text)
{
    while (*text)
        *at++ = *text++;
    return at;
}

static char *append_number(char *at, uint64_t number, unsigned base)
{
    char digits[24];
    int count = 0;
    do {
        digits[count++] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number);
    while (count > 0)
        *at++ = digits[--count];
    return at;
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void make_path(char path[PATH_SIZE], uint64_t random)
{
    char *at = append(path, directory_path);
    at = append(at, "/" ANNOT_HEAP_PREFIX);
    at = append(at, session_text);
    at = append(at, "-");
    at = append_number(at, (uint64_t)getpid(), 10);
    at = append(at, "-");
    *append_number(at, random, 16) = 0;
}

static bool file_may_be_so_large(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= ANNOT_HEAP_BYTES;
}

static uint8_t *map_file(int fd, size_t size)
{
    void *file = ftruncate(fd, ANNOT_HEAP_BYTES) == 0
                     ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                     : MAP_FAILED;
    return file == MAP_FAILED ? NULL : file;
}

/* A time stamp alone distinguishes the programs that one process runs. */
static uint8_t *make_file(size_t size)
{
    char path[PATH_SIZE];
    make_path(path, now_ns(CLOCK_MONOTONIC));
    int fd = file_may_be_so_large()
                 ? open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
                 : -1;
    if (fd < 0)
        return NULL;
    uint8_t *file = map_file(fd, size);
    close(fd);
    if (!file)
        unlink(path);
    return file;
}

/* Reserves memory before it is written: a store into a full file system would be a fatal signal. */
static bool reserve(struct heap_process *process, uint64_t offset)
{
    uint64_t extent = offset / ANNOT_HEAP_EXTENT, bit = UINT64_C(1) << (extent % 64);
    if (atomic_load_explicit(&process->extents[extent / 64], memory_order_relaxed) & bit)
        return true;
    int *error = __errno_location(), before = *error;
    bool done = madvise(process->file + extent * ANNOT_HEAP_EXTENT, ANNOT_HEAP_EXTENT,
                        MADV_POPULATE_WRITE) == 0;
    *error = before;
    if (done)
        atomic_fetch_or_explicit(&process->extents[extent / 64], bit, memory_order_relaxed);
    return done;
}

/* "pid:[4026531836]" */
static uint64_t pid_namespace(void)
{
    char text[64];
    uint64_t number = 0;
    ssize_t size = readlink("/proc/self/ns/pid", text, sizeof(text));
    for (ssize_t i = 0; i < size; i++)
        if (text[i] >= '0' && text[i] <= '9')
            number = 10 * number + (uint64_t)(text[i] - '0');
    return number;
}

static uint64_t session_number(void)
{
    uint64_t number = 0;
    for (const char *at = session_text; *at; at++)
        number = number << 4 | (uint64_t)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
    return number;
}

/* The magic number comes last: from then on the collector reads the file. */
static void fill_header(struct annot_heap *header, uint32_t first_place,
                        enum annot_heap_state state)
{
    header->session = session_number();
    header->pid_ns = pid_namespace();
    header->created_ns = now_ns(CLOCK_MONOTONIC);
    header->pid = getpid();
    header->first_place = header->place_count = first_place;
    header->text_bytes = sizeof(struct annot_heap_text); /* number 0 is none */
    header->generation = 1;
    prctl(PR_GET_NAME, header->comm);
    header->state = state;
    __atomic_store_n(&header->magic, ANNOT_HEAP_MAGIC, __ATOMIC_RELEASE);
}

static bool open_file(struct heap_process *process)
{
    uint32_t first_place = 1;
    process->file = make_file(ANNOT_HEAP_BYTES);
    if (inherited_file) {
        first_place = ((const struct annot_heap *)(const void *)inherited_file)->place_count;
        munmap(inherited_file, ANNOT_HEAP_BYTES);
    }
    inherited_file = process->file;
    if (!process->file || !reserve(process, 0) || first_place >= ANNOT_HEAP_PLACES_MAX)
        return false;
    process->first_place = first_place;
    process->epoch = atomic_fetch_add_explicit(&epochs, 1, memory_order_relaxed) + 1;
    fill_header((struct annot_heap *)(void *)process->file, first_place, ANNOT_HEAP_COUNTS);
    return true;
}

bool heap_places_open(void)
{
    uint32_t phase = HEAP_NEW;
    if (!atomic_compare_exchange_strong_explicit(&heap_process->phase, &phase, HEAP_OPENING,
                                                 memory_order_acquire, memory_order_relaxed))
        return phase == HEAP_OPEN;
    int *error = __errno_location(), before = *error;
    bool done = open_file(heap_process);
    *error = before;
    atomic_store_explicit(&heap_process->phase, done ? HEAP_OPEN : HEAP_FAILED,
                          memory_order_release);
    return done;
}

/* ---- Start ---------------------------------------------------------------------------------- */

bool heap_places_begin(const char *session, size_t session_length, const char *directory)
{
    size_t length = length_of(directory);
    if (!has_functions() || session_length >= SESSION_SIZE || length >= PATH_SIZE - 64)
        return false;
    memcpy(session_text, session, session_length);
    memcpy(directory_path, directory, length);
    heap_process = private_memory(sizeof(*heap_process));
    tables = private_memory(sizeof(*tables));
    return heap_process && tables && heap_places_open();
}

void heap_places_end(void)
{
    atomic_store_explicit(&heap_process->phase, HEAP_ENDED, memory_order_relaxed);
}

void heap_places_refuse(void)
{
    enum { HEADER_BYTES = 4096 };

    uint8_t *file = heap_process && heap_process->file
                        ? heap_process->file
                        : (has_functions() && directory_path[0] ? make_file(HEADER_BYTES) : NULL);
    if (!file || madvise(file, HEADER_BYTES, MADV_POPULATE_WRITE) != 0)
        return;
    fill_header((struct annot_heap *)(void *)file, 1, ANNOT_HEAP_NO_SPACE);
    if (!heap_process || !heap_process->file)
        munmap(file, HEADER_BYTES);
}

/* ---- Places ---------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t value)
{
    value *= UINT64_C(0x9e3779b97f4a7c15);
    return value ^ (value >> 29);
}

static bool is_place(uint32_t number, uint32_t parent, uint32_t what, uint64_t where)
{
    const struct annot_heap_place *place = heap_place(number);
    return place->where == where && place->parent == parent && place->what == what;
}

/* 0: no room. */
static uint32_t make_place(uint32_t parent, uint32_t what, uint64_t where)
{
    struct annot_heap *header = heap_header();
    uint32_t number = __atomic_load_n(&header->place_count, __ATOMIC_RELAXED);
    if (number >= ANNOT_HEAP_PLACES_MAX)
        return 0;
    number = __atomic_fetch_add(&header->place_count, 1, __ATOMIC_RELAXED);
    if (number >= ANNOT_HEAP_PLACES_MAX ||
        !reserve(heap_process,
                 ANNOT_HEAP_PLACES_AT + (uint64_t)number * sizeof(struct annot_heap_place)))
        return 0;
    struct annot_heap_place *place = heap_place(number);
    place->parent = parent;
    place->where = where;
    __atomic_store_n(&place->what, what, __ATOMIC_RELEASE);
    return number;
}

static uint32_t no_place(uint32_t parent)
{
    __atomic_fetch_add(&heap_header()->unplaced_count, 1, __ATOMIC_RELAXED);
    return parent;
}

/* A place that another thread made first stays unused. */
static void drop_place(uint32_t number)
{
    if (number)
        __atomic_store_n(&heap_place(number)->what, 0, __ATOMIC_RELAXED);
}

uint32_t heap_places_child(uint32_t parent, uint32_t what, uint64_t where)
{
    uint64_t hash = mix(mix(where ^ (uint64_t)what << 32) ^ parent);
    uint32_t made = 0;
    for (uint32_t i = 0; i < PROBES_MAX; i++) {
        _Atomic uint32_t *slot = &tables->places[((hash >> 20) + i) % (1u << SLOT_BITS)];
        uint32_t number = atomic_load_explicit(slot, memory_order_acquire);
        if (number == 0) {
            if (!made && !(made = make_place(parent, what, where)))
                return no_place(parent);
            if (atomic_compare_exchange_strong_explicit(slot, &number, made, memory_order_release,
                                                        memory_order_acquire))
                return made;
        }
        if (is_place(number, parent, what, where)) {
            drop_place(made);
            return number;
        }
    }
    drop_place(made);
    return no_place(parent);
}

/* ---- Texts ----------------------------------------------------------------------------------- */

static uint64_t hash_bytes(uint64_t hash, const char *bytes, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++)
        hash = (hash ^ (uint8_t)bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t hash_text(const struct heap_text *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ text->first_line;
    hash = hash_bytes(hash, text->file, text->file_size);
    return mix(hash_bytes(hash * 31 + text->file_size, text->name, text->name_size));
}

static uint32_t make_text(const struct heap_text *text)
{
    struct annot_heap *header = heap_header();
    uint32_t size = (uint32_t)sizeof(struct annot_heap_text) + text->file_size + text->name_size;
    size = (size + 7) / 8 * 8;
    if (__atomic_load_n(&header->text_bytes, __ATOMIC_RELAXED) > ANNOT_HEAP_TEXTS_MAX - size)
        return 0;
    uint32_t at = __atomic_fetch_add(&header->text_bytes, size, __ATOMIC_RELAXED);
    if (at > ANNOT_HEAP_TEXTS_MAX - size || !reserve(heap_process, ANNOT_HEAP_TEXTS_AT + at) ||
        !reserve(heap_process, ANNOT_HEAP_TEXTS_AT + at + size - 1))
        return 0;
    uint8_t *bytes = heap_process->file + ANNOT_HEAP_TEXTS_AT + at;
    const struct annot_heap_text head = {.first_line = text->first_line,
                                         .file_size = (uint16_t)text->file_size,
                                         .name_size = (uint16_t)text->name_size};
    memcpy(bytes, &head, sizeof(head));
    memcpy(bytes + sizeof(head), text->file, text->file_size);
    if (text->name_size > 0)
        memcpy(bytes + sizeof(head) + text->file_size, text->name, text->name_size);
    return at / 8;
}

uint32_t heap_places_text(const struct heap_text *text)
{
    struct heap_text cut = *text;
    if (cut.file_size > TEXT_SIZE_MAX)
        cut.file_size = TEXT_SIZE_MAX;
    if (cut.name_size > TEXT_SIZE_MAX)
        cut.name_size = TEXT_SIZE_MAX;
    uint64_t hash = hash_text(&cut), key = hash >> TEXT_BITS << TEXT_BITS;
    uint32_t made = 0;
    for (uint32_t i = 0; i < PROBES_MAX; i++) {
        _Atomic uint64_t *slot = &tables->texts[((hash >> 40) + i) % (1u << TEXT_SLOT_BITS)];
        uint64_t found = atomic_load_explicit(slot, memory_order_acquire);
        if (found == 0) {
            if (!made && !(made = make_text(&cut)))
                return 0;
            if (atomic_compare_exchange_strong_explicit(slot, &found, key | made,
                                                        memory_order_release, memory_order_acquire))
                return made;
        }
        if (found >> TEXT_BITS == key >> TEXT_BITS)
            return (uint32_t)(found % (1u << TEXT_BITS));
    }
    return made;
}

/* ---- Files ----------------------------------------------------------------------------------- */

static struct annot_heap_module *module_at(uint32_t index)
{
    return (struct annot_heap_module *)(void *)(heap_process->file + ANNOT_HEAP_MODULES_AT) + index;
}

/* The newest first: an older one may have been unmapped. 0: unknown. */
static uint32_t find_module(uint64_t address)
{
    uint32_t index = __atomic_load_n(&heap_header()->module_count, __ATOMIC_ACQUIRE);
    while (index-- > 0)
        if (address >= module_at(index)->begin && address < module_at(index)->end)
            return index + 1;
    return 0;
}

static void add_module(void *context, const struct heap_mapping *mapping)
{
    struct annot_heap *header = context;
    uint32_t known = find_module(mapping->begin), index = header->module_count;
    const struct heap_text path = {.file = mapping->path, .file_size = mapping->path_size};
    struct annot_heap_module module = {.begin = mapping->begin,
                                       .end = mapping->end,
                                       .offset = mapping->offset,
                                       .inode = mapping->inode,
                                       .major = mapping->major,
                                       .minor = mapping->minor,
                                       .path = path.file_size ? heap_places_text(&path) : 0};
    if ((known && memcmp(module_at(known - 1), &module, sizeof(module)) == 0) ||
        index >= ANNOT_HEAP_MODULES_MAX)
        return;
    *module_at(index) = module;
    __atomic_store_n(&header->module_count, index + 1, __ATOMIC_RELEASE);
}

/* Another thread that reads the list now leaves this address without a file. */
uint32_t heap_places_module(uint64_t address)
{
    uint32_t found = find_module(address);
    if (found || atomic_exchange_explicit(&heap_process->is_reading, true, memory_order_acquire))
        return found;
    int *error = __errno_location(), before = *error;
    heap_maps_each(add_module, heap_header());
    *error = before;
    atomic_store_explicit(&heap_process->is_reading, false, memory_order_release);
    return find_module(address);
}
