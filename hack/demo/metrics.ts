/** The number of reviews that the webhook counts in its metrics. */
export async function injectionRequests(metricsUrl: string): Promise<number> {
  const text = await (await fetch(`${metricsUrl}/metrics`)).text();
  const samples = text.matchAll(
    /^controller_runtime_webhook_requests_total\{[^}]*webhook="\/inject"[^}]*\} (\d+)/gm,
  );
  return [...samples].reduce((sum, [, value]) => sum + Number(value), 0);
}
