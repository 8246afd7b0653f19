/* SPDX-License-Identifier: MIT */
/* Reads one record of a perf ring. Layout: perf_event_open(2), PERF_RECORD_MMAP2, _COMM and _LOST;
 * the time stands behind each (sample_id_all with PERF_SAMPLE_TIME alone). The bytes are the
 * kernel's, the paths in them anyone's: bounded all the same. Thread-safety: pure. */
#include "perf_ring.h"

#include <linux/perf_event.h>
#include <string.h>

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

/* The text behind a record's fixed part, if it ends inside the record. */
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
