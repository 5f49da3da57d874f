/** A server as the registry accepts it: beside the id, the members that any client has in its file. The broker parses them. */
export interface Declaration {
  readonly id: string;
  readonly [field: string]: unknown;
}

type Json = Readonly<Record<string, unknown>>;

/** The keys under which clients keep their servers; `mcp` may have one more level. */
const CONTAINERS = ["mcpServers", "servers", "mcp_servers", "context_servers", "mcp"];
const WAYS = ["command", "url", "serverUrl", "httpUrl"];
const LONGEST_ID = 24;

/** The servers of a client's configuration, or what keeps it from being one. */
export function declarationsOf(
  text: string,
): { readonly servers: readonly Declaration[] } | { readonly problem: string } {
  // A fragment out of the middle of a client's file.
  const whole = /^\s*"[^"\n]*"\s*:/.test(text) ? `{${text.replace(/,\s*$/, "")}}` : text;
  let value: unknown;
  try {
    value = JSON.parse(whole);
  } catch {
    return { problem: "This is not JSON yet." };
  }
  if (!isObject(value)) return { problem: "It must be a JSON object." };
  if (isEntry(value)) {
    const name = value["id"] ?? value["name"];
    if (typeof name !== "string")
      return { problem: 'A server alone needs a name in front of it: "files": {…}' };
    return { servers: [declarationOf(name, value)] };
  }
  const entries = Object.entries(serversIn(value));
  if (entries.length === 0) return { problem: 'There is no server in it: {"mcpServers": {…}}' };
  const servers: Declaration[] = [];
  for (const [name, entry] of entries) {
    if (!isObject(entry) || !isEntry(entry))
      return { problem: `${name} has neither a command nor a URL.` };
    servers.push(declarationOf(name, entry));
  }
  return { servers };
}

/** Reads lines such as `NAME=value` or `Name: value` into the members of an object; blank lines do not count. */
export function pairsOf(
  text: string,
  separator: "=" | ":",
): { readonly pairs: Readonly<Record<string, string>> } | { readonly problem: string } {
  const pairs = new Map<string, string>();
  for (const line of text.split("\n").filter((one) => one.trim() !== "")) {
    const at = line.indexOf(separator);
    const name = line.slice(0, at).trim();
    if (at < 0 || name === "")
      return { problem: `Each line needs a name, ${separator} and a value: ${line.trim()}` };
    if (pairs.has(name)) return { problem: `${name} is there twice.` };
    pairs.set(name, line.slice(at + 1).trim());
  }
  return { pairs: Object.fromEntries(pairs) };
}

function serversIn(value: Json): Json {
  const inner = CONTAINERS.map((name) => value[name]).find(isObject);
  return inner === undefined ? value : serversIn(inner);
}

function declarationOf(name: string, entry: Json): Declaration {
  const id = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replace(/^-/, "")
    .slice(0, LONGEST_ID)
    .replace(/-$/, "");
  return { ...(id === name ? {} : { name }), ...entry, id };
}

function isEntry(value: Json): boolean {
  return WAYS.some((way) => way in value);
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
