import assert from "node:assert/strict";
import { cp, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { call } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { readEvents } from "@switchyard/bus/events";
import { isError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { bundleActivated } from "@switchyard/contracts/policy/policy-bundles";
import { anonymousUser } from "@switchyard/topology/topology";
import { startYardDev } from "../lib/yard-dev.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const directory = await mkdtemp(join(tmpdir(), "yard-e2e-"));
const project = join(directory, "project");
await cp(join(root, "bench/project"), project, { recursive: true });
const dev = await startYardDev({
  project: relative(root, project),
  stateDir: join(directory, "state"),
});
const bus = await connectBus({
  servers: dev.natsUrl,
  user: anonymousUser.name,
  inboxPrefix: anonymousUser.inboxPrefix,
});
after(async () => {
  await bus.close();
  await dev.stop();
  await rm(directory, { recursive: true, force: true });
});

type Answer = "allowed" | "denied";

async function echo(): Promise<Answer> {
  const request = { tool: "echo", args: { message: "hello" } };
  try {
    await call(bus, callTool, request, { tokens: { server: "echo" } });
    return "allowed";
  } catch (error) {
    if (isError(error, callTool, "denied")) return "denied";
    throw error;
  }
}

async function writePolicy(effect: "allow" | "deny"): Promise<void> {
  const file = join(project, "policies/demo.yaml");
  const rule = `{ id: echo, effect: ${effect}, what: { tools: ["mcp__echo__echo"] } }`;
  await writeFile(`${file}.new`, `version: 1\ndefaults: { approval: auto }\nrules:\n  - ${rule}\n`);
  await rename(`${file}.new`, file);
}

/** Keeps the cached decision warm: without pause a client calls the same tool. */
function hammer(): { readonly stop: () => Promise<number> } {
  const over = new AbortController();
  let calls = 0;
  const work = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await echo();
      calls += 1;
    }
  };
  const workers = Promise.all([work(), work(), work(), work()]);
  return {
    async stop() {
      over.abort();
      await workers;
      return calls;
    },
  };
}

async function decisionsFromCache(): Promise<number> {
  const metrics = await dev.metricsOf("broker");
  return Number(/^yard_mcp_decisions_total\{from="cache"[^}]*\} (\d+)$/m.exec(metrics)?.[1] ?? 0);
}

test("a rule change takes effect on the next call after the policy reports it in force, with cached decisions or without [X40]", async () => {
  const ending = new AbortController();
  const news = readEvents(bus, {
    filters: [bundleActivated.subject.replace("{bundle}", "*")],
    from: "now",
    signal: ending.signal,
  });
  // The reading begins with the first `next`, and a change before it would be missed.
  let next = news.next();
  assert.equal(await echo(), "allowed");
  const load = hammer();
  for (const effect of ["deny", "allow", "deny", "allow", "deny"] as const) {
    await writePolicy(effect);
    const { value: activated, done } = await next;
    assert.ok(done !== true);
    // Several at once, and each begins after the event.
    const answers = await Promise.all(Array.from({ length: 8 }, echo));
    assert.deepEqual(new Set(answers), new Set([effect === "allow" ? "allowed" : "denied"]));
    assert.equal(activated.contract?.name, bundleActivated.name);
    next = news.next();
  }
  const calls = await load.stop();
  ending.abort();
  await next;
  const kept = await decisionsFromCache();
  assert.ok(kept > calls / 2, `${kept} of ${calls} calls were answered from kept decisions`);
});
