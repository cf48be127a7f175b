#!/bin/sh
# Creates the root of the image below the directory $1, as two layers: Node with its libraries, and the program. The
# first one changes less. The image has no shell and no package manager. It has ip,
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
cp -L /usr/lib/cni/bridge /usr/lib/cni/static "$root/node/opt/cni/bin"
mkdir -p "$root/node/etc"
echo 'nonroot:x:65532:65532::/:/sbin/nologin' >"$root/node/etc/passwd"
echo 'nonroot:x:65532:' >"$root/node/etc/group"

mkdir -p "$root/program/app/dist"
cp -R package.json sbom.cdx.json "$root/program/app"
# The program keeps its source maps, for --enable-source-maps.
cp -R dist/main.js dist/main.js.map dist/program "$root/program/app/dist"
# The packages are in the program. Their names, versions and licences are beside it.
find node_modules -type f \( -name package.json -o -iname '*licen[cs]e*' -o -iname 'notice*' \) \
  -exec cp --parents {} "$root/program/app" \;
# For kubectl exec. The image lacks env, which the first line of main.js asks for.
mkdir -p "$root/program/usr/local/bin"
printf '#!/usr/local/bin/node\nimport("/app/dist/main.js");\n' >"$root/program/usr/local/bin/envoy-initializer"
chmod +x "$root/program/usr/local/bin/envoy-initializer"

chmod -R u=rwX,go=rX "$root"
find "$root" -exec touch -h -d "@$time" {} +
