/* SPDX-License-Identifier: MIT */
/* Painted and alternate stacks: implements stack_use.h. */
#include "stack_use.h"

#include "test.h"

#include <signal.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { STACK_SIZE = 128 * 1024, PAINT = 0xa5, SLACK = 512 };

static _Alignas(64) uint8_t stack[STACK_SIZE];
static ucontext_t outside, inside;
static void (*called)(void);
static uint8_t *begin;

__attribute__((noinline)) static void run(void)
{
    begin = __builtin_frame_address(0);
    called();
    __asm__ volatile("" ::: "memory"); /* prevents a tail call */
}

size_t stack_use(void (*call)(void))
{
    sigset_t all, before;
    size_t untouched = 0;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    memset(stack, PAINT, sizeof(stack));
    CHECK_INT(getcontext(&inside), 0);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof(stack);
    inside.uc_link = &outside;
    called = call;
    makecontext(&inside, run, 0);
    CHECK_INT(swapcontext(&outside, &inside), 0);
    sigprocmask(SIG_SETMASK, &before, NULL);
    while (untouched < sizeof(stack) && stack[untouched] == PAINT)
        untouched++;
    return (size_t)(begin - (stack + untouched));
}

static void handle(int number)
{
    (void)number;
    called();
}

void stack_handler_run(void (*call)(void), size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), kernel = getauxval(AT_MINSIGSTKSZ);
    size += (kernel ? kernel : MINSIGSTKSZ) + SLACK;
    size_t pages = (size + page - 1) / page * page;
    uint8_t *memory =
        mmap(NULL, page + pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    CHECK_INT(mprotect(memory, page, PROT_NONE), 0);
    const stack_t alternate = {.ss_sp = memory + page, .ss_size = size};
    const stack_t none = {.ss_flags = SS_DISABLE};
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK}, before;
    CHECK_INT(sigaltstack(&alternate, NULL), 0);
    CHECK_INT(sigaction(SIGUSR1, &action, &before), 0);
    called = call;
    raise(SIGUSR1);
    CHECK_INT(sigaction(SIGUSR1, &before, NULL), 0);
    CHECK_INT(sigaltstack(&none, NULL), 0);
    CHECK_INT(munmap(memory, page + pages), 0);
}
