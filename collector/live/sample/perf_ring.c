/* SPDX-License-Identifier: MIT */
/* Opens, drains and orders the rings. A record that wraps around a ring's end is assembled in a
 * buffer. data_head is the kernel's (read with acquire), data_tail ours (released after the bytes
 * were copied). Thread-safety: one thread per object. */
#include "perf_ring.h"

#include "vec.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { RING_PAGES_MAX = 64, RING_PAGES_MIN = 4, RECORD_SIZE_MAX = 1 << 16 };

struct ring {
    int fd;
    struct perf_event_mmap_page *page; /* NULL: this CPU is absent */
    size_t data_size;                  /* a power of two */
};

struct kept_note {
    struct perf_note note;
    size_t text; /* offset in `texts` */
    uint64_t sequence;
};

struct perf_rings {
    struct ring *rings;
    size_t ring_count;
    VEC(struct kept_note) notes;
    size_t taken; /* of notes */
    VEC(char) texts;
    uint64_t sequence, lost;
    uint8_t record[RECORD_SIZE_MAX];
};

static int open_event(int cpu)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_DUMMY,
        .sample_type = PERF_SAMPLE_TIME,
        .sample_id_all = 1,
        .mmap = 1,
        .mmap2 = 1,
        .comm = 1,
        .comm_exec = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .watermark = 1,
        .wakeup_watermark = RING_PAGES_MIN * 4096 / 2,
    };
    long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : (int)fd;
}

/* As large as the limit of locked memory permits. */
static int map_ring(struct ring *ring)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t pages = RING_PAGES_MAX; pages >= RING_PAGES_MIN; pages /= 2) {
        void *at = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
        if (at != MAP_FAILED) {
            ring->page = at;
            ring->data_size = pages * page;
            return 0;
        }
        if (errno != EPERM && errno != ENOMEM)
            break;
    }
    return -errno;
}

static int open_ring(struct ring *ring, int cpu)
{
    ring->fd = open_event(cpu);
    if (ring->fd == -ENODEV) /* the CPU is offline */
        return 0;
    return ring->fd < 0 ? ring->fd : map_ring(ring);
}

int perf_rings_create(struct perf_rings **ret_rings)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    struct perf_rings *rings = calloc(1, sizeof(*rings));
    struct ring *ring = calloc(cpus > 0 ? (size_t)cpus : 1, sizeof(*ring));
    if (!rings || !ring) {
        free(rings);
        free(ring);
        return -ENOMEM;
    }
    rings->rings = ring;
    for (long cpu = 0; cpu < cpus; cpu++) {
        rings->ring_count = (size_t)cpu + 1;
        int error = open_ring(&ring[cpu], (int)cpu);
        if (error) {
            perf_rings_destroy(rings);
            return error;
        }
    }
    *ret_rings = rings;
    return 0;
}

void perf_rings_destroy(struct perf_rings *rings)
{
    if (!rings)
        return;
    for (size_t i = 0; i < rings->ring_count; i++) {
        struct ring *ring = &rings->rings[i];
        if (ring->page)
            munmap(ring->page, ring->data_size + (size_t)sysconf(_SC_PAGESIZE));
        if (ring->fd > 0)
            close(ring->fd);
    }
    free(rings->rings);
    vec_free(&rings->notes);
    vec_free(&rings->texts);
    free(rings);
}

int perf_rings_watch(struct perf_rings *rings, int epoll_fd)
{
    for (size_t i = 0; i < rings->ring_count; i++) {
        struct epoll_event event = {.events = EPOLLIN};
        if (rings->rings[i].page &&
            epoll_ctl(epoll_fd, EPOLL_CTL_ADD, rings->rings[i].fd, &event) != 0)
            return -errno;
    }
    return 0;
}

static int keep(struct perf_rings *rings, const struct perf_note *note)
{
    size_t length = strlen(note->text) + 1;
    struct kept_note kept = {*note, rings->texts.count, rings->sequence++};
    if (vec_reserve(&rings->texts, length) != 0)
        return -ENOMEM;
    memcpy(rings->texts.items + rings->texts.count, note->text, length);
    rings->texts.count += length;
    return vec_push(&rings->notes, kept);
}

static const uint8_t *ring_bytes(struct perf_rings *rings, const struct ring *ring, uint64_t at,
                                 size_t size)
{
    const uint8_t *data = (const uint8_t *)ring->page + ring->page->data_offset;
    size_t offset = (size_t)(at & (ring->data_size - 1)), first = ring->data_size - offset;
    if (size <= first)
        return data + offset;
    memcpy(rings->record, data + offset, first);
    memcpy(rings->record + first, data, size - first);
    return rings->record;
}

static int drain_ring(struct perf_rings *rings, struct ring *ring)
{
    uint64_t tail = ring->page->data_tail;
    uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    int error = 0;
    while (!error && head - tail >= sizeof(struct perf_event_header)) {
        struct perf_event_header header;
        memcpy(&header, ring_bytes(rings, ring, tail, sizeof(header)), sizeof(header));
        if (header.size < sizeof(header) || header.size > head - tail) {
            rings->lost++; /* this record and all after it */
            break;
        }
        struct perf_note note;
        const uint8_t *record = ring_bytes(rings, ring, tail, header.size);
        if (perf_note_parse(record, header.size, &note, &rings->lost))
            error = keep(rings, &note);
        tail += header.size;
    }
    __atomic_store_n(&ring->page->data_tail, error ? tail : head, __ATOMIC_RELEASE);
    return error;
}

static int compare_notes(const void *left, const void *right)
{
    const struct kept_note *a = left, *b = right;
    if (a->note.time_ns != b->note.time_ns)
        return a->note.time_ns < b->note.time_ns ? -1 : 1;
    return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

/* Moves texts of waiting notes to the front: on a busy machine some are always waiting. */
static void drop_texts(struct perf_rings *rings)
{
    size_t first = rings->texts.count;
    for (size_t i = 0; i < rings->notes.count; i++)
        if (rings->notes.items[i].text < first)
            first = rings->notes.items[i].text;
    if (first == 0)
        return;
    rings->texts.count -= first;
    memmove(rings->texts.items, rings->texts.items + first, rings->texts.count);
    for (size_t i = 0; i < rings->notes.count; i++)
        rings->notes.items[i].text -= first;
}

static void drop_taken(struct perf_rings *rings)
{
    if (rings->taken == 0)
        return;
    size_t left = rings->notes.count - rings->taken;
    if (left > 0)
        memmove(rings->notes.items, rings->notes.items + rings->taken,
                left * sizeof(rings->notes.items[0]));
    rings->notes.count = left;
    rings->taken = 0;
    drop_texts(rings);
}

int perf_rings_drain(struct perf_rings *rings)
{
    drop_taken(rings);
    size_t old = rings->notes.count;
    int error = 0;
    for (size_t i = 0; i < rings->ring_count && !error; i++)
        if (rings->rings[i].page)
            error = drain_ring(rings, &rings->rings[i]);
    if (rings->notes.count > old)
        qsort(rings->notes.items, rings->notes.count, sizeof(rings->notes.items[0]), compare_notes);
    return error;
}

const struct perf_note *perf_rings_next(struct perf_rings *rings, uint64_t until_ns)
{
    if (rings->taken == rings->notes.count)
        return NULL;
    struct kept_note *kept = &rings->notes.items[rings->taken];
    if (kept->note.time_ns > until_ns)
        return NULL;
    rings->taken++;
    kept->note.text = rings->texts.items + kept->text;
    return &kept->note;
}

uint64_t perf_rings_take_lost(struct perf_rings *rings)
{
    uint64_t lost = rings->lost;
    rings->lost = 0;
    return lost;
}

/* ---- Notes ---- */

/* Reads one record of a perf ring. Layout: perf_event_open(2), PERF_RECORD_MMAP2, _COMM and _LOST;
 * each ends with the time (sample_id_all with PERF_SAMPLE_TIME alone). The bytes are the kernel's,
 * the paths in them foreign: both are bounded. */

struct mapping_record {
    struct perf_event_header header;
    uint32_t pid, tid;
    uint64_t address, length, offset;
    uint32_t major, minor;
    uint64_t inode, generation;
    uint32_t protection, flags;
};

struct comm_record {
    struct perf_event_header header;
    uint32_t pid, tid;
};

struct lost_record {
    struct perf_event_header header;
    uint64_t id, lost;
};

enum { TIME_SIZE = sizeof(uint64_t) };

/* The text after a record's fixed part, if it ends inside the record. */
static const char *record_text(const uint8_t *record, size_t size, size_t fixed)
{
    if (size < fixed + 1 + TIME_SIZE)
        return NULL;
    const char *text = (const char *)record + fixed;
    return memchr(text, 0, size - fixed - TIME_SIZE) ? text : NULL;
}

static bool parse_mapping(const uint8_t *record, size_t size, struct perf_note *note)
{
    struct mapping_record mapping;
    note->text = record_text(record, size, sizeof(mapping));
    if (!note->text)
        return false;
    memcpy(&mapping, record, sizeof(mapping));
    if (mapping.header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
        return false;
    note->kind = PERF_NOTE_MAPPING;
    note->pid = (int32_t)mapping.pid;
    note->tid = (int32_t)mapping.tid;
    note->begin = mapping.address;
    note->end = mapping.address + mapping.length;
    note->offset = mapping.offset;
    note->major = mapping.major;
    note->minor = mapping.minor;
    note->inode = mapping.inode;
    note->generation = mapping.generation;
    note->protection = mapping.protection;
    return note->end > note->begin;
}

static bool parse_comm(const uint8_t *record, size_t size, struct perf_note *note)
{
    struct comm_record comm;
    note->text = record_text(record, size, sizeof(comm));
    if (!note->text)
        return false;
    memcpy(&comm, record, sizeof(comm));
    note->kind = PERF_NOTE_EXEC;
    note->pid = (int32_t)comm.pid;
    note->tid = (int32_t)comm.tid;
    return (comm.header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
}

bool perf_note_parse(const uint8_t *record, size_t size, struct perf_note *ret_note,
                     uint64_t *ret_lost)
{
    struct perf_event_header header;
    if (size < sizeof(header) + TIME_SIZE)
        return false;
    memcpy(&header, record, sizeof(header));
    *ret_note = (struct perf_note){0};
    memcpy(&ret_note->time_ns, record + size - TIME_SIZE, TIME_SIZE);
    if (header.type == PERF_RECORD_MMAP2)
        return parse_mapping(record, size, ret_note);
    if (header.type == PERF_RECORD_COMM)
        return parse_comm(record, size, ret_note);
    struct lost_record lost;
    if (header.type == PERF_RECORD_LOST && size >= sizeof(lost)) {
        memcpy(&lost, record, sizeof(lost));
        *ret_lost += lost.lost;
    }
    return false;
}
