/* SPDX-License-Identifier: MIT */
/* model_check LOG RECORDING: checks that the recording has exactly the events of the log, except
 * those it counts as lost. Prints how much it compared. Exits with 1 if they differ. One thread. */
#include "model_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* True if a recorded event equals an entry of the log. Depths are known only while nothing was
 * lost. */
static int is_same(const struct model_entry *told, const struct model_entry *seen, int exact)
{
    return told->kind == seen->kind && told->digest == seen->digest &&
           (!exact || told->depth == seen->depth);
}

/* Returns how many records are missing. Exits the program on an unexpected record. */
static uint64_t compare(uint32_t number, const entries *told, const entries *seen, int exact)
{
    uint64_t missing = 0;
    size_t at = 0;
    for (size_t i = 0; i < told->count; i++) {
        if (at < seen->count && is_same(&told->items[i], &seen->items[at], exact))
            at++;
        else if (exact)
            missing = missing ? missing : i + 1;
        else
            missing += told->items[i].weight;
    }
    if ((exact && missing) || at < seen->count) {
        size_t place = exact && missing ? missing - 1 : at;
        printf("thread t%u: logged %zu, recorded %zu events; at %zu the log has kind %d depth %u, "
               "the recording kind %d depth %u\n",
               number, told->count, seen->count, place,
               place < told->count ? told->items[place].kind : -1,
               place < told->count ? told->items[place].depth : 0,
               at < seen->count ? seen->items[at].kind : -1,
               at < seen->count ? seen->items[at].depth : 0);
        exit(1);
    }
    return missing;
}

int main(int argc, char **argv)
{
    struct recorded recorded;
    const struct model_log *log = argc == 3 ? model_log_map(argv[1], 0) : NULL;
    int failed = log ? model_read_recording(argv[2], log, &recorded) : 2;
    entries *told = failed == 2 ? NULL : model_read_log(log);
    if (!told) {
        fprintf(stderr, "model_check LOG RECORDING: cannot read it\n");
        return 2;
    }
    uint64_t missing = 0, events = 0;
    for (uint32_t i = 1; i < recorded.thread_limit; i++) {
        missing += compare(i, &told[i], &recorded.threads[i], recorded.lost == 0);
        events += told[i].count;
    }
    printf("%" PRIu64 " events of %u threads in %u processes, %" PRIu64 " missing, %" PRIu64
           " counted as lost; in vain: %" PRIu64 " pops, %" PRIu64 " ends\n",
           events, log->thread_count, trace_process_count(recorded.trace), missing, recorded.lost,
           recorded.misuse_pops, recorded.misuse_ends);
    if (missing != recorded.lost)
        failed = printf("what is missing is not what is counted as lost\n");
    if (recorded.lost == 0 &&
        (recorded.misuse_pops != log->empty_pops || recorded.misuse_ends != log->foreign_ends))
        failed =
            printf("calls in vain were %u pops and %u ends\n", log->empty_pops, log->foreign_ends);
    return failed != 0;
}
