/* SPDX-License-Identifier: MIT */
/* Stacks of samples as the options of an export want them: frames, groups, and trees of calls.
 * Thread-safety: one thread per tree. */
#ifndef ANNOT_EXPORT_TREE_H
#define ANNOT_EXPORT_TREE_H

#include "chosen_frames.h"
#include "sample_weight.h"

struct call_tree;
struct export_job;
struct export_options;
struct sample;

/* What stacks are grouped by, frames of their own around the root: "process", "thread", "range"
 * (the path of open ranges); NULL: nothing. As enum call_group. */
unsigned export_call_groups(const char *by);

/* Which frames the stacks of a timeline have. */
enum frame_choice export_frames(const struct export_options *options);

/* An empty tree for the samples of a job as its options want them, and the weight that is added up:
 * 0 or -errno. The second: a sample, if it has that weight. */
int export_tree_create(const struct export_job *job, enum frame_choice frames,
                       struct sample_weight *ret_weight, struct call_tree **ret_tree);
int export_tree_add(const struct export_job *job, struct sample_weight weight,
                    struct call_tree *tree, const struct sample *sample);

#endif
