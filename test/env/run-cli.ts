/** Runs the command that the arguments name; sets the exit code: 2 with the usage for an unknown one, 1 for a failure. */
export async function runCli(
  commands: Readonly<Record<string, () => Promise<void>>>,
  usage: string,
): Promise<void> {
  const command = commands[process.argv.slice(2).join(' ')];
  if (command === undefined) {
    process.stderr.write(usage);
    process.exitCode = 2;
    return;
  }
  try {
    await command();
  } catch (err) {
    const message = err instanceof Error && err.cause === undefined ? err.message : String(err);
    process.stderr.write(`${message}\n`);
    process.exitCode = 1;
  }
}
