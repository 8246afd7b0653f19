/* SPDX-License-Identifier: MIT */
/* The sentences of a headline. */
#include "headline.h"

#include "awaits.h"
#include "report.h"
#include "report_samples.h"
#include "text.h"
#include "trace.h"
#include "wait_kind.h"
#include "wall.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Hundredths of the wall: causes below the first are "other waits"; from the second on they name
 * their places, which have at least the third. */
enum { CAUSE_MIN = 1, CAUSE_PLACES = 10, PLACE_MIN = 5, PLACES_MAX = 2, SAMPLES_MIN = 5 };

/* Part of a processor; below it, other programs do not matter. Their clocks are too coarse for
 * shorter times. */
#define OTHERS_MIN     0.05
#define OTHERS_WALL_NS UINT64_C(300000000)

/* Other waits are mentioned from this part of the wall on. */
enum { OTHER_PART = 1000 };

/* Hundredths of the wall from which the running share is written with tenths, as are all shares
 * below 10 %. */
enum { RUNNING_TENTHS = 90 };

/* Names of roles: limit of distinct ones, and the number printed. */
enum { ROLE_NAME_SIZE = 64, ROLES_MAX = 64, ROLES_TOLD = 2, HOSTS_TOLD = 3 };

const char *headline_brief(const struct trace *trace, char buffer[HEADLINE_BRIEF_SIZE])
{
    int64_t least_ns = trace_sampling_get(trace)->off_cpu_threshold_ns;
    char time[NUMBER_TEXT_SIZE];
    if (least_ns > 0 && least_ns % 1000000 == 0)
        snprintf(buffer, HEADLINE_BRIEF_SIZE, "waits below %lld ms", (long long)least_ns / 1000000);
    else if (least_ns > 0)
        snprintf(buffer, HEADLINE_BRIEF_SIZE, "waits below %s",
                 number_time_short((uint64_t)least_ns, time));
    else
        snprintf(buffer, HEADLINE_BRIEF_SIZE, "short waits");
    return buffer;
}

/* ---- The wall time --------------------------------------------------------------------------- */

/* One part of the sentence about waits. */
struct part {
    unsigned kind; /* WAIT_PREEMPTED: ready; WAIT_KINDS: other waits */
    uint64_t time_ns;
};

static int largest_first(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? 1 : -1;
    return (int)a->kind - (int)b->kind;
}

static uint64_t if_small(const struct wall_totals *totals, uint64_t time_ns)
{
    return time_ns * 100 < totals->wall_ns * CAUSE_MIN ? time_ns : 0;
}

/* Finds waits by cause, the longest first, small ones together at the end, so that the sum is
 * complete. Returns their number. */
static unsigned find_parts(const struct report_facts *facts, struct part parts[WAIT_KINDS + 1])
{
    const struct wall_totals *totals = wall_totals(facts->wall);
    const struct wall_wait *waits;
    uint32_t wait_count = wall_waits(facts->wall, &waits);
    uint64_t sums[WAIT_KINDS] = {[WAIT_PREEMPTED] = totals->runnable_ns};
    uint64_t other_ns = if_small(totals, totals->short_ns) + if_small(totals, totals->absent_ns);
    unsigned count = 0;
    for (uint32_t i = 0; i < wait_count; i++)
        sums[waits[i].kind] += waits[i].time_ns;
    for (unsigned kind = 0; kind < WAIT_KINDS; kind++)
        if (sums[kind] > if_small(totals, sums[kind]))
            parts[count++] = (struct part){kind, sums[kind]};
        else
            other_ns += sums[kind];
    qsort(parts, count, sizeof(*parts), largest_first);
    if (other_ns * OTHER_PART >= totals->wall_ns && other_ns > 0)
        parts[count++] = (struct part){WAIT_KINDS, other_ns};
    return count;
}

/* " (poll_device awaits sleep)": the place where tasks of an event loop were suspended longest. */
static bool add_awaits(const struct trace *trace, const struct report_facts *facts,
                       struct text *text)
{
    const struct await_place *places;
    uint32_t count = awaits_places(facts->awaits, &places);
    if (count == 0 || places[0].function == 0)
        return false;
    text_format(text, " (%s awaits %s)", trace_string(trace, places[0].function)->bytes,
                trace_string(trace, places[0].awaits)->bytes);
    return true;
}

/* " (call_api 57 %, query_db 29 %)" */
static void add_places(const struct trace *trace, const struct report_facts *facts,
                       const struct part *part, struct text *text)
{
    const struct wall_totals *totals = wall_totals(facts->wall);
    const struct wall_wait *waits;
    uint32_t count = wall_waits(facts->wall, &waits);
    char name[128], share[NUMBER_TEXT_SIZE];
    unsigned told = 0;
    if (part->time_ns * 100 < totals->wall_ns * CAUSE_PLACES)
        return;
    if (part->kind == WAIT_POLL && add_awaits(trace, facts, text))
        return;
    for (uint32_t i = 0; i < count && told < PLACES_MAX; i++) {
        if (waits[i].kind != part->kind || waits[i].label == 0 ||
            waits[i].time_ns * 100 < totals->wall_ns * PLACE_MIN)
            continue;
        code_name(trace, waits[i].label, name, sizeof(name));
        text_format(text, "%s%s", told++ ? ", " : " (", name);
        if (waits[i].time_ns < part->time_ns)
            text_format(text, " %s", number_share(waits[i].time_ns, totals->wall_ns, share));
    }
    if (told)
        text_format(text, ")");
}

/* Writes the running share. Beside a rest of a few tenths it has tenths too, so that the sum
 * matches. */
static const char *running_share(const struct wall_totals *totals, char share[NUMBER_TEXT_SIZE])
{
    double percent =
        totals->wall_ns ? 100.0 * (double)totals->running_ns / (double)totals->wall_ns : 0;
    if (percent < RUNNING_TENTHS || percent >= 99.95)
        return number_share(totals->running_ns, totals->wall_ns, share);
    snprintf(share, NUMBER_TEXT_SIZE, "%.1f %%", percent);
    return share;
}

static void add_parts(const struct trace *trace, const struct report_facts *facts,
                      struct text *text)
{
    const struct wall_totals *totals = wall_totals(facts->wall);
    struct part parts[WAIT_KINDS + 1];
    unsigned count = find_parts(facts, parts);
    char share[NUMBER_TEXT_SIZE], brief[HEADLINE_BRIEF_SIZE];
    text_format(text, "%s running", running_share(totals, share));
    if (totals->processors > 1 && totals->full_ns * 100 >= totals->wall_ns)
        text_format(text,
                    totals->processors == 2 ? " (%s on both processors)"
                                            : " (%s on all %u processors)",
                    number_share(totals->full_ns, totals->wall_ns, share), totals->processors);
    for (unsigned i = 0; i < count; i++) {
        bool other = parts[i].kind == WAIT_KINDS;
        text_format(text, ", %s %s", number_share(parts[i].time_ns, totals->wall_ns, share),
                    other ? "other waits" : wait_phrase(parts[i].kind));
        if (!other)
            add_places(trace, facts, &parts[i], text);
    }
    if (totals->short_ns > if_small(totals, totals->short_ns))
        text_format(text, ", %s in %s", number_share(totals->short_ns, totals->wall_ns, share),
                    headline_brief(trace, brief));
    if (totals->absent_ns > if_small(totals, totals->absent_ns))
        text_format(text,
                    trace_captures(trace) == CAPTURES_KNOWN
                        ? ", %s outside of the range"
                        : ", %s before its start or after its end",
                    number_share(totals->absent_ns, totals->wall_ns, share));
}

/* Without waits, only CPU time is known. */
static void add_cpu(const struct trace *trace, const struct report_facts *facts, struct text *text)
{
    uint64_t wall_ns = (uint64_t)facts->totals->wall_ns, cpu_ns = facts->samples->all.cpu_ns;
    char share[NUMBER_TEXT_SIZE], rest[NUMBER_TEXT_SIZE];
    if (facts->samples->all.sample_count == 0)
        text_format(text, "no CPU time was sampled");
    else if (facts->holds_gil)
        text_format(text, "%s of it a thread ran with the GIL held",
                    number_share(cpu_ns, wall_ns, share));
    else if (own_time_totals(facts->own)->busy_count > 1 || cpu_ns > wall_ns)
        text_format(text, "%.2f processors used, on average",
                    wall_ns ? (double)cpu_ns / (double)wall_ns : 0.0);
    else
        text_format(text, "%s running, %s not", number_share(cpu_ns, wall_ns, share),
                    number_share(wall_ns - cpu_ns, wall_ns, rest));
    if (!trace_sampling_get(trace)->off_cpu)
        text_format(text, " (what it waited for was not recorded)");
}

/* ---- Use of the processors ------------------------------------------------------------------- */

/* Processes, or threads of the only one, with the same name up to a number at the end. */
struct role {
    char name[ROLE_NAME_SIZE];
    uint32_t first, count;
    uint64_t cpu_ns;
};

struct roles {
    struct role items[ROLES_MAX];
    unsigned count;
    bool of_threads;
};

static void cut_number(char *name)
{
    size_t length = strlen(name);
    while (length > 0 && strchr("0123456789", name[length - 1]))
        length--;
    while (length > 0 && name[length] && strchr("-_ #", name[length - 1]))
        length--;
    if (length > 0)
        name[length] = '\0';
}

static void add_role(struct roles *roles, const char *name, uint32_t ordinal, uint64_t cpu_ns)
{
    struct role *role = roles->items;
    while (role < roles->items + roles->count && strcmp(role->name, name) != 0)
        role++;
    if (role == roles->items + ROLES_MAX) /* limit reached: the last role takes all others */
        role--;
    if (role == roles->items + roles->count) {
        *role = (struct role){.first = ordinal};
        snprintf(role->name, sizeof(role->name), "%s", name);
        roles->count++;
    }
    role->count++;
    role->cpu_ns += cpu_ns;
}

static int by_cpu_time(const void *left, const void *right)
{
    const struct role *a = left, *b = right;
    if (a->cpu_ns != b->cpu_ns)
        return a->cpu_ns < b->cpu_ns ? 1 : -1;
    return strcmp(a->name, b->name);
}

/* Finds the roles with at least a hundredth of the CPU time, largest first. -ENOMEM. */
static int find_roles(const struct trace *trace, const struct sample_stats *samples,
                      struct roles *roles)
{
    uint32_t processes = trace_process_count(trace), busy = 0, last = 0;
    uint64_t *cpu_ns = calloc((size_t)processes + 1, sizeof(*cpu_ns));
    char name[ROLE_NAME_SIZE];
    if (!cpu_ns)
        return -ENOMEM;
    for (uint32_t i = 0; i < samples->thread_count; i++)
        cpu_ns[trace_thread_get(trace, i)->process] += samples->threads[i].cpu_ns;
    for (uint32_t i = 0; i < processes; i++)
        if (cpu_ns[i] > 0 && cpu_ns[i] * 100 >= samples->all.cpu_ns) {
            trace_process_label(trace, i, name, sizeof(name));
            cut_number(name);
            add_role(roles, name, i, cpu_ns[i]);
            busy++;
            last = i;
        }
    free(cpu_ns);
    if (busy == 1) {
        *roles = (struct roles){.of_threads = true};
        for (uint32_t i = 0; i < samples->thread_count; i++) {
            uint64_t thread_ns = samples->threads[i].cpu_ns;
            if (trace_thread_get(trace, i)->process != last || thread_ns == 0)
                continue;
            trace_thread_label(trace, i, name, sizeof(name));
            cut_number(name);
            add_role(roles, name, i, thread_ns);
        }
    }
    qsort(roles->items, roles->count, sizeof(*roles->items), by_cpu_time);
    return 0;
}

/* Returns a readable name for Python's workers; NULL: keep their names. */
static const char *role_of_python(const struct roles *roles, const struct role *role)
{
    static const char *const begins[] = {"Fork", "Spawn", "Loky", "Process"};
    bool worker = strstr(role->name, "PoolWorker") || strstr(role->name, "Process");
    if (roles->of_threads)
        return strncmp(role->name, "ThreadPool", strlen("ThreadPool")) == 0 ? "pool threads" : NULL;
    for (size_t i = 0; worker && i < sizeof(begins) / sizeof(*begins); i++)
        if (strncmp(role->name, begins[i], strlen(begins[i])) == 0)
            return "worker processes";
    return NULL;
}

static void add_role_name(const struct trace *trace, const struct roles *roles,
                          const struct role *role, struct text *text)
{
    char name[ROLE_NAME_SIZE];
    const char *python = role_of_python(roles, role);
    if (role->count > 1 && python) {
        text_format(text, " by %u %s", role->count, python);
        return;
    }
    if (!roles->of_threads && role->first == 0 && role->count == 1) {
        text_format(text, " by the main process");
        return;
    }
    if (role->count > 1 && roles->of_threads && strcmp(role->name, "thread") == 0) {
        text_format(text, " by %u threads", role->count); /* without names */
        return;
    }
    if (role->count > 1) {
        text_format(text, " by %u %s %s", role->count, role->name,
                    roles->of_threads ? "threads" : "processes");
        return;
    }
    if (roles->of_threads)
        trace_thread_label(trace, role->first, name, sizeof(name));
    else
        trace_process_label(trace, role->first, name, sizeof(name));
    bool named = strncmp(name, "thread ", strlen("thread ")) != 0; /* "thread 25782" is no name */
    text_format(text, " by %s%s", roles->of_threads && named ? "thread " : "", name);
}

/* Adds "; other programs used 0.41, the host of this virtual machine took 0.1", if relevant. */
static void add_others(const struct report_facts *facts, const struct wall_totals *totals,
                       struct text *text)
{
    const struct {
        uint64_t ms;
        const char *who;
    } takers[] = {{facts->others_ms, "other programs used"},
                  {facts->stolen_ms, "the host of this virtual machine took"}};

    double wall_ms = (double)totals->wall_ns / 1e6;
    double left = totals->processors - (double)totals->busy_ns / (double)totals->wall_ns;
    const char *before = "; ";
    if (totals->wall_ns < OTHERS_WALL_NS)
        return;
    for (size_t i = 0; i < sizeof(takers) / sizeof(*takers); i++) {
        double part = (double)takers[i].ms / wall_ms;
        part = part < left ? part : left;
        if (part < OTHERS_MIN * totals->processors)
            continue;
        left -= part;
        text_format(text, "%s%s %.2f", before, takers[i].who, part);
        before = ", ";
    }
}

/* Adds " (1.02 of 2 on node1, 0.4 of 4 on node2)": the busiest hosts of a merge, or the busiest and
 * the idlest. */
static void add_hosts(const struct trace *trace, const struct report_facts *facts,
                      struct text *text)
{
    const struct wall_host *hosts;
    uint32_t count = wall_hosts(facts->wall, &hosts);
    double wall_ns = (double)wall_totals(facts->wall)->wall_ns;
    for (uint32_t i = 0; count > 1 && i < count; i++) {
        const struct wall_host *host = &hosts[i];
        const char *name = trace_string(trace, trace_host_get(trace, host->host)->name)->bytes;
        if (count > HOSTS_TOLD && i > 0 && i + 1 < count)
            continue;
        text_format(text, "%s%.2f of %u on %s", i ? (count > HOSTS_TOLD ? " to " : ", ") : " (",
                    wall_ns > 0 ? (double)host->busy_ns / wall_ns : 0.0, host->processors,
                    name[0] ? name : "a host without a name");
    }
    text_format(text, "%s", count > 1 ? ")" : "");
}

/* " 0.72 of 2 processors used: 93 % by 2 ForkPoolWorker processes." */
static void add_processors(const struct trace *trace, const struct report_facts *facts,
                           struct text *text)
{
    const struct wall_totals *totals = wall_totals(facts->wall);
    uint64_t cpu_ns = facts->samples->all.cpu_ns, told_ns = 0;
    char share[NUMBER_TEXT_SIZE];
    if (totals->processors < 2 || facts->by_wall)
        return;
    text_format(text, " %.2f of %u processors used",
                (double)totals->busy_ns / (double)(totals->wall_ns ? totals->wall_ns : 1),
                totals->processors);
    add_hosts(trace, facts, text);
    struct roles *roles = calloc(1, sizeof(*roles));
    int rc = roles ? find_roles(trace, facts->samples, roles) : -ENOMEM;
    for (unsigned i = 0; rc == 0 && i < roles->count && i < ROLES_TOLD; i++) {
        const struct role *role = &roles->items[i];
        if (told_ns * 10 >= cpu_ns * 9 || role->cpu_ns * 20 < cpu_ns)
            break;
        text_format(text, "%s%s", i ? ", " : ": ", number_share(role->cpu_ns, cpu_ns, share));
        add_role_name(trace, roles, role, text);
        told_ns += role->cpu_ns;
    }
    add_others(facts, totals, text);
    text_format(text, ".");
    free(roles);
}

size_t headline_wall(const struct trace *trace, const struct report_facts *facts, char *buffer,
                     size_t size)
{
    struct text text = text_init(buffer, size);
    char time[NUMBER_TEXT_SIZE];
    text_format(&text, "%s wall: ", number_time_short((uint64_t)facts->totals->wall_ns, time));
    if (facts->wall)
        add_parts(trace, facts, &text);
    else if (facts->own)
        add_cpu(trace, facts, &text);
    else
        text_format(&text, "nothing was sampled");
    text_format(&text, ".");
    if (facts->wall)
        add_processors(trace, facts, &text);
    return text.length;
}

/* ---- The hottest function -------------------------------------------------------------------- */

/* If one thread did the work, its samples may sum up to more than the wall time. */
static uint64_t no_more(const struct report_facts *facts, uint64_t cpu_ns)
{
    uint64_t wall_ns = (uint64_t)facts->totals->wall_ns;
    return facts->by_wall && cpu_ns > wall_ns ? wall_ns : cpu_ns;
}

size_t headline_hottest(const struct trace *trace, const struct report_facts *facts, char *buffer,
                        size_t size)
{
    struct text text = text_init(buffer, size);
    const struct own_row *rows;
    uint32_t count = facts->own ? own_time_rows(facts->own, false, &rows) : 0;
    char name[256], place[512], time[NUMBER_TEXT_SIZE], share[NUMBER_TEXT_SIZE];
    if (size > 0)
        buffer[0] = 0;
    while (count > 0 && rows[0].label == 0) { /* time outside of own functions has no line */
        rows++;
        count--;
    }
    if (count == 0 || rows[0].sample_count < SAMPLES_MIN)
        return 0;
    uint64_t cpu_ns = no_more(facts, own_time_totals(facts->own)->cpu_ns);
    uint64_t own_ns = no_more(facts, rows[0].cpu_ns);
    code_name(trace, rows[0].label, name, sizeof(name));
    code_location(trace, rows[0].label, rows[0].line, place, sizeof(place));
    text_format(&text, "%s", name);
    size_t length = text.length;
    if (place[0])
        text_format(&text, " (%s)", place);
    text_format(&text, ", %s", number_time_short(own_ns, time));
    text_format(&text, ", %s of", number_share(own_ns, cpu_ns, share));
    text_format(&text, " %s CPU time.", number_time_short(cpu_ns, time));
    return length;
}
