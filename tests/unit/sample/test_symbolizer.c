/* SPDX-License-Identifier: MIT */
/* Names found on a separate thread: every request is answered once, in order, regardless of
 * concurrent calls by main. */
#include "clock_now.h"
#include "elf_symbols.h"
#include "symbolizer.h"
#include "test.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALLS = 2000 };

__attribute__((noinline, used)) static int asked_function(int value)
{
    __asm__ volatile("");
    return value + 1;
}

static struct code_source *open_self(void)
{
    struct elf_file *file;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_INT(elf_file_open(fd, &file), 0);
    close(fd);
    struct code_source *code = code_source_of_file(file, "/usr/bin/self");
    elf_file_close(file);
    CHECK(code != NULL);
    return code;
}

/* A function's address in the file. */
static uint64_t own_address(const char *name)
{
    struct elf_file *file;
    struct elf_symbol symbol;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    CHECK_INT(elf_file_open(fd, &file), 0);
    close(fd);
    CHECK(elf_file_find_symbol(file, name, &symbol));
    elf_file_close(file);
    return symbol.address;
}

static void await_all(struct symbolizer *symbolizer)
{
    symbolizer_await(symbolizer, clock_now_ns() + INT64_C(20000000000));
}

TEST(every_question_is_answered_once_and_in_order)
{
    struct symbolizer *symbolizer = symbolizer_create();
    struct requested_source *source = symbolizer_add(symbolizer, open_self(), NULL);
    struct symbol_answer answer;
    uint64_t address = own_address("asked_function");
    uint32_t next = 1;
    for (uint32_t i = 1; i <= CALLS; i++) {
        CHECK_INT(symbolizer_ask(symbolizer, source, i % 2 ? address : 0, i), 0);
        for (; i % 64 == 0 && symbolizer_take(symbolizer, &answer); next++)
            CHECK_INT(answer.frame, next);
    }
    await_all(symbolizer);
    for (; symbolizer_take(symbolizer, &answer); next++) {
        CHECK_INT(answer.frame, next);
        CHECK_INT(answer.place, next % 2 == 0);
        CHECK_STR(answer.text, next % 2 ? "asked_function" : "self+0x0");
    }
    CHECK_INT(next, CALLS + 1);
    symbolizer_destroy(symbolizer);
}

TEST(what_was_asked_of_a_released_source_is_answered)
{
    struct symbolizer *symbolizer = symbolizer_create();
    struct symbol_answer answer;
    uint64_t address = own_address("asked_function");
    uint32_t count = 0;
    for (uint32_t i = 1; i <= 20; i++) {
        struct requested_source *source = symbolizer_add(symbolizer, open_self(), symbolizer);
        CHECK_INT(symbolizer_ask(symbolizer, source, address, i), 0);
        symbolizer_release(symbolizer, source);
    }
    for (await_all(symbolizer); symbolizer_take(symbolizer, &answer); count++) {
        CHECK_STR(answer.text, "asked_function");
        CHECK(answer.source->owner == NULL);
    }
    CHECK_INT(count, 20);
    symbolizer_destroy(symbolizer);
}

TEST(too_many_questions_are_refused_until_answers_are_taken)
{
    struct symbolizer *symbolizer = symbolizer_create();
    struct requested_source *source = symbolizer_add(symbolizer, open_self(), NULL);
    struct symbol_answer answer;
    uint32_t asked = 0, answered = 0;
    while (symbolizer_ask(symbolizer, source, asked, asked + 1) == 0)
        asked++;
    CHECK_INT(asked, SYMBOLIZER_QUESTIONS_MAX);
    CHECK_INT(symbolizer_ask(symbolizer, source, 0, 1), -EAGAIN);
    for (await_all(symbolizer); symbolizer_take(symbolizer, &answer);)
        answered++;
    CHECK_INT(answered, asked);
    CHECK_INT(symbolizer_ask(symbolizer, source, 0, 1), 0);
    symbolizer_destroy(symbolizer);
}

static bool is_asked_function(const char *name)
{
    return strcmp(name, "asked_function") == 0;
}

TEST(places_of_functions_are_told_by_name)
{
    struct symbolizer *symbolizer = symbolizer_create();
    int owner;
    struct requested_source *source = symbolizer_add(symbolizer, open_self(), &owner);
    struct symbol_answer answer;
    uint64_t address = own_address("asked_function");
    CHECK_INT(symbolizer_ask_places(symbolizer, source, is_asked_function), 0);
    await_all(symbolizer);
    CHECK(symbolizer_take(symbolizer, &answer));
    CHECK(answer.frame == 0 && answer.source->owner == &owner);
    CHECK(answer.begin == address && answer.end > address);
    CHECK(!symbolizer_take(symbolizer, &answer));
    symbolizer_destroy(symbolizer);
}

/* A program's map that is a pipe without a writer would block; one that is a file grows. */
TEST(names_of_code_made_at_run_time_are_peeked_at_without_waiting)
{
    struct symbolizer *symbolizer = symbolizer_create();
    char path[64], text[64];
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    unlink(path);
    struct code_source *code = code_source_of_image(getpid(), getpid(), 0);
    struct requested_source *source = symbolizer_add(symbolizer, code, NULL);
    struct symbol_answer answer;
    CHECK_INT(code_source_peek(code, 0x1000, text, sizeof(text)), CODE_UNSETTLED);
    CHECK_INT(symbolizer_ask(symbolizer, source, 0x1000, 7), 0);
    await_all(symbolizer);
    CHECK(symbolizer_take(symbolizer, &answer));
    CHECK_STR(answer.text, "[anonymous code]");
    CHECK(answer.place && answer.frame == 7);
    CHECK_INT(code_source_peek(code, 0x1000, text, sizeof(text)), CODE_NOTHING);
    FILE *map = fopen(path, "w");
    CHECK(map && fputs("1000 100 made\n", map) > 0 && fclose(map) == 0);
    usleep(110000);
    CHECK_INT(symbolizer_ask(symbolizer, source, 0, 0), 0);
    await_all(symbolizer);
    CHECK(!symbolizer_take(symbolizer, &answer)); /* it was no request for a frame */
    CHECK_INT(code_source_peek(code, 0x10ff, text, sizeof(text)), CODE_NAMED);
    CHECK_STR(text, "made");
    CHECK_INT(code_source_peek(code, 0x1100, text, sizeof(text)), CODE_NOTHING);
    symbolizer_destroy(symbolizer);
    unlink(path);
}

TEST(questions_that_are_left_are_dropped_at_the_end)
{
    for (unsigned i = 0; i < 50; i++) {
        struct symbolizer *symbolizer = symbolizer_create();
        struct requested_source *source = symbolizer_add(symbolizer, open_self(), NULL);
        for (uint32_t frame = 1; frame < 500; frame++)
            CHECK_INT(symbolizer_ask(symbolizer, source, frame * 16, frame), 0);
        usleep(i * 100);
        symbolizer_release(symbolizer, i % 2 ? source : NULL);
        symbolizer_destroy(symbolizer);
    }
}
