/* SPDX-License-Identifier: MIT */
/* Findings about Python interpreters. Thread-safety: none. */
#ifndef ANNOT_DOCTOR_PYTHON_H
#define ANNOT_DOCTOR_PYTHON_H

#include "doctor.h"

/* Starts each interpreter found, for some tens of milliseconds. */
void doctor_look_at_pythons(struct doctor *doctor);

#endif
