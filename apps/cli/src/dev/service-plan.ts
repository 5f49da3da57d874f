import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { RUNNER_USER } from "@switchyard/contracts/user-names";
import { seedFile } from "../nkey-seed.ts";
import { HOME } from "../locations.ts";
import { redisLogin } from "../redis-login.ts";
import { plannedServices, type Planned, type PlannedOptions } from "./planned-services.ts";
import { basics, personsPath } from "./persons-environment.ts";
import type { ServiceSpec } from "./service-process.ts";

export interface ServicePlanOptions extends PlannedOptions {
  readonly runners: number;
  /** True: each service is a process of its own. */
  readonly apart: boolean;
  readonly natsUrl: string;
  readonly redisUrl: string;
  /** True when we started it, with a user for each service. */
  readonly redisIsOurs: boolean;
}

/** Shorter than the time after which people press Ctrl-C again. */
const DRAIN_MS = 10_000;
/** Compiled where npm has installed it. */
const MAIN = `main${extname(fileURLToPath(import.meta.url))}`;
/** The process with all services: its name, and its program. */
export const TOGETHER = "switchyard";
export const TOGETHER_ENTRY = join(HOME, "apps", "switchyard", "src", MAIN);
/** Placeholder for the user of each service: see `forUser` of libs/service. */
const EACH_USER = "{user}";

/**
 * The processes to start, in their order: one with all services and the first runner, and one for each further runner; or, apart, one for each
 * service, of which each needs only those before it.
 */
export function servicePlan(options: ServicePlanOptions): ServiceSpec[] {
  const services = plannedServices(options);
  const { runners, apart } = options;
  const replicas = (from: number, runner: Planned): Planned[] =>
    Array.from({ length: runners - from + 1 }, (_, index) => ({
      ...runner,
      name: `${runner.name}-${index + from}`,
    }));
  if (apart)
    return services
      .flatMap((one) => (runners > 1 && isRunner(one) ? replicas(1, one) : one))
      .map((one) => processOf(options, one));
  const others = services.filter(isRunner).flatMap((runner) => replicas(2, runner));
  return [together(options, services), ...others.map((one) => processOf(options, one))];
}

function isRunner({ user }: Planned): boolean {
  return user === RUNNER_USER;
}

function processOf(options: ServicePlanOptions, one: Planned): ServiceSpec {
  return {
    name: one.name,
    entry: join(HOME, "services", one.directory, "src", MAIN),
    cwd: options.workspace,
    env: { ...basics(options.env), ...one.passed, ...one.own, ...everyProcess(options, one.user) },
  };
}

/** One process with all services. Each reads the settings that are its own, and finds its keys by its user. */
function together(options: ServicePlanOptions, services: readonly Planned[]): ServiceSpec {
  return {
    name: TOGETHER,
    entry: TOGETHER_ENTRY,
    cwd: options.workspace,
    env: Object.assign(
      basics(options.env),
      ...services.map(({ passed }) => passed),
      ...services.map(({ own }) => own),
      everyProcess(options, EACH_USER),
    ) as NodeJS.ProcessEnv,
    speakers: new Map(services.map(({ directory, name }) => [directory, name])),
  };
}

function everyProcess(options: ServicePlanOptions, user: string): NodeJS.ProcessEnv {
  const redis = redisLogin({
    url: options.redisUrl,
    isOurs: options.redisIsOurs,
    keys: options.state.keys,
    user,
  });
  return {
    PATH: personsPath(options.env["PATH"] ?? ""),
    YARD_NATS_URL: options.natsUrl,
    YARD_NATS_NKEY_FILE: seedFile(options.state.keys, user),
    YARD_REDIS_URL: redis.url.replace(encodeURIComponent(EACH_USER), EACH_USER),
    YARD_KEYS_DIR: options.state.keys,
    YARD_HEALTH_PORT: "0",
    YARD_DRAIN_MS: String(DRAIN_MS),
    // yard dev restarts a process that ends in order to be restarted.
    YARD_RESTARTS: "1",
  };
}
