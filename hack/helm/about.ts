import { load } from 'js-yaml';

/** Artifact Hub's kinds of changes, by the headings of a changelog (Keep a Changelog). */
const KINDS: Readonly<Record<string, string>> = {
  Added: 'added',
  Changed: 'changed',
  Deprecated: 'deprecated',
  Removed: 'removed',
  Fixed: 'fixed',
  Security: 'security',
};
/** A page of Artifact Hub shows all of them. */
const MOST_CHANGES = 50;
const LINK = /\[([^\]]*)\]\([^)]*\)/g;

/** The lines of Chart.yaml about what is outside the chart. `repository` is a URL, if there is one. */
export function about(changelog: string, repository: string | undefined): string {
  const links = repository && [
    { name: 'Installation', url: `${repository}/blob/HEAD/docs/install.md` },
    { name: 'Troubleshooting', url: `${repository}/blob/HEAD/docs/troubleshooting.md` },
  ];
  return [
    // Annotations are the last field of Chart.yaml.
    annotation('changes', changesOf(changelog)),
    ...(links ? [annotation('links', links), `home: ${repository}`, `sources: [${repository}]`] : []),
    '',
  ].join('\n');
}

/** The value is YAML in a string; JSON is YAML. */
function annotation(name: string, value: object): string {
  return `  artifacthub.io/${name}: ${JSON.stringify(JSON.stringify(value))}`;
}

/** What the first section of a changelog with entries lists. */
function changesOf(changelog: string): readonly object[] {
  const section = changelog.split(/^## .*\n/m).find((text) => /^- /m.test(text)) ?? '';
  return section
    .split(/^### /m)
    .flatMap((part) => {
      const [heading = '', ...lines] = part.split('\n');
      const kind = KINDS[heading.trim()];
      const entries = lines.join('\n').match(/^- (?:.*\n?)(?: {2}.*\n?)*/gm) ?? [];
      return entries.map((entry) => ({ ...(kind && { kind }), description: plain(entry) }));
    })
    .slice(0, MOST_CHANGES);
}

/** The first sentence of an entry, without its marks. */
function plain(entry: string): string {
  const text = entry.slice(2).replaceAll(/\s+/g, ' ').replaceAll(LINK, '$1').replaceAll(/[`*]/g, '');
  return /^.*?(?=[.:]?$|\. )/.exec(text.trim())?.[0] ?? text.trim();
}

/** The README of the chart: each value of values.yaml with its default and the comment above it. */
export function readme(values: string, description: string): string {
  const rows: string[] = [];
  let [comment, path]: [string[], string] = [[], ''];
  const defaults = load(values) as Readonly<Record<string, unknown>>;
  for (const line of values.split('\n')) {
    const [, indent = '', name] = /^( {0,2})(\w+):/.exec(line) ?? [];
    if (/^ *# /.test(line)) comment.push(line.trim().slice(2));
    else if (name === undefined) comment = line === '' ? [] : comment;
    else {
      const whole = defaults[path] as Readonly<Record<string, unknown>> | undefined;
      if (indent === '') path = name;
      const isGroup = indent === '' && name === 'components';
      const value = indent === '' ? defaults[name] : whole?.[name];
      const isPart = indent !== '' && path !== 'components';
      const label = indent === '' ? name : `${path}.${name}`;
      if (!isPart)
        rows.push(
          `| \`${label}\` | ${isGroup ? '' : `\`${JSON.stringify(value)}\``} | ${comment.join(' ')} |`,
        );
      comment = [];
    }
  }
  return [
    '# envoy-initializer',
    `${description}.`,
    '```console\nhelm install envoy-initializer oci://REGISTRY/charts/envoy-initializer --namespace envoy-initializer --create-namespace\n```',
    '## Values',
    ['| value | default | meaning |', '|---|---|---|', ...rows].join('\n'),
    '',
  ]
    .join('\n\n')
    .trimEnd()
    .concat('\n');
}
