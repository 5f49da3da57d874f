import type { Client, Transport } from "@modelcontextprotocol/client";
import type { ServerConfig } from "../declaration/server-config.ts";
import type { InspectedListing } from "./inspect-tools.ts";
import { readToolList, type ToolListing } from "./read-tool-list.ts";
import { createToolPages } from "./tool-pages.ts";

/** Looks at what a server lists and compares it with its pins. Rejects only when the signal aborts. */
export type InspectListing = (
  config: ServerConfig,
  listing: ToolListing,
  signal?: AbortSignal,
) => Promise<InspectedListing>;

/** The tools of a server as they are now, and for how long, in milliseconds, as far as it says. */
export interface ReadTools {
  readonly listing: InspectedListing;
  readonly ttlMs: number | null;
}

/** Makes what reads the tools of a connected server, one reading at a time. */
export function createToolReader(options: {
  client: Client;
  transport: Transport;
  config: ServerConfig;
  inspect: InspectListing;
}): () => Promise<ReadTools> {
  const { client, transport, config, inspect } = options;
  // A server without tools is not asked; many answer that with an error.
  if (client.getServerCapabilities()?.tools === undefined)
    return () => Promise.resolve({ listing: { tools: [], problems: [] }, ttlMs: null });
  const readPage = createToolPages(client, transport);
  return async () => {
    // For all pages together: a server that lets each of them wait would be read for hours.
    const until = performance.now() + config.connectTimeoutMs;
    const listing = await readToolList((cursor) =>
      readPage(cursor, Math.max(1, until - performance.now())),
    );
    return { listing: await inspect(config, listing), ttlMs: listing.ttlMs };
  };
}
