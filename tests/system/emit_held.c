/* SPDX-License-Identifier: MIT */
/* emit_held THREADS COUNT: that many threads hold a block each while the first one emits. */
#include <annot/annot.h>

#include <pthread.h>
#include <stdlib.h>

static pthread_barrier_t barrier;

static void *hold(void *context)
{
    annot_mark("held");
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return context;
}

int main(int argc, char **argv)
{
    unsigned thread_count = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    int count = argc > 2 ? atoi(argv[2]) : 0;
    annot_mark("first");
    pthread_barrier_init(&barrier, NULL, thread_count + 1);
    pthread_t *threads = calloc(thread_count + 1, sizeof(*threads));
    for (unsigned i = 0; threads && i < thread_count; i++)
        if (pthread_create(&threads[i], NULL, hold, NULL) != 0)
            return 1;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < count; i++)
        annot_mark("one more");
    pthread_barrier_wait(&barrier);
    for (unsigned i = 0; threads && i < thread_count; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    return 0;
}
