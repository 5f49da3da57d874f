import { ServerId, serverIdOf } from "@switchyard/contracts/ids";
import { TransportKind } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { MAX_COMPLETION_TOKENS } from "@switchyard/contracts/agent-runner/model-completion";
import { MAX_LABELS, ToolLabel } from "@switchyard/contracts/policy/policy";
import { RoleName } from "@switchyard/contracts/policy/run-token";
import { z } from "zod";
import { SandboxConfig } from "./sandbox-config.ts";

const MIB = 1024 * 1024;

const Milliseconds = z.int().min(100).max(3_600_000);

const Root = z
  .string()
  .regex(/^(\/|file:\/\/\/)/, "must be an absolute path or a file:/// address")
  .refine((root) => !root.startsWith("file:") || URL.canParse(root), "is not an address");
const ToolGlobs = z.array(z.string().min(1).max(512)).max(1_000);

const orNull = <T extends z.ZodType>(field: T) =>
  field.optional().transform((value) => value ?? null);

/** The limits on a server's sampling when the policy allows it. */
const SamplingLimits = z.strictObject({
  /** Tokens of one answer; a request for more is cut. */
  maxTokens: z.int().min(1).max(MAX_COMPLETION_TOKENS).default(1_024),
  perMinute: z.int().min(0).max(600).default(20),
});
/** A server's declaration, from the file or the bus. */
export const Declaration = z.strictObject({
  id: z.string().optional(),
  name: z.string().min(1).max(200).optional(),
  description: z.string().max(2_000).optional(),
  transport: z.string().optional(),
  /** The key of several MCP clients for `transport`. */
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
        /** False: no `resource` parameter (RFC 8707), which some authorization servers refuse. */
        resource: z.boolean().optional(),
      }),
    ])
    .optional(),
  enabled: z.boolean().default(true),
  /** False: connected by the first call or listing that names the server. */
  autoConnect: z.boolean().default(true),
  // `npx -y` fetches a server at its first start, and several start at once.
  connectTimeoutMs: Milliseconds.default(60_000),
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
  /** `run` and `session`: each has an instance of its own, made at its first call. */
  scope: z.enum(["shared", "session", "run"]).default("shared"),
  /** Instances of a server that is not shared; beyond them calls are refused. */
  maxInstances: z.int().min(1).max(256).default(16),
  /** An instance without calls for so long is ended. */
  instanceIdleMs: z.int().min(100).max(86_400_000).default(600_000),
  /** Null: as the connection shows. Only for Streamable HTTP. */
  stateful: z
    .union([z.literal("auto"), z.boolean()])
    .default("auto")
    .transform((stateful) => (stateful === "auto" ? null : stateful)),
  /** Agents with one of these roles may use it; null is every agent. */
  allowedAgentRoles: orNull(
    z.array(RoleName).min(1, "is empty; leave it out to mean every role").max(64),
  ),
  /** Labels that rules of the policy may name. */
  tags: z
    .array(ToolLabel)
    .max(MAX_LABELS)
    .default([])
    .transform((tags) => [...new Set(tags)].toSorted()),
  /** Globs over the server's own tool names; null is every tool. */
  enabledTools: orNull(ToolGlobs.min(1, "is empty; switch the server off with enabled: false")),
  /** Globs over names of tools that are left out, whatever `enabledTools` says. */
  disabledTools: ToolGlobs.default([]),
  /**
   * Decides about a tool that is listed for the first time, and about one whose definition changed.
   * - `pin-first-use`: the tools of the first listing are approved; later tools and changes are held.
   * - `review`: all are held.
   * - `pin-schema`: as `pin-first-use`, but other descriptions and titles are approved, too.
   * - `pin-new-tools`: as `pin-first-use`, but tools that come later are approved, too.
   */
  trust: z
    .enum(["pin-first-use", "review", "pin-schema", "pin-new-tools"])
    .default("pin-first-use"),
  /**
   * Decides how arguments that do not fit the tool's input schema are treated.
   *
   * - `strict`: the call is refused and not sent, as servers of the official SDK refuse it.
   * - `coerce`: texts that clearly represent the expected number, boolean, list or object are converted, as servers of FastMCP read them; the
   *   policy decides about what is sent. What does not fit then is refused.
   * - `off`: the server alone checks them.
   */
  validateArguments: z.enum(["strict", "coerce", "off"]).default("strict"),
  /** The protocol era for a server that offers 2026-07-28 and does not fully support it. Null: the one that it offers. */
  protocolVersion: orNull(z.enum(["2025-11-25", "2026-07-28"])),
  /** Directories and `file:` addresses that the broker sends to the server as its roots; null is the broker's workspace. */
  roots: orNull(z.array(Root).max(64)),
  sampling: SamplingLimits.prefault({}),
  sandbox: SandboxConfig.optional(),
  /** True lets the server run with the rights of the broker where no sandbox is available. */
  trusted: z.boolean().default(false),
});
export type Declaration = z.output<typeof Declaration>;

/** Returns the problem of a declaration whose fields are each valid. `key` stands for the id in the texts. */
export function problemOf(key: string, entry: Declaration): string | null {
  const id = ServerId.safeParse(key);
  if (entry.id === undefined) return 'missing "id"';
  if (!id.success)
    return `id ${JSON.stringify(key)} ${id.error.issues[0]?.message}; rename it, for example to "${serverIdOf(key) ?? "server"}"`;
  const { transport: written, type } = entry;
  if (written !== undefined && type !== undefined && kindOf(written) !== kindOf(type))
    return '"transport" and "type" disagree; keep one of them';
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
    ? addressProblem(entry)
    : `${foreign.join(", ")} has no meaning for transport ${transport}`;
}

/** Returns the problem for which `fetch` would fail at each attempt; references are checked when they are resolved. */
function addressProblem({ url, headers }: Declaration): string | null {
  const isOpen = url === undefined || url.includes("${");
  if (!isOpen && !/^https?:$/.test(URL.parse(url)?.protocol ?? ""))
    return '"url" must be an http or https address';
  const wrong = Object.keys(headers).find((name) => !/^[\w!#$%&'*+.^`|~-]+$/.test(name));
  return wrong === undefined
    ? null
    : `"headers": ${JSON.stringify(wrong)} is not a name of a header`;
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
          trusted: entry.trusted,
        };
  return Object.entries(present).flatMap(([name, isPresent]) => (isPresent ? [`"${name}"`] : []));
}

/** Returns the transport that it names or implies; null when it implies none. */
export function transportOf(
  entry: Pick<Declaration, "transport" | "type" | "command" | "url">,
): string | null {
  const declared = entry.transport ?? entry.type;
  if (declared !== undefined) return kindOf(declared);
  if (entry.command !== undefined) return "stdio";
  return entry.url === undefined ? null : "http";
}

/** Maps the names of transports in MCP clients. */
const KINDS: Readonly<Record<string, TransportKind>> = {
  "streamable-http": "http",
  streamableHttp: "http",
  streamable_http: "http",
  remote: "http",
  local: "stdio",
};

function kindOf(written: string): string {
  return Object.hasOwn(KINDS, written) ? (KINDS[written] ?? written) : written;
}
