import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { startYardDev, type DevInstance } from "../lib/yard-dev.ts";

const directory = await mkdtemp(join(tmpdir(), "yard-webhooks-"));
after(() => rm(directory, { recursive: true, force: true }));
const project = join(directory, "project");
const files = {
  "mcp-servers.json": '{"mcpServers":{}}',
  "policy.yaml": "version: 1\nrules:\n  - { id: all, effect: allow }\n",
  "agents/echo.yaml":
    'name: echo\ndescription: Says what it heard.\nmodel: scripted/plan\nplan:\n  steps: []\n  answer: "Heard: {{/input}}"\n',
};
for (const [name, text] of Object.entries(files)) {
  await mkdir(join(project, name, ".."), { recursive: true });
  await writeFile(join(project, name), text);
}

const start = (env: Record<string, string> = {}) =>
  startYardDev({ project, stateDir: join(directory, "state"), workspace: project, env });

async function ask(dev: DevInstance, path: string, body?: object): Promise<unknown> {
  const token = (await readFile(dev.httpTokenFile, "utf8")).trim();
  const response = await fetch(`${dev.httpUrl}/api/v1${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(60_000),
  });
  return response.json();
}

test("a webhook that hooks.json of a project names starts a run to its end, once for a delivery, as the caller of its key", async () => {
  let dev = await start();
  after(() => dev.stop());
  const made = await ask(dev, "/keys", {
    caller: "shop",
    roles: ["operator"],
    scopes: ["run.start", "agents.get"],
  });
  const { key } = made as { key: string };
  await dev.stop();

  const secret = randomBytes(32);
  const hook = {
    agent: "echo",
    key: "${SHOP_KEY}",
    secrets: ["${SHOP_SECRET}"],
    input: "order {{/body/data/id}} by {{/hook}}",
  };
  await writeFile(join(project, "hooks.json"), JSON.stringify({ hooks: { shop: hook } }));
  dev = await start({
    SHOP_KEY: key,
    SHOP_SECRET: `whsec_${secret.toString("base64")}`,
  });
  const deliver = async (by: Uint8Array): Promise<{ status: number; runId: string }> => {
    const text = JSON.stringify({ type: "order.paid", data: { id: 4711 } });
    const timestamp = String(Math.floor(Date.now() / 1_000));
    const hmac = createHmac("sha256", by).update(`msg_1.${timestamp}.${text}`).digest("base64");
    const response = await fetch(`${dev.httpUrl}/hooks/shop`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "webhook-id": "msg_1",
        "webhook-timestamp": timestamp,
        "webhook-signature": `v1,${hmac}`,
      },
      body: text,
      signal: AbortSignal.timeout(60_000),
    });
    const { runId } = (await response.json()) as { runId: string };
    return { status: response.status, runId };
  };
  assert.equal((await deliver(randomBytes(32))).status, 403);
  const { status, runId } = await deliver(secret);
  assert.equal(status, 202);
  assert.match(runId, /^shop~hook-[0-9a-f]{40}$/);
  assert.deepEqual(await deliver(secret), { status: 202, runId });
  type Shown = { run?: { status: string; output: string; requester: string } };
  let run: Shown["run"];
  await until(async () => {
    ({ run } = (await ask(dev, `/runs/${runId}`)) as Shown);
    return run?.status === "succeeded";
  });
  assert.deepEqual([run?.output, run?.requester], ["Heard: order 4711 by shop", "shop"]);
  assert.deepEqual(await deliver(secret), { status: 202, runId });
  const { runs } = (await ask(dev, "/runs?agent=echo")) as { runs: unknown[] };
  assert.equal(runs.length, 1);
  const lines = JSON.stringify(dev.log);
  for (const canary of [key, secret.toString("base64")]) assert.ok(!lines.includes(canary));
});
