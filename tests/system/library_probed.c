/* SPDX-License-Identifier: MIT */
/* A function that is loaded while its program runs. */
int probed_loaded(int x);

__attribute__((noinline, visibility("default"))) int probed_loaded(int x)
{
    return x * 3;
}
