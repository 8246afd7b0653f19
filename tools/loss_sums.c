/* SPDX-License-Identifier: MIT */
/* Sums of loss_sums.h. */
#include "loss_sums.h"

#include "number_text.h"

#include <stdio.h>

void loss_print(const uint64_t *lost)
{
    char text[NUMBER_TEXT_SIZE];
    const char *separator = "";
    for (unsigned cause = 0; cause < LOSS_COUNT; cause++) {
        if (!lost[cause])
            continue;
        printf("%s%s %s", separator, number_count(lost[cause], text), loss_name((enum loss)cause));
        separator = ", ";
    }
    printf("\n");
}
