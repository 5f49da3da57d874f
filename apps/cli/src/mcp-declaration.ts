import type { ServerDeclaration } from "@switchyard/contracts/mcp-servers";
import { CliError } from "./cli-error.ts";

export interface AddOptions {
  /** Command and arguments. */
  readonly command: readonly string[];
  readonly url?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly header?: Readonly<Record<string, string>>;
}

/** The declaration that options of the command line make. Whether it makes sense the broker says. */
export function optionDeclaration(id: string, options: AddOptions): ServerDeclaration {
  const [command, ...args] = options.command;
  const { url, env, header } = options;
  return {
    id,
    ...(command === undefined ? {} : { command, args }),
    ...(url === undefined ? {} : { url }),
    ...(env === undefined ? {} : { env }),
    ...(header === undefined ? {} : { headers: header }),
  };
}

/**
 * Reads a declaration from JSON: the entry alone, or the whole `{"mcpServers": {"name": {…}}}` of an
 * MCP client's file with one server in it. `id` is put in unless it is null.
 */
export function jsonDeclaration(id: string | null, text: string): ServerDeclaration {
  const value = parsed(text);
  const key = ["mcpServers", "servers", "mcp"].find((name) => isObject(value[name]));
  const entry = key === undefined ? value : onlyServer(key, value[key]);
  if (id === null) return entry;
  if (entry["id"] !== undefined && entry["id"] !== id) {
    throw new CliError("usage", `the JSON has the id ${JSON.stringify(entry["id"])}, not ${id}`, {
      hint: 'leave "id" out',
    });
  }
  return { ...entry, id };
}

function parsed(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new CliError("usage", `this is no JSON: ${String(error)}`, { hint: HINT, cause: error });
  }
  if (isObject(value)) return value;
  throw new CliError("usage", "the server must be a JSON object", { hint: HINT });
}

const HINT = `quote it for the shell, such as '{"command":"npx","args":["-y","some-server"]}'`;

function onlyServer(key: string, servers: unknown): Record<string, unknown> {
  const [only, ...more] = isObject(servers) ? Object.values(servers) : [];
  if (isObject(only) && more.length === 0) return only;
  throw new CliError("usage", `"${key}" must have exactly one server`, {
    hint: "add the servers one by one",
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
