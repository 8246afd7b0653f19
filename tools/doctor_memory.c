/* SPDX-License-Identifier: MIT */
/* `annot doctor`: the directory in which programs and collector meet, as libannot chooses it, and
 * whether a file there can hold memory. The trial has no name, so nothing stays and nobody sees it;
 * the directory itself is looked for, not made. */
#include "doctor_parts.h"

#include "host_facts.h"
#include "host_needs.h"
#include "number_text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

enum {
    TRIAL_BYTES = 256 << 10, /* by how much programs take memory */
    ROOM_TOLD = 16,          /* of fewer programs it is told how many have room */
};

struct place {
    char path[PATH_MAX];
    char folder[PATH_MAX]; /* itself if it exists, else where it would be made */
    bool exists, works;
    struct statfs space;
    char problem[400], hint[384];
};

/* 0: such memory can be had. -errno */
static int try_memory(const char *folder)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < TRIAL_BYTES)
        return 0; /* told as a limit of its own; a try would be a SIGXFSZ */
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == EOPNOTSUPP || errno == EISDIR ? 0 : -errno; /* a file system without it */
    int error = ftruncate(fd, TRIAL_BYTES) != 0 ? -errno : 0;
    void *memory = MAP_FAILED;
    if (error == 0)
        memory = mmap(NULL, TRIAL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (error == 0 && memory == MAP_FAILED)
        error = -errno;
    if (memory != MAP_FAILED) {
        /* EINVAL: a kernel that does not know it. EFAULT: nothing is left. */
        if (madvise(memory, TRIAL_BYTES, MADV_POPULATE_WRITE) != 0 && errno != EINVAL)
            error = errno == EFAULT ? -ENOSPC : -errno;
        munmap(memory, TRIAL_BYTES);
    }
    close(fd);
    return error;
}

/* Whose it is and who may enter: libannot asks the same. */
static bool serves(struct place *place, const struct stat *status, uint32_t uid)
{
    const char *wrong = NULL;
    if (!S_ISDIR(status->st_mode))
        wrong = "is not a directory";
    else if (status->st_uid != uid)
        wrong = "belongs to another user";
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
    if (place->exists && !serves(place, &status, facts->uid))
        return;
    int error = access(place->folder, W_OK | X_OK) != 0 ? -errno : try_memory(place->folder);
    place->works = error == 0;
    if (error)
        explain(place, -error, facts);
}

/* The ones that libannot tries, in its order. Returns how many. */
static int list_places(struct place *places, uint32_t uid)
{
    const char *told = getenv("ANNOT_DIR"), *runtime = getenv("XDG_RUNTIME_DIR");
    char here[PATH_MAX] = "";
    if (told && *told) {
        if (*told != '/' && !getcwd(here, sizeof(here) - 2))
            here[0] = '\0';
        snprintf(places[0].path, sizeof(places[0].path), "%.2000s%s%.2000s", here,
                 *told == '/' ? "" : "/", told);
        return 1;
    }
    snprintf(places[0].path, sizeof(places[0].path), "/dev/shm/annot-%u", uid);
    if (!runtime || *runtime != '/')
        return 1;
    snprintf(places[1].path, sizeof(places[1].path), "%.4000s/annot", runtime);
    return 2;
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
    struct place *places = calloc(2, sizeof(*places));
    if (!places) {
        doctor->error = -ENOMEM;
        return;
    }
    int count = list_places(places, facts->uid), used = 0;
    for (int i = 0; i < count; i++)
        examine(&places[i], facts);
    if (!places[0].works && count > 1 && places[1].works)
        used = 1;
    tell(it, &places[used], facts);
    if (used == 1 && it->state == DOCTOR_GOOD) {
        it->state = DOCTOR_NOTE;
        snprintf(it->hint, sizeof(it->hint), "%.200s: %.150s", places[0].problem, places[0].hint);
    }
    free(places);
}
