#!/bin/sh
# Makes the root of the image below the directory $1, in three parts, each a layer that seldom changes without those
# before it: Node with the libraries that it is linked with, the packages, the program. Nothing else: no shell, no package
# manager. $2 is the time of all files, in seconds since 1970.
set -eu
root=$1
time=$2

node=$(node --print process.execPath)
mkdir -p "$root/node/usr/local/bin" "$root/node/etc" "$root/packages/app" "$root/program/app"
cp "$node" "$root/node/usr/local/bin/node"
# glibc's loader, asked to list what it would load, in place of running it.
LD_TRACE_LOADED_OBJECTS=1 "$node" | grep -o '/[^ ]*' | while read -r library; do
  mkdir -p "$root/node$(dirname "$library")"
  cp -L "$library" "$root/node$library"
done
echo 'nonroot:x:65532:65532::/:/sbin/nologin' >"$root/node/etc/passwd"
echo 'nonroot:x:65532:' >"$root/node/etc/group"

cp -R node_modules "$root/packages/app"
# Types, source maps and manuals are for those who develop; licences stay.
find "$root/packages" -type f \
  \( -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -name '*.map' -o -name '*.md' \) ! -iname '*licen*' -exec rm {} +
rm -f "$root/packages/app/node_modules/.package-lock.json"

cp -R package.json sbom.cdx.json dist "$root/program/app"

chmod -R u=rwX,go=rX "$root"
find "$root" -exec touch -h -d "@$time" {} +
