/* SPDX-License-Identifier: MIT */
/* See attach_asker.h. Thread-safety: main thread only. */
#include "attach_asker.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

void attach_asker_begin(void)
{
    signal(SIGPIPE, SIG_IGN);
}

void attach_asker_tell(const char *what, const char *word)
{
    char line[64];
    int length = snprintf(line, sizeof(line), word ? "%s %s\n" : "%s%s\n", what, word ? word : "");
    ssize_t ignored = write(STDOUT_FILENO, line, (size_t)length); /* they may be gone */
    (void)ignored;
}

bool attach_asker_wants_end(struct pollfd *input)
{
    char bytes[64];
    if (input->fd < 0 || !input->revents)
        return false;
    ssize_t size = read(input->fd, bytes, sizeof(bytes));
    if (size > 0)
        return true;
    if (size == 0 || (errno != EINTR && errno != EAGAIN))
        input->fd = -1;
    return false;
}
