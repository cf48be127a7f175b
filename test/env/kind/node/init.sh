#!/bin/sh
# Before kind's entry point: systemd and the kubelet set these for the whole of the machine outside, and nobody sets them
# back. Here they cannot, and the kubelet finds those set that it insists on. Those of networks are the node's own.
set -eu
mkdir /run/sysctls
for part in fs kernel vm; do
  mount --bind "/proc/sys/$part" "/proc/sys/$part"
  mount -o remount,bind,ro "/proc/sys/$part"
done
while read -r key value; do
  file=/run/sysctls/$(echo "$key" | tr / .)
  echo "$value" >"$file"
  mount --bind "$file" "/proc/sys/$key"
done <<end
vm/overcommit_memory 1
vm/panic_on_oom 0
kernel/panic 10
kernel/panic_on_oops 1
kernel/keys/root_maxkeys 1000000
kernel/keys/root_maxbytes 25000000
end
exec "$@"
