/** A part of the manifests that values of the chart decide. */
interface Place {
  /** Matches each such part. */
  readonly pattern: RegExp;
  readonly instead: string;
  /** How many parts there are; undefined: some. */
  readonly times?: number;
}

const PLACES: readonly Place[] = [
  // Otherwise Helm would delete all Networks with it.
  {
    pattern: /(?<=\n {2}annotations:\n)(?=(?: {4}.*\n)+ {2}name: networks\.samplecrd\.k8s\.io\n)/g,
    instead: '    helm.sh/resource-policy: keep\n',
    times: 1,
  },
  { pattern: /(?<=\n {2}replicas: )2(?=\n)/g, instead: '{{ .Values.replicas }}', times: 1 },
  // The operator's arguments end before its image.
  {
    pattern: /(?= {8}image: .*\n {8}livenessProbe:(\n {10}.*)*\n {8}name: envoy-initializer\n)/g,
    instead: '        {{- range .Values.extraArgs }}\n        - {{ . | quote }}\n        {{- end }}\n',
    times: 1,
  },
  { pattern: /(?<=image: )envoy-initializer:.*(?=\n)/g, instead: '{{ .Values.image | quote }}', times: 2 },
  {
    pattern: /(?<= {8}name: envoy-initializer\n(?: {8}.*\n)* {8}resources:)(\n {10}.*)+/g,
    instead: ' {{- toYaml .Values.resources | nindent 10 }}',
    times: 1,
  },
  {
    pattern: /(?<=\n {6}affinity:)(\n {8}.*)+/g,
    instead: ' {{- toYaml .Values.affinity | nindent 8 }}',
    times: 1,
  },
  {
    pattern: /(?= {6}serviceAccountName: envoy-initializer\n)/g,
    instead:
      '      {{- with pick .Values "imagePullSecrets" "nodeSelector" "priorityClassName" "tolerations" }}\n' +
      '      {{- toYaml . | nindent 6 }}\n      {{- end }}\n',
    times: 1,
  },
  {
    pattern: /(?= {6}serviceAccountName: envoy-initializer-node-agent\n)/g,
    instead:
      '      {{- with pick .Values "imagePullSecrets" }}\n      {{- toYaml . | nindent 6 }}\n      {{- end }}\n',
    times: 1,
  },
  {
    pattern:
      /(?<=kind: (?:PodMonitor|PrometheusRule)\nmetadata:\n {2}labels:\n {4}app: envoy-initializer\n)/g,
    instead: '    {{- with .Values.monitoringLabels }}\n    {{- toYaml . | nindent 4 }}\n    {{- end }}\n',
    times: 3,
  },
  // Of pods.
  {
    pattern: /(?<=\n {4}metadata:\n(?: {6}.*\n)*? {6}labels:\n)(?= {8}app: )/g,
    instead: '        {{- include "envoy-initializer.selected" . | nindent 8 }}\n',
    times: 2,
  },
  { pattern: /(?<=runbook_url: )(?=docs\/)/g, instead: '{{ .Values.runbooks }}' },
];

/**
 * The template with the chart's values in place of what they decide, and the release's namespace in place of `namespace`.
 * @throws Error if the manifests do not have these places as often as expected.
 */
export function withValues(template: string, namespace: string): string {
  const filled = PLACES.reduce((text, { pattern, instead, times }) => {
    const found = text.match(pattern)?.length ?? 0;
    if (found === 0 || found !== (times ?? found))
      throw new Error(
        `expected ${times ?? 'some'} times ${pattern} in the manifests, got ${found}: change hack/helm/values.ts`,
      );
    return text.replace(pattern, () => instead);
  }, template);
  return filled
    .split(/^(?=---\n)/m)
    .map(labelled)
    .join('')
    .replaceAll(namespace, '{{ .Release.Namespace }}');
}

/** The document with the labels that Helm's users select by. */
function labelled(document: string): string {
  const include = '    {{- include "envoy-initializer.labels" . | nindent 4 }}\n';
  const hasLabels = /^metadata:\n(?: {2}.*\n|\{\{.*\n)*? {2}labels:\n/m;
  return hasLabels.test(document)
    ? document.replace(hasLabels, (start) => `${start}${include}`)
    : document.replace(/^metadata:\n/m, (start) => `${start}  labels:\n${include}`);
}
