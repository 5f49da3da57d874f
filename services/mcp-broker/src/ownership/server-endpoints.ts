import type { Endpoint } from "@switchyard/bus/rpc-endpoint";

/** The subjects of one server: they come with its ownership and go with it. */
export interface ServerEndpoints {
  /** Adds what is answered for every server; before the first one is served. */
  add(open: (server: string) => readonly Endpoint[]): void;
  /** Takes requests for the server from now on. */
  serve(server: string): void;
  /** Takes no more at once. Resolves when those that were taken are answered. */
  leave(server: string): Promise<void>;
}

export function createServerEndpoints(): ServerEndpoints {
  const routes: ((server: string) => readonly Endpoint[])[] = [];
  const served = new Map<string, readonly Endpoint[]>();
  return {
    add: (open) => void routes.push(open),
    serve(server) {
      if (served.has(server)) return;
      served.set(
        server,
        routes.flatMap((open) => open(server)),
      );
    },
    async leave(server) {
      const endpoints = served.get(server) ?? [];
      served.delete(server);
      await Promise.all(endpoints.map((endpoint) => endpoint.stop()));
    },
  };
}
