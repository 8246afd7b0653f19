/* SPDX-License-Identifier: MIT */
/* The machine: its facts for a recording, and the resources that recording needs. */
#include "collector_host.h"

#include "annot_wire.h"
#include "clock_now.h"
#include "file_io.h"
#include "options.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* ---- Facts of the machine -------------------------------------------------------------------- */

/* Its boot id shows if two recordings share a clock; its wall clock, how far two machines are
 * apart. */

enum { ANCHOR_TRIES = 5, BOOT_ID_TEXT = 64 };

static uint32_t add_text(struct trace *trace, const char *text)
{
    int64_t ordinal = trace_string_add(trace, text, strlen(text));
    return ordinal > 0 ? (uint32_t)ordinal : 0;
}

void host_describe_place(struct trace *trace, const struct collector_options *options)
{
    struct trace_session *entry = trace_session(trace);
    char directory[PATH_MAX];
    cpu_set_t processors;
    const char *place = options->place ? options->place : getcwd(directory, sizeof(directory));
    entry->directory = place ? add_text(trace, place) : 0;
    if (sched_getaffinity(0, sizeof(processors), &processors) == 0)
        entry->processors = (uint32_t)CPU_COUNT(&processors);
    if (options->note)
        (void)trace_fact_set(trace, FACT_NOTE, options->note, 1); /* out of memory: omit it */
}

void host_add_processors(struct trace *trace, cpu_set_t *known, int32_t pid)
{
    struct trace_session *entry = trace_session(trace);
    char path[64];
    snprintf(path, sizeof(path), "/proc/%" PRId32 "/task", pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return;
    for (const struct dirent *task; (task = readdir(tasks));) {
        cpu_set_t set;
        int thread = atoi(task->d_name);
        if (thread > 0 && sched_getaffinity(thread, sizeof(set), &set) == 0)
            CPU_OR(known, known, &set);
    }
    closedir(tasks);
    if (CPU_COUNT(known) > 0)
        entry->processors = (uint32_t)CPU_COUNT(known);
    entry->revision++;
}

static int digit_of(char letter)
{
    return letter >= '0' && letter <= '9'   ? letter - '0'
           : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
                                            : -1;
}

/* "1234abcd-...": 32 digits. Zeros if it cannot be read. */
static void read_boot_id(uint8_t boot_id[16])
{
    char text[BOOT_ID_TEXT];
    unsigned digits = 0;
    memset(boot_id, 0, 16);
    ssize_t size = file_read_text("/proc/sys/kernel/random/boot_id", text, sizeof(text));
    for (ssize_t i = 0; i < size && digits < 32; i++) {
        int digit = digit_of(text[i]);
        if (digit < 0)
            continue;
        boot_id[digits / 2] = (uint8_t)(boot_id[digits / 2] << 4 | digit);
        digits++;
    }
    if (digits != 32)
        memset(boot_id, 0, 16);
}

/* The most precise of a few readings. */
static struct trace_anchor read_wall_clock(void)
{
    struct trace_anchor best = {.error_ns = INT64_MAX};
    for (int i = 0; i < ANCHOR_TRIES; i++) {
        int64_t before_ns = clock_now_ns();
        int64_t real_ns = clock_real_ns();
        int64_t error_ns = (clock_now_ns() - before_ns) / 2 + 1;
        if (error_ns < best.error_ns)
            best = (struct trace_anchor){
                .raw = (uint64_t)real_ns, .ns = before_ns + error_ns, .error_ns = error_ns};
    }
    return best;
}

int host_anchor(struct trace *trace)
{
    struct trace_anchor anchor = read_wall_clock();
    int64_t added = trace_clock_count(trace) ? trace_anchor_add(trace, &anchor) : 0;
    return added < 0 ? (int)added : 0;
}

/* A number that launchers of parallel programs set in each of their processes; -1: unset. */
static int64_t count_of_launcher(const char *const *names)
{
    uint64_t count;
    for (; *names; names++) {
        const char *text = getenv(*names);
        if (text && options_parse_count(text, &count) == 0 && count <= INT32_MAX)
            return (int64_t)count;
    }
    return -1;
}

static int describe_rank(struct trace *trace, struct trace_host *host)
{
    static const char *const ranks[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID",
                                        NULL};
    static const char *const sizes[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                        "SLURM_NTASKS", NULL};
    int64_t rank = count_of_launcher(ranks), size = count_of_launcher(sizes);
    host->rank = (int32_t)rank;
    if (rank < 0 || size <= 0)
        return 0;
    return trace_fact_set(trace, FACT_COUNT, TRACE_FACT_RANKS, (uint64_t)size);
}

int host_describe(struct trace *trace)
{
    struct trace_session *session = trace_session(trace);
    struct utsname system;
    char kernel[256];
    uname(&system);
    snprintf(kernel, sizeof(kernel), "%s %s %s", system.sysname, system.release, system.machine);
    session->hostname = add_text(trace, system.nodename);
    session->kernel = add_text(trace, kernel);
    session->revision++;
    int64_t ordinal = trace_host_add(trace);
    if (ordinal < 0)
        return (int)ordinal;
    struct trace_host *host = trace_host(trace, (uint32_t)ordinal);
    host->name = session->hostname;
    host->kernel = session->kernel;
    read_boot_id(host->boot_id);
    int error = describe_rank(trace, host);
    if (error)
        return error;
    int64_t clock = trace_clock_add(trace, (uint32_t)ordinal, CLOCK_KIND_REALTIME);
    return clock < 0 ? (int)clock : host_anchor(trace);
}

/* ---- Use of the processors ------------------------------------------------------------------- */

/* Lines of /proc/stat, "cpu0 USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL ...", in ticks. The
 * time of guests is part of that of users. */
enum { STAT_SIZE = 1 << 16, STAT_FIELDS = 8, STAT_IDLE = 3, STAT_IOWAIT = 4, STAT_STEAL = 7 };

static void read_processor(const char *line, unsigned long which, struct host_load *load)
{
    uint64_t ms_per_tick = 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
    char *at = (char *)line + strcspn(line, " ");
    for (int i = 0; i < STAT_FIELDS && *at == ' '; i++) {
        uint64_t ms = strtoull(at, &at, 10) * ms_per_tick;
        if (i == STAT_STEAL)
            load->stolen_ms[which] += ms;
        else if (i != STAT_IDLE && i != STAT_IOWAIT)
            load->used_ms[which] += ms;
    }
    load->known = true;
}

void host_load(struct host_load *ret_load)
{
    char *text = malloc(STAT_SIZE), *rest, *end = NULL;
    ssize_t size = text ? file_read_text("/proc/stat", text, STAT_SIZE) : -1;
    char *line = size > 0 ? strtok_r(text, "\n", &rest) : NULL;
    *ret_load = (struct host_load){0};
    for (; line && strncmp(line, "cpu", 3) == 0; line = strtok_r(NULL, "\n", &rest)) {
        unsigned long which = strtoul(line + 3, &end, 10);
        if (end > line + 3 && which < CPU_SETSIZE)
            read_processor(line, which, ret_load);
    }
    free(text);
}

/* Zero if a processor was removed and came back in between. */
static uint64_t since(uint64_t before, uint64_t now)
{
    return now > before ? now - before : 0;
}

static int set_load(struct trace *trace, const struct host_load *before,
                    const struct host_load *now, const cpu_set_t *processors)
{
    uint64_t used_ms = 0, stolen_ms = 0;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, processors)) {
            used_ms += since(before->used_ms[i], now->used_ms[i]);
            stolen_ms += since(before->stolen_ms[i], now->stolen_ms[i]);
        }
    int error = trace_fact_set(trace, FACT_COUNT, TRACE_FACT_USED_MS, used_ms);
    return error ? error : trace_fact_set(trace, FACT_COUNT, TRACE_FACT_STOLEN_MS, stolen_ms);
}

int host_load_end(struct trace *trace, const struct host_load *load, const cpu_set_t *processors)
{
    cpu_set_t ours;
    bool own = CPU_COUNT(processors) == 0;
    if (!load->known || (own && sched_getaffinity(0, sizeof(ours), &ours) != 0))
        return 0;
    struct host_load *now = malloc(sizeof(*now));
    if (!now)
        return -ENOMEM;
    host_load(now);
    int error = now->known ? set_load(trace, load, now, own ? &ours : processors) : 0;
    free(now);
    return error;
}

/* ---- Needs ----------------------------------------------------------------------------------- */

/* Sizes of a segment in libannot's default layout (libannot/src/segment.c). */

static uint64_t whole_pages(uint64_t size)
{
    return (size + ANNOT_PAGE_SIZE - 1) & ~(uint64_t)(ANNOT_PAGE_SIZE - 1);
}

uint64_t host_needs_memory_bytes(void)
{
    return (uint64_t)ANNOT_BLOCK_COUNT_DEFAULT * ANNOT_BLOCK_SIZE;
}

static uint64_t segment_bytes(uint64_t threads, uint64_t strings_size, uint64_t blocks)
{
    return whole_pages(sizeof(struct annot_segment) + threads * sizeof(struct annot_thread)) +
           whole_pages(strings_size) + whole_pages(blocks * 2 * sizeof(uint32_t)) +
           blocks * ANNOT_BLOCK_SIZE;
}

uint64_t host_wants_file_bytes(void)
{
    return segment_bytes(ANNOT_THREAD_COUNT_DEFAULT, ANNOT_STRINGS_SIZE_DEFAULT,
                         ANNOT_BLOCK_COUNT_DEFAULT);
}

uint64_t host_needs_file_bytes(void)
{
    return segment_bytes(ANNOT_THREAD_COUNT_LEAST, ANNOT_STRINGS_SIZE_LEAST,
                         ANNOT_BLOCK_COUNT_LEAST);
}
