import { cutText } from "@switchyard/contracts/cut-text";
import { serverIdOf } from "@switchyard/contracts/ids";
import type { ServerDeclaration } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { JsonTextError, parseLenientJson } from "@switchyard/service/lenient-json";
import { count } from "./quantities.ts";
import { CliError } from "./cli-error.ts";

export interface AddOptions {
  /** Command and arguments, or an address alone. */
  readonly command: readonly string[];
  readonly url?: string;
  readonly transport?: string;
  readonly scope?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly header?: Readonly<Record<string, string>>;
}

/** Scopes of other clients: whose configuration has the server. Here all users share a server. */
const FOREIGN_SCOPES: ReadonlySet<string> = new Set(["local", "project", "user"]);

/** Builds the declaration from options of the command line. The broker validates it. */
export function optionDeclaration(name: string, options: AddOptions): ServerDeclaration {
  const isAddress = options.url === undefined && /^https?:\/\//i.test(options.command[0] ?? "");
  if (isAddress && options.command.length > 1)
    throw new CliError("usage", "an address takes no arguments", {
      hint: "give headers with --header 'Name: value'",
    });
  const [command, ...args] = isAddress ? [] : options.command;
  const { url = isAddress ? options.command[0] : undefined, transport, scope } = options;
  const { env, header } = options;
  return {
    ...identityOf(name),
    ...(transport === undefined ? {} : { transport }),
    ...(command === undefined ? {} : { command, args }),
    ...(url === undefined ? {} : { url }),
    ...(env === undefined ? {} : { env }),
    ...(header === undefined ? {} : { headers: header }),
    ...(scope === undefined || FOREIGN_SCOPES.has(scope) ? {} : { scope }),
  };
}

/** Explains to people where the declaration differs from what they wrote. */
export function adoptionNotes(name: string, { scope }: Pick<AddOptions, "scope"> = {}): string[] {
  const { id } = identityOf(name);
  return [
    ...(id === name ? [] : [`${JSON.stringify(name)} has the id ${id} here`]),
    ...(scope !== undefined && FOREIGN_SCOPES.has(scope)
      ? [
          `--scope ${scope} has no meaning here: every user has the same servers, and the policy decides who may use them`,
        ]
      : []),
  ];
}

/**
 * Reads a declaration from JSON, with comments and trailing commas as README files have them: the entry alone, `"name": {…}`, or a
 * whole file of an MCP client. Among several servers the one with the key `name` is selected. Its id is filled in; `name` is null
 * for changes of a server.
 */
export function jsonDeclaration(name: string | null, text: string): ServerDeclaration {
  const value = parsed(text);
  const servers = serversIn(value);
  const entry = servers === null ? value : chosen(servers, name);
  if (name === null) return entry;
  const identity = identityOf(name);
  const { id: written } = entry;
  if (written !== undefined && written !== name && written !== identity.id)
    throw new CliError("usage", `the JSON has the id ${JSON.stringify(written)}, not ${name}`, {
      hint: 'leave "id" out',
    });
  return { ...identity, ...entry, id: identity.id };
}

function identityOf(name: string): { id: string; name?: string } {
  const id = serverIdOf(name);
  if (id === null)
    throw new CliError("usage", `no id can be made of the name ${JSON.stringify(name)}`, {
      hint: "name the server with 1-24 characters of a-z 0-9 -",
    });
  return id === name ? { id } : { id, name: cutText(name, 200) };
}

function parsed(text: string): Record<string, unknown> {
  // A fragment out of the middle of a client's file.
  const whole = /^\s*"[^"\n]*"\s*:/.test(text) ? `{${text.replace(/,\s*$/, "")}}` : text;
  let value: unknown;
  try {
    value = parseLenientJson(whole);
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error;
    throw new CliError("usage", `this is not JSON: ${error.message}`, { hint: HINT, cause: error });
  }
  if (isObject(value)) return value;
  throw new CliError("usage", "the server must be a JSON object", { hint: HINT });
}

const HINT = `quote it for the shell, such as '{"command":"npx","args":["-y","some-server"]}'`;

type Servers = Readonly<Record<string, unknown>>;

/** Keys under which clients' files list their servers; `mcp` may have one more level. */
const CONTAINERS = ["mcpServers", "servers", "mcp_servers", "context_servers", "mcp"];
const OF_ENTRY = ["command", "url", "serverUrl", "httpUrl"];

/** The servers of a client's file; null for a single entry. */
function serversIn(value: Record<string, unknown>): Servers | null {
  const inner = CONTAINERS.map((key) => value[key]).find((one) => isObject(one) || isList(one));
  if (isList(inner)) return listed(inner);
  if (isObject(inner)) return serversIn(inner) ?? inner;
  const all = Object.values(value);
  const isMap = all.length > 0 && all.every((one) => isObject(one) && isEntry(one));
  return isMap ? value : null;
}

function listed(list: readonly unknown[]): Servers {
  return Object.fromEntries(
    list.map((one, index) => {
      const name = isObject(one) ? (one["id"] ?? one["name"]) : null;
      return [typeof name === "string" ? name : String(index + 1), one];
    }),
  );
}

function isEntry(value: Record<string, unknown>): boolean {
  return OF_ENTRY.some((key) => key in value);
}

function chosen(servers: Servers, name: string | null): Record<string, unknown> {
  const names = Object.keys(servers);
  const [only, ...more] = names;
  const called = names.find((one) => one === name || (name !== null && serverIdOf(one) === name));
  const key = more.length === 0 ? only : called;
  const entry = key === undefined ? undefined : servers[key];
  if (isObject(entry)) return entry;
  throw new CliError(
    "usage",
    names.length === 0
      ? "the JSON has no server"
      : `the JSON has ${count(names.length, "server")}: ${names.slice(0, 20).join(", ")}`,
    { hint: "add the servers one by one, each by its name" },
  );
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
