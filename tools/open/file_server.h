/* SPDX-License-Identifier: MIT */
/* An HTTP server for one file, on 127.0.0.1, for a browser on this machine.
 *
 * The file has one address with a random part; all other paths give 404. Requests with another Host
 * are refused, which keeps web pages from reaching the server through a name they control, and so
 * are requests of pages from other origins than the allowed one. Only GET and HEAD. Thread-safety:
 * the main thread only. */
#ifndef ANNOT_FILE_SERVER_H
#define ANNOT_FILE_SERVER_H

#include <signal.h>
#include <stdint.h>

struct file_server;

struct file_server_options {
    int fd;           /* the file, read from its start; the caller closes it */
    const char *name; /* the last part of the address; percent-encoded where needed */
    const char *type; /* "text/html; charset=utf-8" */
    const char
        *origin; /* of pages that may fetch the file, "https://ui.perfetto.dev"; NULL: disallowed */
    uint16_t port; /* 0: any */
};

enum { FILE_SERVER_URL_SIZE = 2048 };

/* The strings in the options must outlive the server. 0; -EADDRINUSE; -ENOSYS: built without
 * libmicrohttpd; -ELIBACC: the machine lacks libmicrohttpd; -errno. */
int file_server_start(const struct file_server_options *options, struct file_server **ret_server);

/* Accepts NULL. */
void file_server_stop(struct file_server *server);

/* "http://127.0.0.1:PORT/RANDOM/NAME" */
const char *file_server_url(const struct file_server *server);

/* Serves until the file was fetched and `grace_ms` have passed without another request, or until
 * `stop` is not zero. 0; -EINTR: stopped before the file was fetched; -errno. */
int file_server_run(struct file_server *server, int64_t grace_ms,
                    const volatile sig_atomic_t *stop);

#endif
