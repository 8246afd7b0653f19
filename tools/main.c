/* SPDX-License-Identifier: MIT */
/* The entry of the `annot` program; annot.c is the rest. */
#include "cmd.h"

int main(int argc, char **argv)
{
    return annot_main(argc, argv);
}
