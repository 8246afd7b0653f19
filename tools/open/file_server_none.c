/* SPDX-License-Identifier: MIT */
/* Replaces file_server.c in builds without libmicrohttpd. */
#include "file_server.h"

#include <errno.h>
#include <stddef.h>

int file_server_start(const struct file_server_options *options, struct file_server **ret_server)
{
    (void)options;
    *ret_server = NULL;
    return -ENOSYS;
}

void file_server_stop(struct file_server *server)
{
    (void)server;
}

const char *file_server_url(const struct file_server *server)
{
    (void)server;
    return "";
}

int file_server_run(struct file_server *server, int64_t grace_ms, const volatile sig_atomic_t *stop)
{
    (void)server;
    (void)grace_ms;
    (void)stop;
    return -ENOSYS;
}
