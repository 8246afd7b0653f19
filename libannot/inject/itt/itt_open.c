/* SPDX-License-Identifier: MIT */
/* A table by key, in parts with separate locks. Overlapping ranges of ITT are identified by ids
 * which the program chooses; they end by the same id, from any thread. */
#include "itt_open.h"

#include "itt.h"

#include <annot_barrier.h>
#include <pthread.h>
#include <string.h>

/* ---- Key-values ------------------------------------------------------------------------------ */

/* Blocks of a fixed size, which are reused. */

static struct itt_values *idle; /* under itt_lock */

struct itt_values *itt_values_take(void)
{
    if (!itt_lock())
        return NULL;
    struct itt_values *values = idle;
    if (values)
        idle = values->next;
    itt_unlock();
    if (!values)
        values = itt_memory_take(sizeof(*values));
    if (values)
        values->count = values->text_size = 0;
    return values;
}

void itt_values_give(struct itt_values *values)
{
    if (!values || !itt_lock())
        return; /* in a signal handler: one block is lost */
    values->next = idle;
    idle = values;
    itt_unlock();
}

int itt_values_add(struct itt_values *values, const struct annot_value *value, uint32_t depth)
{
    if (values->count == ITT_VALUES_MAX)
        return 0;
    struct annot_value *copy = &values->values[values->count];
    *copy = *value;
    if (value->kind == ANNOT_PAYLOAD_STRING) {
        size_t size = strlen(value->value.string) + 1;
        if (size > sizeof(values->text) - values->text_size)
            return 0;
        char *text = values->text + values->text_size;
        memcpy(text, value->value.string, size);
        copy->value.string = text;
        values->text_size += (uint32_t)size;
    }
    values->depths[values->count++] = depth;
    return 1;
}

/* ---- Open objects ---------------------------------------------------------------------------- */

enum {
    PARTS = 16,
    BUCKETS = 256,
    OPEN_MAX = 1 << 16, /* of a part */
    BUCKET_ARROWS = 16, /* programs need not destroy ids: older ones are dropped */
};

static struct part {
    pthread_mutex_t lock;
    uint32_t count; /* all of these: under the lock */
    struct itt_open *idle;
    struct itt_open *buckets[BUCKETS];
} parts[PARTS] = {[0 ... PARTS - 1] = {.lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP}};

static uint32_t range_count; /* W: any thread, atomic */

uint32_t itt_open_count(void)
{
    return annot_load_relaxed(&range_count); /* a hint */
}

static uint64_t hash_of(const struct itt_key *key)
{
    const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t hash = key->kind ^ key->scope << 8;
    hash = (hash ^ key->id.d1) * factor;
    hash = (hash ^ hash >> 32 ^ key->id.d2) * factor;
    hash = (hash ^ hash >> 32 ^ key->id.d3) * factor;
    return hash ^ hash >> 32;
}

/* Returns NULL in a signal handler that interrupts the same; else the lock is held. */
static struct part *enter(const struct itt_key *key, struct itt_open ***ret_bucket)
{
    uint64_t hash = hash_of(key);
    struct part *part = &parts[hash % PARTS];
    if (pthread_mutex_lock(&part->lock) != 0)
        return NULL;
    *ret_bucket = &part->buckets[hash / PARTS % BUCKETS];
    return part;
}

static void leave(struct part *part)
{
    pthread_mutex_unlock(&part->lock);
}

/* Returns the link to the newest object of the key, or to NULL at the end. */
static struct itt_open **find(struct itt_open **at, const struct itt_key *key)
{
    while (*at && memcmp(&(*at)->key, key, sizeof(*key)) != 0)
        at = &(*at)->next;
    return at;
}

/* Removes the oldest arrow of a full bucket. */
static void forget_arrow(struct part *part, struct itt_open **bucket)
{
    struct itt_open **last = NULL;
    int count = 0;
    for (struct itt_open **at = bucket; *at; at = &(*at)->next) {
        if ((*at)->key.kind != ITT_ARROW)
            continue;
        last = at;
        count++;
    }
    if (count < BUCKET_ARROWS)
        return;
    struct itt_open *forgotten = *last;
    *last = forgotten->next;
    forgotten->next = part->idle;
    part->idle = forgotten;
}

static struct itt_open *insert(struct part *part, struct itt_open **bucket,
                               const struct itt_key *key, uint64_t number)
{
    if (key->kind == ITT_ARROW)
        forget_arrow(part, bucket);
    struct itt_open *open = part->idle;
    if (open)
        part->idle = open->next;
    else if (part->count < OPEN_MAX && (open = itt_memory_take(sizeof(*open))))
        part->count++;
    if (!open)
        return NULL;
    *open = (struct itt_open){.next = *bucket, .key = *key, .number = number};
    *bucket = open;
    if (key->kind < ITT_KEPT)
        annot_fetch_add_relaxed(&range_count, 1u);
    return open;
}

int itt_open_put(const struct itt_key *key, uint64_t number)
{
    struct itt_open **bucket;
    struct part *part = enter(key, &bucket);
    int done = part && !*find(bucket, key) && insert(part, bucket, key, number);
    if (part)
        leave(part);
    return done;
}

int itt_open_add(const struct itt_key *key, uint64_t number)
{
    struct itt_open **bucket;
    struct part *part = enter(key, &bucket);
    int done = part && insert(part, bucket, key, number);
    if (part)
        leave(part);
    return done;
}

int itt_open_take(const struct itt_key *key, struct itt_open *ret_open)
{
    struct itt_open **bucket;
    struct part *part = enter(key, &bucket);
    if (!part)
        return 0;
    struct itt_open **at = find(bucket, key), *open = *at;
    if (open) {
        *ret_open = *open;
        *at = open->next;
        open->next = part->idle;
        part->idle = open;
        if (key->kind < ITT_KEPT)
            annot_fetch_add_relaxed(&range_count, ~0u);
    }
    leave(part);
    return open != NULL;
}

int itt_open_find(const struct itt_key *key, struct itt_open *ret_open)
{
    struct itt_open **bucket;
    struct part *part = enter(key, &bucket);
    if (!part)
        return 0;
    const struct itt_open *open = *find(bucket, key);
    if (open) {
        *ret_open = *open;
        ret_open->values = NULL;
    }
    leave(part);
    return open != NULL;
}

void itt_open_set(const struct itt_key *key, uint64_t number, uint64_t thread)
{
    struct itt_open **bucket;
    struct part *part = enter(key, &bucket);
    if (!part)
        return;
    struct itt_open *open = *find(bucket, key);
    if (!open)
        open = insert(part, bucket, key, number);
    if (open) {
        open->number = number;
        open->thread = thread;
    }
    leave(part);
}

int itt_open_value(const struct itt_key *key, const struct annot_value *value)
{
    struct itt_open **bucket;
    struct part *part = enter(key, &bucket);
    if (!part)
        return 0;
    struct itt_open *open = *find(bucket, key);
    int done = 0;
    if (open && open->number) {
        if (!open->values)
            open->values = itt_values_take();
        done = open->values && itt_values_add(open->values, value, 0);
    }
    leave(part);
    return done;
}

/* ---- Forks ----------------------------------------------------------------------------------- */

/* The holder of a part's lock may take those of itt_memory.c. */
static void before_fork(void)
{
    for (int i = 0; i < PARTS; i++)
        pthread_mutex_lock(&parts[i].lock);
    itt_memory_before_fork();
}

static void in_parent(void)
{
    itt_memory_after_fork(0);
    for (int i = 0; i < PARTS; i++)
        pthread_mutex_unlock(&parts[i].lock);
}

/* Open objects are the parent's: the child may end them, but records no event for that. */
static void in_child(void)
{
    const pthread_mutex_t fresh = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    itt_memory_after_fork(1);
    itt_pause_after_fork();
    for (int i = 0; i < PARTS; i++)
        parts[i].lock = fresh;
    for (int i = 0; i < PARTS * BUCKETS; i++)
        for (struct itt_open *open = parts[i / BUCKETS].buckets[i % BUCKETS]; open;
             open = open->next)
            if (open->key.kind < ITT_KEPT)
                open->number = 0;
}

__attribute__((constructor)) static void expect_forks(void)
{
    pthread_atfork(before_fork, in_parent, in_child);
}
