import { run } from './run.ts';

/** The sources of a release, as git knows them. */
export interface Source {
  /** The commit, 40 hex digits. */
  readonly revision: string;
  /** Files with uncommitted changes, those that git does not know among them. */
  readonly changed: readonly string[];
  /** Where the commit comes from, as in `git+https://example.com/project`; undefined where git knows no URL of it. */
  readonly uri: string | undefined;
}

/** Asks git about a directory. Rejects where the directory is no checkout. */
export async function readSource(directory: string): Promise<Source> {
  const git = (...args: readonly string[]) => run('git', ['-C', directory, ...args]);
  const revision = (await git('rev-parse', 'HEAD')).trim();
  const status = await git('status', '--porcelain');
  const remotes = await git('config', '--default', '', '--get', 'remote.origin.url');
  return {
    revision,
    changed: status.split('\n').flatMap((line) => (line === '' ? [] : [line.slice(3)])),
    uri: sourceUri(remotes.trim()),
  };
}

/** The URI of a remote, without the user and the password in it; undefined for a path of this machine. */
export function sourceUri(remote: string): string | undefined {
  const scp = /^(?:[^/@]+@)?([^/:@]+):(?!\/\/)(.+)$/.exec(remote);
  if (scp !== null) return `git+ssh://${scp[1]}/${scp[2]}`;
  if (!/^(https?|ssh|git):\/\//.test(remote) || !URL.canParse(remote)) return undefined;
  const url = new URL(remote);
  url.username = '';
  url.password = '';
  url.search = '';
  return `git+${url.href}`;
}
