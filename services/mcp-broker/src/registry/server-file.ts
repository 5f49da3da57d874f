import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { StartError } from "@switchyard/service/start-error";
import { z } from "zod";
import { readDeclaration } from "./read-declaration.ts";
import type { ServerEntry } from "./server-config.ts";

/** The file as a whole cannot be used. */
export class ServerFileError extends Error {
  override readonly name = "ServerFileError";
}

const version = z.literal(1).optional();
const ServerList = z.strictObject({ version, servers: z.array(z.unknown()) });
const ServerMap = z.strictObject({ version, mcpServers: z.record(z.string(), z.unknown()) });

/** Reads the configured MCP servers. Throws StartError when the file as a whole cannot be used. */
export async function readServerFile(
  path: string,
): Promise<{ readonly text: string; readonly entries: readonly ServerEntry[] }> {
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    throw new StartError(`cannot read YARD_MCP_SERVERS_FILE: ${String(cause)}`, {
      hint: 'point it to a JSON file such as {"servers": []}',
      cause,
    });
  });
  try {
    return { text, entries: parseServerFile(text, basename(path)) };
  } catch (error) {
    if (!(error instanceof ServerFileError)) throw error;
    throw new StartError(error.message, { hint: `correct ${path} and start again`, cause: error });
  }
}

/**
 * Reads the text of a server file. A bad entry becomes an entry with a problem; only a file that
 * is no JSON, or has neither of the two shapes, is refused with a ServerFileError.
 */
export function parseServerFile(text: string, fileName: string): ServerEntry[] {
  const taken = new Set<string>();
  const entryOf = ({ key, value }: RawEntry): ServerEntry => {
    const { problems, ...entry } = readDeclaration(key, value, "file");
    const id = freeId(entry.id, taken);
    taken.add(id);
    if (id !== entry.id && problems.length === 0) return duplicate(entry, id, fileName);
    const problem = entry.problem === null ? null : `${fileName}: ${entry.problem}`;
    return { ...entry, id, problem };
  };
  return rawEntries(text, fileName).map(entryOf);
}

interface RawEntry {
  readonly key: string;
  readonly value: unknown;
}

function rawEntries(text: string, fileName: string): RawEntry[] {
  const document = parseJson(text, fileName);
  const list = ServerList.safeParse(document);
  if (list.success) {
    return list.data.servers.map((value, index) => ({
      key: idOf(value) ?? `#${index + 1}`,
      value,
    }));
  }
  const map = ServerMap.safeParse(document);
  if (map.success) {
    return Object.entries(map.data.mcpServers).map(([key, value]) => ({
      key,
      value: typeof value === "object" && value !== null ? { id: key, ...value } : value,
    }));
  }
  throw new ServerFileError(
    `${fileName}: must be {"servers": [{"id": …}]} or {"mcpServers": {"<id>": {…}}}, with no other key at the top than "version": 1`,
  );
}

function parseJson(text: string, fileName: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // The parser quotes what it read, and that may be somebody's password.
    const place = /\(line \d+ column \d+\)|at position \d+|end of JSON input/.exec(String(error));
    throw new ServerFileError(
      place === null ? `${fileName}: not valid JSON` : `${fileName}: not valid JSON: ${place[0]}`,
    );
  }
}

function duplicate(entry: ServerEntry, id: string, fileName: string): ServerEntry {
  const problem = `${fileName}: server ${entry.id}: the id is used twice; give each server its own`;
  return { ...entry, id, config: null, problem };
}

function idOf(value: unknown): string | null {
  const hasId = typeof value === "object" && value !== null && "id" in value;
  return hasId && typeof value.id === "string" ? value.id : null;
}

function freeId(id: string, taken: ReadonlySet<string>): string {
  if (!taken.has(id)) return id;
  let n = 2;
  while (taken.has(`${id.slice(0, 20)}-${n}`)) n += 1;
  return `${id.slice(0, 20)}-${n}`;
}
