/* SPDX-License-Identifier: MIT */
/* The effects of the public functions in shared memory, checked by a strict reader. */
#include "arena.h"
#include "test.h"

#include <annot/annot.h>
#include <unistd.h>

static void spend(int count)
{
    for (int i = 0; i < count; i++) {
        ANNOT_PUSH("outer");
        annot_push("inner");
        annot_mark("mark");
        annot_counter("queue", i);
        annot_pop();
        ANNOT_POP();
    }
}

TEST(nothing_happens_while_nobody_records)
{
    struct seen seen;
    spend(3);
    CHECK(!annot_enabled());
    arena_read(0, &seen, NULL, NULL);
    CHECK_INT(seen.segments, 0);
    CHECK_STR(annot_status(), "nobody records");
}

TEST(every_kind_arrives)
{
    struct seen seen;
    arena_begin(NULL);
    spend(100);
    annot_range range = annot_start("job");
    CHECK(range != 0);
    annot_end(range);
    CHECK_STR(annot_status(), "recording");
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.segments, 1);
    CHECK_INT(seen.kinds[ANNOT_REC_PUSH], 200);
    CHECK_INT(seen.kinds[ANNOT_REC_POP], 200);
    CHECK_INT(seen.kinds[ANNOT_REC_MARK], 100);
    CHECK_INT(seen.kinds[ANNOT_REC_COUNTER], 100);
    CHECK_INT(seen.kinds[ANNOT_REC_RANGE_START], 1);
    CHECK_INT(seen.kinds[ANNOT_REC_RANGE_END], 1);
    CHECK_INT(seen.lost_total, 0);
    arena_end();
    arena_clean();
}
