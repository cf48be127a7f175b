/** How many pods the webhook has been asked about, by its own count. */
export async function injectionRequests(metricsUrl: string): Promise<number> {
  const text = await (await fetch(`${metricsUrl}/metrics`)).text();
  const samples = text.matchAll(
    /^controller_runtime_webhook_requests_total\{[^}]*webhook="\/inject"[^}]*\} (\d+)/gm,
  );
  return [...samples].reduce((sum, [, value]) => sum + Number(value), 0);
}
