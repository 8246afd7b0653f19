/* SPDX-License-Identifier: MIT */
/* Stacks of launches: a probe in each copy of libannot-gpu.so that a program runs.
 *
 * The kernel puts it into all processes that run the file; the BPF program leaves those alone that
 * are not sampled. It is loaded when the first of them is met: most recordings have none. */
#include "bpf_parts.h"

#include "sampler_abi.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

static const char program_name[] = "sampler_launched";

bool bpf_program_is_of_launches(const char *name)
{
    return strcmp(name, program_name) == 0;
}

int bpf_copy_config(const struct sampler_bpf *program, struct bpf_object *object)
{
    size_t size = 0;
    struct bpf_map *from = bpf_object__find_map_by_name(program->objects[0], ".rodata.config");
    struct bpf_map *to = bpf_object__find_map_by_name(object, ".rodata.config");
    const void *told = from ? bpf_map__initial_value(from, &size) : NULL;
    return told && to ? bpf_map__set_initial_value(to, told, size) : -EBADMSG;
}

static int choose_program(struct bpf_object *object)
{
    struct bpf_program *part;
    int rc = 0;

    bpf_object__for_each_program(part, object)
    {
        bool wanted = bpf_program_is_of_launches(bpf_program__name(part));

        if (rc == 0)
            rc = bpf_program__set_autoload(part, wanted);
    }
    return rc;
}

static int load(struct sampler_bpf *program)
{
    struct bpf_object *object = bpf_open_object(program);
    int rc = object ? bpf_copy_config(program, object) : -errno;

    if (rc == 0)
        rc = choose_program(object);
    if (rc == 0)
        rc = bpf_making_share(program, object);
    if (rc == 0)
        rc = bpf_object__load(object);
    if (rc < 0)
        bpf_object__close(object);
    else
        program->launches.object = object;
    return rc;
}

static int attach(struct sampler_bpf *program, const char *path, uint64_t offset)
{
    struct bpf_launches *launches = &program->launches;
    struct bpf_link *link = NULL;
    int rc = launches->object ? 0 : load(program);

    if (rc == 0)
        link = bpf_program__attach_uprobe(
            bpf_object__find_program_by_name(launches->object, program_name), false, -1, path,
            offset);
    if (rc == 0 && !link)
        rc = -errno;
    if (link)
        launches->links[launches->count++] = link;
    return rc;
}

__attribute__((format(printf, 2, 0))) static int keep_quiet(enum libbpf_print_level level,
                                                            const char *format, va_list arguments)
{
    (void)level, (void)format, (void)arguments;
    return 0;
}

int bpf_program_watch_launches(struct sampler_bpf *program, const char *path, uint64_t offset)
{
    libbpf_print_fn_t print;
    int rc;

    if (program->launches.count == BPF_LAUNCHES_MAX)
        return -EMFILE;
    print = libbpf_set_print(keep_quiet);
    rc = attach(program, path, offset);
    libbpf_set_print(print);
    return rc;
}

void bpf_launches_close(struct sampler_bpf *program)
{
    for (size_t i = 0; i < program->launches.count; i++)
        bpf_link__destroy(program->launches.links[i]);
    bpf_object__close(program->launches.object);
    program->launches = (struct bpf_launches){0};
}
