#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs a command on a fresh Debian or Ubuntu, like a new user's machine. See `usage` below.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: fresh_machine.sh [-p PACKAGE,...] [-b BASE] [-c FOLDER] [-r RELEASE,URI,KEYS] ROOT COMMAND...

Makes a root of this machine's release in the folder ROOT, with the base system and what -p names
(default ca-certificates,git), clones the repository FOLDER of -c into root's home, or copies a
folder that is none, and runs COMMAND in it as root, by a clean environment. Exits as COMMAND does.

The base system is kept in BASE (default ROOT.base; roots may share one, but not make it at once)
until release, sources or packages change. Package sources, their keys and certificates are those of
this machine, and so are kernel, /proc and /sys. What is mounted lies in a namespace of its own and
goes with the command.

-r makes a root of another release: its components main and universe, with updates, from the
archive URI, signed by the keyring KEYS. Ubuntu's keyring is in its package ubuntu-keyring:

    -r noble,http://archive.ubuntu.com/ubuntu,/usr/share/keyrings/ubuntu-archive-keyring.gpg

Exits 77 with the reason where no such root can be made.
TEXT
}

skip() {
    echo "skipped: no fresh machine: $1"
    exit 77
}

packages=ca-certificates,git
copied= base= other=
while getopts p:b:c:r:h option; do
    case $option in
    p) packages=$OPTARG ;;
    b) mkdir -p "$(dirname "$OPTARG")" && base=$(realpath "$OPTARG") ;;
    c) copied=$(realpath "$OPTARG") ;;
    r) other=$OPTARG ;;
    h) usage && exit 0 ;;
    *) usage >&2 && exit 2 ;;
    esac
done
shift $((OPTIND - 1))
(($# >= 2)) || { usage >&2; exit 2; }
mkdir -p "$(dirname "$1")"
root=$(realpath "$1")
shift
base=${base:-$root.base}

((EUID == 0)) || skip "not root"
command -v debootstrap >/dev/null || skip "no debootstrap"
unshare --mount --propagation private true 2>/dev/null || skip "no mount namespaces here"
debootstrap_options=(--variant=minbase --include="$packages")
script=()
if [[ $other ]]; then
    IFS=, read -r release uri keys <<<"$other"
    [[ -r $keys ]] || skip "no keyring '$keys'"
    debootstrap_options+=(--components=main,universe --keyring="$keys")
    # Every release of Ubuntu is installed by one script, and old debootstraps lack new names.
    scripts=/usr/share/debootstrap/scripts
    [[ -e $scripts/$release ]] || script=("$scripts/gutsy")
else
    release=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
    uri=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 2>/dev/null |
        awk -v release="$release" '$1 == release {print $2; exit}')
    [[ $uri ]] || skip "apt has no sources of the release '$release'"
fi

# Files of the host that are needed to find packages.
host_files=(/etc/pip.conf /etc/ssl/certs /usr/local/share/ca-certificates)
[[ $other ]] || host_files+=(/etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/keyrings
    /etc/apt/trusted.gpg.d /usr/share/keyrings)
mapfile -t apt_options < <(grep -lrs '^Acquire::' /etc/apt/apt.conf.d)

copy_host_files() {
    local file
    rm -f "$base/etc/apt/sources.list"
    [[ ! $other ]] || printf "deb $uri %s main universe\n" "$release" "$release-updates" \
        >"$base/etc/apt/sources.list"
    for file in "${host_files[@]}" "${apt_options[@]}"; do
        [[ -e $file ]] || continue
        rm -rf "${base:?}$file"
        mkdir -p "$(dirname "$base$file")"
        cp -a "$file" "$base$file"
    done
}

made=$(echo "$release $uri $packages"; cat /etc/apt/sources.list /etc/apt/sources.list.d/* \
    "${apt_options[@]}" 2>/dev/null || true)
if [[ $(cat "$base/.made" 2>/dev/null) != "$made" ]]; then
    rm -rf --one-file-system "$base"
    mkdir -p "$base"
    debootstrap "${debootstrap_options[@]}" "$release" "$base" "$uri" "${script[@]}" \
        >"$base.log" 2>&1 ||
        skip "debootstrap: $(grep -m1 '^E:' "$base.log" || tail -1 "$base.log")"
    copy_host_files
    echo "$made" >"$base/.made"
fi

rm -rf --one-file-system "$root"
cp -a --reflink=auto "$base" "$root"
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
mkdir -p "$root/root/annot"
if [[ $copied && -e $copied/.git ]]; then
    git clone --quiet "$copied" "$root/root/annot"
elif [[ $copied ]]; then
    cp -a "$copied/." "$root/root/annot"
fi

environment=(HOME=/root TERM=dumb LANG=C.UTF-8
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
mapfile -t proxies < <(env | grep -iE '^(https?|ftp|all|no)_proxy=' || true)
begin=$SECONDS status=0
unshare --mount --propagation private sh -euc '
    root=$1
    shift
    mount --bind "$root" "$root"
    cd "$root"
    mount -t proc proc proc
    mount --rbind /sys sys
    mount --rbind /dev dev
    mount -t tmpfs tmpfs dev/shm
    mkdir -p .old
    pivot_root . .old
    cd / && cd root/annot
    umount -l /.old
    rmdir /.old
    exec env -i "$@"' sh "$root" "${environment[@]}" "${proxies[@]}" "$@" || status=$?
rm -rf --one-file-system "$root"
echo "fresh_machine.sh: exit status $status after $((SECONDS - begin)) s"
exit $status
