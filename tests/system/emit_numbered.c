/* SPDX-License-Identifier: MIT */
/* emit_numbered: ranges of two threads, nested; each writes a line with its name and its number
 * (annot_current), as a program does into its log. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#include <annot/annot.h>
#include <annot/logs.h>

enum { RANGES = 2000 };

static void push(const char *name)
{
    annot_push(name);
    printf("%s %016" PRIx64 "\n", name, annot_current());
}

static void *run(void *prefix)
{
    char name[64];
    for (int i = 0; i < RANGES; i++) {
        snprintf(name, sizeof(name), "%s-outer-%d", (const char *)prefix, i);
        push(name);
        snprintf(name, sizeof(name), "%s-inner-%d", (const char *)prefix, i);
        push(name);
        annot_pop();
        annot_pop();
    }
    return NULL;
}

int main(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, (void *)"second") != 0)
        return 1;
    run((void *)"first");
    pthread_join(thread, NULL);
    return 0;
}
