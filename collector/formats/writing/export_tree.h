/* SPDX-License-Identifier: MIT */
/* Stacks of samples selected by the options of an export: frames, groups, and trees of calls.
 * Thread-safety: one thread per tree. */
#ifndef ANNOT_EXPORT_TREE_H
#define ANNOT_EXPORT_TREE_H

#include "chosen_frames.h"
#include "sample_weight.h"

struct call_tree;
struct export_job;
struct export_options;
struct sample;

/* Grouping of stacks, by additional frames around the root: "process", "thread", "range" (the path
 * of open ranges); NULL: no grouping. As enum call_group. */
unsigned export_call_groups(const char *by);

/* The choice of frames in the stacks of a timeline. */
enum frame_choice export_frames(const struct export_options *options);

/* An empty tree for the samples of a job with its options, and the weight that is added up: 0 or
 * -errno. The second adds a sample, if it has that weight. */
int export_tree_create(const struct export_job *job, enum frame_choice frames,
                       struct sample_weight *ret_weight, struct call_tree **ret_tree);
int export_tree_add(const struct export_job *job, struct sample_weight weight,
                    struct call_tree *tree, const struct sample *sample);

#endif
