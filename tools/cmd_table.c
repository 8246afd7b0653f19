/* SPDX-License-Identifier: MIT */
/* The commands, in the order of the help. */
#include "cmd.h"

const struct cmd *const cmd_table[] = {
    &cmd_record,    &cmd_attach, &cmd_run_job, &cmd_env,      &cmd_set,     &cmd_ls,
    &cmd_dump,      &cmd_top,    &cmd_report,  &cmd_diff,     &cmd_stat,    &cmd_kernprof,
    &cmd_query,     &cmd_info,   &cmd_cat,     &cmd_tail,     &cmd_html,    &cmd_flame,
    &cmd_open,      &cmd_export, &cmd_import,  &cmd_snapshot, &cmd_recover, &cmd_merge,
    &cmd_symbolize, &cmd_doctor, &cmd_help,    &cmd_version,
};
const size_t cmd_count = sizeof(cmd_table) / sizeof(cmd_table[0]);
