/* SPDX-License-Identifier: MIT */
/* emit_auxv COUNT: COUNT marks, 1 ms apart, of a program that sees another AT_RANDOM than the
 * kernel, as under valgrind. */
#include <annot/annot.h>

#include <dlfcn.h>
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

/* In place of the C library's. */
unsigned long getauxval(unsigned long type)
{
    static const uint8_t bytes[16] = "not the kernel's";
    unsigned long (*next)(unsigned long) =
        (unsigned long (*)(unsigned long))dlsym(RTLD_NEXT, "getauxval");
    return type == AT_RANDOM ? (unsigned long)(uintptr_t)bytes : next(type);
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 0;
    for (int i = 0; i < count; i++) {
        annot_mark("tick");
        usleep(1000);
    }
    return 0;
}
