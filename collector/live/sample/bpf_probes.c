/* SPDX-License-Identifier: MIT */
/* Loads the programs that run at functions, and attaches them to their places. All places of a
 * function are one link (uprobe_multi, Linux 6.6), attached and detached as one; earlier kernels
 * have a perf event for each place. */
#include "bpf_probes.h"

#include "bpf_program.h"
#include "bpf_program_maps.h"
#include "bpf_state.h"
#include "sampler_abi.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of Linux 6.6, and possibly missing in the headers of the build. */
enum { DROP_THREADS = 32 };

enum { ATTACH_UPROBE_MULTI = 48, UPROBE_MULTI_RETURN = 1 };

struct link_create {
    uint32_t program_fd, target_fd, attach_type, flags;

    struct {
        uint64_t path, offsets, references, cookies;
        uint32_t count, flags, pid;
    } multi;
};

/* Copies constants from the sampler's own object. 0 or -errno. */
static int copy_config(const struct sampler_bpf *program, struct bpf_object *object)
{
    size_t size = 0;
    struct bpf_map *from = bpf_object__find_map_by_name(program->objects[0], ".rodata.config");
    struct bpf_map *to = bpf_object__find_map_by_name(object, ".rodata.config");
    const void *value = from ? bpf_map__initial_value(from, &size) : NULL;
    return value && to ? bpf_map__set_initial_value(to, value, size) : -EBADMSG;
}

static const char *const shared_maps[] = {"ring", "processes", "failures"};

static bool is_shared(const char *name)
{
    for (size_t i = 0; i < sizeof(shared_maps) / sizeof(shared_maps[0]); i++)
        if (strcmp(name, shared_maps[i]) == 0)
            return true;
    return false;
}

static bool is_own(const char *name)
{
    return strncmp(name, "probe_", 6) == 0 || strchr(name, '.') != NULL;
}

/* Shares ring, processes and counters with the sampler; leaves out the other maps of its header. */
static int choose_maps(const struct sampler_bpf *program, struct bpf_object *object)
{
    struct bpf_map *map;
    int rc = 0;

    bpf_object__for_each_map(map, object)
    {
        const char *name = bpf_map__name(map);

        if (rc < 0)
            break;
        if (is_shared(name))
            rc = bpf_map__reuse_fd(map, bpf_object__find_map_fd_by_name(program->objects[0], name));
        else if (!is_own(name))
            rc = bpf_map__set_autocreate(map, false);
    }
    return rc;
}

static int load(struct sampler_bpf *program, bool multi)
{
    struct bpf_probes *probes = &program->probes;
    struct bpf_object *object = bpf_open_bytes(program, probes_bpf_object, probes_bpf_object_size);
    struct bpf_program *part;
    int rc = object ? copy_config(program, object) : -errno;

    if (rc == 0)
        rc = choose_maps(program, object);
    if (rc == 0 && multi) {
        bpf_object__for_each_program(part, object)
            bpf_program__set_expected_attach_type(part, (enum bpf_attach_type)ATTACH_UPROBE_MULTI);
    }
    if (rc == 0)
        rc = bpf_object__load(object);
    if (rc < 0) {
        bpf_object__close(object);
        return rc;
    }
    probes->object = object;
    probes->multi = multi;
    probes->open_fd = bpf_object__find_map_fd_by_name(object, "probe_open");
    rc = bpf_area_open(&probes->calls, bpf_object__find_map_fd_by_name(object, "probe_calls"),
                       sizeof(uint64_t), (size_t)2 * SAMPLER_PROBES_MAX);
    return rc;
}

/* Links many places of a file at once: a descriptor, or -errno. */
static int link_multi(const struct bpf_program *part, const char *path,
                      const struct bpf_probe_places *places)
{
    struct link_create create = {
        .program_fd = (uint32_t)bpf_program__fd(part),
        .attach_type = ATTACH_UPROBE_MULTI,
        .multi = {.path = (uint64_t)(uintptr_t)path,
                  .offsets = (uint64_t)(uintptr_t)places->offsets,
                  .references = (uint64_t)(uintptr_t)places->references,
                  .cookies = (uint64_t)(uintptr_t)places->cookies,
                  .count = places->count,
                  .flags = places->returned ? UPROBE_MULTI_RETURN : 0},
    };
    long fd = syscall(SYS_bpf, BPF_LINK_CREATE, &create, sizeof(create));

    return fd < 0 ? -errno : (int)fd;
}

static int keep_link(struct bpf_probes *probes, const struct bpf_probe_link *link)
{
    if (vec_push(&probes->links, *link) == 0)
        return 0;
    if (link->fd >= 0)
        close(link->fd);
    bpf_link__destroy(link->link);
    return -ENOMEM;
}

static int link_each(struct bpf_probes *probes, const struct bpf_program *part, const char *path,
                     const struct bpf_probe_places *places)
{
    int rc = 0;

    for (uint32_t i = 0; i < places->count && rc == 0; i++) {
        LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = places->cookies[i],
                    .retprobe = places->returned,
                    .ref_ctr_offset = places->references ? places->references[i] : 0);
        struct bpf_link *link =
            bpf_program__attach_uprobe_opts(part, -1, path, places->offsets[i], &options);

        rc = link ? keep_link(probes, &(struct bpf_probe_link){places->number, -1, link}) : -errno;
    }
    return rc;
}

static int attach(struct sampler_bpf *program, const char *path,
                  const struct bpf_probe_places *places)
{
    struct bpf_probes *probes = &program->probes;
    static const char *const names[BPF_PROBE_KINDS] = {"probes_met", "probes_paired",
                                                       "probes_marked"};
    const struct bpf_program *part =
        bpf_object__find_program_by_name(probes->object, names[places->kind]);
    int fd;

    if (!probes->multi)
        return link_each(probes, part, path, places);
    fd = link_multi(part, path, places);
    return fd < 0 ? fd : keep_link(probes, &(struct bpf_probe_link){places->number, fd, NULL});
}

__attribute__((format(printf, 2, 0))) static int keep_quiet(enum libbpf_print_level level,
                                                            const char *format, va_list arguments)
{
    (void)level, (void)format, (void)arguments;
    return 0;
}

/* Attaches the first places. An older kernel loads a program for many places, but refuses to attach
 * it: falls back to the other program. */
static int attach_first(struct sampler_bpf *program, const char *path,
                        const struct bpf_probe_places *places)
{
    int rc = load(program, true);

    if (rc == 0)
        rc = attach(program, path, places);
    if (rc != -EINVAL && rc != -EOPNOTSUPP)
        return rc;
    bpf_probes_close(program);
    rc = load(program, false);
    return rc == 0 ? attach(program, path, places) : rc;
}

int bpf_program_probe(struct sampler_bpf *program, const char *path,
                      const struct bpf_probe_places *places)
{
    libbpf_print_fn_t print = libbpf_set_print(keep_quiet);
    int rc = program->probes.object ? attach(program, path, places)
                                    : attach_first(program, path, places);

    libbpf_set_print(print);
    return rc;
}

int bpf_program_probe_args(struct sampler_bpf *program, uint32_t list,
                           const struct sampler_args *wanted)
{
    struct bpf_object *object = program->probes.object;

    if (!object)
        return -EINVAL;
    return bpf_map_update_elem(bpf_object__find_map_fd_by_name(object, "probe_wanted"), &list,
                               wanted, BPF_ANY) < 0
               ? -errno
               : 0;
}

static void drop(struct bpf_probe_link *link)
{
    if (link->fd >= 0)
        close(link->fd);
    bpf_link__destroy(link->link);
}

/* For each link the kernel waits until no CPU can be in it, 20 to 40 ms: in parallel that is one
 * wait. */
struct dropping {
    struct bpf_probes *probes;
    _Atomic size_t next;
};

static void *drop_some(void *context)
{
    struct dropping *dropping = context;
    size_t index;

    while ((index = atomic_fetch_add(&dropping->next, 1)) < dropping->probes->links.count)
        drop(&dropping->probes->links.items[index]);
    return NULL;
}

static void drop_all(struct bpf_probes *probes)
{
    struct dropping dropping = {.probes = probes};
    pthread_t threads[DROP_THREADS];
    size_t count = 0;

    while (count < DROP_THREADS && count + 1 < probes->links.count &&
           pthread_create(&threads[count], NULL, drop_some, &dropping) == 0)
        count++;
    (void)drop_some(&dropping);
    while (count > 0)
        pthread_join(threads[--count], NULL);
    probes->links.count = 0;
}

void bpf_program_unprobe(struct sampler_bpf *program, uint32_t number)
{
    struct bpf_probes *probes = &program->probes;
    size_t kept = 0;

    if (number == UINT32_MAX) {
        drop_all(probes);
        return;
    }
    for (size_t i = 0; i < probes->links.count; i++) {
        if (probes->links.items[i].number == number)
            drop(&probes->links.items[i]);
        else
            probes->links.items[kept++] = probes->links.items[i];
    }
    probes->links.count = kept;
}

uint64_t bpf_program_probe_calls(const struct sampler_bpf *program, uint32_t number, bool foreign)
{
    const uint64_t *calls = (const uint64_t *)(const void *)program->probes.calls.bytes;

    if (!calls || number >= SAMPLER_PROBES_MAX)
        return 0;
    return __atomic_load_n(&calls[number + (foreign ? SAMPLER_PROBES_MAX : 0)], __ATOMIC_RELAXED);
}

int bpf_program_probed_next(struct sampler_bpf *program, struct bpf_probed *probed, bool first)
{
    struct bpf_probed last = *probed;

    if (!program->probes.object)
        return -ENOENT;
    if (bpf_map_get_next_key(program->probes.open_fd, first ? NULL : &last.who, &probed->who) < 0)
        return -ENOENT;
    if (bpf_map_lookup_elem(program->probes.open_fd, &probed->who, &probed->open) < 0)
        probed->open.count = 0;
    return 0;
}

void bpf_program_probed_forget(struct sampler_bpf *program, const struct bpf_probed *probed)
{
    if (program->probes.object)
        (void)bpf_map_delete_elem(program->probes.open_fd,
                                  &probed->who); /* or it was already deleted */
}

bool bpf_program_probed_find(struct sampler_bpf *program, struct bpf_probed *probed)
{
    return program->probes.object &&
           bpf_map_lookup_elem(program->probes.open_fd, &probed->who, &probed->open) == 0;
}

void bpf_probes_close(struct sampler_bpf *program)
{
    struct bpf_probes *probes = &program->probes;

    bpf_program_unprobe(program, UINT32_MAX);
    vec_free(&probes->links);
    bpf_area_close(&probes->calls);
    bpf_object__close(probes->object);
    *probes = (struct bpf_probes){0};
}

/* ---- Calls of annot's libraries: a probe in each running copy of them ------------------------ */

enum { CALL_PROGRAMS_MAX = 2 };

/* By enum bpf_calls: each with an object of its own, which is loaded when the first is watched. */
static const char *const call_programs[BPF_CALLS_COUNT][CALL_PROGRAMS_MAX + 1] = {
    [BPF_CALLS_LAUNCHES] = {"sampler_launched"},
    [BPF_CALLS_HEAP] = {"sampler_allocated", "sampler_freed"},
};

static bool is_among(const char *const names[], const char *name)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

bool bpf_program_is_of_calls(const char *name)
{
    for (int calls = 0; calls < BPF_CALLS_COUNT; calls++)
        if (is_among(call_programs[calls], name))
            return true;
    return false;
}

static int choose_programs(struct bpf_object *object, enum bpf_calls calls)
{
    struct bpf_program *part;
    int rc = 0;

    bpf_object__for_each_program(part, object)
    {
        bool wanted = is_among(call_programs[calls], bpf_program__name(part));

        if (rc == 0)
            rc = bpf_program__set_autoload(part, wanted);
    }
    return rc;
}

static int load_calls(struct sampler_bpf *program, enum bpf_calls calls)
{
    struct bpf_object *object = bpf_open_object(program);
    int rc = object ? copy_config(program, object) : -errno;

    if (rc == 0)
        rc = choose_programs(object, calls);
    if (rc == 0)
        rc = bpf_making_share(program, object);
    if (rc == 0)
        rc = bpf_object__load(object);
    if (rc < 0)
        bpf_object__close(object);
    else
        program->calls[calls].object = object;
    return rc;
}

static int attach_call(struct bpf_call_links *links, const char *name, const char *path,
                       uint64_t offset)
{
    struct bpf_program *part = bpf_object__find_program_by_name(links->object, name);
    struct bpf_link *link = bpf_program__attach_uprobe(part, false, -1, path, offset);

    if (!link)
        return -errno;
    links->links[links->count++] = link;
    return 0;
}

int bpf_program_watch_call(struct sampler_bpf *program, enum bpf_calls calls, unsigned which,
                           const struct bpf_call_place *place)
{
    struct bpf_call_links *links = &program->calls[calls];
    libbpf_print_fn_t print;
    int rc;

    if (links->count == BPF_CALL_LINKS_MAX)
        return -EMFILE;
    print = libbpf_set_print(keep_quiet);
    rc = links->object ? 0 : load_calls(program, calls);
    if (rc == 0)
        rc = attach_call(links, call_programs[calls][which], place->path, place->offset);
    libbpf_set_print(print);
    return rc;
}

void bpf_calls_close(struct sampler_bpf *program)
{
    for (int calls = 0; calls < BPF_CALLS_COUNT; calls++) {
        struct bpf_call_links *links = &program->calls[calls];

        for (size_t i = 0; i < links->count; i++)
            bpf_link__destroy(links->links[i]);
        bpf_object__close(links->object);
        *links = (struct bpf_call_links){0};
    }
}
