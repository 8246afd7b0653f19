/* SPDX-License-Identifier: MIT */
/* Finds the interpreter in a module and, in a process that has it mapped, the addresses of its
 * parts.
 *
 * Before offsets are used they must lead, in that process, from the runtime to an interpreter, to a
 * thread state and back. The process runs meanwhile: its threads end, and it may end at any
 * instant, so an inconsistency counts only when a second walk from the runtime finds it again.
 * Foreign bytes: bounded. Thread-safety: any thread. */
#include "python_runtime.h"

#include "elf_symbols.h"
#include "file_io.h"
#include "proc_info.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    VERSION_DEBUG_OFFSETS = 0x030d,
    THREADS_CHECKED = 4,
    WALKS_MAX = 8,
    SYMBOLS_READ_MAX = 1 << 16, /* a millisecond or two */
    WAITS_MAX = 400,
    WRONGS_LEAST = 5,
};

#define WRONG_LEAST_NS UINT64_C(500000000)

/* ---- The file -------------------------------------------------------------------------------- */

/* The version: 3.11 and later store it as a number; earlier ones differ in their exports. */
static uint32_t image_version(struct elf_file *file)
{
    struct elf_symbol symbol;
    if (elf_file_find_symbol(file, "Py_Version", &symbol)) {
        const uint8_t *bytes = elf_file_at(file, symbol.address, sizeof(uint64_t));
        uint64_t hex = 0;
        if (bytes)
            memcpy(&hex, bytes, sizeof(hex));
        return hex >> 32 ? 0 : (uint32_t)(hex >> 16);
    }
    if (elf_file_find_symbol(file, "Py_NewRef", &symbol))
        return 0x030a;
    if (elf_file_find_symbol(file, "PyThreadState_GetFrame", &symbol))
        return 0x0309;
    return 0;
}

/* Finds a symbol that interpreters export, or have in a symbol table that is small enough to read
 * while programs wait to be inspected: every mapped file is searched. */
static bool find_quickly(struct elf_file *file, const char *name, struct elf_symbol *ret_symbol)
{
    return elf_file_symbol_count(file) <= SYMBOLS_READ_MAX
               ? elf_file_find_symbol(file, name, ret_symbol)
               : elf_file_find_exported(file, name, ret_symbol);
}

bool python_image_find(struct elf_file *file, struct python_image *ret_image)
{
    memset(ret_image, 0, sizeof(*ret_image));
    struct elf_symbol symbol;
    struct elf_section section;
    if (find_quickly(file, "_PyRuntime", &symbol)) {
        ret_image->runtime = symbol.address;
        ret_image->runtime_size = symbol.size;
    } else if (elf_file_section(file, ".PyRuntime", &section) && section.address) {
        ret_image->runtime = section.address;
        ret_image->runtime_size = section.size;
    } else {
        ret_image->pypy = find_quickly(file, "pypy_main_startup", &symbol) &&
                          find_quickly(file, "PyPyArg_Parse", &symbol);
        return ret_image->pypy;
    }
    if (elf_file_find_symbol(file, "_PyEval_EvalFrameDefault", &symbol)) {
        ret_image->eval = symbol.address;
        ret_image->eval_size = symbol.size;
    }
    if (elf_file_find_symbol(file, "_Py_NegativeRefcount", &symbol))
        ret_image->flags |= PYTHON_DEBUG_BUILD;
    ret_image->version = image_version(file);
    return true;
}

bool python_offsets_from_module(struct elf_file *file, struct python_offsets *ret_offsets)
{
    struct elf_symbol symbol;
    if (!elf_file_find_symbol(file, "annot_python_offsets_v1", &symbol) ||
        symbol.size != sizeof(*ret_offsets))
        return false;
    const uint8_t *bytes = elf_file_at(file, symbol.address, sizeof(*ret_offsets));
    if (!bytes)
        return false;
    memcpy(ret_offsets, bytes, sizeof(*ret_offsets));
    return python_offsets_check(ret_offsets) == 0;
}

/* ---- The process ----------------------------------------------------------------------------- */

static int64_t read_process(void *context, uint64_t address, void *buffer, size_t size)
{
    return proc_read_memory(*(const int32_t *)context, address, buffer, size);
}

struct python_memory python_memory_of(const int32_t *pid)
{
    return (struct python_memory){read_process, (void *)pid};
}

struct probe {
    const struct python_memory *memory;
    struct python_runtime *runtime;
};

static bool read_at(const struct probe *probe, uint64_t address, void *buffer, size_t size)
{
    return probe->memory->read(probe->memory->context, address, buffer, size) == (int64_t)size;
}

static bool read_pointer(const struct probe *probe, uint64_t address, uint64_t *ret)
{
    return read_at(probe, address, ret, sizeof(*ret));
}

static void unknown(struct python_runtime *runtime, const char *text, uint32_t version)
{
    runtime->offsets = (struct python_offsets){0};
    if (version)
        snprintf(runtime->reason, sizeof(runtime->reason), "CPython %u.%u: %s", version >> 8,
                 version & 0xff, text);
    else
        snprintf(runtime->reason, sizeof(runtime->reason), "CPython of unknown version: %s", text);
}

/* 0, -EAGAIN, or -ENOTSUP with the reason set. */
static int take_debug_offsets(const struct probe *probe, uint32_t version)
{
    struct python_runtime *runtime = probe->runtime;
    uint8_t bytes[PYTHON_DEBUG_OFFSETS_SIZE];
    if (!read_at(probe, runtime->runtime, bytes, sizeof(bytes)))
        return -EAGAIN;
    uint32_t found = 0;
    int result = python_offsets_debug(bytes, sizeof(bytes), &runtime->offsets, &found);
    if (result == 0 && version && found != version)
        result = -EBADMSG;
    runtime->source = "_Py_DebugOffsets";
    if (result == -ENOTSUP)
        unknown(runtime, "newer than this annot; with pyannot in it its frames are readable",
                found);
    else if (result)
        unknown(runtime, "what it tells of its own layout makes no sense", version);
    runtime->doubtful = result && result != -ENOTSUP;
    return result ? -ENOTSUP : 0;
}

static int choose_offsets(const struct probe *probe, const struct python_image *image,
                          const struct python_offsets *published)
{
    struct python_runtime *runtime = probe->runtime;
    if (published && (!image->version || published->version == image->version) &&
        python_offsets_check(published) == 0) {
        runtime->offsets = *published;
        runtime->source = "pyannot";
        return 0;
    }
    if (image->version >= VERSION_DEBUG_OFFSETS) {
        int result = take_debug_offsets(probe, image->version);
        runtime->offsets.flags |= result == 0 ? image->flags : 0;
        return result;
    }
    const struct python_offsets *table = python_offsets_table(image->version);
    runtime->source = "table";
    if (!table || (image->flags & PYTHON_DEBUG_BUILD)) {
        unknown(runtime,
                table ? "a debug build; with pyannot in it its frames are readable"
                      : "older than 3.9, its frames cannot be read",
                image->version);
        return -ENOTSUP;
    }
    runtime->offsets = *table;
    return 0;
}

/* On x86-64 a thread's id is the address of its control block, which begins with that address. */
static bool is_thread(const struct probe *probe, uint64_t thread_id)
{
#ifdef __x86_64__
    uint64_t self;
    return read_pointer(probe, thread_id, &self) && self == thread_id;
#else
    return probe && thread_id;
#endif
}

/* Checks a thread state: it belongs to the interpreter, and to a thread. Unset fields are 0 for a
 * moment. *alive: its thread exists. 0, -EAGAIN, -EBADMSG. */
static int check_thread(const struct probe *probe, uint64_t interp, uint64_t tstate, bool *alive)
{
    const struct python_offsets *o = &probe->runtime->offsets;
    uint64_t owner, thread_id;
    if (!read_pointer(probe, tstate + o->tstate_interp, &owner) ||
        !read_pointer(probe, tstate + o->tstate_thread_id, &thread_id))
        return -EBADMSG;
    if (!owner || !thread_id)
        return -EAGAIN;
    *alive |= is_thread(probe, thread_id);
    return owner == interp ? 0 : -EBADMSG;
}

/* *ret_tstate: the invalid thread state, if the result is -EBADMSG. */
static int check_threads(const struct probe *probe, uint64_t interp, uint64_t *ret_tstate)
{
    const struct python_offsets *o = &probe->runtime->offsets;
    uint64_t tstate = 0;
    *ret_tstate = 0;
    if (!read_pointer(probe, interp + o->interp_threads_head, &tstate))
        return -EBADMSG;
    if (!tstate)
        return -EAGAIN;
    bool alive = false;
    for (int i = 0; tstate && i < THREADS_CHECKED; i++) {
        *ret_tstate = tstate;
        int result = check_thread(probe, interp, tstate, &alive);
        if (result)
            return result;
        if (!read_pointer(probe, tstate + o->tstate_next, &tstate))
            return -EBADMSG;
    }
    return alive ? 0 : -EAGAIN;
}

/* An ending thread is removed from the list, and its memory reused, between one read and the next.
 * A list that leads to the same wrong address twice is invalid. */
static int check_interpreter(const struct probe *probe, uint64_t *ret_interp)
{
    const struct python_runtime *runtime = probe->runtime;
    uint64_t head = runtime->runtime + runtime->offsets.runtime_interpreters_head;
    uint64_t wrong = UINT64_MAX, tstate;
    for (int walk = 0; walk < WALKS_MAX; walk++) {
        if (!read_pointer(probe, head, ret_interp) || !*ret_interp)
            return -EAGAIN;
        int result = check_threads(probe, *ret_interp, &tstate);
        if (result != -EBADMSG || tstate == wrong)
            return result;
        wrong = tstate;
    }
    return -EAGAIN;
}

/* Drops, one by one, fields that only decorate a sample and have an implausible value. */
static void check_extras(const struct probe *probe, uint64_t interp)
{
    struct python_offsets *o = &probe->runtime->offsets;
    int32_t collecting = -1, locked = -2;
    if (!read_at(probe, interp + o->interp_gc_collecting, &collecting, sizeof(collecting)) ||
        collecting < 0 || collecting > 1)
        o->interp_gc_collecting = PYTHON_OFFSET_NONE;
    uint64_t gil;
    if (o->interp_gil == PYTHON_OFFSET_NONE)
        return;
    if (!read_pointer(probe, interp + o->interp_gil, &gil) ||
        !read_at(probe, gil + o->gil_locked, &locked, sizeof(locked)) || locked < -1 || locked > 1)
        o->interp_gil = PYTHON_OFFSET_NONE;
}

int python_runtime_find(const struct python_image *image, uint64_t bias,
                        const struct python_memory *memory, const struct python_offsets *published,
                        struct python_runtime *ret_runtime)
{
    memset(ret_runtime, 0, sizeof(*ret_runtime));
    ret_runtime->runtime = image->runtime + bias;
    ret_runtime->runtime_end = ret_runtime->runtime + image->runtime_size;
    if (image->eval) {
        ret_runtime->eval = image->eval + bias;
        ret_runtime->eval_end = ret_runtime->eval + image->eval_size;
    }
    ret_runtime->source = "";
    if (image->pypy) {
        snprintf(ret_runtime->reason, sizeof(ret_runtime->reason),
                 "PyPy: it compiles Python into code of its own that nothing describes");
        return 0;
    }
    struct probe probe = {memory, ret_runtime};
    int result = choose_offsets(&probe, image, published);
    if (result)
        return result == -EAGAIN ? -EAGAIN : 0;
    uint64_t interp;
    result = check_interpreter(&probe, &interp);
    if (result == -EAGAIN)
        return result;
    ret_runtime->doubtful = result != 0;
    if (result)
        unknown(ret_runtime, "its threads are not where they should be", image->version);
    else
        check_extras(&probe, interp);
    return 0;
}

bool python_answer_stands(struct python_doubt *doubt, int result,
                          const struct python_runtime *runtime, uint64_t now_ns)
{
    bool wrong = result == 0 && runtime->doubtful;
    if (!wrong) {
        doubt->wrongs = 0;
        return result != -EAGAIN || doubt->waits++ >= WAITS_MAX;
    }
    if (doubt->wrongs++ == 0)
        doubt->wrong_since_ns = now_ns;
    return doubt->wrongs >= WRONGS_LEAST && now_ns - doubt->wrong_since_ns >= WRONG_LEAST_NS;
}

/* ---- Among the files of a process ------------------------------------------------------------ */

/* Checks each file in the executable mappings of a process once for an interpreter. /proc text and
 * the files are foreign. Thread-safety: any thread. */

/* Opens through the process's own root, so that its mount namespace does not matter; map_files also
 * reaches deleted files, but needs privileges. */
static int open_mapped(int32_t pid, const struct maps_line *mapping)
{
    char path[4200];
    snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", pid, (unsigned long)mapping->begin,
             (unsigned long)mapping->end);
    int fd = file_open_regular(AT_FDCWD, path, O_RDONLY, NULL);
    if (fd >= 0)
        return fd;
    snprintf(path, sizeof(path), "/proc/%d/root%s", pid, mapping->path);
    return file_open_regular(AT_FDCWD, path, O_RDONLY, NULL);
}

static bool is_module_of_pyannot(const char *path)
{
    const char *name = strrchr(path, '/');
    return name && strncmp(name, "/_native", 8) == 0 && name - path >= 7 &&
           strncmp(name - 7, "pyannot", 7) == 0;
}

struct search {
    int32_t pid;
    struct python_location *location;
    bool found, denied;
};

/* 1: the search is over. */
static int look_into(struct search *search, const struct maps_line *mapping, struct elf_file *file)
{
    struct python_location *location = search->location;
    if (!location->published && is_module_of_pyannot(mapping->path))
        location->published = python_offsets_from_module(file, &location->offsets);
    uint64_t address;
    struct python_image image;
    if (!search->found && elf_file_address(file, mapping->offset, &address) &&
        python_image_find(file, &image)) {
        location->image = image;
        location->bias = mapping->begin - address;
        search->found = true;
    }
    return search->found && location->published;
}

static int take_line(void *context, const struct maps_line *line)
{
    struct search *search = context;
    struct elf_file *file;
    if (!line->executable || line->path[0] != '/')
        return 0;
    int fd = open_mapped(search->pid, line);
    if (fd == -EACCES || fd == -EPERM)
        search->denied = true;
    if (fd < 0)
        return 0;
    int error = elf_file_open(fd, &file);
    close(fd);
    if (error)
        return 0;
    int done = look_into(search, line, file);
    elf_file_close(file);
    return done;
}

int python_locate(int32_t pid, struct python_location *ret_location)
{
    struct search search = {.pid = pid, .location = ret_location};
    memset(ret_location, 0, sizeof(*ret_location));
    int error = maps_each(pid, take_line, &search);
    if (error < 0)
        return error;
    return search.found ? 0 : search.denied ? -EPERM : -ENOENT;
}
