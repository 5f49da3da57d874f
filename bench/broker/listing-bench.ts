import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "@nats-io/transport-node";
import { call } from "@switchyard/bus/call";
import { listTools } from "@switchyard/contracts/mcp-broker/mcp";
import type { Bench } from "../lib/bench.ts";
import { compared, type Report } from "../lib/figure.ts";
import { measureInTurn } from "../lib/in-turn.ts";
import { startSwitchyard } from "../lib/switchyard.ts";

const server = "many";
const TOOLS = 1_000;
const GOAL_MS = 20;

/**
 * A list of a thousand tools from the broker's catalogue, filtered by the policy and checked on both
 * sides, against a raw request that is answered with the same bytes.
 */
export async function benchListing(bench: Bench): Promise<Report> {
  const { stage } = bench;
  const { bus } = await startSwitchyard(stage, { runners: 1 });
  const list = () => call(bus, listTools, { server });
  const reply = await list();
  if (reply.tools.length !== TOOLS) throw new Error(`the list has ${reply.tools.length} tools`);

  const file = join(await stage.directory(), "list.json");
  const text = JSON.stringify({ ok: true, value: reply });
  await writeFile(file, text);
  const natsUrl = await stage.nats();
  await stage.process(new URL("raw-list-responder.ts", import.meta.url), {
    BENCH_NATS_URL: natsUrl,
    BENCH_LIST_FILE: file,
  });
  const nc = await connect({ servers: natsUrl });
  stage.onEnd(() => nc.close());
  const raw = async () => (await nc.request("raw.list", "{}", { timeout: 5_000 })).json();

  const { list: ours, raw: baseline } = await measureInTurn(
    { list, raw },
    { ...bench, inFlight: 1 },
  );
  const p50Ms = ours.p50Us / 1_000;
  const size = `${Math.round(Buffer.byteLength(text) / 1024)} KiB`;
  return {
    name: "listing",
    figures: [
      {
        ...compared({
          name: `${TOOLS} tools listed, ${size}, p50`,
          value: p50Ms,
          unit: "ms",
          baseline: baseline.p50Us / 1_000,
        }),
        goal: `< ${GOAL_MS} ms`,
        met: p50Ms < GOAL_MS,
      },
      compared({
        name: `${TOOLS} tools listed, p99`,
        value: ours.p99Us / 1_000,
        unit: "ms",
        baseline: baseline.p99Us / 1_000,
      }),
    ],
  };
}
