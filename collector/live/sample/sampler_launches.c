/* SPDX-License-Identifier: MIT */
/* Stacks of launches: finds the libraries that tell them, and makes samples of what they tell.
 *
 * libannot-gpu.so calls a function of its own that does nothing; a probe at it walks the stack.
 * Each file of that name is watched once, wherever a sampled process has it from: it tells where
 * the function is, and a file that has none is left alone. Thread-safety: one thread per object. */
#include "sample_parts.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char library_name[] = "libannot-gpu.so";
static const char function_name[] = "annot_gpu_launched_v1";

/* Where the function is in the file. */
static bool find_function(struct elf_file *file, uint64_t *ret_offset)
{
    struct elf_symbol symbol;
    if (!elf_file_find_exported(file, function_name, &symbol))
        return false;
    for (size_t i = 0; i < elf_file_segment_count(file); i++) {
        const struct elf_segment segment = elf_file_segment(file, i);
        if (symbol.address < segment.address ||
            symbol.address - segment.address >= segment.file_size)
            continue;
        *ret_offset = segment.offset + (symbol.address - segment.address);
        return true;
    }
    return false;
}

/* Remembers it: it was not met before. */
static bool is_new(struct launch_watch *watch, int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return false;
    for (size_t i = 0; i < watch->files.count; i++)
        if (watch->files.items[i].inode == status.st_ino &&
            watch->files.items[i].device == status.st_dev)
            return false;
    const struct launch_file file = {status.st_dev, status.st_ino};
    return vec_push(&watch->files, file) == 0;
}

static void watch_file(struct bpf_sampler *sampler, struct elf_file *file, int fd)
{
    char path[64];
    uint64_t offset;
    if (!find_function(file, &offset) || !is_new(&sampler->launches, fd))
        return;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int error = bpf_program_watch_launches(sampler->program, path, offset);
    if (error)
        sampler->launches.error = error;
}

void sampler_meet_launches(struct bpf_sampler *sampler, const struct module *module, int fd)
{
    if (sampler->options.launch_ns && strcmp(text_base_name(module->path), library_name) == 0)
        watch_file(sampler, module->file, fd);
}

void sampler_watch_launches(struct bpf_sampler *sampler)
{
    const char *library = sampler->options.launch_library;
    struct elf_file *file = NULL;
    if (!sampler->options.launch_ns)
        return;
    int fd = library ? open(library, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    if (elf_file_open(fd, &file) == 0)
        watch_file(sampler, file, fd);
    elf_file_close(file);
    close(fd);
}

static int define_set(struct bpf_sampler *sampler)
{
    static const char name[] = "launches";
    int64_t string = trace_string_add(sampler->options.trace, name, strlen(name));
    if (string < 0)
        return (int)string;
    const struct sample_set set = {.name = (uint32_t)string,
                                   .flags = SAMPLE_SET_LAUNCH,
                                   .count = 1,
                                   .types = {VALUE_TYPE_CALLS}};
    int64_t number = sample_sets_add(trace_sets(sampler->options.trace), &set);
    if (number < 0)
        return (int)number;
    sampler->launches.set = (uint16_t)number;
    return 0;
}

/* Programs whose clock is the kernel's tell nanoseconds, of a moment before. */
static int64_t time_of(const struct bpf_sampler *sampler, const struct sampler_sample *record)
{
    static const uint64_t moment_ns = 1000000000;
    if (record->head.time_ns - record->launched < moment_ns)
        return (int64_t)record->launched;
    return sampler->options.launch_ns(sampler->options.launch_context, record->launched);
}

int sampler_describe_launch(struct bpf_sampler *sampler, const struct sampler_sample *record,
                            struct queued_sample *ret_sample)
{
    int error = sampler->launches.set ? 0 : define_set(sampler);
    ret_sample->sample.set = sampler->launches.set;
    ret_sample->sample.value_count = 1;
    ret_sample->sample.time_ns = time_of(sampler, record);
    ret_sample->values[0] = record->launches;
    sampler->counts.launches++;
    return error;
}

int sampler_write_launches(const struct bpf_sampler *sampler,
                           const uint64_t counters[SAMPLER_COUNTERS])
{
    struct trace *trace = sampler->options.trace;
    char note[128];
    int error = 0;
    if (sampler->counts.launches)
        error = trace_fact_set(trace, FACT_COUNT, "stacks of launches", sampler->counts.launches);
    if (!error && counters[SAMPLER_COUNT_LAUNCHES])
        error =
            trace_fact_set(trace, FACT_COUNT, "ns per stack of a launch in the kernel",
                           counters[SAMPLER_COUNT_LAUNCH_NS] / counters[SAMPLER_COUNT_LAUNCHES]);
    if (error || !sampler->launches.error)
        return error;
    snprintf(note, sizeof(note), "launches of GPU work have no stacks: %s",
             strerror(-sampler->launches.error));
    return trace_fact_set(trace, FACT_NOTE, note, 1);
}
