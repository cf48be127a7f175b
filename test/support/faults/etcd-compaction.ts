/** Makes etcd forget all but the newest state, by its JSON gateway: watches of the past then end with 410. */
export async function compactEtcd(port: number): Promise<void> {
  const call = async (path: string, body: object): Promise<Record<string, unknown>> => {
    const response = await fetch(`http://127.0.0.1:${port}/v3/${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    if (!response.ok)
      throw new Error(`etcd answered ${response.status} to ${path}: ${await response.text()}`);
    return (await response.json()) as Record<string, unknown>;
  };
  const { header } = await call('maintenance/status', {});
  await call('kv/compaction', { revision: (header as { revision: string }).revision, physical: true });
}
