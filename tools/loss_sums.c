/* SPDX-License-Identifier: MIT */
/* Sums of loss_sums.h. */
#include "loss_sums.h"

#include "number_text.h"

#include <stdio.h>

uint64_t loss_sums(const struct trace *trace, const uint64_t *gaps, uint64_t *ret_lost)
{
    uint64_t sum = 0;
    for (unsigned cause = 0; cause < LOSS_COUNT; cause++) {
        uint64_t counted = 0;
        for (uint32_t i = 0; i < trace_process_count(trace); i++)
            counted += trace_process_get(trace, i)->lost[cause];
        ret_lost[cause] = counted > gaps[cause] ? counted : gaps[cause];
        sum += ret_lost[cause];
    }
    return sum;
}

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

uint64_t loss_of_damage(const struct store_reader *reader, const struct trace *trace, uint64_t seen)
{
    uint64_t promised = 0;
    for (uint32_t i = 0; i < trace_thread_count(trace); i++)
        promised += trace_thread_get(trace, i)->event_count;
    return store_reader_damage_count(reader) && promised > seen ? promised - seen : 0;
}
