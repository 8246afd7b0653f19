/* SPDX-License-Identifier: MIT */
/* emit_threads COUNT: one thread after the other, each with one mark. */
#include <pthread.h>
#include <stdlib.h>

#include <annot/annot.h>

static void *mark(void *argument)
{
    annot_mark("here");
    return argument;
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 1000;
    for (long i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, mark, NULL) != 0)
            return 1;
        pthread_join(thread, NULL);
    }
    return 0;
}
