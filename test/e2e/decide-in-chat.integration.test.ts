import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { call, client } from "@switchyard/bus/call";
import { admitCall } from "@switchyard/contracts/policy/approval-admission";
import { bindingDigest } from "@switchyard/contracts/policy/approval-record";
import { approveCall, getApproval } from "@switchyard/contracts/policy/approvals";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import {
  createChatLink,
  decideInChat,
  listChatLinks,
  revokeChatLink,
} from "@switchyard/contracts/policy/chat-links";
import { isError } from "@switchyard/contracts/errors";
import { checkPolicy } from "@switchyard/contracts/policy/policy";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import {
  createUserKey,
  issueUserToken,
  revokeUserKey,
} from "@switchyard/contracts/policy/user-tokens";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { startTelegramServer } from "../../services/channels/test-fixtures/telegram-server.ts";
import { holdingRunner } from "../../services/policy/test/holding-runner.ts";
import { startPolicyWorld } from "../../services/policy/test/policy-world.ts";
import { startServiceProcess } from "../lib/service-process.ts";
import { testConstants } from "@switchyard/testing/test-constants";

// Real policy and channels services. Telegram is a fake that is strict where the Bot API is.

const RULES = `version: 1
rules:
  - { id: writes, effect: allow, approval: session, ttl: 10m, what: { tools: [files.write_file] } }
  - { id: removals, effect: allow, approval: always, what: { tools: [files.remove] } }
`;
const WRITE = mcpToolRef("files", "write_file");
const REMOVE = mcpToolRef("files", "remove");
const GROUP = -1001;
const ANN = 42;
const EVE = 666;

const telegram = await startTelegramServer();
after(() => telegram.close());
const world = await startPolicyWorld({ rules: RULES, teams: ["team-a", "ann", "ben"] });
const policy = await world.startReplica({ YARD_APPROVERS: "cli,ann" });
const runner = await holdingRunner(await world.connectAs("runner"), world.redis.url);
const broker = client(await world.connectAs("broker"), { checkPolicy, admitCall });
const ann = await world.connectAs("ann");
const teamA = await world.connectAs("team-a");
const cli = await world.connectAs("cli");
const directory = await testDirectory();
const file = join(directory, "channels.json");
await writeFile(
  file,
  JSON.stringify({
    accounts: {
      telegram: {
        main: {
          caller: "team-a",
          config: { token: telegram.token, apiRoot: telegram.apiRoot },
          approvals: [{ target: { kind: "group", id: String(GROUP) } }],
        },
      },
    },
  }),
);
const environment = {
  YARD_NATS_URL: world.natsUrl,
  YARD_NATS_NKEY_FILE: await world.keyFileOf("channels"),
  YARD_REDIS_URL: world.redis.url,
  YARD_CHANNELS_FILE: file,
  ...testConstants({ channelsSendMs: 5_000, channelsLeaseMs: 3_000 }),
  YARD_HTTP_URL: "https://yard.example.com/",
};
let channels = await startServiceProcess("channels", environment);

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

/** The id of a call that waits for a person. */
async function waiting(args: Record<string, unknown>, tool = WRITE): Promise<string> {
  const reply = await admit(args, tool);
  assert.ok(reply.outcome === "waiting", JSON.stringify(reply));
  return reply.approvalId;
}

const messagesIn = (chat: number, part: string) =>
  [...telegram.shown]
    .map(([id, { chat: at, text, buttons }]) => ({ id, chat: at, text: String(text), buttons }))
    .filter(({ chat: at, text }) => at === chat && text.includes(part));

/** The message about a call, when it is there. */
async function asked(chat: number, part: string) {
  const [message] = await until(
    () => messagesIn(chat, part),
    (all) => all.length > 0,
  );
  const [approve, deny] = message?.buttons ?? [];
  assert.ok(message && approve && deny);
  assert.deepEqual([approve.text, deny.text], ["Approve", "Deny"]);
  return { ...message, approve: approve.data, deny: deny.data };
}

async function pressed(messageId: number, by: { from: number; data: string; chat?: number }) {
  const { answer } = telegram.press(messageId, by);
  return until(answer);
}

function write(from: number, text: string, chat = from): void {
  const type = chat < 0 ? "supergroup" : "private";
  const sender = { id: from, is_bot: false, first_name: "Somebody" };
  telegram.push({ message: telegram.message({ from: sender, chat: { id: chat, type } }, text) });
}

const stateOf = async (id: string) => (await call(cli, getApproval, { id })).approval;

async function linked(from: number, code: string): Promise<void> {
  write(from, `/start ${code}`);
  await until(() => messagesIn(from, "You decide here as").length > 0);
}

test("a one-time code links a person in a private chat, once, and an agent never gets it", async () => {
  const shown = await call(ann, createChatLink, { asks: true });
  write(ANN, shown.code, GROUP);
  await until(() => messagesIn(GROUP, "others can read this code").length > 0);
  write(EVE, shown.code);
  await until(() => messagesIn(EVE, "Not linked").length > 0);
  const { code } = await call(ann, createChatLink, { asks: true });
  await linked(ANN, code);
  write(EVE, code);
  await until(() => messagesIn(EVE, "Not linked").length === 2);
  const { links } = await call(ann, listChatLinks, {});
  assert.deepEqual(
    links.map(({ caller, channel, accountId, personId, asks }) => ({
      caller,
      channel,
      accountId,
      personId,
      asks,
    })),
    [{ caller: "ann", channel: "telegram", accountId: "main", personId: String(ANN), asks: true }],
  );
  const id = links[0]?.id ?? "";
  const foreign: unknown = await call(teamA, revokeChatLink, { id }).catch((e: unknown) => e);
  assert.ok(isError(foreign, revokeChatLink, "unknown_link"));
});

test("a button in the private chat decides as the linked caller, and the message shows it", async () => {
  const args = { path: "a.txt", content: "@everyone *b* \u202Egnp.exe" };
  const id = await waiting(args);
  const message = await asked(ANN, "a.txt");
  assert.match(
    message.text,
    /Approval needed: mcp__files__write_file\nFrom: agent demo, for team-a/,
  );
  assert.match(message.text, /@everyone \*b\* \\\\?u\{202e\}gnp\.exe/);
  assert.equal((await pressed(message.id, { from: ANN, data: message.approve })).isAlert, false);
  const { state, decision } = await stateOf(id);
  assert.equal(state, "approved");
  assert.deepEqual(
    [decision?.by, decision?.via, decision?.authenticated],
    ["ann", "telegram", "chat-link"],
  );
  assert.equal((await admit(args)).outcome, "passed");
  assert.equal((await admit(args)).outcome, "refused", "one approval is one call");
  const [changed] = await until(
    () => messagesIn(ANN, "Approved by ann by telegram"),
    (all) => all.length > 0,
  );
  assert.deepEqual(changed?.buttons, []);
  // The group's message shows it, too.
  await until(() => messagesIn(GROUP, "Approved by ann by telegram").length === 1);
  for (const data of [message.approve, message.deny]) {
    const late = await pressed(message.id, { from: ANN, data });
    assert.match(late.text, /Nothing was decided: the call is consumed already/);
  }
});

test("forged, foreign and copied buttons and persons without a link decide nothing", async () => {
  const id = await waiting({ path: "b.txt" });
  const mine = await asked(ANN, "b.txt");
  const ours = await asked(GROUP, "b.txt");
  const forged = `${mine.approve.slice(0, -11)}AAAAAAAAAAA`;
  for (const [messageId, press, reason] of [
    [mine.id, { from: ANN, data: forged }, /unknown here/],
    [mine.id, { from: ANN, data: "yd:x" }, /unknown here/],
    [mine.id, { from: EVE, data: mine.approve }, /these buttons are for another person/],
    [mine.id, { from: ANN, data: mine.approve, chat: GROUP }, /unknown here/],
    [ours.id, { from: EVE, data: ours.approve, chat: EVE }, /unknown here/],
    [ours.id, { from: EVE, data: ours.approve }, /link this account first/],
  ] as const) {
    const answer = await pressed(messageId, press);
    assert.match(answer.text, reason);
    assert.equal(answer.isAlert, true);
    assert.equal((await stateOf(id)).state, "pending");
  }
  // A user of the call is no approver, in a chat either.
  await linked(EVE, (await call(teamA, createChatLink, {})).code);
  const own = await pressed(ours.id, { from: EVE, data: ours.approve });
  assert.match(own.text, /team-a may not decide about this call \(YARD_APPROVERS\)/);
  const identity = { channel: "telegram", accountId: "main", personId: String(ANN) };
  const channelsBus = await world.connectAs("channels");
  const binding = `sha256:${"0".repeat(64)}`;
  const request = { identity, id, binding, verdict: "approve" } as const;
  const other: unknown = await call(channelsBus, decideInChat, request).catch((e: unknown) => e);
  assert.ok(isError(other, decideInChat, "binding_mismatch"));
  assert.equal((await stateOf(id)).state, "pending");
  await pressed(ours.id, { from: ANN, data: ours.deny });
  const { state, decision } = await stateOf(id);
  assert.deepEqual([state, decision?.by], ["denied", "ann"]);
});

test("a call of high risk is approved by two presses, and denied by one", async () => {
  const id = await waiting({ path: "h.txt" }, REMOVE);
  const message = await asked(ANN, "h.txt");
  const first = await pressed(message.id, { from: ANN, data: message.approve });
  assert.match(first.text, /High risk: press Approve again .* to approve mcp__files__remove/);
  assert.equal(first.isAlert, true);
  assert.equal((await stateOf(id)).state, "pending");
  const second = await pressed(message.id, { from: ANN, data: message.approve });
  assert.match(second.text, /^Approved by ann by telegram/);
  const other = await waiting({ path: "i.txt" }, REMOVE);
  const denied = await asked(ANN, "i.txt");
  await pressed(denied.id, { from: ANN, data: denied.deny });
  assert.equal((await stateOf(other)).state, "denied");
});

test("a call that was decided elsewhere is shown so, and a revoked link decides nothing", async () => {
  const id = await waiting({ path: "c.txt" });
  await asked(ANN, "c.txt");
  await call(cli, approveCall, { id });
  await until(() => messagesIn(ANN, "Approved by cli, ").length === 1);
  const second = await waiting({ path: "d.txt" });
  const message = await asked(ANN, "d.txt");
  const [link] = (await call(ann, listChatLinks, {})).links;
  await call(cli, revokeChatLink, { id: link?.id ?? "" });
  const answer = await pressed(message.id, { from: ANN, data: message.approve });
  assert.match(answer.text, /link this account first/);
  assert.equal((await stateOf(second)).state, "pending");
});

test("a link has the roles and scopes of the credential that made it, and ends with it", async () => {
  const gateway = await world.connectAs("gateway");
  const keyOf = async (rights: { roles: ("approver" | "viewer")[]; scopes?: string[] }) => {
    const { key, info } = await call(cli, createUserKey, { caller: "dora", ...rights });
    const { token: userToken } = await call(gateway, issueUserToken, { credential: key });
    const made = await call(gateway, createChatLink, {}, { userToken });
    return { id: info.id, code: made.code };
  };
  const id = await waiting({ path: "e.txt" });
  const message = await asked(GROUP, "e.txt");
  const press = async (from: number) =>
    (await pressed(message.id, { from, data: message.approve })).text;
  await linked(71, (await keyOf({ roles: ["viewer"] })).code);
  assert.match(await press(71), /dora may not decide about this call \(role\)/);
  await linked(72, (await keyOf({ roles: ["approver"], scopes: ["chat-links.*"] })).code);
  assert.match(await press(72), /dora may not decide about this call \(role\)/);
  const revoked = await keyOf({ roles: ["approver"] });
  await linked(73, revoked.code);
  await call(cli, revokeUserKey, { id: revoked.id });
  assert.match(await press(73), /link this account first/);
  await linked(74, (await keyOf({ roles: ["approver"] })).code);
  assert.match(await press(74), /^Approved by dora by telegram/);
  assert.equal((await stateOf(id)).decision?.by, "dora");
});

test("after kills in the middle each call has one message and one decision", async () => {
  await linked(ANN + 1, (await call(ann, createChatLink, { asks: true })).code);
  // The message arrives, and its answer is lost with the process.
  telegram.failNext("sendMessage", { kind: "hang" });
  const id = await waiting({ path: "f.txt" });
  await until(() => messagesIn(GROUP, "f.txt").length + messagesIn(ANN + 1, "f.txt").length > 0);
  process.kill(channels.pid, "SIGKILL");
  await until(() => channels.exitCode() !== null);
  channels = await startServiceProcess("channels", environment);
  const message = await asked(ANN + 1, "f.txt");
  // The decision is made, and the process ends before the press is confirmed.
  telegram.failNext("answerCallbackQuery", { kind: "hang" });
  telegram.press(message.id, { from: ANN + 1, data: message.approve });
  await until(async () => (await stateOf(id)).state === "approved");
  process.kill(channels.pid, "SIGKILL");
  await until(() => channels.exitCode() !== null);
  const before = (await stateOf(id)).decision;
  channels = await startServiceProcess("channels", environment);
  await until(() => messagesIn(ANN + 1, "Approved by ann by telegram").length === 1);
  assert.deepEqual((await stateOf(id)).decision, before);
  // The process may have ended before it sent the other message, and a decided call is not shown anew.
  assert.ok(messagesIn(GROUP, "f.txt").length <= 1);
  assert.equal(messagesIn(ANN + 1, "f.txt").length, 1);
  // While the policy service is away, a press decides nothing, and its answer states so.
  const next = await waiting({ path: "g.txt" });
  const other = await asked(ANN + 1, "g.txt");
  await policy.stop();
  const answer = await pressed(other.id, { from: ANN + 1, data: other.approve });
  assert.match(answer.text, /Nothing was decided: the policy service does not answer/);
  await world.startReplica({ YARD_APPROVERS: "cli,ann" });
  assert.equal((await stateOf(next)).state, "pending");
  await pressed(other.id, { from: ANN + 1, data: other.approve });
  assert.equal((await stateOf(next)).state, "approved");
  const secrets = [telegram.token, other.approve.slice(-11)];
  for (const line of channels.lines)
    for (const secret of secrets) assert.ok(!line.includes(secret), "a log has no secrets");
});
