/* SPDX-License-Identifier: MIT */
/* A library that uses static TLS: its threads access its variable in the fastest way. */
extern char *nvtx_room(void);

static __thread char room[64] __attribute__((tls_model("initial-exec")));

char *nvtx_room(void)
{
    return room;
}
