/**
 * A signal that aborts when the process is told to end (SIGTERM by the kubelet, SIGINT by Ctrl-C). A second one ends it
 * at once, as people expect of a Ctrl-C that seems to hang.
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
