import type { KubeUser } from './kubeconfig-types.ts';

/** The characters of an HTTP header's name, except `%`, which escapes all others. */
const LEGAL = /[A-Za-z0-9!#$&'*+\-.^_`|~]/;

/** The headers for impersonation (client-go's transport/round_trippers.go); none if the user impersonates no other. */
export function impersonationHeaders(user: KubeUser): Readonly<Record<string, string[]>> {
  const { impersonateUser, impersonateUid, impersonateGroups = [], impersonateExtra = {} } = user;
  if (!impersonateUser) return {};
  const extra = Object.entries(impersonateExtra).map(
    ([key, values]) => [`Impersonate-Extra-${escapeKey(key)}`, values.map(onWire)] as const,
  );
  return {
    'Impersonate-User': [onWire(impersonateUser)],
    ...(impersonateUid && { 'Impersonate-Uid': [onWire(impersonateUid)] }),
    ...(impersonateGroups.length > 0 && { 'Impersonate-Group': impersonateGroups.map(onWire) }),
    ...Object.fromEntries(extra),
  };
}

function escapeKey(key: string): string {
  const bytes = [...Buffer.from(key)];
  return bytes
    .map((byte) => (LEGAL.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : percent(byte)))
    .join('');
}

function percent(byte: number): string {
  return `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
}

/** The UTF-8 bytes of the value: the API server reads UTF-8, and the HTTP library writes one byte per character. */
function onWire(value: string): string {
  return Buffer.from(value).toString('latin1');
}
