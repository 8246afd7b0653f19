/* SPDX-License-Identifier: MIT */
/* Maps and checks segments, and does the guarded accesses. Work functions that run under the guard
 * only load, store and copy; see guard.h. */
#include "segment_reader.h"

#include "annot_barrier.h"
#include "file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PUSH_TRIES = 100000 };

/* ---- Names and mapping ---- */

/* Parses one field of the name up to `stop`; NULL if missing. */
static const char *parse_field(const char *text, int base, char stop, uint64_t *ret_value)
{
    char *end;
    if (*text == '-' || *text == '+' || *text == ' ' || *text == stop)
        return NULL;
    errno = 0;
    *ret_value = strtoull(text, &end, base);
    return errno == 0 && *end == stop ? end + 1 : NULL;
}

bool segment_name_parse(const char *name, struct segment_name *ret_parsed)
{
    uint64_t pid;
    size_t length = strlen(name);
    if (length >= SEGMENT_NAME_SIZE)
        return false;
    const char *at = parse_field(name, 10, '-', &pid);
    at = at ? parse_field(at, 16, '-', &ret_parsed->pid_ns) : NULL;
    at = at ? parse_field(at, 16, '.', &ret_parsed->identity) : NULL;
    if (!at || strcmp(at - 1, ANNOT_SEGMENT_SUFFIX) != 0 || pid == 0 || pid > INT32_MAX)
        return false;
    ret_parsed->pid = (int32_t)pid;
    return true;
}

int segment_open(int directory_fd, const char *name, struct segment *ret_segment)
{
    struct segment_name parsed;
    struct stat status = {0}, directory = {0};
    if (!segment_name_parse(name, &parsed))
        return -EBADMSG;
    int fd = file_open_regular(directory_fd, name, O_RDWR | O_NOFOLLOW, &status);
    if (fd < 0)
        return fd;
    int error = fstat(directory_fd, &directory) != 0 ? -errno : 0;
    if (error == 0 && status.st_uid != directory.st_uid)
        error = -EPERM;
    if (error == 0 && (uint64_t)status.st_size > ANNOT_SEGMENT_MAX_BYTES)
        error = -EBADMSG;
    if (error == 0 && status.st_size < ANNOT_PAGE_SIZE)
        error = -EAGAIN;
    void *address = MAP_FAILED;
    if (error == 0) {
        address = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        error = address == MAP_FAILED ? -errno : 0;
    }
    close(fd);
    if (error != 0)
        return error;
    *ret_segment = (struct segment){.device = status.st_dev, .inode = status.st_ino};
    snprintf(ret_segment->name, sizeof(ret_segment->name), "%s", name);
    error = segment_attach(ret_segment, address, (size_t)status.st_size);
    if (error == 0 &&
        (ret_segment->info.pid != parsed.pid || ret_segment->info.pid_ns != parsed.pid_ns ||
         ret_segment->info.identity != parsed.identity))
        error = -EBADMSG;
    if (error != 0)
        munmap(address, (size_t)status.st_size);
    return error;
}

void segment_close(struct segment *segment)
{
    if (segment->range.address)
        munmap((void *)segment->range.address, segment->range.size);
    segment->range = (struct guard_range){0};
}

/* ---- Geometry ---- */

struct area {
    uint64_t offset, size, alignment;
};

static bool areas_are_apart(const struct area *areas, size_t count, uint64_t total)
{
    for (size_t i = 0; i < count; i++) {
        const struct area *a = &areas[i];
        if (a->offset < sizeof(struct annot_segment) || a->offset % a->alignment != 0 ||
            a->size > total || a->offset > total - a->size)
            return false;
        for (size_t j = 0; j < i; j++)
            if (a->offset < areas[j].offset + areas[j].size &&
                areas[j].offset < a->offset + a->size)
                return false;
    }
    return true;
}

static int check_info(const struct annot_segment_info *info, size_t size)
{
    if (info->magic == 0)
        return -EAGAIN;
    if (!ANNOT_MAGIC_IS_LIKE(info->magic, ANNOT_SEGMENT_MAGIC))
        return -EBADMSG;
    if (info->magic != ANNOT_SEGMENT_MAGIC || info->major != ANNOT_WIRE_MAJOR)
        return -EPROTONOSUPPORT;
    if (info->block_count == 0 || info->block_count > ANNOT_BLOCK_COUNT_MAX ||
        info->thread_count == 0 || info->thread_count > ANNOT_THREAD_COUNT_MAX ||
        info->total_size > size || info->pid <= 0 || info->clock > ANNOT_CLOCK_CNTVCT ||
        info->cmdline_size > sizeof(info->cmdline))
        return -EBADMSG;
    uint64_t blocks = info->block_count;
    const struct area areas[] = {
        {info->threads_offset, info->thread_count * sizeof(struct annot_thread), 64},
        {info->strings_offset, info->strings_size, ANNOT_STRING_UNIT},
        {info->block_states_offset, blocks * sizeof(uint32_t), sizeof(uint32_t)},
        {info->block_nexts_offset, blocks * sizeof(uint32_t), sizeof(uint32_t)},
        {info->blocks_offset, blocks * ANNOT_BLOCK_SIZE, 64},
    };
    if (!areas_are_apart(areas, sizeof(areas) / sizeof(areas[0]), info->total_size))
        return -EBADMSG;
    return 0;
}

struct attach {
    const struct annot_segment *shared;
    struct annot_segment_info info;
};

static int attach_work(void *context)
{
    struct attach *attach = context;
    /* Partner: the creator's release store of magic, after the rest of info. */
    uint64_t magic = annot_load_acquire(&attach->shared->info.magic);
    attach->info = attach->shared->info;
    attach->info.magic = magic;
    return 0;
}

int segment_attach(struct segment *segment, void *address, size_t size)
{
    if (size < sizeof(struct annot_segment))
        return -EAGAIN;
    struct attach attach = {.shared = address};
    segment->range = (struct guard_range){address, size};
    int error = guard_call(&segment->range, attach_work, &attach);
    if (error != 0)
        return error;
    segment->info = attach.info;
    return check_info(&segment->info, size);
}

/* ---- Places ---- */

static void *at(const struct segment *segment, uint64_t offset)
{
    return (char *)segment->range.address + offset;
}

static struct annot_segment *first_page(const struct segment *segment)
{
    return at(segment, 0);
}

static uint32_t *block_state(const struct segment *segment, uint32_t index)
{
    return (uint32_t *)at(segment, segment->info.block_states_offset) + index;
}

static uint32_t *block_next(const struct segment *segment, uint32_t index)
{
    return (uint32_t *)at(segment, segment->info.block_nexts_offset) + index;
}

static struct annot_block *block(const struct segment *segment, uint32_t index)
{
    return at(segment, segment->info.blocks_offset + (uint64_t)index * ANNOT_BLOCK_SIZE);
}

static struct annot_thread *thread(const struct segment *segment, uint32_t index)
{
    return (struct annot_thread *)at(segment, segment->info.threads_offset) + index;
}

/* ---- Blocks ---- */

struct scan {
    const struct segment *segment;
    struct segment_block *blocks; /* room for block_count */
    size_t count;
    enum segment_states states;
};

static int scan_work(void *context)
{
    struct scan *scan = context;
    const struct segment *segment = scan->segment;
    /* A hint: the next scan sees a block claimed after this load. */
    uint32_t end = annot_load_relaxed(&first_page(segment)->shared.high_water);
    if (end > segment->info.block_count)
        end = segment->info.block_count;
    for (uint32_t i = 0; i < end; i++) {
        /* Partner: the thread's release stores of these states. */
        uint32_t word = annot_load_acquire(block_state(segment, i));
        uint32_t state = word & ANNOT_BLOCK_STATE_MASK;
        if (state > ANNOT_BLOCK_SUMS_DONE || !(scan->states >> state & 1u))
            continue;
        const struct annot_block *header = block(segment, i);
        scan->blocks[scan->count++] = (struct segment_block){i,
                                                             state,
                                                             header->thread_serial,
                                                             header->sequence,
                                                             annot_load_relaxed(&header->committed),
                                                             word & ANNOT_BLOCK_TAG_MASK};
    }
    return 0;
}

int segment_scan(const struct segment *segment, enum segment_states states, segment_blocks *blocks)
{
    if (vec_reserve(blocks, segment->info.block_count) != 0)
        return -ENOMEM;
    struct scan scan = {segment, blocks->items + blocks->count, 0, states};
    int error = guard_call(&segment->range, scan_work, &scan);
    if (error == 0)
        blocks->count += scan.count;
    return error;
}

struct copy {
    const struct annot_block *from;
    struct segment_block_copy *to;
    uint32_t begin, end;
};

static int copy_work(void *context)
{
    struct copy *copy = context;
    /* Partner: the thread's release store of committed, after the record. */
    copy->end = annot_load_acquire(&copy->from->committed);
    if (copy->end > ANNOT_BLOCK_DATA_SIZE || copy->end % ANNOT_GRANULE != 0 ||
        copy->end < copy->begin)
        return -EBADMSG;
    copy->to->header = *copy->from;
    memcpy(copy->to->records + copy->begin,
           (const uint8_t *)copy->from + ANNOT_BLOCK_HEADER_SIZE + copy->begin,
           copy->end - copy->begin);
    return 0;
}

int segment_copy_block(const struct segment *segment, uint32_t index, uint32_t begin,
                       struct segment_block_copy *ret_copy)
{
    struct copy copy = {block(segment, index), ret_copy, begin, 0};
    int error = guard_call(&segment->range, copy_work, &copy);
    return error != 0 ? error : (int)copy.end;
}

struct header {
    const struct annot_block *from;
    struct annot_block *to;
};

static int header_work(void *context)
{
    const struct header *header = context;
    *header->to = *header->from;
    return 0;
}

int segment_read_header(const struct segment *segment, uint32_t index,
                        struct annot_block *ret_header)
{
    struct header header = {block(segment, index), ret_header};
    return guard_call(&segment->range, header_work, &header);
}

struct seen {
    const struct segment *segment;
    const struct segment_block *block;
};

static int is_same_work(void *context)
{
    const struct seen *seen = context;
    annot_fence_acquire(); /* partner: the fence in overwrite_claim, before the block is filled */
    uint32_t word = annot_load_relaxed(block_state(seen->segment, seen->block->index));
    return (word & ANNOT_BLOCK_STATE_MASK) != ANNOT_BLOCK_FREE &&
           (word & ANNOT_BLOCK_TAG_MASK) == seen->block->tag;
}

int segment_block_is_same(const struct segment *segment, const struct segment_block *seen)
{
    struct seen work = {segment, seen};
    return guard_call(&segment->range, is_same_work, &work);
}

struct free_list {
    const struct segment *segment;
    const uint32_t *indexes;
    size_t count;
};

static void set_free(const struct segment *segment, uint32_t index)
{
    uint32_t *state = block_state(segment, index);
    uint32_t bits = annot_load_relaxed(state) & ~(uint32_t)ANNOT_BLOCK_STATE_MASK;
    /* Only this thread changes a RELEASED or SUMS_DONE block. A claimer sees this through
     * free_head. */
    annot_store_release(state, bits | ANNOT_BLOCK_FREE);
}

static int free_work(void *context)
{
    const struct free_list *list = context;
    for (size_t i = 0; i < list->count; i++) {
        set_free(list->segment, list->indexes[i]);
        if (i > 0)
            annot_store_relaxed(block_next(list->segment, list->indexes[i]),
                                list->indexes[i - 1] + 1);
    }
    uint32_t bottom = list->indexes[0], top = list->indexes[list->count - 1];
    uint64_t *free_head = &first_page(list->segment)->shared.free_head;
    uint64_t head = annot_load_acquire(free_head);
    for (int i = 0; i < PUSH_TRIES; i++) {
        annot_store_relaxed(block_next(list->segment, bottom), (uint32_t)head);
        uint64_t tag = (head >> 32) + 1;
        /* Partner: the claimer's acquire load and compare-and-swap of free_head. */
        if (annot_cas_acq_rel(free_head, &head, tag << 32 | (top + 1)))
            return 0;
    }
    return -EBADMSG;
}

int segment_free_blocks(const struct segment *segment, const uint32_t *indexes, size_t count)
{
    if (count == 0)
        return 0;
    struct free_list list = {segment, indexes, count};
    return guard_call(&segment->range, free_work, &list);
}

/* ---- Threads, counters, strings ---- */

struct thread_copy {
    struct annot_thread *from, *to;
    size_t size;
};

static int copy_thread_work(void *context)
{
    const struct thread_copy *copy = context;
    int32_t tid = annot_load_acquire(&copy->from->tid); /* partner: its store when all is filled */
    uint32_t serial = annot_load_relaxed(&copy->from->serial);
    memcpy(copy->to, copy->from, copy->size);
    annot_fence_acquire(); /* partner: the fence after the owner's tid = 0 */
    return tid != 0 && tid == annot_load_relaxed(&copy->from->tid) &&
           serial == annot_load_relaxed(&copy->from->serial) && copy->to->tid == tid;
}

int segment_read_thread(const struct segment *segment, uint32_t index,
                        struct annot_thread *ret_thread)
{
    struct thread_copy copy = {thread(segment, index), ret_thread,
                               offsetof(struct annot_thread, live)};
    return guard_call(&segment->range, copy_thread_work, &copy);
}

int segment_read_live(const struct segment *segment, uint32_t index,
                      struct annot_thread *ret_thread)
{
    struct thread_copy copy = {thread(segment, index), ret_thread, sizeof(*ret_thread)};
    return guard_call(&segment->range, copy_thread_work, &copy);
}

int segment_read_shared(const struct segment *segment, struct annot_shared *ret_shared)
{
    return guard_copy(&segment->range, ret_shared, &first_page(segment)->shared,
                      sizeof(*ret_shared));
}

int segment_read_queues(const struct segment *segment, uint64_t ret_counts[ANNOT_QUEUE_COUNTS])
{
    return guard_copy(&segment->range, ret_counts, &first_page(segment)->queues,
                      sizeof(first_page(segment)->queues));
}

struct note_copy {
    const struct annot_note *from;
    struct annot_note *to;
};

static int note_work(void *context)
{
    const struct note_copy *copy = context;
    /* Partner: the release store of 2 when all is written. */
    if (annot_load_acquire(&copy->from->state) != 2)
        return 0;
    memcpy(copy->to, copy->from, sizeof(*copy->to));
    return 1;
}

int segment_read_note(const struct segment *segment, struct annot_note *ret_note)
{
    struct note_copy copy = {&first_page(segment)->note, ret_note};
    return guard_call(&segment->range, note_work, &copy);
}

struct control_store {
    uint64_t *to;
    uint64_t value;
};

static int control_work(void *context)
{
    const struct control_store *store = context;
    annot_store_relaxed(store->to, store->value); /* a hint; without ordering */
    return 0;
}

int segment_heartbeat(const struct segment *segment, uint64_t time)
{
    struct control_store store = {&first_page(segment)->control.heartbeat, time};
    return guard_call(&segment->range, control_work, &store);
}

int segment_set_late(const struct segment *segment, uint64_t ticks)
{
    struct control_store store = {&first_page(segment)->control.late_ticks, ticks};
    return guard_call(&segment->range, control_work, &store);
}

int segment_set_wishes(const struct segment *segment, uint32_t wishes)
{
    struct control_store store = {&first_page(segment)->control.wishes, wishes};
    return guard_call(&segment->range, control_work, &store);
}

struct masks_store {
    struct annot_control *control;
    const struct annot_filter_masks *masks;
};

static int masks_work(void *context)
{
    const struct masks_store *store = context;
    /* Partner: the load in filter_numbers, before it decides to leave the masks alone. */
    annot_store_release(&store->control->is_filtered, (uint64_t)(store->masks != NULL));
    /* Partner: the loads of each event, in any order. Bits of unknown numbers stay as the process
     * set them: it knew its numbers before it published them. */
    for (int level = 0; level < ANNOT_LEVELS; level++) {
        uint64_t *mask = &store->control->category_mask[level];
        uint64_t wanted = store->masks ? store->masks->wanted[level] : UINT64_MAX;
        uint64_t used = store->masks ? store->masks->used : UINT64_MAX;
        annot_fetch_or_release(mask, wanted);
        annot_fetch_and_release(mask, ~(used & ~wanted));
    }
    return 0;
}

int segment_set_masks(const struct segment *segment, const struct annot_filter_masks *masks)
{
    struct masks_store store = {&first_page(segment)->control, masks};
    return guard_call(&segment->range, masks_work, &store);
}

struct word_load {
    const uint32_t *from;
    uint32_t *to;
};

static int word_work(void *context)
{
    const struct word_load *load = context;
    *load->to = annot_load_acquire(load->from); /* partner: raise_used of the program */
    return 0;
}

int segment_strings_used(const struct segment *segment, uint32_t *ret_used)
{
    struct word_load load = {&first_page(segment)->shared.string_used, ret_used};
    return guard_call(&segment->range, word_work, &load);
}

struct mask_string {
    struct annot_string *string;
    bool is_masked;
};

static int mask_work(void *context)
{
    const struct mask_string *mask = context;
    /* Only the collector changes a flag of a published string. */
    uint8_t flags = annot_load_relaxed(&mask->string->flags) & (uint8_t)~ANNOT_STRING_MASKED;
    /* Partner: the loads of each call, in any order. */
    annot_store_relaxed(&mask->string->flags,
                        (uint8_t)(flags | (mask->is_masked ? ANNOT_STRING_MASKED : 0)));
    return 0;
}

int segment_mask_string(const struct segment *segment, uint32_t id, bool is_masked)
{
    uint64_t offset = (uint64_t)id * ANNOT_STRING_UNIT;
    if (id == 0 || offset + sizeof(struct annot_string) > segment->info.strings_size)
        return -EBADMSG;
    struct mask_string mask = {at(segment, segment->info.strings_offset + offset), is_masked};
    return guard_call(&segment->range, mask_work, &mask);
}

struct string_read {
    const struct annot_string *from;
    struct annot_string *to;
    char *bytes;
    uint64_t room; /* bytes from the entry to the end of the table */
};

static int string_work(void *context)
{
    const struct string_read *read = context;
    /* Partner: the interning thread's release store of ready. */
    if (annot_load_acquire(&read->from->ready) != 1)
        return 0;
    *read->to = *read->from;
    size_t length = read->to->length;
    if (length > ANNOT_STRING_MAX || length > read->room - sizeof(struct annot_string))
        return -EBADMSG;
    memcpy(read->bytes, read->from + 1, length);
    return 1;
}

int segment_read_string(const struct segment *segment, uint32_t id, struct annot_string *ret_string,
                        char *bytes)
{
    uint64_t offset = (uint64_t)id * ANNOT_STRING_UNIT;
    if (id == 0 || offset + sizeof(struct annot_string) > segment->info.strings_size)
        return -EBADMSG;
    struct string_read read = {at(segment, segment->info.strings_offset + offset), ret_string,
                               bytes, segment->info.strings_size - offset};
    return guard_call(&segment->range, string_work, &read);
}
