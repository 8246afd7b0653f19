/* SPDX-License-Identifier: MIT */
/* Starts the user's browser in a process that outlives this one; its output is discarded. */
#include "open_browser.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MAX = 16, WORDS_SIZE = 1024 };

/* Splits the first of $BROWSER's commands into words and inserts the address. */
static bool split(const char *browser, const char *url, char *text, char **words)
{
    size_t length = strcspn(browser, ":");
    int count = 0;
    if (length >= WORDS_SIZE)
        return false;
    memcpy(text, browser, length);
    text[length] = '\0';
    char *rest = NULL;
    bool placed = false;
    for (char *word = strtok_r(text, " ", &rest); word && count + 2 < WORDS_MAX;
         word = strtok_r(NULL, " ", &rest)) {
        bool is_place = strcmp(word, "%s") == 0;
        words[count++] = is_place ? (char *)url : word;
        placed = placed || is_place;
    }
    if (count == 0)
        return false;
    if (!placed)
        words[count++] = (char *)url;
    words[count] = NULL;
    return true;
}

/* Without $BROWSER requires a desktop: elsewhere xdg-open would start a browser in the terminal. */
static bool choose(const char *url, char *text, char **words)
{
    const char *browser = getenv("BROWSER");
    if (browser && browser[0])
        return split(browser, url, text, words);
    if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY"))
        return false;
    return split("xdg-open", url, text, words);
}

/* Runs in the child: starts a session and detaches from annot's streams. The errno of a failure is
 * written to `told`. */
static void execute(char **words, int told)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    setsid();
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && nothing >= 0; fd++)
        dup2(nothing, fd);
    if (fork() == 0) {
        execvp(words[0], words);
        int error = errno;
        (void)!write(told, &error, sizeof(error));
    }
    _exit(0);
}

bool browser_start(const char *url)
{
    char text[WORDS_SIZE], *words[WORDS_MAX];
    int told[2], error = 0;
    if (!choose(url, text, words) || pipe2(told, O_CLOEXEC) != 0)
        return false;
    pid_t pid = fork();
    if (pid == 0)
        execute(words, told[1]);
    close(told[1]);
    bool failed = pid < 0 || read(told[0], &error, sizeof(error)) > 0;
    close(told[0]);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    return !failed;
}
