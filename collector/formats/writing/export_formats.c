/* SPDX-License-Identifier: MIT */
/* The table of exporters, in the order of help. */
#include "export.h"

extern const struct exporter export_arrow, export_callgrind, export_chrome, export_csv, export_ctf,
    export_dot, export_firefox, export_folded, export_jsonl, export_lprof, export_massif,
    export_nsys, export_otlp_json, export_parquet, export_perfetto, export_pstats,
    export_speedscope;

const struct exporter *const exporters[] = {&export_perfetto,  &export_chrome, &export_speedscope,
                                            &export_firefox,   &export_pprof,  &export_folded,
                                            &export_svg,       &export_dot,    &export_pstats,
                                            &export_callgrind, &export_lprof,  &export_massif,
                                            &export_nsys,      &export_csv,    &export_jsonl,
                                            &export_parquet,   &export_arrow,  &export_otlp,
                                            &export_otlp_json, &export_ctf,    NULL};
