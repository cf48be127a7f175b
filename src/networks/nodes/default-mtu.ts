import { LARGEST_MTU, largestMtu, type Underlay } from './node-report.ts';

/** The MTU of Ethernet, for nodes whose agents have not reported, in bytes. */
const ETHERNET = 1500;

/** The MTU of networks that set none: what fits between all nodes. */
export class DefaultMtu {
  readonly #reported = new Map<string, number>();
  readonly #others = new Map<string, number>();
  #mtu: number | undefined;

  /** Records a node. Without `internalIp` and `underlay`, it does not count. Returns whether the result changed. */
  set(node: string, internalIp: string | undefined, underlay: Underlay | undefined): boolean {
    const before = this.get();
    this.#reported.delete(node);
    this.#others.delete(node);
    if (underlay) this.#reported.set(node, largestMtu(underlay));
    else if (internalIp !== undefined) {
      this.#others.set(node, largestMtu({ address: internalIp, mtu: ETHERNET }));
    }
    this.#mtu = undefined;
    return this.get() !== before;
  }

  /** In bytes. The smallest that agents report; without reports, the smallest over Ethernet. */
  get(): number {
    const counted = this.#reported.size > 0 ? this.#reported : this.#others;
    this.#mtu ??= [...counted.values()].reduce(
      (least, mtu) => Math.min(least, mtu),
      counted.size > 0 ? LARGEST_MTU : largestMtu({ address: '', mtu: ETHERNET }),
    );
    return this.#mtu;
  }
}
