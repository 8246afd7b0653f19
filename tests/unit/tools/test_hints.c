/* SPDX-License-Identifier: MIT */
/* Hints for words of other profilers: all name existing commands and options. */
#include "hints.h"

#include "annot_program.h"
#include "cmd.h"
#include "test.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static bool has_option(const struct cmd *cmd, const char *word)
{
    for (const struct option_spec *spec = cmd_options(cmd); spec && spec->name; spec++)
        if (word[1] == '-' ? strlen(spec->name) == strcspn(word + 2, "=") &&
                                 memcmp(spec->name, word + 2, strlen(spec->name)) == 0
                           : spec->letter == word[1] && word[2] == 0)
            return true;
    return false;
}

/* True if all commands of the entry have the option, or the word is "as a command". */
static bool all_have_option(const struct hint *hint, const struct cmd *named, const char *word)
{
    bool found = strcmp(word, "--help") == 0 || (named && has_option(named, word));
    for (size_t i = 0; !named && i < cmd_count; i++) {
        const char *at = hint->command ? strstr(hint->command, cmd_table[i]->name) : NULL;
        if (at && !has_option(cmd_table[i], word))
            return false;
        found |= at != NULL;
    }
    return found;
}

/* Checks "annot report FILE --json; ..." word by word. */
static void check_text(const struct hint *hint)
{
    char text[512], *rest = NULL;
    const struct cmd *named = NULL;
    bool after_annot = false;
    snprintf(text, sizeof(text), "%s", hint->text);
    for (char *word = strtok_r(text, " ,;:().", &rest); word;
         word = strtok_r(NULL, " ,;:().", &rest)) {
        const struct cmd *cmd = after_annot ? cmd_find(word) : NULL;
        bool is_name = after_annot && islower((unsigned char)*word) && strcmp(word, "records") &&
                       strcmp(word, "never");
        if (is_name && !cmd)
            test_fail(__FILE__, __LINE__, "\"%s\": there is no annot %s", hint->text, word);
        named = cmd ? cmd : named;
        if (word[0] == '-' && !all_have_option(hint, named, word))
            test_fail(__FILE__, __LINE__, "\"%s\": no option %s", hint->text, word);
        after_annot = strcmp(word, "annot") == 0;
    }
}

TEST(each_hint_names_commands_and_options_that_exist)
{
    for (size_t i = 0; i < hint_count; i++)
        check_text(&hint_table[i]);
}

static bool is_choice(const char *choices, const char *word, size_t length)
{
    for (; *choices; choices += strcspn(choices, "|"), choices += *choices == '|')
        if (strcspn(choices, "|") == length && memcmp(choices, word, length) == 0)
            return true;
    return false;
}

/* "--format NAME" in a hint names an existing format, and the entry's words are not formats. */
TEST(each_hint_about_a_format_leads_to_one)
{
    const struct option_spec *spec = cmd_options(cmd_find("export"));
    while (strcmp(spec->name, "format") != 0)
        spec++;
    for (size_t i = 0; i < hint_count; i++) {
        const struct hint *hint = &hint_table[i];
        if (!hint->command || strcmp(hint->command, "export format") != 0)
            continue;
        for (const char *at = hint->text; (at = strstr(at, "--format "));) {
            at += strlen("--format ");
            if (!is_choice(spec->value_name, at, strcspn(at, " ;,")))
                test_fail(__FILE__, __LINE__, "\"%s\" names no format", hint->text);
        }
        for (const char *word = hint->words; *word;
             word += strcspn(word, "|"), word += *word == '|')
            if (is_choice(spec->value_name, word, strcspn(word, "|")))
                test_fail(__FILE__, __LINE__, "%.20s is a format", word);
    }
}

TEST(other_words_for_formats_have_hints)
{
    const char *const words[][2] = {{"format=json", "chrome"},     {"format=prof", "pstats"},
                                    {"format=pb.gz", "pprof"},     {"format=pftrace", "perfetto"},
                                    {"format=html", "annot html"}, {"format=JSON", "chrome"}};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const char *hint = hint_find_choice("export", words[i][0]);
        if (!hint || !strstr(hint, words[i][1]))
            test_fail(__FILE__, __LINE__, "%s: %s", words[i][0], hint ? hint : "no hint");
    }
    CHECK(!hint_find_choice("export", "format=v"));
    CHECK(!hint_find_choice("flame", "format=json"));
}

/* An existing word never reaches the hints, and of two hints only the first is found. */
TEST(each_word_is_unknown_and_has_one_hint)
{
    for (size_t i = 0; i < hint_count; i++) {
        char words[256], *rest = NULL;
        snprintf(words, sizeof(words), "%s", hint_table[i].words);
        for (char *word = strtok_r(words, "|", &rest); word; word = strtok_r(NULL, "|", &rest)) {
            const char *of = hint_table[i].command;
            char first[32] = "";
            if (of && strcmp(of, "*") != 0)
                snprintf(first, sizeof(first), "%.*s", (int)strcspn(of, "|"), of);
            const struct cmd *cmd = first[0] ? cmd_find(first) : NULL;
            char option[sizeof(words) + 2];
            snprintf(option, sizeof(option), "%s%s", word[1] ? "--" : "-", word);
            if (cmd && has_option(cmd, option))
                test_fail(__FILE__, __LINE__, "%s has %s", first, option);
            if (!of && cmd_find(word))
                test_fail(__FILE__, __LINE__, "%s is a command", word);
            if ((!of || first[0]) && hint_find(of ? first : NULL, word) != hint_table[i].text)
                test_fail(__FILE__, __LINE__, "%s of %s has two hints", word, of ? of : "annot");
        }
    }
}
