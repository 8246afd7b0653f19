// SPDX-License-Identifier: MIT
// functions_target SCENE...: functions that count their own calls, called and left in every way.
//
// Compiled by the test with -finstrument-functions. Each process prints "NAME CALLS" lines at its
// end; counts are those of the calling process since its begin or fork.
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

#define QUIET    __attribute__((no_instrument_function))
#define NOINLINE __attribute__((noinline))

struct counter {
    char name[32]; // a copy: libraries are unloaded
    long count;
};

static counter counters[64];

#define CALLED() count_call(__func__)

QUIET static void count_call(const char *name)
{
    for (counter &entry : counters) {
        if (!entry.name[0])
            strncpy(entry.name, name, sizeof(entry.name) - 1);
        if (strcmp(entry.name, name) == 0) {
            __atomic_fetch_add(&entry.count, 1, __ATOMIC_RELAXED);
            return;
        }
    }
}

QUIET static void print_counts()
{
    for (const counter &entry : counters)
        if (entry.count)
            printf("%d %s %ld\n", getpid(), entry.name, entry.count);
    fflush(stdout);
}

static volatile int sink;

// ---- Calls ----

static int leaf(int n)
{
    CALLED();
    return n + 1;
}

static NOINLINE int outlined(int n)
{
    CALLED();
    return leaf(n) + leaf(n);
}

static int tail(int n)
{
    CALLED();
    return outlined(n + 1); // a jump, without the hooks
}

static int recurse(int depth)
{
    CALLED();
    return depth == 0 ? 0 : recurse(depth - 1) + 1;
}

namespace shapes
{
template <typename T> struct Circle {
    T radius;

    explicit Circle(T r) : radius(r)
    {
        CALLED();
    }

    ~Circle()
    {
        CALLED();
    }

    T area() const
    {
        CALLED();
        return radius * radius * 3;
    }
};
} // namespace shapes

static void scene_calls()
{
    CALLED();
    for (int i = 0; i < 100; i++)
        sink = tail(i) + recurse(3);
    sink = recurse(600);
    for (int i = 0; i < 10; i++)
        sink = (int)shapes::Circle<double>(i).area();
}

// ---- Left without an end ----

static NOINLINE void thrower(int depth)
{
    CALLED();
    volatile char room[200];
    room[0] = (char)depth;
    if (depth == 0)
        throw std::runtime_error("thrown");
    thrower(depth - 1);
    sink = room[0];
}

static NOINLINE int catcher(int depth)
{
    CALLED();
    try {
        thrower(depth);
    } catch (const std::exception &) {
        return leaf(depth);
    }
    return 0;
}

static jmp_buf target;

static NOINLINE void jumper(int depth)
{
    CALLED();
    volatile char room[64];
    room[0] = (char)depth;
    if (depth == 0)
        longjmp(target, 1);
    jumper(depth - 1);
    sink = room[0];
}

static NOINLINE void landed()
{
    CALLED();
    volatile char room[400]; // lower than the frames that the jump left
    room[0] = 1;
    sink = room[0];
}

static NOINLINE void jumps(int again)
{
    CALLED();
    if (setjmp(target) == 0)
        jumper(3);
    landed();
    if (again)
        jumps(again - 1);
}

static void scene_left()
{
    CALLED();
    for (int i = 0; i < 20; i++) {
        sink = catcher(i % 4);
        jumps(2);
    }
    sink = leaf(1);
}

// ---- Signals ----

static void handled(int number)
{
    CALLED();
    sink = leaf(number);
}

static void with_stack(int flags)
{
    CALLED();
    struct sigaction action = {};
    action.sa_handler = handled;
    action.sa_flags = flags;
    sigaction(SIGUSR1, &action, nullptr);
    for (int i = 0; i < 10; i++)
        raise(SIGUSR1);
}

static void scene_signals()
{
    CALLED();
    static char memory[1 << 16];
    stack_t other = {};
    other.ss_sp = memory;
    other.ss_size = sizeof(memory);
    with_stack(0);
    sigaltstack(&other, nullptr);
    with_stack(SA_ONSTACK);
    sink = leaf(1);
}

// ---- Processes, threads ----

static void forked_child()
{
    CALLED();
    sink = recurse(20);
}

static void scene_fork()
{
    CALLED();
    print_counts(); // the child begins at zero
    pid_t pid = fork();
    if (pid == 0) {
        for (counter &entry : counters)
            entry.count = 0;
        forked_child();
        print_counts();
        _exit(0);
    }
    for (counter &entry : counters)
        entry.count = 0;
    waitpid(pid, nullptr, 0);
    sink = leaf(1);
}

static NOINLINE void in_vfork()
{
    CALLED();
    sink = leaf(2);
    _exit(0);
}

static void scene_vfork()
{
    CALLED();
    pid_t pid = vfork();
    if (pid == 0)
        in_vfork();
    waitpid(pid, nullptr, 0);
    sink = leaf(1);
}

static void *threaded(void *)
{
    CALLED();
    for (int i = 0; i < 500; i++)
        sink = outlined(i);
    return nullptr;
}

static void scene_threads()
{
    CALLED();
    pthread_t threads[4];
    for (pthread_t &thread : threads)
        pthread_create(&thread, nullptr, threaded, nullptr);
    for (pthread_t thread : threads)
        pthread_join(thread, nullptr);
}

// ---- Libraries: argv of the scene is "libraries=A:B" ----

static void call_library(const char *path)
{
    CALLED();
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    void (*function)(void (*)(const char *)) =
        reinterpret_cast<void (*)(void (*)(const char *))>(dlsym(library, "library_entry"));
    function(count_call);
    printf("at %p\n", reinterpret_cast<void *>(function));
    dlclose(library);
}

static void scene_libraries(char *paths)
{
    CALLED();
    for (char *path = strtok(paths, ":"); path; path = strtok(nullptr, ":"))
        call_library(path);
}

int main(int argc, char **argv)
{
    CALLED();
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "calls") == 0)
            scene_calls();
        else if (strcmp(argv[i], "pause") == 0)
            sleep(2);
        else if (strcmp(argv[i], "left") == 0)
            scene_left();
        else if (strcmp(argv[i], "signals") == 0)
            scene_signals();
        else if (strcmp(argv[i], "fork") == 0)
            scene_fork();
        else if (strcmp(argv[i], "vfork") == 0)
            scene_vfork();
        else if (strcmp(argv[i], "threads") == 0)
            scene_threads();
        else if (strncmp(argv[i], "libraries=", 10) == 0)
            scene_libraries(argv[i] + 10);
        else
            return 2;
        errno = 0;
        leaf(0);
        if (errno)
            return 3;
    }
    print_counts();
    return 0;
}
