/* SPDX-License-Identifier: MIT */
/* `annot doctor`: kernel, clock, rights, sandbox, the rungs of sampling; the directory in which
 * programs and collector meet, as libannot chooses it, and whether its file system can hold shared
 * memory; limits of this process that its programs inherit, and restrictions by kernel switches.
 * For each obstacle, prints the command that removes it in this shell. */
#include "doctor_machine.h"
#include "collector_host.h"
#include "collector_sessions.h"

#include "collector.h"
#include "file_io.h"
#include "ladder.h"
#include "sampler.h"
#include "term.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

/* ---- The machine ----------------------------------------------------------------------------- */

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

/* libannot's clock.c shows the use of each clock source. */
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

/* The confinement of this process; the sampling section shows its effect. */
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

/* Rungs below a working one are not reported as missing. */
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

/* ---- Shared memory --------------------------------------------------------------------------- */

enum {
    TRIAL_BYTES = 256 << 10, /* the unit in which programs allocate memory */
    ROOM_TOLD = 16,          /* the number of programs with enough room is printed below this */
};

struct place {
    char path[PATH_MAX];
    char folder[PATH_MAX]; /* the directory itself if it exists, else its future parent */
    bool exists, serves, works;
    struct statfs space;
    char problem[400], hint[384];
};

/* Tries to allocate shared memory in a folder. 0 or -errno. */
static int try_memory(const char *folder)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < TRIAL_BYTES)
        return 0; /* reported by look_at_file_size; trying would raise SIGXFSZ */
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == EOPNOTSUPP || errno == EISDIR
                   ? 0
                   : -errno; /* a file system without O_TMPFILE */
    int error = ftruncate(fd, TRIAL_BYTES) != 0 ? -errno : 0;
    void *memory = MAP_FAILED;
    if (error == 0)
        memory = mmap(NULL, TRIAL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (error == 0 && memory == MAP_FAILED)
        error = -errno;
    if (memory != MAP_FAILED) {
        /* EINVAL: the kernel lacks this advice. EFAULT: out of memory. */
        if (madvise(memory, TRIAL_BYTES, MADV_POPULATE_WRITE) != 0 && errno != EINVAL)
            error = errno == EFAULT ? -ENOSPC : -errno;
        munmap(memory, TRIAL_BYTES);
    }
    close(fd);
    return error;
}

/* Checks owner and mode as libannot does. */
static bool serves(struct place *place, const struct stat *status, uint32_t uid)
{
    const char *wrong = NULL;
    if (status->st_uid != uid)
        wrong = "belongs to another user";
    else if (!S_ISDIR(status->st_mode))
        wrong = "is not a directory";
    else if ((status->st_mode & 07777) != 0700)
        wrong = status->st_mode & 0077 ? "may be entered by others" : "does not have mode 0700";
    if (!wrong)
        return true;
    snprintf(place->problem, sizeof(place->problem), "%.300s %s: programs do not use it",
             place->path, wrong);
    if (S_ISDIR(status->st_mode) && status->st_uid == uid)
        snprintf(place->hint, sizeof(place->hint), "chmod 700 %.300s", place->path);
    else
        snprintf(place->hint, sizeof(place->hint), "remove it, or name another one in ANNOT_DIR");
    return false;
}

static void explain(struct place *place, int error, const struct host_facts *facts)
{
    snprintf(place->problem, sizeof(place->problem), "%.140s cannot be %s %.140s: %s", place->path,
             place->exists ? "used: files in" : "made in", place->folder, strerror(error));
    if (error != ENOSPC && error != EDQUOT)
        snprintf(place->hint, sizeof(place->hint), "name a directory on a tmpfs in ANNOT_DIR");
    else if (facts->container != CONTAINER_NONE)
        snprintf(place->hint, sizeof(place->hint), "give the container more: --shm-size=256m");
    else
        snprintf(place->hint, sizeof(place->hint),
                 "free shared memory, or name a directory on another tmpfs in ANNOT_DIR");
}

static void examine(struct place *place, const struct host_facts *facts)
{
    struct stat status;
    place->exists = lstat(place->path, &status) == 0;
    snprintf(place->folder, sizeof(place->folder), "%s", place->path);
    char *slash = strrchr(place->folder, '/');
    if (!place->exists && slash)
        slash[slash == place->folder] = '\0';
    if (statfs(place->folder, &place->space) != 0)
        memset(&place->space, 0, sizeof(place->space));
    place->serves = !place->exists || serves(place, &status, facts->uid);
    if (!place->serves)
        return;
    int error = access(place->folder, W_OK | X_OK) != 0 ? -errno : try_memory(place->folder);
    place->works = error == 0;
    if (error)
        explain(place, -error, facts);
}

/* Lists the directories that libannot tries, in its order. Returns their number. */
static int list_places(struct place *places)
{
    const char *told = getenv("ANNOT_DIR");
    char here[PATH_MAX] = "";
    int count = 0;
    if (told && *told) {
        if (*told != '/' && !getcwd(here, sizeof(here) - 2))
            here[0] = '\0';
        snprintf(places[0].path, sizeof(places[0].path), "%.2000s%s%.2000s", here,
                 *told == '/' ? "" : "/", told);
        return 1;
    }
    while (count < COLLECTOR_PLACES && collector_place_path(count, places[count].path))
        count++;
    return count;
}

/* Chooses as libannot does: the first usable directory, else the first one that can be created. */
static int choose_place(const struct place *places, int count)
{
    for (int i = 0; i < count; i++)
        if (places[i].exists && places[i].serves)
            return i;
    for (int i = 0; i < count; i++)
        if (places[i].works)
            return i;
    return 0;
}

static const char *file_system(const struct statfs *space, char name[32])
{
    switch ((unsigned long)space->f_type) {
    case TMPFS_MAGIC:
        return "tmpfs";
    case RAMFS_MAGIC:
        return "ramfs";
    default:
        snprintf(name, 32, "type %#lx", (unsigned long)space->f_type);
        return name;
    }
}

static void tell(struct doctor_finding *it, const struct place *place,
                 const struct host_facts *facts)
{
    char name[32], free_text[NUMBER_TEXT_SIZE], whole_text[NUMBER_TEXT_SIZE];
    uint64_t block = (uint64_t)place->space.f_bsize;
    uint64_t free_bytes = place->space.f_bavail * block, whole = place->space.f_blocks * block;
    uint64_t wanted = host_needs_memory_bytes();
    const char *type = file_system(&place->space, name);
    bool in_memory = strcmp(type, "tmpfs") == 0 || strcmp(type, "ramfs") == 0;
    doctor_fact_text(it, "path", place->path);
    doctor_fact_text(it, "file_system", type);
    doctor_fact_number(it, "size_bytes", (int64_t)whole);
    doctor_fact_number(it, "free_bytes", (int64_t)free_bytes);
    doctor_fact_number(it, "wanted_bytes", (int64_t)wanted);
    if (!place->works) {
        it->state = DOCTOR_MISSING;
        snprintf(it->text, sizeof(it->text), "%s", place->problem);
        snprintf(it->hint, sizeof(it->hint), "%s", place->hint);
        return;
    }
    snprintf(it->text, sizeof(it->text), "%.300s%s, %s free of %s%s", place->path,
             place->exists ? "" : " (made when needed)", number_size(free_bytes, free_text),
             number_size(whole, whole_text), in_memory ? "" : ", not in memory: a disk slows it");
    if (free_bytes >= wanted && free_bytes / wanted < ROOM_TOLD)
        snprintf(it->text + strlen(it->text), sizeof(it->text) - strlen(it->text),
                 ", room for %" PRIu64 " busy program%s", free_bytes / wanted,
                 free_bytes / wanted == 1 ? "" : "s");
    if (free_bytes < wanted && whole > 0) {
        struct place short_of = *place;
        explain(&short_of, ENOSPC, facts);
        it->state = DOCTOR_MISSING;
        snprintf(it->hint, sizeof(it->hint), "%s", short_of.hint);
    } else if (!in_memory) {
        it->state = DOCTOR_NOTE;
        snprintf(it->hint, sizeof(it->hint), "name a directory on a tmpfs in ANNOT_DIR");
    }
}

void doctor_look_at_memory(struct doctor *doctor, const struct host_facts *facts)
{
    struct doctor_finding *it = doctor_add(doctor, DOCTOR_MACHINE, "memory");
    struct place *places = calloc(COLLECTOR_PLACES, sizeof(*places));
    if (!places) {
        doctor->error = -ENOMEM;
        return;
    }
    int count = list_places(places);
    for (int i = 0; i < count; i++)
        examine(&places[i], facts);
    int used = choose_place(places, count);
    tell(it, &places[used], facts);
    if (used > 0 && places[0].problem[0] && it->state == DOCTOR_GOOD) {
        it->state = DOCTOR_NOTE;
        snprintf(it->hint, sizeof(it->hint), "%.200s: %.150s", places[0].problem, places[0].hint);
    }
    free(places);
}

/* ---- Limits ---------------------------------------------------------------------------------- */

enum {
    CAP_OF_LIMITS = 24, /* CAP_SYS_RESOURCE: may raise hard limits */
    PARANOID_PLAIN = 2, /* the strictest level of mainline Linux */
};

struct limit {
    const char *letter; /* ulimit's option */
    const char *name;   /* prlimit(1)'s option */
    const char *value;  /* the recommended value */
    const char *number; /* the same as a number */
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

/* The user may raise a soft limit; a hard one is raised by root, unless the capability has left the
 * bounding set. */
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

static void report_limit(struct doctor_finding *it, const struct limit *limit, uint64_t wanted)
{
    doctor_fact_number(it, "soft", number_or_none(limit->soft));
    doctor_fact_number(it, "hard", number_or_none(limit->hard));
    doctor_fact_number(it, "wanted", (int64_t)wanted);
}

/* A program's file in shared memory has its full size from the start; the collector's recording
 * grows. */
static void look_at_file_size(struct doctor *doctor, const struct host_facts *facts)
{
    struct doctor_finding *it = doctor_add(doctor, DOCTOR_MACHINE, "file size");
    const struct limit limit = read_limit(
        RLIMIT_FSIZE,
        (struct limit){.letter = "f", .name = "fsize", .value = "unlimited", .number = "-1"});
    uint64_t wanted = host_needs_file_bytes();
    char size[NUMBER_TEXT_SIZE], need[NUMBER_TEXT_SIZE];
    const char *smaller = limit.soft < host_wants_file_bytes() ? ", and buffers are smaller" : "";
    report_limit(it, &limit, wanted);
    if (limit.soft == RLIM_INFINITY) {
        snprintf(it->text, sizeof(it->text), "unlimited");
        return;
    }
    it->state = DOCTOR_NOTE;
    number_size(limit.soft, size);
    if (limit.soft >= wanted) {
        snprintf(it->text, sizeof(it->text), "at most %s: recordings end there%s", size, smaller);
        return;
    }
    snprintf(it->text, sizeof(it->text),
             "at most %s; each program needs a file of %s in shared memory", size,
             number_size(wanted, need));
    hint_at(it, &limit, wanted, facts);
}

/* annot raises its own soft limit, and starts programs with the previous one. */
static void look_at_files(struct doctor *doctor, const struct host_facts *facts)
{
    struct doctor_finding *it = doctor_add(doctor, DOCTOR_MACHINE, "open files");
    const struct limit limit = read_limit(
        RLIMIT_NOFILE,
        (struct limit){.letter = "n", .name = "nofile", .value = "65536", .number = "65536"});
    uint64_t wanted = SAMPLER_FILES_LEAST;
    report_limit(it, &limit, wanted);
    if (limit.hard >= wanted) {
        snprintf(it->text, sizeof(it->text), "%" PRIu64 " may be open", (uint64_t)limit.hard);
        return;
    }
    snprintf(it->text, sizeof(it->text),
             "%" PRIu64 " may be open; to sample, annot needs %" PRIu64 " and more for libraries",
             (uint64_t)limit.hard, wanted);
    hint_at(it, &limit, wanted, facts);
}

/* Printed because other tools need it. */
static void look_at_locked_memory(struct doctor *doctor)
{
    struct doctor_finding *it = doctor_add(doctor, DOCTOR_MACHINE, "locked");
    const struct limit limit = read_limit(RLIMIT_MEMLOCK, (struct limit){.letter = "l"});
    char size[NUMBER_TEXT_SIZE];
    report_limit(it, &limit, 0);
    snprintf(it->text, sizeof(it->text), "%s of memory may be locked; annot locks none",
             limit.soft == RLIM_INFINITY ? "any amount" : number_size(limit.soft, size));
}

/* INT32_MIN: the kernel lacks the switch. */
static int64_t switch_value(int value)
{
    return value == INT32_MIN ? DOCTOR_NO_NUMBER : value;
}

/* Above 2, a level unknown to mainline Linux, some distributions require more than CAP_PERFMON. */
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

/* Yama restricts reading the memory of programs that annot did not start. */
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
