/** This program's PATH, and the directories where Debian keeps what only root runs, which not every shell has on it. */
export function searchPath(): string {
  return [process.env.PATH, '/usr/sbin', '/usr/bin', '/sbin', '/bin'].filter(Boolean).join(':');
}
