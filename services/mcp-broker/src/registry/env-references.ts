import type { HttpConfig, OAuthConfig, ServerConfig, StdioConfig } from "./server-config.ts";
import type { StreamTail } from "../connection/tail-buffer.ts";

/**
 * `${VAR}` and `${VAR:-default}` references. The values exist only while a connection is made: the
 * configuration keeps the reference, and whatever is shown later goes through `redact`, which puts
 * the reference back in the place of the value.
 */
export interface ResolvedServer {
  readonly launch: StdioConfig | HttpConfig;
  /** Replaces every resolved value in a text by its reference. */
  redact(text: string): string;
  /** The same for the end of a stream; what may be the rest of a value at its beginning is left out. */
  redactTail(tail: StreamTail): string;
}

/** A reference to a variable that the broker's environment does not have. */
export class UnsetVariableError extends Error {
  override readonly name = "UnsetVariableError";
}

const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/** Shorter values stand in too many innocent words to be replaced everywhere. */
const MIN_REDACTED_LENGTH = 4;

/** Resolves every reference of a server, or throws an UnsetVariableError that names the variable and the field. */
export function resolveServer(
  config: ServerConfig,
  env: Readonly<Record<string, string | undefined>>,
): ResolvedServer {
  const values = new Map<string, string>();
  const resolve = (field: string, text: string): string =>
    text.replaceAll(REFERENCE, (reference, name: string, fallback: string | undefined) => {
      const value = env[name] === "" && fallback !== undefined ? fallback : (env[name] ?? fallback);
      if (value === undefined) throw unset(config.id, name, field);
      values.set(value, `\${${name}}`);
      return value;
    });
  const launch =
    config.transport === "stdio" ? stdioLaunch(config, resolve) : httpLaunch(config, resolve);
  const redact = redactor(values);
  return {
    launch,
    redact,
    redactTail: ({ text, isCut }) => redact(isCut ? withoutRest(text, [...values.keys()]) : text),
  };
}

/** Takes away what may be the rest of a value at the beginning of a text; half a character there too. */
function withoutRest(text: string, values: readonly string[]): string {
  const whole = text.replace(/^\uFFFD+/, "");
  const restOf = (value: string): number => {
    for (let length = value.length; length > 0; length -= 1)
      if (whole.startsWith(value.slice(-length))) return length;
    return 0;
  };
  return whole.slice(Math.max(0, ...values.map(restOf)));
}

type Resolve = (field: string, text: string) => string;

function stdioLaunch(config: StdioConfig, resolve: Resolve): StdioConfig {
  return {
    transport: "stdio",
    command: resolve("command", config.command),
    args: config.args.map((arg, index) => resolve(`args.${index}`, arg)),
    env: resolveRecord("env", config.env, resolve),
    cwd: config.cwd === null ? null : resolve("cwd", config.cwd),
    sandbox: config.sandbox,
  };
}

function httpLaunch(config: HttpConfig, resolve: Resolve): HttpConfig {
  return {
    transport: config.transport,
    url: resolve("url", config.url),
    headers: resolveRecord("headers", config.headers, resolve),
    oauth: config.oauth === null ? null : resolveOAuth(config.oauth, resolve),
  };
}

function resolveOAuth(oauth: OAuthConfig, resolve: Resolve): OAuthConfig {
  const { clientId, clientSecret } = oauth;
  return {
    ...oauth,
    clientId: clientId === null ? null : resolve("oauth.clientId", clientId),
    clientSecret: clientSecret === null ? null : resolve("oauth.clientSecret", clientSecret),
  };
}

function resolveRecord(
  field: string,
  record: Readonly<Record<string, string>>,
  resolve: Resolve,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(record).map(([key, value]) => [key, resolve(`${field}.${key}`, value)]),
  );
}

function unset(server: string, name: string, field: string): UnsetVariableError {
  return new UnsetVariableError(
    `server ${server}: environment variable ${name} is not set (used in "${field}"); set it for the broker, or write \${${name}:-default}`,
  );
}

function redactor(values: ReadonlyMap<string, string>): (text: string) => string {
  // Longest first, so that a value inside another one does not leave the rest of it behind.
  const secrets = [...values]
    .filter(([value]) => value.length >= MIN_REDACTED_LENGTH)
    .toSorted(([a], [b]) => b.length - a.length);
  return (text) =>
    secrets.reduce((shown, [value, reference]) => shown.replaceAll(value, () => reference), text);
}
