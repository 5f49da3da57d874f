import { ServerId } from "@switchyard/contracts/ids";
import { z } from "zod";

/**
 * One MCP server as the configuration file declares it. `${VAR}` references are still in place:
 * they are resolved at every connect and never kept (see `env-references.ts`).
 */
export type ServerConfig = CommonConfig & (StdioConfig | HttpConfig);

interface CommonConfig {
  readonly id: string;
  readonly name: string;
  readonly enabled: boolean;
  /** False: connected by the first call or listing that names the server. */
  readonly autoConnect: boolean;
  readonly connectTimeoutMs: number;
  readonly callTimeoutMs: number;
  readonly maxConcurrency: number;
  readonly queueLimit: number;
  readonly maxReconnectAttempts: number;
  readonly maxResultBytes: number;
}

export interface StdioConfig {
  readonly transport: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | null;
}

export interface HttpConfig {
  readonly transport: "http";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** One entry of the file: usable, or shown with its problem so that the others still start. */
export interface ServerEntry {
  readonly id: string;
  readonly name: string;
  readonly transport: "stdio" | "http";
  readonly config: ServerConfig | null;
  readonly problem: string | null;
}

/** The file as a whole cannot be used. */
export class ServerFileError extends Error {
  override readonly name = "ServerFileError";
}

const MIB = 1024 * 1024;

const Milliseconds = z.int().min(100).max(3_600_000);

const FileEntry = z.strictObject({
  id: z.string().optional(),
  name: z.string().min(1).max(200).optional(),
  description: z.string().max(2_000).optional(),
  transport: z.string().optional(),
  /** What several MCP clients call `transport`. */
  type: z.string().optional(),
  command: z.string().min(1).optional(),
  args: z.array(z.string()).default([]),
  env: z.record(z.string().regex(/^[^=\0]+$/), z.string()).default({}),
  cwd: z.string().min(1).optional(),
  url: z.string().min(1).optional(),
  headers: z.record(z.string(), z.string()).default({}),
  enabled: z.boolean().default(true),
  autoConnect: z.boolean().default(true),
  connectTimeoutMs: Milliseconds.default(15_000),
  callTimeoutMs: Milliseconds.default(30_000),
  maxConcurrency: z.int().min(1).max(1_024).default(16),
  queueLimit: z.int().min(0).max(10_000).default(64),
  maxReconnectAttempts: z.int().min(0).max(1_000).default(3),
  // Below the cap of one protocol message, so that a result meets this limit and not that one.
  maxResultBytes: z
    .int()
    .min(1_024)
    .max(8 * MIB)
    .default(4 * MIB),
});
type FileEntry = z.output<typeof FileEntry>;

const ServerList = z.strictObject({ servers: z.array(z.unknown()) });
const ServerMap = z.strictObject({ mcpServers: z.record(z.string(), z.unknown()) });

/**
 * Reads the text of a server file. A bad entry becomes an entry with a problem; only a file that
 * is no JSON, or has neither of the two shapes, is refused with a ServerFileError.
 */
export function parseServerFile(text: string, fileName: string): ServerEntry[] {
  const taken = new Set<string>();
  return rawEntries(text, fileName).map(({ key, value }) => {
    const entry = parseEntry(key, value, fileName);
    const id = freeId(entry.id, taken);
    taken.add(id);
    if (id === entry.id) return entry;
    return duplicate(entry, id, fileName);
  });
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
    `${fileName}: must be {"servers": [{"id": …}]} or {"mcpServers": {"<id>": {…}}}, with no other key at the top`,
  );
}

function parseJson(text: string, fileName: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ServerFileError(`${fileName}: not valid JSON: ${String(error)}`, { cause: error });
  }
}

function parseEntry(key: string, value: unknown, fileName: string): ServerEntry {
  const parsed = FileEntry.safeParse(value);
  const problem = parsed.success ? problemOf(key, parsed.data) : problemsText(parsed.error);
  const shown = parsed.success ? parsed.data : null;
  const transport = shown === null ? guessTransport(value) : transportOf(shown);
  const entry = {
    id: ServerId.safeParse(key).success ? key : slug(key),
    name: shown?.name ?? key,
    transport: transport === "http" ? ("http" as const) : ("stdio" as const),
  };
  if (shown === null || problem !== null) {
    return { ...entry, config: null, problem: `${fileName}: server ${key}: ${problem}` };
  }
  return { ...entry, config: toConfig(entry, shown), problem: null };
}

function problemOf(key: string, entry: FileEntry): string | null {
  const id = ServerId.safeParse(key);
  if (entry.id === undefined) return 'missing "id"';
  if (!id.success)
    return `id ${JSON.stringify(key)} ${id.error.issues[0]?.message}; rename it, for example to "${slug(key)}"`;
  if (entry.transport !== undefined && entry.type !== undefined && entry.transport !== entry.type) {
    return '"transport" and "type" disagree; keep one of them';
  }
  const transport = transportOf(entry);
  if (transport === null) return "must specify at least 'command' (stdio) or 'url' (http)";
  if (transport !== "stdio" && transport !== "http")
    return `Unsupported MCP transport: ${transport}`;
  if (transport === "stdio" && entry.command === undefined)
    return `MCP stdio server ${key} missing "command" field`;
  if (transport === "http" && entry.url === undefined)
    return `MCP http server ${key} missing "url" field`;
  const foreign = foreignFields(transport, entry);
  return foreign.length === 0
    ? null
    : `${foreign.join(", ")} has no meaning for transport ${transport}`;
}

function foreignFields(transport: "stdio" | "http", entry: FileEntry): string[] {
  const present =
    transport === "stdio"
      ? { url: entry.url !== undefined, headers: Object.keys(entry.headers).length > 0 }
      : {
          command: entry.command !== undefined,
          args: entry.args.length > 0,
          env: Object.keys(entry.env).length > 0,
          cwd: entry.cwd !== undefined,
        };
  return Object.entries(present).flatMap(([name, isPresent]) => (isPresent ? [`"${name}"`] : []));
}

function transportOf(
  entry: Pick<FileEntry, "transport" | "type" | "command" | "url">,
): string | null {
  const declared = entry.transport ?? entry.type;
  if (declared === "streamable-http" || declared === "streamableHttp") return "http";
  if (declared !== undefined) return declared;
  if (entry.command !== undefined) return "stdio";
  return entry.url === undefined ? null : "http";
}

function toConfig(entry: { id: string; name: string }, file: FileEntry): ServerConfig {
  const common = {
    ...entry,
    enabled: file.enabled,
    autoConnect: file.autoConnect,
    connectTimeoutMs: file.connectTimeoutMs,
    callTimeoutMs: file.callTimeoutMs,
    maxConcurrency: file.maxConcurrency,
    queueLimit: file.queueLimit,
    maxReconnectAttempts: file.maxReconnectAttempts,
    maxResultBytes: file.maxResultBytes,
  };
  if (transportOf(file) === "http") {
    return { ...common, transport: "http", url: file.url ?? "", headers: file.headers };
  }
  const { command = "", args, env, cwd = null } = file;
  return { ...common, transport: "stdio", command, args, env, cwd };
}

function duplicate(entry: ServerEntry, id: string, fileName: string): ServerEntry {
  const problem = `${fileName}: server ${entry.id}: the id is used twice; give each server its own`;
  return { ...entry, id, config: null, problem: entry.problem ?? problem };
}

function problemsText(error: z.ZodError): string {
  const texts = error.issues.map((issue) => {
    const path = issue.path.map(String).join(".");
    return path === "" ? issue.message : `"${path}": ${issue.message}`;
  });
  return texts.slice(0, 5).join("; ");
}

function guessTransport(value: unknown): "stdio" | "http" {
  const hasUrl = typeof value === "object" && value !== null && "url" in value;
  return hasUrl && !("command" in value) ? "http" : "stdio";
}

function idOf(value: unknown): string | null {
  const hasId = typeof value === "object" && value !== null && "id" in value;
  return hasId && typeof value.id === "string" ? value.id : null;
}

/** An id that may stand in `mcp.servers` for a name that is none. */
function slug(name: string): string {
  const safe = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  return safe.slice(0, 24) || "unnamed";
}

function freeId(id: string, taken: ReadonlySet<string>): string {
  if (!taken.has(id)) return id;
  let n = 2;
  while (taken.has(`${id.slice(0, 20)}-${n}`)) n += 1;
  return `${id.slice(0, 20)}-${n}`;
}
