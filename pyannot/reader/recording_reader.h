/* SPDX-License-Identifier: MIT */
/* The class `reader`: an open recording. Thread-safety: as of objects.h. */
#ifndef ANNOT_RECORDING_READER_H
#define ANNOT_RECORDING_READER_H

#include "compat.h"

/* Raises OSError for `code`, a negative errno, about the file; or MemoryError. Always NULL. */
PyObject *raise_code(int code, PyObject *path);

#endif
