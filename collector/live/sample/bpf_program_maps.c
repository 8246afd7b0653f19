/* SPDX-License-Identifier: MIT */
/* Makes the maps of the BPF program, and gives access to them. */
#include "bpf_program_maps.h"

#include "bpf_state.h"
#include "clock_now.h"
#include "sampler_abi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t round_up(size_t size, size_t unit)
{
    return (size + unit - 1) / unit * unit;
}

/* The kernel aligns the values of an array to 8 bytes. */
int bpf_area_open(struct bpf_area *area, int fd, size_t value_size, size_t count)
{
    size_t stride = round_up(value_size, 8);
    size_t size = round_up(stride * count, (size_t)sysconf(_SC_PAGESIZE));
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (bytes == MAP_FAILED)
        return -errno;
    *area = (struct bpf_area){bytes, size, stride};
    return 0;
}

void bpf_area_close(struct bpf_area *area)
{
    if (area->bytes)
        munmap(area->bytes, area->size);
    area->bytes = NULL;
}

static int map_fd(const struct sampler_bpf *program, const char *name)
{
    return bpf_object__find_map_fd_by_name(program->objects[0], name);
}

/* An older kernel does not support it, and has not loaded its program. */
static int find_namer(struct sampler_bpf *program)
{
    struct bpf_program *part =
        bpf_object__find_program_by_name(program->objects[0], "sampler_named");

    program->name_fd = part && bpf_program__autoload(part) ? bpf_program__fd(part) : -1;
    return bpf_area_open(&program->name, map_fd(program, ".bss.name"), KERNEL_NAME_MAX, 1);
}

int bpf_maps_open(struct sampler_bpf *program)
{
    int rc;

    program->processes_fd = map_fd(program, "processes");
    program->counters_fd = map_fd(program, "failures");
    program->switches_fd = map_fd(program, "switches");
    program->ring_fd = map_fd(program, "ring");
    program->seen_fd = map_fd(program, "seen");
    rc = bpf_area_open(&program->mappings, map_fd(program, "mappings"),
                       sizeof(struct sampler_mapping), SAMPLER_MAPPINGS_MAX);
    if (rc == 0)
        rc = bpf_area_open(&program->rules, map_fd(program, "rules"), sizeof(struct unwind_rule),
                           SAMPLER_RULES_MAX);
    if (rc == 0)
        rc = bpf_area_open(&program->stop, map_fd(program, ".bss.stop"),
                           sizeof(struct sampler_control), 1);
    if (rc == 0)
        rc = bpf_area_open(&program->pythons, map_fd(program, "pythons"),
                           sizeof(struct python_offsets), SAMPLER_PYTHONS_MAX);
    if (rc == 0)
        rc = find_namer(program);
    return rc;
}

void bpf_maps_close(struct sampler_bpf *program)
{
    bpf_area_close(&program->mappings);
    bpf_area_close(&program->rules);
    bpf_area_close(&program->pythons);
    bpf_area_close(&program->stop);
    bpf_area_close(&program->name);
    if (program->rows_fd >= 0)
        close(program->rows_fd);
    for (size_t i = 0; i < SAMPLER_SEGMENTS_MAX; i++)
        bpf_area_close(&program->segments[i]);
}

int bpf_program_set_process(struct sampler_bpf *program, int32_t pid,
                            const struct sampler_process *process, bool exist)
{
    int rc = bpf_map_update_elem(program->processes_fd, &pid, process, exist ? BPF_EXIST : BPF_ANY);

    return rc < 0 ? -errno : 0;
}

int bpf_program_get_process(struct sampler_bpf *program, int32_t pid,
                            struct sampler_process *ret_process)
{
    return bpf_map_lookup_elem(program->processes_fd, &pid, ret_process) < 0 ? -errno : 0;
}

int bpf_program_remove_process(struct sampler_bpf *program, int32_t pid)
{
    return bpf_map_delete_elem(program->processes_fd, &pid) < 0 ? -errno : 0;
}

struct sampler_mapping *bpf_program_mappings(struct sampler_bpf *program)
{
    return (struct sampler_mapping *)(void *)program->mappings.bytes;
}

struct unwind_rule *bpf_program_rule(struct sampler_bpf *program, uint32_t index)
{
    if (index >= SAMPLER_RULES_MAX)
        return NULL;
    return (struct unwind_rule *)(void *)(program->rules.bytes + index * program->rules.stride);
}

struct python_offsets *bpf_program_python(struct sampler_bpf *program, uint32_t index)
{
    if (index >= SAMPLER_PYTHONS_MAX)
        return NULL;
    return (struct python_offsets *)(void *)(program->pythons.bytes +
                                             index * program->pythons.stride);
}

/* Makes and maps a segment; returns its descriptor. */
static int make_segment(struct bpf_area *area)
{
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
    int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "annot_rows", sizeof(uint32_t),
                            sizeof(struct unwind_row), SAMPLER_SEGMENT_ROWS, &options);
    int rc;

    if (fd < 0)
        return -errno;
    rc = bpf_area_open(area, fd, sizeof(struct unwind_row), SAMPLER_SEGMENT_ROWS);
    if (rc < 0)
        close(fd);
    return rc < 0 ? rc : fd;
}

int bpf_rows_publish(struct sampler_bpf *program, uint32_t index, int fd)
{
    int rc = bpf_map_update_elem(program->rows_fd, &index, &fd, BPF_ANY) < 0 ? -errno : 0;

    close(fd); /* held by the map of maps and by our mapping */
    return rc;
}

static bool is_published(const struct sampler_bpf *program, uint32_t index)
{
    uint32_t id;

    return bpf_map_lookup_elem(program->rows_fd, &index, &id) == 0;
}

int bpf_rows_make(struct sampler_bpf *program, int *ret_fd)
{
    int fd = make_segment(&program->segments[0]);
    LIBBPF_OPTS(bpf_map_create_opts, options, .inner_map_fd = (uint32_t)fd);

    if (fd < 0)
        return fd;
    program->rows_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "rows", sizeof(uint32_t),
                                      sizeof(uint32_t), SAMPLER_SEGMENTS_MAX, &options);
    if (program->rows_fd < 0) {
        int rc = -errno;

        close(fd);
        return rc;
    }
    *ret_fd = fd;
    return program->rows_fd;
}

int bpf_program_row_segment(struct sampler_bpf *program, uint32_t index,
                            struct unwind_row **ret_rows)
{
    int rc = 0;

    if (index >= SAMPLER_SEGMENTS_MAX)
        return -ERANGE;
    if (!program->segments[index].bytes) {
        rc = make_segment(&program->segments[index]);
        if (rc >= 0)
            rc = bpf_rows_publish(program, index, rc);
        if (rc < 0)
            bpf_area_close(&program->segments[index]);
    }
    if (rc == 0)
        *ret_rows = (struct unwind_row *)(void *)program->segments[index].bytes;
    return rc;
}

/* Since Linux 7 a program at a tracepoint may be preempted by another thread, and the kernel does
 * not run it again on that CPU meanwhile. */
static uint64_t count_skipped(const struct sampler_bpf *program)
{
    static const char *const names[] = {"sampler_forked", "sampler_executed", "sampler_exited"};
    uint64_t skipped = 0;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct bpf_program *part =
            bpf_object__find_program_by_name(program->objects[0], names[i]);
        struct bpf_prog_info info = {0};
        uint32_t size = sizeof(info);

        if (part && bpf_obj_get_info_by_fd(bpf_program__fd(part), &info, &size) == 0)
            skipped += info.recursion_misses;
    }
    return skipped;
}

int bpf_program_counters(struct sampler_bpf *program, uint64_t ret_counters[SAMPLER_COUNTERS])
{
    size_t count = (size_t)program->cpu_count * SAMPLER_COUNTERS;
    uint64_t *values = calloc(count, sizeof(*values));
    uint32_t zero = 0;
    int rc = values ? 0 : -ENOMEM;

    memset(ret_counters, 0, SAMPLER_COUNTERS * sizeof(*ret_counters));
    if (values && bpf_map_lookup_elem(program->counters_fd, &zero, values) < 0)
        rc = -errno;
    for (size_t i = 0; i < count && rc == 0; i++)
        ret_counters[i % SAMPLER_COUNTERS] += values[i];
    ret_counters[SAMPLER_LOSS_SKIPPED] += count_skipped(program);
    ret_counters[SAMPLER_LOSS_MALFORMED] += program->ring.damaged;
    free(values);
    return rc;
}

int bpf_program_kernel_name(struct sampler_bpf *program, uint64_t address, char *ret_name,
                            size_t size)
{
    LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &address, .ctx_size_in = sizeof(address));
    const char *text = (const char *)program->name.bytes;
    size_t length;

    if (program->name_fd < 0)
        return -EOPNOTSUPP;
    if (bpf_prog_test_run_opts(program->name_fd, &run) < 0)
        return -errno;
    length = strcspn(text, " "); /* "name [module]", always ends */
    if (length == 0 || length >= size || strncmp(text, "0x", 2) == 0)
        return -ENOENT;
    memcpy(ret_name, text, length);
    ret_name[length] = '\0';
    return 0;
}

void bpf_program_forget_part(struct sampler_bpf *program, uint64_t hash)
{
    (void)bpf_map_delete_elem(program->seen_fd, &hash); /* or it was already deleted */
}

/* Adds the last short wait of a running thread, which the kernel would add when it leaves. */
static void add_short(struct sampler_switch *stretch)
{
    struct sampler_short_waits *waits = &stretch->unreported;
    uint64_t begin = stretch->head.time_ns, end = stretch->end_ns, ready = end;

    if (stretch->flags & SAMPLER_PREEMPTED)
        ready = begin;
    else if (stretch->wake_ns)
        ready = stretch->wake_ns < end ? stretch->wake_ns : end;
    if (end < begin || ready < begin)
        return;
    if (waits->count++ == 0)
        *waits = (struct sampler_short_waits){.begin_ns = begin, .count = 1};
    waits->blocked_ns += ready - begin;
    waits->runnable_ns += end - ready;
}

/* Reports a thread's unreported short waits, then its unfinished stretch. The thread may have run
 * for long since the last wait, so the interval for spreading evenly ends with that wait. */
static int take_unreported(const struct sampler_bpf *program, struct sampler_switch *stretch,
                           bpf_program_take take, void *context)
{
    bool off = stretch->head.kind == SAMPLER_SWITCH;
    uint64_t now = (uint64_t)clock_now_ns();
    struct sampler_short record = {.head = stretch->head};
    int rc = 0;

    if (!off && stretch->flags & SAMPLER_ADDS)
        add_short(stretch);
    record.waits = stretch->unreported;
    record.head.kind = SAMPLER_SHORT;
    record.head.size = sizeof(record);
    record.head.time_ns = record.waits.begin_ns;
    record.end_ns = off ? stretch->head.time_ns : stretch->end_ns;
    if (record.waits.count)
        rc = take(context, &record.head);
    if (!(stretch->flags & SAMPLER_RETURNING)) {
        stretch->end_ns = now;
        stretch->flags |= SAMPLER_STILL_OFF;
    }
    if (rc == 0 && off && stretch->end_ns - stretch->head.time_ns >= program->threshold_ns)
        rc = take(context, &stretch->head);
    return rc;
}

int bpf_program_still_off(struct sampler_bpf *program, bpf_program_take take, void *context)
{
    struct sampler_switch stretch;
    uint32_t key, *last = NULL;
    int rc = 0;

    while (rc == 0 && bpf_map_get_next_key(program->switches_fd, last, &key) == 0) {
        last = &key;
        if (bpf_map_lookup_elem(program->switches_fd, &key, &stretch) == 0)
            rc = take_unreported(program, &stretch, take, context);
    }
    return rc;
}

/* ---- Making them ----------------------------------------------------------------------------- */

/* Makes the maps of the BPF program on two threads, while the caller reads the kernel's types.
 *
 * Half of the time for maps is clearing their memory in the kernel. Each thread takes the next map
 * until all are made; libbpf, which receives them afterwards, is used by one thread only. */

enum { PUBLISHED_US = 100 }; /* interval of checks for it at the end */

/* libbpf makes the maps of constants, as it writes their contents. */
static bool is_ours(const struct bpf_map *map)
{
    const char *name = bpf_map__name(map);

    return !strstr(name, ".rodata") && !strstr(name, ".data") && strcmp(name, BPF_CALLS_MAP) != 0;
}

static int make_map(struct sampler_bpf *program, const struct bpf_map *map)
{
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = bpf_map__map_flags(map));
    int fd;

    if (bpf_map__type(map) == BPF_MAP_TYPE_ARRAY_OF_MAPS)
        return bpf_rows_make(program, &program->making.publish_fd);
    fd = bpf_map_create(bpf_map__type(map), bpf_map__name(map), bpf_map__key_size(map),
                        bpf_map__value_size(map), bpf_map__max_entries(map), &options);
    return fd < 0 ? -errno : fd;
}

static void work(struct sampler_bpf *program)
{
    struct bpf_making *making = &program->making;
    uint64_t begin = (uint64_t)clock_now_ns();
    size_t index;

    while ((index = atomic_fetch_add(&making->next, 1)) < making->count) {
        int fd = make_map(program, making->maps[index]);

        pthread_mutex_lock(&making->lock);
        making->fds[index] = fd;
        if (fd < 0 && making->error == 0)
            making->error = fd;
        making->done++;
        pthread_cond_broadcast(&making->changed);
        pthread_mutex_unlock(&making->lock);
    }
    atomic_fetch_add(&making->all_ns, (uint64_t)clock_now_ns() - begin);
}

static void wait_for_all(struct bpf_making *making)
{
    pthread_mutex_lock(&making->lock);
    while (making->done < making->count)
        pthread_cond_wait(&making->changed, &making->lock);
    pthread_mutex_unlock(&making->lock);
}

static void publish(struct sampler_bpf *program)
{
    if (program->making.publish_fd >= 0)
        program->making.publish_error = bpf_rows_publish(program, 0, program->making.publish_fd);
    program->making.publish_fd = -1;
}

static void *help(void *context)
{
    struct sampler_bpf *program = context;

    work(program);
    wait_for_all(&program->making); /* the other thread may have made the map that is published */
    publish(program);
    atomic_store(&program->making.published, true);
    return NULL;
}

int bpf_making_begin(struct sampler_bpf *program)
{
    struct bpf_making *making = &program->making;
    struct bpf_map *map;

    bpf_object__for_each_map(map, program->objects[0])
    {
        if (!is_ours(map))
            continue;
        if (making->count == BPF_MAPS_MAX)
            return -E2BIG;
        making->maps[making->count++] = map;
    }
    making->publish_fd = -1;
    pthread_mutex_init(&making->lock, NULL);
    pthread_cond_init(&making->changed, NULL);
    making->began = true;
    making->helped = pthread_create(&making->helper, NULL, help, program) == 0;
    return 0;
}

/* libbpf duplicates the descriptors; that of the row memory is used later. */
static void hand_over(struct sampler_bpf *program)
{
    struct bpf_making *making = &program->making;

    for (size_t i = 0; i < making->count; i++) {
        int fd = making->fds[i];
        int rc = making->error == 0 ? bpf_map__reuse_fd(making->maps[i], fd) : 0;

        if (fd >= 0 && fd != program->rows_fd)
            close(fd);
        if (rc < 0 && making->error == 0)
            making->error = rc;
    }
}

int bpf_making_join(struct sampler_bpf *program)
{
    struct bpf_making *making = &program->making;

    work(program);
    wait_for_all(making);
    making->joined = true;
    hand_over(program);
    return making->error;
}

int bpf_making_end(struct sampler_bpf *program)
{
    struct bpf_making *making = &program->making;

    if (!making->began)
        return 0;
    if (!making->joined)
        bpf_making_join(program);
    if (!making->helped)
        publish(program);
    while (making->helped && !atomic_load(&making->published)) {
        if (making->error == 0 && is_published(program, 0))
            return 0;
        usleep(PUBLISHED_US);
    }
    return making->publish_error;
}

void bpf_making_close(struct sampler_bpf *program)
{
    struct bpf_making *making = &program->making;

    if (!making->began)
        return;
    if (making->helped)
        pthread_join(making->helper, NULL);
    pthread_cond_destroy(&making->changed);
    pthread_mutex_destroy(&making->lock);
    making->began = false;
}

int bpf_making_share(const struct sampler_bpf *program, struct bpf_object *object)
{
    struct bpf_map *map, *same = NULL;
    int rc = 0;

    bpf_object__for_each_map(map, program->objects[0])
    {
        same = bpf_object__next_map(object, same);
        if (rc == 0 && is_ours(map))
            rc = same ? bpf_map__reuse_fd(same, bpf_map__fd(map)) : -EBADMSG;
    }
    return rc;
}
