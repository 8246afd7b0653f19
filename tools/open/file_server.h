/* SPDX-License-Identifier: MIT */
/* An HTTP server for one file, on 127.0.0.1 and for this machine's browser alone.
 *
 * The file is at one address with a random part; all else is 404. Requests that name another host
 * are refused, so that no web page reaches it through a name of its own, and so are those of pages
 * of other origins than the one that is allowed. Only GET and HEAD. Thread-safety: the main thread
 * only. */
#ifndef ANNOT_FILE_SERVER_H
#define ANNOT_FILE_SERVER_H

#include <signal.h>
#include <stdint.h>

struct file_server;

struct file_server_options {
    int fd;             /* the file, read from its begin; stays the caller's */
    const char *name;   /* the last part of the address; percent-encoded where needed */
    const char *type;   /* "text/html; charset=utf-8" */
    const char *origin; /* of pages that may fetch it, "https://ui.perfetto.dev"; NULL: none */
    uint16_t port;      /* 0: any */
};

enum { FILE_SERVER_URL_SIZE = 2048 };

/* What the options point to outlives it. 0; -EADDRINUSE; -ENOSYS: built without it; -ELIBACC: the
 * machine has no libmicrohttpd; -errno. */
int file_server_start(const struct file_server_options *options, struct file_server **ret_server);

/* Accepts NULL. */
void file_server_stop(struct file_server *server);

/* "http://127.0.0.1:PORT/RANDOM/NAME" */
const char *file_server_url(const struct file_server *server);

/* Answers until the file was fetched and `grace_ms` have passed without another request, or until
 * `stop` is not zero. 0; -EINTR: stopped before it was fetched; -errno. */
int file_server_run(struct file_server *server, int64_t grace_ms,
                    const volatile sig_atomic_t *stop);

#endif
