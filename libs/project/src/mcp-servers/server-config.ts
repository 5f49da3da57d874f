import type {
  ServerDeclaration,
  ServerOrigin,
  TransportKind,
} from "@switchyard/contracts/mcp-broker/mcp-servers";
import type { Declaration } from "./declaration.ts";
import type { ServerSandbox } from "./sandbox-config.ts";

/**
 * One MCP server, checked, with defaults applied. `${VAR}` references are not resolved: they are resolved at every connect and
 * never stored (see `env-references.ts`). A connected server adopts some fields as they change (see `live-fields.ts`), so they
 * are read at each use.
 */
export type ServerConfig = CommonConfig & (StdioConfig | HttpConfig);

interface CommonConfig extends Readonly<
  Omit<Declaration, "id" | "name" | "description" | "type" | keyof StdioConfig | keyof HttpConfig>
> {
  readonly id: string;
  readonly name: string;
  /** Only for an instance of a run or a session: the server's own configuration. */
  readonly instanceOf?: ServerConfig;
}

export type TrustSetting = Declaration["trust"];

export interface StdioConfig {
  readonly transport: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | null;
  /** Null uses the broker's default for servers. */
  readonly sandbox: ServerSandbox | "off" | null;
}

export interface HttpConfig {
  /** `http` is Streamable HTTP, and `sse` where the server supports only that. */
  readonly transport: "http" | "sse";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The login to use when the server requires one; null when none is ever attempted. */
  readonly oauth: OAuthConfig | null;
}

export interface OAuthConfig {
  /** Null: the client is registered with the authorization server at the first login. */
  readonly clientId: string | null;
  readonly clientSecret: string | null;
  /** An https address that describes this client, for servers that accept it as the client id. */
  readonly clientMetadataUrl: string | null;
  /** Requested when the server names no scope. */
  readonly scope: string | null;
  /** True when the requests of a login name the server as their resource (RFC 8707). */
  readonly namesResource: boolean;
}

/** One server: usable, or listed with its problem so that the others still start. */
export interface ServerEntry {
  readonly id: string;
  readonly name: string;
  readonly transport: TransportKind;
  readonly origin: ServerOrigin;
  /** The declaration in our keys, for `mcp.get` and for changes of single fields. */
  readonly declaration: ServerDeclaration;
  readonly config: ServerConfig | null;
  /** True when the file has another entry for it, which a change over the bus overrides. */
  readonly overridesFile?: boolean;
  readonly problem: string | null;
  /** Keys without effect here; they do not prevent the use of the server. */
  readonly warnings: readonly string[];
}
