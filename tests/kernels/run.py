#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Try the sampler on other kernels than the running one, each in a virtual machine.

    run.py BUILD KERNEL... [--rung bpf|remote] [--test NAME]... [--log FOLDER]

KERNEL: an image (vmlinuz), a package that contains one (.deb), or the name of such a package, which
is then downloaded from apt's configured sources. --rung is the expected way of sampling on all of
them; tests of the BPF programs only run with "bpf". Each boots from memory with this build's annot,
the tests and the current interpreter, and its output is checked here. Exit status 1 if anything
failed, 77 if a tool is missing.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from guest import TESTS, make_initramfs
from verdict import judge

TOOLS = ("qemu-system-x86_64", "busybox", "cpio", "ldd")
BOOT_S = 600  # without hardware support a machine is slower than this one by an order of magnitude


def image_of_package(package, place):
    """Return the kernel image inside a package."""
    folder = place / package.stem
    subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
    images = [*folder.glob("boot/vmlinuz*"), *folder.glob("**/lib/modules/*/vmlinuz")]
    if not images:
        depends = subprocess.run(["dpkg-deb", "-f", package, "Depends"], check=True,
                                 capture_output=True, text=True).stdout.strip()
        sys.exit(f"{package.name} holds no kernel image; it needs {depends}")
    return images[0]


def kernel_image(name, place):
    path = pathlib.Path(name)
    if not path.exists():
        folder = place / "download" / name
        folder.mkdir(parents=True)
        subprocess.run(["apt-get", "download", "-q", name], check=True, cwd=folder)
        path = next(folder.glob("*.deb"))
    return image_of_package(path, place) if path.suffix == ".deb" else path


def boot(image, initramfs, accelerator, log):
    """Return the machine's output on the serial line. It ends by itself or after BOOT_S."""
    command = ["nice", "-n", "15", "qemu-system-x86_64", "-kernel", str(image), "-initrd",
               str(initramfs), "-append", "console=ttyS0 loglevel=4 panic=-1", "-cpu", "max",
               "-accel", accelerator, "-smp", "2", "-m", "1500", "-nographic",
               "-no-reboot", "-nic", "none"]
    with log.open("wb") as output:
        subprocess.run(["timeout", str(BOOT_S), *command], check=False, stdin=subprocess.DEVNULL,
                       stdout=output, stderr=subprocess.STDOUT)
    return log.read_text(errors="replace").replace("\r", "")


def arguments():
    parser = argparse.ArgumentParser(description="try the sampler on other kernels")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("kernels", nargs="+", metavar="KERNEL")
    parser.add_argument("--rung", choices=("bpf", "remote"), default="bpf")
    parser.add_argument("--test", action="append", metavar="NAME",
                        help=f"instead of {', '.join(TESTS)}")
    parser.add_argument("--accel", default="tcg", help="kvm, or tcg: none (default)")
    parser.add_argument("--log", type=pathlib.Path, help="keep what the machines print here")
    return parser.parse_args()


def main():
    options = arguments()
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        print(f"skipped: {', '.join(missing)} missing")
        return 77
    failed = 0
    with tempfile.TemporaryDirectory(prefix="annot-kernels-") as name:
        place = pathlib.Path(name)
        tests = options.test or (TESTS if options.rung == "bpf" else ())
        initramfs = make_initramfs(options.build.resolve(), place, tests)
        for kernel in options.kernels:
            image = kernel_image(kernel, place)
            log = (options.log or place) / f"{pathlib.Path(kernel).name}.log"
            log.parent.mkdir(parents=True, exist_ok=True)
            begin = time.monotonic()
            text = boot(image, initramfs, options.accel, log)
            print(f"{kernel} ({time.monotonic() - begin:.0f} s)", flush=True)
            failed += not judge(text, options.rung)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
