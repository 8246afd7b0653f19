/* SPDX-License-Identifier: MIT */
/* Graphs that a test program makes up: nodes are captured on a thread, copied when the graph is
 * made, and run in sequence at each launch, with one record each or one for all, as the subscriber
 * requests. Threads: a graph is made by one thread, and may be launched by any. */
#include "fake_parts.h"

enum { GRAPHS = 256, GRAPH_NODES = 16, FIRST_GRAPH = 5 };

static struct graph {
    struct fake_work nodes[GRAPH_NODES];
    size_t count;
} graphs[GRAPHS];

static uint32_t graph_count;
static uint64_t node_count;
static __thread struct graph capture;

static void tell_node(CUpti_CallbackId id, uint64_t node, uint64_t original)
{
    CUpti_GraphData graph = {.node = (CUgraphNode)(uintptr_t)node,
                             .originalNode = (CUgraphNode)(uintptr_t)original};
    const CUpti_ResourceData data = {.resourceDescriptor = &graph};
    if (fake.callback)
        fake.callback(fake.userdata, CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}

__attribute__((visibility("default"))) fake_capture_function fake_capture;
__attribute__((visibility("default"))) fake_instantiate_function fake_instantiate;
__attribute__((visibility("default"))) fake_graph_launch_function fake_graph_launch;

void fake_capture(const char *name, uint64_t bytes, uint64_t ns)
{
    CUpti_CallbackId call = bytes ? CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2_ptsz
                                  : CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
    uint64_t node = __atomic_add_fetch(&node_count, 1, __ATOMIC_RELAXED);
    uint32_t correlation = (uint32_t)(500000 + node);
    fake_rule(capture.count < GRAPH_NODES, "a graph is small here");
    fake_call(call, correlation, CUPTI_API_ENTER);
    tell_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, node, 0);
    fake_call(call, correlation, CUPTI_API_EXIT);
    capture.nodes[capture.count++] =
        (struct fake_work){.name = name, .bytes = bytes, .ns = ns, .node = node};
}

uint32_t fake_instantiate(void)
{
    uint32_t number = __atomic_fetch_add(&graph_count, 1, __ATOMIC_RELAXED);
    fake_rule(number < GRAPHS, "graphs are few here");
    for (size_t i = 0; i < capture.count; i++) {
        struct fake_work *node = &capture.nodes[i];
        uint64_t clone = __atomic_add_fetch(&node_count, 1, __ATOMIC_RELAXED);
        tell_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, clone, node->node);
        node->node = clone;
        node->graph = FIRST_GRAPH + number;
    }
    graphs[number] = capture;
    capture.count = 0;
    return number;
}

void fake_graph_launch(uint32_t number)
{
    const struct graph *graph = &graphs[number];
    struct fake_work work[GRAPH_NODES], whole = {.graph = FIRST_GRAPH + number};
    uint32_t correlation = fake_call_around(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch);
    for (size_t i = 0; i < graph->count; i++) {
        work[i] = graph->nodes[i];
        work[i].correlation = whole.correlation = correlation;
        whole.ns += work[i].ns;
    }
    if (fake.kinds[CUPTI_ACTIVITY_KIND_GRAPH_TRACE])
        fake_run(&whole, 1);
    else if (fake.kinds[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL])
        fake_run(work, graph->count);
}
