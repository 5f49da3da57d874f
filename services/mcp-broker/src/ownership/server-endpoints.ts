import type { Endpoint } from "@switchyard/bus/rpc-endpoint";

/** The subjects of one server: they come with its ownership and go with it. */
export interface CallEndpoints {
  /** Takes requests for the server from now on. */
  serve(server: string): void;
  /** Takes no more at once. Resolves when those that were taken are answered. */
  leave(server: string): Promise<void>;
}

/**
 * Keeps the endpoints of the servers that this broker answers for. `open` makes every endpoint of
 * one server: whatever an owner alone can answer belongs in its list.
 */
export function createCallEndpoints(open: (server: string) => readonly Endpoint[]): CallEndpoints {
  const served = new Map<string, readonly Endpoint[]>();
  return {
    serve(server) {
      if (!served.has(server)) served.set(server, open(server));
    },
    async leave(server) {
      const endpoints = served.get(server) ?? [];
      served.delete(server);
      await Promise.all(endpoints.map((endpoint) => endpoint.stop()));
    },
  };
}
