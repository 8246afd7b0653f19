/* SPDX-License-Identifier: MIT */
/* A CUDA program that logs its own activity: kernels, copies, graphs, contexts, on several threads.
 *
 *     scene SCENE [COUNT]     streams copies graph contexts sync jit loop graphloop killed window
 *
 * Prints one line of JSON: the number of calls of each kind, and times by CUDA events, for
 * comparison with a profiler's recording. Kernels are compiled at run time (NVRTC). It only uses
 * the driver. "loop" and "graphloop" measure the cost of a profiler: COUNT launches of an empty
 * kernel, wall and CPU time of the launching thread. Any CUDA error ends the program with status 1.
 * With -DSCENE_RANGES, the scene is a range of annot, and so is each of its threads: "lane 0". */
#define _GNU_SOURCE
#include <cuda.h>
#include <nvrtc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef SCENE_RANGES
#include <annot/annot.h>
#else
#define annot_push(text) ((void)(text))
#define annot_pop()      ((void)0)
#endif

static const char source[] =
    "extern \"C\" __global__ void spin(long long ns) {\n"
    "  unsigned long long begin, now;\n"
    "  asm volatile(\"mov.u64 %0, %globaltimer;\" : \"=l\"(begin));\n"
    "  do asm volatile(\"mov.u64 %0, %globaltimer;\" : \"=l\"(now)); while (now - begin < ns);\n"
    "}\n"
    "extern \"C\" __global__ void empty() {}\n"
    "extern \"C\" __global__ void add(float *x, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) x[i] += 1;\n"
    "}\n";

static char *ptx;
static CUdevice device;
static CUmodule module;
static CUfunction spin, empty_kernel, add;

#define CHECK(call) check((call), #call, __LINE__)

static void check(CUresult result, const char *call, int line)
{
    const char *name = "?";
    if (result == CUDA_SUCCESS)
        return;
    cuGetErrorName(result, &name);
    fprintf(stderr, "gpu_scene.c:%d: %s: %s\n", line, call, name);
    exit(1);
}

static int64_t now_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void compile(void)
{
    nvrtcProgram program;
    const char *options[] = {"--gpu-architecture=compute_75"};
    size_t size;
    if (nvrtcCreateProgram(&program, source, "scene.cu", 0, NULL, NULL) ||
        nvrtcCompileProgram(program, 1, options) || nvrtcGetPTXSize(program, &size)) {
        fprintf(stderr, "gpu_scene.c: nvrtc failed\n");
        exit(1);
    }
    ptx = malloc(size);
    nvrtcGetPTX(program, ptx);
    nvrtcDestroyProgram(&program);
}

static CUcontext make_context(void)
{
    CUcontext context;
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    return context;
}

static void load_kernels(void)
{
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&spin, module, "spin"));
    CHECK(cuModuleGetFunction(&empty_kernel, module, "empty"));
    CHECK(cuModuleGetFunction(&add, module, "add"));
}

static void launch_spin(CUstream stream, long long ns)
{
    void *arguments[] = {&ns};
    CHECK(cuLaunchKernel(spin, 1, 1, 1, 32, 1, 1, 0, stream, arguments, NULL));
}

static void launch_empty(CUstream stream)
{
    CHECK(cuLaunchKernel(empty_kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
}

/* Four streams, one thread each: COUNT spins of 200 us, each between two events. */
struct lane {
    CUcontext context;
    CUstream stream;
    char name[16];
    int count;
    double sum_us;
    pid_t tid;
};

static void *run_lane(void *argument)
{
    struct lane *lane = argument;
    CUevent begin, end;
    float ms;
    lane->tid = gettid();
    CHECK(cuCtxSetCurrent(lane->context));
    CHECK(cuEventCreate(&begin, CU_EVENT_DEFAULT));
    CHECK(cuEventCreate(&end, CU_EVENT_DEFAULT));
    annot_push(lane->name);
    for (int i = 0; i < lane->count; i++) {
        CHECK(cuEventRecord(begin, lane->stream));
        launch_spin(lane->stream, 200000);
        CHECK(cuEventRecord(end, lane->stream));
        CHECK(cuEventSynchronize(end));
        CHECK(cuEventElapsedTime(&ms, begin, end));
        lane->sum_us += ms * 1e3;
    }
    annot_pop();
    return NULL;
}

static void scene_streams(CUcontext context, int count)
{
    pthread_t threads[4];
    struct lane lanes[4];
    for (int i = 0; i < 4; i++) {
        lanes[i] = (struct lane){.context = context, .count = count};
        snprintf(lanes[i].name, sizeof(lanes[i].name), "lane %d", i);
        CHECK(cuStreamCreate(&lanes[i].stream, CU_STREAM_NON_BLOCKING));
        pthread_create(&threads[i], NULL, run_lane, &lanes[i]);
    }
    printf("{\"scene\": \"streams\", \"spin\": %d, \"lanes\": [", 4 * count);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        printf("%s{\"tid\": %d, \"spin\": %d, \"event_us\": %.3f}", i ? ", " : "", lanes[i].tid,
               count, lanes[i].sum_us);
    }
    printf("]}\n");
}

static void scene_copies(int count)
{
    const size_t size = 8 << 20;
    CUdeviceptr there, other;
    CUstream stream;
    void *here;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAllocHost(&here, size));
    CHECK(cuMemAlloc(&there, size));
    CHECK(cuMemAlloc(&other, size));
    for (int i = 0; i < count; i++) {
        CHECK(cuMemcpyHtoDAsync(there, here, size, stream));
        CHECK(cuMemcpyDtoDAsync(other, there, size / 2, stream));
        CHECK(cuMemcpyDtoHAsync(here, other, size / 4, stream));
        CHECK(cuMemsetD8Async(there, 1, size / 8, stream));
    }
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemFree(there));
    CHECK(cuMemFree(other));
    CHECK(cuMemFreeHost(here));
    printf(
        "{\"scene\": \"copies\", \"htod\": %d, \"dtod\": %d, \"dtoh\": %d, \"memset\": %d, "
        "\"htod_bytes\": %zu, \"dtod_bytes\": %zu, \"dtoh_bytes\": %zu, \"memset_bytes\": %zu}\n",
        count, count, count, count, size * count, size / 2 * count, size / 4 * count,
        size / 8 * count);
}

/* Three kernels and a copy captured; replayed COUNT times. */
static CUgraphExec make_graph(CUstream stream, int kernels)
{
    CUgraph graph;
    CUgraphExec ready;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (int i = 0; i < kernels; i++)
        if (i % 3 == 2)
            launch_spin(stream, 20000);
        else
            launch_empty(stream);
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiate(&ready, graph, 0));
    CHECK(cuGraphDestroy(graph));
    return ready;
}

static void scene_graph(int count)
{
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUgraphExec graph = make_graph(stream, 3);
    for (int i = 0; i < count; i++)
        CHECK(cuGraphLaunch(graph, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuGraphExecDestroy(graph));
    printf("{\"scene\": \"graph\", \"graph_launches\": %d, \"nodes\": 3, \"empty\": %d, "
           "\"spin\": %d}\n",
           count, 2 * count, count);
}

/* Two contexts in turn, destroyed at the end; their streams have the same numbers. */
static void scene_contexts(int count)
{
    CUcontext contexts[2];
    CUstream streams[2];
    for (int i = 0; i < 2; i++) {
        CHECK(cuCtxCreate(&contexts[i], NULL, 0, device));
        load_kernels();
        CHECK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
        for (int j = 0; j < count; j++)
            launch_spin(streams[i], 50000);
        CHECK(cuCtxSynchronize());
    }
    for (int i = 0; i < 2; i++)
        CHECK(cuCtxDestroy(contexts[i]));
    printf("{\"scene\": \"contexts\", \"contexts\": 2, \"spin\": %d}\n", 2 * count);
}

/* Waits of each kind, and a stream that waits for another one's event. */
static void scene_sync(int count)
{
    CUstream streams[2];
    CUevent event;
    CHECK(cuStreamCreate(&streams[0], CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&streams[1], CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (int i = 0; i < count; i++) {
        launch_spin(streams[0], 100000);
        CHECK(cuEventRecord(event, streams[0]));
        CHECK(cuStreamWaitEvent(streams[1], event, 0));
        launch_spin(streams[1], 50000);
        CHECK(cuEventSynchronize(event));
        CHECK(cuStreamSynchronize(streams[1]));
        CHECK(cuCtxSynchronize());
    }
    printf("{\"scene\": \"sync\", \"spin\": %d, \"event_sync\": %d, \"stream_sync\": %d, "
           "\"context_sync\": %d, \"stream_wait\": %d}\n",
           2 * count, count, count, count, count);
}

static void scene_jit(int count)
{
    for (int i = 0; i < count; i++) {
        compile();
        load_kernels();
        launch_empty(NULL);
        CHECK(cuCtxSynchronize());
        CHECK(cuModuleUnload(module));
    }
    printf("{\"scene\": \"jit\", \"loads\": %d, \"empty\": %d}\n", count, count);
}

/* The cost of a profiler: the launching thread's time per launch, and the time until all is
 * done. */
static void scene_loop(int count, int kernels_a_graph)
{
    CUstream stream;
    CUgraphExec graph = NULL;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    if (kernels_a_graph)
        graph = make_graph(stream, kernels_a_graph);
    for (int i = 0; i < 200; i++)
        launch_empty(stream);
    CHECK(cuStreamSynchronize(stream));
    int64_t wall = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
    int64_t all = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < count; i++) {
        if (graph)
            CHECK(cuGraphLaunch(graph, stream));
        else
            launch_empty(stream);
        if (i % 1000 == 999)
            CHECK(cuStreamSynchronize(stream));
    }
    CHECK(cuStreamSynchronize(stream));
    printf("{\"scene\": \"%s\", \"launches\": %d, \"wall_ns\": %.1f, \"cpu_ns\": %.1f, "
           "\"process_cpu_ns\": %.1f}\n",
           graph ? "graphloop" : "loop", count, (double)(now_ns(CLOCK_MONOTONIC) - wall) / count,
           (double)(now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu) / count,
           (double)(now_ns(CLOCK_PROCESS_CPUTIME_ID) - all) / count);
}

/* Killed while kernels have ended, are running, and are queued. */
static void scene_killed(int count)
{
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < count; i++)
        launch_spin(stream, 100000);
    CHECK(cuStreamSynchronize(stream));
    launch_spin(stream, 3000000000LL);
    for (int i = 0; i < 5; i++)
        launch_spin(stream, 100000);
    printf("{\"scene\": \"killed\", \"spin_done\": %d, \"spin_unfinished\": 6}\n", count);
    fflush(stdout);
    usleep(1200000);
    kill(getpid(), SIGKILL);
}

/* Four windows by a signal to itself (SIGUSR2: the recorder opens or shuts), with times. */
static void scene_window(int count)
{
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    printf("{\"scene\": \"window\", \"steps\": [");
    for (int window = 0; window < 8; window++) {
        int64_t begin = now_ns(CLOCK_MONOTONIC);
        raise(SIGUSR2);
        int64_t switched = now_ns(CLOCK_MONOTONIC);
        launch_empty(stream);
        CHECK(cuStreamSynchronize(stream));
        int64_t first = now_ns(CLOCK_MONOTONIC);
        for (int i = 0; i < count; i++)
            launch_empty(stream);
        CHECK(cuStreamSynchronize(stream));
        printf("%s{\"on\": %d, \"switch_us\": %.1f, \"first_launch_us\": %.1f, "
               "\"a_launch_ns\": %.1f}",
               window ? ", " : "", window % 2 == 0, (switched - begin) / 1e3,
               (first - switched) / 1e3, (double)(now_ns(CLOCK_MONOTONIC) - first) / count);
    }
    printf("]}\n");
}

/* Steps of ten kernels in a range each, with three after it, and the launching thread's time for
 * each range, which is where a window opens. */
static void scene_steps(int count)
{
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    printf("{\"scene\": \"steps\", \"steps\": %d, \"step_us\": [", count);
    for (int step = 0; step < count; step++) {
        int64_t begin = now_ns(CLOCK_MONOTONIC);
        annot_push("step");
        for (int i = 0; i < 10; i++)
            launch_empty(stream);
        annot_pop();
        printf("%s%.1f", step ? ", " : "", (now_ns(CLOCK_MONOTONIC) - begin) / 1e3);
        for (int i = 0; i < 3; i++)
            launch_empty(stream);
        CHECK(cuStreamSynchronize(stream));
    }
    printf("]}\n");
}

int main(int count_of_words, char **words)
{
    const char *scene = count_of_words > 1 ? words[1] : "streams";
    int count = count_of_words > 2 ? atoi(words[2]) : 10;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    compile();
    CUcontext context = make_context();
    load_kernels();
    annot_push(scene);
    if (strcmp(scene, "streams") == 0)
        scene_streams(context, count);
    else if (strcmp(scene, "copies") == 0)
        scene_copies(count);
    else if (strcmp(scene, "graph") == 0)
        scene_graph(count);
    else if (strcmp(scene, "contexts") == 0)
        scene_contexts(count);
    else if (strcmp(scene, "sync") == 0)
        scene_sync(count);
    else if (strcmp(scene, "jit") == 0)
        scene_jit(count);
    else if (strcmp(scene, "loop") == 0)
        scene_loop(count, 0);
    else if (strcmp(scene, "graphloop") == 0)
        scene_loop(count, 20);
    else if (strcmp(scene, "killed") == 0)
        scene_killed(count);
    else if (strcmp(scene, "window") == 0)
        scene_window(count);
    else if (strcmp(scene, "steps") == 0)
        scene_steps(count);
    else
        return 2;
    annot_pop();
    return 0;
}
