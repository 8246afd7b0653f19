/* SPDX-License-Identifier: MIT */
/* emit_edges MILLISECONDS: two short ranges in turn, some ten million events a second: any stop of
 * the program for a microsecond leaves a gap in its events. Prints how many ranges it made. One
 * thread. */
#include <stdlib.h>

#include <annot/annot.h>

#include "account.h"

enum { LOOPS = 200 };

static void spin(void)
{
    for (volatile int i = 0; i < LOOPS; i++)
        ;
}

int main(int argc, char **argv)
{
    int64_t until = emit_now() + (argc > 1 ? atoll(argv[1]) : 1000) * 1000000;
    uint64_t count = 0;
    annot_push("outer");
    while (emit_now() < until)
        for (int i = 0; i < 100; i++, count += 2) {
            annot_push("even");
            spin();
            annot_pop();
            annot_push("odd");
            spin();
            annot_pop();
        }
    annot_pop();
    printf("%llu\n", (unsigned long long)count);
    return 0;
}
