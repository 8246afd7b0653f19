/* SPDX-License-Identifier: MIT */
/* Calls of traced functions between ranges of a program. */
#include "arena.h"
#include "test.h"

#include <annot/annot.h>
#include <annot/observers.h>
#include <annot/tracer.h>
#include <annot/values.h>
#include <annot/watch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STORY_SIZE = 4096, STEPS = 20000, OPEN_MAX = 64 };

static struct seen seen;
static char story[STORY_SIZE];

static annot_name code(const char *name)
{
    return annot_code_name(name, "/a/file.py", 7, ANNOT_CODE_PYTHON);
}

static void tell(const char *form, const char *text)
{
    size_t length = strlen(story);
    if (length > 0 && length + 1 < STORY_SIZE)
        story[length++] = ' ';
    (void)snprintf(story + length, STORY_SIZE - length, form, text);
}

/* The function's name in a CODE string. */
static const char *name_of(const struct seen_record *record)
{
    static char name[ANNOT_STRING_MAX + 1];
    memcpy(name, record->text, sizeof(name));
    name[strcspn(name, "\x1f")] = 0;
    return name;
}

/* "f": a begin, "~f": a begin that continues, "/": an end. */
static void note(const struct seen_record *record, void *context)
{
    (void)context;
    if (record->kind == ANNOT_REC_PUSH)
        tell(record->continues ? "~%s" : "%s", name_of(record));
    else
        tell(record->kind == ANNOT_REC_POP ? "/%s" : "?%s", "");
}

static void finish(int pid)
{
    story[0] = 0;
    arena_read(pid, &seen, note, NULL);
    arena_end();
    arena_clean();
}

TEST(a_call_is_a_range)
{
    arena_begin(NULL);
    CHECK(annot_code_wanted());
    uint32_t outer = annot_code_enter(code("f"), 0);
    uint32_t inner = annot_code_enter(code("g"), 1);
    annot_code_leave(inner);
    annot_code_leave(outer);
    finish(getpid());
    CHECK_STR(story, "f ~g / /");
    CHECK_INT(seen.lost_total, 0);
    CHECK(!annot_code_wanted());
    CHECK(annot_code_enter(code("f"), 0) == ANNOT_CODE_HELD);
}

TEST(a_call_that_was_not_left_ends_with_the_one_around_it)
{
    arena_begin(NULL);
    uint32_t outer = annot_code_enter(code("f"), 0);
    uint32_t left = annot_code_enter(code("g"), 0);
    annot_code_leave(outer);
    annot_code_leave(left);
    annot_code_leave(outer);
    annot_code_leave(ANNOT_CODE_HELD);
    finish(getpid());
    CHECK_STR(story, "f g / /");
    CHECK_INT(seen.misuse[ANNOT_MISUSE_POP_EMPTY], 0);
}

TEST(a_range_that_outlives_its_call_goes_on)
{
    arena_begin(NULL);
    annot_push("main");
    uint32_t enter = annot_code_enter(code("enter"), 0);
    annot_push("x");
    annot_code_leave(enter);
    uint32_t leave = annot_code_enter(code("exit"), 0);
    uint32_t inner = annot_code_enter(code("resumed"), 1);
    annot_pop();
    annot_code_leave(inner);
    annot_code_leave(leave);
    annot_pop();
    finish(getpid());
    CHECK_STR(story, "main enter x / / ~x exit ~resumed / / / ~exit ~resumed / / /");
    CHECK_INT(seen.misuse[ANNOT_MISUSE_POP_EMPTY], 0);
}

static void keep_domain(const struct seen_record *record, void *context)
{
    uint16_t *domain = context;
    if (record->continues)
        *domain = record->domain;
}

TEST(what_goes_on_keeps_its_domain)
{
    uint16_t again = 0;
    arena_begin(NULL);
    uint16_t domain = annot_domain_create("mine");
    uint32_t call = annot_code_enter(code("enter"), 0);
    annot_emit_push_in(domain, annot_name_intern("x"), NULL);
    annot_code_leave(call);
    arena_read(getpid(), &seen, keep_domain, &again);
    CHECK_INT(again, domain);
    finish(getpid());
}

TEST(no_pop_closes_a_call)
{
    arena_begin(NULL);
    uint32_t call = annot_code_enter(code("f"), 0);
    annot_pop();
    annot_push("a");
    annot_pop();
    annot_code_leave(call);
    finish(getpid());
    CHECK_STR(story, "f a / /");
    CHECK_INT(seen.misuse[ANNOT_MISUSE_POP_EMPTY], 1);
}

TEST(calls_are_no_open_ranges)
{
    struct annot_open_range open[4];
    arena_begin(NULL);
    annot_push("a");
    uint32_t call = annot_code_enter(code("f"), 0);
    annot_push("b");
    CHECK_INT(annot_open_ranges(open, 4), 2);
    CHECK_INT(open[0].name, annot_name_intern("a"));
    CHECK_INT(open[1].name, annot_name_intern("b"));
    annot_pop();
    annot_code_leave(call);
    annot_pop();
    finish(getpid());
}

TEST(deep_calls_are_recorded_and_too_deep_ones_counted)
{
    enum { DEEP = 16384, BEYOND = 100 };

    static uint32_t tokens[DEEP + BEYOND];
    const struct arena_options options = {.block_count = 128};
    arena_begin(&options);
    annot_name f = code("f");
    for (int i = 0; i < DEEP + BEYOND; i++)
        tokens[i] = annot_code_enter(f, 0);
    for (int i = DEEP + BEYOND; i-- > 0;)
        annot_code_leave(tokens[i]);
    finish(getpid());
    CHECK_INT(seen.kinds[ANNOT_REC_PUSH], DEEP);
    CHECK_INT(seen.kinds[ANNOT_REC_POP], DEEP);
    CHECK_INT(seen.lost_total, 2 * BEYOND);
}

TEST(a_mask_holds_calls_back)
{
    struct arena_options options = {.mask = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    arena_begin(&options);
    annot_push("a");
    CHECK(!annot_code_wanted());
    uint32_t token = annot_code_enter(code("f"), 0);
    CHECK(token == ANNOT_CODE_HELD);
    annot_code_leave(token);
    annot_pop();
    finish(getpid());
    CHECK_STR(story, "a /");
    CHECK_INT(seen.lost_total, 0);
}

TEST(a_child_begins_without_its_parents_calls)
{
    arena_begin(NULL);
    annot_push("a");
    uint32_t call = annot_code_enter(code("f"), 0);
    pid_t child = fork();
    if (child == 0) {
        annot_code_leave(call);
        uint32_t own = annot_code_enter(code("g"), 0);
        annot_pop();
        annot_code_leave(own);
        annot_pop();
        _exit(0);
    }
    CHECK_INT(waitpid(child, NULL, 0), child);
    arena_read(child, &seen, note, NULL);
    CHECK_STR(story, "g /");
    annot_code_leave(call);
    annot_pop();
    finish(getpid());
    CHECK_STR(story, "a f / /");
}

static int watched;

static void on_watched(void *context, int begins, uint64_t time)
{
    (void)context;
    (void)time;
    watched += begins ? 1 : 100;
}

TEST(a_watched_range_is_told_once_though_it_goes_on)
{
    CHECK_INT(annot_watch_range("x", NULL, on_watched, NULL), 0);
    arena_begin(NULL);
    uint32_t call = annot_code_enter(code("enter"), 0);
    annot_push("x");
    annot_code_leave(call);
    CHECK_INT(watched, 1);
    call = annot_code_enter(code("exit"), 0);
    CHECK_INT(watched, 1);
    annot_pop();
    CHECK_INT(watched, 101);
    annot_code_leave(call);
    finish(getpid());
    CHECK_STR(story, "enter x / / ~x exit / / ~exit /");
    CHECK_INT(watched, 101);
}

/* ---- Names and counts ------------------------------------------------------------------------ */

static char last_text[ANNOT_STRING_MAX + 1];
static struct seen_record last;

static void keep_last(const struct seen_record *record, void *context)
{
    (void)context;
    last = *record;
    if (record->kind != ANNOT_REC_POP)
        memcpy(last_text, record->text, sizeof(last_text));
}

static const char *text_of(annot_name name)
{
    arena_begin(NULL);
    annot_code_leave(annot_code_enter(name, 0));
    arena_read(getpid(), &seen, keep_last, NULL);
    arena_end();
    arena_clean();
    return last_text;
}

TEST(names_of_functions)
{
    static char file[3000], qualname[3000];
    CHECK_STR(text_of(code("C.f.<locals>.g")), "C.f.<locals>.g\x1f/a/file.py\x1f"
                                               "7\x1fp");
    CHECK_STR(text_of(annot_code_name("len", NULL, 0, ANNOT_CODE_C)), "len\x1f\x1f"
                                                                      "0\x1f"
                                                                      "c");
    CHECK(code("f") == code("f"));
    memset(file, 'd', sizeof(file) - 1);
    memcpy(file + sizeof(file) - 6, "/x.py", 5);
    const char *text = text_of(annot_code_name("f", file, UINT32_MAX, ANNOT_CODE_PYTHON));
    CHECK(strstr(text, "/x.py\x1f"
                       "4294967295\x1fp") != NULL);
    CHECK(strncmp(text,
                  "f\x1f"
                  "ddd",
                  5) == 0);
    memset(qualname, 'q', sizeof(qualname) - 1);
    text = text_of(annot_code_name(qualname, file, 1, ANNOT_CODE_PYTHON));
    CHECK(strstr(text, "\x1f\x1f"
                       "1\x1fp") != NULL ||
          strstr(text, "y\x1f"
                       "1\x1fp") != NULL);
    CHECK(strlen(text) <= ANNOT_STRING_MAX);
}

TEST(names_of_functions_whose_calls_are_to_last)
{
    static char file[3000], qualname[3000];
    memset(file, 'd', sizeof(file) - 1);
    memset(qualname, 'q', sizeof(qualname) - 1);
    CHECK(annot_code_name_least("f", "/a/file.py", 7, ANNOT_CODE_PYTHON, 0) == code("f"));
    CHECK_STR(text_of(annot_code_name_least("len", NULL, 0, ANNOT_CODE_C, 10)), "len\x1f\x1f"
                                                                                "0\x1f"
                                                                                "c\x1f"
                                                                                "10");
    const char *text =
        text_of(annot_code_name_least(qualname, file, UINT32_MAX, ANNOT_CODE_PYTHON, UINT64_MAX));
    CHECK(strstr(text, "\x1f"
                       "4294967295\x1fp\x1f"
                       "1000000000") != NULL);
    CHECK(strlen(text) <= ANNOT_STRING_MAX);
}

static void keep_values(const struct seen_record *record, void *context)
{
    char *text = context;
    if (record->kind == ANNOT_REC_PAYLOAD)
        (void)snprintf(text + strlen(text), 64 - strlen(text), "%s=%llu ", record->text,
                       (unsigned long long)record->value);
    else
        strcat(text, record->kind == ANNOT_REC_PUSH ? "push " : "pop ");
}

TEST(a_call_has_values_at_its_begin_and_its_end)
{
    const struct annot_value in[] = {annot_value_uint64("n", 7), annot_value_uint64("m", 8)};
    const struct annot_value out = annot_value_uint64("returned", 9);
    char text[64] = "";
    arena_begin(NULL);
    CHECK(annot_code_enter_values(0, in, 2) == ANNOT_CODE_HELD);
    uint32_t outer = annot_code_enter_values(code("f"), in, 2);
    (void)annot_code_enter(code("g"), 0); /* never left */
    annot_code_leave_values(outer, &out, 1);
    annot_code_leave_values(outer, &out, 1);
    arena_read(getpid(), &seen, keep_values, text);
    CHECK_STR(text, "push n=7 m=8 push pop pop returned=9 ");
    arena_end();
    arena_clean();
}

/* ---- Sums ------------------------------------------------------------------------------------ */

/* Reads the sums of this process, in all blocks of that state. */
static uint32_t read_sums(uint32_t state, struct annot_wire_sum *sums, uint32_t limit)
{
    char names[4][64];
    struct mapped mapped;
    uint32_t count = 0;
    CHECK_INT(arena_list(names, 4), 1);
    CHECK(arena_map(names[0], &mapped));
    for (uint32_t i = 0; i < mapped.header->info.block_count; i++) {
        const uint8_t *at = mapped.blocks + (uint64_t)i * ANNOT_BLOCK_SIZE;
        const struct annot_block *block = (const void *)at;
        if ((mapped.states[i] & ANNOT_BLOCK_STATE_MASK) != state)
            continue;
        uint32_t here = block->committed / (uint32_t)sizeof(*sums);
        CHECK(block->tid == getpid() || state == ANNOT_BLOCK_SUMS_DONE);
        CHECK(count + here <= limit);
        memcpy(sums + count, at + ANNOT_BLOCK_HEADER_SIZE, here * sizeof(*sums));
        count += here;
    }
    arena_unmap(&mapped);
    return count;
}

TEST(what_is_counted_at_a_stack_lies_where_it_is_read)
{
    struct annot_wire_sum there[4];
    struct annot_sums sums;
    CHECK(!annot_sums_begin(&sums)); /* without a recording */
    CHECK(annot_sums_add(&sums, ANNOT_SUM_CALLS, &(struct annot_place){.code = 16}) == NULL);
    arena_begin(NULL);
    const struct annot_place root = {.code = code("f")};
    CHECK(annot_sums_begin(&sums));
    CHECK(annot_sums_are_current(&sums));
    struct annot_sum *calls = annot_sums_add(&sums, ANNOT_SUM_CALLS, &root);
    const struct annot_place line = {.code = code("g"), .line = 12};
    const struct annot_place leaf = {.caller = calls, .code = code("g")};
    struct annot_sum *lines = annot_sums_add(&sums, ANNOT_SUM_LINES, &line);
    CHECK(annot_sums_add(&sums, ANNOT_SUM_CALLS, &leaf) != NULL);
    CHECK(annot_sums_add(&sums, ANNOT_SUM_LINES, &(struct annot_place){.line = 1}) == NULL);
    calls->count = 1000;
    calls->ticks = 5;
    lines->since = 7;
    CHECK_INT(read_sums(ANNOT_BLOCK_SUMS, there, 4), 3);
    CHECK_INT(there[0].what, ANNOT_WIRE_SUM_CALLS << ANNOT_SUM_KIND_SHIFT | root.code);
    CHECK_INT(there[0].where, 0);
    CHECK(there[0].count == 1000 && there[0].ticks == 5 && there[0].since == 0);
    CHECK_INT(there[1].what, ANNOT_WIRE_SUM_LINES << ANNOT_SUM_KIND_SHIFT | line.code);
    CHECK_INT(there[1].where, 12);
    CHECK_INT(there[2].what & ANNOT_SUM_CODE_MASK, leaf.code);
    CHECK_INT((there[2].where - 1) % ANNOT_SUMS_OF_BLOCK, 0);
    CHECK(there[1].since == 7);
    annot_sums_end(&sums);
    CHECK_INT(read_sums(ANNOT_BLOCK_SUMS, there, 4), 0);
    CHECK_INT(read_sums(ANNOT_BLOCK_SUMS_DONE, there, 4), 3);
    CHECK(!annot_sums_are_current(&sums));
    arena_end();
    arena_clean();
}

TEST(sums_that_find_no_room_are_counted)
{
    enum { MANY = 2000 };

    static struct annot_wire_sum there[MANY];
    const struct arena_options options = {.block_count = 4};
    struct annot_sums sums;
    uint32_t count = 0;
    arena_begin(&options);
    annot_mark("a");
    CHECK(annot_sums_begin(&sums));
    for (uint32_t i = 0; i < MANY; i++) {
        const struct annot_place place = {.code = code("f"), .line = i + 1};
        struct annot_sum *sum = annot_sums_add(&sums, ANNOT_SUM_CALLS, &place);
        if (sum)
            sum->count = ++count;
    }
    CHECK_INT(count, 2 * ANNOT_SUMS_OF_BLOCK); /* half of the blocks */
    CHECK_INT(read_sums(ANNOT_BLOCK_SUMS, there, MANY), count);
    for (uint32_t i = 0; i < count; i++)
        CHECK_INT(there[i].count, i + 1);
    annot_sums_end(&sums);
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.lost_total, MANY - count);
    arena_end();
    arena_clean();
}

enum { SUMS_OF_THREAD = 10 };

static void *count_a_little(void *context)
{
    struct annot_sums sums;
    annot_mark("of a thread");
    CHECK(annot_sums_begin(&sums));
    for (uint32_t i = 0; i < SUMS_OF_THREAD; i++) {
        const struct annot_place place = {.code = code("f"), .line = i + 1};
        *(uint32_t *)context += annot_sums_add(&sums, ANNOT_SUM_LINES, &place) != NULL;
    }
    annot_sums_end(&sums);
    return NULL;
}

TEST(sums_of_threads_that_ended_are_overwritten_as_records_are)
{
    enum { THREADS = 200 };

    static struct annot_wire_sum left[THREADS * SUMS_OF_THREAD];
    const struct arena_options options = {.block_count = 8,
                                          .policy = ANNOT_POLICY_OVERWRITE_OLDEST};
    uint32_t added = 0;
    arena_begin(&options);
    annot_mark("first");
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        CHECK_INT(pthread_create(&thread, NULL, count_a_little, &added), 0);
        CHECK_INT(pthread_join(thread, NULL), 0);
    }
    for (int i = 0; i < 4 * ANNOT_BLOCK_SIZE / 16; i++)
        annot_mark("of the rest");
    CHECK_INT(added, THREADS * SUMS_OF_THREAD);
    uint32_t count = read_sums(ANNOT_BLOCK_SUMS_DONE, left, THREADS * SUMS_OF_THREAD);
    CHECK(count < 8 * SUMS_OF_THREAD);
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.lost[ANNOT_LOSS_POOL_FULL], 0);
    CHECK(seen.lost[ANNOT_LOSS_OVERWRITTEN] >= added - count);
    arena_end();
    arena_clean();
}

TEST(sums_outlive_another_recording_and_not_their_own)
{
    struct annot_sums sums;
    arena_begin(NULL);
    CHECK(annot_sums_begin(&sums));
    struct annot_sum *sum =
        annot_sums_add(&sums, ANNOT_SUM_CALLS, &(struct annot_place){.code = code("f")});
    arena_bump();
    annot_mark("a");
    CHECK(annot_sums_are_current(&sums));
    pid_t child = fork();
    if (child == 0) {
        CHECK(!annot_sums_are_current(&sums));
        annot_sums_end(&sums);
        CHECK(annot_sums_begin(&sums));
        _exit(0);
    }
    int status = -1;
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(status, 0);
    CHECK(annot_sums_are_current(&sums));
    arena_end();
    annot_mark("b"); /* leaves the session */
    CHECK(!annot_sums_are_current(&sums));
    sum->count++; /* still valid */
    annot_sums_end(&sums);
    arena_clean();
}

/* ---- Any order ------------------------------------------------------------------------------- */

/* Open ranges and calls, by the records and as expected: in the order of their begins, except for a
 * range closed below calls. */
struct open_list {
    char names[OPEN_MAX];
    uint32_t count;
};

static struct open_list expected[STEPS];
static uint32_t checked;

/* The mark after each step contains its number. */
static void follow(const struct seen_record *record, void *context)
{
    struct open_list *list = context;
    if (record->kind == ANNOT_REC_PUSH) {
        CHECK(list->count < OPEN_MAX);
        list->names[list->count++] = record->text[0];
    } else if (record->kind == ANNOT_REC_POP) {
        CHECK_INT(record->name, list->count - 1);
        list->count--;
    } else if (record->kind == ANNOT_REC_MARK) {
        const struct open_list *wanted = &expected[record->value];
        CHECK_INT(list->count, wanted->count);
        CHECK(memcmp(list->names, wanted->names, list->count) == 0);
        checked++;
    }
}

static void take_out(struct open_list *list, uint32_t at)
{
    memmove(&list->names[at], &list->names[at + 1], list->count - at - 1);
    list->count--;
}

static int is_call(char name)
{
    return name >= 'A' && name <= 'Z';
}

static void pop(struct open_list *list)
{
    annot_pop();
    for (uint32_t at = list->count; at-- > 0;)
        if (!is_call(list->names[at])) {
            take_out(list, at);
            return;
        }
}

/* Closes all calls from this one on, and no ranges. */
static void leave(struct open_list *list, uint32_t token)
{
    uint32_t calls = 0;
    annot_code_leave(token);
    for (uint32_t at = 0; at < list->count;) {
        if (is_call(list->names[at]) && calls++ >= token)
            take_out(list, at);
        else
            at++;
    }
}

static void step(struct open_list *list, uint32_t *calls)
{
    char text[2] = {(char)('a' + rand() % 26), 0};
    int choice = rand() % 16;
    if (choice < 5 && list->count < OPEN_MAX - 1) {
        text[0] = (char)(text[0] - 'a' + 'A');
        CHECK_INT(annot_code_enter(code(text), rand() % 2), *calls);
        list->names[list->count++] = text[0];
        ++*calls;
    } else if (choice < 8 && list->count < OPEN_MAX - 1) {
        annot_push(text);
        list->names[list->count++] = text[0];
    } else if (choice < 11) {
        pop(list);
    } else if (*calls > 0) {
        *calls -= choice == 15 ? 1 + (uint32_t)rand() % *calls : 1;
        leave(list, *calls);
    }
}

TEST(any_order_of_ranges_and_calls_is_what_records_tell)
{
    struct open_list list = {.count = 0}, told = {.count = 0};
    const struct arena_options options = {.block_count = 512};
    uint32_t calls = 0;
    srand(getenv("ANNOT_TEST_SEED") ? (unsigned)atoi(getenv("ANNOT_TEST_SEED")) : 1);
    arena_begin(&options);
    for (uint32_t i = 0; i < STEPS; i++) {
        step(&list, &calls);
        expected[i] = list;
        const struct annot_event mark = {
            .text = "step", .payload_kind = ANNOT_PAYLOAD_UINT64, .payload = {.uint64 = i}};
        annot_mark_event(&mark);
    }
    arena_read(getpid(), &seen, follow, &told);
    CHECK_INT(seen.lost_total, 0);
    CHECK_INT(checked, STEPS);
    arena_end();
    arena_clean();
}
