/* SPDX-License-Identifier: MIT */
/* Making, mapping, reserving and leaving segments: see segment.h. */
#include "segment.h"

#include "clock.h"
#include "proc.h"
#include "testpoint.h"

#include <annot/annot.h>
#include <annot_barrier.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum {
    FIRST_STRINGS_BYTES = 16 * 1024,
    HALVINGS_MAX = 16,
    REFS_UNMAPPING = 1 << 30, /* the descriptor must not be taken yet */
};

static struct segment segments[SEGMENT_LIMIT];

/* Mappings of the parent that a forked child still has. */
static struct {
    uint8_t *base;
    uint64_t size;
} inherited[SEGMENT_LIMIT];

int segment_populate(struct segment *segment, const void *at, uint64_t size)
{
    if (segment->fully_backed)
        return 0;
    uintptr_t first = (uintptr_t)at & ~(uintptr_t)(ANNOT_PAGE_SIZE - 1);
    uintptr_t last =
        ((uintptr_t)at + size + ANNOT_PAGE_SIZE - 1) & ~(uintptr_t)(ANNOT_PAGE_SIZE - 1);
    int attempts = 16;
    while (madvise((void *)first, last - first, MADV_POPULATE_WRITE) != 0) {
        if ((errno != EINTR && errno != EAGAIN) || --attempts == 0)
            return -errno;
    }
    return 0;
}

static struct segment *descriptor_take(void)
{
    for (int i = 0; i < SEGMENT_LIMIT; i++) {
        uint32_t none = 0;
        /* Partner: the store of 0 in segment_put, after its munmap. */
        if (annot_cas_acq_rel(&segments[i].refs, &none, 1u))
            return &segments[i];
    }
    return NULL;
}

static uint32_t bounded(uint32_t wanted, uint32_t standard, uint32_t least, uint32_t most)
{
    if (wanted == 0)
        return standard;
    return wanted < least ? least : wanted > most ? most : wanted;
}

static uint32_t policy_of(const struct session *session)
{
    return session->policy <= ANNOT_POLICY_WAIT ? session->policy : ANNOT_POLICY_DROP_NEWEST;
}

static uint64_t page_align(uint64_t size)
{
    return (size + ANNOT_PAGE_SIZE - 1) & ~(uint64_t)(ANNOT_PAGE_SIZE - 1);
}

/* Sizes and offsets, in private memory. */
struct layout {
    uint32_t threads_offset, strings_offset, block_states_offset, block_nexts_offset, blocks_offset;
    uint32_t thread_count, strings_size, block_count;
    uint64_t total_size;
};

/* A segment that is being made. */
struct making {
    const struct session *session;
    const struct identity *identity;
    struct layout layout;
};

static void place(struct layout *info)
{
    uint64_t at = sizeof(struct annot_segment);
    info->threads_offset = (uint32_t)at;
    at = page_align(at + (uint64_t)info->thread_count * sizeof(struct annot_thread));
    info->strings_offset = (uint32_t)at;
    at = page_align(at + info->strings_size);
    info->block_states_offset = (uint32_t)at;
    at += (uint64_t)info->block_count * sizeof(uint32_t);
    info->block_nexts_offset = (uint32_t)at;
    at = page_align(at + (uint64_t)info->block_count * sizeof(uint32_t));
    info->blocks_offset = (uint32_t)at;
    info->total_size = at + (uint64_t)info->block_count * ANNOT_BLOCK_SIZE;
}

static void halve(uint32_t *value, uint32_t least)
{
    if (*value / 2 >= least)
        *value /= 2;
}

/* Fits a segment into the program's limits: it takes one part in PROC_ROOM_PARTS of the address
 * space that the program may still map, and at most the largest file that it may write. */
static void fit(struct layout *info, uint64_t bytes_most)
{
    for (int i = 0; i < HALVINGS_MAX && info->total_size > bytes_most; i++) {
        halve(&info->block_count, ANNOT_BLOCK_COUNT_LEAST);
        halve(&info->thread_count, ANNOT_THREAD_COUNT_LEAST);
        halve(&info->strings_size, ANNOT_STRINGS_SIZE_LEAST);
        place(info);
    }
}

static APART void lay_out(const struct session *session, struct layout *info)
{
    uint64_t room = proc_address_room() / PROC_ROOM_PARTS, file = UINT64_MAX;
    info->block_count =
        bounded(session->block_count, ANNOT_BLOCK_COUNT_DEFAULT, 1, ANNOT_BLOCK_COUNT_MAX);
    info->thread_count =
        bounded(session->thread_count, ANNOT_THREAD_COUNT_DEFAULT, 1, ANNOT_THREAD_COUNT_MAX);
    info->strings_size = bounded(session->strings_size, ANNOT_STRINGS_SIZE_DEFAULT, ANNOT_PAGE_SIZE,
                                 ANNOT_STRINGS_SIZE_DEFAULT) &
                         ~(uint32_t)(ANNOT_PAGE_SIZE - 1);
    place(info);
    (void)file_size_allowed(info->total_size, &file);
    fit(info, room < file ? room : file);
}

/* Written in place, because it is too large for a stack; `magic` stays 0. */
static APART void describe(const struct making *making, struct annot_segment_info *info)
{
    const struct session *session = making->session;
    const struct identity *identity = making->identity;
    const struct layout *layout = &making->layout;
    info->total_size = layout->total_size;
    info->threads_offset = layout->threads_offset;
    info->thread_count = layout->thread_count;
    info->strings_offset = layout->strings_offset;
    info->strings_size = layout->strings_size;
    info->block_states_offset = layout->block_states_offset;
    info->block_nexts_offset = layout->block_nexts_offset;
    info->blocks_offset = layout->blocks_offset;
    info->block_count = layout->block_count;
    info->major = ANNOT_WIRE_MAJOR;
    info->minor = ANNOT_WIRE_MINOR;
    info->session_id = session->id;
    info->generation = identity->generation;
    info->clock = clock_kind;
    info->policy = policy_of(session);
    info->pid = getpid();
    info->ppid = getppid();
    info->pid_ns = proc_pid_namespace();
    info->identity = identity->hash;
    info->parent_identity = identity->parent_hash;
    info->fork_time = identity->fork_time;
    info->start_time_ticks = proc_start_ticks();
    info->at_random_address = getauxval(AT_RANDOM);
    info->tls_offset = identity->tls_offset;
    info->uid = geteuid();
    info->runtime_version =
        ANNOT_VERSION_MAJOR << 16 | ANNOT_VERSION_MINOR << 8 | ANNOT_VERSION_PATCH;
    prctl(PR_GET_NAME, info->comm);
    clock_both(&info->created_time, &info->created_ns);
    ssize_t size = proc_read("/proc/self/cmdline", info->cmdline, sizeof(info->cmdline) - 1);
    info->cmdline_size = size > 0 ? (uint32_t)size : 0;
}

static void adopt(struct segment *segment, const struct making *making, uint8_t *base)
{
    const struct layout *info = &making->layout;
    segment->fully_backed = 0;
    segment->base = base;
    segment->size = info->total_size;
    segment->header = (struct annot_segment *)base;
    segment->threads = (struct annot_thread *)(base + info->threads_offset);
    segment->strings = base + info->strings_offset;
    segment->block_states = (uint32_t *)(base + info->block_states_offset);
    segment->block_nexts = (uint32_t *)(base + info->block_nexts_offset);
    segment->blocks = base + info->blocks_offset;
    segment->thread_count = info->thread_count;
    segment->block_count = info->block_count;
    segment->strings_size = info->strings_size;
    segment->policy = policy_of(making->session);
    segment->session_id = making->session->id;
    segment->made_generation = making->identity->generation;
    segment->valid_generation = making->identity->generation;
    segment->strings_limit = 1;
    segment->strings_backed = 0;
    segment->no_memory_until = 0;
    segment->next_reclaim = 0;
    segment->filter_next = 1;
    segment->hand = 0;
    segment->failed_heartbeat = UINT64_MAX;
}

static int reserve_first(struct segment *segment, int fd)
{
    int error = segment_populate(segment, segment->base, sizeof(struct annot_segment));
    if (error == -EINVAL) { /* kernel before 5.14 */
        if (fallocate(fd, 0, 0, (off_t)segment->size) != 0)
            return -errno;
        segment->fully_backed = 1;
        segment->strings_backed = segment->strings_size;
        return 0;
    }
    if (error)
        return error;
    uint64_t count = segment->block_count;
    error = segment_populate(segment, segment->block_states, 2 * count * sizeof(uint32_t));
    if (error)
        return error;
    uint32_t strings = segment->strings_size < FIRST_STRINGS_BYTES ? segment->strings_size
                                                                   : (uint32_t)FIRST_STRINGS_BYTES;
    error = segment_populate(segment, segment->strings, strings);
    if (error)
        return error;
    segment->strings_backed = strings;
    return segment_populate(segment, segment->threads, ANNOT_PAGE_SIZE);
}

static void file_name(const struct identity *identity, char *name, size_t size)
{
    const char *end = name + size;
    char *at = text_append_decimal(name, end, (uint64_t)getpid());
    at = text_append(at, end, "-");
    at = text_append_hex(at, end, proc_pid_namespace(), 1);
    at = text_append(at, end, "-");
    at = text_append_hex(at, end, identity->hash, 16);
    text_append(at, end, ANNOT_SEGMENT_SUFFIX);
}

static int refuse(struct refusal *refusal, enum annot_refusal reason, int error, uint64_t detail)
{
    refusal->reason = (uint16_t)reason;
    refusal->error = (uint16_t)error;
    refusal->detail = detail;
    return error ? -error : -EIO;
}

static enum annot_refusal reason_of(int error)
{
    return error == ENOSPC || error == EFAULT || error == EDQUOT || error == EROFS
               ? ANNOT_REFUSAL_NO_SPACE
               : ANNOT_REFUSAL_SYSTEM;
}

/* Fills the segment up to the magic. The file is open and empty. */
static int fill(int fd, struct segment *segment, const struct making *making,
                struct refusal *refusal)
{
    const uint64_t size = making->layout.total_size;
    const struct session *session = making->session;
    if (ftruncate(fd, (off_t)size) != 0)
        return refuse(refusal, reason_of(errno), errno, 0);
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        return refuse(refusal, ANNOT_REFUSAL_MAP, errno, size);
    adopt(segment, making, base);
    TESTPOINT("create:mapped");
    int error = reserve_first(segment, fd);
    if (error) {
        munmap(base, size);
        segment->base = NULL;
        return refuse(refusal, reason_of(-error), -error, 0);
    }
    struct annot_segment *header = segment->header;
    describe(making, &header->info);
    memcpy(header->control.category_mask, session->category_mask,
           sizeof(header->control.category_mask));
    header->control.late_ticks = session->late_ticks;
    header->control.is_filtered = session->is_filtered;
    header->control.heartbeat = header->info.created_time;
    header->shared.string_used = ANNOT_STRING_UNIT; /* id 0 is not a string */
    TESTPOINT("create:filled");
    /* Partner: the collector's acquire load of the magic. */
    annot_store_release(&header->info.magic, ANNOT_SEGMENT_MAGIC);
    TESTPOINT("create:published");
    return 0;
}

int segment_create(int directory_fd, const struct session *session, const struct identity *identity,
                   struct segment **ret_segment, struct refusal *refusal)
{
    struct making making = {.session = session, .identity = identity};
    char name[80];
    uint64_t limit = 0;
    lay_out(session, &making.layout);
    if (!file_size_allowed(making.layout.total_size, &limit))
        return refuse(refusal, ANNOT_REFUSAL_FILE_SIZE, EFBIG, limit);
    struct segment *segment = descriptor_take();
    if (!segment)
        return refuse(refusal, ANNOT_REFUSAL_SYSTEM, EMFILE, SEGMENT_LIMIT);
    file_name(identity, name, sizeof(name));
    int fd = openat(directory_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int error;
    if (fd < 0) {
        error = refuse(refusal, reason_of(errno), errno, 0);
    } else {
        error = fill(fd, segment, &making, refusal);
        if (error)
            unlinkat(directory_fd, name, 0);
        close(fd);
    }
    if (error) {
        /* Partner: descriptor_take. */
        annot_store_release(&segment->refs, 0u);
        return error;
    }
    *ret_segment = segment;
    return 0;
}

void segment_discard(int directory_fd, struct segment *segment, const struct identity *identity)
{
    char name[80];
    /* Partner: the collector's acquire load of the magic. */
    annot_store_release(&segment->header->info.magic, UINT64_C(0));
    file_name(identity, name, sizeof(name));
    unlinkat(directory_fd, name, 0);
    segment_put(segment);
}

int segment_get(struct segment *segment)
{
    uint32_t refs = annot_load_relaxed(&segment->refs);
    while (refs > 0 && refs < REFS_UNMAPPING) {
        /* Partner: the swap to REFS_UNMAPPING in segment_put. */
        if (annot_cas_acq_rel(&segment->refs, &refs, refs + 1))
            return 1;
    }
    return 0;
}

void segment_put(struct segment *segment)
{
    uint32_t refs = annot_load_relaxed(&segment->refs);
    uint32_t next;
    do {
        next = refs == 1 ? (uint32_t)REFS_UNMAPPING : refs - 1;
        /* Partner: segment_get; no reference can be taken at REFS_UNMAPPING. */
    } while (!annot_cas_acq_rel(&segment->refs, &refs, next));
    if (next != REFS_UNMAPPING)
        return;
    munmap(segment->base, segment->size);
    segment->base = NULL;
    /* Partner: descriptor_take. */
    annot_store_release(&segment->refs, 0u);
}

/* Returns the new address of the parent's memory, or NULL. The mask is kept for counting. */
static uint8_t *make_shadow(struct segment *segment)
{
    const struct annot_control control = segment->header->control;
    uint8_t *moved = mremap(segment->base, 0, segment->size, MREMAP_MAYMOVE); /* a second mapping */
    void *base = mmap(segment->base, segment->size, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (base != MAP_FAILED)
        segment->header->control = control;
    segment->refs = 1;
    return moved == MAP_FAILED ? NULL : moved;
}

void segment_forget_all(struct segment *interrupted)
{
    for (int i = 0; i < SEGMENT_LIMIT; i++) {
        if (&segments[i] == interrupted) {
            inherited[i].size = interrupted->size;
            inherited[i].base = make_shadow(interrupted);
            continue;
        }
        if (segments[i].refs == 0) /* the page stays shared with the parent */
            continue;
        if (segments[i].base) {
            inherited[i].base = segments[i].base;
            inherited[i].size = segments[i].size;
        }
        segments[i] = (struct segment){0};
    }
}

void segment_unmap_inherited(void)
{
    for (int i = 0; i < SEGMENT_LIMIT; i++) {
        if (!annot_load_relaxed(&inherited[i].base))
            continue;
        /* Partner: other threads of a new child in this loop. */
        uint8_t *base = __atomic_exchange_n(&inherited[i].base, NULL, __ATOMIC_ACQ_REL);
        if (base)
            munmap(base, inherited[i].size);
    }
}
