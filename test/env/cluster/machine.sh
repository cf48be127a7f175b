#!/bin/sh
# A machine within this one, for a node of Kubernetes: namespaces of its own, in which nothing that is done to the file
# system, the network or the kernel's settings reaches the machine outside. When its first process ends, the kernel
# ends the rest, and the network and the mounts are gone. What is left then, files and cgroups, is removed here.
#
#   machine.sh run NAME DIRECTORY INIT RANGE   runs a machine until SIGTERM; prints `ready PID ADDRESS`
#   machine.sh sweep                           removes what machines left that were killed together with this script
#   machine.sh sweep NAME                      the same for one, which is about to end
#   machine.sh overlaid DIRECTORY COMMAND…     runs a command, keeping what it writes about the system in DIRECTORY
#
# NAME names the cgroups; DIRECTORY is made, for all that the machine keeps on disk; INIT is to be its first process;
# RANGE is that of addresses that stand for others, as those of Services do.
set -eu

LOCKS=/run # With the machine's own reboot they go, as do the cgroups.
PREFIX=envoy-initializer-cluster-

# The cgroup of this name in each hierarchy: one in version 2, one per controller in version 1.
cgroups() {
  if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    echo "/sys/fs/cgroup/$1"
    return
  fi
  for hierarchy in /sys/fs/cgroup/*/; do
    if [ -e "$hierarchy/cgroup.procs" ]; then echo "$hierarchy$1"; fi
  done
}

# Removes all that outlives the processes of a machine. None of its mounts is visible here, so none is entered.
clean() {
  name=$1
  directory=$2
  for cgroup in $(cgroups "$name"); do
    if [ -d "$cgroup" ]; then find "$cgroup" -depth -type d -exec rmdir {} +; fi
  done
  if [ -n "$directory" ]; then rm -rf --one-file-system "$directory"; fi
  rm -f "$LOCKS/$name.lock"
}

run() {
  name=$1
  directory=$2
  # Held by each process of the machine, and dropped by the kernel. Locked before it has the name that `sweep` looks for.
  exec 9>"$LOCKS/$name.lock.new"
  flock 9
  echo "$directory" >&9
  mv "$LOCKS/$name.lock.new" "$LOCKS/$name.lock"
  mkdir -m 700 "$directory"
  # In version 2 a cgroup has the controllers that the one above hands down.
  if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    for controller in cpuset cpu io memory hugetlb pids; do
      echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null || :
    done
  fi
  for cgroup in $(cgroups "$name"); do
    mkdir "$cgroup"
    # As much of the CPU as four processes outside: of a busy machine, its pods would get as little as one of them.
    if [ -e "$cgroup/cpu.weight" ]; then echo 400 >"$cgroup/cpu.weight"; fi
    if [ -e "$cgroup/cpu.shares" ]; then echo 4096 >"$cgroup/cpu.shares"; fi
  done
  # The network outside, for one end of a cable.
  exec 8</proc/self/ns/net
  trap : TERM INT HUP
  # A chain: who is killed takes the next one along.
  setpriv --pdeathsig KILL unshare --mount --net --pid --ipc --uts --fork --kill-child \
    sh "$0" boot "$@" &
  child=$!
  status=0
  wait $child || status=$?
  # Its first process, so that whoever waits for that one still can; or what is to become it.
  kill -KILL "$(cat "$directory/pid" 2>/dev/null || echo $child)" 2>/dev/null && wait $child || :
  clean "$name" "$directory"
  exit $status
}

sweep() {
  if [ $# -gt 0 ]; then
    sweep_one "$LOCKS/$1.lock" --timeout 10
    return
  fi
  for lock in "$LOCKS/$PREFIX"*.lock; do sweep_one "$lock" --nonblock; done
}

# What holds its lock is running.
sweep_one() {
  if [ ! -e "$1" ]; then return; fi
  exec 9<"$1"
  if flock "$2" ${3:+"$3"} 9; then
    name=${1##*/}
    clean "${name%.lock}" "$(cat "$1")"
  fi
}

# In the new namespaces, as their first process.
boot() {
  name=$1
  directory=$2
  init=$3
  range=$4
  # This is the /proc outside, which tells the number by which this process is known there.
  read -r pid _ </proc/self/stat
  echo "$pid" >"$directory/pid"
  plug_in "${name#"$PREFIX"}" "$range"
  exec 8<&-
  lay_out "$directory"
  echo "$name" >/proc/sys/kernel/hostname
  echo "ready $pid $node"
  exec "$init"
}

# A cable to the outside, in a /30 of TEST-NET-2 (RFC 5737) that nothing there uses. No route leads further: what
# a pod sends to the rest of the world fails at once.
plug_in() {
  outside="nsenter --net=/proc/self/fd/8 ip"
  cable=ei-$1
  number=$(($(od -An -N1 -tu1 /dev/urandom) % 64))
  while [ -n "$($outside -4 route show root "198.51.100.$((number * 4))/30")" ]; do
    number=$(((number + 1) % 64))
  done
  host=198.51.100.$((number * 4 + 1))
  node=198.51.100.$((number * 4 + 2))
  $outside link add "$cable" type veth peer name eth0 netns $$
  $outside link set "$cable" addrgenmode none up
  $outside address add "$host/30" dev "$cable"
  ip link set lo up
  ip link set eth0 up
  ip address add "$node/30" dev eth0
  # What the node itself sends to a Service is routed before it is redirected.
  ip route add "$2" dev eth0
}

# In namespaces of mounts only.
overlaid() {
  if [ "$1" != --within ]; then exec unshare --mount sh "$0" overlaid --within "$@"; fi
  directory=$2
  shift 2
  overlay "$directory"
  exec "$@"
}

# Lays directories over those of the machine outside, which are left as they are.
overlay() {
  for path in /etc /opt /var/cache /var/lib /var/log; do
    layer=$1/overlay$path
    mkdir -p "$layer/upper" "$layer/work"
    mount -t overlay overlay -o "lowerdir=$path,upperdir=$layer/upper,workdir=$layer/work" "$path"
  done
}

lay_out() {
  storage=$1
  # An overlay cannot lie on an overlay, as a container's own files are: then memory has to do.
  if [ "$(stat --file-system --format %T "$1")" = overlayfs ]; then
    storage=$1/memory
    mkdir "$storage"
    mount -t tmpfs -o mode=700 tmpfs "$storage"
  fi
  overlay "$storage"
  mount -t tmpfs -o mode=755 tmpfs /run
  for path in /var/lib/containerd /var/lib/kubelet; do
    mkdir -p "$path" "$storage$path"
    mount --bind "$storage$path" "$path"
  done
  # To be written from outside, too.
  for path in /etc/cni/net.d /opt/cni/bin; do
    mkdir -p "$path" "$1$path"
    mount --bind "$1$path" "$path"
  done
  mount -t proc proc /proc
  # A kubelet sets these, for the whole of the machine outside. Here it finds them set.
  mkdir "$1/sysctl"
  while read -r key value; do
    file=$1/sysctl/$(echo "$key" | tr / .)
    echo "$value" >"$file"
    mount --bind "$file" "/proc/sys/$key"
  done <<-end
	vm/overcommit_memory 1
	vm/panic_on_oom 0
	kernel/panic 10
	kernel/panic_on_oops 1
	kernel/keys/root_maxkeys 1000000
	kernel/keys/root_maxbytes 25000000
	end
  # So that what a kubelet mounts reaches the containers that it is for.
  mount --make-rshared /
}

command=$1
shift
$command "$@"
