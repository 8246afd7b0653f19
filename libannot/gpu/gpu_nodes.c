/* SPDX-License-Identifier: MIT */
/* Where the nodes of graphs were captured, so that their kernels keep that origin at each launch of
 * the graph.
 *
 * A graph's nodes are made while its work is captured, and cloned when it is instantiated; CUPTI
 * numbers both. Only in a window that records nodes. Threads: any; a lock that is held for a few
 * stores, and only where graphs are made. What does not fit takes the origin of the graph's launch.
 */
#include "gpu_parts.h"

#include <pthread.h>

enum { NODES = 1 << 14, TRIES = 16 };

static struct node {
    uint64_t id; /* 0: empty */
    struct gpu_origin origin;
} nodes[NODES];

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

static void put(uint64_t id, const struct gpu_origin *origin)
{
    struct node *node = find(id);
    if (node)
        *node = (struct node){id, *origin};
}

void gpu_node_captured(uint64_t id)
{
    struct gpu_origin here;
    gpu_tell_here(&here);
    pthread_mutex_lock(&lock);
    put(id, &here);
    pthread_mutex_unlock(&lock);
}

void gpu_node_cloned(uint64_t id, uint64_t original)
{
    pthread_mutex_lock(&lock);
    const struct node *from = find(original);
    if (from && from->id == original)
        put(id, &from->origin);
    pthread_mutex_unlock(&lock);
}

int gpu_node_find(uint64_t id, struct gpu_origin *ret_origin)
{
    pthread_mutex_lock(&lock);
    const struct node *node = id ? find(id) : NULL;
    int found = node && node->id == id;
    if (found)
        *ret_origin = node->origin;
    pthread_mutex_unlock(&lock);
    return found;
}
