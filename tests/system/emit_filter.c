/* SPDX-License-Identifier: MIT */
/* emit_filter MODE...: events of several domains, categories and levels.
 *
 * steps         obeys words on standard input, one a line, and answers each with "ok":
 *               round NAME   one mark "NAME WHERE" for each of the places below
 *               open, close  ranges of all kinds in io, closed by the next "close"
 *               new NAME     a domain of that name, and a mark "NAME" in it
 *               fork NAME    a round in a forked child
 * round NAME    one round
 * many          300 domains, then a mark in each, called like it
 * nest SECONDS  four threads that open and close ranges of io and default all the time
 * One thread, but for nest. */
#include <annot/annot.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MANY = 300, THREADS = 4, DEPTH = 40 };

static annot_domain io, db;
static annot_category disk, noise, plain;
static struct annot_track track;
static annot_range range;

static void mark(const char *name, const char *where, struct annot_event event)
{
    char text[128];
    snprintf(text, sizeof(text), "%s %s", name, where);
    event.text = text;
    annot_mark_event(&event);
}

static void emit_round(const char *name)
{
    char text[128];
    snprintf(text, sizeof(text), "%s default", name);
    annot_mark(text);
    mark(name, "default/plain", (struct annot_event){.category = plain});
    mark(name, "io", (struct annot_event){.domain = io});
    mark(name, "io:5", (struct annot_event){.domain = io, .level = 5});
    mark(name, "io/disk", (struct annot_event){.domain = io, .category = disk});
    mark(name, "io/noise", (struct annot_event){.domain = io, .category = noise});
    mark(name, "db", (struct annot_event){.domain = db});
    mark(name, "db:3", (struct annot_event){.domain = db, .level = 3});
}

static void open_all(void)
{
    const struct annot_event event = {.text = "in io", .domain = io};
    annot_push("outer");
    annot_push_event(&event);
    range = annot_start_event(&event);
    annot_track_begin(&track, "on the track");
    annot_track_begin_event(&track, &event);
}

static void close_all(void)
{
    annot_track_end(&track);
    annot_track_end(&track);
    annot_end(range);
    annot_pop();
    annot_pop();
}

static void in_child(const char *name)
{
    pid_t pid = fork();
    if (pid == 0) {
        emit_round(name);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

static int obey(const char *word, const char *name)
{
    if (strcmp(word, "round") == 0)
        emit_round(name);
    else if (strcmp(word, "open") == 0)
        open_all();
    else if (strcmp(word, "close") == 0)
        close_all();
    else if (strcmp(word, "fork") == 0)
        in_child(name);
    else if (strcmp(word, "new") == 0)
        annot_mark_event(&(struct annot_event){.text = name, .domain = annot_domain_create(name)});
    else
        return 2;
    return 0;
}

static int steps(void)
{
    char line[128], word[16], name[64];
    while (fgets(line, sizeof(line), stdin)) {
        name[0] = 0;
        if (sscanf(line, "%15s %63s", word, name) < 1 || obey(word, name) != 0)
            return 2;
        puts("ok");
        fflush(stdout);
    }
    return 0;
}

static int many(void)
{
    annot_domain domains[MANY];
    char text[32];
    annot_mark("begin"); /* half of them exist before the process has joined, half are made later */
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof(text), i % 15 == 0 ? "wanted-%d" : "other-%d", i);
        domains[i] = annot_domain_create(text);
        printf("%s %u\n", text, domains[i]);
    }
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof(text), i % 15 == 0 ? "wanted-%d" : "other-%d", i);
        annot_mark_event(&(struct annot_event){.text = text, .domain = domains[i]});
    }
    return 0;
}

static void nest(int depth)
{
    const struct annot_event event = {.text = "in io", .domain = io, .category = disk};
    if (depth == 0)
        return;
    if (depth % 2)
        annot_push_event(&event);
    else
        ANNOT_PUSH("default");
    annot_range moving = annot_start_event(&event);
    nest(depth - 1);
    annot_end(moving);
    annot_pop();
}

static void *nest_for(void *context)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    time_t end = time(NULL) + *(int *)context;
    for (int i = 0; time(NULL) < end; i++) {
        nest(1 + i % DEPTH);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static int nest_in_threads(int seconds)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, nest_for, &seconds) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "", *name = argc > 2 ? argv[2] : "";
    io = annot_domain_create("io");
    db = annot_domain_create("db");
    disk = annot_category_create(io, "disk");
    noise = annot_category_create(io, "noise");
    plain = annot_category_create(0, "plain");
    track = annot_track_create("track", NULL);
    if (strcmp(mode, "steps") == 0)
        return steps();
    if (strcmp(mode, "many") == 0)
        return many();
    if (strcmp(mode, "nest") == 0)
        return nest_in_threads(atoi(name));
    return obey(mode, name);
}
