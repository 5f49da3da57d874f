import { createServer } from "node:net";
import { ServerStartError } from "./server-process.ts";

/**
 * Ports below those that systems give to outgoing connections and to listeners without a port of their own (Linux from 32768, others from
 * 49152). None of these takes the port of a server while the server starts again, and a client that reconnects to the port meanwhile cannot
 * be connected with itself.
 */
const PORTS = { from: 16_384, to: 32_767 };
const SEARCHES = 1_000;
const START_ATTEMPTS = 5;

/** Ports that this process has tried: it chooses several before the first server listens. */
const chosen = new Set<number>();

/** Returns a port of 127.0.0.1 without a listener, for a program that has to know its port before it starts. Another process may take it first. */
export async function freePort(): Promise<number> {
  for (let search = 1; search <= SEARCHES; search += 1) {
    const port = PORTS.from + Math.floor(Math.random() * (PORTS.to - PORTS.from + 1));
    if (chosen.has(port)) continue;
    // Before the check: two callers at a time must not get one port.
    chosen.add(port);
    if (await isFree(port)) return port;
  }
  throw new Error(
    `found no free port from ${PORTS.from} to ${PORTS.to} on 127.0.0.1 in ${SEARCHES} attempts; end programs that listen there`,
  );
}

/** Starts a server on a free port, and on another one when a different process takes that port first. */
export async function startOnFreePort<T>(start: (port: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start(await freePort());
    } catch (error) {
      const isTaken = error instanceof ServerStartError && /already in use/i.test(error.output);
      if (!isTaken || attempt === START_ATTEMPTS) throw error;
    }
  }
}

/** True when a server can listen on this port of 127.0.0.1 now. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
