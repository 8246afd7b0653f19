/* SPDX-License-Identifier: MIT */
/* `annot doctor`: kernel, clock, rights, sandbox, and the rungs of sampling. */
#include "doctor_parts.h"

#include "file_io.h"
#include "host_facts.h"
#include "ladder.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

static void look_at_kernel(struct doctor *doctor, const struct host_facts *facts)
{
    struct doctor_finding *it = doctor_add(doctor, DOCTOR_MACHINE, "kernel");
    snprintf(it->text, sizeof(it->text), "Linux %s, %s", facts->kernel, facts->machine);
    doctor_fact_text(it, "release", facts->kernel);
    doctor_fact_text(it, "machine", facts->machine);
    doctor_fact_number(it, "btf", facts->has_btf);
}

#define CLOCK_SOURCE_FOLDER "/sys/devices/system/clocksource/clocksource0/"

static bool has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
        if ((at == text || at[-1] == ' ') && strchr(" \n", at[length]))
            return true;
    }
    return false;
}

/* What libannot does with it stands in its clock.c. */
static void look_at_clock(struct doctor *doctor)
{
    struct doctor_finding *it = doctor_add(doctor, DOCTOR_MACHINE, "clock");
    char source[64], others[256];
    file_read_text(CLOCK_SOURCE_FOLDER "current_clocksource", source, sizeof(source));
    file_read_text(CLOCK_SOURCE_FOLDER "available_clocksource", others, sizeof(others));
    source[strcspn(source, "\n")] = '\0';
    doctor_fact_text(it, "source", source);
    if (strcmp(source, "tsc") == 0 || strcmp(source, "arch_sys_counter") == 0) {
        snprintf(it->text, sizeof(it->text), "%s, read without the kernel", source);
        return;
    }
    it->state = DOCTOR_NOTE;
    snprintf(it->text, sizeof(it->text), "%s: timestamps by clock_gettime, which takes longer",
             source[0] ? source : "unknown");
    if (has_word(others, "tsc"))
        snprintf(it->hint, sizeof(it->hint),
                 "echo tsc | sudo tee " CLOCK_SOURCE_FOLDER "current_clocksource");
}

static void look_at_user(struct doctor *doctor, const struct host_facts *facts)
{
    static const struct {
        unsigned number;
        const char *name;
    } wanted[] = {
        {FACT_CAP_BPF, "CAP_BPF"},
        {FACT_CAP_PERFMON, "CAP_PERFMON"},
        {FACT_CAP_SYS_ADMIN, "CAP_SYS_ADMIN"},
        {FACT_CAP_SYS_PTRACE, "CAP_SYS_PTRACE"},
    };
    struct doctor_finding *it = doctor_add(doctor, DOCTOR_MACHINE, "user");
    const struct passwd *user = getpwuid(facts->uid);
    int used = snprintf(it->text, sizeof(it->text), "%s (uid %u), ",
                        user ? user->pw_name : "without a name", facts->uid);
    int count = 0, begin = used;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
        if (!host_facts_may(facts, wanted[i].number))
            continue;
        used += snprintf(it->text + used, sizeof(it->text) - (size_t)used, "%s%s",
                         count++ ? ", " : "", wanted[i].name);
    }
    doctor_fact_number(it, "uid", facts->uid);
    doctor_fact_text(it, "capabilities", count ? it->text + begin : "");
    if (count == 0)
        snprintf(it->text + used, sizeof(it->text) - (size_t)used,
                 "no capabilities that sampling could use");
}

/* What confines this process; sampling tells below whether it is in the way. */
static void look_at_sandbox(struct doctor *doctor, const struct host_facts *facts)
{
    static const char *const containers[] = {"", "Docker", "Podman", "Kubernetes", "a container"};

    const struct {
        bool holds;
        const char *text;
    } parts[] = {
        {facts->container != CONTAINER_NONE, containers[facts->container]},
        {facts->seccomp_mode > 0, "a seccomp filter"},
        {facts->user_namespace, "a user namespace of its own"},
        {facts->no_new_privileges, "no_new_privs"},
        {facts->nosuid, "annot on a file system without set-uid"},
        {facts->lockdown_confidential, "kernel lockdown"},
    };
    struct doctor_finding *it = doctor_add(doctor, DOCTOR_MACHINE, "sandbox");
    size_t used = 0;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        if (parts[i].holds)
            used += (size_t)snprintf(it->text + used, sizeof(it->text) - used, "%s%s",
                                     used ? ", " : "", parts[i].text);
    }
    it->state = used ? DOCTOR_NOTE : DOCTOR_GOOD;
    if (used == 0)
        snprintf(it->text, sizeof(it->text), "none: no container, no seccomp filter");
    doctor_fact_text(it, "container", containers[facts->container]);
    doctor_fact_number(it, "seccomp_mode", facts->seccomp_mode);
    doctor_fact_number(it, "user_namespace", facts->user_namespace);
    doctor_fact_number(it, "no_new_privs", facts->no_new_privileges);
    doctor_fact_number(it, "nosuid", facts->nosuid);
    doctor_fact_number(it, "lockdown", facts->lockdown_confidential);
}

void doctor_look_at_machine(struct doctor *doctor, const struct host_facts *facts)
{
    look_at_kernel(doctor, facts);
    look_at_clock(doctor);
    look_at_user(doctor, facts);
    look_at_sandbox(doctor, facts);
}

struct rung_text {
    enum sampling_rung rung;
    const char *key, *name, *gives;
};

static const struct rung_text *text_of(enum sampling_rung rung)
{
    static const struct rung_text texts[] = {
        {SAMPLING_BPF, "bpf", "eBPF", "Python and native stacks, causes of waiting"},
        {SAMPLING_REMOTE, "remote", "memory reads", "Python stacks of this user's programs"},
        {SAMPLING_NONE, "none", "annotations", "ranges, marks, counters; no samples"},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        if (texts[i].rung == rung)
            return &texts[i];
    }
    return &texts[2];
}

/* Rungs below one that works are not missed. */
void doctor_look_at_sampling(struct doctor *doctor)
{
    struct ladder_step steps[LADDER_STEPS];
    ladder_try(steps);
    for (int i = 0; i < LADDER_STEPS; i++) {
        const struct rung_text *text = text_of(steps[i].rung);
        struct doctor_finding *it = doctor_add(doctor, DOCTOR_SAMPLING, text->name);
        doctor_fact_text(it, "rung", text->key);
        if (steps[i].possible) {
            snprintf(it->text, sizeof(it->text), "%s", text->gives);
            doctor->rung = doctor->rung ? doctor->rung : text->key;
            continue;
        }
        it->state = doctor->rung ? DOCTOR_NOTE : DOCTOR_MISSING;
        snprintf(it->text, sizeof(it->text), "%s", steps[i].reason);
        snprintf(it->hint, sizeof(it->hint), "%s", steps[i].hint);
    }
}
