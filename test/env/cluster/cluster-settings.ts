import type { NodeBinaries } from '../control-plane/binaries.ts';
import type { ComponentSettings } from '../control-plane/component-specs.ts';
import type { Machine } from './machine.ts';
import type { NodeFiles } from './node-files.ts';

/** All that the components of a cluster are told. */
export interface ClusterSettings extends ComponentSettings {
  readonly machine: Machine;
  /** The node's, in the cluster. */
  readonly nodeName: string;
  readonly nodeBinaries: NodeBinaries;
  /** The path of CoreDNS. */
  readonly dns: string;
  readonly nodeFiles: NodeFiles;
}
