/* SPDX-License-Identifier: MIT */
/* Posts bodies to one address of an HTTP server, by libcurl.
 *
 * A server that is busy (429, 502, 503, 504), cuts the connection or does not answer in time is
 * asked again, HTTP_TRIES_MAX times in all, after the time that it asks for, else after half a
 * second, one, two, ...; each wait is noted. Certificates are verified, redirections not followed.
 * Neither headers nor what an address has of secrets is printed. Main thread only. */
#ifndef ANNOT_HTTP_POST_H
#define ANNOT_HTTP_POST_H

#include <stddef.h>
#include <stdint.h>

enum { HTTP_TRIES_MAX = 5, HTTP_REASON_SIZE = 256, HTTP_BODY_MAX = 64 << 10 };

struct http_options {
    const char *url;
    const char *content_type;
    const char *headers;     /* "NAME=VALUE,NAME=VALUE", percent-encoded; NULL: none */
    const char *certificate; /* a file of those that are trusted; NULL: the system's */
    int64_t timeout_ms;      /* of each try */
};

struct http_answer {
    long status; /* 0: none */
    const uint8_t *body;
    size_t size;                   /* at most HTTP_BODY_MAX */
    const char *content_type;      /* never NULL */
    char reason[HTTP_REASON_SIZE]; /* why there is none, in words */
};

struct http_client;

/* 0; -EINVAL: wrong headers; -ENOSYS: built without it; -ELIBACC: the machine
 * has no libcurl; -ENOMEM. close accepts NULL. */
int http_client_open(const struct http_options *options, struct http_client **ret_client);
void http_client_close(struct http_client *client);

/* 0: it was accepted (2xx); -EBADMSG: the server says that it was not; -ECOMM: there is no answer.
 * The answer is valid until the next call. */
int http_client_post(struct http_client *client, const void *bytes, size_t size,
                     struct http_answer *ret_answer);

#endif
