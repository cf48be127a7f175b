/**
 * A signal that aborts on SIGTERM (by the kubelet) and SIGINT (by Ctrl-C). A second signal ends the process at once, as
 * users expect of a second Ctrl-C.
 */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(name === 'SIGINT' ? 130 : 143);
      controller.abort(new Error(name));
    });
  }
  return controller.signal;
}
