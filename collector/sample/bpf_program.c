/* SPDX-License-Identifier: MIT */
/* Loads the BPF program, attaches it, takes it down again. */
#include "bpf_private.h"

#include "annot_wire.h"
#include "kernel_btf.h"
#include "kernel_flaw.h"
#include "sampler_config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

_Static_assert(offsetof(struct annot_thread, pid) == LIVE_PID_OFFSET, "pid, tid, depth");
_Static_assert(offsetof(struct annot_thread, tid) == LIVE_PID_OFFSET + 4, "pid, tid, depth");
_Static_assert(offsetof(struct annot_thread, depth) == LIVE_PID_OFFSET + 8, "pid, tid, depth");
_Static_assert(offsetof(struct annot_thread, live) == LIVE_RANGES_OFFSET, "open ranges");
_Static_assert(sizeof(struct annot_open) == LIVE_RANGE_SIZE, "open ranges");
_Static_assert((int)ANNOT_LIVE_DEPTH == (int)LIVE_RANGES, "open ranges");
_Static_assert((int)ANNOT_OPEN_TRACK_OUTERMOST == (int)SAMPLER_MARK_OUTERMOST, "open ranges");
_Static_assert((int)ANNOT_OPEN_TRACK_INNER == (int)SAMPLER_MARK_INNER, "open ranges");

enum {
    RING_DEFAULT_BYTES = 16 << 20,
    RING_MIN_BYTES = 64 << 10,
    RING_MAX_BYTES = 1 << 30,
    RATE_DEFAULT = 500000,
    SWITCHES_MAX = 32768, /* threads off CPU at once */
    LOG_SIZE = 64 << 10,
    ROOT_PID_NAMESPACE = (int)0xeffffffc, /* its inode, of the kernel's ABI */
};

/* libbpf's messages while a program is made, the last LOG_SIZE bytes of them. */
static _Thread_local char *log_text;
static _Thread_local size_t log_size;

__attribute__((format(printf, 2, 0))) static int keep_log(enum libbpf_print_level level,
                                                          const char *format, va_list arguments)
{
    int length;

    if (!log_text || level == LIBBPF_DEBUG)
        return 0;
    if (log_size > LOG_SIZE / 2) {
        memmove(log_text, log_text + log_size - LOG_SIZE / 4, LOG_SIZE / 4);
        log_size = LOG_SIZE / 4;
    }
    length = vsnprintf(log_text + log_size, LOG_SIZE - log_size, format, arguments);
    if (length > 0)
        log_size += (size_t)length < LOG_SIZE - log_size ? (size_t)length : LOG_SIZE - log_size - 1;
    return length;
}

static void tell(char reason[BPF_PROGRAM_REASON_MAX], const char *what, int error)
{
    int length = snprintf(reason, BPF_PROGRAM_REASON_MAX, "%s: %s", what, strerror(-error));
    size_t left = BPF_PROGRAM_REASON_MAX - (size_t)length - 2;
    size_t tail = log_size < left ? log_size : left;

    if (log_text && tail)
        snprintf(reason + length, left + 2, "\n%.*s", (int)tail, log_text + log_size - tail);
}

static uint32_t pid_namespace(void)
{
    struct stat state;

    if (stat("/proc/self/ns/pid", &state) < 0 ||
        (uint32_t)state.st_ino == (uint32_t)ROOT_PID_NAMESPACE)
        return 0;
    return (uint32_t)state.st_ino;
}

bool bpf_program_user_is_unsafe(void)
{
    struct utsname name;

    return uname(&name) == 0 && kernel_flaw_freezes(name.release, name.version);
}

static size_t ring_size(uint32_t bytes)
{
    size_t size = RING_MIN_BYTES;

    if (bytes == 0)
        return RING_DEFAULT_BYTES;
    while (size < bytes && size < RING_MAX_BYTES)
        size *= 2;
    return size;
}

static int configure(struct sampler_bpf *program, const struct bpf_program_options *options,
                     const struct kernel_btf *kernel)
{
    struct bpf_map *map = bpf_object__find_map_by_name(program->object, ".rodata.config");
    size_t size = 0;
    struct sampler_config *config = map ? (void *)bpf_map__initial_value(map, &size) : NULL;

    if (!config || size < sizeof(*config))
        return -EBADMSG;
    *config = (struct sampler_config){
        .threshold_ns = options->off_cpu_threshold_ns,
        .rate_max = options->off_cpu_rate_max ? options->off_cpu_rate_max : RATE_DEFAULT,
        .ring_bytes = ring_size(options->ring_bytes),
        .uid = options->uid,
        .pid_namespace = pid_namespace(),
        .switch_has_state = kernel_btf_arguments(kernel, "btf_trace_sched_switch") >= 4,
        .exit_has_group = kernel_btf_arguments(kernel, "btf_trace_sched_process_exit") >= 2,
        .user_is_unsafe = bpf_program_user_is_unsafe(),
        .check_sleepers = options->check_sleepers,
    };
    return 0;
}

/* Opens the object with a file of the kernel's types that is filled afterwards, by what the object
 * names. */
static int open_object(struct sampler_bpf *program)
{
    LIBBPF_OPTS(bpf_object_open_opts, open);
    char path[64];

    program->types_fd = memfd_create("annot-types", MFD_CLOEXEC);
    if (program->types_fd < 0)
        return -errno;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", program->types_fd);
    open.btf_custom_path = path;
    program->object = bpf_object__open_mem(sampler_bpf_object, sampler_bpf_object_size, &open);
    return program->object ? 0 : -errno;
}

static int read_types(struct sampler_bpf *program, const struct bpf_program_options *options)
{
    struct kernel_btf kernel;
    int rc = kernel_btf_open(&kernel);

    if (rc < 0)
        return rc == -ENOENT ? -ENOTSUP : rc;
    rc = kernel_btf_reduce(&kernel, bpf_object__btf(program->object), program->types_fd);
    if (rc == 0)
        rc = configure(program, options, &kernel);
    kernel_btf_close(&kernel);
    return rc;
}

static int set_sizes(struct sampler_bpf *program, const struct bpf_program_options *options)
{
    const struct {
        const char *map;
        uint32_t entries;
    } sizes[] = {
        {"ring", (uint32_t)ring_size(options->ring_bytes)},
        {"walks", (uint32_t)program->cpu_count * 2},
        {"switches", options->off_cpu ? SWITCHES_MAX : 1},
    };

    static const char *const scheduler[] = {"sampler_switched", "sampler_woken"};
    int rc = 0;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && rc == 0; i++) {
        struct bpf_map *map = bpf_object__find_map_by_name(program->object, sizes[i].map);

        rc = map ? bpf_map__set_max_entries(map, sizes[i].entries) : -EBADMSG;
    }
    for (size_t i = 0; i < sizeof(scheduler) / sizeof(scheduler[0]) && rc == 0; i++) {
        struct bpf_program *part = bpf_object__find_program_by_name(program->object, scheduler[i]);

        rc = part ? bpf_program__set_autoload(part, options->off_cpu) : -EBADMSG;
    }
    return rc;
}

static int attach(struct sampler_bpf *program)
{
    struct bpf_program *part;

    bpf_object__for_each_program(part, program->object)
    {
        struct bpf_link *link;

        if (!bpf_program__autoload(part) || !strchr(bpf_program__section_name(part), '/'))
            continue; /* it is not of a tracepoint */
        if (program->link_count == BPF_LINKS_MAX)
            return -E2BIG;
        link = bpf_program__attach(part);
        if (!link)
            return -errno;
        program->links[program->link_count++] = link;
    }
    return 0;
}

static int create_steps(struct sampler_bpf *program, const struct bpf_program_options *options,
                        char reason[BPF_PROGRAM_REASON_MAX])
{
    const char *what = "cannot read the BPF program";
    int rc = 0, rows;

    program->cpu_count = libbpf_num_possible_cpus();
    rc = open_object(program);
    if (rc == 0 && program->cpu_count < 0)
        rc = program->cpu_count;
    if (rc == 0) {
        what = "cannot make the maps of the BPF program";
        rc = bpf_rows_begin(program);
    }
    if (rc == 0) {
        what = "cannot read the kernel's type information (BTF)";
        rc = read_types(program, options);
    }
    if (rc == 0) {
        what = "cannot load the BPF program";
        rc = set_sizes(program, options);
    }
    if (rc == 0)
        rc = bpf_object__load(program->object);
    rows = bpf_rows_end(program);
    if (rc == 0)
        rc = rows;
    if (rc == 0) {
        what = "cannot map the memory of the BPF program";
        rc = bpf_maps_open(program);
    }
    if (rc == 0)
        rc = bpf_ring_open(&program->ring, program->ring_fd, ring_size(options->ring_bytes));
    if (rc == 0) {
        what = "cannot open perf events for sampling";
        rc = bpf_ticks_open(program, options->frequency_hz);
    }
    if (rc == 0) {
        what = "cannot attach to the scheduler's tracepoints";
        rc = attach(program);
    }
    if (rc < 0)
        tell(reason, what, rc);
    return rc;
}

int bpf_program_create(const struct bpf_program_options *options, struct sampler_bpf **ret_program,
                       char reason[BPF_PROGRAM_REASON_MAX])
{
    struct sampler_bpf *program = calloc(1, sizeof(*program));
    libbpf_print_fn_t print;
    int rc;

    *ret_program = NULL;
    reason[0] = '\0';
    if (!program)
        return -ENOMEM;
    program->rows_fd = program->types_fd = -1;
    log_text = malloc(LOG_SIZE); /* NULL: then without its log */
    log_size = 0;
    print = libbpf_set_print(keep_log);
    rc = create_steps(program, options, reason);
    libbpf_set_print(print);
    free(log_text);
    log_text = NULL;
    if (rc < 0)
        bpf_program_destroy(program);
    else
        *ret_program = program;
    return rc;
}

void bpf_program_destroy(struct sampler_bpf *program)
{
    if (!program)
        return;
    bpf_ticks_close(program);
    for (size_t i = 0; i < program->link_count; i++)
        bpf_link__destroy(program->links[i]);
    bpf_ring_close(&program->ring);
    bpf_maps_close(program);
    bpf_object__close(program->object);
    if (program->types_fd >= 0)
        close(program->types_fd);
    free(program);
}

int bpf_program_fd(const struct sampler_bpf *program)
{
    return program->ring_fd;
}

bool bpf_program_cost(const struct sampler_bpf *program, size_t index,
                      struct bpf_program_cost *ret_cost)
{
    struct bpf_program *part;

    bpf_object__for_each_program(part, program->object)
    {
        struct bpf_prog_info info = {0};
        uint32_t size = sizeof(info);

        if (!bpf_program__autoload(part) || index-- > 0)
            continue;
        if (bpf_obj_get_info_by_fd(bpf_program__fd(part), &info, &size) < 0)
            return false;
        *ret_cost = (struct bpf_program_cost){bpf_program__name(part), info.verified_insns,
                                              info.run_cnt, info.run_time_ns};
        return true;
    }
    return false;
}
