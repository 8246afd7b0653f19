/* SPDX-License-Identifier: MIT */
/* Findings about the machine, and about sampling on it. Thread-safety: none. */
#ifndef ANNOT_DOCTOR_MACHINE_H
#define ANNOT_DOCTOR_MACHINE_H

#include "doctor.h"

struct host_facts;

void doctor_look_at_machine(struct doctor *doctor, const struct host_facts *facts);
/* Finds the directory in which programs and collector meet, without creating it. */
void doctor_look_at_memory(struct doctor *doctor, const struct host_facts *facts);
void doctor_look_at_limits(struct doctor *doctor, const struct host_facts *facts);
void doctor_look_at_sampling(struct doctor *doctor);

#endif
