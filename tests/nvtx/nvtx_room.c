/* SPDX-License-Identifier: MIT */
/* A library whose threads reach its variable the quickest way, so that it takes static TLS. */
extern char *nvtx_room(void);

static __thread char room[64] __attribute__((tls_model("initial-exec")));

char *nvtx_room(void)
{
    return room;
}
