// Real NATS and Redis, and channels services as processes of their own, on accounts of the loopback channel.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import { DELEGATION } from "@switchyard/contracts/delegation";
import { ensureStreams } from "@switchyard/bus/streams";
import type { RunningServer } from "@switchyard/local-servers/server-process";
import { testDirectory, testNats, testRedis } from "@switchyard/testing/test-servers";
import { testConstants } from "@switchyard/testing/test-constants";

export interface ChannelsWorld {
  readonly natsUrl: string;
  readonly redisUrl: string;
  readonly redis: RunningServer;
  readonly file: string;
  readonly cli: Bus;
  bus(user: string): Promise<Bus>;
  /** Writes channels.json; services that run follow it. */
  write(accounts: Record<string, unknown>): Promise<void>;
  start(env?: Record<string, string>): Promise<ChannelsProcess>;
}

export interface ChannelsProcess {
  readonly lines: readonly string[];
  readonly healthUrl: string;
  /** Ends it with a signal and waits for the end. */
  kill(signal: NodeJS.Signals): Promise<void>;
}

/** Starts NATS and Redis; call it at the top of a file. */
export async function channelsWorld(accounts: Record<string, unknown>): Promise<ChannelsWorld> {
  const [nats, redis, directory] = await Promise.all([testNats(), testRedis(), testDirectory()]);
  const file = join(directory, "channels.json");
  const bus = async (user: string): Promise<Bus> => {
    const made = await connectBus({ delegation: DELEGATION, servers: nats.url, user });
    after(() => made.close());
    return made;
  };
  const cli = await bus("cli");
  await ensureStreams(cli);
  const write = (next: Record<string, unknown>): Promise<void> =>
    writeFile(file, JSON.stringify({ accounts: next }));
  await write(accounts);
  const start = (env: Record<string, string> = {}): Promise<ChannelsProcess> =>
    startProcess({
      YARD_NATS_URL: nats.url,
      YARD_REDIS_URL: redis.url,
      YARD_CHANNELS_FILE: file,
      ...env,
      ...testConstants({ channelsSendMs: 5_000 }, env),
    });
  return { natsUrl: nats.url, redisUrl: redis.url, redis, file, cli, bus, write, start };
}

async function startProcess(env: Record<string, string>): Promise<ChannelsProcess> {
  const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
  const child = spawn(process.execPath, [main], {
    env: {
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      ...env,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited: Promise<unknown> = once(child, "exit");
  after(() => end(child, "SIGKILL", exited));
  const lines: string[] = [];
  const ready = Promise.withResolvers<string>();
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    if (!line.includes('"msg":"service ready"')) return;
    ready.resolve((JSON.parse(line) as { healthUrl: string }).healthUrl); // as libs/service logs it
  });
  exited
    .then(() => ready.reject(new Error(`channels ended early:\n${lines.slice(-5).join("\n")}`)))
    .catch(() => {});
  const healthUrl = await ready.promise;
  return { lines, healthUrl, kill: (signal) => end(child, signal, exited) };
}

async function end(
  child: ChildProcess,
  signal: NodeJS.Signals,
  exited: Promise<unknown>,
): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) child.kill(signal);
  await exited;
}
