/* SPDX-License-Identifier: MIT */
/* A program that runs until its input ends, for tests that attach: a range is already open before,
 * and is popped before others are pushed. */
#include <nvtx3/nvToolsExt.h>
#include <poll.h>
#include <stdio.h>

int main(void)
{
    struct pollfd input = {.fd = 0, .events = POLLIN};
    nvtxRangePushA("early");
    puts("begun");
    fflush(stdout);
    while (poll(&input, 1, 10) == 0) {
        nvtxRangePop();
        nvtxRangePushA("late");
    }
    return 0;
}
