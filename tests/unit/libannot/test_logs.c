/* SPDX-License-Identifier: MIT */
/* Formatted names, logs, last words, and numbers for use by others. */
#include "arena.h"
#include "mix.h"
#include "test.h"

#include <annot/annot.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIST_MAX = 64 };

static struct seen_record records[LIST_MAX];
static uint32_t record_count;
static struct seen seen;

static void keep(const struct seen_record *record, void *context)
{
    (void)context;
    CHECK(record_count < LIST_MAX);
    records[record_count++] = *record;
}

static void read_all(int pid)
{
    record_count = 0;
    arena_read(pid, &seen, keep, NULL);
}

static void finish(void)
{
    arena_end();
    arena_clean();
}

/* ---- Texts ----------------------------------------------------------------------------------- */

TEST(formatted_names_arrive)
{
    arena_begin(NULL);
    errno = 17;
    annot_push_format("request %d of %s", 7, "me");
    annot_mark_format("%5.1f", 2.5);
    annot_log_format(ANNOT_SEVERITY_WARNING, "low on %s", "memory");
    annot_pop();
    void (*emit)(const char *format, ...) = annot_emit_mark_format; /* hidden from compilers */
    emit(NULL);
    CHECK_INT(errno, 17);
    read_all(getpid());
    CHECK_INT(record_count, 6);
    CHECK_STR(records[5].text, "(null)");
    CHECK_STR(records[0].text, "request 7 of me");
    CHECK_STR(records[1].text, "  2.5");
    CHECK_STR(records[2].text, "low on memory");
    CHECK_STR(records[3].text, "severity");
    CHECK_STR(records[3].string, "warning");
    finish();
}

TEST(formatted_name_is_cut_at_a_character_and_flagged)
{
    arena_begin(NULL);
    /* Two-byte characters from the second byte on: byte 1,024 is in the middle of one. */
    annot_mark_format("x%01100d", 1);
    char text[1200] = "x";
    for (int i = 0; i < 590; i++)
        strcat(text, "\xc3\xa4");
    annot_mark_format("%s", text);
    read_all(getpid());
    CHECK_INT(strlen(records[0].text), 1024);
    CHECK(records[0].flags & ANNOT_FLAG_NAME_CUT);
    CHECK_INT(strlen(records[1].text), 1023);
    CHECK_INT(seen.misuse[ANNOT_MISUSE_NAME_CUT], 2);
    finish();
}

/* Texts that occur once must not use up the table of frequent names. */
TEST(formatted_names_leave_room_in_the_table)
{
    arena_begin(&(struct arena_options){.block_count = 20000});
    for (int i = 0; i < 60000; i++) {
        annot_push_format("a name that is used once, with some text behind it %d", i);
        annot_pop();
        annot_log_format(ANNOT_SEVERITY_INFO, "a log that is said once %d", i);
    }
    CHECK(annot_name_intern("still room") != 0);
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.kinds[ANNOT_REC_PUSH], 60000);
    CHECK_INT(seen.misuse[ANNOT_MISUSE_NAME_INLINE], 0);
    finish();
}

TEST(logs_have_a_severity)
{
    static const char *const texts[] = {"debug", "info", "warning", "error", "fatal", "fatal"};
    arena_begin(NULL);
    for (int i = 0; i < 6; i++)
        annot_log((enum annot_severity)i, "said");
    annot_log(ANNOT_SEVERITY_INFO, NULL);
    read_all(getpid());
    for (int i = 0; i < 6; i++) {
        CHECK_INT(records[2 * i].kind, ANNOT_REC_MARK);
        CHECK_STR(records[2 * i].text, "said");
        CHECK_STR(records[2 * i + 1].string, texts[i]);
    }
    CHECK_STR(records[12].text, "(null)");
    finish();
}

/* ---- Last words ------------------------------------------------------------------------------ */

static void last_word(int number)
{
    (void)number;
    annot_abort_note("out of ideas");
    annot_abort_note("too late");
    _exit(3);
}

static void run_child(void (*crash)(void))
{
    int status;
    arena_begin(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGSEGV, last_word);
        crash();
        _exit(0);
    }
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 3);
    read_all(pid);
    CHECK_INT(seen.note.state, 2);
    CHECK_INT(seen.note.tid, pid);
    CHECK(seen.note.time != 0);
    CHECK_INT(seen.note.length, 12);
    CHECK(memcmp(seen.note.text, "out of ideas", 12) == 0);
    finish();
}

static void crash_in_a_range(void)
{
    annot_push("open");
    raise(SIGSEGV);
}

TEST(last_word_of_a_crash_is_kept)
{
    run_child(crash_in_a_range);
}

static void crash_at_once(void)
{
    raise(SIGSEGV);
}

TEST(last_word_of_a_process_that_recorded_nothing_is_kept)
{
    run_child(crash_at_once);
}

TEST(long_last_word_is_cut_at_a_character)
{
    char text[2000] = "";
    for (int i = 0; i < 600; i++)
        strcat(text, "\xe2\x82\xac"); /* 3 bytes each: 328 of them are 984 */
    text[0] = 'x';
    text[1] = 'y';
    arena_begin(NULL);
    annot_abort_note("");
    arena_end();
    arena_clean();
    arena_begin(NULL); /* once per process and recording */
    annot_abort_note(text + 1);
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.note.length, 983);
    finish();
}

TEST(nobody_hears_a_last_word)
{
    annot_abort_note("into the void");
    CHECK_INT(annot_current(), 0);
    char text[ANNOT_TRACE_CONTEXT_SIZE] = "untouched";
    CHECK_INT(annot_trace_context(text), 0);
    CHECK_STR(text, "untouched");
    CHECK_INT(annot_trace_context_adopt(NULL), 0);
}

/* ---- The innermost range --------------------------------------------------------------------- */

static uint64_t expected(uint32_t serial, uint32_t instance)
{
    return mix(seen.identity ^ serial * MIX_SERIAL ^ instance * MIX_INSTANCE);
}

TEST(current_is_what_a_reader_computes)
{
    uint64_t told[4];
    arena_begin(NULL);
    CHECK_INT(annot_current(), 0);
    annot_push("first");
    told[0] = annot_current();
    annot_push("second");
    told[1] = annot_current();
    annot_pop();
    told[2] = annot_current();
    annot_push("third");
    told[3] = annot_current();
    annot_pop();
    annot_pop();
    CHECK_INT(annot_current(), 0);
    read_all(getpid());
    CHECK(told[0] == expected(records[0].serial, 1));
    CHECK(told[1] == expected(records[0].serial, 2));
    CHECK(told[2] == told[0]);
    CHECK(told[3] == expected(records[0].serial, 3));
    finish();
}

TEST(current_is_the_innermost_range_that_is_recorded)
{
    struct arena_options options = {.mask = {1}};
    arena_begin(&options);
    struct annot_event hidden = {.text = "hidden", .domain = annot_domain_create("off")};
    annot_push("shown");
    uint64_t shown = annot_current();
    annot_push_event(&hidden);
    CHECK(shown != 0 && annot_current() == shown);
    annot_pop();
    annot_pop();
    for (int i = 0; i < 100; i++)
        annot_push("deep");
    uint64_t deep = annot_current();
    annot_pop();
    CHECK(deep != 0 && annot_current() != deep);
    for (int i = 1; i < 100; i++)
        annot_pop();
    finish();
}

TEST(current_survives_a_new_generation_and_ends_with_the_session)
{
    arena_begin(NULL);
    annot_push("open");
    uint64_t number = annot_current();
    arena_bump();
    CHECK(annot_current() == number);
    arena_end();
    CHECK_INT(annot_current(), 0);
    arena_clean();
}

TEST(recording_has_a_number_that_others_do_not_change)
{
    CHECK_INT(annot_recording(), 0);
    arena_begin(NULL);
    uint64_t number = annot_recording();
    CHECK(number != 0);
    arena_bump();
    CHECK(annot_recording() == number);
    arena_end();
    CHECK_INT(annot_recording(), 0);
    arena_bump(); /* another collector's session: this process is not in it */
    CHECK_INT(annot_recording(), 0);
    arena_end();
    arena_begin(NULL);
    CHECK(annot_recording() != 0 && annot_recording() != number);
    arena_end();
    arena_clean();
}

TEST(child_has_no_current_range)
{
    int status;
    arena_begin(NULL);
    annot_push("open");
    pid_t pid = fork();
    if (pid == 0)
        _exit(annot_current() != 0);
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
    finish();
}

/* ---- W3C trace context ----------------------------------------------------------------------- */

TEST(trace_context_names_the_range_and_an_arrow_leaves)
{
    char text[ANNOT_TRACE_CONTEXT_SIZE], span[24];
    arena_begin(NULL);
    annot_push("call");
    CHECK_INT(annot_trace_context(text), 1);
    uint64_t current = annot_current();
    annot_pop();
    CHECK_INT(strlen(text), 55);
    snprintf(span, sizeof(span), "-%016llx-01", (unsigned long long)current);
    CHECK_STR(text + 35, span);
    CHECK(memcmp(text, "00-", 3) == 0);
    read_all(getpid());
    CHECK_INT(records[1].kind, ANNOT_REC_FLOW_BEGIN);
    CHECK(records[1].id == current);
    snprintf(span, sizeof(span), "%016llx-", (unsigned long long)seen.identity);
    CHECK(memcmp(text + 19, span, 17) == 0);
    /* Without a range, any number is valid. */
    CHECK_INT(annot_trace_context(text), 1);
    read_all(getpid());
    CHECK_INT(records[3].kind, ANNOT_REC_FLOW_BEGIN);
    snprintf(span, sizeof(span), "-%016llx-01", (unsigned long long)records[3].id);
    CHECK_STR(text + 35, span);
    finish();
}

TEST(adopted_trace_goes_on_until_it_is_dropped)
{
    static const char incoming[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    char text[ANNOT_TRACE_CONTEXT_SIZE];
    arena_begin(NULL);
    CHECK_INT(annot_trace_context_adopt(incoming), 1);
    CHECK_INT(annot_trace_context(text), 1);
    CHECK(memcmp(text, incoming, 36) == 0);
    CHECK_INT(annot_trace_context_adopt(NULL), 1);
    CHECK_INT(annot_trace_context(text), 1);
    CHECK(memcmp(text, incoming, 36) != 0);
    read_all(getpid());
    CHECK_INT(record_count, 3);
    CHECK_INT(records[0].kind, ANNOT_REC_FLOW_END);
    CHECK(records[0].id == UINT64_C(0x00f067aa0ba902b7));
    finish();
}

TEST(texts_that_are_no_traceparent_do_nothing)
{
    static const char *const wrong[] = {
        "",
        "00",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-011",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.more",
    };
    arena_begin(NULL);
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        CHECK_INT(annot_trace_context_adopt(wrong[i]), 0);
    read_all(0);
    CHECK_INT(seen.records, 0);
    CHECK_INT(annot_trace_context_adopt(
                  "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes-later"),
              1);
    finish();
}
