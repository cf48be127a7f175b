import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { pinsOf } from '../../env/go/pins.ts';

/**
 * Makes a directory with a `go` whose `go build` adds a line to the file `builds` there, runs the given shell script with
 * `$output` set to the path after -o, and, if that succeeds, makes the file. Its `go mod download` says of each module that
 * it is in `module` there.
 */
export function makeFakeGo(script = ''): string {
  const directory = mkdtempSync(join(tmpdir(), 'fake-go-'));
  const download = `{\\n"Path": "%s", "Version": "%s", "Sum": "h1:zip", "GoModSum": "h1:mod", "Dir": "${directory}/module"\\n}\\n`;
  const lines = [
    '#!/bin/sh',
    'if [ "$3" = mod ]; then',
    `  shift 5; for module; do printf '${download}' "\${module%@*}" "\${module#*@}"; done; exit`,
    'fi',
    `echo "$@" >> ${directory}/builds`,
    'while [ "$1" != -o ]; do shift; done',
    'output=$2',
    script,
    'echo built > "$output" && chmod +x "$output"',
  ];
  writeFileSync(join(directory, 'go'), `${lines.join('\n')}\n`, { mode: 0o755 });
  return directory;
}

/** An environment in which that Go is found, and the cache is in the given directory, with the modules of a control plane. */
export function fakeGoEnv(fakeGo: string, cache: string): NodeJS.ProcessEnv {
  for (const { lock } of [...pinsOf('k8s.io/kubernetes'), ...pinsOf('go.etcd.io/etcd/server/v3')]) {
    mkdirSync(join(cache, 'envoy-initializer/go-modules', lock), { recursive: true });
  }
  return { PATH: [fakeGo, '/usr/bin', '/bin'].join(delimiter), XDG_CACHE_HOME: cache, HOME: cache };
}
