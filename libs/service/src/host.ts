import { hostname } from "node:os";
import { within } from "@switchyard/contracts/timeouts";
import { LocalServices } from "@switchyard/bus/local-services";
import { createCallPermissions } from "@switchyard/topology/call-permissions";
import type { DestinationStream } from "pino";
import { z } from "zod";
import { constant } from "./constant.ts";
import type { BaseConfig, ConfiguredService, ServiceDefinition } from "./define-service.ts";
import { readEnv, tracingEnv, type Environment } from "./env.ts";
import { startHealthServer } from "./health-server.ts";
import { HostedService } from "./hosted-service.ts";
import { createLog, type Log } from "./log.ts";
import { createMetrics, type Metrics } from "./metrics.ts";
import { StopSteps } from "./stop-steps.ts";

export interface HostOptions {
  /** Name of the process in its log and metrics, where it runs several services. */
  readonly name: string;
  readonly version: string;
  readonly env: Environment;
  /** A time of `performance.now()` at which every earlier process with these services had ended. */
  readonly begunAtMs: number;
  /** Receives the log; stdout by default. */
  readonly logTo?: DestinationStream;
  /** Called when a service that runs alone is to be started again. Several are started again within their process. */
  readonly onRestart?: () => void;
  /** Called when a service was stopped to be started again, and could not. */
  readonly onFault: (fault: ServiceStartError) => void;
}

/** Services that could not start: the log of each, and why. */
export class ServiceStartError extends Error {
  override readonly name = "ServiceStartError";
  readonly failures: readonly { readonly log: Log; readonly cause: unknown }[];

  constructor(failures: readonly { readonly log: Log; readonly cause: unknown }[]) {
    super("a service could not start", { cause: failures[0]?.cause });
    this.failures = failures;
  }
}

/** The longest time that a stop waits for a collector to accept the last spans. */
const TRACES_STOP_MS = 2_000;

/**
 * Services that run together: one log, one health server, one set of traces, and one stop that undoes their starts in
 * reverse order. It installs no signal handler and never ends the process, so a test can run it in its own.
 */
export class Host {
  readonly log: Log;
  readonly config: BaseConfig;
  readonly #instance: string;
  /** The steps of the stop. */
  readonly steps: StopSteps;
  readonly #options: HostOptions;
  readonly #services: readonly HostedService[];
  readonly #metrics: Metrics | null;
  #isStopping = false;

  /** `definitions` are in the order of their start. Throws a ServiceStartError that names every setting that is wrong. */
  constructor(definitions: readonly ServiceDefinition[], options: HostOptions) {
    this.#options = options;
    // It distinguishes replicas in logs and leases.
    this.#instance = constant("instance", `${hostname()}-${process.pid}`);
    const logOptions = { instance: this.#instance, logTo: options.logTo };
    const configured = configure(definitions, options.env, logOptions);
    const [first] = configured;
    if (first === undefined) throw new TypeError("there is no service to run");
    const isAlone = configured.length === 1;
    const { name, version } = isAlone ? first.definition : options;
    this.config = first.service.config;
    this.log = createServiceLog(name, this.config, logOptions);
    this.steps = new StopSteps(this.log);
    this.#metrics = isAlone ? null : createMetrics({ service: name, version });
    const local = isAlone ? undefined : new LocalServices(createCallPermissions());
    this.#services = configured.map(({ definition, service }) => {
      const hosted: HostedService = new HostedService(definition, service, {
        env: options.env,
        log: isAlone ? this.log : createServiceLog(definition.name, service.config, logOptions),
        instance: this.#instance,
        begunAtMs: options.begunAtMs,
        local,
        isAlone,
        restart: () => (isAlone ? options.onRestart?.() : void this.#restart(hosted)),
      });
      return hosted;
    });
  }

  /**
   * Traces → health server → the services, each after those that it needs. Resolves when all are ready, with the address of the
   * health server. Rejects with a ServiceStartError, or with a StartError of the process; {@link stop} undoes what was started.
   */
  async start(): Promise<string> {
    const startedAt = performance.now();
    await this.#traceWork();
    const health = await startHealthServer({
      ...this.config.YARD_HEALTH_PORT,
      services: this.#services,
      metrics: this.#metrics,
    });
    this.steps.push("health server", () => health.stop());
    await this.#startServices();
    const startMs = Math.round(performance.now() - startedAt);
    const { version } = this.#about;
    if (!this.#isStopping)
      this.log.info({ healthUrl: health.url, version, startMs }, "service ready");
    return health.url;
  }

  /** Turns readiness off everywhere. No service starts any more. */
  beginStop(): void {
    this.#isStopping = true;
    for (const { readiness } of this.#services) readiness.phase = "stopping";
  }

  /** Undoes the start in reverse order. Resolves to false when a step has failed, which is logged. */
  async stop(budgetMs: number = this.config.YARD_DRAIN_MS): Promise<boolean> {
    this.beginStop();
    const endAt = performance.now() + budgetMs;
    return this.steps.undo(() => Math.max(0, endAt - performance.now()));
  }

  async #startServices(): Promise<void> {
    const starts = new Map<string, Promise<void>>();
    for (const service of this.#services) {
      const { name, user, startsAfter } = service.definition;
      this.steps.push(
        name,
        (remainingMs) => service.stop(remainingMs),
        () => service.stopStep,
      );
      const needed = startsAfter.flatMap((other) => starts.get(other) ?? []);
      starts.set(
        user,
        Promise.all(needed).then(() => this.#startService(service)),
      );
    }
    await Promise.all(starts.values());
  }

  async #startService(service: HostedService): Promise<void> {
    if (this.#isStopping) return;
    const startedAt = performance.now();
    try {
      await service.start();
    } catch (cause) {
      throw new ServiceStartError([{ log: service.log, cause }]);
    }
    const { version } = service.definition;
    const startMs = Math.round(performance.now() - startedAt);
    if (this.#services.length > 1 && !this.#isStopping)
      service.log.info({ version, startMs }, "service ready");
  }

  async #restart(service: HostedService): Promise<void> {
    if (this.#isStopping || service.readiness.phase !== "running") return;
    const budgetMs = this.config.YARD_DRAIN_MS;
    service.log.info({ reason: "restart requested", budgetMs }, "service stopping");
    try {
      await withinBudget(budgetMs, service.stop(budgetMs));
      if (this.#isStopping) return;
      service.renew();
      await this.#startService(service);
    } catch (error) {
      const isStart = error instanceof ServiceStartError;
      const fault = isStart ? error : new ServiceStartError([{ log: service.log, cause: error }]);
      if (!this.#isStopping) this.#options.onFault(fault);
    }
  }

  get #about(): { readonly name: string; readonly version: string } {
    const [only, ...others] = this.#services;
    return only === undefined || others.length > 0 ? this.#options : only.definition;
  }

  /** Off unless a collector is named; the libraries for it are not even loaded then. */
  async #traceWork(): Promise<void> {
    const env = readEnv(z.object(tracingEnv), this.#options.env);
    const endpoint = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? env.OTEL_EXPORTER_OTLP_ENDPOINT;
    if (endpoint === undefined || env.OTEL_SDK_DISABLED) return;
    const { startTracing } = await import("./tracing/start-tracing.ts");
    const tracing = startTracing({
      services: this.#services.map(({ definition }) => definition),
      instance: this.#instance,
      sampled: env.OTEL_TRACES_SAMPLER_ARG,
      everyMs: env.OTEL_BSP_SCHEDULE_DELAY,
      log: this.log,
    });
    this.steps.push("traces", (remainingMs) => tracing.stop(Math.min(remainingMs, TRACES_STOP_MS)));
  }
}

interface Configured {
  readonly definition: ServiceDefinition;
  readonly service: ConfiguredService;
}

function configure(
  definitions: readonly ServiceDefinition[],
  env: Environment,
  logOptions: LogOptions,
): Configured[] {
  const failures: { log: Log; cause: unknown }[] = [];
  const configured = definitions.flatMap((definition) => {
    try {
      return { definition, service: definition.configure(env) };
    } catch (cause) {
      failures.push({ log: createServiceLog(definition.name, null, logOptions), cause });
      return [];
    }
  });
  if (failures.length > 0) throw new ServiceStartError(failures);
  return configured;
}

interface LogOptions {
  readonly instance: string;
  readonly logTo: DestinationStream | undefined;
}

/** The service's settings are null while they cannot be read. */
function createServiceLog(
  service: string,
  config: BaseConfig | null,
  { instance, logTo }: LogOptions,
): Log {
  return createLog({
    service,
    level: config?.YARD_LOG_LEVEL ?? "info",
    instance,
    ...(logTo === undefined ? {} : { destination: logTo }),
  });
}

/** Rejects when the work takes longer than its budget and one more second, in which connections close. */
async function withinBudget(budgetMs: number, work: Promise<void>): Promise<void> {
  await within(work, { ms: budgetMs + 1_000 }, () => {
    throw new Error(`the service did not stop within ${budgetMs} ms`);
  });
}
