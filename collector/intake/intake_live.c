/* SPDX-License-Identifier: MIT */
/* What the sampler asks of the intake: names of open ranges, which it knows by the ids that the
 * process's libannot gave them.
 *
 * A pid may run several programs, by exec or one process after the other, and each gives out ids
 * of its own. The segment of each is older than its ranges: it is made at the first event, some
 * microseconds before that is complete. So a range is of the newest segment that was made before
 * the time at which it was open. Those of one pid are a list from the newest on. */
#include "intake_private.h"
#include "proc_info.h"

#include <errno.h>

static struct segment_source *newest(const struct intake *intake, int32_t pid)
{
    const uint64_t *found = pid > 0 ? map64_find(&intake->by_pid, (uint64_t)pid) : NULL;
    return found ? (struct segment_source *)(uintptr_t)*found : NULL;
}

int intake_publish_names(struct intake *intake, struct segment_source *source)
{
    struct segment_source *older = newest(intake, source->host_pid), *newer = NULL;
    if (source->host_pid <= 0)
        return 0;
    /* By the trace's clock: its own may be that of a container. */
    source->created_ns = decode_time(&source->drain->decoder, source->segment.info.created_time);
    while (older && older->created_ns > source->created_ns) {
        newer = older;
        older = older->older;
    }
    if (!newer &&
        map64_put(&intake->by_pid, (uint64_t)source->host_pid, (uint64_t)(uintptr_t)source) != 0)
        return -ENOMEM;
    source->older = older;
    source->newer = newer;
    if (older)
        older->newer = source;
    if (newer)
        newer->older = source;
    return 0;
}

/* With it go the older ones, which else would be taken for it; they ended earlier. */
void intake_forget_names(struct intake *intake, struct segment_source *source)
{
    uint64_t ignored;
    if (source->newer)
        source->newer->older = NULL;
    else if (newest(intake, source->host_pid) == source)
        map64_take(&intake->by_pid, (uint64_t)source->host_pid, &ignored);
    while (source) {
        struct segment_source *older = source->older;
        source->older = source->newer = NULL;
        source = older;
    }
}

/* Whether a segment of that process lies there that could not be read yet. Of one in another
 * namespace we do not know which process it is. */
static bool is_unread(const struct intake *intake, int32_t pid)
{
    struct segment_name parsed;
    for (size_t i = 0; i < intake->pending.count; i++) {
        const struct intake_pending *pending = &intake->pending.items[i];
        if (pending->unread && segment_name_parse(pending->name, &parsed) &&
            (parsed.pid == pid || parsed.pid_ns != proc_pid_namespace(0)))
            return true;
    }
    return false;
}

/* Whose ranges were open at that time. 0, -EAGAIN, -ENOENT. */
static int find(const struct intake *intake, int32_t pid, uint64_t time_ns,
                struct segment_source **ret_process)
{
    struct segment_source *source = newest(intake, pid);
    if (time_ns > (uint64_t)intake->searched_ns || is_unread(intake, pid))
        return -EAGAIN;
    while (source && source->created_ns > (int64_t)time_ns)
        source = source->older;
    *ret_process = source;
    return source ? 0 : -ENOENT;
}

int64_t intake_range_name(struct intake *intake, int32_t pid, uint64_t time_ns, uint32_t name_id)
{
    struct segment_source *source;
    int error = find(intake, pid, time_ns, &source);
    if (error)
        return error;
    if (name_id == 0) /* the table had no room for it */
        return 0;
    if (!source->drain)
        return names_known(&source->names, name_id);
    int64_t ordinal = names_by_id(&source->drain->decoder.names, name_id);
    if (ordinal == -EFAULT)
        source->drain->broken = true;
    return ordinal > 0 || ordinal == -ENOMEM ? ordinal : -ENOENT;
}

int64_t intake_range_domain(struct intake *intake, int32_t pid, uint64_t time_ns, uint32_t number)
{
    struct segment_source *source;
    int error = find(intake, pid, time_ns, &source);
    if (error || number > UINT16_MAX)
        return error ? error : -ENOENT;
    int64_t ordinal = source->drain ? names_domain(&source->drain->decoder.names, (uint16_t)number)
                                    : names_known_domain(&source->names, number);
    if (ordinal == -EFAULT)
        source->drain->broken = true;
    return ordinal > 0 || ordinal == -ENOMEM ? ordinal : -ENOENT;
}
