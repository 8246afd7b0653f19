/* SPDX-License-Identifier: MIT */
/* A program into which nothing can be loaded: linked statically. Runs until its input ends. */
#include <stdio.h>

int main(void)
{
    puts("ok");
    fflush(stdout);
    while (getchar() != EOF)
        continue;
    return 0;
}
