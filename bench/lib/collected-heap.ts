import { setTimeout as delay } from "node:timers/promises";
import type { DevInstance } from "../../test/lib/yard-dev.ts";

/** Lets the processes of an instance be looked into: its environment, before it starts. */
export const INSPECTED = { NODE_OPTIONS: "--inspect=127.0.0.1:0" } as const;

/** Live bytes of a process's heap, measured when nothing is left to collect. */
export interface HeapWatch {
  liveBytes(): Promise<number>;
  close(): void;
}

/** One collection may free what the next one finds. */
const COLLECTIONS = 3;
const PAUSE_MS = 300;

/** Watches a process of an instance that was started with {@link INSPECTED}. */
export async function watchHeap({ log }: DevInstance, service: string): Promise<HeapWatch> {
  const line = log.find((entry) => entry["service"] === service && debuggerOf(entry) !== null);
  const url = line === undefined ? null : debuggerOf(line);
  if (url === null) throw new Error(`${service} did not say where it can be looked into`);
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve);
    socket.addEventListener("error", () => reject(new Error(`cannot connect to ${url}`)));
  });
  const ask = asker(socket);
  return {
    async liveBytes() {
      for (let time = 0; time < COLLECTIONS; time += 1) {
        await ask("HeapProfiler.collectGarbage");
        await delay(PAUSE_MS);
      }
      return Number((await ask("Runtime.getHeapUsage"))["usedSize"]);
    },
    close: () => socket.close(),
  };
}

function debuggerOf({ msg }: Record<string, unknown>): string | null {
  return /^Debugger listening on (ws:\/\/\S+)$/.exec(String(msg))?.[1] ?? null;
}

type Answer = Record<string, unknown>;

/** Requests of the inspector protocol: https://chromedevtools.github.io/devtools-protocol/v8/ */
function asker(socket: WebSocket): (method: string) => Promise<Answer> {
  const waiting = new Map<number, (answer: Answer) => void>();
  let count = 0;
  socket.addEventListener("message", ({ data }) => {
    const { id, result } = JSON.parse(String(data)) as { id?: number; result?: Answer }; // the protocol's own shape
    if (id !== undefined) waiting.get(id)?.(result ?? {});
  });
  return (method) => {
    count += 1;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    waiting.set(count, resolve);
    socket.send(JSON.stringify({ id: count, method }));
    return promise;
  };
}
