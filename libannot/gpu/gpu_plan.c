/* SPDX-License-Identifier: MIT */
/* KIND[:NAME[@DOMAIN][:KEY=NUMBER,...]]. A name may contain colons and at-signs: the last ones are
 * the separators, a colon only before a known key. */
#include "gpu_plan.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS_MAX = 6, KINDS = 8 };

struct key {
    const char *name;
    uint64_t min;
    int is_needed;
};

struct kind {
    const char *word;
    enum gpu_plan_kind kind;
    int has_name;
    struct key keys[KEYS_MAX]; /* the order of values_of() */
};

static const struct kind kinds[KINDS] = {
    {"all", GPU_PLAN_ALL, 0, {{0}}},
    {"profiler", GPU_PLAN_PROFILER, 0, {{0}}},
    {"set", GPU_PLAN_SET, 0, {{0}}},
    {"signal", GPU_PLAN_SIGNAL, 1, {{0}}},
    {"range", GPU_PLAN_RANGE, 1, {{0}}},
    {"step", GPU_PLAN_STEP, 1, {{"every", 1, 1}, {"first", 1, 0}, {"count", 0, 0}}},
    {"schedule",
     GPU_PLAN_SCHEDULE,
     1,
     {{"wait", 0, 1}, {"warmup", 0, 1}, {"active", 1, 1}, {"repeat", 0, 0}, {"skip_first", 0, 0}}},
    {"slow", GPU_PLAN_SLOW, 1, {{"over", 1, 1}, {"next", 1, 0}}},
};

/* ---- Words ----------------------------------------------------------------------------------- */

static int fail(const char **ret_wrong, const char *text)
{
    if (ret_wrong)
        *ret_wrong = text;
    return -EINVAL;
}

static const struct kind *kind_of(const char *words, size_t length)
{
    for (int i = 0; i < KINDS; i++)
        if (strlen(kinds[i].word) == length && memcmp(kinds[i].word, words, length) == 0)
            return &kinds[i];
    return NULL;
}

static int key_of(const struct kind *kind, const char *text)
{
    for (int i = 0; i < KEYS_MAX && kind->keys[i].name; i++) {
        size_t length = strlen(kind->keys[i].name);
        if (strncmp(text, kind->keys[i].name, length) == 0 && text[length] == '=')
            return i;
    }
    return -1;
}

/* Returns the start of the keys, after the last colon before a known one; NULL: no keys. */
static const char *find_keys(const struct kind *kind, const char *text)
{
    const char *found = NULL;
    for (const char *at = strchr(text, ':'); at; at = strchr(at + 1, ':'))
        if (key_of(kind, at + 1) >= 0)
            found = at + 1;
    return found;
}

/* Reads KEY=NUMBER,... into values; missing ones keep their value. */
static int read_keys(const struct kind *kind, const char *text, uint64_t *values,
                     const char **ret_wrong)
{
    unsigned given = 0;
    while (text && *text) {
        char *end;
        int key = key_of(kind, text);
        if (key < 0)
            return fail(ret_wrong, "a word behind the name is not known");
        const char *number = strchr(text, '=') + 1;
        if (*number < '0' || *number > '9')
            return fail(ret_wrong, "a number is missing");
        values[key] = strtoull(number, &end, 10);
        if ((*end && (*end != ',' || !end[1])) || values[key] > UINT32_MAX)
            return fail(ret_wrong, "a number is missing, or too large");
        if (values[key] < kind->keys[key].min)
            return fail(ret_wrong, "a number is too small");
        given |= 1u << key;
        text = *end ? end + 1 : end;
    }
    for (int i = 0; i < KEYS_MAX && kind->keys[i].name; i++)
        if (kind->keys[i].is_needed && !(given >> i & 1))
            return fail(ret_wrong, "a number that has no default is missing");
    return 0;
}

static void take_values(struct gpu_plan *plan, const uint64_t *values)
{
    if (plan->kind == GPU_PLAN_STEP) {
        plan->every = values[0];
        plan->first = values[1] ? values[1] : values[0];
        plan->count = values[2];
    } else if (plan->kind == GPU_PLAN_SCHEDULE) {
        plan->schedule =
            (struct gpu_schedule){values[4], values[0], values[1], values[2], values[3]};
    } else if (plan->kind == GPU_PLAN_SLOW) {
        plan->over_ns = values[0] * UINT64_C(1000000);
        plan->next = values[1] ? values[1] : 1;
    }
}

static int take_signal(struct gpu_plan *plan, const char **ret_wrong)
{
    if (strcmp(plan->name, "USR1") == 0)
        plan->signal = SIGUSR1;
    if (strcmp(plan->name, "USR2") == 0)
        plan->signal = SIGUSR2;
    if (plan->signal == 0 || plan->domain[0])
        return fail(ret_wrong, "the signal is USR1 or USR2");
    plan->name[0] = 0;
    return 0;
}

/* Reads NAME[@DOMAIN], of `length` bytes. */
static int take_name(struct gpu_plan *plan, const char *text, size_t length, const char **ret_wrong)
{
    const char *at = memrchr(text, '@', length);
    size_t name = at && at > text ? (size_t)(at - text) : length;
    size_t domain = name < length ? length - name - 1 : 0;
    if (name == 0)
        return fail(ret_wrong, "a name is missing");
    if (name >= sizeof(plan->name) || domain >= sizeof(plan->domain))
        return fail(ret_wrong, "the name is too long");
    memcpy(plan->name, text, name);
    if (domain > 0)
        memcpy(plan->domain, at + 1, domain);
    return plan->kind == GPU_PLAN_SIGNAL ? take_signal(plan, ret_wrong) : 0;
}

int gpu_plan_parse(const char *words, struct gpu_plan *ret_plan, const char **ret_wrong)
{
    uint64_t values[KEYS_MAX] = {0};
    size_t length = strcspn(words, ":");
    const struct kind *kind = kind_of(words, length);
    *ret_plan = (struct gpu_plan){0};
    if (!kind)
        return fail(ret_wrong, "it begins with no known word");
    ret_plan->kind = kind->kind;
    if (!kind->has_name) {
        gpu_plan_reset(ret_plan);
        return words[length] ? fail(ret_wrong, "nothing may follow this word") : 0;
    }
    if (words[length] != ':')
        return fail(ret_wrong, "a name is missing");
    const char *name = words + length + 1;
    const char *keys = find_keys(kind, name);
    int error =
        take_name(ret_plan, name, keys ? (size_t)(keys - 1 - name) : strlen(name), ret_wrong);
    if (error == 0)
        error = read_keys(kind, keys, values, ret_wrong);
    take_values(ret_plan, values);
    gpu_plan_reset(ret_plan);
    return error;
}

/* ---- Events ---------------------------------------------------------------------------------- */

void gpu_plan_reset(struct gpu_plan *plan)
{
    plan->wanted = plan->kind == GPU_PLAN_ALL ? GPU_WANT_ALL : GPU_WANT_NOTHING;
    plan->begun = plan->open = plan->begin_ns = plan->left = 0;
}

/* Steps are numbered from 1. */
static enum gpu_want of_step(const struct gpu_plan *plan, uint64_t number)
{
    if (number < plan->first || (number - plan->first) % plan->every != 0)
        return GPU_WANT_NOTHING;
    return plan->count == 0 || (number - plan->first) / plan->every < plan->count
               ? GPU_WANT_ALL
               : GPU_WANT_NOTHING;
}

/* Numbered from 0, as in torch.profiler. */
static enum gpu_want of_schedule(const struct gpu_schedule *schedule, uint64_t step)
{
    uint64_t cycle = schedule->wait + schedule->warmup + schedule->active;
    if (step < schedule->skip_first)
        return GPU_WANT_NOTHING;
    step -= schedule->skip_first;
    if (schedule->repeat > 0 && step / cycle >= schedule->repeat)
        return GPU_WANT_NOTHING;
    step %= cycle;
    return step < schedule->wait                      ? GPU_WANT_NOTHING
           : step < schedule->wait + schedule->warmup ? GPU_WANT_WARM
                                                      : GPU_WANT_ALL;
}

static void begin(struct gpu_plan *plan)
{
    uint64_t before = plan->begun++;
    switch (plan->kind) {
    case GPU_PLAN_RANGE:
        plan->wanted = GPU_WANT_ALL;
        break;
    case GPU_PLAN_STEP:
        plan->wanted = of_step(plan, before + 1);
        break;
    case GPU_PLAN_SCHEDULE:
        plan->wanted = of_schedule(&plan->schedule, before);
        break;
    case GPU_PLAN_SLOW:
        plan->wanted = plan->left > 0 ? GPU_WANT_ALL : GPU_WANT_NOTHING;
        plan->left -= plan->left > 0;
        break;
    default:
        break;
    }
}

/* A schedule stays on between its steps; the others do not. */
static void end(struct gpu_plan *plan, uint64_t now_ns)
{
    enum gpu_want next = GPU_WANT_NOTHING;
    if (plan->kind == GPU_PLAN_SCHEDULE)
        next = of_schedule(&plan->schedule, plan->begun);
    if (plan->kind == GPU_PLAN_SLOW && now_ns - plan->begin_ns > plan->over_ns)
        plan->left = plan->next;
    if (next < plan->wanted)
        plan->wanted = next;
}

void gpu_plan_range(struct gpu_plan *plan, int begins, uint64_t now_ns)
{
    if (begins) {
        if (plan->open++ > 0)
            return;
        plan->begin_ns = now_ns;
        begin(plan);
    } else if (plan->open > 0 && --plan->open == 0) {
        end(plan, now_ns);
    }
}

void gpu_plan_toggle(struct gpu_plan *plan)
{
    plan->wanted = plan->wanted == GPU_WANT_ALL ? GPU_WANT_NOTHING : GPU_WANT_ALL;
}

void gpu_plan_profiler(struct gpu_plan *plan, int begins)
{
    if (plan->kind == GPU_PLAN_PROFILER)
        plan->wanted = begins ? GPU_WANT_ALL : GPU_WANT_NOTHING;
}
