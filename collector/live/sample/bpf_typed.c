/* SPDX-License-Identifier: MIT */
/* See bpf_typed.h. libbpf reads the kernel's types for each object with a program of type TRACING,
 * so these have another type until libbpf is about to load them. */
#include "bpf_typed.h"

#include "bpf_state.h"
#include "kernel_btf.h"

#include <bpf/btf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static _Thread_local const struct bpf_typed *loading; /* the types of the object being loaded */

static int give_type(struct bpf_program *program, struct bpf_prog_load_opts *options, long cookie)
{
    (void)cookie;
    for (size_t i = 0; loading && i < loading->count; i++) {
        if (loading->entries[i].program != program)
            continue;
        options->attach_btf_id = loading->entries[i].type;
        return bpf_program__set_type(program, BPF_PROG_TYPE_TRACING);
    }
    return -ESRCH;
}

static int register_error;

static void register_sections(void)
{
    LIBBPF_OPTS(libbpf_prog_handler_opts, options, .prog_prepare_load_fn = give_type);
    int rc = libbpf_register_prog_handler("tp_btf+", BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_TRACE_RAW_TP,
                                          &options);

    if (rc >= 0)
        rc = libbpf_register_prog_handler("iter+", BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_TRACE_ITER,
                                          &options);
    register_error = rc < 0 ? rc : 0;
}

int bpf_typed_register(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, register_sections);
    return register_error;
}

/* Returns the id of the type that a section names, 0 without a name, or -ESRCH. */
static int64_t type_of(const struct kernel_btf *kernel, const char *section)
{
    static const struct {
        const char *section, *prefix;
        unsigned kind;
    } kinds[] = {{"tp_btf/", "btf_trace_", BTF_KIND_TYPEDEF},
                 {"iter/", "bpf_iter_", BTF_KIND_FUNC}};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        size_t length = strlen(kinds[i].section);
        char name[128];
        uint32_t type;

        if (strncmp(section, kinds[i].section, length) != 0)
            continue;
        snprintf(name, sizeof(name), "%s%s", kinds[i].prefix, section + length);
        type = kernel_btf_find(kernel, kinds[i].kind, name);
        return type ? (int64_t)type : -ESRCH;
    }
    return 0;
}

int bpf_typed_find(struct bpf_typed *typed, const struct kernel_btf *kernel,
                   const struct bpf_object *object)
{
    struct bpf_program *program;

    bpf_object__for_each_program(program, object)
    {
        int64_t type = bpf_program__autoload(program)
                           ? type_of(kernel, bpf_program__section_name(program))
                           : 0;

        if (type < 0)
            return (int)type;
        if (type == 0)
            continue;
        if (typed->count == BPF_TYPED_MAX)
            return -E2BIG;
        typed->entries[typed->count].program = program;
        typed->entries[typed->count++].type = (uint32_t)type;
    }
    return 0;
}

int bpf_typed_load(const struct bpf_typed *typed, struct bpf_object *object)
{
    int rc;

    loading = typed;
    rc = bpf_object__load(object);
    loading = NULL;
    return rc;
}

struct bpf_link *bpf_typed_attach(const struct bpf_program *program)
{
    if (bpf_program__type(program) != BPF_PROG_TYPE_TRACING)
        return bpf_program__attach(program);
    if (bpf_program__expected_attach_type(program) == BPF_TRACE_ITER)
        return bpf_program__attach_iter(program, NULL);
    return bpf_program__attach_trace(program);
}
