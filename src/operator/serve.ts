import { setUpCertificates } from '../certificates/setup.ts';
import { usableKubeConfig } from '../kube/client/kubeconfig/load-config.ts';
import { CLOSING_MS } from '../kube/manager/lifecycle.ts';
import { createLogger } from '../kube/manager/logger.ts';
import { Manager } from '../kube/manager/manager.ts';
import { UsageError } from '../kube/util/errors.ts';
import type { SetUpProvider } from '../networks/providers.ts';
import { setUpNetworks } from '../networks/setup.ts';
import { PROGRAM } from '../util/identity.ts';
import { type OperatorOptions, type OperatorPart, setUpCore, setUpInjector } from './core.ts';
import { setUpDependencies } from './dependencies.ts';

/**
 * Runs the webhook on every replica, and the controllers on the leader, until `stop` aborts. Resolves with the exit
 * code: 0 after `stop`, 1 after a fatal error.
 * @throws UsageError for options that contradict each other, and for an unusable kubeconfig.
 */
export async function serve(
  options: OperatorOptions,
  addOns: readonly OperatorPart[],
  stop: AbortSignal,
  providers: readonly SetUpProvider[] = [],
): Promise<0 | 1> {
  checkOptions(options);
  const config = usableKubeConfig(options);
  const log = await createLogger(options.logLevel, options.logFormat);
  const { ignoredVariables: variables } = options;
  if (variables.length > 0) log.warn({ variables }, 'unknown environment variables have no effect');
  try {
    const manager = Manager.create({
      name: PROGRAM,
      config,
      log,
      leaderElection: { namespace: options.namespace, enabled: options.leaderElect },
      probes: { port: options.metricsPort },
      webhook: { port: options.port, verifyClients: options.clientCaFile !== undefined },
      shutdown: { delayMs: options.shutdownDelay, timeoutMs: options.shutdownTimeout },
    });
    setUpNetworks(manager, options, providers);
    const core = setUpCore(manager, options);
    for (const add of addOns) add(manager, core, options);
    setUpInjector(manager, options, core);
    setUpCertificates(manager, options);
    setUpDependencies(manager, options);
    await manager.run(stop);
    return 0;
  } catch (err) {
    log.fatal({ err }, 'fatal error, exiting');
    return 1;
  }
}

function checkOptions({
  tlsCertFile,
  tlsKeyFile,
  tlsCaFile,
  shutdownDelay,
  shutdownTimeout,
}: OperatorOptions): void {
  if ((tlsCertFile === undefined) !== (tlsKeyFile === undefined)) {
    throw new UsageError('--tls-cert-file and --tls-key-file go together: give both, or neither');
  }
  if (tlsCaFile !== undefined && tlsCertFile === undefined) {
    throw new UsageError('--tls-ca-file needs --tls-cert-file and --tls-key-file');
  }
  if (shutdownDelay > shutdownTimeout - CLOSING_MS) {
    throw new UsageError(
      `expected a --shutdown-delay at least ${CLOSING_MS / 1000}s shorter than the --shutdown-timeout of ${shutdownTimeout / 1000}s`,
    );
  }
}
