/* SPDX-License-Identifier: MIT */
/* A library that uses CPU time, and calls back: for dlopen and for ctypes. */
#include "spin.h"

__attribute__((visibility("default"))) int64_t library_burn(int64_t ns);
__attribute__((visibility("default"))) int64_t library_call(int64_t (*callback)(int64_t),
                                                            int64_t ns);

__attribute__((noinline)) int64_t library_burn(int64_t ns)
{
    int64_t spent = spin_inline(ns);
    return spent;
}

/* Half of the time here, the other half in its callback. */
__attribute__((noinline)) int64_t library_call(int64_t (*callback)(int64_t), int64_t ns)
{
    int64_t spent = spin_inline(ns / 2);
    return spent + callback(ns / 2);
}
