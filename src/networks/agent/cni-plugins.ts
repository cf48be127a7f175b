import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NODE_IPAM } from '../api/names.ts';
import { isThere, readIfThere, replaceFile } from './files.ts';

/** The plugins of github.com/containernetworking/plugins that Networks need on a node. */
const PLUGINS = ['bridge', 'static'] as const;
const EXECUTABLE = 0o755;

export interface CniPluginsOptions {
  /** Where the node's container runtime looks for plugins. */
  readonly directory: string;
  /** The directory of the plugins to install. */
  readonly source: string;
  /** Further plugins of our own: scripts by their names. */
  readonly scripts?: Readonly<Record<string, string>>;
}

/**
 * Installs our own plugins and those that the node lacks. Resolves with the names of the installed plugins. Never
 * replaces other plugins.
 * @throws Error if the node lacks a plugin and the source does not have it.
 */
export async function installPlugins({
  directory,
  source,
  scripts,
}: CniPluginsOptions): Promise<readonly string[]> {
  const written: string[] = [];
  for (const name of PLUGINS) {
    const path = join(directory, name);
    if (await isThere(path)) continue;
    await replaceFile(path, await readPlugin(join(source, name)), EXECUTABLE);
    written.push(name);
  }
  for (const [name, script] of Object.entries({ [NODE_IPAM]: IPAM_SCRIPT, ...scripts })) {
    const own = join(directory, name);
    if ((await readIfThere(own)) === script) continue;
    await replaceFile(own, script, EXECUTABLE);
    written.push(name);
  }
  return written;
}

async function readPlugin(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (cause) {
    throw new Error(`the node lacks a CNI plugin, and ${path} cannot be read`, {
      cause,
    });
  }
}

/** Has a file for each bridge whose Network is joined on the node. A reboot deletes the files, like the bridges. */
export const JOINED = 'run/envoy-initializer/networks';
/** Has a directory for each bridge, with a link for each interface of a pod: see lost-interfaces.ts. */
export const PLUGGED = 'run/envoy-initializer/pods';

/**
 * The IPAM plugin. The operator has chosen the pod's address, so it calls static. It fails until the agent has joined
 * the Network; code 11 of the CNI specification means: try again later. The name of the configuration begins with the
 * namespace of the Network, and only a shared one gives addresses to pods of other namespaces, whatever Multus allows. A
 * user can only add keys before these: `args`, as JSON is sorted here.
 *
 * It notes whose interface it was called for: the plugin bridge calls it after it has plugged the interface in, and, to
 * delete, before it pulls it out.
 */
export const IPAM_SCRIPT = `#!/bin/sh
# CNI plugin: static, as soon as the node is on the Network. Written by the node agent of envoy-initializer.
set -eu
config=$(cat)
fail() {
  printf '{"cniVersion":"1.0.0","code":%s,"msg":"%s"}' "$1" "$2"
  exit 1
}
bridge=$(printf '%s' "$config" | sed -n 's/.*"bridge":"\\(nw-[0-9a-f]*\\)".*/\\1/p')
notes=/${PLUGGED}/$bridge
note=$notes/\${CNI_CONTAINERID:-}.\${CNI_IFNAME:-}
if [ "\${CNI_COMMAND:-}" = DEL ] && [ -n "$bridge" ]; then
  rm -f "$note"
  rmdir "$notes" 2>/dev/null || :
fi
# Without it there was no interface, or its address goes with it.
if [ ! -x "\${0%/*}/static" ]; then
  [ "\${CNI_COMMAND:-}" != DEL ] || exit 0
  fail 50 'this node has no CNI plugin static: restart its node agent'
fi
if [ "\${CNI_COMMAND:-}" = ADD ]; then
  name=$(printf '%s' "$config" | sed -n 's/.*"name":"\\([^"]*\\)".*/\\1/p')
  ipam=$(printf '%s' "$config" | sed -n 's/.*"ipam":{\\([^}]*\\)}.*/\\1/p')
  namespace=$(printf '%s' ";\${CNI_ARGS:-}" | sed -n 's/.*;K8S_POD_NAMESPACE=\\([^;]*\\).*/\\1/p')
  case "\${name%%.*}:$ipam," in
    "$namespace":* | *'"shared":true,'*) ;;
    *) fail 7 "pods in namespace $namespace may not use this Network" ;;
  esac
  [ -n "$bridge" ] && [ -e "/${JOINED}/$bridge" ] ||
    fail 11 'this node is not connected to the Network yet: see the log of its node agent'
fi
printf '%s' "$config" | "\${0%/*}/static"
if [ "\${CNI_COMMAND:-}" = ADD ]; then
  argument() { printf '%s' ";\${CNI_ARGS:-}" | sed -n "s/.*;$1=\\([^;]*\\).*/\\1/p"; }
  # Of several pods that start at once, each may have any of the new ports.
  others=$(readlink "$notes"/* 2>/dev/null) || :
  ports=
  for port in /sys/class/net/"$bridge"/brif/*; do
    port=\${port##*/}
    case "$port:$others" in nx-* | '*:'* | *:*" $port "*) ;; *) ports="$ports$port " ;; esac
  done
  mkdir -p "$notes" && ln -sf "$namespace/$(argument K8S_POD_NAME) $(argument K8S_POD_UID) $ports" "$note" || :
fi
`;
