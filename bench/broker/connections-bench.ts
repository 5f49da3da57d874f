import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { setTimeout as delay } from "node:timers/promises";
import { call } from "@switchyard/bus/call";
import { listServers } from "@switchyard/contracts/mcp-broker/mcp-servers";
import type { Bench } from "../lib/bench.ts";
import type { Report } from "../lib/figure.ts";
import { brokerStage } from "./broker-process.ts";

const server = fileURLToPath(new URL("small-echo-server.ts", import.meta.url));

/** Resident memory of a broker with many idle stdio servers, beside one with none. */
export async function benchConnections({ stage, rounds, windowMs }: Bench): Promise<Report> {
  const count = rounds > 1 ? 100 : 10;
  const empty = await brokerStage(stage, []);
  const emptyKiB = await settledKiB((await empty.start("empty")).pid, windowMs);
  const servers = Array.from({ length: count }, (_, n) => ({
    id: `echo-${n}`,
    command: process.execPath,
    args: [server],
    // All of them start at the same moment.
    connectTimeoutMs: 120_000,
  }));
  const { cli, start } = await brokerStage(stage, servers);
  const { pid } = await start("full");
  while ((await connected()) < count) await delay(100);
  const fullKiB = await settledKiB(pid, windowMs);
  return {
    name: "broker-connections",
    figures: [
      {
        name: `memory of a broker with ${count} connected servers, against none`,
        value: fullKiB / 1_024,
        unit: "MiB",
        baseline: emptyKiB / 1_024,
        ratio: fullKiB / emptyKiB,
      },
      {
        name: `memory for each idle connection, of ${count}`,
        value: (fullKiB - emptyKiB) / count,
        unit: "KiB",
      },
    ],
  };

  async function connected(): Promise<number> {
    const reply = await call(cli, listServers, {});
    return reply.servers.filter(({ status }) => status === "connected").length;
  }
}

/** The minimum of several samples: garbage that waits for its collection is no need. */
async function settledKiB(pid: number, windowMs: number): Promise<number> {
  const looks: number[] = [];
  for (let look = 0; look < 5; look += 1) {
    await delay(windowMs);
    looks.push(await residentKiB(pid));
  }
  return Math.min(...looks);
}

async function residentKiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const found = /^VmRSS:\s+(\d+) kB$/m.exec(status);
  if (found === null) throw new Error(`process ${pid} reports no VmRSS`);
  return Number(found[1]);
}
