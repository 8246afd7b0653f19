/* SPDX-License-Identifier: MIT */
/* Text inside XML: markup escaped, characters that XML has no way to write replaced by U+FFFD.
 * Good for contents and for quoted attributes. Thread-safety: no state. */
#ifndef ANNOT_XML_TEXT_H
#define ANNOT_XML_TEXT_H

#include "out_stream.h"

/* `bytes` is UTF-8; what is not comes out as U+FFFD. */
void xml_text(struct out_stream *out, const char *bytes, size_t length);

#endif
