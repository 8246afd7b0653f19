/* SPDX-License-Identifier: MIT */
/* Replaces http_post.c in builds without libcurl. */
#include "http_post.h"

#include <errno.h>

int http_client_open(const struct http_options *options, struct http_client **ret_client)
{
    (void)options;
    *ret_client = NULL;
    return -ENOSYS;
}

void http_client_close(struct http_client *client)
{
    (void)client;
}

int http_client_post(struct http_client *client, const void *bytes, size_t size,
                     struct http_answer *ret_answer)
{
    (void)client;
    (void)bytes;
    (void)size;
    *ret_answer = (struct http_answer){.content_type = ""};
    return -ENOSYS;
}
