/* SPDX-License-Identifier: MIT */
/* SIGKILL at every externally visible step: committed records are found, and found records are
 * intact.
 *
 * A first run lists the test points with the number of times each was passed. Then, for each point
 * and for its first, second, middle and last time, a child kills itself exactly there. With
 * overwriting, the found records and the reported losses add up in the same way. */
#include "arena.h"
#include "test.h"
#include "testpoint.h"

#include <annot/annot.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { POINTS_MAX = 64 };

/* Shared with the children. */
struct shared {
    struct {
        char name[40];
        uint32_t count;
    } points[POINTS_MAX];

    uint32_t point_count;
    uint64_t begun, completed; /* calls */
};

static struct shared *shared;
static const char *kill_name;
static uint32_t kill_count;

static void count_point(const char *name)
{
    uint32_t i = 0;
    while (i < shared->point_count && strcmp(shared->points[i].name, name) != 0)
        i++;
    if (i == shared->point_count && i < POINTS_MAX) {
        snprintf(shared->points[i].name, sizeof(shared->points[i].name), "%s", name);
        shared->point_count++;
    }
    if (i < POINTS_MAX)
        shared->points[i].count++;
}

static void die_at_point(const char *name)
{
    if (strcmp(name, kill_name) == 0 && --kill_count == 0)
        kill(getpid(), SIGKILL);
}

#define CALL(call)                                                                                 \
    do {                                                                                           \
        shared->begun++;                                                                           \
        call;                                                                                      \
        shared->completed++;                                                                       \
    } while (0)

static const struct annot_track track = {.id = 1};

/* The first call takes the general path, since the names are new; later ones the fast path. */
static void emit_values(const char *key)
{
    const struct annot_value values[] = {annot_value_int64(key, 1),
                                         annot_value_string(key, "a text that takes some room")};
    const struct annot_event event = {.text = "values", .values = values, .value_count = 2};
    CALL(annot_mark_event(&event));
    CALL(annot_track_begin_event(&track, &event));
    CALL(annot_counters("group", values, 2));
    CALL(annot_track_end_values(&track, values, 2));
    CALL(annot_log(ANNOT_SEVERITY_INFO, key));
    CALL(annot_flow_begin(annot_flow_new(), key));
}

static void *work(void *context)
{
    char text[32];
    for (int i = 0; i < 300; i++) {
        snprintf(text, sizeof(text), "name %d", i);
        CALL(annot_push(text));
        CALL(ANNOT_MARK("mark"));
        CALL(annot_counter("counter", i));
        CALL(annot_pop());
        if (i % 10 == 0)
            emit_values(text);
    }
    return context;
}

static int missing; /* key-values missing from the previous record */

static void check_whole(const struct seen_record *record, void *context)
{
    (void)context;
    if (record->kind == ANNOT_REC_PAYLOAD) {
        missing--;
        return;
    }
    CHECK_INT(missing, 0);
    if (record->kind == ANNOT_REC_COUNTER_GROUP || record->kind == ANNOT_REC_TRACK_END ||
        strcmp(record->text, "values") == 0)
        missing = 2;
    else if (record->kind == ANNOT_REC_MARK && strcmp(record->text, "mark") != 0)
        missing = 1; /* of a log */
}

static void run_child(void (*hook)(const char *name))
{
    pthread_t thread;
    annot_testpoint_hook = hook;
    work(NULL);
    if (pthread_create(&thread, NULL, work, NULL) != 0)
        _exit(1);
    pthread_join(thread, NULL);
    _exit(0);
}

static void kill_at(const char *name, uint32_t count)
{
    struct seen seen;
    int status;
    shared->begun = shared->completed = 0;
    kill_name = name;
    kill_count = count;
    pid_t pid = fork();
    if (pid == 0)
        run_child(die_at_point);
    CHECK_INT(waitpid(pid, &status, 0), pid);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        test_fail(__FILE__, __LINE__, "%s was not reached %u times", name, count);
    missing = 0;
    arena_read(pid, &seen, check_whole, NULL);
    CHECK_INT(missing, 0);
    uint64_t told = seen.records + seen.lost_total;
    /* Between handing over its losses and freeing its record, a thread's losses are in two places:
     * a kill at that point may report too many, never too few. */
    bool twice = strcmp(name, "thread:before-free") == 0 || strcmp(name, "overwrite:counted") == 0;
    if (told < shared->completed || (told > shared->begun && !twice))
        test_fail(__FILE__, __LINE__, "%s/%u: %llu told of %llu to %llu", name, count,
                  (unsigned long long)told, (unsigned long long)shared->completed,
                  (unsigned long long)shared->begun);
    arena_clean();
}

static void kill_everywhere(enum annot_policy policy)
{
    int status;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    /* Five blocks: some pushes and pops are lost, and blocks change hands. */
    arena_begin(&(struct arena_options){.block_count = 5, .policy = policy});
    pid_t pid = fork();
    if (pid == 0)
        run_child(count_point);
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
    arena_clean();
    CHECK(shared->point_count >= 15);
    for (uint32_t i = 0; i < shared->point_count; i++) {
        uint32_t total = shared->points[i].count;
        const uint32_t times[] = {1, 2, total / 2, total};
        for (int t = 0; t < 4; t++)
            if (times[t] > 0 && times[t] <= total)
                kill_at(shared->points[i].name, times[t]);
    }
    arena_end();
    munmap(shared, sizeof(*shared));
}

TEST_TIMEOUT(killed_at_every_step, 300)
{
    kill_everywhere(ANNOT_POLICY_DROP_NEWEST);
}

TEST_TIMEOUT(killed_at_every_step_of_a_flight_recorder, 300)
{
    kill_everywhere(ANNOT_POLICY_OVERWRITE_OLDEST);
}
