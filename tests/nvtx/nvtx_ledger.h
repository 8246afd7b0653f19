/* SPDX-License-Identifier: MIT */
/* Writes the program's calls to the file in NVTX_LEDGER, one line each: process, thread, kind
 * (pushed, started, mark), domain, name, category. test_nvtx.py compares it with the recording. */
#ifndef ANNOT_NVTX_LEDGER_H
#define ANNOT_NVTX_LEDGER_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline void ledger(const char *what, const char *domain, const char *name,
                          const char *category)
{
    char line[512];
    int fd = open(getenv("NVTX_LEDGER"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    int length = snprintf(line, sizeof(line), "%d\t%d\t%s\t%s\t%s\t%s\n", (int)getpid(),
                          (int)syscall(SYS_gettid), what, domain, name, category);
    if (fd < 0 || write(fd, line, (size_t)length) != length)
        abort();
    close(fd);
}

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#endif
