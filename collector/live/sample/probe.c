/* SPDX-License-Identifier: MIT */
/* Parses the wishes for ranges, finds the files that match one, and installs probes at their
 * functions: at the start, and at every exit.
 * Each file is probed once for each wish. Thread-safety: one thread per object. */
#include "probe.h"

#include "bpf_probes.h"
#include "modules.h"
#include "probe_args.h"
#include "sampler_bpf.h"
#include "symbol_functions.h"
#include "symbol_module.h"
#include "text.h"

#include <elf.h>
#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Wishes and files ------------------------------------------------------------------------ */

static const char *const library_folders[] = {
    "/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib", "/usr/local/lib",
};

/* The first colon that is not half of a "::". */
static const char *find_colon(const char *text)
{
    const char *colon = strchr(text, ':');
    while (colon && colon[1] == ':')
        colon = strchr(colon + 2, ':');
    return colon;
}

/* Parses "handle@1,name=str". False: invalid. */
static bool take_args(char *function, unsigned number_max, struct arg_wishes *ret_wishes)
{
    char *at = strrchr(function, '@');
    if (!at)
        return true;
    *at = '\0';
    return *function && probe_args_parse(at + 1, number_max, ret_wishes);
}

bool probe_wish_parse(const char *text, struct probe_wish *ret_wish)
{
    const char *colon = find_colon(text);
    *ret_wish = (struct probe_wish){0};
    if (!colon || colon == text || colon[1] == 0)
        return false;
    const char *name = colon + 1, *second = find_colon(name);
    if (second && (second == name || second[1] == 0))
        return false;
    ret_wish->text = strdup(text);
    ret_wish->file = strndup(text, (size_t)(colon - text));
    ret_wish->provider = second ? strndup(name, (size_t)(second - name)) : NULL;
    name = second ? second + 1 : name;
    const char *dots = second ? strstr(name, "..") : NULL;
    ret_wish->function = dots ? strndup(name, (size_t)(dots - name)) : strdup(name);
    ret_wish->last = dots ? strdup(dots + 2) : NULL;
    return take_args(ret_wish->last ? ret_wish->last : ret_wish->function,
                     second ? PROBE_ARGS_OF_STATIC : PROBE_ARGS_OF_FUNCTION, &ret_wish->args);
}

void probe_wish_fini(struct probe_wish *wish)
{
    free(wish->text);
    free(wish->file);
    free(wish->provider);
    free(wish->function);
    free(wish->last);
    *wish = (struct probe_wish){0};
}

int probe_paths_add(struct probe_paths *paths, const char *path)
{
    char real[PATH_MAX];
    struct stat status;
    if (!realpath(path, real) || stat(real, &status) != 0 || !S_ISREG(status.st_mode))
        return 0; /* a folder of libraries may have a program's name */
    for (size_t i = 0; i < paths->items.count; i++)
        if (strcmp(paths->items.items[i], real) == 0)
            return 0;
    char *copy = strdup(real);
    if (copy && vec_push(&paths->items, copy) == 0)
        return 0;
    free(copy);
    return -ENOMEM;
}

static int add_matching(struct probe_paths *paths, const char *folder, const char *pattern)
{
    char whole[2 * PATH_MAX];
    glob_t found;
    int error = 0;
    snprintf(whole, sizeof(whole), "%s%s%s", folder, *folder ? "/" : "", pattern);
    if (glob(whole, 0, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; i < found.gl_pathc && error == 0; i++)
        error = probe_paths_add(paths, found.gl_pathv[i]);
    globfree(&found);
    return error;
}

/* Searches folders separated by colons. */
static int add_in_folders(struct probe_paths *paths, const char *folders, const char *pattern)
{
    char folder[PATH_MAX];
    int error = 0;
    while (folders && *folders && error == 0) {
        size_t length = strcspn(folders, ":");
        if (length > 0 && length < sizeof(folder)) {
            memcpy(folder, folders, length);
            folder[length] = 0;
            error = add_matching(paths, folder, pattern);
        }
        folders += length + (folders[length] == ':');
    }
    return error;
}

int probe_paths_find(const char *file, const char *program, struct probe_paths *ret_paths)
{
    int error = 0;
    *ret_paths = (struct probe_paths){0};
    if (strchr(file, '/'))
        return add_matching(ret_paths, "", file);
    if (program && fnmatch(file, text_base_name(program), 0) == 0)
        error = probe_paths_add(ret_paths, program);
    if (error == 0)
        error = add_in_folders(ret_paths, getenv("LD_LIBRARY_PATH"), file);
    for (size_t i = 0; i < sizeof(library_folders) / sizeof(*library_folders) && error == 0; i++)
        error = add_matching(ret_paths, library_folders[i], file);
    return error;
}

void probe_paths_fini(struct probe_paths *paths)
{
    for (size_t i = 0; i < paths->items.count; i++)
        free(paths->items.items[i]);
    vec_free(&paths->items);
}

bool probe_wish_means(const struct probe_wish *wish, const char *path)
{
    return fnmatch(wish->file, strchr(wish->file, '/') ? path : text_base_name(path), 0) == 0;
}

enum { PLACES_MAX = 4096 };

/* A return probe costs a fifth of a probe at the return instruction, which the kernel must
 * single-step. But it changes the return address, which breaks exceptions; and the kernel's limit
 * is 64 per thread. */
static bool has_return_probe(const struct probe_target *target,
                             const struct code_function *function)
{
    return target->plain && !function->exits.recurses;
}

/* ---- Places of a function -------------------------------------------------------------------- */

struct places {
    unsigned long offsets[PLACES_MAX];
    uint64_t cookies[PLACES_MAX];
    uint32_t count;
};

bool probe_file_offset(const struct elf_file *file, uint64_t address, unsigned long *ret_offset)
{
    for (size_t i = 0; i < elf_file_segment_count(file); i++) {
        const struct elf_segment segment = elf_file_segment(file, i);
        if (address - segment.address >= segment.file_size)
            continue;
        *ret_offset = segment.offset + (address - segment.address);
        return true;
    }
    return false;
}

/* Linux 6.17 and later replace a probed nop of five bytes by a call of memory that a forked child
 * does not have: the child crashes at the place. */
bool probe_code_offset(const struct elf_file *file, uint64_t address, unsigned long *ret_offset)
{
    static const uint8_t nop[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
    uint8_t code[sizeof(nop)];
    if (!probe_file_offset(file, address, ret_offset))
        return false;
    if (elf_file_read(file, *ret_offset, code, sizeof(code)) && memcmp(code, nop, sizeof(nop)) == 0)
        *ret_offset += sizeof(nop);
    return true;
}

static enum sampler_site site_of(const struct code_exit *exit)
{
    if (exit->kind == CODE_JUMP_REGISTER)
        return SAMPLER_SITE_LEAVE_TO;
    return exit->kind == CODE_JUMP && exit->detail < CODE_ALWAYS ? SAMPLER_SITE_LEAVE_IF
                                                                 : SAMPLER_SITE_LEAVE;
}

/* The bytes before and after it are those of the function's first piece. */
static uint64_t cookie_of(const struct code_function *function, uint64_t address,
                          enum sampler_site site, uint32_t detail)
{
    uint64_t size = function->end - function->begin, before = address - function->begin;
    uint64_t cookie = (uint64_t)site << 12 | (uint64_t)(detail & 15) << 15;
    if (function->exits.restarts)
        cookie |= SAMPLER_SITE_RESTARTS;
    if (site == SAMPLER_SITE_LEAVE_TO && before < size && size < SAMPLER_SITE_BEHIND_MAX)
        cookie |= before << 21 | (size - before) << 43;
    return cookie;
}

static bool add_place(struct places *places, const struct elf_file *file, uint64_t address,
                      uint64_t cookie)
{
    if (places->count == PLACES_MAX ||
        !probe_code_offset(file, address, &places->offsets[places->count]))
        return false;
    places->cookies[places->count++] = cookie;
    return true;
}

/* With a return probe, returns need no places. */
static bool find_places(const struct probe_target *target, const struct code_function *function,
                        uint64_t common, uint32_t list, struct places *places)
{
    const struct code_exits *exits = &function->exits;
    const struct elf_file *file = target->file;
    bool returned = has_return_probe(target, function);
    uint64_t entry = cookie_of(function, exits->entry, SAMPLER_SITE_ENTRY, 0);
    places->count = 0;
    bool all = add_place(places, file, exits->entry, entry | common | (uint64_t)list << 43);
    for (size_t i = 0; i < exits->items.count && all; i++) {
        const struct code_exit *exit = &exits->items.items[i];
        if (returned && exit->kind == CODE_RETURN)
            continue;
        uint64_t cookie = cookie_of(function, exit->address, site_of(exit), exit->detail);
        all = add_place(places, file, exit->address, cookie | common);
    }
    return all;
}

/* ---- Files ----------------------------------------------------------------------------------- */

static int add_text(struct trace *trace, const char *text, uint32_t *ret_string)
{
    int64_t string = trace_string_add(trace, text, strlen(text));
    *ret_string = string > 0 ? (uint32_t)string : 0;
    return string < 0 ? (int)string : 0;
}

int probe_scope(struct trace *trace, const char *domain, const char *path, uint32_t *ret_scope)
{
    struct scope scope = {.observer = OBSERVER_PROBE};
    int error = add_text(trace, domain, &scope.domain);
    if (error == 0)
        error = add_text(trace, text_base_name(path), &scope.category);
    int64_t ordinal = error == 0 ? trace_scope_add(trace, &scope) : error;
    *ret_scope = ordinal > 0 ? (uint32_t)ordinal : 0;
    return ordinal < 0 ? (int)ordinal : 0;
}

static int attach(struct bpf_sampler *sampler, const struct probe_target *target,
                  const struct code_function *function, const struct bpf_probe_places *request)
{
    uint64_t cookie = request->number | SAMPLER_SITE_RETURNED << 12;
    struct bpf_probe_places returned = *request; /* the entry is the first of them */
    returned.count = 1;
    returned.cookies = &cookie;
    returned.returned = true;
    int error = bpf_program_probe(sampler->program, target->open_path, request);
    if (error == 0 && has_return_probe(target, function))
        error = bpf_program_probe(sampler->program, target->open_path, &returned);
    if (error != 0)
        bpf_program_unprobe(sampler->program, request->number);
    return error;
}

/* Two probes at one place would each end the other's range. */
static bool is_range(const struct probes *probes, const struct probe *probe)
{
    for (size_t i = 0; i < probes->all.count; i++) {
        const struct probe *other = &probes->all.items[i];
        if (!other->off && other->inode == probe->inode && other->device == probe->device &&
            other->entry == probe->entry)
            return true;
    }
    return false;
}

/* -EBADMSG: it cannot be probed; -EEXIST: it is probed already. */
static int probe_function(struct bpf_sampler *sampler, const struct probe_target *target,
                          const struct code_function *function, uint32_t list,
                          struct places *places)
{
    struct probes *probes = &sampler->probes;
    bool returned = has_return_probe(target, function);
    struct probe probe = {.scope = target->scope,
                          .has_arguments = list > 0,
                          .call_ns =
                              probes->visit_ns[returned ? PROBE_COST_RETURNED : PROBE_COST_EXITS]};
    if (probe.call_ns > 0 && list > 0)
        probe.call_ns += probe_args_ns(&probes->lists.all.items[list]);
    uint64_t number = probes->all.count;
    uint64_t common = number | (target->go ? SAMPLER_SITE_GO : 0);
    if (number >= SAMPLER_PROBES_MAX - 1)
        return -E2BIG;
    if (!find_places(target, function, common, list, places))
        return -EBADMSG;
    probe.device = target->device;
    probe.inode = target->inode;
    probe.entry = places->offsets[0];
    if (is_range(probes, &probe))
        return -EEXIST;
    const struct bpf_probe_places request = {.number = (uint32_t)number,
                                             .count = places->count,
                                             .offsets = places->offsets,
                                             .cookies = places->cookies};
    int error = add_text(sampler->options.trace, function->name, &probe.name);
    if (error == 0)
        error = vec_push(&probes->all, probe);
    if (error == 0)
        error = attach(sampler, target, function, &request);
    if (error != 0 && probes->all.count > number)
        probes->all.count--;
    return error;
}

static int probe_functions(struct bpf_sampler *sampler, const struct probe_target *target,
                           const struct code_functions *functions,
                           struct sampler_range_result *result)
{
    struct places *places = malloc(sizeof(*places));
    int error = places ? 0 : -ENOMEM;
    for (size_t i = 0; i < functions->items.count && error == 0; i++) {
        error = probe_function(sampler, target, &functions->items.items[i],
                               target->lists ? target->lists[i] : 0, places);
        result->functions += error == 0;
        result->places += error == 0 ? places->count : 0;
        if (error == 0 &&
            result->call_ns < sampler->probes.all.items[sampler->probes.all.count - 1].call_ns)
            result->call_ns = sampler->probes.all.items[sampler->probes.all.count - 1].call_ns;
        result->refused += error == -EBADMSG;
        if (error == -EEXIST)
            snprintf(result->reason, sizeof(result->reason), "%s is a range already",
                     functions->items.items[i].name);
        error = error == -EBADMSG || error == -EEXIST ? 0 : error;
    }
    free(places);
    return error;
}

/* Suggests similarly spelt functions of the file, and how to find more. */
static void hint_near(const struct probe_target *target, const struct probe_wish *wish,
                      bool stripped, struct text *hint)
{
    struct code_near near;
    code_functions_near(target->file, target->path, wish->function, &near);
    for (uint32_t i = 0; i < near.count; i++)
        text_format(hint, "%s%s", i == 0 ? "did you mean " : ", ", near.names[i]);
    if (near.count > 0)
        text_format(hint, "? A pattern finds more: *NAME*");
    else if (stripped)
        text_format(hint, "install its debug symbols (a package NAME-dbg or NAME-dbgsym), or build "
                          "it without -s");
    else
        text_format(hint,
                    "a pattern finds more: \"%s:*NAME*\"; a C++ function matches with or "
                    "without its arguments",
                    wish->file);
}

/* Explains why no function of the file has become a range. */
static int refuse(const struct code_functions *functions, const struct probe_target *target,
                  const struct probe_wish *wish, struct sampler_range_result *result)
{
    const char *base = text_base_name(target->path), *function = wish->function;
    struct text reason = text_init(result->reason, sizeof(result->reason));
    struct text hint = text_init(result->hint, sizeof(result->hint));
    if (elf_file_machine(target->file) != EM_X86_64) {
        text_format(&reason, "%s is not of x86-64", base);
    } else if (functions->chosen) {
        text_format(&reason, "\"%s\" of %s is one of several, chosen at run time", function, base);
        text_format(&hint, "name the one that is run: \"nm -D\" or annot's own samples tell it");
    } else if (functions->unsized) {
        text_format(&reason, "%s does not say where \"%s\" ends", base, function);
    } else if (functions->refused) {
        text_format(&reason, "the code of \"%s\" in %s cannot be read as instructions", function,
                    base);
        text_format(&hint, "it may have data between them; name a function that calls it");
    } else if (functions->partial) {
        text_format(&reason, "%s is stripped, and exports no function \"%s\"", base, function);
        hint_near(target, wish, true, &hint);
    } else {
        text_format(&reason, "%s has no function \"%s\"", base, function);
        hint_near(target, wish, false, &hint);
    }
    return -ENOENT;
}

static bool is_new(struct probes *probes, int fd, uint32_t wish, struct probe_target *target)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return false;
    target->device = status.st_dev;
    target->inode = status.st_ino;
    for (size_t i = 0; i < probes->files.count; i++) {
        const struct probe_file *file = &probes->files.items[i];
        if (file->inode == status.st_ino && file->device == status.st_dev && file->wish == wish)
            return false;
    }
    const struct probe_file file = {status.st_dev, status.st_ino, wish};
    return vec_push(&probes->files, file) == 0;
}

/* ---- Arguments ------------------------------------------------------------------------------- */

struct asking {
    struct bpf_sampler *sampler;
    const struct code_functions *functions;
    struct symbol_module *module;
    const struct arg_wishes *wishes;
    uint32_t values, met; /* total over all functions */
};

static int ask_function(struct asking *asking, size_t index, uint32_t *ret_list,
                        struct sampler_range_result *result)
{
    struct probes *probes = &asking->sampler->probes;
    const struct arg_question question = {asking->wishes, &asking->functions->items.items[index],
                                          asking->module, asking->functions->go};
    char other[sizeof(result->reason)];
    struct text reason = result->reason[0] ? text_init(other, sizeof(other))
                                           : text_init(result->reason, sizeof(result->reason));
    struct arg_list list;
    int error = probe_args_of_function(&probes->lists, asking->sampler->options.trace, &question,
                                       &list, &reason);
    int number =
        error ? error : probe_args_keep(&probes->lists, &list, false, asking->sampler->program);
    asking->values += list.values;
    asking->met |= list.met;
    *ret_list = number > 0 ? (uint32_t)number : 0;
    return number < 0 ? number : 0;
}

/* Functions without any of the arguments become ranges without. -EINVAL: an argument is in no
 * function, or no value is readable. */
static int find_arguments(struct bpf_sampler *sampler, struct probe_target *target,
                          const struct code_functions *functions, const struct arg_wishes *wishes,
                          struct sampler_range_result *result)
{
    size_t count = functions->items.count;
    struct asking asking = {.sampler = sampler,
                            .functions = functions,
                            .wishes = wishes,
                            .module = symbol_module_create(target->file, target->path)};
    uint32_t *lists = calloc(count ? count : 1, sizeof(*lists));
    int error = lists && asking.module ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && error == 0; i++)
        error = ask_function(&asking, i, &lists[i], result);
    symbol_module_destroy(asking.module);
    bool all_met = asking.met == (1u << wishes->count) - 1;
    if (error == 0 && count > 0 && (!all_met || asking.values == 0))
        error = -EINVAL;
    if (error == 0)
        result->reason[0] = 0;
    target->lists = lists;
    return error;
}

static int probe_found(struct bpf_sampler *sampler, struct probe_wish *wish,
                       struct probe_target *target, const struct code_functions *functions,
                       struct sampler_range_result *result)
{
    uint32_t before = result->functions;
    int error = 0;
    bool asks = wish->args.count > 0 || wish->args.all;
    target->go = functions->go;
    target->plain = functions->plain;
    result->refused += functions->refused;
    result->chosen += functions->chosen;
    if (asks)
        error = find_arguments(sampler, target, functions, &wish->args, result);
    if (error == 0)
        error = probe_functions(sampler, target, functions, result);
    free(target->lists);
    target->lists = NULL;
    wish->count += result->functions - before;
    if (error == 0 && result->functions == before)
        error = result->reason[0] ? -ENOENT : refuse(functions, target, wish, result);
    else if (error == 0)
        result->reason[0] = 0;
    return error;
}

static int probe_all_functions(struct bpf_sampler *sampler, uint32_t index,
                               struct probe_target *target, struct sampler_range_result *result)
{
    struct code_functions functions;
    struct probe_wish *wish = &sampler->probes.wishes.items[index];
    int error = probe_scope(sampler->options.trace, "functions", target->path, &target->scope);
    if (error == 0)
        error = code_functions_find(target->file, target->path, wish->function, &functions);
    if (error != 0)
        return error;
    error = probe_found(sampler, wish, target, &functions, result);
    if (error == 0 && functions.beyond) {
        snprintf(result->reason, sizeof(result->reason),
                 "\"%s\" matches %u functions, at most %d can be ranges", wish->text,
                 functions.beyond + CODE_FUNCTIONS_MAX, CODE_FUNCTIONS_MAX);
        error = -E2BIG;
    }
    code_functions_fini(&functions);
    return error;
}

int sampler_probe_file(struct bpf_sampler *sampler, uint32_t wish,
                       const struct probe_source *source, struct sampler_range_result *result)
{
    struct probe_target target = {.file = source->file, .path = source->path};
    snprintf(target.open_path, sizeof(target.open_path), "/proc/self/fd/%d", source->fd);
    if (!is_new(&sampler->probes, source->fd, wish, &target))
        return 0;
    struct probe_wish *wanted = &sampler->probes.wishes.items[wish];
    if (!wanted->provider)
        return probe_all_functions(sampler, wish, &target, result);
    int error = probe_scope(sampler->options.trace, "probes", target.path, &target.scope);
    return error ? error : probe_static(sampler, wanted, &target, result);
}
