/* SPDX-License-Identifier: MIT */
/* A library with a misleading rbp: it points at the apparent end of a stack with plugin_false() as
 * the caller, which is never called. Its unwind table is correct. */
#include <stdint.h>

__attribute__((visibility("default"))) void plugin_spin(int64_t rounds);

__asm__(".text\n"
        ".globl plugin_spin\n"
        ".type plugin_spin, @function\n"
        "plugin_spin:\n"
        ".cfi_startproc\n"
        "push %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "sub $32, %rsp\n"
        ".cfi_def_cfa_offset 48\n"
        "movq $0, 16(%rsp)\n"
        "lea 1+plugin_false(%rip), %rax\n"
        "mov %rax, 24(%rsp)\n"
        "lea 16(%rsp), %rbp\n"
        "1: dec %rdi\n"
        "jnz 1b\n"
        "add $32, %rsp\n"
        ".cfi_def_cfa_offset 16\n"
        "pop %rbp\n"
        ".cfi_def_cfa_offset 8\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size plugin_spin, . - plugin_spin\n"
        ".type plugin_false, @function\n"
        "plugin_false:\n"
        ".cfi_startproc\n"
        "nop\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size plugin_false, . - plugin_false\n");
