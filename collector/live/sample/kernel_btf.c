/* SPDX-License-Identifier: MIT */
/* One pass over the kernel's types for their offsets; then copies structures by name, with members
 * by value. Every offset and count is checked against the file. */
#include "kernel_btf.h"

#include "bpf_state.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE_MAX_BYTES = 256 << 20, DEPTH_MAX = 16, MODIFIERS_MAX = 32, COPIED_MAX = 1024 };

/* ---- Reading --------------------------------------------------------------------------------- */

/* The size of a type's entry; 0: unknown kind. */
static size_t entry_size(const struct btf_type *type)
{
    size_t count = btf_vlen(type), size = sizeof(*type);

    switch (btf_kind(type)) {
    case BTF_KIND_INT:
    case BTF_KIND_VAR:
    case BTF_KIND_DECL_TAG:
        return size + sizeof(uint32_t);
    case BTF_KIND_ARRAY:
        return size + sizeof(struct btf_array);
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
    case BTF_KIND_DATASEC:
    case BTF_KIND_ENUM64:
        return size + count * 12;
    case BTF_KIND_ENUM:
    case BTF_KIND_FUNC_PROTO:
        return size + count * 8;
    case BTF_KIND_PTR:
    case BTF_KIND_FWD:
    case BTF_KIND_TYPEDEF:
    case BTF_KIND_VOLATILE:
    case BTF_KIND_CONST:
    case BTF_KIND_RESTRICT:
    case BTF_KIND_FUNC:
    case BTF_KIND_FLOAT:
    case BTF_KIND_TYPE_TAG:
        return size;
    }
    return 0;
}

static const struct btf_type *type_at(const struct kernel_btf *kernel, uint32_t id)
{
    if (id == 0 || id > kernel->type_count)
        return NULL;
    return (const struct btf_type *)(const void *)(kernel->types + kernel->places[id]);
}

static const char *name_at(const struct kernel_btf *kernel, uint32_t offset)
{
    return offset < kernel->strings_size ? kernel->strings + offset : "";
}

static int find_places(struct kernel_btf *kernel)
{
    uint32_t at = 0;

    kernel->places =
        malloc((kernel->types_size / sizeof(struct btf_type) + 1) * sizeof(*kernel->places));
    if (!kernel->places)
        return -ENOMEM;
    while (kernel->types_size - at >= sizeof(struct btf_type)) {
        size_t size = entry_size((const struct btf_type *)(const void *)(kernel->types + at));

        if (size == 0 || size > kernel->types_size - at)
            return -EBADMSG;
        kernel->places[++kernel->type_count] = at;
        at += (uint32_t)size;
    }
    return 0;
}

static int find_parts(struct kernel_btf *kernel)
{
    const struct btf_header *header = (const void *)kernel->bytes;
    size_t rest;

    if (kernel->size < sizeof(*header) || header->magic != BTF_MAGIC ||
        header->hdr_len < sizeof(*header) || header->hdr_len > kernel->size ||
        header->hdr_len % 4 || header->type_off % 4)
        return -EBADMSG;
    rest = kernel->size - header->hdr_len;
    if (header->type_off > rest || header->type_len > rest - header->type_off ||
        header->str_off > rest || header->str_len > rest - header->str_off || header->str_len == 0)
        return -EBADMSG;
    kernel->types = kernel->bytes + header->hdr_len + header->type_off;
    kernel->types_size = header->type_len;
    kernel->strings = (const char *)kernel->bytes + header->hdr_len + header->str_off;
    kernel->strings_size = header->str_len;
    return kernel->strings[header->str_len - 1] == '\0' ? find_places(kernel) : -EBADMSG;
}

/* The kernel returns a page at a time. */
static int read_all(struct kernel_btf *kernel, int fd)
{
    size_t got = 0;
    ssize_t part = 1;

    kernel->bytes = kernel->read = malloc(kernel->size);
    if (!kernel->read)
        return -ENOMEM;
    while (part > 0 && got < kernel->size) {
        part = read(fd, kernel->read + got, kernel->size - got);
        got += part > 0 ? (size_t)part : 0;
    }
    kernel->size = got;
    return part < 0 ? -errno : 0;
}

/* Since Linux 6.16 the file can be mapped. */
static int take_all(struct kernel_btf *kernel, int fd)
{
    struct stat status;
    void *mapped;

    if (fstat(fd, &status) < 0)
        return -errno;
    if (status.st_size <= 0 || status.st_size > SIZE_MAX_BYTES)
        return -EBADMSG;
    kernel->size = (size_t)status.st_size;
    mapped = mmap(NULL, kernel->size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped == MAP_FAILED)
        return read_all(kernel, fd);
    kernel->bytes = mapped;
    return 0;
}

int kernel_btf_open(struct kernel_btf *kernel)
{
    int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC);
    int rc;

    *kernel = (struct kernel_btf){0};
    if (fd < 0)
        return -errno;
    rc = take_all(kernel, fd);
    close(fd);
    if (rc == 0)
        rc = find_parts(kernel);
    if (rc < 0)
        kernel_btf_close(kernel);
    return rc;
}

void kernel_btf_close(struct kernel_btf *kernel)
{
    free(kernel->places);
    if (kernel->bytes && !kernel->read)
        munmap((void *)kernel->bytes, kernel->size);
    free(kernel->read);
    *kernel = (struct kernel_btf){0};
}

static bool is_modifier(const struct btf_type *type)
{
    return btf_is_mod(type) || btf_is_typedef(type);
}

uint32_t kernel_btf_find(const struct kernel_btf *kernel, unsigned kind, const char *name)
{
    for (uint32_t id = 1; id <= kernel->type_count; id++) {
        const struct btf_type *type = type_at(kernel, id);

        if (btf_kind(type) == kind && strcmp(name_at(kernel, type->name_off), name) == 0)
            return id;
    }
    return 0;
}

unsigned kernel_btf_arguments(const struct kernel_btf *kernel, const char *typedef_name)
{
    const struct btf_type *type =
        type_at(kernel, kernel_btf_find(kernel, BTF_KIND_TYPEDEF, typedef_name));

    for (int i = 0; i < MODIFIERS_MAX && type && (is_modifier(type) || btf_is_ptr(type)); i++)
        type = type_at(kernel, type->type);
    if (!type || !btf_is_func_proto(type) || btf_vlen(type) == 0)
        return 0;
    return btf_vlen(type) - 1u; /* the first is the kernel's own */
}

/* ---- Reducing -------------------------------------------------------------------------------- */

struct names {
    const char *text[KERNEL_BTF_NAMES_MAX];
    size_t length[KERNEL_BTF_NAMES_MAX];
    size_t count;
};

struct reduction {
    const struct kernel_btf *kernel;
    struct btf *small;
    struct names structs, members;

    struct {
        uint32_t from;
        int to;
    } copied[COPIED_MAX];

    size_t copied_count;
    int number; /* the type of arrays' indexes */
};

static bool has_name(const struct names *names, const char *text)
{
    for (size_t i = 0; i < names->count; i++)
        if (names->text[i][0] == text[0] && strncmp(names->text[i], text, names->length[i]) == 0 &&
            text[names->length[i]] == '\0')
            return true;
    return false;
}

/* The suffix after ___ distinguishes variants of one structure. */
static int add_name(struct names *names, const char *text)
{
    const char *flavor = strstr(text, "___");

    if (!text[0] || has_name(names, text))
        return 0;
    if (names->count == KERNEL_BTF_NAMES_MAX)
        return -E2BIG;
    names->text[names->count] = text;
    names->length[names->count++] = flavor ? (size_t)(flavor - text) : strlen(text);
    return 0;
}

static int add_names(struct reduction *reduction, const struct btf *local)
{
    int rc = 0;

    for (uint32_t id = 1; id < btf__type_cnt(local) && rc == 0; id++) {
        const struct btf_type *type = btf__type_by_id(local, id);
        const struct btf_member *member = btf_members(type);

        if (!btf_is_composite(type))
            continue;
        rc = add_name(&reduction->structs, btf__name_by_offset(local, type->name_off));
        for (int i = 0; i < btf_vlen(type) && rc == 0; i++)
            rc = add_name(&reduction->members, btf__name_by_offset(local, member[i].name_off));
    }
    return rc;
}

static int copy_type(struct reduction *reduction, uint32_t id, int depth);

static bool is_kept(const struct reduction *reduction, const struct btf_member *member)
{
    const char *name = name_at(reduction->kernel, member->name_off);

    return !name[0] || has_name(&reduction->members, name);
}

/* libbpf adds members to the newest type: types of members are made before. */
static int copy_struct(struct reduction *reduction, const struct btf_type *type, int depth)
{
    const struct btf_member *member = btf_members(type);
    const char *name = name_at(reduction->kernel, type->name_off);
    int *types = calloc(btf_vlen(type) + 1u, sizeof(*types));
    int id = types ? 0 : -ENOMEM;

    for (int i = 0; i < btf_vlen(type) && id >= 0; i++)
        if (is_kept(reduction, &member[i]))
            id = types[i] = copy_type(reduction, member[i].type, depth + 1);
    if (id >= 0)
        id = btf_is_union(type) ? btf__add_union(reduction->small, name, type->size)
                                : btf__add_struct(reduction->small, name, type->size);
    for (int i = 0; i < btf_vlen(type) && id >= 0; i++) {
        int rc = types[i] == 0 ? 0
                               : btf__add_field(reduction->small,
                                                name_at(reduction->kernel, member[i].name_off),
                                                types[i], btf_member_bit_offset(type, (uint32_t)i),
                                                btf_member_bitfield_size(type, (uint32_t)i));
        if (rc < 0)
            id = rc;
    }
    free(types);
    return id;
}

static int copy_array(struct reduction *reduction, const struct btf_type *type, int depth)
{
    const struct btf_array *array = btf_array(type);
    int element = copy_type(reduction, array->type, depth + 1);

    if (element <= 0)
        return element;
    return btf__add_array(reduction->small, reduction->number, element, array->nelems);
}

static int copy_kind(struct reduction *reduction, const struct btf_type *type, int depth)
{
    const char *name = name_at(reduction->kernel, type->name_off);

    switch (btf_kind(type)) {
    case BTF_KIND_INT:
        return btf__add_int(reduction->small, name, type->size, btf_int_encoding(type));
    case BTF_KIND_ENUM:
        return btf__add_enum(reduction->small, name, type->size);
    case BTF_KIND_PTR:
        return btf__add_ptr(reduction->small, 0);
    case BTF_KIND_ARRAY:
        return copy_array(reduction, type, depth);
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
        return copy_struct(reduction, type, depth);
    }
    return 0; /* not read by the program */
}

/* The new number of a type, without const and typedef; 0: left out. */
static int copy_type(struct reduction *reduction, uint32_t id, int depth)
{
    const struct btf_type *type = type_at(reduction->kernel, id);
    int to;

    for (int i = 0; i < MODIFIERS_MAX && type && is_modifier(type); i++) {
        id = type->type;
        type = type_at(reduction->kernel, id);
    }
    if (!type)
        return 0;
    for (size_t i = 0; i < reduction->copied_count; i++)
        if (reduction->copied[i].from == id)
            return reduction->copied[i].to;
    to = depth < DEPTH_MAX ? copy_kind(reduction, type, depth) : -ELOOP;
    if (to < 0)
        return to;
    if (reduction->copied_count == COPIED_MAX)
        return -E2BIG;
    reduction->copied[reduction->copied_count].from = id;
    reduction->copied[reduction->copied_count++].to = to;
    return to;
}

static int copy_structs(struct reduction *reduction)
{
    int rc = 0;

    for (uint32_t id = 1; id <= reduction->kernel->type_count && rc >= 0; id++) {
        const struct btf_type *type = type_at(reduction->kernel, id);
        const char *name = name_at(reduction->kernel, type->name_off);

        if (btf_is_composite(type) && name[0] && has_name(&reduction->structs, name))
            rc = copy_type(reduction, id, 0);
    }
    return rc < 0 ? rc : 0;
}

static int write_types(const struct btf *small, int fd)
{
    uint32_t size = 0;
    const void *bytes = btf__raw_data(small, &size);

    if (!bytes)
        return -ENOMEM;
    return write(fd, bytes, size) == (ssize_t)size ? 0 : -EIO;
}

int kernel_btf_reduce(const struct kernel_btf *kernel, const struct btf *local, int fd)
{
    struct reduction *reduction = calloc(1, sizeof(*reduction));
    int rc = reduction ? add_names(reduction, local) : -ENOMEM;

    if (rc == 0) {
        reduction->kernel = kernel;
        reduction->small = btf__new_empty();
        rc = reduction->small ? 0 : -ENOMEM;
    }
    if (rc == 0)
        rc = reduction->number = btf__add_int(reduction->small, "int", 4, BTF_INT_SIGNED);
    if (rc > 0)
        rc = copy_structs(reduction);
    if (rc == 0)
        rc = write_types(reduction->small, fd);
    if (reduction)
        btf__free(reduction->small);
    free(reduction);
    return rc;
}

/* ---- Programs attached to types -------------------------------------------------------------- */

/* libbpf reads the kernel's types for each object with a program of type TRACING,
 * so these have another type until libbpf is about to load them. */

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
