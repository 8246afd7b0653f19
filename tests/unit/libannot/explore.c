/* SPDX-License-Identifier: MIT */
/* Schedules and coroutines: implements explore.h. */
#include "explore.h"

#include "test.h"
#include "testpoint.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { STEPS_MAX = 600, STACK_SIZE = 64 * 1024, AREA = 64 * 1024 };

struct actor {
    ucontext_t context;
    bool done;
    struct control control;
};

static struct {
    const struct explore_scene *scene;
    ucontext_t scheduler;
    struct actor actors[EXPLORE_ACTORS_MAX];
    char *stacks[EXPLORE_ACTORS_MAX];
    int running;
    struct segment segment;
    uint8_t *memory;
} world;

/* One schedule: for each step, the index of the actor that runs among the runnable ones. */
static struct {
    uint8_t choice[STEPS_MAX], alternatives[STEPS_MAX];
    uint32_t length;
} plan;

const char *explore_failure;

int explore_running(void)
{
    return world.running;
}

void explore_stop(const char *name)
{
    if (world.scene->stopped)
        world.scene->stopped(name);
    swapcontext(&world.actors[world.running].context, &world.scheduler);
}

static void run_actor(int index)
{
    world.scene->run(index);
    world.actors[index].done = true;
    for (;;)
        swapcontext(&world.actors[index].context, &world.scheduler);
}

struct segment *explore_segment(uint32_t block_count)
{
    struct segment *segment = &world.segment;
    memset(world.memory, 0, AREA);
    memset(segment, 0, sizeof(*segment));
    segment->refs = 1;
    segment->fully_backed = 1;
    segment->header = (struct annot_segment *)world.memory;
    segment->threads = (struct annot_thread *)(world.memory + 4096);
    segment->block_states = (uint32_t *)(world.memory + 8192);
    segment->block_nexts = (uint32_t *)(world.memory + 8704);
    segment->blocks = world.memory + 16384;
    segment->block_count = block_count;
    segment->header->shared.backed_extents[0] = 1;
    segment->next_reclaim = UINT64_MAX;
    return segment;
}

struct control *explore_control(int actor)
{
    struct control *control = &world.actors[actor].control;
    memset(control, 0, sizeof(*control));
    control->segment = &world.segment;
    control->instance = 1;
    control->thread = &world.segment.threads[actor];
    return control;
}

static void world_begin(void)
{
    explore_failure = NULL;
    world.scene->begin();
    for (int i = 0; i < world.scene->actor_count; i++) {
        struct actor *actor = &world.actors[i];
        actor->done = false;
        getcontext(&actor->context);
        actor->context.uc_stack.ss_sp = world.stacks[i];
        actor->context.uc_stack.ss_size = STACK_SIZE;
        makecontext(&actor->context, (void (*)(void))run_actor, 1, i);
    }
}

/* Lists the runnable actors, the last one first: other choices are preemptions. */
static int list_runnable(int last, uint32_t preemptions_left, int *ret_actors)
{
    int count = 0;
    if (last >= 0 && !world.actors[last].done)
        ret_actors[count++] = last;
    if (count == 1 && preemptions_left == 0)
        return count;
    for (int i = 0; i < world.scene->actor_count; i++)
        if (i != last && !world.actors[i].done)
            ret_actors[count++] = i;
    return count;
}

/* Runs the schedule in `plan` and extends it by first choices. */
static void run_schedule(uint32_t preemptions)
{
    int last = -1, actors[EXPLORE_ACTORS_MAX], count;
    uint32_t step = 0;
    world_begin();
    while (!explore_failure && (count = list_runnable(last, preemptions, actors)) > 0) {
        CHECK(step < STEPS_MAX);
        if (step >= plan.length) {
            plan.choice[step] = 0;
            plan.length = step + 1;
        }
        plan.alternatives[step] = (uint8_t)count;
        int next = actors[plan.choice[step]];
        preemptions -= last >= 0 && next != last && !world.actors[last].done;
        last = next;
        world.running = next;
        swapcontext(&world.scheduler, &world.actors[next].context);
        world.scene->check();
        step++;
    }
    if (!explore_failure)
        world.scene->finish();
}

/* Advances to the next schedule. Returns false after the last. */
static bool next_schedule(void)
{
    while (plan.length > 0) {
        uint32_t step = plan.length - 1;
        if (plan.choice[step] + 1 < plan.alternatives[step]) {
            plan.choice[step]++;
            return true;
        }
        plan.length--;
    }
    return false;
}

uint64_t explore(const struct explore_scene *scene, uint32_t preemptions)
{
    uint64_t count = 0;
    world.scene = scene;
    annot_testpoint_hook = explore_stop;
    world.memory = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(world.memory != MAP_FAILED);
    for (int i = 0; i < EXPLORE_ACTORS_MAX; i++)
        CHECK((world.stacks[i] = malloc(STACK_SIZE)) != NULL);
    plan.length = 0;
    do {
        run_schedule(preemptions);
        count++;
    } while (!explore_failure && next_schedule());
    annot_testpoint_hook = NULL;
    for (int i = 0; i < EXPLORE_ACTORS_MAX; i++)
        free(world.stacks[i]);
    munmap(world.memory, AREA);
    return count;
}
