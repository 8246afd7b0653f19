#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The GPU view on the page of annot html, in a real browser, compared with the report.

    test_gpu_page.py ANNOT TRUTH_PROGRAM FOLDER  pages and pictures are left in FOLDER

Exit status 0, 1, or 77 if Chromium or playwright is not available.
"""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "system"))
import page_browser  # noqa: E402
import page_numbers  # noqa: E402
import perfetto_ui  # noqa: E402
from test_exports import Check, use_test_python  # noqa: E402
from test_page_browser import SCROLLS, WIDTHS, write_page  # noqa: E402
from test_page_views import AXE_RULES, View  # noqa: E402


def check_looks(check, opened, path, folder):
    axe = page_browser.axe_script()
    for size, scheme in zip(WIDTHS, ("light", "dark")):
        page = View(opened, path, "view=gpu", scheme, size)
        check.equal("gpu: wider than the window", page.page.evaluate(SCROLLS), False)
        if axe:
            check.equal("gpu: accessible",
                        page_browser.violations(page.page, axe, AXE_RULES), [])
        check.equal("gpu: complaints", page.complaints, [])
        page.page.screenshot(path=folder / f"gpu-{size[0]}-{scheme}.png", full_page=True)
        page.close()


def time_of(row, name):
    return page_numbers.joined(page_numbers.time_text(row[name]))


def shown(page, label, columns):
    return [[page_numbers.joined(row[at]) for at in columns] for row in page.rows(label)]


def check_numbers(check, annot, opened, path, recording):
    report = page_numbers.report(annot, recording)
    page = View(opened, path, "view=gpu")
    check.equal("gpu: kernels", shown(page, "Kernels", (0, 1, 2))[:-1],
                [[page_numbers.joined(row["short_name"]), str(row["count"]),
                  time_of(row, "total_ns")]
                 for row in report["gpu_kernels"] if not row.get("rest")])
    check.equal("gpu: launched from", [row[1] for row in shown(page, "Kernels", (0, 5))[:-1]],
                [row["range"].rpartition("/")[2] or "(outside)" for row in report["gpu_kernels"]
                 if not row.get("rest")])
    ranges = {row["path"].rsplit("/", 1)[-1]: row for row in report["gpu_ranges"]
              if not row.get("rest")}
    rows = shown(page, "Ranges", (0, 2, 3, 6, 7))
    check.equal("gpu: ranges", sorted(row[0] for row in rows[:-1]), sorted(ranges))
    for name, launched, gpu, idle, starved in rows[:-1]:
        row = ranges[name]
        check.equal(f"gpu: range {name}", [launched.replace(",", ""), gpu, idle, starved],
                    [str(row["launched"]), *(time_of(row, each) for each in
                                             ("gpu_ns", "idle_ns", "starved_ns"))])
    check.equal("gpu: devices and queues", [row[1:] for row in shown(
        page, "Devices and queues", (0, 2, 6))],
        [[time_of(row, "busy_ns"), time_of(row, "starved_ns") if "starved_ns" in row else ""]
         for row in report["gpu_queues"]])
    wanted = [(row["samples"], row["not_issued"], row["top_pc"]) for kernel in report["gpu_stalls"]
              for row in [kernel, *kernel["parts"]]]
    check.equal("gpu: sums of stalls", wanted[:3], [(900, 40, "0x280"), (820, 40, "0x280"),
                                                    (80, 0, "0x10")])
    check.equal("gpu: stall reasons", shown(page, "Stall reasons", (1, 4, 5)),
                [[str(samples), str(idle), place] for samples, idle, place in wanted])
    page.close()
    page = View(opened, path, "view=ranges")
    step = next(row for row in page.rows("Ranges") if row[0] == "step")
    check.equal("gpu: time of a range among the others", time_of(ranges["step"], "gpu_ns") in
                [page_numbers.joined(cell) for cell in step], True)
    page.close()
    page = View(opened, path)
    check.equal("gpu: the summary says how busy it was",
                "GPU 0 was busy" in page.page.inner_text("body"), True)
    page.close()


def check_flame(check, annot, program, opened, folder):
    flame, recording = folder / "flame.html", folder / "flame.annot"
    subprocess.run([annot, "record", "-q", "--force", "-o", recording, "--", program, "9"],
                   check=True)
    for name in (recording, folder / "truth.annot"):  # with samples of processors and without
        subprocess.run([annot, "flame", "--gpu", "--force", "-o", flame, name], check=True)
        page = View(opened, flame)
        check.equal(f"gpu flame of {name.stem}: why no time can be chosen",
                    "no stretch of time can be chosen" in page.page.inner_text("body"), True)
        page.close()


def main():
    use_test_python()
    annot, program, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    recording = folder / "truth.annot"
    check = Check()
    subprocess.run([annot, "record", "-q", "--force", "--sampling=none", "-o", recording, "--",
                    program, "9"], check=True)
    path = write_page(annot, recording, folder / "truth.html")
    try:
        with page_browser.browser() as opened:
            check_looks(check, opened, path, folder)
            check_numbers(check, annot, opened, path, recording)
            check_flame(check, annot, program, opened, folder)
    except perfetto_ui.NoVerdict as why:
        print(f"skipped: {why}")
        return 77
    print(f"{check.passed} passed, {check.failed} failed, 0 skipped")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
