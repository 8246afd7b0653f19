/* SPDX-License-Identifier: MIT */
/* The stack use of the BPF programs, summed as Linux before 6.13 does: over each chain of calls, in
 * units of 32 bytes, 512 at most. Newer kernels, on which this is built, accept more. */
#include "bpf_state.h"
#include "test.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>

enum { STACK_MAX = 512, STACK_UNIT = 32, CALLS_MAX = 8, STACK_REGISTER = 10, SUBPROGRAMS_MAX = 64 };

/* A program followed by all functions that it calls. */
struct text {
    const struct bpf_insn *insns;
    size_t count;
    size_t begin[SUBPROGRAMS_MAX]; /* sorted; the program itself is first */
    size_t subprograms;
};

/* Index of the function that an instruction calls or passes on; `count`: other instructions. */
static size_t target_of(const struct text *text, size_t at)
{
    const struct bpf_insn *insn = &text->insns[at];
    const bool calls = insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL;
    const bool passes =
        insn->code == (BPF_LD | BPF_IMM | BPF_DW) && insn->src_reg == BPF_PSEUDO_FUNC;

    return calls || passes ? at + 1 + (size_t)(ptrdiff_t)insn->imm : text->count;
}

static size_t subprogram_of(const struct text *text, size_t begin)
{
    for (size_t i = 0; i < text->subprograms; i++)
        if (text->begin[i] == begin)
            return i;
    return text->subprograms;
}

static int by_place(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

static void find_subprograms(struct text *text)
{
    text->begin[0] = 0;
    text->subprograms = 1;
    for (size_t i = 0; i < text->count; i++) {
        size_t target = target_of(text, i);

        if (target >= text->count || subprogram_of(text, target) < text->subprograms)
            continue;
        CHECK(text->subprograms < SUBPROGRAMS_MAX);
        text->begin[text->subprograms++] = target;
    }
    qsort(text->begin, text->subprograms, sizeof(text->begin[0]), by_place);
}

/* Bytes below the frame pointer that an instruction accesses, itself or by adding to the copy made
 * by the previous one. */
static int bytes_of(const struct bpf_insn *insn)
{
    int kind = BPF_CLASS(insn->code);
    const struct bpf_insn *before = insn - 1;

    if (kind == BPF_LDX ? insn->src_reg == STACK_REGISTER
                        : (kind == BPF_ST || kind == BPF_STX) && insn->dst_reg == STACK_REGISTER)
        return -insn->off;
    if (insn->code == (BPF_ALU64 | BPF_ADD | BPF_K) &&
        before->code == (BPF_ALU64 | BPF_MOV | BPF_X) && before->src_reg == STACK_REGISTER &&
        before->dst_reg == insn->dst_reg)
        return -insn->imm;
    return 0;
}

static int own_bytes(const struct text *text, size_t subprogram)
{
    size_t end = subprogram + 1 < text->subprograms ? text->begin[subprogram + 1] : text->count;
    int most = 1;

    for (size_t i = text->begin[subprogram] + 1; i < end; i++) {
        int bytes = bytes_of(&text->insns[i]);

        most = bytes > most ? bytes : most;
    }
    return (most + STACK_UNIT - 1) / STACK_UNIT * STACK_UNIT;
}

/* Stack use of the deepest chain from this subprogram on. */
static int chain_bytes(const struct text *text, size_t subprogram, int calls)
{
    size_t end = subprogram + 1 < text->subprograms ? text->begin[subprogram + 1] : text->count;
    int deepest = 0;

    CHECK(calls <= CALLS_MAX);
    for (size_t i = text->begin[subprogram]; i < end; i++) {
        size_t target = subprogram_of(text, target_of(text, i));
        int bytes = target < text->subprograms ? chain_bytes(text, target, calls + 1) : 0;

        deepest = bytes > deepest ? bytes : deepest;
    }
    return own_bytes(text, subprogram) + deepest;
}

static int bytes_of_program(const struct bpf_program *part)
{
    struct text text = {bpf_program__insns(part), bpf_program__insn_cnt(part), {0}, 0};
    int bytes;

    find_subprograms(&text);
    bytes = chain_bytes(&text, 0, 1);
    fprintf(stderr, "  %s: %d bytes, %zu functions\n", bpf_program__name(part), bytes,
            text.subprograms);
    return bytes;
}

TEST(no_chain_of_calls_takes_more_than_512_bytes_of_stack)
{
    const struct bpf_program_options options = {.frequency_hz = 99, .off_cpu = true, .uid = -1};
    char reason[BPF_PROGRAM_REASON_MAX];
    struct sampler_bpf *program;
    struct bpf_program *part;
    int rc = bpf_program_create(&options, &program, reason), most = 0;

    if (rc == -EPERM || rc == -ENOSYS || rc == -ENOTSUP)
        test_skip("no BPF here: %s", reason);
    CHECK_INT(rc, 0);
    for (size_t i = 0; i < BPF_OBJECTS; i++)
        bpf_object__for_each_program(part, program->objects[i])
        {
            int bytes = bpf_program__autoload(part) ? bytes_of_program(part) : 0;

            CHECK(bytes <= STACK_MAX);
            most = bytes > most ? bytes : most;
        }
    CHECK(most > STACK_MAX / 4);
    bpf_program_destroy(program);
}

/* Two threads create the maps, and the last of them the row memory: its first segment must exist
 * each time, and no descriptor may leak, which the runner checks. */
TEST(made_again_and_again_it_has_its_rows_and_leaves_nothing)
{
    const struct bpf_program_options options = {.frequency_hz = 99, .off_cpu = true, .uid = -1};
    char reason[BPF_PROGRAM_REASON_MAX];

    for (int i = 0; i < 12; i++) {
        struct sampler_bpf *program;
        uint32_t zero = 0, segment = 0;
        int rc = bpf_program_create(&options, &program, reason);

        if (rc == -EPERM || rc == -ENOSYS || rc == -ENOTSUP)
            test_skip("no BPF here: %s", reason);
        CHECK_INT(rc, 0);
        CHECK_INT(bpf_map_lookup_elem(program->rows_fd, &zero, &segment), 0);
        CHECK(segment > 0);
        bpf_program_destroy(program);
    }
}
