/* SPDX-License-Identifier: MIT */
/* A statically linked program, into which no library can be loaded. Runs until its input ends. */
#include <stdio.h>

int main(void)
{
    puts("ok");
    fflush(stdout);
    while (getchar() != EOF)
        continue;
    return 0;
}
