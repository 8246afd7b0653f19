/* SPDX-License-Identifier: MIT */
/* A program of known work: three ranges of a fixed number of instructions each, one of which takes
 * a given part longer. bench_compare.py checks that `annot diff` sees that.
 *
 * compare_load [PERMILLE [ROUNDS]]: "hash" hashes PERMILLE thousandths more bytes. Its work does
 * not depend on time, memory beyond the caches, or input. */
#include <annot/annot.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUND_BYTES = 1 << 20, BLOCK = 1 << 13, ROUNDS = 150 };

static unsigned char block[BLOCK];

/* One multiplication waits for the other: the same number of cycles for each byte. */
__attribute__((noinline)) static uint64_t hash_bytes(uint64_t hash, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        hash = (hash ^ block[i % BLOCK]) * UINT64_C(1099511628211);
    return hash;
}

__attribute__((noinline)) static uint64_t add_bytes(uint64_t sum, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        sum = (sum + block[i % BLOCK]) * UINT64_C(6364136223846793005);
    return sum;
}

int main(int argc, char **argv)
{
    uint64_t more = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    uint64_t rounds = argc > 2 ? strtoull(argv[2], NULL, 10) : ROUNDS;
    uint64_t value = 14695981039346656037u;
    for (unsigned i = 0; i < BLOCK; i++)
        block[i] = (unsigned char)(i * 167);
    for (uint64_t i = 0; i < rounds; i++) {
        annot_push("round");
        annot_push("load");
        value = add_bytes(value, ROUND_BYTES / 2);
        annot_pop();
        annot_push("hash");
        value = hash_bytes(value, ROUND_BYTES / 2 + (ROUND_BYTES / 2) * more / 1000);
        annot_pop();
        annot_push("store");
        value = add_bytes(value, ROUND_BYTES / 2);
        annot_pop();
        annot_pop();
    }
    printf("%016llx\n", (unsigned long long)value);
    return 0;
}
