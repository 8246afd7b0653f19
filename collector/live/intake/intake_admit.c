/* SPDX-License-Identifier: MIT */
/* Admits files of the directory as processes of the trace: checks that a segment is of this session
 * and complete, and finds the known process and the parent it belongs to. */
#include "intake_admit.h"

#include "clock_map.h"
#include "clock_now.h"
#include "file_io.h"
#include "intake.h"
#include "proc_info.h"
#include "segment_source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Identity -------------------------------------------------------------------------------- */

/* True if the older segment belongs to the program that runs in the process now. */
static bool same_image(const struct segment_source *older, const struct segment_source *newer)
{
    if (older->segment.info.identity == newer->segment.info.identity)
        return true;
    if (older->who.at_random_address != newer->who.at_random_address)
        return false;
    /* Without address randomisation an exec keeps the address, but not the mapping. */
    return newer->watch.pid <= 0 || older->state != SOURCE_LIVE ||
           proc_has_mapped(newer->watch.pid, older->segment.device, older->segment.inode) != 0;
}

/* Distinguishes the threads of a further segment; the same value after a recovery. */
static uint32_t serial_base(const struct segment_source *source)
{
    uint64_t identity = source->segment.info.identity;
    return source->primary ? 0 : (uint32_t)(((identity ^ identity >> 32) & 0x3ff) | 0x400) << 20;
}

/* The process's entry of the trace from before a recovery, or -1. */
static int64_t find_recorded(const struct intake *intake, const struct segment_source *source)
{
    const struct annot_segment_info *info = &source->segment.info;
    uint32_t count = intake->options.recover ? trace_process_count(intake->options.trace) : 0;
    int64_t other_image = -1;
    for (uint32_t i = 0; i < count; i++) {
        const struct trace_process *entry = trace_process_get(intake->options.trace, i);
        if (entry->ns_pid != info->pid || entry->pid_ns != info->pid_ns)
            continue;
        if (entry->identity == info->identity)
            return i;
        if (entry->end == PROCESS_RUNNING || entry->end == PROCESS_VANISHED)
            other_image = i;
    }
    return other_image;
}

/* Gives the process an ordinal; ends an older image of it. A scan may find the newer one first; the
 * older one then counts as replaced at the next look. 0 or -errno. */
static int identify(struct intake *intake, struct segment_source *source)
{
    const struct relative *known = kin_find(lives_kin(intake->options.lives), &source->who);
    struct segment_source *older = known ? known->source : NULL;
    bool same = older && same_image(older, source);
    if (known && !older) /* only its identity is left */
        same = known->who.identity == source->who.identity ||
               known->who.at_random_address == source->who.at_random_address;
    source->primary = !same;
    if (same)
        source->who.ordinal = known->who.ordinal;
    if (same || !older)
        return 0;
    bool newer = older->segment.info.created_ns > source->segment.info.created_ns;
    return older->state == SOURCE_LIVE && !newer ? intake_replace(intake, older) : 0;
}

/* Adds an entry, or takes the sampler's entry for the same image. In a recovery or snapshot no
 * sampler adds entries. */
static int64_t add_entry(struct intake *intake, struct segment_source *source)
{
    const struct annot_segment_info *info = &source->segment.info;
    if (intake->options.recover)
        return trace_process_add(intake->options.trace);
    int64_t created_ns = info->created_ns < INT64_MAX ? (int64_t)info->created_ns : clock_now_ns();
    int64_t ordinal = lives_claim_process(intake->options.lives, source->host_pid,
                                          info->start_time_ticks, created_ns, &source->image);
    if (source->image)
        source->image->source = source;
    return ordinal;
}

/* Makes its names available by pid and time, and the live words of its threads readable. */
static void serve(struct intake *intake, struct segment_source *source)
{
    struct image *image = source->image;
    if (!image)
        return;
    /* By the trace's clock: the clock in a container may differ. */
    image->served_ns = decode_time(&source->drain->decoder, source->segment.info.created_time);
    image->tls_offset = source->segment.info.tls_offset;
    image->names = &source->drain->decoder.names;
    lives_serve(intake->options.lives, image);
}

static int enter(struct intake *intake, struct segment_source *source)
{
    int error = identify(intake, source);
    if (error != 0 || !source->primary)
        return error;
    int64_t ordinal = find_recorded(intake, source);
    if (ordinal >= 0) {
        struct trace_process *entry = trace_process(intake->options.trace, (uint32_t)ordinal);
        source->primary = entry->identity == source->segment.info.identity;
        source->who.ordinal = (uint32_t)ordinal;
        if (source->primary) {
            source_recount(source, intake->options.trace);
            entry->end = PROCESS_RUNNING;
        }
        return 0;
    }
    ordinal = add_entry(intake, source);
    if (ordinal < 0)
        return (int)ordinal;
    source->who.ordinal = (uint32_t)ordinal;
    return 0;
}

/* ---- Parents --------------------------------------------------------------------------------- */

/* A forked child runs its parent's command; the command line that it read may be its parent's
 * title. */
static void set_parent(struct intake *intake, uint32_t child, uint32_t parent)
{
    struct trace_process *entry = trace_process(intake->options.trace, child);
    uint32_t cmdline = trace_process_get(intake->options.trace, parent)->cmdline;
    entry->parent = (int32_t)parent;
    if (entry->forked && cmdline)
        entry->cmdline = cmdline;
    entry->revision++;
}

static void on_pair(void *context, uint32_t child, uint32_t parent)
{
    set_parent(context, child, parent);
}

/* Adds the process to its relatives: the youngest candidate is its parent, and it may itself be the
 * parent of processes found earlier. 0 or -ENOMEM. */
static int find_family(struct intake *intake, struct segment_source *source)
{
    int64_t place =
        kin_add(lives_kin(intake->options.lives), &source->who, source, on_pair, intake);
    source->relative = place < 0 ? 0 : (uint32_t)place;
    return place < 0 ? (int)place : 0;
}

/* ---- Admission ------------------------------------------------------------------------------- */

/* Resumes threads that the recording has a part of. */
static int resume_threads(struct intake *intake, struct segment_source *source)
{
    uint32_t base = source->drain->serial_base;
    for (size_t i = 0; i < intake->known_count; i++) {
        const struct intake_known *known = &intake->known[i];
        const struct trace_thread *entry =
            trace_thread_get(intake->options.trace, known->resumed.thread.ordinal);
        if (!entry || entry->process != source->who.ordinal || known->serial == 0 ||
            (known->serial >> 20) != (base >> 20))
            continue;
        int error = drain_resume_thread(source->drain, known->serial - base - 1, &known->resumed);
        if (error != 0)
            return error;
    }
    return 0;
}

static void watch(struct intake *intake, struct segment_source *source)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};
    const struct annot_segment_info *info = &source->segment.info;
    process_watch_open(&source->watch,
                       &(struct process_watched){info->pid, info->pid_ns, info->start_time_ticks});
    bool ours = info->pid_ns == 0 || info->pid_ns == proc_pid_namespace(0);
    source->host_pid = source->watch.pid > 0 ? source->watch.pid : ours ? info->pid : 0;
    if (source->watch.pidfd >= 0)
        epoll_ctl(intake->epoll_fd, EPOLL_CTL_ADD, source->watch.pidfd, &event);
}

static int start_drain(struct intake *intake, struct segment_source *source)
{
    source->drain = drain_create(&source->segment, intake->options.trace, intake->options.clock,
                                 source->who.ordinal);
    if (!source->drain)
        return -ENOMEM;
    source->drain->sink = intake->options.sink;
    source->drain->samples = intake->options.samples;
    source->drain->samples_context = intake->options.samples_context;
    source->drain->counted = intake->options.counted;
    source->drain->room = intake->options.room;
    source->drain->sink_context = intake->options.sink_context;
    source->drain->lives = intake->options.recover ? NULL : intake->options.lives;
    source->drain->decoder.lives = source->drain->lives;
    source->drain->serial_base = serial_base(source);
    source->drain->decoder.recover = intake->options.recover;
    source->drain->decoder.names.pid = source->host_pid;
    source->drain->decoder.names.function = intake->options.function;
    source->drain->decoder.names.function_context = intake->options.function_context;
    if (source->drain->decoder.monotonic && intake->options.late_ns != 0)
        (void)segment_set_late(&source->segment, (uint64_t)intake->options.late_ns);
    return resume_threads(intake, source);
}

static int count_fact(struct trace *trace, const char *fact)
{
    int error =
        fact ? trace_fact_set(trace, FACT_COUNT, fact, trace_fact_value(trace, fact) + 1) : 0;
    return error == -ENOMEM ? error : 0;
}

/* Records the policies in force, and the number of buffers smaller than requested: only limits make
 * the table of strings smaller. */
static int note_buffer(struct intake *intake, const struct annot_segment_info *info)
{
    struct trace *trace = intake->options.trace;
    const char *fact = info->policy == ANNOT_POLICY_OVERWRITE_OLDEST ? TRACE_FACT_OVERWRITE
                       : info->policy == ANNOT_POLICY_WAIT           ? TRACE_FACT_WAIT
                                                                     : NULL;
    int error = count_fact(trace, fact);
    if (error == 0 && info->strings_size < ANNOT_STRINGS_SIZE_DEFAULT)
        error = count_fact(trace, TRACE_FACT_SMALL);
    return error;
}

/* Admits a complete segment of this session. Takes over the process in any case. */
static int admit(struct intake *intake, struct segment_source *source)
{
    const struct annot_segment_info *info = &source->segment.info;
    source->who = (struct who){.identity = info->identity,
                               .parent_identity = info->parent_identity,
                               .start_ticks = info->start_time_ticks,
                               .at_random_address = info->at_random_address,
                               .pid_ns = info->pid_ns,
                               .pid = info->pid,
                               .ppid = info->ppid};
    watch(intake, source);
    if (intake->options.recover)
        clock_map_offer(intake->options.clock,
                        (struct clock_anchor){info->created_time, (int64_t)info->created_ns});
    int error = enter(intake, source);
    if (error == 0)
        error = start_drain(intake, source);
    if (error == 0 && source->primary)
        error = source_describe(source, intake->options.trace, intake->options.clock);
    if (error == 0 && source->primary)
        error = note_buffer(intake, info);
    if (error == 0)
        error = vec_reserve(&intake->sources, 1);
    if (error == 0)
        error = find_family(intake, source);
    if (error != 0) {
        source_destroy(source);
        return error;
    }
    intake->sources.items[intake->sources.count++] = source;
    if (source->primary)
        serve(intake, source);
    return 0;
}

/* A file in one of the directories. */
struct found {
    struct intake *intake;
    const struct directory *directory;
};

static bool is_known(const struct found *found, const char *name, ino_t inode)
{
    const struct intake *intake = found->intake;
    for (size_t i = 0; i < intake->sources.count; i++) {
        const struct segment_source *source = intake->sources.items[i];
        if (source->directory == found->directory && source->segment.inode == inode &&
            strcmp(source->segment.name, name) == 0)
            return true;
    }
    return false;
}

static struct intake_pending pending_name(const struct found *found, const char *name, bool unread)
{
    struct intake_pending pending = {.directory = found->directory, .unread = unread};
    memcpy(pending.name, name, strlen(name));
    return pending;
}

/* True for an incomplete file of a dead maker: it is empty. */
static bool is_abandoned(const char *name)
{
    struct segment_name parsed;
    struct proc_stat stat;
    return segment_name_parse(name, &parsed) && parsed.pid_ns == proc_pid_namespace(0) &&
           proc_stat(parsed.pid, &stat) == -ESRCH;
}

void intake_remove_junk(struct intake *intake)
{
    for (size_t i = 0; i < intake->junk.count; i++) {
        const struct intake_pending *junk = &intake->junk.items[i];
        if (is_abandoned(junk->name))
            unlinkat(junk->directory->fd, junk->name, 0);
    }
    intake->junk.count = 0;
}

/* Notes an unreadable segment of another major version of libannot. */
static int note_version(struct intake *intake, const char *name)
{
    struct segment_name parsed;
    struct proc_stat stat = {0};
    if (!intake->options.refusals || !segment_name_parse(name, &parsed))
        return 0;
    if (proc_stat(parsed.pid, &stat) != 0)
        stat.comm[0] = 0;
    struct annot_refusal_slot slot = {.pid = parsed.pid, .refusal = ANNOT_REFUSAL_VERSION};
    memcpy(slot.comm, stat.comm, sizeof(slot.comm));
    return refusals_note(intake->options.refusals, &slot);
}

static bool is_ours(const struct intake *intake, const struct annot_segment_info *info)
{
    const struct intake_options *options = &intake->options;
    if (info->session_id != options->session_id)
        return false;
    return !options->snapshot || (info->policy == ANNOT_POLICY_OVERWRITE_OLDEST &&
                                  (options->only_pid == 0 || info->pid == options->only_pid));
}

/* Opens and admits a file. 0 or -errno; an unusable file is no error. */
static int try_segment(const struct found *found, const char *name)
{
    struct stat status;
    struct intake *intake = found->intake;
    int directory_fd = found->directory->fd;
    if (fstatat(directory_fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        is_known(found, name, status.st_ino))
        return 0;
    if (intake->sources.count >= INTAKE_PROCESSES_MAX) /* until others have ended */
        return vec_push(&intake->pending, pending_name(found, name, true));
    struct segment_source *source = calloc(1, sizeof(*source));
    if (!source)
        return -ENOMEM;
    source->watch.pidfd = -1;
    source->directory = found->directory;
    int error = segment_open(directory_fd, name, &source->segment);
    bool abandoned = error == -EAGAIN && is_abandoned(name);
    if (abandoned) /* it may have been completed before its maker died */
        error = segment_open(directory_fd, name, &source->segment);
    if (error == 0 && is_ours(intake, &source->segment.info))
        return admit(intake, source);
    if (error == 0)
        segment_close(&source->segment);
    free(source);
    if (intake->options.snapshot)
        return error == -ENOMEM ? error : 0;
    if (error == -EAGAIN && abandoned)
        unlinkat(directory_fd, name, 0);
    else if (error == -EAGAIN || error == -EMFILE || error == -ENFILE)
        return vec_push(&intake->pending, pending_name(found, name, error != -EAGAIN));
    if (error == -EBADMSG && intake->junk.count < INTAKE_JUNK_MAX)
        return vec_push(&intake->junk, pending_name(found, name, false));
    if (error == -EPROTONOSUPPORT)
        return note_version(intake, name);
    return error == -ENOMEM ? error : 0;
}

static int on_name(void *context, const char *name)
{
    struct segment_name parsed;
    return segment_name_parse(name, &parsed) ? try_segment(context, name) : 0;
}

int intake_note_search(struct intake *intake, int64_t until_ns)
{
    struct segment_name parsed;
    intake->unread.count = 0;
    for (size_t i = 0; i < intake->pending.count; i++) {
        const struct intake_pending *pending = &intake->pending.items[i];
        if (!pending->unread || !segment_name_parse(pending->name, &parsed))
            continue;
        /* The pid of a process in another namespace is unknown here. */
        int32_t pid = parsed.pid_ns == proc_pid_namespace(0) ? parsed.pid : 0;
        if (vec_push(&intake->unread, pid) != 0)
            return -ENOMEM;
    }
    return lives_note_search(intake->options.lives, until_ns, intake->unread.items,
                             intake->unread.count);
}

/* Reads new names in all directories; *ret_told_ns: all names that existed by then are reported. */
static int poll_directories(struct intake *intake, int64_t *ret_told_ns)
{
    int error = 0;
    *ret_told_ns = INT64_MAX;
    for (size_t i = 0; i < intake->discovers.count && error == 0; i++) {
        struct discover *discover = intake->discovers.items[i];
        struct found found = {intake, discover->directory};
        error = discover_poll(discover, on_name, &found);
        if (discover->told_ns < *ret_told_ns)
            *ret_told_ns = discover->told_ns;
    }
    return error;
}

int intake_discover(struct intake *intake)
{
    size_t count = intake->pending.count;
    int64_t begin_ns = clock_now_ns(), told_ns = 0;
    int error = 0;
    for (size_t i = 0; i < count && error == 0; i++) {
        struct intake_pending pending = intake->pending.items[i];
        struct found found = {intake, pending.directory};
        error = try_segment(&found, pending.name);
    }
    for (size_t i = count; i < intake->pending.count; i++)
        intake->pending.items[i - count] = intake->pending.items[i];
    intake->pending.count -= count;
    if (error == 0)
        error = poll_directories(intake, &told_ns);
    if (error == 0 && told_ns >= begin_ns)
        intake->searched_ns = begin_ns;
    return error != 0 ? error : intake_note_search(intake, intake->searched_ns);
}

/* ---- Names in the directory ------------------------------------------------------------------ */

/* inotify, with a scan of the directory at first and after an overflow of its queue; scans only if
 * there is no inotify. */

#define SCAN_NS INT64_C(5000000)

int discover_open(struct discover *discover, const struct directory *directory)
{
    char path[64];
    *discover = (struct discover){.fd = -1, .rescan = true, .directory = directory};
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd < 0)
        return errno == EMFILE || errno == ENOSYS ? 0 : -errno;
    /* By descriptor, so that it is the directory that was checked. */
    snprintf(path, sizeof(path), "/proc/self/fd/%d", directory->fd);
    discover->watch = inotify_add_watch(fd, path, IN_CREATE | IN_MOVED_TO);
    if (discover->watch < 0) {
        int error = -errno;
        close(fd);
        return error == -ENOSPC ? 0 : error;
    }
    discover->fd = fd;
    return 0;
}

void discover_stop(struct discover *discover)
{
    if (discover->fd >= 0)
        inotify_rm_watch(discover->fd, discover->watch);
}

void discover_close(struct discover *discover)
{
    if (discover->fd >= 0)
        close(discover->fd);
    discover->fd = -1;
}

static int scan(const struct discover *discover, int (*call)(void *context, const char *name),
                void *context)
{
    int result = 0;
    DIR *stream = file_list_folder(discover->directory->fd);
    if (!stream)
        return -errno;
    for (const struct dirent *entry; result == 0 && (entry = readdir(stream));)
        result = call(context, entry->d_name);
    closedir(stream);
    return result;
}

int discover_poll(struct discover *discover, int (*call)(void *context, const char *name),
                  void *context)
{
    char buffer[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
    int64_t begin_ns = clock_now_ns();
    int result = 0;
    if (discover->fd < 0 && clock_now_ns() >= discover->next_scan_ns) {
        discover->rescan = true;
        discover->next_scan_ns = clock_now_ns() + SCAN_NS;
    }
    for (ssize_t size; result == 0 && discover->fd >= 0 &&
                       (size = read(discover->fd, buffer, sizeof(buffer))) > 0;) {
        const struct inotify_event *event;
        for (char *at = buffer; result == 0 && at < buffer + size;
             at += sizeof(*event) + event->len) {
            event = (const struct inotify_event *)at;
            if (event->mask & IN_Q_OVERFLOW)
                discover->rescan = true;
            else if (event->len > 0)
                result = call(context, event->name);
        }
    }
    bool complete = discover->fd >= 0 || discover->rescan;
    if (result == 0 && discover->rescan) {
        discover->rescan = false;
        result = scan(discover, call, context);
    }
    if (result == 0 && complete)
        discover->told_ns = begin_ns;
    return result;
}
