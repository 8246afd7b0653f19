/* SPDX-License-Identifier: MIT */
/* The entry of the `annot` program; annot_program.c is the rest. */
#include "annot_program.h"

int main(int argc, char **argv)
{
    return annot_main(argc, argv);
}
