/* SPDX-License-Identifier: MIT */
/* The maps of the BPF program, made and mapped while it is loaded; see bpf_program.h for their use.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_BPF_PROGRAM_MAPS_H
#define ANNOT_BPF_PROGRAM_MAPS_H

#include <stddef.h>
#include <stdint.h>

struct bpf_area;
struct bpf_object;
struct sampler_bpf;

/* Maps the values of an array map. 0 or -errno. */
int bpf_area_open(struct bpf_area *area, int fd, size_t value_size, size_t count);
void bpf_area_close(struct bpf_area *area);

/* Starts making the maps of objects[0]; their sizes must be set. bpf_making_join() takes part in
 * it, passes them to the object, and returns when all exist; bpf_making_end() returns when the
 * first segment of the row memory is in its map, where the kernel puts it at once, and then waits
 * until all CPUs were idle once, 15 to 70 ms; bpf_making_close() waits for that. Call end and close
 * once in any case, even without bpf_making_begin(). 0 or -errno. */
int bpf_making_begin(struct sampler_bpf *program);
int bpf_making_join(struct sampler_bpf *program);
int bpf_making_end(struct sampler_bpf *program);
void bpf_making_close(struct sampler_bpf *program);

/* Shares the maps of objects[0] with another object of the same file. 0 or -errno. */
int bpf_making_share(const struct sampler_bpf *program, struct bpf_object *object);

/* Makes map `rows` with its first segment and returns its descriptor; *ret_fd is the segment's, to
 * be passed to bpf_rows_publish(). -errno. */
int bpf_rows_make(struct sampler_bpf *program, int *ret_fd);
int bpf_rows_publish(struct sampler_bpf *program, uint32_t index, int fd);

/* Finds and maps the maps of the loaded object. */
int bpf_maps_open(struct sampler_bpf *program);
void bpf_maps_close(struct sampler_bpf *program);

#endif
