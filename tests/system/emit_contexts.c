/* SPDX-License-Identifier: MIT */
/* emit_contexts: a short range that passes its trace context on, as a line on standard output and
 * to a child, which adopts it. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <annot/annot.h>
#include <annot/logs.h>

int main(void)
{
    char text[ANNOT_TRACE_CONTEXT_SIZE] = "none";
    annot_push("request");
    annot_trace_context(text);
    annot_pop();
    puts(text);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        annot_push("serve");
        annot_trace_context_adopt(text);
        annot_pop();
        return 0;
    }
    return waitpid(child, NULL, 0) != child;
}
