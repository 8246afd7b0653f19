/* SPDX-License-Identifier: MIT */
/* Since Linux 6.11 the kernel tells the next shared mapping of a file, without writing the paths of
 * all others. Its interface stands here, for headers may be older. */
#include "proc_mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
    QUERY_SHARED = 0x08,
    QUERY_THIS_OR_NEXT = 0x10,
    QUERY_FILE = 0x20,
    TEXT_BUFFER = 32 << 10,
};

struct query {
    uint64_t size, flags, address;                              /* asked */
    uint64_t begin, end, permissions, page_size, offset, inode; /* told */
    uint32_t major, minor, name_size, build_size;               /* sizes: 0 = not wanted */
    uint64_t name, build;
};

#define QUERY _IOWR('f', 17, struct query)

static int path_of(pid_t pid, char path[64])
{
    return snprintf(path, 64, "/proc/%d/maps", (int)pid);
}

/* 1, 0, -errno; -ENOTTY: it cannot be asked. */
static int ask(int fd, dev_t device, ino_t inode)
{
    struct query query = {.size = sizeof(query),
                          .flags = QUERY_SHARED | QUERY_THIS_OR_NEXT | QUERY_FILE};
    while (ioctl(fd, QUERY, &query) == 0) {
        if (query.inode == inode && query.major == major(device) && query.minor == minor(device))
            return 1;
        if (query.end <= query.address)
            return -EIO;
        query.address = query.end;
    }
    return errno == ENOENT || errno == ESRCH ? 0 : -errno; /* no further one, or no memory */
}

int proc_has_mapped_by_text(pid_t pid, dev_t device, ino_t inode)
{
    char path[64], line[512], wanted[64], buffer[TEXT_BUFFER];
    snprintf(wanted, sizeof(wanted), " %02x:%02x %" PRIu64 " ", major(device), minor(device),
             (uint64_t)inode);
    path_of(pid, path);
    FILE *file = fopen(path, "re");
    if (!file)
        return -errno;
    setvbuf(file, buffer, _IOFBF, sizeof(buffer));
    int found = 0;
    while (!found && fgets(line, sizeof(line), file))
        found = strstr(line, wanted) != NULL;
    if (!found && ferror(file))
        found = -EIO;
    fclose(file);
    return found;
}

int proc_has_mapped(pid_t pid, dev_t device, ino_t inode)
{
    char path[64];
    path_of(pid, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int found = ask(fd, device, inode);
    close(fd);
    return found == -ENOTTY ? proc_has_mapped_by_text(pid, device, inode) : found;
}
