/* SPDX-License-Identifier: MIT */
/* emit_names COUNT PER_SECOND: one range for each of COUNT distinct names, paced. One thread. */
#include <stdlib.h>

#include <annot/annot.h>

#include "account.h"

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
    struct emit_pace pace = emit_pace_begin(argc > 2 ? strtoull(argv[2], NULL, 10) : 100000);
    for (uint64_t i = 0; i < count; i++) {
        char name[64];
        snprintf(name, sizeof(name), "request %" PRIu64 " of a user", i);
        annot_push(name);
        annot_pop();
        emit_pace_step(&pace);
    }
    return 0;
}
