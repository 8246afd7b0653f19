/* SPDX-License-Identifier: MIT */
/* A threaded pipeline with annotations: which identifiers do the C headers of this machine use
 * most?
 *
 *     annot record -- annot-example-c [FOLDER] [WORKERS]
 *
 * One thread discovers files, several read and count, the main thread reduces. Look in the
 * recording for the ranges "read" and "count" on each worker, the counter "queue" that shows
 * whether discovering or counting is the bottleneck, and a mark for each unusually large file. */
#include <annot/annot.h>

#include <ctype.h>
#include <ftw.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUEUE_SIZE = 64, FIRST_TABLE_SIZE = 1024, WORKERS_MAX = 64, LARGE_FILE_BYTES = 60 * 1000 };

struct token {
    char *text;
    uint64_t count;
};

/* Open addressing, at most half full. */
struct table {
    struct token *tokens;
    uint32_t size, used;
};

struct worker {
    pthread_t thread;
    int number;
    struct table table;
    uint64_t files, bytes;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char *paths[QUEUE_SIZE];
    unsigned head, count;
    bool closed;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void queue_put(char *path)
{
    pthread_mutex_lock(&queue.lock);
    if (queue.count == QUEUE_SIZE) {
        ANNOT_RANGE("wait for workers");
        while (queue.count == QUEUE_SIZE)
            pthread_cond_wait(&queue.changed, &queue.lock);
    }
    queue.paths[(queue.head + queue.count++) % QUEUE_SIZE] = path;
    ANNOT_COUNTER("queue", queue.count);
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
}

/* Returns NULL if the queue is empty and closed. */
static char *queue_take(void)
{
    char *path = NULL;
    pthread_mutex_lock(&queue.lock);
    if (queue.count == 0 && !queue.closed) {
        ANNOT_RANGE("wait for files");
        while (queue.count == 0 && !queue.closed)
            pthread_cond_wait(&queue.changed, &queue.lock);
    }
    if (queue.count > 0) {
        path = queue.paths[queue.head];
        queue.head = (queue.head + 1) % QUEUE_SIZE;
        queue.count--;
        ANNOT_COUNTER("queue", queue.count);
        pthread_cond_broadcast(&queue.changed);
    }
    pthread_mutex_unlock(&queue.lock);
    return path;
}

static void queue_close(void)
{
    pthread_mutex_lock(&queue.lock);
    queue.closed = true;
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
}

/* ---- Discover -------------------------------------------------------------------------------- */

static int visit(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    const char *suffix = strrchr(path, '.');
    (void)status, (void)walk;
    if (type == FTW_F && suffix && strcmp(suffix, ".h") == 0) {
        char *copy = strdup(path);
        if (copy)
            queue_put(copy);
    }
    return 0;
}

static void *discover(void *folder)
{
    annot_name_thread("discover");
    ANNOT_RANGE("discover");
    nftw(folder, visit, 32, FTW_PHYS);
    queue_close();
    return NULL;
}

/* ---- Read and count -------------------------------------------------------------------------- */

static char *read_file(const char *path, size_t *ret_size)
{
    ANNOT_RANGE("read");
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t size = 0, room = 0;
    while (file && !feof(file) && !ferror(file)) {
        room += 64 * 1024;
        char *larger = realloc(text, room + 1);
        if (!larger)
            break;
        text = larger;
        size += fread(text + size, 1, room - size, file);
    }
    if (file)
        fclose(file);
    if (text)
        text[size] = 0;
    *ret_size = size;
    return text;
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return memory;
}

static struct token *find_token(const struct table *table, const char *text, size_t length)
{
    uint32_t slot = 2166136261u;
    for (size_t i = 0; i < length; i++)
        slot = (slot ^ (unsigned char)text[i]) * 16777619u;
    for (;; slot++) {
        struct token *token = &table->tokens[slot % table->size];
        if (!token->text || (strncmp(token->text, text, length) == 0 && token->text[length] == 0))
            return token;
    }
}

static void grow(struct table *table)
{
    const struct table old = *table;
    ANNOT_RANGE("grow table");
    table->size = old.size ? old.size * 2 : FIRST_TABLE_SIZE;
    table->tokens = allocate(table->size, sizeof(*table->tokens));
    for (uint32_t i = 0; i < old.size; i++) {
        const char *text = old.tokens[i].text;
        if (text)
            *find_token(table, text, strlen(text)) = old.tokens[i];
    }
    free(old.tokens);
}

static void add_token(struct table *table, const char *text, size_t length, uint64_t count)
{
    if (2 * table->used >= table->size)
        grow(table);
    struct token *token = find_token(table, text, length);
    if (!token->text) {
        token->text = memcpy(allocate(length + 1, 1), text, length);
        table->used++;
    }
    token->count += count;
}

static void count_tokens(struct worker *worker, const char *text)
{
    ANNOT_RANGE("count");
    while (*text) {
        size_t length = 0;
        while (isalnum((unsigned char)text[length]) || text[length] == '_')
            length++;
        if (length > 0 && !isdigit((unsigned char)text[0]))
            add_token(&worker->table, text, length, 1);
        text += length > 0 ? length : 1;
    }
}

static void handle_file(struct worker *worker, const char *path)
{
    /* The long form: one name for all files, and the path as payload. */
    struct annot_event event = {
        .text = "file", .payload_kind = ANNOT_PAYLOAD_STRING, .payload.string = path};
    size_t size;
    annot_push_event(&event);
    char *text = read_file(path, &size);
    if (size > LARGE_FILE_BYTES)
        annot_mark_event(&(struct annot_event){.text = "large file",
                                               .color = 0xffcc3333,
                                               .payload_kind = ANNOT_PAYLOAD_UINT64,
                                               .payload.uint64 = size});
    if (text)
        count_tokens(worker, text);
    free(text);
    worker->files++;
    worker->bytes += size;
    annot_pop();
}

static void *work(void *context)
{
    struct worker *worker = context;
    char name[32], *path;
    snprintf(name, sizeof(name), "worker %d", worker->number);
    annot_name_thread(name);
    while ((path = queue_take())) {
        handle_file(worker, path);
        free(path);
    }
    return NULL;
}

/* ---- Reduce ---------------------------------------------------------------------------------- */

static int by_count(const void *a, const void *b)
{
    const struct token *left = a, *right = b;
    return left->count < right->count ? 1 : left->count > right->count ? -1 : 0;
}

static void reduce(struct worker *total, const struct worker *part)
{
    ANNOT_RANGE("reduce");
    for (uint32_t i = 0; i < part->table.size; i++) {
        const struct token *token = &part->table.tokens[i];
        if (token->text)
            add_token(&total->table, token->text, strlen(token->text), token->count);
    }
    total->files += part->files;
    total->bytes += part->bytes;
}

static void print_result(struct worker *total)
{
    ANNOT_RANGE("print");
    struct token *tokens = total->table.tokens;
    if (tokens)
        qsort(tokens, total->table.size, sizeof(*tokens), by_count);
    printf("%llu files, %llu bytes\n", (unsigned long long)total->files,
           (unsigned long long)total->bytes);
    for (uint32_t i = 0; i < 10 && i < total->table.used; i++)
        printf("%8llu %s\n", (unsigned long long)tokens[i].count, tokens[i].text);
}

static void destroy(struct worker *worker)
{
    for (uint32_t i = 0; i < worker->table.size; i++)
        free(worker->table.tokens[i].text);
    free(worker->table.tokens);
    free(worker);
}

static int run(char *folder, int count)
{
    struct worker *workers[WORKERS_MAX] = {0}, *total = allocate(1, sizeof(*total));
    pthread_t discoverer;
    if (pthread_create(&discoverer, NULL, discover, folder) != 0)
        return 1;
    for (int i = 0; i < count; i++) {
        workers[i] = allocate(1, sizeof(*workers[i]));
        workers[i]->number = i + 1;
        if (pthread_create(&workers[i]->thread, NULL, work, workers[i]) != 0)
            exit(1);
    }
    pthread_join(discoverer, NULL);
    for (int i = 0; i < count; i++) {
        pthread_join(workers[i]->thread, NULL);
        reduce(total, workers[i]);
        destroy(workers[i]);
    }
    print_result(total);
    destroy(total);
    return 0;
}

int main(int argc, char **argv)
{
    static char standard[] = "/usr/include/linux";
    char *folder = argc > 1 ? argv[1] : standard;
    int count = argc > 2 ? atoi(argv[2]) : 4;
    if (argc > 3 || count < 1 || count > WORKERS_MAX) {
        fprintf(stderr, "usage: %s [FOLDER] [WORKERS]   (1 to %d workers)\n", argv[0], WORKERS_MAX);
        return 2;
    }
    annot_name_process("header tokens");
    return run(folder, count);
}
