import type { Endpoint } from "@switchyard/bus/rpc-endpoint";

/** One subject per server: each comes with its server and goes with it. */
export interface CallEndpoints {
  /** Serves exactly these servers from now on. */
  serveOnly(servers: readonly string[]): void;
}

export function createCallEndpoints(open: (server: string) => Endpoint): CallEndpoints {
  const endpoints = new Map<string, Endpoint>();
  return {
    serveOnly(servers) {
      for (const [server, endpoint] of endpoints) {
        if (servers.includes(server)) continue;
        endpoints.delete(server);
        // It takes nothing more at once; its calls end with the connection, and nobody waits here.
        void endpoint.stop();
      }
      for (const server of servers) if (!endpoints.has(server)) endpoints.set(server, open(server));
    },
  };
}
