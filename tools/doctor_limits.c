/* SPDX-License-Identifier: MIT */
/* `annot doctor`: limits of this process that its programs inherit, and what the kernel's switches
 * forbid. Of each that is in the way, the command that lifts it in this shell. */
#include "doctor_parts.h"

#include "host_facts.h"
#include "host_needs.h"
#include "number_text.h"
#include "sampler.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

enum {
    CAP_OF_LIMITS = 24, /* CAP_SYS_RESOURCE: may raise hard limits */
    PARANOID_PLAIN = 2, /* the strictest of Linux's own */
};

struct limit {
    const char *letter; /* of ulimit */
    const char *name;   /* of prlimit(1) */
    const char *value;  /* to set it to */
    const char *number; /* where that must be one */
    rlim_t soft, hard;
};

static struct limit read_limit(int resource, struct limit limit)
{
    struct rlimit read = {RLIM_INFINITY, RLIM_INFINITY};
    getrlimit(resource, &read);
    limit.soft = read.rlim_cur;
    limit.hard = read.rlim_max;
    return limit;
}

/* Soft limits are the user's own; a hard one is raised by root, unless that capability was taken
 * away for good. */
static void hint_at(struct doctor_finding *it, const struct limit *limit, uint64_t wanted,
                    const struct host_facts *facts)
{
    it->state = DOCTOR_MISSING;
    if (limit->hard >= wanted)
        snprintf(it->hint, sizeof(it->hint), "ulimit -S -%s $(ulimit -H -%s)", limit->letter,
                 limit->letter);
    else if (host_facts_may(facts, CAP_OF_LIMITS))
        snprintf(it->hint, sizeof(it->hint), "ulimit -%s %s", limit->letter, limit->value);
    else if (facts->bounding >> CAP_OF_LIMITS & 1)
        snprintf(it->hint, sizeof(it->hint), "sudo prlimit --pid $$ --%s=%s", limit->name,
                 limit->value);
    else
        snprintf(it->hint, sizeof(it->hint),
                 "root cannot raise it in here: start the container with --ulimit %s=%s",
                 limit->name, limit->number);
}

static int64_t number_or_none(rlim_t value)
{
    return value > INT64_MAX ? DOCTOR_NO_NUMBER : (int64_t)value; /* RLIM_INFINITY is larger */
}

static void tell_limit(struct doctor_finding *it, const struct limit *limit, uint64_t wanted)
{
    doctor_fact_number(it, "soft", number_or_none(limit->soft));
    doctor_fact_number(it, "hard", number_or_none(limit->hard));
    doctor_fact_number(it, "wanted", (int64_t)wanted);
}

/* A program's file in shared memory has its whole size from the start; the collector's recording
 * grows. */
static void look_at_file_size(struct doctor *doctor, const struct host_facts *facts)
{
    struct doctor_finding *it = doctor_add(doctor, DOCTOR_MACHINE, "file size");
    const struct limit limit = read_limit(
        RLIMIT_FSIZE,
        (struct limit){.letter = "f", .name = "fsize", .value = "unlimited", .number = "-1"});
    uint64_t wanted = host_needs_file_bytes();
    char size[NUMBER_TEXT_SIZE], need[NUMBER_TEXT_SIZE];
    tell_limit(it, &limit, wanted);
    if (limit.soft == RLIM_INFINITY) {
        snprintf(it->text, sizeof(it->text), "unlimited");
        return;
    }
    snprintf(it->text, sizeof(it->text),
             limit.soft < wanted ? "at most %s; each program needs a file of %s in shared memory"
                                 : "at most %s: recordings end there",
             number_size(limit.soft, size), number_size(wanted, need));
    it->state = DOCTOR_NOTE;
    if (limit.soft < wanted)
        hint_at(it, &limit, wanted, facts);
}

/* annot raises its soft limit itself, and gives programs the old one. */
static void look_at_files(struct doctor *doctor, const struct host_facts *facts)
{
    struct doctor_finding *it = doctor_add(doctor, DOCTOR_MACHINE, "open files");
    const struct limit limit = read_limit(
        RLIMIT_NOFILE,
        (struct limit){.letter = "n", .name = "nofile", .value = "65536", .number = "65536"});
    uint64_t wanted = SAMPLER_FILES_LEAST;
    tell_limit(it, &limit, wanted);
    if (limit.hard >= wanted) {
        snprintf(it->text, sizeof(it->text), "%" PRIu64 " may be open", (uint64_t)limit.hard);
        return;
    }
    snprintf(it->text, sizeof(it->text),
             "%" PRIu64 " may be open; to sample, annot needs %" PRIu64 " and more for libraries",
             (uint64_t)limit.hard, wanted);
    hint_at(it, &limit, wanted, facts);
}

/* Told, because other tools need it. */
static void look_at_locked_memory(struct doctor *doctor)
{
    struct doctor_finding *it = doctor_add(doctor, DOCTOR_MACHINE, "locked");
    const struct limit limit = read_limit(RLIMIT_MEMLOCK, (struct limit){.letter = "l"});
    char size[NUMBER_TEXT_SIZE];
    tell_limit(it, &limit, 0);
    snprintf(it->text, sizeof(it->text), "%s of memory may be locked; annot locks none",
             limit.soft == RLIM_INFINITY ? "any amount" : number_size(limit.soft, size));
}

/* INT32_MIN: the kernel does not have it. */
static int64_t switch_value(int value)
{
    return value == INT32_MIN ? DOCTOR_NO_NUMBER : value;
}

/* Above 2, which Linux itself does not know, some distributions ask for more than CAP_PERFMON. */
static void look_at_perf(struct doctor *doctor, const struct host_facts *facts)
{
    struct doctor_finding *it = doctor_add(doctor, DOCTOR_MACHINE, "perf");
    bool admin = host_facts_may(facts, FACT_CAP_SYS_ADMIN);
    bool may = admin || host_facts_may(facts, FACT_CAP_PERFMON);
    int level = facts->perf_paranoid;
    bool strict = level > PARANOID_PLAIN && !admin;
    it->state = may && !strict && level != INT32_MIN ? DOCTOR_GOOD : DOCTOR_NOTE;
    doctor_fact_number(it, "paranoid", switch_value(level));
    if (level == INT32_MIN)
        snprintf(it->text, sizeof(it->text), "the kernel has no perf events");
    else
        snprintf(it->text, sizeof(it->text), "kernel.perf_event_paranoid is %d%s", level,
                 strict ? "; some distributions ask for root above 2"
                 : may  ? "; this user passes it"
                        : "; without CAP_PERFMON annot takes none");
    if (strict)
        snprintf(it->hint, sizeof(it->hint), "sudo sysctl kernel.perf_event_paranoid=%d",
                 PARANOID_PLAIN);
}

/* Of a program that annot did not start, memory is read only where Yama lets it. */
static void look_at_ptrace(struct doctor *doctor, const struct host_facts *facts)
{
    static const char *const scopes[] = {
        "memory of this user's programs can be read",
        "memory of descendants only can be read: attach and dump need more without eBPF",
        "memory of programs can be read with CAP_SYS_PTRACE only",
        "memory of programs cannot be read by anybody until the next boot",
    };
    struct doctor_finding *it = doctor_add(doctor, DOCTOR_MACHINE, "ptrace");
    bool may = host_facts_may(facts, FACT_CAP_SYS_PTRACE);
    int scope = facts->yama_scope;
    doctor_fact_number(it, "yama_scope", switch_value(scope));
    if (scope == INT32_MIN) {
        snprintf(it->text, sizeof(it->text), "no Yama: %s", scopes[0]);
        return;
    }
    scope = scope < 0 ? 0 : scope > 3 ? 3 : scope;
    bool passes = scope == 0 || (may && scope < 3);
    snprintf(it->text, sizeof(it->text), "kernel.yama.ptrace_scope is %d: %s", facts->yama_scope,
             scope > 0 && passes ? "this user passes it" : scopes[scope]);
    it->state = passes ? DOCTOR_GOOD : DOCTOR_NOTE;
    if (!passes && scope < 3)
        snprintf(it->hint, sizeof(it->hint), "sudo sysctl kernel.yama.ptrace_scope=0");
}

void doctor_look_at_limits(struct doctor *doctor, const struct host_facts *facts)
{
    look_at_file_size(doctor, facts);
    look_at_files(doctor, facts);
    look_at_locked_memory(doctor);
    look_at_perf(doctor, facts);
    look_at_ptrace(doctor, facts);
}
