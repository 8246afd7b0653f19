/* SPDX-License-Identifier: MIT */
/* Functions that are ranges: the probes to install, their records, and their cost.
 *
 * Their processor time is estimated: number of calls times the cost of a call on this machine.
 * Above the budget the hottest function loses its probes, which every output mentions.
 * Thread-safety: one thread per object. */
#include "sampler_probes.h"

#include "bpf_probes.h"
#include "clock_now.h"
#include "elf_symbols.h"
#include "modules.h"
#include "probe.h"
#include "probe_args.h"
#include "processes.h"
#include "sample_queue.h"
#include "sampler_bpf.h"
#include "sampler_records.h"
#include "text.h"
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Stacks of launches ---------------------------------------------------------------------- */

/* Finds the libraries that report launches, and makes samples of their records.
 *
 * libannot-gpu.so calls an empty function; a probe at it walks the stack. Each file of that name is
 * watched once, for any path in a sampled process: the function is found in the file, and a file
 * without it is ignored. Thread-safety: one thread per object. */

static const char library_name[] = "libannot-gpu.so";

static const char function_name[] = "annot_gpu_launched_v1";

bool sampler_find_exported(struct elf_file *file, const char *name, uint64_t *ret_offset)
{
    struct elf_symbol symbol;
    if (!elf_file_find_exported(file, name, &symbol))
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

/* Remembers a file; false if it was known. */
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
    if (!sampler_find_exported(file, function_name, &offset) || !is_new(&sampler->launches, fd))
        return;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int error = bpf_program_watch_call(sampler->program, BPF_CALLS_LAUNCHES, 0,
                                       &(struct bpf_call_place){path, offset});
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

/* Programs on the kernel's clock pass nanoseconds, shortly before the record. */
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

/* ---- The cost of a call ---------------------------------------------------------------------- */

/* Measures the cost of a probed call on this machine: probes and calls an empty function of ours.
 *
 * It begins with an instruction that the kernel emulates and ends with one that it must
 * single-step, as most functions do. The BPF program sees that we are not recorded, so the cost of
 * its own work is missing: a fifth, on a machine with cheap traps. Thread-safety: one thread per
 * object. */

enum { CALLS = 100, RETURN_OFFSET = 2, NUMBER = SAMPLER_PROBES_MAX - 1 };

/* The last byte is the return instruction. */
__attribute__((naked, noinline)) static void does_nothing(void)
{
    __asm__ volatile("push %rax\n\tpop %rax\n\tret");
}

/* Finds the file mapped at the address, and the offset in it. */
static bool find_place(uint64_t address, unsigned long *ret_offset, char path[64])
{
    FILE *maps = fopen("/proc/self/maps", "re");
    uint64_t begin, end, offset;
    char line[512];
    bool found = false;
    while (maps && !found && fgets(line, sizeof(line), maps))
        found = sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &begin, &end, &offset) == 3 &&
                address - begin < end - begin;
    if (maps)
        fclose(maps);
    if (!found)
        return false;
    *ret_offset = address - begin + offset;
    snprintf(path, 64, "/proc/self/map_files/%" PRIx64 "-%" PRIx64, begin, end);
    return true;
}

static uint64_t calls_ns(void)
{
    int64_t begin_ns = clock_now_ns();
    for (int i = 0; i < CALLS; i++)
        does_nothing();
    return (uint64_t)(clock_now_ns() - begin_ns);
}

/* Measures the cost of a probed call here in ns with a few calls. 0: failed. */
static uint64_t probe_cost_measure(struct sampler_bpf *program, enum probe_cost cost)
{
    bool returned = cost == PROBE_COST_RETURNED;
    unsigned long offsets[2];
    uint64_t cookies[3] = {NUMBER | SAMPLER_SITE_ENTRY << 12, NUMBER | SAMPLER_SITE_LEAVE << 12,
                           NUMBER | SAMPLER_SITE_RETURNED << 12};
    struct bpf_probe_places places = {
        .number = NUMBER, .count = 2, .offsets = offsets, .cookies = cookies};
    char path[64];
    if (!find_place((uint64_t)(uintptr_t)does_nothing, &offsets[0], path))
        return 0;
    offsets[1] = offsets[0] + RETURN_OFFSET;
    const struct bpf_probe_places exits = {
        .number = NUMBER, .count = 1, .offsets = offsets, .cookies = &cookies[2], .returned = true};
    places.count = cost == PROBE_COST_EXITS ? 2 : 1;
    if (bpf_program_probe(program, path, &places) != 0 ||
        (returned && bpf_program_probe(program, path, &exits) != 0)) {
        bpf_program_unprobe(program, NUMBER);
        return 0;
    }
    (void)calls_ns(); /* warms up */
    uint64_t taken_ns = calls_ns();
    bpf_program_unprobe(program, NUMBER);
    return taken_ns / CALLS;
}

/* Interval of the cost checks. */
#define WINDOW_NS UINT64_C(100000000)

enum { EVENTS_MAX = 4096 };

void sampler_probes_fini(struct probes *probes)
{
    for (size_t i = 0; i < probes->wishes.count; i++)
        probe_wish_fini(&probes->wishes.items[i]);
    vec_free(&probes->all);
    vec_free(&probes->wishes);
    vec_free(&probes->files);
    vec_free(&probes->events);
    vec_free(&probes->args);
    arg_lists_fini(&probes->lists);
    entered_calls_fini(&probes->entered);
}

/* ---- Wishes ---------------------------------------------------------------------------------- */

void sampler_meet_probes(struct bpf_sampler *sampler, struct module *module, int fd)
{
    const struct probe_source source = {module->file, fd, module->path};
    struct sampler_range_result result = {0};
    for (uint32_t i = 0; i < sampler->probes.wishes.count && !sampler->finished; i++) {
        if (!module->file || !probe_wish_means(&sampler->probes.wishes.items[i], module->path))
            continue;
        int error = sampler_probe_file(sampler, i, &source, &result);
        if (error && error != -ENOENT)
            sampler->probes.error = error;
    }
}

static int probe_path(struct bpf_sampler *sampler, uint32_t wish, const char *path,
                      struct sampler_range_result *result)
{
    struct elf_file *file = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int error = fd < 0 ? -errno : elf_file_open(fd, &file);
    if (error == 0)
        error = sampler_probe_file(sampler, wish, &(struct probe_source){file, fd, path}, result);
    else
        snprintf(result->reason, sizeof(result->reason), "%s: %s", path,
                 error == -EBADMSG ? "is no program and no library" : strerror(-error));
    elf_file_close(file);
    if (fd >= 0)
        close(fd);
    return error;
}

/* A file without such a function is no error if another has it. */
static int probe_paths(struct bpf_sampler *sampler, uint32_t wish, const struct probe_paths *paths,
                       struct sampler_range_result *result)
{
    int error = 0, missing = 0;
    for (size_t i = 0; i < paths->items.count && error == 0; i++) {
        error = probe_path(sampler, wish, paths->items.items[i], result);
        missing = error == -ENOENT || error == -EBADMSG ? error : missing;
        error = error == missing ? 0 : error;
    }
    return error == 0 && result->functions == 0 ? missing : error;
}

static int fail(struct sampler_range_result *result, int error, const char *text)
{
    if (result->reason[0] == 0)
        snprintf(result->reason, sizeof(result->reason), "%s: %s", text, strerror(-error));
    return error;
}

/* Adds files that processes have mapped already, as they are not reported again. */
static int add_mapped(const struct bpf_sampler *sampler, const struct probe_wish *wish,
                      struct probe_paths *paths)
{
    int error = 0;
    for (size_t i = 0; i < sampler->modules.all.count && error == 0; i++) {
        const struct module *module = sampler->modules.all.items[i];
        if (module->file && probe_wish_means(wish, module->path))
            error = probe_paths_add(paths, module->path);
    }
    return error;
}

static int add_wish(struct bpf_sampler *sampler, const struct sampler_range_request *wish,
                    struct sampler_range_result *result)
{
    struct probe_paths paths;
    uint32_t index = (uint32_t)sampler->probes.wishes.count - 1;
    const struct probe_wish *kept = &sampler->probes.wishes.items[index];
    int error = probe_paths_find(kept->file, wish->program, &paths);
    if (error == 0)
        error = add_mapped(sampler, kept, &paths);
    if (error == 0)
        error = probe_paths(sampler, index, &paths, result);
    if (error == 0 && paths.items.count == 0 && strchr(kept->file, '/')) {
        snprintf(result->reason, sizeof(result->reason), "there is no file \"%s\"", kept->file);
        error = -ENOENT;
    }
    probe_paths_fini(&paths);
    return error;
}

int sampler_probes_add(void *state, const struct sampler_range_request *wish,
                       struct sampler_range_result *ret_result)
{
    struct bpf_sampler *sampler = state;
    struct probes *probes = &sampler->probes;
    struct probe_wish kept;
    if (!probe_wish_parse(wish->text, &kept)) {
        probe_wish_fini(&kept);
        snprintf(ret_result->reason, sizeof(ret_result->reason),
                 "\"%s\" is not FILE:FUNCTION or FILE:PROVIDER:PROBE", wish->text);
        snprintf(ret_result->hint, sizeof(ret_result->hint),
                 strchr(wish->text, '@')
                     ? "arguments as in \"server:handle@name,2=str\" or \"@*\": at most six; "
                       "=int, =uint, =long, =ulong or =str"
                     : "as in \"server:handle_*\" or \"libm.so*:sin\"");
        return -EINVAL;
    }
    if (vec_push(&probes->wishes, kept) != 0)
        return -ENOMEM;
    for (unsigned cost = 0; cost < PROBE_COSTS && !probes->measured; cost++)
        probes->visit_ns[cost] = probe_cost_measure(sampler->program, (enum probe_cost)cost);
    probes->measured = true;
    ret_result->is_static = kept.provider;
    probes->since_ns = sampler->now_ns;
    int error = add_wish(sampler, wish, ret_result);
    if (error == 0 && ret_result->functions == 0)
        ret_result->call_ns = kept.provider
                                  ? probes->visit_ns[PROBE_COST_PLACE] * (kept.last ? 2 : 1)
                                  : probes->visit_ns[PROBE_COST_EXITS];
    return error == 0 ? 0 : fail(ret_result, error, wish->text);
}

/* ---- Records --------------------------------------------------------------------------------- */

static int hand_on(struct bpf_sampler *sampler)
{
    struct probes *probes = &sampler->probes;
    const struct event_batch batch = {.thread = probes->events.items[0].thread,
                                      .count = (uint32_t)probes->events.count,
                                      .events = probes->events.items,
                                      .args = probes->args.items,
                                      .late = 1};
    int error = sampler->options.take_ranges(sampler->options.context, &batch);
    probes->events.count = probes->args.count = 0;
    return error;
}

/* Marks the thread for readers as having such ranges. */
static void note_thread(struct trace *trace, const struct event *event)
{
    struct trace_thread *thread = trace_thread(trace, event->thread);
    struct trace_process *process = trace_process(trace, thread->process);
    thread->probed = true;
    thread->event_count++;
    thread->revision++;
    if (thread->last_ns < event->end_ns)
        thread->last_ns = event->end_ns;
    process->event_count++;
    process->revision++;
}

/* Adds the arguments at its entry. 0 or -ENOMEM. */
static int add_args(struct bpf_sampler *sampler, const struct probe *probe,
                    const struct sampler_probed *record, struct event *event)
{
    struct probes *probes = &sampler->probes;
    event->args = (uint32_t)probes->args.count;
    if (!probe->has_arguments)
        return 0;
    if (vec_reserve(&probes->args, (size_t)2 * SAMPLER_ARGS_MAX) != 0)
        return -ENOMEM;
    int count = probe_args_end(&probes->entered, &probes->lists, record, sampler->options.trace,
                               probes->args.items + probes->args.count);
    if (count < 0)
        return count;
    probes->args.count += (size_t)count;
    event->arg_count = (uint16_t)count;
    return 0;
}

/* Adds the kind of its end, if not a return. */
static int add_end(struct bpf_sampler *sampler, const char *how, struct event *event)
{
    static const char key[] = "ended";
    struct probes *probes = &sampler->probes;
    struct trace *trace = sampler->options.trace;
    int64_t name = trace_string_add(trace, key, sizeof(key) - 1);
    int64_t text = name < 0 ? name : trace_string_add(trace, how, strlen(how));
    if (text < 0)
        return (int)text;
    const struct arg arg = {
        .key = (uint32_t)name, .kind = VALUE_STRING, .value = {.string = (uint32_t)text}};
    event->arg_count++;
    probes->left++;
    return vec_push(&probes->args, arg);
}

static const char *how_ended(uint32_t flags)
{
    return flags & SAMPLER_PROBED_OPEN   ? "not before the recording"
           : flags & SAMPLER_PROBED_LEFT ? "without a return"
                                         : NULL;
}

int sampler_take_probed(struct bpf_sampler *sampler, const struct sampler_probed *record)
{
    struct probes *probes = &sampler->probes;
    if (record->function >= probes->all.count || record->begin_ns > record->head.time_ns)
        return sampler_pass_damaged(sampler);
    const struct probe *probe = &probes->all.items[record->function];
    int64_t thread = sampler_thread_of(sampler, &record->head, (int64_t)record->begin_ns);
    if (thread < 0)
        return (int)thread;
    struct event event = {.kind = EVENT_SPAN,
                          .thread = (uint32_t)thread,
                          .time_ns = (int64_t)record->begin_ns,
                          .end_ns = (int64_t)record->head.time_ns,
                          .name = probe->name,
                          .scope = probe->scope,
                          .lane = EVENT_OWN_LANE,
                          .origin_ns = record->flags & SAMPLER_PROBED_MARK
                                           ? (int64_t)record->begin_ns
                                           : EVENT_NO_ORIGIN};
    const char *how = how_ended(record->flags);
    int error = add_args(sampler, probe, record, &event);
    if (error == 0 && how)
        error = add_end(sampler, how, &event);
    if (error == 0)
        error = vec_push(&probes->events, event);
    if (error != 0)
        return error;
    note_thread(sampler->options.trace, &event);
    probes->reported++;
    return probes->events.count >= EVENTS_MAX ? hand_on(sampler) : 0;
}

/* Ends the open ranges of a thread or goroutine at that time, if they began after `since_ns`. */
static int end_open(struct bpf_sampler *sampler, const struct bpf_probed *probed,
                    const struct sampler_probed *like, uint64_t since_ns)
{
    int error = 0;
    for (uint32_t i = probed->open.count; i-- > 0 && error == 0;) {
        const struct sampler_opened *range = &probed->open.ranges[i % SAMPLER_OPEN_MAX];
        struct sampler_probed record = *like;
        record.begin_ns = range->begin_ns;
        record.function = range->function;
        if (range->function != SAMPLER_OPENED_NONE && range->begin_ns >= since_ns &&
            range->begin_ns <= like->head.time_ns)
            error = sampler_take_probed(sampler, &record);
    }
    return error;
}

/* True if the entry of the kernel's map can be deleted. At an exec the new image may enter a
 * function at any moment, so the entry of the main thread stays (the new image's first visit resets
 * it), and so does an empty one. */
static bool is_over(const struct bpf_probed *probed, uint64_t now_ns, bool exec)
{
    const struct sampler_open *open = &probed->open;
    if (exec && (open->count == 0 || probed->who.who == probed->who.pid))
        return false;
    return open->count == 0 ||
           open->ranges[(open->count - 1) % SAMPLER_OPEN_MAX].begin_ns <= now_ns;
}

/* `pid` 0: all processes. */
static int end_all(struct bpf_sampler *sampler, int32_t pid, uint64_t now_ns, uint32_t flags,
                   bool exec)
{
    struct bpf_probed *probed = calloc(1, sizeof(*probed));
    VEC(struct bpf_probed) all = {0};
    int error = probed ? 0 : -ENOMEM;
    for (bool first = true; error == 0; first = false) {
        if (bpf_program_probed_next(sampler->program, probed, first) != 0)
            break;
        if (pid == 0 || probed->who.pid == (uint32_t)pid)
            error = vec_push(&all, *probed);
    }
    for (size_t i = 0; i < all.count; i++) {
        const struct sampled *process =
            processes_find(&sampler->processes, (int32_t)all.items[i].who.pid);
        struct sampler_probed like = {.head = all.items[i].open.head, .flags = flags};
        like.head.time_ns = now_ns;
        if (error == 0)
            error = end_open(sampler, &all.items[i], &like, process ? process->exec_ns : 0);
        if (is_over(&all.items[i], now_ns, exec))
            bpf_program_probed_forget(sampler->program, &all.items[i]);
    }
    vec_free(&all);
    free(probed);
    return error;
}

int sampler_end_probed_image(struct bpf_sampler *sampler, const struct sampler_head *head)
{
    if (sampler->probes.all.count == 0)
        return 0;
    return end_all(sampler, head->pid, head->time_ns, SAMPLER_PROBED_LEFT, true);
}

int sampler_end_probed(struct bpf_sampler *sampler, const struct sampler_head *head, bool all)
{
    const struct sampled *process = processes_find(&sampler->processes, head->pid);
    const struct sampler_probed like = {.head = *head, .flags = SAMPLER_PROBED_LEFT};
    if (sampler->probes.all.count == 0)
        return 0;
    if (all)
        return end_all(sampler, head->pid, head->time_ns, SAMPLER_PROBED_LEFT, false);
    struct bpf_probed *probed = calloc(1, sizeof(*probed));
    if (!probed)
        return -ENOMEM;
    probed->who.who = (uint32_t)head->tid;
    probed->who.pid = (uint32_t)head->pid;
    int error = 0;
    for (uint32_t pairs = 0; pairs < 2 && error == 0; pairs++) {
        probed->who.pairs = pairs;
        if (!bpf_program_probed_find(sampler->program, probed) ||
            probed->open.start_ns != head->thread_start_ns)
            continue;
        error = end_open(sampler, probed, &like, process ? process->exec_ns : 0);
        bpf_program_probed_forget(sampler->program, probed);
    }
    free(probed);
    return error;
}

int sampler_finish_probes(struct bpf_sampler *sampler)
{
    int error = 0;
    if (sampler->probes.all.count > 0)
        error = end_all(sampler, 0, sampler->now_ns, SAMPLER_PROBED_OPEN, false);
    return error == 0 && sampler->probes.events.count > 0 ? hand_on(sampler) : error;
}

/* ---- Cost ------------------------------------------------------------------------------------ */

static uint64_t calls_of(const struct bpf_sampler *sampler, size_t number)
{
    return bpf_program_probe_calls(sampler->program, (uint32_t)number, false) +
           bpf_program_probe_calls(sampler->program, (uint32_t)number, true);
}

/* Percent of a processor. */
static double cost_of(const struct probe *probe)
{
    return probe->off ? 0 : probe->rate * (double)probe->call_ns * 1e-7;
}

static double look(struct bpf_sampler *sampler, double seconds)
{
    struct probes *probes = &sampler->probes;
    double sum = 0;
    for (size_t i = 0; i < probes->all.count; i++) {
        struct probe *probe = &probes->all.items[i];
        uint64_t calls = calls_of(sampler, i);
        probe->rate = (double)(calls - probe->calls) / seconds;
        probe->calls = calls;
        sum += cost_of(probe);
    }
    return sum;
}

static int switch_off(struct bpf_sampler *sampler, size_t number)
{
    struct probes *probes = &sampler->probes;
    struct probe *probe = &probes->all.items[number];
    struct trace *trace = sampler->options.trace;
    char note[400];
    snprintf(note, sizeof(note),
             "range \"%.200s\" was switched off: %.0f calls a second take %.0f %% of a processor, "
             "more than the budget of %g %%",
             trace_string(trace, probe->name)->bytes, probe->rate, cost_of(probe),
             sampler->options.range_budget);
    bpf_program_unprobe(sampler->program, (uint32_t)number);
    probe->off = true;
    probes->off++;
    return trace_fact_set(trace, FACT_NOTE, note, 1);
}

/* Removes the hottest first, until the rest is within the budget. */
static int govern(struct bpf_sampler *sampler, double seconds)
{
    struct probes *probes = &sampler->probes;
    double sum = look(sampler, seconds);
    int error = 0;
    while (error == 0 && sampler->options.range_budget > 0 && sum > sampler->options.range_budget) {
        size_t hottest = 0;
        for (size_t i = 1; i < probes->all.count; i++)
            if (cost_of(&probes->all.items[i]) > cost_of(&probes->all.items[hottest]))
                hottest = i;
        double cost = cost_of(&probes->all.items[hottest]);
        if (cost <= 0)
            break;
        sum -= cost;
        error = switch_off(sampler, hottest);
    }
    return error;
}

int sampler_step_probes(struct bpf_sampler *sampler)
{
    struct probes *probes = &sampler->probes;
    int error = 0;
    if (probes->all.count == 0)
        return 0;
    if (!sampler->finished && sampler->now_ns - probes->since_ns >= WINDOW_NS) {
        error = govern(sampler, (double)(sampler->now_ns - probes->since_ns) * 1e-9);
        probes->since_ns = sampler->now_ns;
    }
    return error == 0 && probes->events.count > 0 ? hand_on(sampler) : error;
}

/* Notes wishes without any range in the recording. Calls are only known in total, not by
 * function. */
static int note_idle(const struct probes *probes, uint64_t calls, struct trace *trace)
{
    int error = 0;
    for (size_t i = 0; i < probes->wishes.count && error == 0; i++) {
        const struct probe_wish *wish = &probes->wishes.items[i];
        char note[400];
        snprintf(note, sizeof(note), TRACE_FACT_IDLE_OPTION "--probe %.200s: %s", wish->text,
                 wish->count == 0 ? "no such function was loaded" : "it was not called");
        if (wish->count == 0 || calls == 0)
            error = trace_fact_set(trace, FACT_NOTE, note, 1);
    }
    return error;
}

int sampler_write_probes(const struct bpf_sampler *sampler)
{
    const struct probes *probes = &sampler->probes;
    struct trace *trace = sampler->options.trace;
    uint64_t calls = 0, foreign = 0, call_ns = 0;
    if (probes->wishes.count == 0)
        return 0;
    for (size_t i = 0; i < probes->all.count; i++) {
        if (call_ns < probes->all.items[i].call_ns)
            call_ns = probes->all.items[i].call_ns;
        calls += bpf_program_probe_calls(sampler->program, (uint32_t)i, false);
        foreign += bpf_program_probe_calls(sampler->program, (uint32_t)i, true);
    }

    const struct {
        enum fact_kind kind;
        const char *name;
        uint64_t value;
    } facts[] = {
        {FACT_COUNT, "ranges of functions: functions", probes->all.count},
        {FACT_COUNT, "ranges of functions: entries met", calls},
        {FACT_COUNT, "ranges of functions: calls in programs that are not recorded", foreign},
        {FACT_COUNT, "ranges of functions: ended without a return", probes->left},
        {FACT_COUNT, "ranges of functions: ns a call, as measured here", call_ns},
        {FACT_LOSS, "ranges of functions: functions that were switched off", probes->off},
        {FACT_LOSS, "ranges of functions: calls whose arguments are missing",
         probes->entered.lost + probes->entered.cut},
    };

    int error = 0;
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]) && error == 0; i++)
        error = trace_fact_set(trace, facts[i].kind, facts[i].name, facts[i].value);
    return error == 0 && sampler->finished ? note_idle(probes, calls, trace) : error;
}
