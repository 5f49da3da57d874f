import { isDeepStrictEqual } from "node:util";
import { isRecord, type JsonRecord } from "@switchyard/contracts/json-record";

/** An entry in this broker's keys, with texts for people about the keys that were not adopted. */
export interface Adopted {
  readonly declaration: JsonRecord;
  readonly warnings: readonly string[];
  /** Keys that cannot be ignored without changing what the entry requests. */
  readonly problems: readonly string[];
}

interface Draft {
  readonly fields: Record<string, unknown>;
  readonly warnings: string[];
  readonly problems: string[];
}

/** Keys of MCP clients with the same meaning as ours. */
const SAME_MEANING: Readonly<Record<string, string>> = {
  serverUrl: "url",
  httpUrl: "url",
  environment: "env",
  transportType: "transport",
  includeTools: "enabledTools",
  excludeTools: "disabledTools",
};

const GRANTS: ReadonlySet<string> = new Set(["alwaysAllow", "autoApprove", "trust"]);

/** Keys for the client's own user interface or accounts. */
const OWN_TO_CLIENTS: ReadonlySet<string> = new Set([
  "alwaysLoad",
  "authProviderType",
  "dev",
  "extension",
  "gallery",
  "icon",
  "iconUrl",
  "targetAudience",
  "targetServiceAccount",
  "watchPaths",
]);

const NOT_READ: Readonly<Record<string, string>> = {
  envFile:
    '"envFile" is not read; set its variables for the broker and name them in "env", such as "TOKEN": "${TOKEN}"',
  headersHelper:
    '"headersHelper" is not run; put the credential into "headers" as a ${VAR}, or log in with OAuth',
};

/** Parts of a login that are discovered from the server, or belong to the client alone. */
const FOUND_OUT = [
  "audiences",
  "authServerMetadataUrl",
  "authorizationUrl",
  "callbackPort",
  "enabled",
  "issuer",
  "redirectUri",
  "redirectUris",
  "registrationUrl",
  "tokenParamName",
  "tokenUrl",
];

const HOUR_MS = 3_600_000;
/** Clients that count in seconds accept at most an hour. */
const MOST_SECONDS = 3_600;

/**
 * Adopts the keys of other MCP clients, so that an entry can be pasted unchanged. A key with a safe meaning here is translated,
 * any other is left out with a warning. A key that a client calls an approval never grants anything, and a restriction is never
 * left out. Unknown keys stay, and are refused later: they may be misspelt keys of our own.
 */
export function adoptClientKeys(entry: JsonRecord): Adopted {
  const draft: Draft = { fields: {}, warnings: [], problems: [] };
  for (const [key, value] of Object.entries(entry))
    if (!/^(?:[$_]|\/\/)/.test(key)) draft.fields[key] = value; // comments and "$schema"
  adoptCommand(draft);
  adoptTimeout(draft, entry);
  adoptNames(draft, entry);
  adoptDisabled(draft);
  adoptTools(draft);
  adoptLogin(draft);
  adoptSandbox(draft);
  leaveOut(draft);
  warnOfVariables(draft);
  const { fields: declaration, warnings, problems } = draft;
  return { declaration, warnings, problems };
}

/** A command line in one list, or `{path, args, env}`. */
function adoptCommand({ fields }: Draft): void {
  const { command: object } = fields;
  if (isRecord(object) && typeof object["path"] === "string") {
    const { path, ...rest } = object;
    delete fields["command"];
    Object.assign(fields, { command: path, ...definedOnly({ ...rest, ...fields }) });
  }
  const { command, args = [] } = fields;
  if (!Array.isArray(command) || !Array.isArray(args)) return;
  const [program, ...first] = command;
  fields["command"] = program;
  fields["args"] = [...first, ...args];
}

function adoptNames({ fields, problems }: Draft, entry: JsonRecord): void {
  for (const [theirs, ours] of Object.entries(SAME_MEANING)) {
    if (!(theirs in fields)) continue;
    const value = fields[theirs];
    delete fields[theirs];
    if (ours in fields && !isDeepStrictEqual(fields[ours], value))
      problems.push(`"${theirs}" and "${ours}" disagree; keep one of them`);
    fields[ours] = value;
  }
  const isTyped = "transport" in fields || "type" in fields;
  if (typeof entry["httpUrl"] === "string" && !isTyped) fields["transport"] = "http";
}

function adoptDisabled({ fields, problems }: Draft): void {
  rename("disabled", (isOff) => !isOff);
  rename("isActive", (isOn) => isOn);

  function rename(theirs: string, meaning: (value: boolean) => boolean): void {
    if (!(theirs in fields)) return;
    const value = fields[theirs];
    delete fields[theirs];
    if (value !== null && typeof value !== "boolean") {
      problems.push(`"${theirs}": must be true or false`);
      return;
    }
    const enabled = value === null ? null : meaning(value);
    const { enabled: own = enabled } = fields;
    if (own !== enabled) problems.push(`"${theirs}" and "enabled" disagree; keep one of them`);
    fields["enabled"] = enabled;
  }
}

/**
 * Adopts a call's timeout. Most clients count milliseconds; Cline and its forks count seconds, and are recognised by their other
 * keys. For opencode it is the timeout of listing tools.
 */
function adoptTimeout({ fields, warnings }: Draft, entry: JsonRecord): void {
  if (!("timeout" in fields)) return;
  const { timeout } = fields;
  delete fields["timeout"];
  const isOfTools = Array.isArray(entry["command"]) || entry["type"] === "remote";
  const ours = isOfTools ? "connectTimeoutMs" : "callTimeoutMs";
  if (ours in fields) return;
  if (timeout === null) {
    fields[ours] = null;
    return;
  }
  const countsSeconds = ["disabled", "alwaysAllow", "autoApprove"].some((key) => key in entry);
  const ms = typeof timeout === "number" ? inMilliseconds(timeout, countsSeconds) : null;
  if (ms === null)
    warnings.push(
      `"timeout" does not say in which unit it is, and counts for nothing; write "${ours}"`,
    );
  else fields[ours] = ms;
}

function inMilliseconds(timeout: number, countsSeconds: boolean): number | null {
  if (timeout > MOST_SECONDS) return Math.min(Math.round(timeout), HOUR_MS);
  return countsSeconds && timeout > 0 ? Math.max(100, Math.round(timeout * 1_000)) : null;
}

function adoptTools({ fields, problems }: Draft): void {
  const { tools } = fields;
  if (!("tools" in fields)) return;
  delete fields["tools"];
  const isAll = Array.isArray(tools) && tools.includes("*");
  if (isAll) return;
  if ("enabledTools" in fields && !isDeepStrictEqual(fields["enabledTools"], tools))
    problems.push('"tools" and "enabledTools" disagree; keep one of them');
  fields["enabledTools"] = tools;
}

function adoptLogin({ fields, warnings }: Draft): void {
  const { auth } = fields;
  if (isRecord(auth) && !("oauth" in fields)) {
    delete fields["auth"];
    const { CLIENT_ID: clientId, CLIENT_SECRET: clientSecret, ...rest } = auth;
    fields["oauth"] = definedOnly({ clientId, clientSecret, ...rest });
  }
  const { oauth } = fields;
  if (!isRecord(oauth)) return;
  if (oauth["enabled"] === false) {
    fields["oauth"] = false;
    return;
  }
  const { scopes, ...login } = oauth;
  const left = FOUND_OUT.filter((key) => key in login);
  const rest = Object.fromEntries(Object.entries(login).filter(([key]) => !left.includes(key)));
  const scope = Array.isArray(scopes) ? scopes.join(" ") : scopes;
  fields["oauth"] = definedOnly({ ...rest, scope: rest["scope"] ?? scope });
  for (const key of left)
    if (key !== "enabled") warnings.push(`"oauth.${key}" has no effect: the server reports it`);
}

/** Without its sandbox a server could do more than the author of the entry wanted. */
function adoptSandbox({ fields, problems, warnings }: Draft): void {
  const { sandboxEnabled, sandbox } = fields;
  const isTheirs = isRecord(sandbox) && !isOwnSandbox(sandbox);
  if (!("sandboxEnabled" in fields) && !isTheirs) return;
  delete fields["sandboxEnabled"];
  if (isTheirs) delete fields["sandbox"];
  if (sandboxEnabled === false || sandboxEnabled === null)
    warnings.push('"sandboxEnabled" is false, so there is no sandbox');
  else if (isTheirs || sandbox === undefined)
    problems.push(
      'the sandbox of another client is not known here; write "sandbox": "default" or "strict"',
    );
}

/** VS Code's sandbox uses the same key for other settings, such as rules for the network. */
function isOwnSandbox(sandbox: Record<string, unknown>): boolean {
  const { network = false } = sandbox;
  return "type" in sandbox || typeof network === "boolean";
}

function leaveOut({ fields, warnings }: Draft): void {
  for (const key of Object.keys(fields)) {
    const value = fields[key];
    const isGrant = GRANTS.has(key) && !(key === "trust" && typeof value !== "boolean");
    const reason = isGrant
      ? `"${key}" grants nothing: only the policy decides which calls are allowed`
      : (NOT_READ[key] ?? (OWN_TO_CLIENTS.has(key) ? `"${key}" has no meaning here` : undefined));
    if (reason === undefined) continue;
    delete fields[key];
    const isEmpty =
      value === false || value === null || (Array.isArray(value) && value.length === 0);
    if (!isEmpty) warnings.push(reason);
  }
}

/** `$VAR`, `%VAR%` and `{env:VAR}` are references in other clients. They may be meant literally here, so they stay. */
const THEIR_REFERENCE = /(?:^|[\s=:/])(?:\$[A-Za-z_]\w*|%[A-Za-z_]\w*%)(?=$|[\s:/])|\{env:\w+\}/;

function warnOfVariables({ fields, warnings }: Draft): void {
  for (const field of ["env", "headers", "url"])
    for (const [place, value] of placesOf(field, fields[field]))
      if (typeof value === "string" && THEIR_REFERENCE.test(value.replaceAll("${env:", "")))
        warnings.push(`"${place}" names a variable in a way that is not known here; write \${VAR}`);
}

function placesOf(field: string, value: unknown): [string, unknown][] {
  if (!isRecord(value)) return [[field, value]];
  return Object.entries(value).map(([key, inner]) => [`${field}.${key}`, inner]);
}

function definedOnly(fields: JsonRecord): JsonRecord {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
