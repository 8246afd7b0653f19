/* SPDX-License-Identifier: MIT */
/* Loads the iterator, reads it once, unloads it. */
#include "bpf_registers.h"

#include "bpf_state.h"
#include "kernel_btf.h"

#include "proc_info.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* The compiled program: generated from bpf/registers.bpf.c. */
extern const unsigned char registers_bpf_object[];
extern const size_t registers_bpf_object_size;

struct reading {
    struct bpf_object *object;
    struct bpf_link *link;
    struct bpf_typed typed;
    int types_fd, fd;
};

static int be_silent(enum libbpf_print_level level, const char *format, va_list arguments)
{
    (void)level, (void)format, (void)arguments;
    return 0;
}

static int configure(struct bpf_object *object, int32_t pid)
{
    struct bpf_map *map = bpf_object__find_map_by_name(object, ".rodata.config");
    size_t size = 0;
    struct registers_config *config = map ? (void *)bpf_map__initial_value(map, &size) : NULL;
    if (!config || size < sizeof(*config))
        return -EBADMSG;
    *config = (struct registers_config){.pid = pid,
                                        .pid_namespace = (uint32_t)proc_pid_namespace(getpid())};
    return 0;
}

static int open_object(struct reading *reading)
{
    LIBBPF_OPTS(bpf_object_open_opts, options);
    char path[64];
    int error = bpf_typed_register();
    if (error != 0)
        return error;
    reading->types_fd = memfd_create("annot-types", MFD_CLOEXEC);
    if (reading->types_fd < 0)
        return -errno;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", reading->types_fd);
    options.btf_custom_path = path;
    reading->object =
        bpf_object__open_mem(registers_bpf_object, registers_bpf_object_size, &options);
    return reading->object ? 0 : -errno;
}

static int read_types(struct reading *reading)
{
    struct kernel_btf kernel;
    int error = kernel_btf_open(&kernel);
    if (error != 0)
        return error;
    error = kernel_btf_reduce(&kernel, bpf_object__btf(reading->object), reading->types_fd);
    if (error == 0)
        error = bpf_typed_find(&reading->typed, &kernel, reading->object);
    kernel_btf_close(&kernel);
    return error;
}

static int load(struct reading *reading, int32_t pid)
{
    int error = open_object(reading);
    if (error == 0)
        error = configure(reading->object, pid);
    if (error == 0)
        error = read_types(reading);
    if (error == 0)
        error = bpf_typed_load(&reading->typed, reading->object);
    if (error != 0)
        return error;
    struct bpf_program *program =
        bpf_object__find_program_by_name(reading->object, "registers_emit");
    reading->link = program ? bpf_typed_attach(program) : NULL;
    if (!reading->link)
        return program ? -errno : -EBADMSG;
    reading->fd = bpf_iter_create(bpf_link__fd(reading->link));
    return reading->fd < 0 ? -errno : 0;
}

/* A read returns whole threads, possibly fewer than fit. */
static int read_all(int fd, struct bpf_registers *registers)
{
    VEC(struct thread_registers) threads = {0};
    struct thread_registers some[64];
    ssize_t got;
    int error = 0;
    while (error == 0 && (got = read(fd, some, sizeof(some))) > 0)
        for (size_t i = 0; i < (size_t)got / sizeof(some[0]) && error == 0; i++)
            error = vec_push(&threads, some[i]);
    if (error == 0 && got < 0)
        error = -errno;
    registers->threads = threads.items;
    registers->count = threads.count;
    return error;
}

int bpf_registers_read(int32_t pid, struct bpf_registers *ret_registers)
{
    struct reading reading = {.types_fd = -1, .fd = -1};
    libbpf_print_fn_t before = libbpf_set_print(be_silent);
    *ret_registers = (struct bpf_registers){0};
    int error = load(&reading, pid);
    if (error == 0)
        error = read_all(reading.fd, ret_registers);
    if (reading.fd >= 0)
        close(reading.fd);
    bpf_link__destroy(reading.link);
    bpf_object__close(reading.object);
    if (reading.types_fd >= 0)
        close(reading.types_fd);
    libbpf_set_print(before);
    return error;
}
