/* SPDX-License-Identifier: MIT */
/* Waits in a system call below a function that was made at run time and does not keep a frame
 * pointer. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* sub rsp, 8; call rdi; add rsp, 8; ret */
static const unsigned char code[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd7,
                                     0x48, 0x83, 0xc4, 0x08, 0xc3};

static void wait_here(void)
{
    pause();
}

int main(void)
{
    void *memory =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*made)(void (*)(void));
    if (memory == MAP_FAILED)
        return 1;
    memcpy(memory, code, sizeof(code));
    memcpy(&made, &memory, sizeof(made));
    puts("ready");
    fflush(stdout);
    made(wait_here);
    return 0;
}
