import type { ServiceDefinition } from "./define-service.ts";
import { EnvError, type Environment } from "./env.ts";
import { ENVIRONMENT_FROM_STDIN, environmentFromStdin } from "./environment-from-stdin.ts";
import { EXIT_WITH_PARENT } from "./exit-with-parent.ts";
import { Host, ServiceStartError, type HostOptions } from "./host.ts";
import { createLog, type Log } from "./log.ts";
import { Shutdown } from "./shutdown.ts";
import { takeEnvironment } from "./take-environment.ts";
import { EXIT_FAILED, EXIT_RESTART, StartError } from "./start-error.ts";
import { isOfOutage } from "./unhandled-rejection.ts";

/** Runs one service as this process, see {@link runServices}. */
export function runService(definition: ServiceDefinition): Promise<void> {
  return runServices([definition], definition);
}

/**
 * Runs services as this process: environment → log → health → the services, each with a Redis connection, a bus and a start of its own, after those
 * that it needs → ready. Resolves when all are ready; from then on signals end the process.
 *
 * A rejected promise that no code handles is logged. The process continues when the reason is an outage, and otherwise stops as after an
 * uncaught error, see {@link isOfOutage}.
 *
 * SIGTERM or SIGINT: not ready → the services in reverse order, each with its `onStop` steps → bus drained → Redis closed → exit 0. A second
 * signal, the end of `YARD_DRAIN_MS` or a failed step makes it exit 1. A start that fails
 * is one fatal line of its service, the steps so far undone, and exit 1, or 6 when NATS or Redis is unreachable. With the argument `--exit-with-parent`
 * the end of stdin counts as SIGTERM, and SIGINT is left to the parent.
 *
 * `name` and `version` are those of the process, where it runs several services. The environment is removed from the process, see {@link takeEnvironment};
 * with the argument `--environment-from-stdin` it is read from standard input, see {@link environmentFromStdin}.
 */
export async function runServices(
  definitions: readonly ServiceDefinition[],
  { name, version }: Pick<HostOptions, "name" | "version">,
  given?: Environment,
): Promise<void> {
  const env = given ?? (await ownEnvironment(name));
  const host = hostOrExit(definitions, {
    name,
    version,
    env,
    // The clock begins with the process.
    begunAtMs: 0,
    onRestart: () => shutdown.begin("restart requested", EXIT_RESTART),
    onFault: (fault) => failed(fault),
  });
  const shutdown = createShutdown(host);
  const failed = (error: unknown): void => {
    reportStartFailure(host.log, error);
    shutdown.beginAfterFault("start failed", exitCodeOf(error));
  };
  try {
    await host.start();
  } catch (error) {
    // A stop in the middle of the start closes what the start is waiting for; that is not a failure.
    if (!shutdown.stopping) failed(error);
  }
  // No caller continues after a start that did not succeed: the process ends during this line.
  if (shutdown.stopping) await new Promise<never>(() => {});
}

async function ownEnvironment(name: string): Promise<Environment> {
  if (process.argv.includes(ENVIRONMENT_FROM_STDIN))
    await environmentFromStdin().catch((error: unknown) => failStart(name, error));
  return takeEnvironment(process.env);
}

/** Ends a process that could not even choose its services: one fatal line under its name, and the exit code of the error. */
export function failStart(name: string, error: unknown): never {
  logStartFailure(createLog({ service: name, level: "info" }), error);
  return process.exit(exitCodeOf(error));
}

function hostOrExit(definitions: readonly ServiceDefinition[], options: HostOptions): Host {
  try {
    return new Host(definitions, options);
  } catch (error) {
    if (!(error instanceof ServiceStartError)) throw error;
    reportStartFailure(null, error);
    return process.exit(exitCodeOf(error));
  }
}

function createShutdown(host: Host): Shutdown {
  const { log, config, steps } = host;
  const shutdown = new Shutdown({
    log,
    steps,
    drainMs: config.YARD_DRAIN_MS,
    onBegin: () => host.beginStop(),
    exit: (code) => process.exit(code),
  });
  process.on("uncaughtException", (err, origin) => {
    log.fatal({ err, origin }, "uncaught error");
    shutdown.beginAfterFault(origin);
  });
  process.on("unhandledRejection", (err) => {
    if (isOfOutage(err)) return log.error({ err }, "unhandled rejection of an outage");
    log.fatal({ err, origin: "unhandledRejection" }, "uncaught error");
    shutdown.beginAfterFault("unhandledRejection");
  });
  process.on("SIGTERM", () => shutdown.signal("SIGTERM"));
  if (process.argv.includes(EXIT_WITH_PARENT)) {
    // Ctrl-C in a terminal reaches the whole process group; the parent stops its children in order.
    process.on("SIGINT", () => {});
    stopWithParent(() => shutdown.begin("parent gone"));
  } else {
    process.on("SIGINT", () => shutdown.signal("SIGINT"));
  }
  return shutdown;
}

/** The other end of the pipe closes also when the parent is killed with SIGKILL. */
function stopWithParent(stop: () => void): void {
  process.stdin.once("end", stop);
  process.stdin.once("close", stop);
  process.stdin.on("error", stop);
  process.stdin.resume();
}

/** One line for each service that could not start; `log` is the process's, for what belongs to no service. */
function reportStartFailure(log: Log | null, error: unknown): void {
  if (error instanceof ServiceStartError) {
    for (const failure of error.failures) logStartFailure(failure.log, failure.cause);
  } else if (log !== null) {
    logStartFailure(log, error);
  }
}

function logStartFailure(log: Log, error: unknown): void {
  if (error instanceof StartError) {
    const problems = error instanceof EnvError ? { problems: error.problems } : {};
    const { message: reason, hint, exitCode } = error;
    log.fatal({ reason, hint, exitCode, ...problems }, "service could not start");
  } else {
    log.fatal({ err: error, exitCode: EXIT_FAILED }, "service could not start");
  }
}

function exitCodeOf(error: unknown): number {
  const cause = error instanceof ServiceStartError ? error.cause : error;
  return cause instanceof StartError ? cause.exitCode : EXIT_FAILED;
}
