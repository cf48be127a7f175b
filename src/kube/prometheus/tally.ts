import { Counter, type CounterConfiguration } from 'prom-client';

/** The count of one series since the counter was last read. */
interface Tally {
  count: number;
}

/**
 * Creates a counter, and returns a function that creates the tally of a series. The counter gets the tallies when it is
 * read, because its `inc` joins the labels at each call.
 */
export function tallied<L extends string>(
  configuration: CounterConfiguration<L>,
): (labels: Record<L, string>) => Tally {
  const tallies: { readonly labels: Record<L, string>; readonly tally: Tally }[] = [];
  new Counter({
    ...configuration,
    collect() {
      for (const { labels, tally } of tallies) {
        this.inc(labels, tally.count);
        tally.count = 0;
      }
    },
  });
  return (labels) => {
    const tally: Tally = { count: 0 };
    tallies.push({ labels, tally });
    return tally;
  };
}
