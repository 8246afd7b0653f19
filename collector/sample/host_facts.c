/* SPDX-License-Identifier: MIT */
/* Reads host_facts.h: small files of /proc and /sys, each of which may be missing. */
#include "host_facts.h"
#include "file_io.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { FILE_BYTES = 8192 };

static int read_number(const char *path)
{
    char text[FILE_BYTES];
    return file_read_text(path, text, sizeof(text)) > 0 ? (int)strtol(text, NULL, 10) : INT32_MIN;
}

/* The number behind "\nNAME:" */
static uint64_t field(const char *text, const char *name, int base, uint64_t otherwise)
{
    const char *at = strstr(text, name);
    return at ? strtoull(at + strlen(name), NULL, base) : otherwise;
}

static void read_status(struct host_facts *facts)
{
    char text[FILE_BYTES];
    file_read_text("/proc/self/status", text, sizeof(text));
    facts->effective = field(text, "\nCapEff:", 16, 0);
    facts->bounding = field(text, "\nCapBnd:", 16, 0);
    facts->no_new_privileges = field(text, "\nNoNewPrivs:", 10, 0) == 1;
    facts->seccomp_mode = (int)field(text, "\nSeccomp:", 10, (uint64_t)-1);
}

static void read_kernel(struct host_facts *facts)
{
    struct utsname name;
    unsigned major = 0, minor = 0;
    if (uname(&name) != 0)
        return;
    snprintf(facts->kernel, sizeof(facts->kernel), "%s", name.release);
    snprintf(facts->machine, sizeof(facts->machine), "%s", name.machine);
    if (sscanf(name.release, "%u.%u", &major, &minor) == 2)
        facts->kernel_version = major << 8 | (minor & 0xff);
}

/* The first namespace maps all ids to themselves. */
static bool in_user_namespace(void)
{
    char text[FILE_BYTES];
    unsigned inside = 1, outside = 1, count = 0;
    if (file_read_text("/proc/self/uid_map", text, sizeof(text)) <= 0)
        return false;
    return sscanf(text, "%u %u %u", &inside, &outside, &count) != 3 || inside != 0 ||
           outside != 0 || count != UINT32_MAX;
}

static enum container_kind find_container(void)
{
    const char *told = getenv("container");
    if (getenv("KUBERNETES_SERVICE_HOST"))
        return CONTAINER_KUBERNETES;
    if (access("/.dockerenv", F_OK) == 0)
        return CONTAINER_DOCKER;
    if (access("/run/.containerenv", F_OK) == 0)
        return CONTAINER_PODMAN;
    return told && *told ? CONTAINER_OTHER : CONTAINER_NONE;
}

/* As a shell takes it; "" if it has no room. */
static void quote(const char *path, char *quoted, size_t size)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_@%+=:,./-";
    size_t used = 0, marks = path[strspn(path, plain)] != '\0';
    if (marks)
        quoted[used++] = '\'';
    for (; *path && used + 8 < size; path++) {
        if (*path == '\'')
            used += (size_t)snprintf(quoted + used, size - used, "'\\''");
        else
            quoted[used++] = *path;
    }
    if (marks)
        quoted[used++] = '\'';
    quoted[*path ? 0 : used] = '\0';
}

static void read_program(struct host_facts *facts)
{
    char path[PATH_MAX];
    struct statvfs status;
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (length <= 0)
        return;
    path[length] = '\0';
    quote(path, facts->program, sizeof(facts->program));
    facts->nosuid = statvfs("/proc/self/exe", &status) == 0 && (status.f_flag & ST_NOSUID);
}

void host_facts_read(struct host_facts *facts)
{
    char text[FILE_BYTES];
    *facts = (struct host_facts){.uid = geteuid()};
    read_kernel(facts);
    read_status(facts);
    read_program(facts);
    facts->user_namespace = in_user_namespace();
    facts->has_btf = access("/sys/kernel/btf/vmlinux", R_OK) == 0;
    facts->perf_paranoid = read_number("/proc/sys/kernel/perf_event_paranoid");
    facts->yama_scope = read_number("/proc/sys/kernel/yama/ptrace_scope");
    facts->lockdown_confidential =
        file_read_text("/sys/kernel/security/lockdown", text, sizeof(text)) > 0 &&
        strstr(text, "[confidentiality]") != NULL;
    facts->container = find_container();
}
