/* SPDX-License-Identifier: MIT */
/* Findings about the injection library. Thread-safety: none. */
#ifndef ANNOT_DOCTOR_INJECT_H
#define ANNOT_DOCTOR_INJECT_H

#include "doctor.h"

/* Loads the injection library in a child. */
void doctor_look_at_injection(struct doctor *doctor);

#endif
