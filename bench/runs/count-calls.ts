// Preloaded into the services of a benchmark by NODE_OPTIONS: counts JSON texts, timers and writes to sockets, and writes the counts at SIGUSR2.

import { renameSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import timers from "node:timers";
import { isMainThread } from "node:worker_threads";
import { countsFile, type Counts } from "./counts.ts";

if (isMainThread) {
  const counts: Counts = { encodings: 0, decodings: 0, timers: 0, immediates: 0, writes: 0 };
  count(JSON, "stringify", "encodings");
  count(JSON, "parse", "decodings");
  for (const owner of [globalThis, timers]) {
    count(owner, "setTimeout", "timers");
    count(owner, "setInterval", "timers");
    count(owner, "setImmediate", "immediates");
  }
  for (const name of ["_write", "_writev"]) count(Socket.prototype, name, "writes");
  process.on("SIGUSR2", () => {
    const now = { ...counts };
    const draft = `${countsFile(process.pid)}.draft`;
    writeFileSync(draft, JSON.stringify(now));
    // A rename is atomic, so the reader never sees half a file.
    renameSync(draft, countsFile(process.pid));
  });

  function count(owner: object, name: string, counted: keyof Counts): void {
    // The owner's type does not declare that its member is a function.
    const functions = owner as Record<string, (...args: unknown[]) => unknown>;
    const original = functions[name];
    if (original === undefined) throw new Error(`there is no ${name}`);
    const counting = function (this: unknown, ...args: unknown[]): unknown {
      counts[counted] += 1;
      return Reflect.apply(original, this, args);
    };
    functions[name] = Object.assign(counting, original);
  }
}
