import { run } from './run.ts';

/** The sources of a release, from git. */
export interface Source {
  /** The commit, 40 hex digits. */
  readonly revision: string;
  /** Files with uncommitted changes, and untracked files. */
  readonly changed: readonly string[];
  /** The origin of the commit, such as `git+https://example.com/project`; undefined without a URL. */
  readonly uri: string | undefined;
}

/** Reads a checkout with git. Rejects if the directory is not a checkout. */
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

/** The URI of a remote, without user and password; undefined for a local path. */
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

/** The page of the sources, such as `https://example.com/project`; undefined without a URL. */
export function repositoryOf(uri: string | undefined): string | undefined {
  return uri?.replace(/^git\+(ssh|https?|git):/, 'https:').replace(/\.git$/, '');
}
