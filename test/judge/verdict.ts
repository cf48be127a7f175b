/** How a test ended. `cut off`: the time of the whole run was over. */
export type State = 'passed' | 'failed' | 'cut off';

export interface Result {
  readonly name: string;
  readonly state: State;
  readonly seconds: number;
  /** The pods of its namespaces: a test that passes without an injected one says nothing. */
  readonly pods: number;
  readonly injected: number;
  /** Why it failed; empty where it did not. */
  readonly message: string;
}

/** Of a report of ginkgo (types.Report), what is read here. */
interface Spec {
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly LeafNodeType: string;
  readonly LeafNodeText: string;
  readonly State: string;
  /** In nanoseconds. */
  readonly RunTime: number;
  readonly Failure?: { readonly Message?: string };
}

/**
 * Reads ginkgo's report in JSON.
 * @param pods whether a pod was injected, by `namespace/name`
 */
export function readReport(report: string, pods: ReadonlyMap<string, boolean>): readonly Result[] {
  const suites = JSON.parse(report) as readonly { readonly SpecReports: readonly Spec[] }[];
  const specs = suites.flatMap(({ SpecReports }) => SpecReports);
  return specs
    .filter(({ LeafNodeType, State }) => LeafNodeType === 'It' && !/^(skipped|pending)$/.test(State))
    .map((spec) => {
      const destroyed = JSON.stringify(spec).matchAll(/Destroying namespace \\*"([\w-]+)/g);
      const namespaces = new Set([...destroyed].map(([, namespace = '']) => namespace));
      const own = [...pods].filter(([pod]) => namespaces.has(pod.split('/')[0] ?? ''));
      return {
        name: [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText].join(' '),
        state: stateOf(spec.State),
        seconds: Math.round(spec.RunTime / 1e9),
        pods: own.length,
        injected: own.filter(([, injected]) => injected).length,
        message: spec.Failure?.Message ?? '',
      };
    });
}

function stateOf(state: string): State {
  if (state === 'passed') return 'passed';
  return state === 'failed' || state === 'panicked' ? 'failed' : 'cut off';
}

/** One line with the figures of a run. */
export function figures(run: string, results: readonly Result[]): string {
  const count = (keep: (result: Result) => boolean) => results.filter(keep).length;
  const sum = (field: 'pods' | 'injected' | 'seconds') => results.reduce((all, each) => all + each[field], 0);
  return [
    `${run}: ${results.length} tests, ${count(({ state }) => state === 'passed')} passed`,
    `${count(({ state }) => state === 'failed')} failed, ${count(({ state }) => state === 'cut off')} cut off`,
    `${sum('injected')} of ${sum('pods')} pods injected`,
    `${count(({ state, injected }) => state === 'passed' && injected > 0)} passed with injected pods`,
    `${sum('seconds')} s in tests`,
  ].join(', ');
}

/** What passes plain and fails injected. */
export function faultsOf(plain: readonly Result[], injected: readonly Result[]): readonly Result[] {
  const passed = new Set(plain.filter(({ state }) => state === 'passed').map(({ name }) => name));
  return injected.filter(({ name, state }) => state === 'failed' && passed.has(name));
}
