/* SPDX-License-Identifier: MIT */
/* main() of the `annot` program; annot_program.c holds the rest. */
#include "annot_program.h"

int main(int argc, char **argv)
{
    return annot_main(argc, argv);
}
