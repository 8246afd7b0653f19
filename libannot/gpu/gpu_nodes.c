/* SPDX-License-Identifier: MIT */
/* In which ranges the nodes of graphs were captured. What launches a graph is the origin of its
 * kernels; this is a key-value of theirs.
 *
 * A graph's nodes are made while its work is captured, and cloned when it is instantiated; CUPTI
 * numbers both. Only in a window that records nodes. Threads: any; a lock that is held for a few
 * stores, and only where graphs are made. What does not fit has no such key-value. */
#include "gpu_parts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 1 << 14, TRIES = 16, TEXTS = 1 << 10, TEXT_SIZE = 160 };

static struct node {
    uint64_t id; /* 0: empty */
    const char *captured_in;
} nodes[NODES];

/* They stay, so that equal ones are at one place. */
static char *texts[TEXTS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Its place, or an empty one; NULL: none is near. */
static struct node *find(uint64_t id)
{
    uint64_t place = (id * UINT64_C(0x9e3779b97f4a7c15)) >> 40;
    for (uint32_t i = 0; i < TRIES; i++) {
        struct node *node = &nodes[(place + i) % NODES];
        if (node->id == id || node->id == 0)
            return node;
    }
    return NULL;
}

static void put(uint64_t id, const char *captured_in)
{
    struct node *node = captured_in ? find(id) : NULL;
    if (node)
        *node = (struct node){id, captured_in};
}

/* NULL: there are too many, or no memory. */
static const char *keep(const char *text)
{
    uint32_t place = 0;
    for (const char *at = text; *at; at++)
        place = place * 31 + (uint8_t)*at;
    for (uint32_t i = 0; i < TRIES; i++) {
        char **kept = &texts[(place + i) % TEXTS];
        if (!*kept)
            *kept = strdup(text);
        if (!*kept || strcmp(*kept, text) == 0)
            return *kept;
    }
    return NULL;
}

void gpu_node_captured(uint64_t id)
{
    char text[TEXT_SIZE];
    gpu_tell_open(text, sizeof(text));
    pthread_mutex_lock(&lock);
    put(id, text[0] ? keep(text) : NULL);
    pthread_mutex_unlock(&lock);
}

void gpu_node_cloned(uint64_t id, uint64_t original)
{
    pthread_mutex_lock(&lock);
    const struct node *from = find(original);
    if (from && from->id == original)
        put(id, from->captured_in);
    pthread_mutex_unlock(&lock);
}

const char *gpu_node_ranges(uint64_t id)
{
    if (id == 0)
        return NULL;
    pthread_mutex_lock(&lock);
    const struct node *node = find(id);
    const char *captured_in = node && node->id == id ? node->captured_in : NULL;
    pthread_mutex_unlock(&lock);
    return captured_in;
}
