import { cp, rm } from "node:fs/promises";
import { join } from "node:path";

import type { RunningServer } from "@switchyard/local-servers/server-process";
import { testDirectory, testNats } from "./test-servers.ts";

/** A nats-server that is put back to what it stored earlier, as after a crash that took its last writes or a restored disk. */
export interface NatsWithPast {
  readonly url: string;
  /** Saves the current content of the store; the server is restarted for it. */
  remember(): Promise<void>;
  /** Has it forget what it stored since then, and starts it anew at the same address. */
  goBack(): Promise<void>;
}

export async function testNatsWithPast(
  options: { authorization?: string } = {},
): Promise<NatsWithPast> {
  const [dataDir, past] = [await testDirectory(), await testDirectory()];
  const store = join(dataDir, "jetstream");
  let server: RunningServer = await testNats({ ...options, dataDir });
  const { url } = server;
  const whileKilled = async (work: () => Promise<void>): Promise<void> => {
    server.kill("SIGKILL");
    await server.exited;
    await work();
    server = await testNats({ ...options, dataDir, port: Number(new URL(url).port) });
  };
  return {
    url,
    remember: () => whileKilled(() => cp(store, past, { recursive: true })),
    goBack: () =>
      whileKilled(async () => {
        await rm(store, { recursive: true });
        await cp(past, store, { recursive: true, preserveTimestamps: true });
      }),
  };
}
