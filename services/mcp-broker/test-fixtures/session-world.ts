// The broker's connections without the broker: real servers and processes, real Redis, no bus.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { freePort } from "@switchyard/local-servers/free-port";
import { testDirectory, testRedis } from "@switchyard/testing/test-servers";
import { createLog } from "@switchyard/service/log";
import { connectRedis, type Redis } from "@switchyard/service/redis";
import type { AttemptParts } from "../src/connection/connection-attempt.ts";
import { createSessionOpener } from "../src/connection/open-session.ts";
import type { McpSession } from "../src/connection/mcp-session.ts";
import { createKeyedDigest } from "../src/auth/keyed-digest.ts";
import { createVerdictStore } from "../src/connection/verdict-store.ts";
import { createEgressGuard, parsePrivateHosts } from "@switchyard/service/network/egress-guard";
import { createServerIsolation } from "../src/process/isolate-server.ts";
import { openChildRecords } from "../src/process/child-records.ts";
import { readDeclaration } from "@switchyard/project/mcp-servers/read-declaration";

export interface SessionWorld {
  readonly redis: Redis;
  open(declaration: Declared, options?: OpenOptions): Promise<TestSession>;
}

export interface Declared {
  readonly id: string;
  readonly [field: string]: unknown;
}

export interface OpenOptions extends Partial<Pick<AttemptParts, "hooks" | "loginOf" | "guard">> {
  readonly env?: Readonly<Record<string, string>>;
  /** Addresses that are permitted beside public ones; loopback by default. */
  readonly privateHosts?: string;
  readonly now?: () => number;
  /** The test closes it and nothing else holds it: for tests of what remains of a session. */
  readonly isClosedByTest?: boolean;
  /** The key of the digests that verdicts are stored with. */
  readonly digestKey?: string;
}

export interface TestSession extends McpSession {
  /** Resolves with the reason when the connection ends by itself. */
  readonly lost: Promise<string>;
  /** Problems that did not end the connection. */
  readonly troubles: readonly string[];
  /** Returns the number of times that the list was read again. */
  readonly changes: () => number;
}

/** Call it at the top of a file. */
export async function sessionWorld(): Promise<SessionWorld> {
  const [redisServer, directory] = await Promise.all([testRedis(), testDirectory()]);
  const log = createLog({ service: "test", level: "silent" });
  const redis = await connectRedis({ url: redisServer.url, name: "test", log });
  after(() => redis.disconnect());
  const records = await openChildRecords(directory);
  return {
    redis,
    async open(declaration, options = {}) {
      const {
        env = {},
        privateHosts = "loopback",
        now,
        digestKey,
        isClosedByTest,
        ...more
      } = options;
      const { config, problem } = readDeclaration(declaration.id, declaration, "file");
      if (config === null) throw new Error(problem ?? "no configuration");
      const surroundings = { PATH: process.env["PATH"], ...env };
      const isolate = createServerIsolation({
        env: surroundings,
        stateDir: directory,
        setting: "off",
        ownUsers: false,
        onUnconfined: () => undefined,
      });
      const open = createSessionOpener({
        children: { env: surroundings, records, isolate },
        version: "0.0.0",
        guard: createEgressGuard({
          permitted: parsePrivateHosts(privateHosts),
          setting: "YARD_MCP_ALLOW_PRIVATE_HOSTS",
        }),
        verdicts: createVerdictStore({
          redis,
          now: now ?? Date.now,
          digest: createKeyedDigest(Buffer.from(digestKey ?? "one key")),
          onTrouble: (error) => {
            throw error;
          },
        }),
        ...more,
      });
      const lost = Promise.withResolvers<string>();
      const troubles: string[] = [];
      let changes = 0;
      const session = await open(
        config,
        {
          onLost: lost.resolve,
          onToolsChanged: () => (changes += 1),
          onTrouble: (problem_) => troubles.push(problem_),
        },
        new AbortController().signal,
      );
      if (isClosedByTest !== true) after(() => session.close());
      return { ...session, lost: lost.promise, troubles, changes: () => changes };
    },
  };
}

export interface HttpProgram {
  readonly port: number;
  /** The address with a path. */
  url(path: string): string;
  /** Kills it; resolves when it is gone. */
  kill(): Promise<void>;
}

/** Starts an HTTP server program on a free port (or the one given) and waits until it listens. */
export async function startProgram(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<HttpProgram> {
  const port = Number(env["PORT"] ?? (await freePort()));
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env["PATH"], ...env, PORT: String(port) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  };
  after(kill);
  await listening(child);
  return { port, url: (path) => `http://127.0.0.1:${port}${path}`, kill };
}

/** The reference servers report on stderr, the fixtures print their port. */
async function listening({ stdout, stderr }: ChildProcess): Promise<void> {
  const said: string[] = [];
  const received = [stdout, stderr].map(async (stream) => {
    if (stream === null) throw new Error("unreachable: both are pipes");
    for await (const line of createInterface({ input: stream })) {
      said.push(line);
      if (/listening|running on port|^\d+$/i.test(line)) return;
    }
    throw new Error(`the server ended without listening: ${said.join("\n")}`);
  });
  await Promise.any(received);
  stdout?.resume();
  stderr?.resume();
}
