import { homedir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { cutText } from "@switchyard/contracts/cut-text";
import { readRedisUrl } from "./redis-url.ts";
import { redactText } from "./redact.ts";
import { removedSettings } from "./removed-settings.ts";
import { StartError } from "./start-error.ts";

/** One variable that is missing or breaks its rule. `value` is null when it is absent or must not be shown. */
export interface EnvProblem {
  readonly name: string;
  readonly rule: string;
  readonly value: string | null;
}

/** The environment does not fit the schema; `problems` names every variable that is wrong, not just the first. */
export class EnvError extends StartError {
  override readonly name = "EnvError";
  readonly problems: readonly EnvProblem[];

  constructor(problems: readonly EnvProblem[]) {
    super(`invalid environment: ${problems.map(describe).join("; ")}`, {
      hint: "correct these environment variables and start again",
    });
    this.problems = problems;
  }
}

/** A whole number between two bounds, both included. */
export function envInteger(min: number, max: number) {
  return z
    .string()
    .regex(/^-?\d{1,15}$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be from ${min} to ${max}`);
}

/** The items of a list with commas, without blanks around each. */
export function commaSeparated(list: string): string[] {
  return list
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

/** The address that a server listens at. */
export interface ListenAddress {
  readonly host: string;
  /** 0 is any free port. */
  readonly port: number;
}

const LISTEN = /^(?:(?:\[(?<v6>[\da-fA-F:.]+)\]|(?<host>[^\s:/[\]]+)):)?(?<port>\d{1,5})$/;

/** A port of loopback, or `address:port`; an IPv6 address is in brackets. By default any free port of loopback. */
export function envListen() {
  return z
    .string()
    .default("0")
    .transform((text, context): ListenAddress => {
      const { v6, host = "127.0.0.1", port } = LISTEN.exec(text)?.groups ?? {};
      if (port !== undefined && Number(port) <= 65_535)
        return { host: v6 ?? host, port: Number(port) };
      context.addIssue({
        code: "custom",
        message: "must be a port from 0 to 65535, or an address and a port such as 0.0.0.0:8080",
      });
      return z.NEVER;
    });
}

/** `1`, `true` or `0`, `false`. */
export function envFlag() {
  return z
    .enum(["0", "1", "false", "true"], { error: "must be 1, true, 0 or false" })
    .transform((value) => value === "1" || value === "true");
}

/** The variables of every process. Durations are milliseconds. */
export const processEnv = {
  YARD_LOG_LEVEL: z
    .enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"], {
      error: "must be trace, debug, info, warn, error, fatal or silent",
    })
    .default("info"),
  /** The line "service ready" has the address. */
  YARD_HEALTH_PORT: envListen(),
  /** The time within which a stopping process has to finish what it began. */
  YARD_DRAIN_MS: envInteger(0, 3_600_000).default(25_000),
  /** The process may be ended for a restart, by the toolbox's `gateway_restart`: the supervisor starts it again after exit code 75. */
  YARD_RESTARTS: envFlag().default(false),
};

/**
 * The variables of OpenTelemetry that switch tracing on and off; where one of the first two is set,
 * the exporter reads the others of OTLP itself.
 * https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 */
export const tracingEnv = {
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl().optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: httpUrl().optional(),
  OTEL_SDK_DISABLED: envFlag().default(false),
  /** Share of the traces that begin in this process. */
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .regex(/^(?:0(?:\.\d+)?|1(?:\.0+)?)$/, "must be a number from 0 to 1")
    .transform(Number)
    .default(1),
  /** The interval at which spans are sent, in milliseconds. */
  OTEL_BSP_SCHEDULE_DELAY: envInteger(1, 3_600_000).default(5_000),
};

function httpUrl() {
  return z
    .string()
    .refine(isUrlOf(["http:", "https:"]), "must be a URL like http://127.0.0.1:4318");
}

/** The variables of a process that connects to NATS. */
export const natsEnv = {
  /** One server, or several separated by commas. */
  YARD_NATS_URL: z
    .string()
    .refine(
      (value) => value.split(",").every(isUrlOf(["nats:", "tls:"])),
      "must be one or more URLs like nats://127.0.0.1:4222, separated by commas",
    ),
  /** File with the NKey seed, read again at each connect so that keys can be rotated. */
  YARD_NATS_NKEY_FILE: z.string().optional(),
};

/** The variables of a process that connects to Redis. */
export const redisEnv = {
  /** The directory of `yard keys init`; a service reads its own files there alone, and `sentinel.password` where Sentinels have one. */
  YARD_KEYS_DIR: z.string().min(1).optional(),
  /**
   * The path is the number of the database, or the name of the primary and then the number. Where it names a user without a password, that is
   * in `<user>.redis` of the keys.
   */
  YARD_REDIS_URL: z
    .string()
    .refine(
      (value) => readRedisUrl(value) !== null,
      "must be a URL like redis://127.0.0.1:6379, rediss://user@host:6379/0, redis+sentinel://user@host1:26379,host2:26379/primary or redis+cluster://user@host1:6379,host2:6379",
    ),
  /** MiB that one owner may store in Redis; without it half of maxmemory. The same for all services. */
  YARD_OWNER_STORAGE_MIB: envInteger(1, 16_777_216).optional(),
};

/** The variable of a service that starts programs. */
export const stateEnv = {
  /** A directory for this user and installation alone: records of child processes, and directories of programs. */
  YARD_STATE_DIR: z
    .string()
    .min(1)
    .default(join(homedir(), ".local", "state", "switchyard")),
};

/** The variable of a service with operations for administrators. */
export const adminsEnv = {
  /** NATS users that may change what the service has, with commas. */
  YARD_ADMINS: z.string().default("cli,admin").transform(commaSeparated),
};

/** The variable of a service that shows people the address of the gateway. */
export const publicUrlEnv = {
  /** The address at which people reach the gateway where that is not the address it listens on, such as https://switchyard.example.com. */
  YARD_HTTP_URL: z
    .url({ protocol: /^https?$/ })
    .transform((text) => new URL(text))
    .refine(({ pathname, search }) => pathname === "/" && search === "", "must have no path")
    .optional(),
};

/** Variables as a process gets them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Settings whose values differ between services of one process only by the service's user. */
const BY_USER = ["YARD_NATS_NKEY_FILE", "YARD_REDIS_URL"];

/**
 * The environment as the service of one NATS user reads it: `{user}` in the address of Redis and in the file of its key
 * is the user's name. So one environment serves several services, each with its own keys.
 */
export function forUser(env: Environment, user: string): Environment {
  const own = BY_USER.map((name) => [name, env[name]?.replaceAll("{user}", user)]);
  return { ...env, ...Object.fromEntries(own) };
}

/**
 * Reads the variables that a schema names; an empty one counts as unset. Throws an EnvError that lists every missing or bad variable with
 * its rule, and every setting that was removed and is still set. Values of variables whose name marks them as secret are never part of the message.
 */
export function readEnv<S extends z.ZodObject>(schema: S, env: Environment): z.output<S> {
  const given: Record<string, string> = {};
  for (const name of Object.keys(schema.shape)) {
    const value = env[name];
    if (value !== undefined && value !== "") given[name] = value;
  }
  const removed = removedSettings(env);
  const parsed = schema.safeParse(given);
  if (parsed.success && removed.length === 0) return parsed.data;
  const issues = parsed.error?.issues ?? [];
  throw new EnvError([...removed, ...issues.map((issue) => problemOf(issue, given))]);
}

const SECRET_NAME = /KEY|SECRET|TOKEN|PASSWORD|SEED/i;
const SHOWN_LENGTH = 80;

function problemOf(issue: z.core.$ZodIssue, given: Record<string, string>): EnvProblem {
  const name = issue.path.length === 0 ? "environment" : issue.path.join(".");
  const value = given[String(issue.path[0])];
  if (value === undefined) return { name, rule: ruleOfMissing(issue), value: null };
  // The path of a secret file is not a secret, and without it the mistake cannot be found.
  if (SECRET_NAME.test(name) && !name.endsWith("_FILE")) {
    return { name, rule: issue.message.replaceAll(value, "[redacted]"), value: null };
  }
  return {
    name,
    rule: redactText(issue.message),
    value: cutText(redactText(value), SHOWN_LENGTH),
  };
}

function ruleOfMissing(issue: z.core.$ZodIssue): string {
  return issue.code === "custom" ? issue.message : "is required";
}

function describe(problem: EnvProblem): string {
  const got = problem.value === null ? "" : ` (got ${JSON.stringify(problem.value)})`;
  return `${problem.name} ${problem.rule}${got}`;
}

function isUrlOf(protocols: readonly string[]): (value: string) => boolean {
  return (value) => {
    const url = URL.parse(value);
    return url !== null && url.hostname !== "" && protocols.includes(url.protocol);
  };
}

/** Makes the value of a variable with a parser that may throw; its error is the problem that is reported. */
export function parsedBy<T>(parse: (text: string) => T) {
  return (text: string, context: z.RefinementCtx<string>): T => {
    try {
      return parse(text);
    } catch (error) {
      context.addIssue({
        code: "custom",
        message: error instanceof Error ? error.message : String(error),
      });
      return z.NEVER;
    }
  };
}
