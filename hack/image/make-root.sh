#!/bin/sh
# Creates the root of the image below the directory $1, as three layers: Node with its libraries, the packages, the
# program. The first ones change the least. The image has no shell and no package manager. It has ip,
# bridge and nft for the node agent, and CNI plugins for nodes that lack them. $2 is the time of all files, in
# seconds since 1970.
set -eu
root=$1
time=$2

# Copies the program $1 to $2, and the libraries to where its loader looks for them.
copy_program() {
  mkdir -p "$root/node$(dirname "$2")"
  cp -L "$1" "$root/node$2"
  # This makes glibc's loader list the libraries and not run the program. A program without libraries runs nevertheless,
  # and ends because it gets no arguments.
  { LD_TRACE_LOADED_OBJECTS=1 "$1" 2>/dev/null || true; } | grep -o '/[^ ]*' | while read -r library; do
    mkdir -p "$root/node$(dirname "$library")"
    cp -L "$library" "$root/node$library"
  done
}

copy_program "$(node --print process.execPath)" /usr/local/bin/node
for program in ip bridge nft; do copy_program "/usr/sbin/$program" "/usr/sbin/$program"; done
# The node agent installs them on nodes that lack them.
mkdir -p "$root/node/opt/cni/bin"
cp -L /usr/lib/cni/bridge /usr/lib/cni/static /usr/lib/cni/host-local "$root/node/opt/cni/bin"
mkdir -p "$root/node/etc"
echo 'nonroot:x:65532:65532::/:/sbin/nologin' >"$root/node/etc/passwd"
echo 'nonroot:x:65532:' >"$root/node/etc/group"

mkdir -p "$root/packages/app"
cp -R node_modules "$root/packages/app"
rm -f "$root/packages/app/node_modules/.package-lock.json"

mkdir -p "$root/program/app"
cp -R package.json sbom.cdx.json dist "$root/program/app"
# For kubectl exec. The image lacks env, which the first line of main.js asks for.
mkdir -p "$root/program/usr/local/bin"
printf '#!/usr/local/bin/node\nimport("/app/dist/main.js");\n' >"$root/program/usr/local/bin/envoy-initializer"
chmod +x "$root/program/usr/local/bin/envoy-initializer"

# Types, source maps and manuals of packages are for development; licences stay. The program keeps its source maps, for
# --enable-source-maps.
find "$root/packages" "$root/program" -type f \
  \( -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -name '*.map' -path "$root/packages/*" -o -name '*.md' \) \
  ! -iname '*licen*' -exec rm {} +

chmod -R u=rwX,go=rX "$root"
find "$root" -exec touch -h -d "@$time" {} +
