import type { Underlay } from './node-report.ts';

/** What VXLAN adds to a packet, in bytes (RFC 7348 section 5). */
const OVERHEAD = { ipv4: 50, ipv6: 70 };
/** The MTU of Ethernet, for nodes whose agents have not reported, in bytes. */
const ETHERNET = 1500;

interface Room {
  /** In bytes. */
  readonly mtu: number;
  readonly isReported: boolean;
}

/** The MTU of networks that set none: what fits between all nodes. */
export class DefaultMtu {
  readonly #rooms = new Map<string, Room>();
  #mtu: number | undefined;

  /** Records a node. Without `internalIp` and `underlay`, it does not count. Returns whether the result changed. */
  set(node: string, internalIp: string | undefined, underlay: Underlay | undefined): boolean {
    const before = this.get();
    if (underlay) this.#rooms.set(node, { mtu: roomIn(underlay), isReported: true });
    else if (internalIp === undefined) this.#rooms.delete(node);
    else this.#rooms.set(node, { mtu: roomIn({ address: internalIp, mtu: ETHERNET }), isReported: false });
    this.#mtu = undefined;
    return this.get() !== before;
  }

  /** In bytes. The smallest that agents report; without reports, the smallest over Ethernet. */
  get(): number {
    this.#mtu ??= this.#smallest();
    return this.#mtu;
  }

  #smallest(): number {
    const rooms = [...this.#rooms.values()];
    const reported = rooms.filter(({ isReported }) => isReported);
    const counted = reported.length > 0 ? reported : rooms;
    return counted.reduce(
      (least, { mtu }) => Math.min(least, mtu),
      counted[0]?.mtu ?? ETHERNET - OVERHEAD.ipv4,
    );
  }
}

function roomIn({ address, mtu }: Underlay): number {
  return mtu - (address.includes(':') ? OVERHEAD.ipv6 : OVERHEAD.ipv4);
}
