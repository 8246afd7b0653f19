/* SPDX-License-Identifier: MIT */
/* Messages and quoting: one line and a hint, for any content of the arguments. */
#include "cmd.h"
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char printed[8192];
static int saved, ends[2];

static void catch_errors(void)
{
    saved = dup(STDERR_FILENO);
    CHECK(saved >= 0);
    CHECK_INT(pipe(ends), 0);
    CHECK(dup2(ends[1], STDERR_FILENO) >= 0);
    close(ends[1]);
}

static const char *caught(void)
{
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    ssize_t length = read(ends[0], printed, sizeof(printed) - 1);
    close(ends[0]);
    printed[length > 0 ? length : 0] = '\0';
    return printed;
}

TEST(an_error_is_one_line_and_a_hint)
{
    cmd_set_name("report");
    catch_errors();
    int status = cmd_fail(7, "cannot open %s: %s\nis %s there?", "a", "no", "b");
    CHECK_STR(caught(), "annot report: cannot open a: no\nhint: is b there?\n");
    CHECK_INT(status, 7);
    catch_errors();
    cmd_note("only %d", 3);
    CHECK_STR(caught(), "annot report: only 3\n");
    cmd_set_name(NULL);
    catch_errors();
    cmd_note("%s", "plain");
    CHECK_STR(caught(), "annot: plain\n");
}

TEST(arguments_cannot_break_the_lines)
{
    cmd_set_name("x");
    catch_errors();
    cmd_fail(1, "bad %s\nsee %s", "a\nhint: b\033[2J", "c\nd");
    CHECK_STR(caught(), "annot x: bad a\\nhint: b\\e[2J\nhint: see c\\nd\n");
    char *longer = malloc(10001);
    memset(longer, 'y', 10000);
    longer[10000] = '\0';
    catch_errors();
    cmd_fail(1, "bad %s\nsee", longer);
    CHECK(strlen(caught()) < 4200);
    free(longer);
}

/* A shell parses the quoted word back. */
static void check_quoted(const char *word)
{
    char quoted[512], command[600], back[512] = "";
    cmd_quote(word, quoted, sizeof(quoted));
    snprintf(command, sizeof(command), "printf '%%s' %s", quoted);
    FILE *shell = popen(command, "r");
    CHECK(shell);
    size_t length = fread(back, 1, sizeof(back) - 1, shell);
    back[length] = '\0';
    CHECK_INT(pclose(shell), 0);
    CHECK_STR(back, word);
}

TEST(quoted_words_survive_a_shell)
{
    char quoted[64];
    cmd_quote("plain-word_1.annot", quoted, sizeof(quoted));
    CHECK_STR(quoted, "plain-word_1.annot");
    static const char *const words[] = {"two words", "it's", "$HOME `x`", "", "a\"b\\c", "*", "''"};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        check_quoted(words[i]);
    for (size_t size = 1; size < sizeof(quoted); size++) {
        cmd_quote("a long 'word' that does not fit", quoted, size);
        CHECK(strlen(quoted) < size);
    }
}
