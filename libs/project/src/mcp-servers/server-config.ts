import type {
  ServerDeclaration,
  ServerOrigin,
  TransportKind,
} from "@switchyard/contracts/mcp-servers";
import type { Declaration } from "./declaration.ts";
import type { ServerSandbox } from "./sandbox-config.ts";

/**
 * One MCP server, checked, with the defaults in. `${VAR}` references are still in place:
 * they are resolved at every connect and never kept (see `env-references.ts`). A connected server
 * takes over some fields as they change (see `live-fields.ts`), so they are read where they count.
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
  /** Null: as the broker does with servers whose entry does not say. */
  readonly sandbox: ServerSandbox | "off" | null;
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
  /** True when the requests of a login name the server as their resource (RFC 8707). */
  readonly namesResource: boolean;
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
