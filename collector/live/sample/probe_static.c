/* SPDX-License-Identifier: MIT */
/* Static probes (USDT) of a file: one name is a mark, two are the starts and ends of ranges. A
 * probe may have many places, and a counter by which the program detects watchers, which the kernel
 * raises for us. Thread-safety: one thread per object. */
#include "bpf_probes.h"
#include "elf_symbols.h"
#include "probe.h"
#include "probe_args.h"
#include "sampler_bpf.h"
#include "text.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FOUND_MAX = 4096, NAME_MAX_BYTES = 256 };

/* The probes of the file that match a wish. */
struct found {
    const struct probe_wish *wish;
    bool beyond;
    VEC(struct elf_probe) items;
};

static bool means(const char *pattern, const char *name)
{
    return pattern && fnmatch(pattern, name, 0) == 0;
}

static bool find_probe(void *context, const struct elf_probe *probe)
{
    struct found *found = context;
    if (!means(found->wish->provider, probe->provider) ||
        (!means(found->wish->function, probe->name) && !means(found->wish->last, probe->name)))
        return true;
    found->beyond = found->items.count == FOUND_MAX || vec_push(&found->items, *probe) != 0;
    return !found->beyond;
}

/* ---- Places of a probe ----------------------------------------------------------------------- */

struct places {
    unsigned long offsets[FOUND_MAX], references[FOUND_MAX];
    uint64_t cookies[FOUND_MAX];
    uint32_t count;
    uint64_t args_ns; /* the highest cost of arguments at one of them */
    bool begin, end;
};

static bool is_same(const struct found *found, const struct elf_probe *first,
                    const struct elf_probe *other)
{
    return strcmp(first->provider, other->provider) == 0 &&
           (found->wish->last || strcmp(first->name, other->name) == 0);
}

/* True for the first of its name; for a pair, the first of its provider. */
static bool is_first(const struct found *found, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (is_same(found, &found->items.items[i], &found->items.items[at]))
            return false;
    return true;
}

static bool add_place(const struct elf_file *file, const struct elf_probe *probe, uint64_t cookie,
                      struct places *places)
{
    unsigned long *reference = &places->references[places->count];
    *reference = 0;
    if (!probe_code_offset(file, probe->address, &places->offsets[places->count]) ||
        (probe->semaphore && !probe_file_offset(file, probe->semaphore, reference)))
        return false;
    places->cookies[places->count++] = cookie;
    return true;
}

/* Stores the arguments of one place. The list's number, 0: none, or -errno. */
static int keep_arguments(struct bpf_sampler *sampler, const struct found *found,
                          const struct elf_probe *probe, bool end)
{
    struct arg_list list;
    int error = probe_args_of_static(sampler->options.trace, &found->wish->args, probe, end, &list);
    return error ? error : probe_args_keep(&sampler->probes.lists, &list, end, sampler->program);
}

/* Finds all places with the name of the one at `at`, or of its pair. 0; -EBADMSG: they make no
 * probe; or -errno. */
static int find_places(struct bpf_sampler *sampler, const struct found *found, size_t at,
                       const struct elf_file *file, struct places *places)
{
    uint64_t number = sampler->probes.all.count;
    places->count = 0;
    places->begin = places->end = false;
    places->args_ns = 0;
    for (size_t i = at; i < found->items.count; i++) {
        const struct elf_probe *probe = &found->items.items[i];
        if (!is_same(found, &found->items.items[at], probe))
            continue;
        bool end = !means(found->wish->function, probe->name);
        uint64_t site = end ? SAMPLER_SITE_LEAVE : SAMPLER_SITE_ENTRY;
        int list = keep_arguments(sampler, found, probe, end);
        if (list < 0)
            return list;
        if (!add_place(file, probe, number | site << 12 | (uint64_t)list << 43, places))
            return -EBADMSG;
        places->begin |= !end;
        places->end |= end;
        uint64_t args_ns = probe_args_ns(&sampler->probes.lists.all.items[list]);
        places->args_ns = args_ns > places->args_ns ? args_ns : places->args_ns;
    }
    return !found->wish->last || (places->begin && places->end) ? 0 : -EBADMSG;
}

/* ---- Probes ---------------------------------------------------------------------------------- */

/* The name of a pair is the common start of its two names, in whole words. */
static int64_t add_name(struct trace *trace, const struct found *found,
                        const struct elf_probe *probe)
{
    char name[NAME_MAX_BYTES];
    const char *own = found->wish->last ? found->wish->function : probe->name;
    const char *last = found->wish->last ? found->wish->last : own;
    size_t common = 0;
    while (own[common] && own[common] == last[common])
        common++;
    while (own[common] && common > 0 && own[common - 1] != '_')
        common--;
    while (own[common] && common > 0 && own[common - 1] == '_')
        common--;
    if (common == 0)
        common = strlen(own);
    snprintf(name, sizeof(name), "%s:%.*s", probe->provider, (int)common, own);
    return trace_string_add(trace, name, strlen(name));
}

/* -EBADMSG: it cannot be probed. */
static int probe_one(struct bpf_sampler *sampler, const struct found *found, size_t at,
                     const struct probe_target *target, struct places *places)
{
    struct probes *probes = &sampler->probes;
    bool pair = found->wish->last;
    struct probe probe = {.scope = target->scope,
                          .call_ns = probes->visit_ns[PROBE_COST_PLACE] * (pair ? 2 : 1)};
    uint32_t number = (uint32_t)probes->all.count;
    if (number >= SAMPLER_PROBES_MAX - 1)
        return -E2BIG;
    int error = find_places(sampler, found, at, target->file, places);
    if (error != 0)
        return error;
    probe.has_arguments = places->args_ns > 0;
    probe.call_ns += probe.call_ns ? places->args_ns * (pair ? 2 : 1) : 0;
    const struct bpf_probe_places request = {.number = number,
                                             .count = places->count,
                                             .offsets = places->offsets,
                                             .references = places->references,
                                             .cookies = places->cookies,
                                             .kind = pair ? BPF_PROBE_PAIR : BPF_PROBE_MARK};
    int64_t name = add_name(sampler->options.trace, found, &found->items.items[at]);
    probe.name = name > 0 ? (uint32_t)name : 0;
    error = name < 0 ? (int)name : vec_push(&probes->all, probe);
    if (error == 0)
        error = bpf_program_probe(sampler->program, target->open_path, &request);
    if (error != 0)
        bpf_program_unprobe(sampler->program, number);
    if (error != 0 && probes->all.count > number)
        probes->all.count--;
    return error;
}

/* Explains why the file has no match. */
static int refuse(const struct probe_wish *wish, const struct probe_target *target,
                  struct sampler_range_result *result)
{
    struct text reason = text_init(result->reason, sizeof(result->reason));
    struct text hint = text_init(result->hint, sizeof(result->hint));
    text_format(&reason, "%s has no static probe \"%s:%s\"%s%s", text_base_name(target->path),
                wish->provider, wish->function, wish->last ? ", or none that ends it: " : "",
                wish->last ? wish->last : "");
    text_format(&hint, "\"readelf -n %s\" lists those that it has", target->path);
    return -ENOENT;
}

int probe_static(struct bpf_sampler *sampler, struct probe_wish *wish,
                 const struct probe_target *target, struct sampler_range_result *result)
{
    struct found found = {.wish = wish};
    struct places *places = malloc(sizeof(*places));
    uint32_t before = result->functions;
    uint64_t args_ns = 0;
    elf_file_probes(target->file, find_probe, &found);
    int error = !places ? -ENOMEM : found.beyond ? -E2BIG : 0;
    for (size_t i = 0; i < found.items.count && error == 0; i++) {
        if (!is_first(&found, i))
            continue;
        error = probe_one(sampler, &found, i, target, places);
        if (error == 0) {
            result->functions++;
            result->places += places->count;
            args_ns = places->args_ns > args_ns ? places->args_ns : args_ns;
        }
        error = error == -EBADMSG ? 0 : error;
    }
    wish->count += result->functions - before;
    result->call_ns = (sampler->probes.visit_ns[PROBE_COST_PLACE] + args_ns) * (wish->last ? 2 : 1);
    vec_free(&found.items);
    free(places);
    return error == 0 && result->functions == before ? refuse(wish, target, result) : error;
}
