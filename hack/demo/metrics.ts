/** How many admission requests the webhook has answered, by its own count. */
export async function injectionRequests(metricsUrl: string): Promise<number> {
  const text = await (await fetch(`${metricsUrl}/metrics`)).text();
  const samples = text.matchAll(/^controller_runtime_webhook_requests_total\{[^}]*\} (\d+)/gm);
  return [...samples].reduce((sum, [, value]) => sum + Number(value), 0);
}
