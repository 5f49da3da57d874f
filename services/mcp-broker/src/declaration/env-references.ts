import type {
  HttpConfig,
  OAuthConfig,
  ServerConfig,
  StdioConfig,
} from "@switchyard/project/mcp-servers/server-config";

/**
 * `${VAR}`, `${VAR:-default}` and `${secret:NAME}` references. The values exist only while a connection is made: the configuration keeps the
 * reference, and every text that is shown later goes through `redact`, which replaces the value by the reference.
 */
export interface ResolvedServer {
  readonly launch: StdioConfig | HttpConfig;
  /** Replaces every resolved value in a text by its reference. */
  redact(text: string): string;
  /** The same for the end of a stream; text at its beginning that may be the rest of a value is left out. */
  redactTail(tail: StreamTail): string;
}

/** The end of a stream's text. */
export interface StreamTail {
  readonly text: string;
  /** True when there was more before it, so that it may begin in the middle of anything. */
  readonly isCut: boolean;
}

/** A reference without a value: the environment has no such variable, or the broker no such secret. */
export class UnsetVariableError extends Error {
  override readonly name = "UnsetVariableError";
}

/** Returns the value of a secret for a server, or why there is none and what to do. */
export type SecretLookup = (
  name: string,
  server: string,
) => { readonly value: string } | { readonly problem: string; readonly fix: string };

/** `VAR`, `VAR:-default`, and `env:VAR` as other clients write it. */
const REFERENCE = /^(?:env:)?([A-Za-z_]\w*)(?::-(.*))?$/s;
/** `secret:NAME`: a value that the broker stores encrypted. */
const SECRET = /^secret:([A-Za-z0-9][\w-]{0,63})$/;
/** `input:token`, `VAR:?text` and the like: a value that only another program would find. */
const FOREIGN = /^[A-Za-z_]\w*:/;

/** The limit for references in defaults of references. */
const MAX_DEPTH = 8;

/** Shorter values occur in too many innocent words to be replaced everywhere. */
const MIN_REDACTED_LENGTH = 4;

/** Resolves every reference of a server, or throws an UnsetVariableError that names the variable and the field. */
export function resolveServer(
  config: ServerConfig,
  env: Readonly<Record<string, string | undefined>>,
  secrets: SecretLookup = noSecrets,
): ResolvedServer {
  const values = new Map<string, string>();
  const resolve = (field: string, text: string, depth = 0): string =>
    replaceReferences(text, (inner) => {
      const secret = SECRET.exec(inner)?.[1];
      if (secret !== undefined) {
        const found = secrets(secret, config.id);
        if (!("value" in found)) throw noSecret(config.id, field, found);
        values.set(found.value, `\${secret:${secret}}`);
        return found.value;
      }
      const [, name, fallback] = REFERENCE.exec(inner) ?? [];
      if (name === undefined && !FOREIGN.test(inner)) return null;
      if (name === undefined || depth > MAX_DEPTH) throw foreign(config.id, inner, field);
      const own = env[name];
      const isMissing = own === undefined || (own === "" && fallback !== undefined);
      if (isMissing && fallback === undefined) throw unset(config.id, name, field);
      const value = isMissing ? resolve(field, fallback ?? "", depth + 1) : own;
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

/** Names of the secrets that a configuration refers to. */
export function secretsIn(config: ServerConfig): ReadonlySet<string> {
  const names = new Set<string>();
  const collect: Resolve = (_field, text) => {
    for (const [, inner = ""] of text.matchAll(/\$\{([^{}]*)\}/g)) {
      const name = SECRET.exec(inner)?.[1];
      if (name !== undefined) names.add(name);
    }
    return text;
  };
  if (config.transport === "stdio") stdioLaunch(config, collect);
  else httpLaunch(config, collect);
  return names;
}

const noSecrets: SecretLookup = (name) => ({
  problem: `secret ${name} does not exist`,
  fix: `yard mcp secret set ${name}`,
});

/** Removes text at the beginning that may be the rest of a value; half a character there too. */
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

/** Replaces the content of each `${…}`, inner ones counted; null leaves the text as it is. */
function replaceReferences(text: string, replace: (inner: string) => string | null): string {
  if (!text.includes("${")) return text;
  const ends = closingBraces(text);
  let done = "";
  let at = 0;
  for (;;) {
    const start = text.indexOf("${", at);
    if (start === -1) return done + text.slice(at);
    const end = ends.get(start);
    const value = end === undefined ? null : replace(text.slice(start + 2, end));
    done += text.slice(at, start) + (value ?? "${");
    at = end === undefined || value === null ? start + 2 : end + 1;
  }
}

/** Returns the position of the closing brace for each `${`. */
function closingBraces(text: string): ReadonlyMap<number, number> {
  const ends = new Map<number, number>();
  const open: number[] = [];
  for (const { 0: mark, index } of text.matchAll(/\$\{|\}/g)) {
    const start = mark === "}" ? open.pop() : undefined;
    if (mark !== "}") open.push(index);
    else if (start !== undefined) ends.set(start, index);
  }
  return ends;
}

function foreign(server: string, inner: string, field: string): UnsetVariableError {
  const [kind = ""] = inner.split(":");
  return new UnsetVariableError(
    `server ${server}: \${${kind}:…} (used in "${field}") is not known here; set a variable for the broker and write \${VAR} or \${VAR:-default}`,
  );
}

function noSecret(
  server: string,
  field: string,
  { problem, fix }: { readonly problem: string; readonly fix: string },
): UnsetVariableError {
  return new UnsetVariableError(`server ${server}: ${problem} (used in "${field}"); ${fix}`);
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
