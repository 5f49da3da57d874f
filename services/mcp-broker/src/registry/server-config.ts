import { ServerId } from "@switchyard/contracts/ids";
import {
  TransportKind,
  type ServerDeclaration,
  type ServerOrigin,
} from "@switchyard/contracts/mcp";
import { MAX_LABELS, ToolLabel } from "@switchyard/contracts/policy";
import { RoleName } from "@switchyard/contracts/run-token";
import { z } from "zod";
import { isRecord } from "../json-record.ts";
import type { Sandbox } from "@switchyard/service/process/sandbox";
import { SandboxConfig } from "../process/sandbox.ts";
import { SamplingLimits } from "./sampling-limits.ts";

/**
 * One MCP server, checked, with the defaults in. `${VAR}` references are still in place:
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
  /** `run` and `session`: each has an instance of its own, made at its first call. */
  readonly scope: "shared" | "session" | "run";
  /** Instances of a server that is not shared; beyond them calls are refused. */
  readonly maxInstances: number;
  /** An instance without calls for so long is ended. */
  readonly instanceIdleMs: number;
  /** Null: as the connection shows. Only for Streamable HTTP. */
  readonly stateful: boolean | null;
  /** Agents with one of these roles may use it; null is every agent. */
  readonly allowedAgentRoles: readonly string[] | null;
  /** Labels that rules of the policy may name. */
  readonly tags: readonly string[];
  /** Globs over the server's own tool names; null is every tool. */
  readonly enabledTools: readonly string[] | null;
  /** Globs over names of tools that are left out, whatever `enabledTools` says. */
  readonly disabledTools: readonly string[];
  /** What becomes of a tool that is seen for the first time: approved, or held for an approval. */
  readonly trust: TrustSetting;
  /** Directories and `file:` addresses that the server is told as its roots; null is the broker's workspace. */
  readonly roots: readonly string[] | null;
  readonly sampling: SamplingLimits;
  /** Only for an instance of a run or a session: the server's own configuration. */
  readonly instanceOf?: ServerConfig;
}

export type TrustSetting = "pin-first-use" | "review";

export interface StdioConfig {
  readonly transport: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | null;
  /** Null: none. */
  readonly sandbox: Sandbox | null;
}

export interface HttpConfig {
  /** `http` is Streamable HTTP, and `sse` where the server knows only that. */
  readonly transport: "http" | "sse";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** How to log in when the server asks for it; null when it is never to be tried. */
  readonly oauth: OAuthConfig | null;
}

export interface OAuthConfig {
  /** Null: the client is registered with the authorization server when somebody logs in. */
  readonly clientId: string | null;
  readonly clientSecret: string | null;
  /** An https address that describes this client, for servers that take it as the client id. */
  readonly clientMetadataUrl: string | null;
  /** Asked for when the server names no scope. */
  readonly scope: string | null;
}

/** One server: usable, or shown with its problem so that the others still start. */
export interface ServerEntry {
  readonly id: string;
  readonly name: string;
  readonly transport: TransportKind;
  readonly origin: ServerOrigin;
  /** As it was written, for `mcp.get` and for changes of single fields. */
  readonly declaration: ServerDeclaration;
  readonly config: ServerConfig | null;
  readonly problem: string | null;
}

const MIB = 1024 * 1024;

const Milliseconds = z.int().min(100).max(3_600_000);

const Root = z
  .string()
  .regex(/^(\/|file:\/\/\/)/, "must be an absolute path or a file:/// address")
  .refine((root) => !root.startsWith("file:") || URL.canParse(root), "is no address");
const ToolGlobs = z.array(z.string().min(1).max(512)).max(1_000);

const Declaration = z.strictObject({
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
  oauth: z
    .union([
      z.literal(false),
      z.strictObject({
        clientId: z.string().min(1).optional(),
        clientSecret: z.string().min(1).optional(),
        clientMetadataUrl: z.url({ protocol: /^https$/ }).optional(),
        scope: z.string().min(1).optional(),
      }),
    ])
    .optional(),
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
  scope: z.enum(["shared", "session", "run"]).default("shared"),
  maxInstances: z.int().min(1).max(256).default(16),
  instanceIdleMs: z.int().min(100).max(86_400_000).default(600_000),
  stateful: z.union([z.literal("auto"), z.boolean()]).default("auto"),
  allowedAgentRoles: z
    .array(RoleName)
    .min(1, "is empty; leave it out to mean every role")
    .max(64)
    .optional(),
  tags: z.array(ToolLabel).max(MAX_LABELS).default([]),
  enabledTools: ToolGlobs.min(1, "is empty; switch the server off with enabled: false").optional(),
  disabledTools: ToolGlobs.default([]),
  trust: z.enum(["pin-first-use", "review"]).default("pin-first-use"),
  roots: z.array(Root).max(64).optional(),
  sampling: SamplingLimits.prefault({}),
  sandbox: SandboxConfig.optional(),
});
type Declaration = z.output<typeof Declaration>;

/** The largest declaration that is kept, as JSON: it is repeated in messages and in Redis. */
const MAX_DECLARATION_BYTES = 64 * 1024;

/**
 * Checks what somebody declares a server to be. A declaration with problems becomes an entry
 * without a configuration, so that it can be shown. `key` stands in the texts for the id.
 */
export function readDeclaration(
  key: string,
  declaration: unknown,
  origin: ServerOrigin,
): ServerEntry & { readonly problems: readonly string[] } {
  const parsed = Declaration.safeParse(declaration);
  const problems = parsed.success ? problemsOf(key, parsed.data) : zodProblems(parsed.error);
  if (Buffer.byteLength(JSON.stringify(declaration) ?? "") > MAX_DECLARATION_BYTES)
    problems.push(`must have at most ${MAX_DECLARATION_BYTES} bytes as JSON`);
  const shown = parsed.success ? parsed.data : null;
  const transport = shown === null ? guessTransport(declaration) : transportOf(shown);
  const names = {
    id: ServerId.safeParse(key).success ? key : slug(key),
    name: shown?.name ?? key,
  };
  return {
    ...names,
    origin,
    transport: TransportKind.safeParse(transport).data ?? "stdio",
    declaration: isRecord(declaration) ? declaration : {},
    config: shown === null || problems.length > 0 ? null : toConfig(names, shown),
    problem: problems.length === 0 ? null : `server ${key}: ${problems.join("; ")}`,
    problems,
  };
}

function problemsOf(key: string, entry: Declaration): string[] {
  const problem = problemOf(key, entry);
  return problem === null ? [] : [problem];
}

function problemOf(key: string, entry: Declaration): string | null {
  const id = ServerId.safeParse(key);
  if (entry.id === undefined) return 'missing "id"';
  if (!id.success)
    return `id ${JSON.stringify(key)} ${id.error.issues[0]?.message}; rename it, for example to "${slug(key)}"`;
  if (entry.transport !== undefined && entry.type !== undefined && entry.transport !== entry.type) {
    return '"transport" and "type" disagree; keep one of them';
  }
  const transport = transportOf(entry);
  if (transport === null) return "must specify at least 'command' (stdio) or 'url' (http)";
  const known = TransportKind.safeParse(transport);
  if (!known.success) return `Unsupported MCP transport: ${transport}`;
  const kind = known.data;
  if (kind === "stdio" && entry.command === undefined)
    return `MCP stdio server ${key} missing "command" field`;
  if (kind !== "stdio" && entry.url === undefined)
    return `MCP ${kind === "sse" ? "SSE" : "http"} server ${key} missing "url" field`;
  const foreign = foreignFields(kind, entry);
  return foreign.length === 0
    ? null
    : `${foreign.join(", ")} has no meaning for transport ${transport}`;
}

function foreignFields(transport: TransportKind, entry: Declaration): string[] {
  const present =
    transport === "stdio"
      ? {
          url: entry.url !== undefined,
          headers: Object.keys(entry.headers).length > 0,
          oauth: entry.oauth !== undefined,
        }
      : {
          command: entry.command !== undefined,
          args: entry.args.length > 0,
          env: Object.keys(entry.env).length > 0,
          cwd: entry.cwd !== undefined,
          sandbox: entry.sandbox !== undefined,
        };
  return Object.entries(present).flatMap(([name, isPresent]) => (isPresent ? [`"${name}"`] : []));
}

function transportOf(
  entry: Pick<Declaration, "transport" | "type" | "command" | "url">,
): string | null {
  const declared = entry.transport ?? entry.type;
  if (declared === "streamable-http" || declared === "streamableHttp") return "http";
  if (declared !== undefined) return declared;
  if (entry.command !== undefined) return "stdio";
  return entry.url === undefined ? null : "http";
}

function toConfig(entry: { id: string; name: string }, declared: Declaration): ServerConfig {
  const common = {
    ...entry,
    enabled: declared.enabled,
    autoConnect: declared.autoConnect,
    connectTimeoutMs: declared.connectTimeoutMs,
    callTimeoutMs: declared.callTimeoutMs,
    maxConcurrency: declared.maxConcurrency,
    queueLimit: declared.queueLimit,
    maxReconnectAttempts: declared.maxReconnectAttempts,
    maxResultBytes: declared.maxResultBytes,
    scope: declared.scope,
    maxInstances: declared.maxInstances,
    instanceIdleMs: declared.instanceIdleMs,
    stateful: declared.stateful === "auto" ? null : declared.stateful,
    allowedAgentRoles: declared.allowedAgentRoles ?? null,
    tags: [...new Set(declared.tags)].toSorted(),
    enabledTools: declared.enabledTools ?? null,
    disabledTools: declared.disabledTools,
    trust: declared.trust,
    roots: declared.roots ?? null,
    sampling: declared.sampling,
  };
  const transport = transportOf(declared);
  if (transport === "http" || transport === "sse") {
    const { url = "", headers } = declared;
    return { ...common, transport, url, headers, oauth: oauthOf(declared) };
  }
  const { command = "", args, env, cwd = null } = declared;
  const sandbox = declared.sandbox ?? null;
  return { ...common, transport: "stdio", command, args, env, cwd, sandbox };
}

/** A header with a credential of its own leaves no room for another one. */
function oauthOf({ oauth, headers }: Declaration): OAuthConfig | null {
  const isGiven = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  if (oauth === false || (oauth === undefined && isGiven)) return null;
  const {
    clientId = null,
    clientSecret = null,
    clientMetadataUrl = null,
    scope = null,
  } = oauth ?? {};
  return { clientId, clientSecret, clientMetadataUrl, scope };
}

function zodProblems(error: z.ZodError): string[] {
  const texts = error.issues.map((issue) => {
    const path = issue.path.map(String).join(".");
    return path === "" ? issue.message : `"${path}": ${issue.message}`;
  });
  return texts.slice(0, 5);
}

function guessTransport(value: unknown): "stdio" | "http" {
  const hasUrl = typeof value === "object" && value !== null && "url" in value;
  return hasUrl && !("command" in value) ? "http" : "stdio";
}

/** An id that may stand in `mcp.servers` for a name that is none. */
function slug(name: string): string {
  const safe = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  return safe.slice(0, 24) || "unnamed";
}
