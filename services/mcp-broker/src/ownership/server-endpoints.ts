import type { Endpoint } from "@switchyard/bus/rpc-endpoint";

export type ServerEndpoints = ReturnType<typeof createServerEndpoints>;

/** The subjects of one server: they come with its ownership and go with it. */
export function createServerEndpoints() {
  const routes: ((server: string) => readonly Endpoint[])[] = [];
  const served = new Map<string, readonly Endpoint[]>();
  const leaving = new Map<string, Promise<unknown>>();
  return {
    /** Adds what is answered for every server; before the first one is served. */
    add: (open: (server: string) => readonly Endpoint[]) => void routes.push(open),
    /** Takes requests for the server from now on. */
    serve(server: string): void {
      if (served.has(server)) return;
      served.set(
        server,
        routes.flatMap((open) => open(server)),
      );
    },
    /** Accepts no further requests from now on. Resolves when the accepted ones are answered. */
    async leave(server: string): Promise<void> {
      const endpoints = served.get(server) ?? [];
      served.delete(server);
      const before = leaving.get(server);
      const ended = Promise.all([before, ...endpoints.map((endpoint) => endpoint.stop())]);
      leaving.set(server, ended);
      await ended.finally(() => leaving.get(server) === ended && leaving.delete(server));
    },
  };
}
