/* SPDX-License-Identifier: MIT */
/* One range, by a program that takes 20 ms to make its segment and then ends at once. */
#include "testpoint.h"

#include <annot/annot.h>
#include <string.h>
#include <unistd.h>

static void wait_before_it_is_whole(const char *name)
{
    if (strcmp(name, "create:filled") == 0)
        usleep(20000);
}

int main(void)
{
    annot_testpoint_hook = wait_before_it_is_whole;
    annot_push("late");
    annot_pop();
    return 0;
}
