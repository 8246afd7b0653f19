/* SPDX-License-Identifier: MIT */
/* Reads names of the directory, one segment, its thread records. The thread goes on while its
 * record is read: depth is read before and after, and must be the same. Thread-safety: one
 * thread. */

#include "look.h"

#include "file_io.h"
#include "proc_info.h"
#include "stacks.h"
#include "target.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

enum { TRIES = 100 };

/* Opens a segment; one that the process does not map belongs to an earlier image. */
static void try_segment(struct look_ranges *ranges, int32_t pid, const char *name)
{
    struct segment segment;
    if (segment_open(ranges->directory.fd, name, &segment) != 0)
        return;
    if (proc_has_mapped(pid, segment.device, segment.inode) == 0) {
        segment_close(&segment);
        return;
    }
    bool newer = !ranges->open || segment.info.created_ns > ranges->segment.info.created_ns;
    if (newer && ranges->open)
        segment_close(&ranges->segment);
    if (newer)
        ranges->segment = segment;
    else
        segment_close(&segment);
    ranges->open = true;
}

/* Opens the directory in which the process meets collectors; fails without libannot. */
static int open_directory(int32_t pid, struct directory *directory)
{
    struct target target;
    int error = target_look(pid, &target);
    if (error == 0 && target.state != TARGET_READY)
        error = -ENOENT;
    return error == 0 ? target_open_directory(&target, directory) : error;
}

void look_ranges_open(struct look_ranges *ranges, int32_t pid, struct trace *trace)
{
    struct dirent *entry;
    *ranges = (struct look_ranges){.directory.fd = -1, .trace = trace};
    int32_t inside = proc_pid_inside(pid);
    uint64_t space = proc_pid_namespace(pid);
    if (open_directory(pid, &ranges->directory) != 0)
        return;
    DIR *directory = file_list_folder(ranges->directory.fd);
    while (directory && (entry = readdir(directory))) {
        struct segment_name name;
        if (segment_name_parse(entry->d_name, &name) && name.pid == (inside ? inside : pid) &&
            (space == 0 || name.pid_ns == space))
            try_segment(ranges, pid, entry->d_name);
    }
    if (directory)
        closedir(directory);
    if (ranges->open && names_init(&ranges->names, &ranges->segment, trace) != 0) {
        segment_close(&ranges->segment);
        ranges->open = false;
    }
}

void look_ranges_close(struct look_ranges *ranges)
{
    names_fini(&ranges->names);
    if (ranges->open)
        segment_close(&ranges->segment);
    if (ranges->directory.fd >= 0)
        directory_remove_unused(&ranges->directory);
    directory_close(&ranges->directory);
}

int64_t look_ranges_process_name(struct look_ranges *ranges)
{
    struct annot_shared shared;
    if (!ranges->open || segment_read_shared(&ranges->segment, &shared) != 0 ||
        shared.process_name == 0)
        return -ENOENT;
    int64_t name = names_by_id(&ranges->names, shared.process_name);
    return name > 0 ? name : -ENOENT;
}

static uint32_t path_of(struct look_ranges *ranges, const struct annot_thread *thread)
{
    uint32_t depth = thread->depth, path = 0;
    uint32_t first = depth > ANNOT_LIVE_DEPTH ? depth - ANNOT_LIVE_DEPTH : 0;
    for (uint32_t i = first; i < depth; i++) {
        int64_t name = names_by_id(&ranges->names, thread->live[i % ANNOT_LIVE_DEPTH].name);
        int64_t next =
            name <= 0 ? -ENOENT : stacks_path(trace_stacks(ranges->trace), path, (uint32_t)name);
        path = next < 0 ? path : (uint32_t)next;
    }
    return path;
}

uint32_t look_ranges_path(struct look_ranges *ranges, int32_t ns_tid)
{
    struct annot_thread thread, again;
    if (!ranges->open)
        return 0;
    for (uint32_t i = 0; i < ranges->segment.info.thread_count; i++) {
        if (segment_read_live(&ranges->segment, i, &thread) != 1 || thread.tid != ns_tid ||
            thread.pid != ranges->segment.info.pid)
            continue;
        for (int attempt = 0; attempt < TRIES; attempt++) {
            if (segment_read_live(&ranges->segment, i, &again) == 1 &&
                memcmp(&thread, &again, sizeof(thread)) == 0)
                return path_of(ranges, &thread); /* it did not change while it was read */
            thread = again;
        }
        return 0;
    }
    return 0;
}
