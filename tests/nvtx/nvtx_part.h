/* SPDX-License-Identifier: MIT */
/* The images of the program nvtx_all; see nvtx_part.c. */
#ifndef ANNOT_NVTX_PART_H
#define ANNOT_NVTX_PART_H

#pragma GCC visibility push(default)

#define PART_OF(letter)                                                                            \
    void part_##letter(void);                                                                      \
    unsigned long part_start_##letter(void);                                                       \
    void part_end_##letter(unsigned long range);                                                   \
    void *part_domain_##letter(void);                                                              \
    void part_name_thread_##letter(unsigned thread, const char *name);

PART_OF(x) /* the program */
PART_OF(a) /* libraries it is linked with */
PART_OF(b)
PART_OF(c) /* a library it loads */

#pragma GCC visibility pop

#endif
