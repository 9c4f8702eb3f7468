#!/bin/sh
# Tries the README on a machine that has nothing: a fresh Debian 12 in a chroot, without R. Needs root, debootstrap and a
# Debian host, whose apt sources it uses.
#
#   tools/try_clean.sh [CHECKOUT] [MAKE_TARGET...]     default: this checkout, and the targets demo and test
#
# What is committed in CHECKOUT is cloned into the chroot, with ../shared beside it where that exists. The base system is
# made once, in $CLEAN_ROOT/base (default /tmp/chroot/base), and copied for each try.

set -eu
checkout=$(cd "${1:-$(dirname "$0")/..}" && pwd)
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- demo test
clean_root=${CLEAN_ROOT:-/tmp/chroot}
base=$clean_root/base
run=$clean_root/run

inside() {
  chroot "$1" /usr/bin/env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    DEBIAN_FRONTEND=noninteractive sh -ec "$2" < /dev/null
}

make_base() {
  rm -rf "$base.part"
  mkdir -p "$clean_root"
  debootstrap --variant=minbase --include=ca-certificates bookworm "$base.part"
  rm -f "$base.part/etc/apt/sources.list"
  cp /etc/apt/sources.list.d/debian.sources "$base.part/etc/apt/sources.list.d/"
  # A mirror may be a snapshot, older than its own date of expiry.
  echo 'Acquire::Check-Valid-Until "false"; Acquire::Check-Date "false";' > "$base.part/etc/apt/apt.conf.d/90snapshot"
  cp -L /etc/resolv.conf "$base.part/etc/resolv.conf"
  # The host may trust a certificate authority of its own.
  cp -L /etc/ssl/certs/ca-certificates.crt "$base.part/etc/ssl/certs/ca-certificates.crt"
  # The README's requirements: to fetch the sources, to run make, and Rust.
  inside "$base.part" "apt-get update -q && apt-get install -y -q --no-install-recommends git make cargo-web"
  mv "$base.part" "$base"
}

leave() {
  for mount in dev/pts proc; do
    if mountpoint -q "$run/$mount"; then umount "$run/$mount"; fi
  done
}

[ -d "$base" ] || make_base
leave
rm -rf --one-file-system "$run"
cp -a --reflink=auto "$base" "$run"
mkdir -p "$run/root/work"
git clone -q --no-hardlinks "$checkout" "$run/root/work/gptr"
if [ -d "$checkout/../shared" ]; then cp -RL "$checkout/../shared" "$run/root/work/shared"; fi

trap leave EXIT
mount -t proc proc "$run/proc"
mount -t devpts devpts "$run/dev/pts"
if inside "$run" "command -v R"; then
  echo "the chroot has R already" >&2
  exit 1
fi
for target in "$@"; do
  echo "### make $target"
  start=$(date +%s)
  inside "$run" "cd /root/work/gptr && make $target"
  echo "### make $target took $(($(date +%s) - start)) s"
done
