import { ProtocolError, SdkError, type ServerCapabilities } from "@modelcontextprotocol/client";
import type { ServerConfig } from "@switchyard/project/mcp-servers/server-config";
import type { InspectedListing } from "./inspect-tools.ts";
import { readToolList, type ToolListing } from "./read-tool-list.ts";

/** Inspects a server's tools and compares them with its pins. Rejects only when the signal aborts. */
export type InspectListing = (
  config: ServerConfig,
  listing: ToolListing,
  signal?: AbortSignal,
) => Promise<InspectedListing>;

/** The tools of a server as they are now, and for how long, in milliseconds, if the server gives a time. */
export interface ReadTools {
  readonly listing: InspectedListing;
  readonly ttlMs: number | null;
}

/** Requests one page of the tool list as the server wrote it. Rejects with what the protocol layer throws. */
export type RequestPage = (
  params: { readonly cursor?: string },
  timeoutMs: number,
) => Promise<unknown>;

/** The time in which a server that declares no tools has to answer whether it has some. */
const UNDECLARED_MS = 5_000;

/** Makes what reads the tools of a connected server, one reading at a time. */
export function createToolReader(options: {
  capabilities: ServerCapabilities;
  requestPage: RequestPage;
  config: ServerConfig;
  inspect: InspectListing;
}): () => Promise<ReadTools> {
  const { capabilities, requestPage, config, inspect } = options;
  const isDeclared = capabilities.tools !== undefined;
  // A server with other features and without tools is not queried; many answer that with an error.
  if (!isDeclared && Object.keys(capabilities).length > 0)
    return () => Promise.resolve({ listing: { tools: [], problems: [] }, ttlMs: null });
  const read = async (limitMs: number): Promise<ReadTools> => {
    // One time limit for all pages together: a server that delays each of them would be read for hours.
    const until = performance.now() + limitMs;
    const listing = await readToolList((cursor) =>
      requestPage(cursor === undefined ? {} : { cursor }, Math.max(1, until - performance.now())),
    );
    return { listing: await inspect(config, listing), ttlMs: listing.ttlMs };
  };
  if (isDeclared) return () => read(config.connectTimeoutMs);
  return async () => {
    try {
      return await read(Math.min(UNDECLARED_MS, config.connectTimeoutMs / 3));
    } catch (error) {
      const isNone = error instanceof ProtocolError || error instanceof SdkError;
      if (!isNone) throw error;
      const problem = `the server has no tools: its initialize result declares no capabilities, and tools/list failed: ${error.message}`;
      return { listing: { tools: [], problems: [problem] }, ttlMs: null };
    }
  };
}
