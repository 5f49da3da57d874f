// Several brokers as processes of their own, on one NATS and one Redis, with one server file.

import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { testDirectory } from "@switchyard/testing/test-servers";
import { testConstants } from "@switchyard/testing/test-constants";

export interface ClusterBroker {
  readonly name: string;
  readonly pid: number;
  readonly process: ChildProcess;
  /** Log lines so far. */
  readonly lines: Record<string, unknown>[];
  readonly exited: Promise<unknown[]>;
}

export interface BrokerCluster {
  readonly serversFile: string;
  /**
   * Starts a broker and waits until it is ready. Its leases are as long as in production: on a busy machine a process may stand still for
   * longer than a short one.
   */
  start(name: string, env?: Record<string, string>): Promise<ClusterBroker>;
  /** The notes that the servers of `witness-server.ts` wrote. */
  notes(): Promise<Note[]>;
  /** Entry of the server file for a witness. */
  readonly bookFile: string;
}

export interface Note {
  readonly note: string;
  /** Process number of the broker that sent it. */
  readonly broker: number;
  readonly self: number;
}

export async function brokerCluster(options: {
  natsUrl: string;
  redisUrl: string;
  servers: (bookFile: string) => readonly object[];
}): Promise<BrokerCluster> {
  const directory = await testDirectory();
  const serversFile = join(directory, "mcp-servers.json");
  const bookFile = join(directory, "book");
  await writeFile(serversFile, JSON.stringify({ servers: options.servers(bookFile) }));
  await writeFile(bookFile, "");
  return {
    serversFile,
    bookFile,
    async start(name, env = {}) {
      const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
      const child = spawn(process.execPath, [main], {
        env: {
          PATH: process.env["PATH"],
          NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
          YARD_NATS_URL: options.natsUrl,
          YARD_REDIS_URL: options.redisUrl,
          YARD_MCP_SERVERS_FILE: serversFile,
          YARD_MCP_SANDBOX: "off",
          YARD_STATE_DIR: join(directory, `state-${name}`),
          ...env,
          ...testConstants({ instance: name, mcpRebalanceMs: 3_600_000 }, env),
        },
        stdio: ["ignore", "pipe", "inherit"],
      });
      const exited = once(child, "exit");
      after(async () => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        child.kill("SIGCONT");
        child.kill("SIGTERM");
        await exited;
      });
      const lines: Record<string, unknown>[] = [];
      const ready = Promise.withResolvers<void>();
      createInterface({ input: child.stdout }).on("line", (text) => {
        const line: Record<string, unknown> = JSON.parse(text);
        lines.push(line);
        if (line["msg"] === "service ready") ready.resolve();
      });
      await Promise.race([
        ready.promise,
        exited.then(() => assert.fail(`broker ${name} ended before it was ready`)),
      ]);
      return { name, pid: child.pid ?? 0, process: child, lines, exited };
    },
    async notes() {
      const text = await readFile(bookFile, "utf8");
      return text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line));
    },
  };
}
