/* SPDX-License-Identifier: MIT */
/* Posts bodies to one address of an HTTP server, using libcurl.
 *
 * A request is repeated if the server is busy (429, 502, 503, 504), cuts the connection or does not
 * respond in time: HTTP_TRIES_MAX attempts in all, after the delay that the server demands, else
 * after half a second, one, two, ...; each delay is printed. Certificates are verified,
 * redirections not followed. Headers and secret parts of addresses are never printed. Main thread
 * only. */
#ifndef ANNOT_HTTP_POST_H
#define ANNOT_HTTP_POST_H

#include <stddef.h>
#include <stdint.h>

enum { HTTP_TRIES_MAX = 5, HTTP_REASON_SIZE = 256, HTTP_BODY_MAX = 64 << 10 };

struct http_options {
    const char *url;
    const char *content_type;
    const char *headers;     /* "NAME=VALUE,NAME=VALUE", percent-encoded; NULL: empty */
    const char *certificate; /* a file of trusted certificates; NULL: the system's */
    int64_t timeout_ms;      /* of each attempt */
};

struct http_answer {
    long status; /* 0: no response */
    const uint8_t *body;
    size_t size;                   /* at most HTTP_BODY_MAX */
    const char *content_type;      /* never NULL */
    char reason[HTTP_REASON_SIZE]; /* of a missing response, in words */
};

struct http_client;

/* 0; -EINVAL: malformed headers; -ENOSYS: built without libcurl; -ELIBACC: the machine lacks
 * libcurl; -ENOMEM. close accepts NULL. */
int http_client_open(const struct http_options *options, struct http_client **ret_client);
void http_client_close(struct http_client *client);

/* 0: accepted (2xx); -EBADMSG: refused by the server; -ECOMM: no response. The answer is valid
 * until the next call. */
int http_client_post(struct http_client *client, const void *bytes, size_t size,
                     struct http_answer *ret_answer);

#endif
