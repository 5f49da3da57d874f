import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "@nats-io/transport-node";
import { call } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { checkPolicy } from "@switchyard/contracts/policy/policy";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { compileBundle } from "@switchyard/rules/bundle/compile-bundle";
import { decide } from "@switchyard/rules/engine/evaluate";
import { planWindows } from "@switchyard/rules/engine/plan-windows";
import { parseBundleFiles } from "@switchyard/rules/bundle/parse-bundle";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { asRunner } from "../../services/policy/test/as-runner.ts";
import { compared, type Figure, type Report } from "../lib/figure.ts";
import { measureInTurn } from "../lib/in-turn.ts";
import { warmUp } from "../lib/measure.ts";
import { startSwitchyard } from "../lib/switchyard.ts";
import type { Bench } from "../lib/bench.ts";
import { approvalFigures } from "./approval-figures.ts";
import { tokenFigure } from "./token-figures.ts";

/** The engine and the verification of tokens by themselves, `policy.check` over the bus against a bare request-reply, and many approvals. */
export async function benchPolicy(bench: Bench): Promise<Report> {
  const engine = [10, 1_000, 10_000].map((rules) => engineFigure(rules, bench.windowMs));
  const token = await tokenFigure(bench.windowMs);
  const windows = [false, true].map((isTemporal) => windowFigure(isTemporal, bench.windowMs));
  return { name: "policy", figures: [...engine, ...windows, token, ...(await roundTrip(bench))] };
}

const DECISIONS_A_SAMPLE = 200;

/** The median time of a decision, in samples of many: one alone is too short for the clock. */
function engineFigure(rules: number, windowMs: number): Figure {
  const bundle = compileBundle(parseBundleFiles(filesOf(rules)));
  const principal = { user: "team-a", agent: "researcher", runId: "r1" };
  const tool = mcpToolRef("server-7", "read_item");
  const args = { path: "docs/index.md", limit: 7 };
  const samples: number[] = [];
  for (const until = performance.now() + windowMs; performance.now() < until;) {
    const started = performance.now();
    for (let n = 0; n < DECISIONS_A_SAMPLE; n += 1) {
      decide(bundle, { principal, layers: null, tool, args });
    }
    samples.push(((performance.now() - started) * 1000) / DECISIONS_A_SAMPLE);
  }
  samples.sort((one, other) => one - other);
  const value = samples[Math.floor(samples.length / 2)] ?? Number.NaN;
  const name = `decision p50, ${rules.toLocaleString("en-US")} rules`;
  const atMost = ENGINE_GOALS.get(rules);
  return atMost === undefined
    ? { name, value, unit: "µs" }
    : { name, value, unit: "µs", goal: `≤ ${atMost} µs`, met: value <= atMost };
}

/** The median time that the search for conditions on earlier calls adds to a decision by 1,000 rules, which have none or a hundred. */
function windowFigure(isTemporal: boolean, windowMs: number): Figure {
  const temporal = Array.from(
    { length: isTemporal ? 100 : 0 },
    (_, n) =>
      `  - { id: window-${n}, effect: deny, what: { tools: ["server-${n}.read_*"] }, when: [{ window: { count: true, per: user, within: 1h, gt: 100 } }] }\n`,
  );
  const files = filesOf(1_000);
  const extra = { file: "windows.yaml", text: `version: 1\nrules:\n${temporal.join("")}` };
  const bundle = compileBundle(parseBundleFiles(isTemporal ? [...files, extra] : files));
  const judged = {
    principal: { user: "team-a", agent: "researcher", runId: "r1" },
    layers: null,
    tool: mcpToolRef("server-7", "read_item"),
    args: { path: "docs/index.md", limit: 7 },
  };
  const samples: number[] = [];
  for (const until = performance.now() + windowMs; performance.now() < until;) {
    const started = performance.now();
    for (let n = 0; n < DECISIONS_A_SAMPLE; n += 1) planWindows(bundle, judged);
    samples.push(((performance.now() - started) * 1000) / DECISIONS_A_SAMPLE);
  }
  samples.sort((one, other) => one - other);
  const value = samples[Math.floor(samples.length / 2)] ?? Number.NaN;
  const name = `search for windows p50, 1,000 rules and ${temporal.length} with windows`;
  return isTemporal
    ? { name, value, unit: "µs" }
    : { name, value, unit: "µs", goal: "≤ 10 µs", met: value <= 10 };
}

/** In microseconds, by the number of rules. */
const ENGINE_GOALS = new Map([
  [1_000, 5],
  [10_000, 50],
]);

/** A file has a megabyte at most. */
function filesOf(rules: number) {
  const texts = Array.from({ length: rules }, (_, n) => rule(n));
  return Array.from({ length: Math.ceil(rules / RULES_A_FILE) }, (_, n) => {
    const part = texts.slice(n * RULES_A_FILE, (n + 1) * RULES_A_FILE);
    return { file: `bench-${n}.yaml`, text: `version: 1\nrules:\n${part.join("")}` };
  });
}

const RULES_A_FILE = 1_000;

/** Rules over a hundred servers, some with conditions, a tenth of them denials. */
function rule(n: number): string {
  const effect = n % 10 === 9 ? "deny" : "allow";
  const when = n % 3 === 0 ? `, when: [{ arg: /limit, op: lte, value: ${n} }]` : "";
  return `  - { id: rule-${n}, effect: ${effect}${effect === "allow" ? ", approval: auto" : ""}, who: { agents: [agent-${n % 50}, researcher] }, what: { tools: ["server-${n % 100}.${effect === "deny" ? "delete" : "read"}_*"] }${when} }\n`;
}

async function roundTrip(bench: Bench): Promise<Figure[]> {
  const { stage, warmUpMs } = bench;
  const { instance } = await startSwitchyard(stage, { runners: 1 });
  const connectAs = async (user: string) => {
    const seed = () =>
      readFile(join(instance.stateDir, `keys/${user}.nk`), "utf8").then((text) => text.trim());
    const connected = await connectBus({ servers: instance.natsUrl, user, nkeySeed: seed });
    stage.onEnd(() => connected.close());
    return connected;
  };
  // Only a tool provider may request decisions.
  const bus = await connectAs("broker");
  const tool = mcpToolRef("echo", "echo");
  const question = { onBehalfOf: "me", tool, args: { message: "hello" } };
  const check = () => call(bus, checkPolicy, question);

  const rawUrl = await stage.nats();
  await stage.process(new URL("../broker/raw-responder.ts", import.meta.url), {
    BENCH_NATS_URL: rawUrl,
    BENCH_REPLY: JSON.stringify(await check()),
  });
  const nc = await connect({ servers: rawUrl });
  stage.onEnd(() => nc.close());
  const raw = async () => {
    const answer = await nc.request("raw.echo", JSON.stringify(question), { timeout: 5_000 });
    if (!answer.json<{ ok: boolean }>().ok) throw new Error("the raw responder failed");
  };

  const operations = { check, raw };
  await warmUp(operations, warmUpMs);
  const figures: Figure[] = [];
  for (const inFlight of [1, 64]) {
    const { check: mine, raw: baseline } = await measureInTurn(operations, { ...bench, inFlight });
    figures.push(
      compared(
        {
          name: `policy.check p50, ${inFlight} in flight`,
          value: mine.p50Us,
          unit: "µs",
          baseline: baseline.p50Us,
        },
        { text: "≤ 1.3×", holds: (ratio) => ratio <= 1.3 },
      ),
      compared({
        name: `policy.check throughput, ${inFlight} in flight`,
        value: mine.perSecond,
        unit: "/s",
        baseline: baseline.perSecond,
      }),
    );
  }
  const password = await readFile(join(instance.stateDir, "keys/runner.redis"), "utf8");
  const url = new URL(instance.redisUrl);
  url.username = "runner";
  const log = createLog({ service: "bench", level: "silent" });
  const claims = { url: url.href, password: password.trim(), name: "bench", log };
  const redis = await connectRedis(claims);
  stage.onEnd(async () => redis.disconnect());
  const runner = asRunner(await connectAs("runner"), redis);
  const users = { broker: bus, runner, cli: await connectAs("cli") };
  return [...figures, ...(await approvalFigures(users))];
}
