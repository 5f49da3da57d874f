import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import { serve } from "@switchyard/bus/serve";
import { ensureStreams } from "@switchyard/bus/streams";
import { checkPolicy } from "@switchyard/contracts/policy/policy";
import type { Stage } from "../lib/stage.ts";

/** NATS, Redis, a policy that allows everything, and a client: the minimum for brokers alone. */
export interface BrokerStage {
  readonly cli: Bus;
  /** Starts a broker of its own name on the stage's servers, and waits until it is ready. */
  readonly start: (name: string) => Promise<BrokerProcess>;
}

export interface BrokerProcess {
  readonly pid: number;
  /** Ends it with SIGKILL. */
  kill(): Promise<void>;
}

const main = fileURLToPath(new URL("../../services/mcp-broker/src/main.ts", import.meta.url));

export async function brokerStage(
  stage: Stage,
  servers: readonly object[],
  env: Record<string, string> = {},
): Promise<BrokerStage> {
  const [natsUrl, redisUrl, directory] = await Promise.all([
    stage.nats(),
    stage.redis(),
    stage.directory(),
  ]);
  const serversFile = join(directory, "mcp-servers.json");
  await writeFile(serversFile, JSON.stringify({ servers }));
  const [cli, policy] = await Promise.all([busOf("cli"), busOf("policy")]);
  await ensureStreams(cli);
  allowEverything(policy);
  await policy.flush();
  return { cli, start };

  async function busOf(user: string): Promise<Bus> {
    const bus = await connectBus({ servers: natsUrl, user });
    stage.onEnd(() => bus.close());
    return bus;
  }

  async function start(name: string): Promise<BrokerProcess> {
    const child = spawn(process.execPath, [main], {
      env: {
        PATH: process.env["PATH"],
        YARD_NATS_URL: natsUrl,
        YARD_REDIS_URL: redisUrl,
        YARD_MCP_SERVERS_FILE: serversFile,
        YARD_MCP_SANDBOX: "off",
        YARD_STATE_DIR: join(directory, name),
        ...env,
      },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const exited = once(child, "exit");
    stage.onEnd(async () => {
      child.kill("SIGTERM");
      if (child.exitCode === null && child.signalCode === null) await exited;
    });
    for await (const line of createInterface({ input: child.stdout })) {
      if (JSON.parse(line).msg === "service ready") break;
    }
    child.stdout.resume();
    if (child.pid === undefined) throw new Error("the broker has no process");
    return {
      pid: child.pid,
      async kill() {
        child.kill("SIGKILL");
        await exited;
      },
    };
  }
}

function allowEverything(bus: Bus): void {
  const service = serve(bus, {
    name: "policy",
    version: "0.0.0",
    description: "Allows everything",
    onFault: ({ error }) => console.error(error),
  });
  service.handle(checkPolicy, ({ onBehalfOf }) => ({
    decision: {
      effect: "allow" as const,
      rule: "everything",
      reason: "benchmark",
      policyDigest: `sha256:${"0".repeat(64)}`,
    },
    principal: { user: onBehalfOf, agent: null, runId: null },
  }));
}
