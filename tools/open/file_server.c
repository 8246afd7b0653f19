/* SPDX-License-Identifier: MIT */
/* Implements file_server.h with libmicrohttpd, in the caller's thread; loaded when needed. */
#include "file_server.h"

#include "clock_now.h"
#include "library.h"
#include "text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECRET_BYTES = 16, CONNECTIONS_MAX = 16, IDLE_SECONDS = 60, WAIT_MS = 100 };

struct file_server {
    struct file_server_options options;
    struct MHD_Daemon *daemon;
    uint64_t size;
    uint16_t port;
    char path[FILE_SERVER_URL_SIZE / 2]; /* "/RANDOM/NAME" */
    char url[FILE_SERVER_URL_SIZE];
    char host[32], other_host[32]; /* accepted values of the Host header */
    bool fetched;
    int64_t last_ns; /* when the last request ended */
};

/* ---- The library ----------------------------------------------------------------------------- */

static struct {
    __typeof__(&MHD_add_response_header) add_header;
    __typeof__(&MHD_queue_response) queue;
    __typeof__(&MHD_destroy_response) destroy;
    __typeof__(&MHD_create_response_from_buffer) from_buffer;
    __typeof__(&MHD_create_response_from_fd_at_offset64) from_file;
    __typeof__(&MHD_lookup_connection_value) look_up;
    __typeof__(&MHD_start_daemon) start;
    __typeof__(&MHD_get_daemon_info) info;
    __typeof__(&MHD_stop_daemon) stop;
    __typeof__(&MHD_run_wait) run;
} lib;

static bool load_library(void)
{
    static const char *const files[] = {"libmicrohttpd.so.12", NULL};
    const struct library_function functions[] = {
        {"MHD_add_response_header", &lib.add_header},
        {"MHD_queue_response", &lib.queue},
        {"MHD_destroy_response", &lib.destroy},
        {"MHD_create_response_from_buffer", &lib.from_buffer},
        {"MHD_create_response_from_fd_at_offset64", &lib.from_file},
        {"MHD_lookup_connection_value", &lib.look_up},
        {"MHD_start_daemon", &lib.start},
        {"MHD_get_daemon_info", &lib.info},
        {"MHD_stop_daemon", &lib.stop},
        {"MHD_run_wait", &lib.run},
    };

    return lib.run || library_load(files, functions, sizeof(functions) / sizeof(*functions));
}

/* ---- Requests -------------------------------------------------------------------------------- */

static bool is_host(const struct file_server *server, const char *host)
{
    return host &&
           (strcasecmp(host, server->host) == 0 || strcasecmp(host, server->other_host) == 0);
}

/* An Origin header must name the allowed origin; typed addresses have no such header. */
static bool is_origin(const struct file_server *server, const char *origin)
{
    return !origin || (server->options.origin && strcmp(origin, server->options.origin) == 0);
}

static void add(struct MHD_Response *response, const char *name, const char *value)
{
    (void)lib.add_header(response, name, value);
}

/* Sends a response with the common headers. */
static enum MHD_Result answer(struct file_server *server, struct MHD_Connection *connection,
                              unsigned status, struct MHD_Response *response)
{
    if (!response)
        return MHD_NO;
    add(response, "Cache-Control", "no-store");
    add(response, "X-Content-Type-Options", "nosniff");
    add(response, "Referrer-Policy", "no-referrer");
    if (server->options.origin) {
        add(response, "Access-Control-Allow-Origin", server->options.origin);
        add(response, "Vary", "Origin");
    } else {
        add(response, "Cross-Origin-Resource-Policy", "same-origin");
    }
    enum MHD_Result result = lib.queue(connection, status, response);
    lib.destroy(response);
    return result;
}

static enum MHD_Result refuse(struct file_server *server, struct MHD_Connection *connection,
                              unsigned status)
{
    static char nothing[] = "";
    struct MHD_Response *response = lib.from_buffer(0, nothing, MHD_RESPMEM_PERSISTENT);
    if (response && status == MHD_HTTP_METHOD_NOT_ALLOWED)
        add(response, "Allow", "GET, HEAD");
    return answer(server, connection, status, response);
}

/* Answers the preflight request of a browser: a public page may fetch from this machine. */
static enum MHD_Result allow(struct file_server *server, struct MHD_Connection *connection)
{
    static char nothing[] = "";
    struct MHD_Response *response = lib.from_buffer(0, nothing, MHD_RESPMEM_PERSISTENT);
    if (response) {
        add(response, "Access-Control-Allow-Methods", "GET");
        add(response, "Access-Control-Allow-Private-Network", "true");
    }
    return answer(server, connection, MHD_HTTP_NO_CONTENT, response);
}

static enum MHD_Result send_file(struct file_server *server, struct MHD_Connection *connection,
                                 void **state)
{
    int fd = dup(server->options.fd); /* closed with the response */
    struct MHD_Response *response = fd >= 0 ? lib.from_file(server->size, fd, 0) : NULL;
    if (!response) {
        close(fd);
        return MHD_NO;
    }
    add(response, "Content-Type", server->options.type);
    *state = server; /* marks the request for completed() */
    return answer(server, connection, MHD_HTTP_OK, response);
}

static enum MHD_Result respond(struct file_server *server, struct MHD_Connection *connection,
                               const char *url, const char *method, void **state)
{
    const char *host = lib.look_up(connection, MHD_HEADER_KIND, "Host");
    const char *origin = lib.look_up(connection, MHD_HEADER_KIND, "Origin");
    bool get = strcmp(method, "GET") == 0;
    if (!is_host(server, host) || !is_origin(server, origin))
        return refuse(server, connection, MHD_HTTP_FORBIDDEN);
    if (strcmp(url, server->path) != 0)
        return refuse(server, connection, MHD_HTTP_NOT_FOUND);
    if (strcmp(method, "OPTIONS") == 0 && origin)
        return allow(server, connection);
    if (!get && strcmp(method, "HEAD") != 0)
        return refuse(server, connection, MHD_HTTP_METHOD_NOT_ALLOWED);
    void *ignored = NULL;
    return send_file(server, connection, get ? state : &ignored);
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **state)
{
    (void)version;
    (void)upload;
    if (*upload_size) { /* request bodies are discarded */
        *upload_size = 0;
        return MHD_NO;
    }
    return respond(context, connection, url, method, state);
}

static void completed(void *context, struct MHD_Connection *connection, void **state,
                      enum MHD_RequestTerminationCode code)
{
    struct file_server *server = context;
    (void)connection;
    server->last_ns = clock_now_ns();
    server->fetched |= *state == server && code == MHD_REQUEST_TERMINATED_COMPLETED_OK;
}

/* Keeps the path undecoded: it is compared with the encoded one in the address. */
static size_t keep_escapes(void *context, struct MHD_Connection *connection, char *text)
{
    (void)context;
    (void)connection;
    return strlen(text);
}

/* ---- The object ------------------------------------------------------------------------------ */

static bool is_plain(unsigned char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= 'a' && byte <= 'z') || byte == '-' || byte == '.' || byte == '_';
}

static int make_path(struct file_server *server)
{
    uint8_t secret[SECRET_BYTES];
    char hex[2 * SECRET_BYTES + 1];
    if (getrandom(secret, sizeof(secret), 0) != (ssize_t)sizeof(secret))
        return -EIO;
    text_hex(hex, secret, sizeof(secret));
    struct text path = text_init(server->path, sizeof(server->path));
    text_format(&path, "/%s/", hex);
    for (const char *at = server->options.name; *at; at++)
        text_format(&path, is_plain((unsigned char)*at) ? "%c" : "%%%02X", (unsigned char)*at);
    return 0;
}

static int listen_here(struct file_server *server)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons(server->options.port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    errno = 0;
    server->daemon = lib.start(MHD_USE_AUTO, 0, NULL, NULL, handle, server, MHD_OPTION_SOCK_ADDR,
                               &address, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
                               MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS,
                               MHD_OPTION_NOTIFY_COMPLETED, completed, server,
                               MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_END);
    if (!server->daemon)
        return errno ? -errno : -EIO;
    const union MHD_DaemonInfo *info = lib.info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);
    server->port = info ? info->port : server->options.port;
    snprintf(server->host, sizeof(server->host), "127.0.0.1:%u", server->port);
    snprintf(server->other_host, sizeof(server->other_host), "localhost:%u", server->port);
    snprintf(server->url, sizeof(server->url), "http://%s%s", server->host, server->path);
    return 0;
}

int file_server_start(const struct file_server_options *options, struct file_server **ret_server)
{
    struct stat status;
    if (!load_library())
        return -ELIBACC;
    if (fstat(options->fd, &status) != 0)
        return -errno;
    struct file_server *server = calloc(1, sizeof(*server));
    if (!server)
        return -ENOMEM;
    server->options = *options;
    server->size = (uint64_t)status.st_size;
    int error = make_path(server);
    if (!error)
        error = listen_here(server);
    if (error)
        file_server_stop(server);
    else
        *ret_server = server;
    return error;
}

void file_server_stop(struct file_server *server)
{
    if (!server)
        return;
    if (server->daemon)
        lib.stop(server->daemon);
    free(server);
}

const char *file_server_url(const struct file_server *server)
{
    return server->url;
}

/* True once the file was fetched and no request came for a while. */
static bool is_over(const struct file_server *server, int64_t grace_ms)
{
    return server->fetched && clock_now_ns() - server->last_ns > grace_ms * 1000000;
}

int file_server_run(struct file_server *server, int64_t grace_ms, const volatile sig_atomic_t *stop)
{
    while (!*stop && !is_over(server, grace_ms))
        if (lib.run(server->daemon, WAIT_MS) != MHD_YES && !*stop)
            return -EIO;
    return server->fetched ? 0 : -EINTR;
}
