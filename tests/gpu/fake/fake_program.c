/* SPDX-License-Identifier: MIT */
/* A program with a nonexistent GPU: it starts the injection library as the driver does, and
 * launches the work of a recorded program through the fake libcupti.
 *
 *     fake_program FILE MODE [kill|fork|exec|linger]
 *
 * Each recorded thread is represented by a thread of this program. Around launch number N, the
 * range "launch N" is open on its thread. At the end it prints a line of JSON: the number of
 * launches called on each thread. With "kill" it kills itself instead of returning. With "exec" it
 * becomes `true`. With "fork" a child ends before it, by exit, after a range of the same kind. With
 * "linger" it ends when there is a line to read. FAKE_BEFORE, "N COMMAND;N COMMAND", are commands
 * that it runs in the range of its N-th launch, before the call; 0 is before everything. FAKE_NAMES
 * is a number of long range names that are used before all that. Without FAKE_CUPTI it launches no
 * work.
 *
 * FAKE_GPUS are the devices that the program may use, in its order: "GPU-...@1a
 * MIG-.../GPU-...@1b", each with its bus; for an instance, the whole GPU comes after the slash.
 * Without it, its only device is the recorded one. */
#include "fake_cupti.h"

#include <annot/annot.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 16 };

static struct worker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const struct fake_launch *launch; /* to be called */
    uint32_t tid;                     /* recorded */
    int own_tid;
    unsigned launches;
    int ends;
} workers[THREADS];

static int worker_count;
static unsigned all_launches;
static volatile sig_atomic_t signals;

/* The driver's functions, which the library asks for its version and for devices. */
#define EXPORTED __attribute__((visibility("default")))
EXPORTED int cuDriverGetVersion(int *version);
EXPORTED int cuDeviceGetName(char *name, int size, int device);
EXPORTED int cuDeviceGetPCIBusId(char *text, int size, int device);
EXPORTED int cuDeviceGetUuid(unsigned char *uuid, int device);
EXPORTED int cuDeviceGetUuid_v2(unsigned char *uuid, int device);
EXPORTED int cuDeviceGetAttribute(int *value, int attribute, int device);
EXPORTED int cuDeviceTotalMem_v2(size_t *bytes, int device);
/* A function of libannot-inject, which knows the names that programs set through NVTX. FAKE_NAME:
 * "KIND:VALUE=TEXT". */
EXPORTED const char *annot_inject_object(uint32_t kind, uint64_t value);

int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

/* Fills the table of names. */
static void use_names(void)
{
    const char *wanted = getenv("FAKE_NAMES");
    char name[601];
    for (unsigned i = 0; wanted && i < strtoul(wanted, NULL, 10); i++) {
        snprintf(name, sizeof(name), "%0600u", i);
        annot_push(name);
        annot_pop();
    }
}

static void run_before(unsigned launch)
{
    const char *at = getenv("FAKE_BEFORE");
    char command[1024];
    while (at && *at) {
        char *end;
        size_t length = strcspn(at, ";");
        if (strtoul(at, &end, 10) == launch && length < sizeof(command)) {
            snprintf(command, sizeof(command), "%.*s", (int)(length - (size_t)(end - at)), end);
            if (system(command) != 0)
                exit(5);
        }
        at += at[length] ? length + 1 : length;
    }
}

/* The word of a device in FAKE_GPUS. NULL: there is no such device. */
static const char *find_gpu(int device)
{
    const char *at = getenv("FAKE_GPUS");
    if (!at)
        at = "GPU-9aa78c1e-50cc-2bf1-978b-f359909874d6@1a";
    for (; at && device > 0; device--)
        at = (at = strchr(at, ' ')) ? at + 1 : NULL;
    return at;
}

static int read_uuid(const char *text, unsigned char *uuid)
{
    int count = 0;
    for (text += 4; count < 16; text += 2) {
        text += *text == '-';
        if (sscanf(text, "%2hhx", &uuid[count++]) != 1)
            return 1;
    }
    return 0;
}

int cuDeviceGetName(char *name, int size, int device)
{
    const char *gpu = find_gpu(device);
    snprintf(name, (size_t)size, "Fake %d%s", device,
             gpu && strncmp(gpu, "MIG", 3) == 0 ? " MIG 1g.10gb" : "");
    return 0;
}

int cuDeviceGetPCIBusId(char *text, int size, int device)
{
    const char *gpu = find_gpu(device);
    const char *bus = gpu ? strchr(gpu, '@') : NULL;
    if (!bus)
        return 1;
    snprintf(text, (size_t)size, "0000:%.2s:00.0", bus + 1);
    return 0;
}

/* Returns the UUID of the instance. The older function returns that of the whole GPU. */
int cuDeviceGetUuid_v2(unsigned char *uuid, int device)
{
    const char *gpu = find_gpu(device);
    return gpu ? read_uuid(gpu, uuid) : 1;
}

int cuDeviceGetUuid(unsigned char *uuid, int device)
{
    const char *gpu = find_gpu(device), *whole = gpu ? strchr(gpu, '/') : NULL;
    bool is_part = whole && whole < gpu + strcspn(gpu, " ");
    return gpu ? read_uuid(is_part ? whole + 1 : gpu, uuid) : 1;
}

/* Attributes of an H100, by the numbers of CUDA's attributes. */
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    static const int values[][2] = {{75, 9},   {76, 0},     {16, 132},   {39, 2048},
                                    {106, 32}, {82, 65536}, {81, 233472}};
    (void)device;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        if (values[i][0] == attribute) {
            *value = values[i][1];
            return 0;
        }
    return 1;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    *bytes = 85017493504;
    return 0;
}

const char *annot_inject_object(uint32_t kind, uint64_t value)
{
    char key[48];
    const char *name = getenv("FAKE_NAME");
    snprintf(key, sizeof(key), "%u:%lu=", kind, (unsigned long)value);
    return name && strncmp(name, key, strlen(key)) == 0 ? name + strlen(key) : NULL;
}

static void do_launch(struct worker *worker)
{
    char name[32];
    snprintf(name, sizeof(name), "launch %u", worker->launch->correlation);
    annot_push(name);
    run_before(all_launches + 1);
    worker->launch->call(worker->launch->context);
    annot_pop();
    worker->launches++;
}

static void *work(void *context)
{
    struct worker *worker = context;
    pthread_mutex_lock(&worker->lock);
    worker->own_tid = gettid();
    while (!worker->ends) {
        while (!worker->launch && !worker->ends)
            pthread_cond_wait(&worker->changed, &worker->lock);
        if (worker->launch)
            do_launch(worker);
        worker->launch = NULL;
        pthread_cond_broadcast(&worker->changed);
    }
    pthread_mutex_unlock(&worker->lock);
    return NULL;
}

static struct worker *worker_of(uint32_t tid)
{
    for (int i = 0; i < worker_count; i++)
        if (workers[i].tid == tid)
            return &workers[i];
    if (worker_count == THREADS)
        exit(3);
    struct worker *worker = &workers[worker_count++];
    worker->tid = tid;
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->changed, NULL);
    pthread_create(&worker->thread, NULL, work, worker);
    return worker;
}

static void on_launch(const struct fake_launch *launch)
{
    struct worker *worker = worker_of(launch->tid);
    pthread_mutex_lock(&worker->lock);
    worker->launch = launch;
    pthread_cond_broadcast(&worker->changed);
    while (worker->launch)
        pthread_cond_wait(&worker->changed, &worker->lock);
    pthread_mutex_unlock(&worker->lock);
    all_launches++;
}

static void *function_of(const char *library, const char *name)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    void *function = handle ? dlsym(handle, name) : NULL;
    if (function)
        return function;
    fprintf(stderr, "fake_program.c: %s: %s\n", library, dlerror());
    exit(1);
}

/* Starts the library like cuInit does. */
static void start_injection(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    int (*start)(void);
    if (!path)
        return;
    *(void **)&start = function_of(path, "InitializeInjection");
    if (!start())
        exit(4);
}

static void tell(void)
{
    printf("{\"launches\": %u, \"signals\": %d, \"threads\": [", all_launches, (int)signals);
    for (int i = 0; i < worker_count; i++) {
        pthread_mutex_lock(&workers[i].lock);
        workers[i].ends = 1;
        pthread_cond_broadcast(&workers[i].changed);
        pthread_mutex_unlock(&workers[i].lock);
        pthread_join(workers[i].thread, NULL);
        printf("%s{\"recorded_tid\": %u, \"tid\": %d, \"launches\": %u}", i ? ", " : "",
               workers[i].tid, workers[i].own_tid, workers[i].launches);
    }
    printf("]}\n");
    fflush(stdout);
}

static int end(const char *how)
{
    int status = 0;
    if (strcmp(how, "kill") == 0) {
        usleep(1500000); /* annot collects records each second */
        kill(getpid(), SIGKILL);
    }
    if (strcmp(how, "exec") == 0)
        execlp("true", "true", (char *)NULL);
    if (strcmp(how, "linger") == 0)
        (void)getchar();
    if (strcmp(how, "fork") != 0)
        return 0;
    pid_t child = fork();
    if (child == 0) {
        annot_push("launch 0");
        annot_pop();
        exit(0);
    }
    return waitpid(child, &status, 0) == child ? status : 1;
}

/* The program's own handler: annot's runs before it and calls it. */
static void on_signal(int number)
{
    (void)number;
    signals++;
}

int main(int count, char **words)
{
    const char *library = getenv("FAKE_CUPTI");
    fake_play_function *play;
    if (count < 3)
        return 2;
    signal(SIGUSR2, on_signal);
    use_names();
    start_injection();
    if (!library || !*library)
        return 0;
    *(void **)&play = function_of(library, "fake_play");
    run_before(0);
    int error = play(words[1], words[2], on_launch);
    if (error != 0) {
        fprintf(stderr, "fake_program.c: %s: %s\n", words[1], strerror(-error));
        return 1;
    }
    tell();
    return count > 3 ? end(words[3]) : 0;
}
