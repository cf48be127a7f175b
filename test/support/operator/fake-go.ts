import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

/** What `go env` of a fake Go says. */
export interface FakeGoSettings {
  readonly GOVERSION?: string;
  readonly GOTOOLCHAIN?: string;
}

/**
 * Makes a directory with a `go` that answers `go env -json`, and whose `go build` adds a line to the file `builds`
 * there, runs the given shell script with `$output` set to the path after -o, and, if that succeeds, makes the file.
 */
export function makeFakeGo(settings: FakeGoSettings = {}, script = ''): string {
  const directory = mkdtempSync(join(tmpdir(), 'fake-go-'));
  const env = {
    GOVERSION: 'go1.26.0',
    GOTOOLCHAIN: 'local',
    GOCACHE: directory,
    GOMODCACHE: directory,
    ...settings,
  };
  const lines = [
    '#!/bin/sh',
    `if [ "$1" = env ]; then echo '${JSON.stringify(env)}'; exit 0; fi`,
    `echo "$@" >> ${directory}/builds`,
    'while [ "$1" != -o ]; do shift; done',
    'output=$2',
    script,
    'echo built > "$output" && chmod +x "$output"',
  ];
  writeFileSync(join(directory, 'go'), `${lines.join('\n')}\n`, { mode: 0o755 });
  return directory;
}

/** An environment in which that Go is found, and the cache is in the given directory. */
export function fakeGoEnv(fakeGo: string, cache: string): NodeJS.ProcessEnv {
  return { PATH: [fakeGo, '/usr/bin', '/bin'].join(delimiter), XDG_CACHE_HOME: cache, HOME: cache };
}
