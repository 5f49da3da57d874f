import type {
  ServerDeclaration,
  ServerOrigin,
  TransportKind,
} from "@switchyard/contracts/mcp-servers";
import type { Sandbox } from "@switchyard/service/process/sandbox";
import type { SamplingLimits } from "./declaration.ts";

/**
 * One MCP server, checked, with the defaults in. `${VAR}` references are still in place:
 * they are resolved at every connect and never kept (see `env-references.ts`). A connected server
 * takes over some fields as they change (see `live-fields.ts`), so they are read where they count.
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
  /** What becomes of a tool that is seen for the first time, and of one whose definition changed. */
  readonly trust: TrustSetting;
  /** Directories and `file:` addresses that the server is told as its roots; null is the broker's workspace. */
  readonly roots: readonly string[] | null;
  readonly sampling: SamplingLimits;
  /** Only for an instance of a run or a session: the server's own configuration. */
  readonly instanceOf?: ServerConfig;
}

/**
 * - `pin-first-use`: the tools of the first listing are approved; one that comes later and a change are held.
 * - `review`: all are held.
 * - `pin-schema`: as `pin-first-use`, but other descriptions and titles are approved, too.
 * - `pin-new-tools`: as `pin-first-use`, but tools that come later are approved, too.
 */
export type TrustSetting = "pin-first-use" | "review" | "pin-schema" | "pin-new-tools";

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
  /** As it was written, in our words, for `mcp.get` and for changes of single fields. */
  readonly declaration: ServerDeclaration;
  readonly config: ServerConfig | null;
  /** True when the file has another entry for it, which a change over the bus stands above. */
  readonly overridesFile?: boolean;
  readonly problem: string | null;
  /** What of it counts for nothing here; it does not keep the server from being used. */
  readonly warnings: readonly string[];
}
