/* SPDX-License-Identifier: MIT */
/* Counts the words of made-up text. The code does not use annot: compiled with
 * -finstrument-functions, every call is a range (docs/guides/functions.md). */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_SIZE = 4096, WORD_MAX = 15, TEXT_WORDS = 20000 };

struct entry {
    char word[WORD_MAX + 1];
    unsigned count;
};

static struct entry table[TABLE_SIZE];
static jmp_buf too_long; /* a word that does not fit */

static unsigned next_random(void)
{
    static unsigned state = 12345;
    state = state * 1103515245u + 12345u;
    return state >> 16;
}

static char *make_word(char *at)
{
    unsigned length = 2 + next_random() % 4 + (next_random() % 997 == 0 ? 20 : 0);
    for (unsigned i = 0; i < length; i++)
        *at++ = (char)('a' + next_random() % 4);
    *at++ = ' ';
    return at;
}

static char *make_text(void)
{
    char *text = malloc(TEXT_WORDS * 32);
    char *at = text;
    if (!text)
        abort();
    for (int i = 0; i < TEXT_WORDS; i++)
        at = make_word(at);
    *at = 0;
    return text;
}

static unsigned hash(const char *word)
{
    unsigned value = 2166136261u;
    for (; *word; word++)
        value = (value ^ (unsigned char)*word) * 16777619u;
    return value;
}

static void add(const char *word)
{
    unsigned slot = hash(word) % TABLE_SIZE;
    while (table[slot].word[0] && strcmp(table[slot].word, word) != 0)
        slot = (slot + 1) % TABLE_SIZE;
    strcpy(table[slot].word, word);
    table[slot].count++;
}

/* Leaves by longjmp if the word is too long. */
static size_t take_word(const char *text, char *word)
{
    size_t length = strcspn(text, " ");
    if (length > WORD_MAX)
        longjmp(too_long, (int)length);
    memcpy(word, text, length);
    word[length] = 0;
    return length;
}

static size_t count_word(const char *text)
{
    char word[WORD_MAX + 1];
    int length = setjmp(too_long);
    if (length != 0)
        return (size_t)length;
    size_t taken = take_word(text, word);
    add(word);
    return taken;
}

static int by_count(const void *a, const void *b)
{
    unsigned first = ((const struct entry *)a)->count, second = ((const struct entry *)b)->count;
    return (first < second) - (first > second);
}

static void print_most_frequent(void)
{
    qsort(table, TABLE_SIZE, sizeof(table[0]), by_count);
    for (int i = 0; i < 5; i++)
        printf("%6u %s\n", table[i].count, table[i].word);
}

int main(void)
{
    char *text = make_text();
    for (const char *at = text; *at;)
        at += count_word(at) + 1;
    print_most_frequent();
    free(text);
    return 0;
}
