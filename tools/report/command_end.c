/* SPDX-License-Identifier: MIT */
/* How the recorded command ended, if not as it should. */
#include "report_print.h"

#include "term.h"
#include "text.h"

#include <string.h>
#include <sys/wait.h>

size_t command_ending(const struct trace *trace, char *buffer, size_t size)
{
    enum { COMMAND_WIDTH = 60 };

    const struct trace_session *session = trace_session_get(trace);
    struct text text = text_init(buffer, size);
    int status = session->command_status;
    char command[4 * COMMAND_WIDTH + 4];
    if (!session->command || status == -1 || status == 0 ||
        !(WIFEXITED(status) || WIFSIGNALED(status)))
        return 0;
    term_shorten(trace_string(trace, session->command)->bytes, COMMAND_WIDTH, command,
                 sizeof(command));
    if (WIFEXITED(status)) {
        text_format(&text, "%s ended with exit status %d.", command, WEXITSTATUS(status));
        return text.length;
    }
    const char *name = sigabbrev_np(WTERMSIG(status));
    text_format(&text, "%s was killed by signal %d", command, WTERMSIG(status));
    text_format(&text, name ? " (SIG%s)." : ".", name);
    return text.length;
}
