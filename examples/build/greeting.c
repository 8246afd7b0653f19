/* SPDX-License-Identifier: MIT */
/* The program that each of these folders builds, in C. */
#include <annot/annot.h>
#include <stdio.h>

int main(void)
{
    ANNOT_RANGE("greeting");
    annot_mark("hello");
    puts("hello");
    return 0;
}
