/* SPDX-License-Identifier: MIT */
/* Process numbers as people type them. */
#include "pid_list.h"

#include "cmd.h"
#include "file_io.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_there(const struct pid_list *list, int32_t pid)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i] == pid)
            return true;
    return false;
}

int pid_list_parse(const char *text, struct pid_list *ret_list)
{
    *ret_list = (struct pid_list){.count = 0};
    if (!text)
        return cmd_fail(CMD_MISUSE, "the process is missing\n-p PID names it; \"pgrep -a NAME\" "
                                    "finds it");
    while (true) {
        char word[12] = "";
        uint64_t pid = 0;
        size_t length = strcspn(text, ",");
        if (length < sizeof(word))
            memcpy(word, text, length);
        if (options_parse_count(word, &pid) != 0 || pid == 0 || pid > INT32_MAX)
            return cmd_fail(CMD_MISUSE,
                            "option --pid: cannot understand \"%.*s\"\na process "
                            "number, or several with commas between: 12,34",
                            (int)length, text);
        if (ret_list->count == PID_LIST_MAX)
            return cmd_fail(CMD_MISUSE, "option --pid: at most %d processes", PID_LIST_MAX);
        if (!is_there(ret_list, (int32_t)pid))
            ret_list->items[ret_list->count++] = (int32_t)pid;
        if (text[length] == 0)
            return 0;
        text += length + 1;
    }
}

const char *pid_list_comm(int32_t pid, char *buffer)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    if (file_read_text(path, buffer, PID_COMM_SIZE) <= 0)
        snprintf(buffer, PID_COMM_SIZE, "process");
    buffer[strcspn(buffer, "\n")] = 0;
    return buffer;
}
