/* SPDX-License-Identifier: MIT */
/* The table of importers. The first one that recognizes a file reads it. */
#include "import_formats.h"

#include <stddef.h>

extern const struct importer import_chrome, import_folded, import_nsys, import_perf,
    import_perfetto, import_pstats, import_speedscope, import_v8;

const struct importer *const importers[] = {
    &import_chrome,     &import_v8,     &import_perfetto,
    &import_speedscope, &import_pstats,
#ifdef HAVE_SQLITE
    &import_nsys,
#endif
    &import_perf,       &import_folded, NULL,
};
