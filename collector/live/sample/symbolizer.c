/* SPDX-License-Identifier: MIT */
/* Questions move from main's list to the thread's, as a whole, and answers back the same way: each
 * side has a separate list, and the fields under `lock` are shared. A source belongs to main, its
 * struct code_source to the thread from the first question until it reports that the source was
 * released; then main frees it. */
#include "symbolizer.h"

#include "clock_now.h"
#include "symbol_debug.h"
#include "symbol_module.h"
#include "symbol_other.h"
#include "text.h"
#include "unwind_cache.h"
#include "unwind_table.h"
#include "vec.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

/* ---- Sources of names ------------------------------------------------------------------------ */

/* Symbols of a file are loaded at the first look-up; starts of functions, for the first address
 * without a name. Thread-safety: see symbolizer.h. */

enum { PLACE_TEXT_MAX = 512 };

/* Names of an image read this recently are up to date. */
static const int64_t FRESH_NS = INT64_C(100000000);

struct code_source {
    struct elf_file *file; /* these four: of a file; owned */
    char *path;
    struct symbol_module *symbols;
    struct function_starts *starts; /* NULL: unavailable */
    bool starts_tried;
    struct symbol_kernel *kernel;
    struct symbol_jit *jit;
    pthread_mutex_t lock; /* of jit */
    char text[PLACE_TEXT_MAX];
};

static struct code_source *create(void)
{
    struct code_source *source = calloc(1, sizeof(*source));
    if (source)
        pthread_mutex_init(&source->lock, NULL);
    return source;
}

/* NULL if incomplete. */
static struct code_source *complete(struct code_source *source, bool whole)
{
    if (whole)
        return source;
    code_source_destroy(source);
    return NULL;
}

struct code_source *code_source_of_file(const struct elf_file *file, const char *path)
{
    struct code_source *source = create();
    if (!source)
        return NULL;
    source->path = strdup(path);
    return complete(source, source->path && elf_file_reopen(file, &source->file) == 0);
}

struct code_source *code_source_of_kernel(void)
{
    struct code_source *source = create();
    if (!source)
        return NULL;
    source->kernel = symbol_kernel_create();
    return complete(source, source->kernel != NULL);
}

struct code_source *code_source_of_image(int32_t pid, int32_t ns_pid, int64_t begin_ns)
{
    struct code_source *source = create();
    if (!source)
        return NULL;
    source->jit = symbol_jit_create(pid, ns_pid, begin_ns);
    return complete(source, source->jit != NULL);
}

void code_source_destroy(struct code_source *source)
{
    if (!source)
        return;
    symbol_module_destroy(source->symbols);
    function_starts_destroy(source->starts);
    symbol_kernel_destroy(source->kernel);
    symbol_jit_destroy(source->jit);
    elf_file_close(source->file);
    pthread_mutex_destroy(&source->lock);
    free(source->path);
    free(source);
}

void code_source_set_debug_root(const char *directory)
{
    symbol_debug_set_root(directory);
}

int code_source_rows(struct code_source *source, const char *cache_directory,
                     struct unwind_table **ret_table)
{
    return unwind_cache_table(cache_directory, source->file, ret_table);
}

static bool load_symbols(struct code_source *source)
{
    if (!source->symbols && source->file)
        source->symbols = symbol_module_create(source->file, source->path);
    return source->symbols != NULL;
}

/* The start of the function around it, so that one function has one name; else the address. */
static uint64_t function_begin(struct code_source *source, uint64_t address)
{
    uint64_t begin;
    if (!source->starts_tried) {
        source->starts_tried = true;
        if (function_starts_build(source->file, &source->starts) != 0)
            source->starts = NULL;
    }
    return source->starts && function_starts_find(source->starts, address, &begin) ? begin
                                                                                   : address;
}

static const char *file_name(struct code_source *source, uint64_t address, bool *ret_place)
{
    struct symbol symbol;
    if (load_symbols(source) && symbol_module_find(source->symbols, address, &symbol) &&
        !symbol.guessed)
        return symbol.name;
    *ret_place = true;
    symbol_path_text(source->path, function_begin(source, address), source->text,
                     sizeof(source->text));
    return source->text;
}

static const char *image_name(struct code_source *source, uint64_t address)
{
    pthread_mutex_lock(&source->lock);
    const char *name = symbol_jit_find(source->jit, address);
    pthread_mutex_unlock(&source->lock);
    return name;
}

const char *code_source_name(struct code_source *source, uint64_t address, bool *ret_place)
{
    *ret_place = false;
    if (source->file)
        return file_name(source, address, ret_place);
    const char *name =
        source->jit ? image_name(source, address) : symbol_kernel_find(source->kernel, address);
    *ret_place = !name;
    return name ? name : source->jit ? "[anonymous code]" : "[kernel]";
}

size_t code_source_places(struct code_source *source, uint64_t address,
                          struct symbol_place places[SYMBOL_PLACES_MAX])
{
    return load_symbols(source) ? symbol_module_places(source->symbols, address, places) : 0;
}

void code_source_each(struct code_source *source, bool (*is)(const char *name),
                      void (*visit)(void *context, uint64_t begin, uint64_t end), void *context)
{
    if (load_symbols(source))
        symbol_module_each(source->symbols, is, visit, context);
}

enum code_peek code_source_peek(struct code_source *source, uint64_t address, char *text,
                                size_t size)
{
    enum code_peek peek = CODE_UNSETTLED;
    if (pthread_mutex_trylock(&source->lock) != 0)
        return CODE_UNSETTLED;
    const char *name = symbol_jit_known(source->jit, address);
    if (name) {
        struct text copy = text_init(text, size);
        text_add(&copy, name, strlen(name));
        peek = CODE_NAMED;
    } else if (symbol_jit_has_read(source->jit, FRESH_NS)) {
        peek = CODE_NOTHING;
    }
    pthread_mutex_unlock(&source->lock);
    return peek;
}

/* At the end one question may still take seconds, or forever on a file system that hangs. */
#define LEAVE_NS INT64_C(50000000)

enum { LIST_KEPT = 1024 };

enum question_kind { ASK_NAME, ASK_PLACES, ASK_ROWS, ASK_RELEASE };

struct question {
    struct requested_source *source;
    uint64_t address;
    bool (*is)(const char *name);
    uint32_t frame;
    uint8_t kind;
};

enum answer_kind { ANSWER_NAME, ANSWER_FUNCTION, ANSWER_DONE, ANSWER_ROWS, ANSWER_RELEASED };

struct answer {
    struct requested_source *source;
    uint64_t begin, end;
    struct read_rows *rows; /* free */
    size_t text;            /* in texts */
    uint32_t frame;
    uint8_t kind;
    bool place;
};

struct question_list {
    struct question *items;
    size_t count, capacity;
};

struct answer_list {
    VEC(struct answer) answers;
    VEC(char) texts;
    uint32_t lost; /* for want of memory */
};

struct symbolizer {
    pthread_mutex_t lock;
    pthread_cond_t requested, answered;
    struct question_list asks;  /* these four under the lock */
    struct answer_list answers; /* not taken yet */
    bool running, ending, busy;
    bool keeping;   /* the rows read are being put into memory of main's */
    bool abandoned; /* main has left: the thread frees all */
    pthread_t thread;
    struct question_list work; /* the thread's */
    struct answer_list made;   /* the thread's */
    struct row_reader reader;
    struct answer_list taken; /* these are main's */
    size_t next;              /* index in `taken` */
    uint32_t waiting;         /* questions without a taken answer */
    bool failed;              /* thread creation failed */
    VEC(struct requested_source *) sources;
};

struct symbolizer *symbolizer_create(void)
{
    struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));
    pthread_condattr_t clock;
    if (!symbolizer)
        return NULL;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&symbolizer->lock, NULL);
    pthread_cond_init(&symbolizer->requested, NULL);
    pthread_cond_init(&symbolizer->answered, &clock);
    pthread_condattr_destroy(&clock);
    return symbolizer;
}

static void free_answers(struct answer_list *list)
{
    for (size_t i = 0; i < list->answers.count; i++)
        free(list->answers.items[i].rows);
    vec_free(&list->answers);
    vec_free(&list->texts);
}

static void free_source(struct requested_source *source)
{
    code_source_destroy(source->code);
    free(source);
}

static void free_all(struct symbolizer *symbolizer)
{
    for (size_t i = 0; i < symbolizer->sources.count; i++)
        free_source(symbolizer->sources.items[i]);
    vec_free(&symbolizer->sources);
    vec_free(&symbolizer->asks);
    vec_free(&symbolizer->work);
    free_answers(&symbolizer->answers);
    free_answers(&symbolizer->made);
    free_answers(&symbolizer->taken);
    pthread_cond_destroy(&symbolizer->requested);
    pthread_cond_destroy(&symbolizer->answered);
    pthread_mutex_destroy(&symbolizer->lock);
    free(symbolizer);
}

/* ---- The thread ---- */

static struct answer *add_answer(struct answer_list *list, const struct question *question,
                                 enum answer_kind kind)
{
    struct answer answer = {
        .source = question->source, .frame = question->frame, .kind = (uint8_t)kind};
    if (vec_push(&list->answers, answer) == 0)
        return &list->answers.items[list->answers.count - 1];
    list->lost += kind != ANSWER_FUNCTION;
    return NULL;
}

static void add_name(struct answer_list *list, const struct question *question)
{
    bool place = false;
    const char *name = code_source_name(question->source->code, question->address, &place);
    size_t size = strlen(name) + 1;
    struct answer *answer = add_answer(list, question, ANSWER_NAME);
    if (!answer)
        return;
    answer->place = place;
    answer->text = list->texts.count;
    if (vec_reserve(&list->texts, size) != 0) {
        answer->frame = 0;
        answer->kind = ANSWER_DONE;
        return;
    }
    memcpy(list->texts.items + list->texts.count, name, size);
    list->texts.count += size;
}

struct found_places {
    struct answer_list *list;
    const struct question *question;
};

static void add_place(void *context, uint64_t begin, uint64_t end)
{
    const struct found_places *found = context;
    struct answer *answer = add_answer(found->list, found->question, ANSWER_FUNCTION);
    if (!answer)
        return;
    answer->begin = begin;
    answer->end = end;
}

/* False: main leaves. */
static bool begin_keeping(struct symbolizer *symbolizer)
{
    pthread_mutex_lock(&symbolizer->lock);
    bool keeping = symbolizer->keeping = !symbolizer->ending;
    pthread_mutex_unlock(&symbolizer->lock);
    return keeping;
}

static void end_keeping(struct symbolizer *symbolizer)
{
    pthread_mutex_lock(&symbolizer->lock);
    symbolizer->keeping = false;
    pthread_cond_signal(&symbolizer->answered);
    pthread_mutex_unlock(&symbolizer->lock);
}

static void add_rows(struct symbolizer *symbolizer, struct answer_list *list,
                     const struct question *question)
{
    const struct row_reader *reader = &symbolizer->reader;
    struct unwind_table *table = NULL;
    int error = code_source_rows(question->source->code, reader->cache_directory, &table);
    if (begin_keeping(symbolizer)) {
        struct read_rows *rows = reader->keep(reader->context, table, error);
        struct answer *answer = rows ? add_answer(list, question, ANSWER_ROWS) : NULL;
        end_keeping(symbolizer);
        if (answer)
            answer->rows = rows;
        else
            free(rows);
    }
    unwind_table_destroy(table);
}

static void answer_one(struct symbolizer *symbolizer, struct answer_list *list,
                       const struct question *question)
{
    struct found_places found = {list, question};
    switch ((enum question_kind)question->kind) {
    case ASK_NAME:
        add_name(list, question);
        return;
    case ASK_PLACES:
        code_source_each(question->source->code, question->is, add_place, &found);
        add_answer(list, question, ANSWER_DONE);
        return;
    case ASK_ROWS:
        add_rows(symbolizer, list, question);
        return;
    case ASK_RELEASE:
        code_source_destroy(question->source->code);
        question->source->code = NULL;
        add_answer(list, question, ANSWER_RELEASED);
        return;
    }
}

/* Appends answers to the untaken ones. Call with the lock. */
static void hand_over(struct answer_list *made, struct answer_list *to)
{
    size_t texts = to->texts.count;
    bool whole = vec_reserve(&to->texts, made->texts.count) == 0 &&
                 vec_reserve(&to->answers, made->answers.count) == 0;
    if (whole && made->texts.count)
        memcpy(to->texts.items + texts, made->texts.items, made->texts.count);
    for (size_t i = 0; whole && i < made->answers.count; i++) {
        struct answer answer = made->answers.items[i];
        answer.text += texts;
        to->answers.items[to->answers.count++] = answer;
    }
    to->texts.count += whole ? made->texts.count : 0;
    for (size_t i = 0; !whole && i < made->answers.count; i++) {
        made->lost += made->answers.items[i].kind != ANSWER_FUNCTION;
        free(made->answers.items[i].rows);
    }
    to->lost += made->lost;
    made->answers.count = made->texts.count = 0;
    made->lost = 0;
}

/* Answers the questions so far. Call with the lock, which is released meanwhile. */
static void work_off(struct symbolizer *symbolizer)
{
    struct question_list requested = symbolizer->asks;
    symbolizer->asks = symbolizer->work;
    symbolizer->asks.count = 0;
    symbolizer->work = requested;
    symbolizer->busy = true;
    for (size_t i = 0; i < requested.count && !symbolizer->ending; i++) {
        pthread_mutex_unlock(&symbolizer->lock);
        answer_one(symbolizer, &symbolizer->made, &requested.items[i]);
        pthread_mutex_lock(&symbolizer->lock);
        hand_over(&symbolizer->made, &symbolizer->answers);
    }
    if (symbolizer->work.capacity > LIST_KEPT)
        vec_free(&symbolizer->work);
    symbolizer->busy = false;
    pthread_cond_signal(&symbolizer->answered);
}

/* `annot record` raises the priority of main, which must drain buffers before they are full. A
 * pending name loses no data, so this thread runs at the program's own priority. */
static void take_turns(void)
{
    if (getpriority(PRIO_PROCESS, 0) < 0) /* of this thread */
        (void)setpriority(PRIO_PROCESS, 0, 0);
}

static void *run(void *context)
{
    struct symbolizer *symbolizer = context;
    prctl(PR_SET_NAME, symbolizer->reader.keep ? "annot-rows" : "annot-symbols");
    take_turns();
    pthread_mutex_lock(&symbolizer->lock);
    while (!symbolizer->ending) {
        if (symbolizer->asks.count > 0)
            work_off(symbolizer);
        else
            pthread_cond_wait(&symbolizer->requested, &symbolizer->lock);
    }
    bool abandoned = symbolizer->abandoned;
    pthread_mutex_unlock(&symbolizer->lock);
    if (abandoned)
        free_all(symbolizer);
    return NULL;
}

/* Signals are for the other threads. */
static void start(struct symbolizer *symbolizer)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    symbolizer->running = pthread_create(&symbolizer->thread, NULL, run, symbolizer) == 0;
    symbolizer->failed = !symbolizer->running;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- Main ---- */

/* Waits while the thread has questions; call with the lock. */
static void await_idle(struct symbolizer *symbolizer, int64_t until_ns)
{
    const struct timespec until = clock_own_time(until_ns);
    int error = 0;
    while ((symbolizer->busy || (symbolizer->asks.count > 0 && !symbolizer->ending)) && !error)
        error = pthread_cond_timedwait(&symbolizer->answered, &symbolizer->lock, &until);
}

void symbolizer_destroy(struct symbolizer *symbolizer)
{
    if (!symbolizer)
        return;
    pthread_mutex_lock(&symbolizer->lock);
    symbolizer->ending = true;
    pthread_cond_signal(&symbolizer->requested);
    while (symbolizer->keeping)
        pthread_cond_wait(&symbolizer->answered, &symbolizer->lock);
    if (symbolizer->running)
        await_idle(symbolizer, clock_now_ns() + LEAVE_NS);
    symbolizer->abandoned = symbolizer->busy;
    bool abandoned = symbolizer->abandoned, running = symbolizer->running;
    pthread_t thread = symbolizer->thread;
    pthread_mutex_unlock(&symbolizer->lock);
    if (abandoned) {
        pthread_detach(thread);
        return;
    }
    if (running)
        pthread_join(thread, NULL);
    free_all(symbolizer);
}

struct requested_source *symbolizer_add(struct symbolizer *symbolizer, struct code_source *code,
                                        void *owner)
{
    struct requested_source *source = code ? malloc(sizeof(*source)) : NULL;
    if (!source || vec_reserve(&symbolizer->sources, 1) != 0) {
        code_source_destroy(code);
        free(source);
        return NULL;
    }
    *source = (struct requested_source){.code = code, .owner = owner};
    symbolizer->sources.items[symbolizer->sources.count++] = source;
    return source;
}

static int put(struct symbolizer *symbolizer, const struct question *question)
{
    if (!symbolizer->running && !symbolizer->failed)
        start(symbolizer);
    if (!symbolizer->running) {
        answer_one(symbolizer, &symbolizer->answers, question);
        return 0;
    }
    pthread_mutex_lock(&symbolizer->lock);
    int error = vec_push(&symbolizer->asks, *question);
    pthread_cond_signal(&symbolizer->requested);
    pthread_mutex_unlock(&symbolizer->lock);
    return error;
}

void symbolizer_release(struct symbolizer *symbolizer, struct requested_source *source)
{
    if (!source)
        return;
    source->owner = NULL;
    put(symbolizer, &(struct question){.source = source, .kind = ASK_RELEASE});
}

static int ask(struct symbolizer *symbolizer, const struct question *question)
{
    if (symbolizer->waiting >= SYMBOLIZER_QUESTIONS_MAX)
        return -EAGAIN;
    int error = put(symbolizer, question);
    symbolizer->waiting += error == 0;
    return error;
}

int symbolizer_ask(struct symbolizer *symbolizer, struct requested_source *source, uint64_t address,
                   uint32_t frame)
{
    struct question question = {
        .source = source, .address = address, .frame = frame, .kind = ASK_NAME};
    return ask(symbolizer, &question);
}

int symbolizer_ask_places(struct symbolizer *symbolizer, struct requested_source *source,
                          bool (*is)(const char *name))
{
    struct question question = {.source = source, .is = is, .kind = ASK_PLACES};
    return ask(symbolizer, &question);
}

void symbolizer_read_rows(struct symbolizer *symbolizer, const struct row_reader *reader)
{
    symbolizer->reader = *reader;
}

int symbolizer_ask_rows(struct symbolizer *symbolizer, struct requested_source *source)
{
    return ask(symbolizer, &(struct question){.source = source, .kind = ASK_ROWS});
}

/* A large library has many at once; frees their memory. */
static void empty(struct answer_list *list)
{
    if (list->answers.capacity > LIST_KEPT)
        free_answers(list); /* rows were taken */
    list->answers.count = list->texts.count = 0;
    list->lost = 0;
}

static bool take_more(struct symbolizer *symbolizer)
{
    empty(&symbolizer->taken);
    symbolizer->next = 0;
    pthread_mutex_lock(&symbolizer->lock);
    struct answer_list taken = symbolizer->answers;
    symbolizer->answers = symbolizer->taken;
    pthread_mutex_unlock(&symbolizer->lock);
    symbolizer->taken = taken;
    symbolizer->waiting -= taken.lost;
    return taken.answers.count > 0;
}

static void forget_source(struct symbolizer *symbolizer, struct requested_source *source)
{
    for (size_t i = 0; i < symbolizer->sources.count; i++) {
        if (symbolizer->sources.items[i] != source)
            continue;
        symbolizer->sources.items[i] = symbolizer->sources.items[--symbolizer->sources.count];
        free_source(source);
        return;
    }
}

/* True if the answer is for the caller. */
static bool settle(struct symbolizer *symbolizer, const struct answer *answer)
{
    if (answer->kind == ANSWER_RELEASED) {
        forget_source(symbolizer, answer->source);
        return false;
    }
    symbolizer->waiting -= answer->kind != ANSWER_FUNCTION;
    return answer->kind == ANSWER_FUNCTION || answer->kind == ANSWER_ROWS ||
           (answer->kind == ANSWER_NAME && answer->frame != 0);
}

bool symbolizer_take(struct symbolizer *symbolizer, struct symbol_answer *ret_answer)
{
    while (symbolizer->next < symbolizer->taken.answers.count || take_more(symbolizer)) {
        struct answer *answer = &symbolizer->taken.answers.items[symbolizer->next++];
        if (!settle(symbolizer, answer))
            continue;
        bool name = answer->kind == ANSWER_NAME;
        *ret_answer = (struct symbol_answer){
            .source = answer->source,
            .frame = name ? answer->frame : 0,
            .place = answer->place,
            .begin = answer->begin,
            .end = answer->end,
            .text = name ? symbolizer->taken.texts.items + answer->text : "",
            .rows = answer->rows,
        };
        answer->rows = NULL;
        return true;
    }
    return false;
}

void symbolizer_await(struct symbolizer *symbolizer, int64_t until_ns)
{
    pthread_mutex_lock(&symbolizer->lock);
    if (symbolizer->running)
        await_idle(symbolizer, until_ns);
    pthread_mutex_unlock(&symbolizer->lock);
}
