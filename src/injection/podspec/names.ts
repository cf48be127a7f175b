/** RFC 1123 label: names of containers and volumes. */
export function isDnsLabel(name: string): boolean {
  return name.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name);
}

/** RFC 1123 subdomain: names of most objects. */
export function isDnsSubdomain(name: string): boolean {
  return name.length <= 253 && name.split('.').every((part) => /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(part));
}

/** A label or annotation key: a name of at most 63 characters, with an optional DNS prefix and a slash. */
export function isQualifiedName(key: string): boolean {
  const slash = key.indexOf('/');
  const name = key.slice(slash + 1);
  return (
    (slash === -1 || isDnsSubdomain(key.slice(0, slash))) &&
    name.length <= 63 &&
    /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/.test(name)
  );
}

export function isLabelValue(value: string): boolean {
  return value.length <= 63 && /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/.test(value);
}

/** IANA service name (RFC 6335): the name of a port. */
export function isPortName(name: string): boolean {
  return name.length <= 15 && /^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) && /[a-z]/.test(name);
}

/** The name of an environment variable: printable ASCII without `=`. */
export function isEnvName(name: string): boolean {
  return /^[ -<>-~]+$/.test(name);
}
