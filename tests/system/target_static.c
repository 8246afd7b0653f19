/* SPDX-License-Identifier: MIT */
/* Static probes as <sys/sdt.h> makes them, and if their counters show a watcher.
 *
 * Requests begin and end in separate functions, at different depths of the stack, and overlap with
 * phases; each prints its work. */
#include <stdint.h>
#include <stdio.h>

#define PROBE(name, semaphore, arguments, ...)                                                     \
    __asm__ volatile("990: nop\n\t"                                                                \
                     ".pushsection .note.stapsdt, \"\", \"note\"\n\t"                              \
                     ".balign 4\n\t"                                                               \
                     ".4byte 992f-991f, 994f-993f, 3\n\t"                                          \
                     "991: .asciz \"stapsdt\"\n\t"                                                 \
                     "992: .balign 4\n\t"                                                          \
                     "993: .8byte 990b\n\t"                                                        \
                     ".8byte _.stapsdt.base\n\t"                                                   \
                     ".8byte " semaphore "\n\t"                                                    \
                     ".asciz \"shop\"\n\t"                                                         \
                     ".asciz \"" name "\"\n\t"                                                     \
                     ".asciz \"" arguments "\"\n\t"                                                \
                     "994: .balign 4\n\t"                                                          \
                     ".popsection\n\t"                                                             \
                     ".ifndef _.stapsdt.base\n\t"                                                  \
                     ".pushsection .stapsdt.base, \"a\", \"progbits\"\n\t"                         \
                     ".hidden _.stapsdt.base\n\t"                                                  \
                     "_.stapsdt.base: .space 1\n\t"                                                \
                     ".popsection\n\t"                                                             \
                     ".endif" ::__VA_ARGS__)

__attribute__((section(".probes"), used)) volatile uint16_t shop_request_semaphore;

static volatile int sink;

__attribute__((noinline)) static void begin_request(int number)
{
    volatile char room[400];
    sink = room[number & 255] = 1;
    PROBE("request__start", "shop_request_semaphore", "-4@%0", "r"(number));
}

__attribute__((noinline)) static void end_request(int number)
{
    PROBE("request__done", "0", "-4@%0", "r"(number));
    sink = number;
}

static void nest(int depth)
{
    begin_request(depth);
    if (depth > 0)
        nest(depth - 1);
    end_request(depth);
}

int main(void)
{
    for (int i = 0; i < 20; i++) {
        begin_request(i);
        PROBE("phase__start", "0", "");
        end_request(i);
        PROBE("phase__done", "0", "");
    }
    nest(199);
    begin_request(0);
    for (int i = 0; i < 3; i++)
        PROBE("tick", "0", "");
    PROBE("tick", "0", "");
    printf("%d\n", shop_request_semaphore);
    return 0;
}
