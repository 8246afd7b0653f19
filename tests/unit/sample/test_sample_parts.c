/* SPDX-License-Identifier: MIT */
/* The sampler's small parts: lists of mappings, lines of maps, extents, row memory, wait
 * reasons. */
#include "frames.h"
#include "proc_info.h"
#include "processes.h"
#include "python_offsets.h"
#include "row_memory.h"
#include "sampler_abi.h"
#include "sampler_bpf.h"
#include "spaces.h"
#include "stack_join.h"
#include "stacks.h"
#include "test.h"
#include "wait_class.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Model of a list: every page of a small address space, set individually. */
struct pages {
    uint64_t tag[64]; /* file offset of the page + 1; 0: not mapped */
};

static void check_equal(const struct mapping_list *list, const struct pages *pages)
{
    for (size_t i = 0; i < 64; i++) {
        const struct mapping *found = mapping_list_find(list, i * 4096 + 100);
        uint64_t tag = found ? found->offset + (i * 4096 - found->begin) + 1 : 0;
        CHECK_INT(tag, pages->tag[i]);
    }
    for (size_t i = 1; i < list->count; i++)
        CHECK(list->items[i - 1].end <= list->items[i].begin);
}

TEST(mappings_replace_what_they_overlap)
{
    struct mapping_list *list = mapping_list_create();
    struct pages pages = {0};
    srand(7);
    for (int round = 0; round < 20000; round++) {
        unsigned first = (unsigned)rand() % 64, count = 1 + (unsigned)rand() % 12;
        uint64_t offset = ((uint64_t)rand() % 1000) << 20;
        for (unsigned i = first; i < first + count && i < 64; i++)
            pages.tag[i] = offset + (i - first) * 4096 + 1;
        struct mapping mapping = {first * 4096, (first + count) * 4096, offset, NULL};
        CHECK_INT(mapping_list_put(&list, &mapping), 0);
        if (round % 50 == 0)
            check_equal(list, &pages);
    }
    check_equal(list, &pages);
    mapping_list_unref(list);
}

TEST(a_shared_list_stays_as_it_is)
{
    struct mapping_list *list = mapping_list_create();
    struct mapping mapping = {0x1000, 0x5000, 0, NULL};
    CHECK_INT(mapping_list_put(&list, &mapping), 0);
    struct mapping_list *snapshot = mapping_list_ref(list);
    mapping = (struct mapping){0x2000, 0x3000, 0x100000, NULL};
    CHECK_INT(mapping_list_put(&list, &mapping), 0);
    CHECK(list != snapshot);
    CHECK_INT(snapshot->count, 1);
    CHECK_INT(list->count, 3);
    CHECK_INT(snapshot->owners, 1);
    CHECK_INT(list->items[2].offset, 0x2000);
    mapping_list_unref(list);
    mapping_list_unref(snapshot);
}

TEST(lines_of_maps_are_read)
{
    struct maps_line got;
    char line[] = "7f0-8f0 r-xp 00026000 fe:00 1234     /usr/lib/with blank.so (deleted)\n";
    CHECK(maps_line_parse(line, &got));
    CHECK(got.begin == 0x7f0 && got.end == 0x8f0 && got.offset == 0x26000 && got.executable);
    CHECK(got.major == 0xfe && got.minor == 0 && got.inode == 1234);
    CHECK_STR(got.path, "/usr/lib/with blank.so (deleted)");
    char none[] = "1000-2000 rw-p 00000000 00:00 0 ";
    CHECK(maps_line_parse(none, &got));
    CHECK(!got.executable);
    CHECK_STR(got.path, "");
}

TEST(broken_lines_of_maps_are_refused)
{
    const char *const bad[] = {"",
                               "x",
                               "1000-",
                               "1000-2000",
                               "1000-2000 r",
                               "1-2 r-xp",
                               "1-2 r-xp ",
                               "1-2 r-xp 0 fe 1",
                               "2-1 r-xp 0 0:0 0",
                               "1-2 r-xp 0 0:0 ",
                               "1-2 r-xp 0 0:0 x",
                               "-5-2 r-xp 0 0:0 0"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char *line = strdup(bad[i]); /* malloc'd, so that a sanitizer detects reads past its end */
        struct maps_line got;
        CHECK(!maps_line_parse(line, &got));
        free(line);
    }
}

TEST(extents_never_overlap_and_join_again)
{
    struct extents extents;
    CHECK_INT(extents_init(&extents, 1000), 0);
    struct extent held[100] = {0};
    uint8_t used[1000] = {0};
    srand(3);
    for (int round = 0; round < 50000; round++) {
        struct extent *one = &held[rand() % 100];
        if (one->count == 0) {
            uint32_t count = 1 + (uint32_t)rand() % 30;
            int64_t first = extents_take(&extents, count);
            *one = (struct extent){(uint32_t)first, first < 0 ? 0 : count};
        } else {
            CHECK_INT(extents_give(&extents, one->first, one->count), 0);
            memset(used + one->first, 0, one->count);
            one->count = 0;
            continue;
        }
        for (uint32_t i = one->first; i < one->first + one->count; i++)
            CHECK(i < 1000 && used[i]++ == 0);
    }
    for (int i = 0; i < 100; i++)
        CHECK_INT(extents_give(&extents, held[i].first, held[i].count), 0);
    CHECK_INT(extents.free.count, 1);
    CHECK_INT(extents_take(&extents, 1000), 0);
    CHECK_INT(extents_take(&extents, 1), -ENOSPC);
    extents_fini(&extents);
}

struct heap_rows {
    struct unwind_row *segments[SAMPLER_SEGMENTS_MAX];
    struct unwind_rule rules[SAMPLER_RULES_MAX];
    uint32_t segment_count;
};

static int heap_segment(void *context, uint32_t index, struct unwind_row **ret_rows)
{
    struct heap_rows *heap = context;
    CHECK_INT(index, heap->segment_count);
    heap->segment_count++;
    *ret_rows = heap->segments[index] = calloc(SAMPLER_SEGMENT_ROWS, sizeof(**ret_rows));
    return *ret_rows ? 0 : -ENOMEM;
}

static struct unwind_rule *heap_rule(void *context, uint32_t index)
{
    return &((struct heap_rows *)context)->rules[index];
}

TEST(rows_of_modules_share_rules_and_segments)
{
    struct heap_rows *heap = calloc(1, sizeof(*heap));
    struct row_source source = {heap_segment, heap_rule, heap};
    struct row_memory memory;
    CHECK_INT(row_memory_init(&memory, &source), 0);

    enum { ROWS = SAMPLER_SEGMENT_ROWS * 2 / 5 }; /* two fit */
    struct unwind_row *rows = calloc(ROWS, sizeof(*rows));
    struct unwind_rule rules[2] = {{.cfa = UNWIND_CFA_RSP, .cfa_offset = 8},
                                   {.cfa = UNWIND_CFA_RBP, .cfa_offset = 16}};
    for (uint32_t i = 0; i < ROWS; i++)
        rows[i] = (struct unwind_row){i * 4, i % 2};
    rows[5].rule = 77; /* an invalid rule: unknown */
    struct unwind_table table = {0, ROWS * 4, rows, ROWS, rules, 2, 0};
    struct row_slice slices[3];
    for (int i = 0; i < 3; i++)
        CHECK_INT(row_memory_add(&memory, &table, 0, ROWS, &slices[i]), 0);
    CHECK_INT(memory.rule_count, 3);
    CHECK_INT(heap->segment_count, 2);
    for (int i = 0; i < 3; i++) {
        const struct unwind_row *got = heap->segments[slices[i].segment] + slices[i].first;
        CHECK_INT(got[ROWS - 1].address, (ROWS - 1) * 4);
        CHECK_INT(heap->rules[got[6].rule].cfa, UNWIND_CFA_RSP);
        CHECK_INT(heap->rules[got[7].rule].cfa, UNWIND_CFA_RBP);
        CHECK_INT(got[5].rule, 0);
    }
    row_memory_remove(&memory, &slices[0]);
    CHECK_INT(row_memory_add(&memory, &table, 0, ROWS, &slices[0]), 0);
    CHECK_INT(heap->segment_count, 2);
    row_memory_fini(&memory);
    for (uint32_t i = 0; i < heap->segment_count; i++)
        free(heap->segments[i]);
    free(rows);
    free(heap);
}

TEST(causes_of_waiting_follow_the_system_call)
{
    const struct {
        struct wait_facts facts;
        enum wait_reason reason;
    } cases[] = {
        {{SYS_futex, 0, 1, 0, 4}, WAIT_LOCK},
        {{SYS_futex, 0, 1, SAMPLER_GIL_WAIT, 4}, WAIT_GIL},
        {{SYS_futex, 0, 0, SAMPLER_PREEMPTED, 4}, WAIT_PREEMPTED},
        {{SYS_read, S_IFIFO | 0600, 1, 0, 4}, WAIT_PIPE},
        {{SYS_read, S_IFSOCK | 0777, 1, 0, 4}, WAIT_SOCKET},
        {{SYS_read, S_IFREG | 0644, 2, SAMPLER_IO_WAIT, 4}, WAIT_DISK},
        {{SYS_read, S_IFCHR | 0620, 1, 0, 4}, WAIT_TERMINAL},
        {{SYS_read, 0, 1, 0, 4}, WAIT_OTHER_FILE},
        {{SYS_recvmsg, 0, 1, 0, 4}, WAIT_SOCKET},
        {{SYS_clock_nanosleep, 0, 1, 0, 4}, WAIT_SLEEP},
        {{SYS_epoll_wait, 0, 1, 0, 4}, WAIT_POLL},
        {{SYS_ppoll, 0, 1, 0, 4}, WAIT_POLL},
        {{SYS_select, 0, 1, 0, 4}, WAIT_POLL},
        {{SYS_select, 0, 1, 0, 0}, WAIT_SLEEP},
        {{SYS_pselect6, 0, 1, 0, 0}, WAIT_SLEEP},
        {{SYS_wait4, 0, 1, 0, 4}, WAIT_CHILD},
        {{SYS_vfork, 0, 2, 0, 4}, WAIT_CHILD},
        {{SYS_rt_sigsuspend, 0, 1, 0, 4}, WAIT_SIGNAL},
        {{SYS_fsync, S_IFREG, 2, SAMPLER_IO_WAIT, 4}, WAIT_DISK},
        {{SYS_brk, 0, 2, SAMPLER_IO_WAIT, 4}, WAIT_DISK},
        {{SYS_brk, 0, 2, 0, 4}, WAIT_LOCK},
        {{SYS_madvise, 0, 2, 0, 4}, WAIT_LOCK},
        {{SYS_exit, 0, 2, 0, 4}, WAIT_LOCK},
        {{SYS_getpid, 0, 2, SAMPLER_IO_WAIT, 4}, WAIT_DISK},
        {{SYS_getpid, 0, 2, 0, 4}, WAIT_UNKNOWN},
        {{-1, 0, 2, SAMPLER_FAULTED, 4}, WAIT_PAGE_FAULT},
        {{-1, 0, 0x104, SAMPLER_FAULTED, 4}, WAIT_SIGNAL},    /* stopped */
        {{SYS_clock_nanosleep, 0, 0x108, 0, 4}, WAIT_SIGNAL}, /* traced */
        {{-1, 0, 1, 0, 4}, WAIT_UNKNOWN},
        {{100000, 0, 1, 0, 4}, WAIT_UNKNOWN},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        CHECK_INT(wait_classify(&cases[i].facts), cases[i].reason);
}

/* ---- Code objects ---------------------------------------------------------------------------- */

enum { CODE_LINES = 1000, CODE_HEADER = 48 };

struct told_code {
    struct sampler_code record;
    uint8_t bytes[CODE_HEADER + 4 + CODE_LINES];
};

static void tell_code(struct code_names *codes, struct trace *trace, const struct sampled *process,
                      uint64_t code, uint64_t time_ns)
{
    struct told_code told = {0};
    const uint64_t length = 4;
    const uint32_t state = 1 << 2 | 1 << 5 | 1 << 6; /* one byte per character, compact, ASCII */
    memcpy(told.bytes + 16, &length, sizeof(length));
    memcpy(told.bytes + 32, &state, sizeof(state));
    memcpy(told.bytes + CODE_HEADER, "spin", 4);
    told.record.head = (struct sampler_head){
        .kind = SAMPLER_CODE, .size = sizeof(told), .time_ns = time_ns, .pid = process->pid};
    told.record.code = code;
    told.record.key = 7;
    told.record.name_size = CODE_HEADER + 4;
    told.record.lines_size = CODE_LINES;
    CHECK_INT(code_names_add(codes, trace, process, &told.record), 0);
}

static bool is_named(struct code_names *codes, struct trace *trace, const struct sampled *process,
                     uint64_t code)
{
    struct sampler_python place = {.code = code, .key = 7};
    return code_names_frame(codes, trace, process, &place) > 0;
}

/* An hour of a program that creates a function every 10 ms, in addition to some that it uses all
 * the time. */
TEST(functions_in_use_keep_their_names_and_memory_is_bounded)
{
    struct code_names codes = {0};
    struct trace *trace = trace_create();
    struct sampled process = {.pid = 5, .family = 1, .interpreter.state = INTERPRETER_FOUND};
    struct python_offsets *offsets = &process.interpreter.runtime.offsets;
    *offsets = (struct python_offsets){.version = 0x030b,
                                       .unicode_length = 16,
                                       .unicode_state = 32,
                                       .unicode_ascii_data = CODE_HEADER,
                                       .unicode_compact_data = 72};
    const uint64_t second = 1000000000, begin = 100 * second;
    uint64_t most = 0;
    for (uint64_t i = 0; i < 360000; i++) {
        uint64_t now_ns = begin + i * second / 100;
        if (i % 1200 == 0) /* the program reports those in use again every 12 s */
            for (uint64_t code = 1; code <= 50; code++)
                tell_code(&codes, trace, &process, code, now_ns);
        tell_code(&codes, trace, &process, 1000 + i, now_ns);
        for (uint64_t code = 1; code <= 50 && i % 1000 == 0; code++)
            CHECK(is_named(&codes, trace, &process, code));
        CHECK(is_named(&codes, trace, &process, 1000 + i));
        most = codes.bytes > most ? codes.bytes : most;
    }
    CHECK(most < 32 << 20);
    CHECK(!is_named(&codes, trace, &process, 1000));
    code_names_fini(&codes);
    trace_destroy(trace);
}

/* A code object of 3.9 in this process, with more lines and longer names than fit in a record. */
enum { LONG_NAME = 3000, LONG_LINES = 3000, SENT_TEXT = CODE_HEADER + SAMPLER_TEXT_MAX };

struct long_text {
    uint64_t head[2], length, hash, state, rest;
    char text[LONG_NAME];
};

static struct {
    uint64_t name, file, lines;
    int32_t first_line;
} long_code;

static struct long_text long_name, long_file;

static struct {
    uint64_t head[3];
    uint8_t pairs[LONG_LINES][2];
} long_lines;

static void make_long_code(char last)
{
    const struct long_text text = {
        .length = LONG_NAME, .hash = 1, .state = 1 << 2 | 1 << 5 | 1 << 6};
    long_name = long_file = text;
    memset(long_name.text, 'n', LONG_NAME);
    memset(long_file.text, 'f', LONG_NAME);
    long_name.text[LONG_NAME - 1] = last;
    memset(long_lines.pairs, 1, sizeof(long_lines.pairs));
    long_code.name = (uintptr_t)&long_name;
    long_code.file = (uintptr_t)&long_file;
    long_code.lines = (uintptr_t)&long_lines;
    long_code.first_line = 10;
}

static const struct frame *tell_long_code(struct code_names *codes, struct trace *trace,
                                          const struct sampled *process, int instruction)
{
    static struct {
        struct sampler_code record;
        uint8_t bytes[2 * SENT_TEXT + SAMPLER_LINES_MAX];
    } told;

    memcpy(told.bytes, &long_name, SENT_TEXT);
    memcpy(told.bytes + SENT_TEXT, &long_file, SENT_TEXT);
    memset(told.bytes + 2 * SENT_TEXT, 1, SAMPLER_LINES_MAX);
    told.record = (struct sampler_code){
        .head = {.kind = SAMPLER_CODE, .size = sizeof(told), .pid = process->pid},
        .code = (uintptr_t)&long_code,
        .key = 7,
        .first_line = 10,
        .name_size = SENT_TEXT,
        .file_size = SENT_TEXT,
        .lines_size = SAMPLER_LINES_MAX,
        .lines_length = sizeof(long_lines.pairs)};
    CHECK_INT(code_names_add(codes, trace, process, &told.record), 0);
    struct sampler_python place = {
        .code = (uintptr_t)&long_code, .key = 7, .instruction = instruction};
    int64_t frame = code_names_frame(codes, trace, process, &place);
    CHECK(frame > 0);
    return stacks_get_frame(trace_stacks_get(trace), (uint32_t)frame);
}

/* This process, as one with the long code object. */
static struct sampled long_process(void)
{
    struct sampled process = {.pid = getpid(), .family = 1, .interpreter.state = INTERPRETER_FOUND};
    process.interpreter.runtime.offsets = *python_offsets_table(0x0309);
    struct python_offsets *offsets = &process.interpreter.runtime.offsets;
    offsets->code_name = 0;
    offsets->code_filename = 8;
    offsets->code_lines = 16;
    offsets->code_first_line = 24;
    offsets->bytes_size = 16;
    offsets->bytes_data = 24;
    return process;
}

TEST(names_on_pages_that_were_not_in_memory_are_read_from_the_process)
{
    struct code_names codes = {0};
    struct trace *trace = trace_create();
    struct sampled process = long_process();
    struct sampler_code record = {
        .head = {.kind = SAMPLER_CODE, .size = sizeof(record), .pid = process.pid},
        .code = (uintptr_t)&long_code,
        .key = 7,
        .first_line = 10};
    struct sampler_python place = {.code = (uintptr_t)&long_code, .key = 7};
    make_long_code('a');
    CHECK_INT(code_names_add(&codes, trace, &process, &record), 0);
    int64_t frame = code_names_frame(&codes, trace, &process, &place);
    CHECK(frame > 0);
    const struct stacks *stacks = trace_stacks_get(trace);
    uint32_t label = stacks_get_frame(stacks, (uint32_t)frame)->label;
    CHECK_INT(trace_string(trace, stacks_get_label(stacks, label)->text)->length, LONG_NAME);
    long_code.first_line = 11; /* another function */
    CHECK_INT(code_names_add(&codes, trace, &process, &record), 0);
    CHECK_INT(code_names_frame(&codes, trace, &process, &place), 0);
    code_names_fini(&codes);
    trace_destroy(trace);
}

TEST(what_a_record_has_no_room_for_is_read_from_the_process)
{
    struct code_names codes = {0};
    struct trace *trace = trace_create();
    struct sampled process = long_process();
    make_long_code('a');
    const struct frame *first = tell_long_code(&codes, trace, &process, 2500);
    uint32_t label = first->label;
    CHECK_INT(first->line, 2510);
    CHECK_INT(trace_string(trace, stacks_get_label(trace_stacks_get(trace), label)->text)->length,
              LONG_NAME);
    make_long_code('b'); /* another function with the same record */
    CHECK(tell_long_code(&codes, trace, &process, 2500)->label != label);
    long_lines.pairs[7][1] = 2; /* no longer the received content: reused memory */
    CHECK_INT(tell_long_code(&codes, trace, &process, 100)->line, 110);
    CHECK_INT(tell_long_code(&codes, trace, &process, 2500)->line, 0);
    code_names_fini(&codes);
    trace_destroy(trace);
}

/* ---- Parts of stacks ------------------------------------------------------------------------- */

enum { PART_ITEMS = 400 };

struct teller {
    struct map64 told; /* hash -> 1: the program considers it received */
};

static void untell(void *context, uint64_t hash)
{
    uint64_t gone;
    CHECK(map64_take(&((struct teller *)context)->told, hash, &gone));
}

/* Acts like the program for a stack: sends a new one. */
static void meet_part(struct stack_parts *parts, struct teller *teller, uint64_t hash,
                      uint64_t now_ns)
{
    if (!map64_find(&teller->told, hash)) {
        struct stack_part *part = stack_parts_add(parts, PART_NATIVE, hash, PART_ITEMS);
        CHECK(part);
        part->used_ns = now_ns;
        map64_put(&teller->told, hash, 1);
    }
    CHECK(stack_parts_find(parts, PART_NATIVE, hash, now_ns));
}

/* A minute of deep recursion, with 2,000 different stacks a second, one that recurs every 200 ms,
 * and one every 2 s. */
TEST(parts_of_many_stacks_take_little_memory_and_none_is_missing)
{
    struct teller teller = {0};
    struct stack_parts parts = {.forget = untell, .context = &teller};
    const uint64_t millisecond = 1000000;
    size_t most = 0;
    for (uint64_t i = 1; i <= 60 * 1000; i++) {
        uint64_t now_ns = (1000 + i) * millisecond;
        meet_part(&parts, &teller, 1000 + 2 * i, now_ns);
        meet_part(&parts, &teller, 1001 + 2 * i, now_ns);
        if (i % 200 == 0)
            meet_part(&parts, &teller, 1, now_ns);
        if (i % 2000 == 0)
            meet_part(&parts, &teller, 2, now_ns);
        if (i % 50 == 0)
            stack_parts_sweep(&parts, now_ns, i / 50);
        most = parts.bytes > most ? parts.bytes : most;
    }
    CHECK(most < 24 << 20);
    stack_parts_fini(&parts);
    map64_free(&teller.told);
}

/* Keys of several numbers: a difference in one number makes another key, in any order of
 * numbers. */
TEST(parts_of_stacks_of_different_kinds_never_meet)
{
    struct stack_parts parts = {0};
    for (uint64_t hash = 1; hash <= 100; hash++)
        for (unsigned kind = PART_KERNEL; kind <= PART_PYTHON; kind++)
            stack_parts_add(&parts, (enum part_kind)kind, hash, 1)->items[0].address =
                hash * 10 + kind;
    for (uint64_t hash = 1; hash <= 100; hash++)
        for (unsigned kind = PART_KERNEL; kind <= PART_PYTHON; kind++) {
            const struct stack_part *part = stack_parts_find(&parts, (enum part_kind)kind, hash, 1);
            CHECK(part);
            CHECK_INT(part->items[0].address, hash * 10 + kind);
        }
    stack_parts_fini(&parts);
}
