import files from './files.json' with { type: 'json' };

/** The ConfigMap with Envoy's configuration, in each namespace with sidecars. */
export const ENVOY_CONFIG_MAP = 'envoy';

/** The data of that ConfigMap, which sidecars mount. */
export type EnvoyFiles = Readonly<Record<string, string>>;

/** The configurations that come with the operator: the files of deploy/envoy, where README.md has the reasons for what they say. */
export const ENVOY_FILES: EnvoyFiles = files;

/** The port on which the kubelet checks readiness: the admin endpoint is only for the pod. */
export const READINESS_PORT = 15021;
/** The port of the metrics, and their one page. */
export const METRICS_PORT = 15090;
export const METRICS_PATH = '/stats/prometheus';
