import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { until } from "@switchyard/local-servers/until";
import { startYardDev } from "../lib/yard-dev.ts";

// A program that writes to an agent and gets the answer, over the gateway's one port and a server of its own.

const directory = await mkdtemp(join(tmpdir(), "yard-channel-hooks-"));
const project = join(directory, "project");
await cp(fileURLToPath(new URL("mcp-stdio-project", import.meta.url)), project, {
  recursive: true,
});
const secret = randomBytes(32);
const slackSecret = "a-signing-secret-of-slack";

const answers: { id: string; data: { text?: string; replyToMessageId?: string } }[] = [];
let failures = 2;
const receiver = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    failures -= 1;
    if (failures >= 0) {
      response.writeHead(503).end();
      return;
    }
    const { data } = JSON.parse(Buffer.concat(chunks).toString()) as (typeof answers)[number];
    answers.push({ id: String(request.headers["webhook-id"]), data });
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
}).listen(0, "127.0.0.1");
await once(receiver, "listening");
const { port } = receiver.address() as AddressInfo; // it listens on TCP
const account = { caller: "cli", agent: "helper", reply: "on" };
const config = {
  inbound: { secrets: ["${HOOK_SECRET}"] },
  outbound: { url: `http://127.0.0.1:${port}/`, secret: "${HOOK_SECRET}" },
};
await writeFile(
  join(project, "channels.json"),
  JSON.stringify({
    accounts: {
      webhook: {
        ci: { ...account, direct: { policy: "allowlist", allow: ["builder"] }, config },
      },
      slack: { team: { ...account, config: { botToken: "xoxb-1", signingSecret: slackSecret } } },
    },
  }),
);
const dev = await startYardDev({
  project,
  stateDir: join(directory, "state"),
  env: {
    HOOK_SECRET: `whsec_${secret.toString("base64")}`,
    YARD_CHANNELS_ALLOW_PRIVATE_HOSTS: "loopback",
  },
});
after(async () => {
  await dev.stop();
  receiver.closeAllConnections();
  receiver.close();
  await rm(directory, { recursive: true, force: true });
});

async function post(
  path: string,
  value: object,
  { id = "d1", key = secret }: { id?: string; key?: Buffer } = {},
) {
  const body = JSON.stringify(value);
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  const response = await fetch(`${dev.httpUrl}${path}`, {
    method: "POST",
    body,
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": `v1,${signature}`,
    },
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

test("a program writes to an agent and gets its answer once, however often either side repeats [N3] [N8]", async () => {
  const message = { sender: { id: "builder" }, text: "build 7 failed" };
  for (const outcome of ["stored", "known"]) {
    const taken = await post("/hooks/webhook/ci", message);
    assert.deepEqual([taken.status, taken.body["outcome"]], [202, outcome]);
  }
  await until(
    () => answers,
    (all) => all.length > 0,
  );
  await post("/hooks/webhook/ci", { ...message, text: "and 8" }, { id: "d2" });
  await until(
    () => answers,
    (all) => all.some(({ data }) => data.text?.includes("and 8")),
  );
  assert.deepEqual(
    answers.map(({ data }) => [data.text, data.replyToMessageId]),
    [
      ["You said build 7 failed", "d1"],
      ["You said and 8", "d2"],
    ],
  );
});

test("the account's rules, its secrets and its name decide, and no other sender learns of it", async () => {
  const stranger = await post(
    "/hooks/webhook/ci",
    { sender: { id: "eve" }, text: "hi" },
    { id: "d3" },
  );
  assert.deepEqual([stranger.status, stranger.body["outcome"]], [202, "ignored"]);
  const forged = await post(
    "/hooks/webhook/ci",
    { sender: { id: "builder" }, text: "hi" },
    {
      id: "d4",
      key: randomBytes(32),
    },
  );
  assert.equal(forged.status, 401);
  for (const path of ["/hooks/webhook/other", "/hooks/loopback/default", "/hooks/UPPER/x"]) {
    const { status, body } = await post(path, {});
    assert.deepEqual([status, body["code"]], [404, "unknown_hook"], path);
  }
});

test("Slack's Events API comes in over the gateway, too", async () => {
  const body = JSON.stringify({ type: "url_verification", challenge: "3eZbrw1a" });
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signature = createHmac("sha256", slackSecret)
    .update(`v0:${timestamp}:${body}`)
    .digest("hex");
  const asked = (signed: string) =>
    fetch(`${dev.httpUrl}/hooks/slack/team`, {
      method: "POST",
      body,
      headers: {
        "content-type": "application/json",
        "x-slack-request-timestamp": timestamp,
        "x-slack-signature": `v0=${signed}`,
      },
    });
  const answer = await asked(signature);
  assert.deepEqual([answer.status, await answer.text()], [200, "3eZbrw1a"]);
  assert.equal((await asked("0".repeat(64))).status, 401);
});
