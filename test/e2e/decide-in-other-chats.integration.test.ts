import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { call, client } from "@switchyard/bus/call";
import { serve } from "@switchyard/bus/serve";
import {
  answerForUser,
  listQuestionsForChats,
  questionBinding,
} from "@switchyard/contracts/agent-runner/run-waits";
import { admitCall } from "@switchyard/contracts/policy/approval-admission";
import { bindingDigest } from "@switchyard/contracts/policy/approval-record";
import { getApproval } from "@switchyard/contracts/policy/approvals";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import {
  createChatLink,
  listChatLinks,
  revokeChatLink,
} from "@switchyard/contracts/policy/chat-links";
import { checkPolicy } from "@switchyard/contracts/policy/policy";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { startDiscordServer } from "../../services/channels/test-fixtures/discord-server.ts";
import { startMailServer } from "../../services/channels/test-fixtures/mail-server.ts";
import { startSlackServer } from "../../services/channels/test-fixtures/slack-server.ts";
import { holdingRunner } from "../../services/policy/test/holding-runner.ts";
import { startPolicyWorld } from "../../services/policy/test/policy-world.ts";
import { discordChat, slackChat, textOf, type Shown } from "../lib/person-chats.ts";
import { startServiceProcess } from "../lib/service-process.ts";
import { testConstants } from "@switchyard/testing/test-constants";

// Real policy, channels and gateway services; the providers are strict where the real ones are. What is the same for all of them is in
// decide-in-chat.integration.test.ts.

const RULES = `version: 1
rules:
  - { id: writes, effect: allow, approval: session, ttl: 10m, what: { tools: [files.write_file] } }
  - { id: removals, effect: allow, approval: always, what: { tools: [files.remove] } }
`;
const WRITE = mcpToolRef("files", "write_file");
const REMOVE = mcpToolRef("files", "remove");
const ANN = "ann@example.test";

const [slack, discord, mail] = await Promise.all([
  startSlackServer(),
  startDiscordServer(),
  startMailServer(),
]);
after(() => Promise.all([slack.close(), discord.close(), mail.close()]));
const world = await startPolicyWorld({ rules: RULES, teams: ["team-a", "ann"] });
await world.startReplica({ YARD_APPROVERS: "cli,ann" });
const runner = await holdingRunner(await world.connectAs("runner"), world.redis.url);
const broker = client(await world.connectAs("broker"), { checkPolicy, admitCall });
const ann = await world.connectAs("ann");
const cli = await world.connectAs("cli");
const { user, password } = mail.account;
const login = { host: "127.0.0.1", user, password, tls: "none" };
const file = join(await testDirectory(), "channels.json");
const inGroup = (id: string) => [{ target: { kind: "channel", id }, of: ["*"] }];
await writeFile(
  file,
  JSON.stringify({
    accounts: {
      slack: {
        main: {
          caller: "team-a",
          config: {
            botToken: slack.tokens.bot,
            appToken: slack.tokens.app,
            apiUrl: slack.apiUrl,
          },
          approvals: inGroup("C1"),
        },
      },
      discord: {
        main: {
          caller: "team-a",
          config: { token: discord.token, api: discord.api },
          approvals: inGroup("200"),
        },
      },
      email: {
        main: {
          caller: "team-a",
          config: {
            address: user,
            authservId: "mx.test",
            smtp: { ...login, port: mail.smtpPort },
            imap: { ...login, port: mail.imapPort },
          },
        },
      },
    },
  }),
);
const common = async (name: string) => ({
  YARD_NATS_URL: world.natsUrl,
  YARD_NATS_NKEY_FILE: await world.keyFileOf(name),
  YARD_REDIS_URL: world.redis.url,
});
const environment = {
  ...(await common("channels")),
  YARD_CHANNELS_FILE: file,
  ...testConstants({ channelsSendMs: 5_000, channelsLeaseMs: 3_000 }),
  YARD_HTTP_URL: "https://yard.example.com",
};
let channels = await startServiceProcess("channels", environment);

/** Starts the channels service again where an earlier test ended it: one that was started in a test ends with it. */
async function restart(): Promise<void> {
  if (channels.exitCode() !== null) channels = await startServiceProcess("channels", environment);
  await until(() => slack.connected() > 0 && discord.connected() > 0 && mail.connected() > 0);
}

async function killChannels(): Promise<void> {
  process.kill(channels.pid, "SIGKILL");
  await until(() => channels.exitCode() !== null);
  await until(() => slack.connected() + discord.connected() + mail.connected() === 0);
}

const gateway = await startServiceProcess("gateway", await common("gateway"));
const [{ url }] = gateway.lines
  .filter((line) => line.includes('"http ready"'))
  .map((line) => JSON.parse(line) as { url: string }) as [{ url: string }]; // as the gateway logs it
await restart();

const run = { agent: "demo", requester: "team-a", tools: [], ttlSeconds: 600 };
const { token } = await runner.grantRun({ runId: "team-a~run-1", ...run }, { timeoutMs: 30_000 });

/** The request of a provider right before it would send a call. */
async function admit(args: Record<string, unknown>, tool = WRITE) {
  const request = { onBehalfOf: "runner", token, tool, args };
  const { decision, principal } = await broker.checkPolicy(request);
  const facts = { principal, caller: "runner", tool, pin: undefined, args, decision };
  const binding = bindingDigest(facts);
  const callId = canonicalDigest(args);
  return broker.admitCall({ ...request, callId, decision, binding, attempt: randomUUID() });
}

async function waiting(args: Record<string, unknown>, tool = WRITE): Promise<string> {
  const reply = await admit(args, tool);
  assert.ok(reply.outcome === "waiting", JSON.stringify(reply));
  return reply.approvalId;
}

const stateOf = async (id: string) => (await call(cli, getApproval, { id })).approval;
const codeOf = async () => (await call(ann, createChatLink, { asks: true })).code;

const verdictsOf = ({ buttons }: Shown) => {
  const [approve, deny] = buttons.map(({ data }) => data);
  return { approve: approve ?? "", deny: deny ?? "" };
};

for (const chat of [slackChat(slack), discordChat(discord)]) {
  const groupId = chat.groupId ?? "";
  const [mine, other] = chat.people;
  const asked = async (place: string, part: string): Promise<Shown> => {
    const [message] = await until(
      () => chat.messages(place, part),
      (all) => all.length > 0,
    );
    assert.ok(message);
    return message;
  };

  test(`${chat.name}: a linked person decides by a button, which is bound to call, conversation and person`, async () => {
    await restart();
    chat.write(mine, await codeOf());
    await asked(mine, "You decide here as ann");
    const args = { path: `${chat.name}.txt`, content: "@everyone <!channel> ``` *b*" };
    const id = await waiting(args);
    const message = await asked(mine, args.path);
    const group = await asked(groupId, args.path);
    assert.match(message.text, /Approval needed: mcp__files__write_file\nFrom: agent demo/);
    assert.match(message.text, /@everyone <!channel> \\u\{60\}\\u\{60\}\\u\{60\} \*b\*/);
    const { approve, deny } = verdictsOf(message);
    const forged = `${approve.slice(0, -11)}AAAAAAAAAAA`;
    for (const [shown, by, reason] of [
      [message, { from: mine, data: forged }, /unknown here/],
      [message, { from: mine, data: approve, place: groupId }, /unknown here/],
      [message, { from: other, data: approve, place: other }, /unknown here/],
      [group, { from: other, data: verdictsOf(group).approve }, /link this account first/],
    ] as const) {
      assert.match(await chat.press(shown, by), reason);
      assert.equal((await stateOf(id)).state, "pending");
    }
    const said = await chat.press(message, { from: mine, data: approve });
    assert.match(said, new RegExp(`^Approved by ann by ${chat.name}`));
    const { state, decision } = await stateOf(id);
    assert.deepEqual([state, decision?.by, decision?.via], ["approved", "ann", chat.name]);
    assert.equal((await admit(args)).outcome, "passed");
    assert.equal((await admit(args)).outcome, "refused", "one approval is one call");
    for (const place of [mine, groupId]) {
      const changed = await until(
        () => chat.messages(place, args.path),
        (all) => all[0]?.text.includes("Approved by ann") === true,
      );
      assert.deepEqual([changed.length, changed[0]?.buttons], [1, []]);
    }
    for (const data of [approve, deny]) {
      const late = await chat.press(message, { from: mine, data });
      assert.match(late, /Nothing was decided: the call is consumed already/);
    }
  });

  test(`${chat.name}: a call of high risk needs two presses, and a press that a process did not survive is made again`, async () => {
    await restart();
    const id = await waiting({ path: `high-${chat.name}.txt` }, REMOVE);
    const message = await asked(mine, `high-${chat.name}.txt`);
    const press = { from: mine, data: verdictsOf(message).approve };
    assert.match(await chat.press(message, press), /High risk: press Approve again/);
    assert.equal((await stateOf(id)).state, "pending");
    await killChannels();
    await restart();
    await until(async () => (await chat.press(message, press)).startsWith("Approved by ann"));
    assert.equal(chat.messages(mine, `high-${chat.name}.txt`).length, 1);
    assert.equal((await stateOf(id)).decision?.by, "ann");
    const links = (await call(ann, listChatLinks, {})).links.filter(
      ({ channel }) => channel === chat.name,
    );
    assert.deepEqual(
      links.map(({ personId }) => personId),
      [mine],
    );
    await call(ann, revokeChatLink, { id: links[0]?.id ?? "" });
    const next = await waiting({ path: `revoked-${chat.name}.txt` });
    const shown = await asked(groupId, `revoked-${chat.name}.txt`);
    const refused = await chat.press(shown, { from: mine, data: verdictsOf(shown).approve });
    assert.match(refused, /link this account first/);
    assert.equal((await stateOf(next)).state, "pending");
  });
}

const proven = (from: string) => ({
  From: from,
  "Authentication-Results": `mx.test; dmarc=pass header.from=${from.slice(from.indexOf("@") + 1)}`,
});
const mails = (part: string) =>
  mail.received
    .map(({ to, source }) => ({ to, text: textOf(source) }))
    .filter(({ text }) => text.includes(part));

/** The path of the page in the mail about a call. */
async function linkIn(part: string): Promise<string> {
  const [found] = await until(
    () => mails(part),
    (all) => all.length > 0,
  );
  assert.deepEqual(found?.to, [ANN]);
  const [, path = ""] = /https:\/\/yard\.example\.com(\/decide\/\S+)/.exec(found?.text ?? "") ?? [];
  return path;
}

async function page(path: string, form?: Record<string, string>) {
  const origin = { origin: new URL(url).origin };
  const response = await fetch(`${url}${path}`, {
    ...(form && { method: "POST", headers: origin, body: new URLSearchParams(form) }),
  });
  const text = await response.text();
  const press = /name="press" value="([\w-]{22})"/.exec(text)?.[1] ?? "";
  return { status: response.status, text, press, headers: response.headers };
}

test("email: a link shows the exact call, opening it decides nothing, and its form decides once", async () => {
  await restart();
  mail.push({ From: ANN, Subject: await codeOf() }, "");
  mail.push({ ...proven(ANN), Subject: "Link me" }, `${await codeOf()}\r\n\r\n-- \r\nAnn`);
  await until(() => mails("You decide here as ann").length === 1);
  const id = await waiting({ path: "mail.txt", content: "<script>alert(1)</script>" });
  const path = await linkIn("mail.txt");
  assert.match(path, /^\/decide\/[0-9a-f]{32}(?:\.[\w-]{22}){3}$/);
  for (let times = 0; times < 3; times += 1) {
    const { status, text, press } = await page(path);
    assert.equal(status, 200);
    assert.match(text, /Approval needed: mcp__files__write_file/);
    assert.match(text, /&lt;script&gt;alert\(1\)&lt;\/script&gt;/);
    assert.notEqual(press, "");
    assert.equal((await stateOf(id)).state, "pending");
  }
  const { press, headers } = await page(path);
  assert.match(headers.get("content-security-policy") ?? "", /default-src 'none'/);
  assert.equal(headers.get("cache-control"), "no-store");
  // The id of the message, and each of the secret, the facts and the signature behind it.
  const parts = path.split(".");
  const forged = parts.slice(1).map((_, at) => parts.with(at + 1, "A".repeat(22)).join("."));
  for (const [wrong, form, status] of [
    ...forged.map((one) => [one, undefined, 404] as const),
    ...forged.map((one) => [one, { verdict: "approve", press }, 404] as const),
    [parts.slice(0, 2).join("."), undefined, 404],
    [`${path}x`, undefined, 404],
    [path, { verdict: "maybe", press }, 400],
    [path, { verdict: "approve" }, 400],
  ] as const)
    assert.equal((await page(wrong, form)).status, status, wrong);
  const foreign = await fetch(`${url}${path}`, {
    method: "POST",
    headers: { origin: "https://evil.example" },
    body: new URLSearchParams({ verdict: "approve", press }),
  });
  assert.equal(foreign.status, 403);
  assert.equal((await stateOf(id)).state, "pending");
  assert.match((await page(path, { verdict: "approve", press })).text, /Approved by ann by email/);
  const { state, decision } = await stateOf(id);
  assert.deepEqual([state, decision?.by, decision?.via], ["approved", "ann", "email"]);
  for (const again of [await page(path), await page(path, { verdict: "deny", press })]) {
    assert.match(again.text, /Approved by ann by email/);
    assert.equal(again.press, "", "a used link has no form");
  }
  assert.deepEqual((await stateOf(id)).decision, decision);
});

test("email: high risk needs two pages, a replayed form is one press, and an ended link decides nothing", async () => {
  await restart();
  const id = await waiting({ path: "mail-high.txt" }, REMOVE);
  const path = await linkIn("mail-high.txt");
  const first = await page(path);
  for (let times = 0; times < 2; times += 1) {
    const shown = await page(path, { verdict: "approve", press: first.press });
    assert.match(shown.text, /High risk: press Approve again/);
    assert.equal((await stateOf(id)).state, "pending");
  }
  await killChannels();
  await restart();
  const second = await page(path);
  assert.match(
    (await page(path, { verdict: "approve", press: second.press })).text,
    /Approved by ann by email/,
  );
  assert.equal(mails("mail-high.txt").length, 1);
  const next = await waiting({ path: "mail-revoked.txt" });
  const late = await linkIn("mail-revoked.txt");
  const [link] = (await call(ann, listChatLinks, {})).links;
  await call(ann, revokeChatLink, { id: link?.id ?? "" });
  const { press } = await page(late);
  assert.match((await page(late, { verdict: "approve", press })).text, /link this account first/);
  assert.equal((await stateOf(next)).state, "pending");
  const secrets = [late.slice(-22), path.slice(-22), slack.tokens.bot, discord.token];
  for (const line of [...channels.lines, ...gateway.lines])
    for (const secret of secrets) assert.ok(!line.includes(secret), "a log has no secrets");
});

test("email: a question is shown on the page of its link, and answered there once by the linked person", async () => {
  await restart();
  const question = {
    runId: "ann~run-q",
    callId: "run-q:1:0",
    question: "Which <b>colour</b>?",
    options: ["red", "blue"],
    until: new Date(Date.now() + 3_600_000).toISOString(),
  };
  const answers: unknown[] = [];
  const service = serve(await world.connectAs("runner"), {
    name: "runner",
    version: "0.0.0",
    description: "a runner with one question",
    onFault: ({ error }) => assert.fail(String(error)),
  });
  service.handle(listQuestionsForChats, ({ users, watched }) => ({
    questions:
      users.includes("ann") && answers.length === 0
        ? [{ ...question, requester: "ann", agent: "clerk" }]
        : [],
    ended: answers.length === 0 ? [] : watched.map((one) => ({ ...one, by: "ann", isLate: false })),
  }));
  service.handle(answerForUser, ({ user: by, binding, answer }, { fail }) => {
    const { runId, callId } = question;
    if (binding !== questionBinding(question) || answers.length > 0)
      throw fail.no_question("it asks no longer", { runId, callId });
    answers.push([by, answer]);
    return { outcome: "accepted" as const };
  });
  mail.push({ ...proven(ANN), Subject: "Link me" }, await codeOf());
  const path = await linkIn("agent clerk asks");
  const shown = await page(path);
  assert.match(shown.text, /<h1>Answer a question<\/h1>/);
  assert.match(shown.text, /Which &lt;b&gt;colour&lt;\/b&gt;\?/);
  assert.match(shown.text, /<button name="choice" value="1">blue<\/button>/);
  assert.deepEqual(answers, [], "opening the page answers nothing");
  assert.equal((await page(path, { choice: "7", press: shown.press })).status, 200);
  assert.deepEqual(answers, [], "an unknown choice answers nothing");
  const answered = await page(path, { choice: "1", press: shown.press });
  assert.match(answered.text, /Answered by ann/);
  assert.deepEqual(answers, [["ann", "blue"]]);
  const again = await page(path, { choice: "0", press: shown.press });
  assert.match(again.text, /Answered by ann/);
  assert.equal(again.press, "", "a used link has no form");
  assert.deepEqual(answers, [["ann", "blue"]]);
  await service.drain();
});
