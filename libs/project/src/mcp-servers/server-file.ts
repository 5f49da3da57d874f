import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { cutText } from "@switchyard/contracts/cut-text";
import { serverIdOf } from "@switchyard/contracts/ids";
import { JsonTextError, parseLenientJson } from "@switchyard/service/lenient-json";
import { StartError } from "@switchyard/service/start-error";
import { z } from "zod";
import { isRecord, type JsonRecord } from "@switchyard/contracts/json-record";
import { readDeclaration } from "./read-declaration.ts";
import type { ServerEntry } from "./server-config.ts";

/** The file as a whole cannot be used. */
export class ServerFileError extends Error {
  override readonly name = "ServerFileError";
}

const version = z.literal(1).optional();
const ServerList = z.strictObject({ version, servers: z.array(z.unknown()) });
/** The keys under which MCP clients list servers in their files; the rest of such a file is for the client. */
const MAP_KEYS = ["mcpServers", "servers", "mcp"] as const;

export interface ServerFile {
  readonly entries: readonly ServerEntry[];
  /** Parts of the file without effect, in addition to the warnings of its entries. */
  readonly warnings: readonly string[];
}

/** Reads the configured MCP servers. Throws StartError when the file as a whole cannot be used. */
export async function readServerFile(
  path: string,
): Promise<ServerFile & { readonly text: string }> {
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    throw new StartError(`cannot read YARD_MCP_SERVERS_FILE: ${String(cause)}`, {
      hint: 'point it to a JSON file such as {"servers": []}',
      cause,
    });
  });
  try {
    return { text, ...parseServerFile(text, basename(path)) };
  } catch (error) {
    if (!(error instanceof ServerFileError)) throw error;
    throw new StartError(error.message, { hint: `correct ${path} and start again`, cause: error });
  }
}

/**
 * Reads the text of a server file. A bad entry becomes an entry with a problem; only a file that
 * is not valid JSON, or has neither of the two shapes, is refused with a ServerFileError.
 */
export function parseServerFile(text: string, fileName: string): ServerFile {
  const taken = new Set<string>();
  const entryOf = ({ key, value, warnings: ofFile = [] }: RawEntry): ServerEntry => {
    const { problems, ...read } = readDeclaration(key, value, "file");
    const entry = { ...read, warnings: [...ofFile, ...read.warnings] };
    const id = freeId(entry.id, taken);
    taken.add(id);
    if (id !== entry.id && problems.length === 0) return duplicate(entry, id, fileName);
    const problem = entry.problem === null ? null : `${fileName}: ${entry.problem}`;
    return { ...entry, id, problem };
  };
  const { entries, warnings } = rawEntries(text, fileName);
  return { entries: entries.map(entryOf), warnings };
}

interface RawEntry {
  readonly key: string;
  readonly value: unknown;
  readonly warnings?: readonly string[];
}

interface RawFile {
  readonly entries: readonly RawEntry[];
  readonly warnings: readonly string[];
}

function rawEntries(text: string, fileName: string): RawFile {
  const document = parseJson(text, fileName);
  const list = ServerList.safeParse(document);
  if (list.success) {
    const entries = list.data.servers.map((value, index) => ({
      key: idOf(value) ?? `#${index + 1}`,
      value,
    }));
    return { entries, warnings: [] };
  }
  const file = isRecord(document) ? clientFile(document) : null;
  if (file !== null) return file;
  throw new ServerFileError(
    `${fileName}: must be {"servers": [{"id": …}]} with no other key at the top than "version": 1, or {"mcpServers": {"<id>": {…}}}`,
  );
}

/** Reads the file of an MCP client: one map of servers, beside any other settings of the client. */
function clientFile(document: JsonRecord): RawFile | null {
  const [map, ...more] = MAP_KEYS.filter((key) => isRecord(document[key]));
  const isOurs = version.safeParse(document["version"]).success;
  if (map === undefined || more.length > 0 || !isOurs || Array.isArray(document["servers"]))
    return null;
  const inside = document[map];
  if (!isRecord(inside)) return null;
  // The settings of VS Code have one more level.
  const servers = map === "mcp" && isRecord(inside["servers"]) ? inside["servers"] : inside;
  const entries = Object.entries(servers).map(([name, value]) => clientEntry(name, value));
  const left = Object.keys(document).filter(
    (key) => key !== map && key !== "version" && !key.startsWith("$"),
  );
  const warnings = left.map((key) => `${JSON.stringify(key)} at the top of the file is not read`);
  return { entries, warnings };
}

/** A client's name for a server becomes its id here, adjusted if necessary: `Brave Search` is `brave-search`. */
function clientEntry(name: string, value: unknown): RawEntry {
  if (!isRecord(value)) return { key: name, value };
  const id = serverIdOf(name);
  if (id === null || id === name || "id" in value)
    return { key: name, value: { id: name, ...value } };
  const warnings = [`${JSON.stringify(name)} has the id ${id} here`];
  return { key: id, value: { id, name: cutText(name, 200), ...value }, warnings };
}

function parseJson(text: string, fileName: string): unknown {
  try {
    return parseLenientJson(text);
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error;
    throw new ServerFileError(`${fileName}: not valid JSON: ${error.message}`);
  }
}

function duplicate(entry: ServerEntry, id: string, fileName: string): ServerEntry {
  const problem = `${fileName}: server ${entry.id}: the id is used twice; give each server its own`;
  return { ...entry, id, config: null, problem };
}

function idOf(value: unknown): string | null {
  return isRecord(value) && typeof value["id"] === "string" ? value["id"] : null;
}

function freeId(id: string, taken: ReadonlySet<string>): string {
  if (!taken.has(id)) return id;
  let n = 2;
  while (taken.has(`${cutText(id, 20)}-${n}`)) n += 1;
  return `${cutText(id, 20)}-${n}`;
}
