/* SPDX-License-Identifier: MIT */
/* A program that is annotated for NVTX, and for ITT if its header is available, and calls neither
 * until told to. It is for tests that attach: it reads commands from its input and answers "ok".
 *
 *     steps N         N ranges of NVTX ("step" in domain "job") and as many tasks of ITT ("task")
 *     threads K N     the same in each of K threads
 *     fork N          the same in a child
 *     busy K MS       K threads (0: the main one) allocate, free and format for this time; prints
 *                     the result
 *     epoll           the main thread waits for the next line by epoll; prints the result of that
 *     burn MS         the main thread computes for this time; prints whether all results were equal
 *     exhaust         loads copies of a library that uses static TLS, $TLS_COPIES/N.so, until one
 *                     fails to load; prints how many were loaded, and the reason of the failure
 *     wait            a thread waits for input of a pipe, without end; see "woken"
 *     woken           writes to that pipe; prints the text that the thread read */
#include <nvtx3/nvToolsExt.h>
#ifdef HAVE_ITT
#include "itt_part.h"
#endif
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void take_steps(int count)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("job");
    nvtxEventAttributes_t event = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = "step";
    for (int i = 0; i < count; i++) {
        nvtxDomainRangePushEx(domain, &event);
        nvtxDomainRangePop(domain);
    }
#ifdef HAVE_ITT
    __itt_domain *tasks = __itt_domain_create("job");
    __itt_string_handle *name = __itt_string_handle_create("task");
    for (int i = 0; i < count; i++) {
        __itt_task_begin(tasks, __itt_null, __itt_null, name);
        __itt_task_end(tasks);
    }
#endif
}

static void *run_steps(void *context)
{
    take_steps(*(int *)context);
    return NULL;
}

static void run_threads(int threads, int count)
{
    pthread_t ids[64];
    for (int i = 0; i < threads && i < 64; i++)
        pthread_create(&ids[i], NULL, run_steps, &count);
    for (int i = 0; i < threads && i < 64; i++)
        pthread_join(ids[i], NULL);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t busy_until;

/* Each round returns 1 if everything in it succeeded. */
static void *allocate(void *context)
{
    uint64_t *wrong = context;
    for (unsigned round = 1; now_ms() < busy_until; round++) {
        char text[64], *memory = malloc(round % 5000 + 1);
        double value = round * 0.5;
        memset(memory, (int)(round & 0x7f), round % 5000 + 1);
        snprintf(text, sizeof(text), "%u %.2f", round, value);
        *wrong += strtoul(text, NULL, 10) != round;
        *wrong += (unsigned char)memory[round % 5000] != (round & 0x7f);
        free(memory);
    }
    return NULL;
}

static void be_busy(int threads, int ms)
{
    pthread_t ids[16];
    uint64_t wrong[16] = {0}, sum = 0;
    busy_until = now_ms() + ms;
    if (threads == 0)
        allocate(&sum);
    for (int i = 0; i < threads && i < 16; i++)
        pthread_create(&ids[i], NULL, allocate, &wrong[i]);
    for (int i = 0; i < threads && i < 16; i++) {
        pthread_join(ids[i], NULL);
        sum += wrong[i];
    }
    printf("wrong %" PRIu64 "\n", sum);
}

static int ends[2];
static pthread_t waiter;
static char woken_by[8];

static void *wait_for_input(void *context)
{
    ssize_t got = read(ends[0], woken_by, sizeof(woken_by) - 1);
    (void)context;
    woken_by[got > 0 ? got : 0] = 0;
    return NULL;
}

static void wait_for_good(void)
{
    if (pipe(ends) == 0)
        pthread_create(&waiter, NULL, wait_for_input, NULL);
}

static void wake(void)
{
    if (write(ends[1], "awake", 5) == 5)
        pthread_join(waiter, NULL);
    printf("read %s\n", woken_by);
}

static void wait_by_epoll(void)
{
    struct epoll_event event = {.events = EPOLLIN};
    int fd = epoll_create1(0);
    epoll_ctl(fd, EPOLL_CTL_ADD, STDIN_FILENO, &event);
    errno = 0;
    int got = epoll_wait(fd, &event, 1, -1);
    printf("epoll %d %d\n", got, errno);
    close(fd);
}

/* Computes in registers only, including vector registers. */
static double harmonic(int count)
{
    double total = 0;
    for (int i = 1; i <= count; i++)
        total += 1.0 / (double)i;
    return total;
}

static void burn(int ms)
{
    int64_t end = now_ms() + ms;
    double first = harmonic(100000);
    int same = 1;
    while (now_ms() < end)
        for (int i = 0; i < 20; i++)
            same &= harmonic(100000) == first;
    printf("same %d %.15f\n", same, first);
}

static void fork_steps(int count)
{
    pid_t child = fork();
    if (child == 0) {
        take_steps(count);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void exhaust(void)
{
    char path[512];
    int count = 0;
    void *library;
    do {
        snprintf(path, sizeof(path), "%s/%d.so", getenv("TLS_COPIES"), count++);
        library = dlopen(path, RTLD_NOW);
    } while (library);
    printf("%d: %s\n", count - 1, dlerror());
}

static void obey(const char *word, uint64_t first, uint64_t second)
{
    if (strcmp(word, "steps") == 0)
        take_steps((int)first);
    else if (strcmp(word, "threads") == 0)
        run_threads((int)first, (int)second);
    else if (strcmp(word, "fork") == 0)
        fork_steps((int)first);
    else if (strcmp(word, "busy") == 0)
        be_busy((int)first, (int)second);
    else if (strcmp(word, "exhaust") == 0)
        exhaust();
    else if (strcmp(word, "wait") == 0)
        wait_for_good();
    else if (strcmp(word, "woken") == 0)
        wake();
    else if (strcmp(word, "epoll") == 0)
        wait_by_epoll();
    else if (strcmp(word, "burn") == 0)
        burn((int)first);
}

int main(void)
{
    char line[128];
    puts("ok");
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        char word[32] = "";
        uint64_t first = 0, second = 0;
        sscanf(line, "%31s %" SCNu64 " %" SCNu64, word, &first, &second);
        obey(word, first, second);
        puts("ok");
        fflush(stdout);
    }
    return 0;
}
