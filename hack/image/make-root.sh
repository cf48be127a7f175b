#!/bin/sh
# Makes the root of the image below the directory $1, in three parts, each a layer that seldom changes without those
# before it: Node with the libraries that it is linked with, the packages, the program. There is no shell and no package
# manager, and of other programs only chroot, by which the node agent runs those of its node, and CNI plugins, which it
# puts onto nodes that lack them. $2 is the time of all
# files, in seconds since 1970.
set -eu
root=$1
time=$2

# Copies the program $1 to $2, and the libraries to where its loader looks for them.
copy_program() {
  mkdir -p "$root/node$(dirname "$2")"
  cp -L "$1" "$root/node$2"
  # glibc's loader, asked to list what it would load, in place of running it. A program without libraries is run after all,
  # and ends for want of arguments.
  { LD_TRACE_LOADED_OBJECTS=1 "$1" 2>/dev/null || true; } | grep -o '/[^ ]*' | while read -r library; do
    mkdir -p "$root/node$(dirname "$library")"
    cp -L "$library" "$root/node$library"
  done
}

copy_program "$(node --print process.execPath)" /usr/local/bin/node
copy_program "$(which chroot)" /usr/sbin/chroot
# For nodes that lack them: the node agent puts them there.
mkdir -p "$root/node/opt/cni/bin"
cp -L /usr/lib/cni/bridge /usr/lib/cni/host-local "$root/node/opt/cni/bin"
mkdir -p "$root/node/etc"
echo 'nonroot:x:65532:65532::/:/sbin/nologin' >"$root/node/etc/passwd"
echo 'nonroot:x:65532:' >"$root/node/etc/group"

mkdir -p "$root/packages/app"
cp -R node_modules "$root/packages/app"
# Types, source maps and manuals are for those who develop; licences stay.
find "$root/packages" -type f \
  \( -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -name '*.map' -o -name '*.md' \) ! -iname '*licen*' -exec rm {} +
rm -f "$root/packages/app/node_modules/.package-lock.json"

mkdir -p "$root/program/app"
cp -R package.json sbom.cdx.json dist "$root/program/app"

chmod -R u=rwX,go=rX "$root"
find "$root" -exec touch -h -d "@$time" {} +
