import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { call } from "@switchyard/bus/call";
import {
  readChannelMessages,
  sendChannelMessage,
  submitChannelMessage,
} from "@switchyard/contracts/channels/channels";
import { answerQuestion, listQuestions } from "@switchyard/contracts/agent-runner/run-waits";
import { getRun, requestCancel } from "@switchyard/contracts/agent-runner/runs";
import { deleteSession } from "@switchyard/contracts/agent-runner/sessions";
import { until } from "@switchyard/local-servers/until";
import { testSandbox } from "@switchyard/testing/test-sandbox";
import { connectAsCli } from "../lib/yard-dev.ts";
import { samplePng } from "../lib/sample-files.ts";
import { callOf, errorOf, startStdioWorld, type Json } from "../lib/stdio-world.ts";

const { dev, seed, project, workspace, bridge, connectV2 } = await startStdioWorld();

const OPEN = {
  sessions: { visibility: "all" },
  agentToAgent: { enabled: true, maxPingPongTurns: 1 },
  subagents: { allowAgents: ["*"] },
};
const speaksIn = (session: string, more: Json = {}) =>
  connectV2({ env: { ...bridge(dev.natsUrl, seed), SWITCHYARD_SESSION_KEY: session, ...more } });
const setTools = (settings: Json) =>
  writeFile(join(project, "tools.json"), JSON.stringify(settings));
const keysOf = ({ json }: { json: Json }) =>
  (json["sessions"] as Json[]).map(({ key }) => String(key));

test("tools.json sets how far an agent's session reaches, and a change of it applies at once [F6-F12] [F16] [F41] [X42]", async () => {
  await setTools(OPEN);
  const { client } = await speaksIn("agent:helper:narrow");
  const { client: person } = await connectV2();
  const hello = { sessionKey: "agent:talker:far", message: "hello" };
  await until(async () => (await callOf(client, "sessions_send", hello)).json["status"] === "ok");
  await callOf(client, "sessions_send", { sessionKey: "agent:helper:narrow", message: "x" });
  const { json: child } = await callOf(client, "sessions_spawn", { task: "x" });
  const own = ["agent:helper:narrow", String(child["childSessionKey"])];
  await setTools({ message: { broadcast: { enabled: false } } });
  await until(
    async () => !keysOf(await callOf(client, "sessions_list")).includes(hello.sessionKey),
  );
  assert.deepEqual(keysOf(await callOf(client, "sessions_list")).toSorted(), own.toSorted());
  // A person's own program has no session to be limited to.
  assert.ok(keysOf(await callOf(person, "sessions_list")).includes(hello.sessionKey));
  for (const [tool, args, error] of [
    ["sessions_send", hello, /^Session send visibility .*current session tree/],
    ["sessions_history", { sessionKey: "agent:talker:far" }, /^Session history visibility/],
    [
      "sessions_spawn",
      { task: "x", agentId: "talker" },
      /^agentId is not allowed for sessions_spawn \(allowed: none\)$/,
    ],
  ] as const) {
    const { json } = await callOf(client, tool, args);
    assert.equal(json["status"], "forbidden", tool);
    assert.match(String(json["error"]), error);
  }
  assert.match(
    await errorOf(client, "session_status", { sessionKey: "agent:talker:far" }),
    /Session status visibility is restricted/,
  );
  const { json: agents } = await callOf(client, "agents_list");
  assert.deepEqual(
    [agents["allowAny"], (agents["agents"] as Json[]).map(({ id }) => id)],
    [false, ["helper"]],
  );
  assert.match(
    await errorOf(client, "message_broadcast", { targets: ["user:1"], message: "x" }),
    /Broadcast is disabled\. Set tools\.message\.broadcast\.enabled to true\./,
  );
  const { client: confined } = await speaksIn("agent:helper:narrow", {
    SWITCHYARD_SANDBOXED: "true",
  });
  const sandboxed = await callOf(confined, "sessions_send", hello);
  assert.equal(sandboxed.json["error"], "Session not visible from this sandboxed agent session.");
  const byLabel = { label: "x", agentId: "talker", message: "x" };
  assert.equal(
    (await callOf(confined, "sessions_send", byLabel)).json["error"],
    "Sandboxed sessions_send label lookup is limited to this agent",
  );
  await setTools({ ...OPEN, agentToAgent: {}, subagents: { requireAgentId: true } });
  await until(
    async () => (await callOf(client, "sessions_send", hello)).json["error"],
    (error) => String(error).startsWith("Agent-to-agent messaging is disabled."),
  );
  assert.match(
    String((await callOf(client, "sessions_spawn", { task: "x" })).json["error"]),
    /requires explicit agentId/,
  );
});

test("what a spawned session came to is announced, and the answer goes to the chat [F6] [F9] [complaint-3]", async () => {
  await setTools(OPEN);
  const session = "agent:talker:loopback:direct:bob";
  const { client } = await speaksIn(session);
  await callOf(client, "sessions_send", { sessionKey: session, message: "hello" });
  const task = { task: "look", agentId: "helper", label: "look", cleanup: "delete" };
  const { json } = await until(
    () => callOf(client, "sessions_spawn", task),
    (spawned) => spawned.json["status"] === "accepted",
  );
  assert.match(String(json["note"]), /announced in your session/);
  assert.deepEqual(await saidTo(client, "user:bob"), ["Well said."]);
  const { json: list } = await callOf(client, "sessions_list", { filter: session });
  assert.partialDeepStrictEqual((list["sessions"] as Json[])[0], {
    channel: "loopback",
    lastTo: "bob",
    model: "scripted/plan",
    contextTokens: 64_000,
    systemSent: true,
  });
  const { text } = await callOf(client, "sessions_history", { sessionKey: session });
  assert.match(text, /has ended: look\.[^]*Status: completed successfully[^]*You said look/);
  await until(
    () => callOf(client, "subagents", {}),
    (listed) => listed.json["total"] === 0,
  );
});

test("a spawned session may start others as deep as tools.json says, sees what is below it, and is ended with that [F9] [F12]", async () => {
  const settings = (subagents: Json) =>
    setTools({ sessions: { visibility: "tree" }, subagents: { allowAgents: ["*"], ...subagents } });
  await settings({ maxSpawnDepth: 2, maxChildrenPerAgent: 2 });
  const root = "agent:helper:deep";
  const { client: top } = await speaksIn(root);
  const waiting = (label: string, more: Json = {}) =>
    ({ task: "wait", agentId: "asker", label, ...more }) as const;
  const spawn = async (client: typeof top, args: Json) =>
    (await callOf(client, "sessions_spawn", args)).json;
  const middle = await until(
    () => spawn(top, waiting("middle")),
    ({ status }) => status === "accepted",
  );
  const { client: inMiddle } = await speaksIn(String(middle["childSessionKey"]));
  const leaf = await spawn(inMiddle, waiting("leaf"));
  assert.match(
    String(leaf["childSessionKey"]),
    /^agent:asker:subagent:[0-9a-f]{12}(-[0-9a-f]{10}){2}$/,
  );
  const { client: inLeaf } = await speaksIn(String(leaf["childSessionKey"]));
  assert.deepEqual(await spawn(inLeaf, waiting("deeper")), {
    status: "forbidden",
    error: "sessions_spawn is not allowed at this depth (current depth: 2, max: 2)",
  });
  // At the end it sees the sessions started beside it, and itself.
  const { json: beside } = await callOf(inLeaf, "subagents");
  assert.deepEqual(
    [beside["callerIsSubagent"], (beside["active"] as Json[]).map(({ label }) => label)],
    [true, ["leaf"]],
  );
  const steered = { action: "steer", target: "leaf", message: "x" };
  assert.match(await errorOf(inLeaf, "subagents", steered), /Subagents cannot steer themselves\./);

  const keys = [middle, leaf].map((one) => String(one["childSessionKey"]));
  const seenBy = async (client: typeof top) => keysOf(await callOf(client, "sessions_list"));
  assert.deepEqual((await seenBy(top)).toSorted(), keys.toSorted());
  assert.deepEqual((await seenBy(inMiddle)).toSorted(), keys.toSorted());
  assert.deepEqual(await seenBy(inLeaf), [keys[1]]);

  // The second one ends at once; its children continue without it.
  const ended = await spawn(top, { task: "x", agentId: "helper", label: "ended" });
  const statusOf = async (client: typeof top, label: string) => {
    const { active, recent } = (await callOf(client, "subagents")).json;
    return [...(active as Json[]), ...(recent as Json[])].find((one) => one["label"] === label)?.[
      "status"
    ];
  };
  await until(async () => (await statusOf(top, "ended")) === "done");
  const { client: inEnded } = await speaksIn(String(ended["childSessionKey"]));
  await spawn(inEnded, waiting("left"));
  assert.equal(await statusOf(inEnded, "left"), "running");
  await spawn(top, waiting("second"));
  assert.match(
    String((await spawn(top, waiting("third")))["error"]),
    /has reached max active children for this session \(2\/2\)/,
  );
  const kill = async (target: string) =>
    (await callOf(top, "subagents", { action: "kill", target })).json;
  assert.deepEqual(await kill("ended"), {
    status: "ok",
    action: "kill",
    killed: 0,
    cascadeKilled: 1,
    labels: [],
  });
  await until(async () => (await statusOf(inEnded, "left")) === "killed");
  const { killed, cascadeKilled, labels } = await kill("all");
  assert.deepEqual(
    [killed, cascadeKilled, (labels as string[]).toSorted()],
    [2, 1, ["middle", "second"]],
  );
  await until(async () => (await statusOf(inMiddle, "leaf")) === "killed");
  assert.equal((await kill("all"))["killed"], 0);

  // The session in between is gone, and its children are still found.
  const gone = { task: "x", agentId: "helper", label: "gone", cleanup: "delete" };
  const goneKey = String((await spawn(top, gone))["childSessionKey"]);
  const { client: inGone } = await speaksIn(goneKey);
  const orphan = await spawn(inGone, waiting("orphan"));
  await until(async () => !(await seenBy(top)).includes(goneKey));
  assert.ok((await seenBy(top)).includes(String(orphan["childSessionKey"])));
  assert.equal(await statusOf(inGone, "orphan"), "running");
  assert.partialDeepStrictEqual(await kill("all"), { killed: 0, cascadeKilled: 1 });
  await until(async () => (await statusOf(inGone, "orphan")) === "killed");
});

test("children of a session continue when its own run is cancelled and when it is deleted, and are announced in it [F9] [F12]", async () => {
  await setTools(OPEN);
  const parent = "agent:asker:ends";
  const { client } = await speaksIn(parent);
  const bus = await connectAsCli(dev);
  after(() => bus.close());
  const task = { sessionKey: parent, message: "wait", timeoutSeconds: 0 };
  const run = (await callOf(client, "sessions_send", task)).json;
  const { json: child } = await until(
    () => callOf(client, "sessions_spawn", { task: "wait", label: "goes on" }),
    (spawned) => spawned.json["status"] === "accepted",
  );
  const runs = [run, child].map(({ runId }) => String(runId));
  const asked = await until(
    async () => (await call(bus, listQuestions, {})).questions,
    (all) => runs.every((id) => all.some(({ runId }) => runId === id)),
  );
  const statusOf = async (runId = "") => (await call(bus, getRun, { runId })).run.status;
  await call(bus, requestCancel, { runId: runs[0] ?? "", reason: "test" });
  await until(async () => (await statusOf(runs[0])) === "cancelled");
  assert.equal(await statusOf(runs[1]), "waiting");
  await call(bus, deleteSession, { session: parent });
  assert.equal(await statusOf(runs[1]), "waiting");
  const { active } = (await callOf(client, "subagents")).json;
  assert.deepEqual(
    (active as Json[]).map(({ label }) => label),
    ["goes on"],
  );

  const { callId = "" } = asked.find(({ runId }) => runId === runs[1]) ?? {};
  await call(bus, answerQuestion, { runId: runs[1] ?? "", callId, answer: "blue" });
  await until(async () => (await statusOf(runs[1])) === "succeeded");
  // The session begins anew with it.
  const announced = await until(
    async () => (await call(bus, listQuestions, {})).questions,
    (all) => all.some(({ runId }) => !runs.includes(runId)),
  );
  const next = announced.find(({ runId }) => !runs.includes(runId))?.runId ?? "";
  const { input, session } = (await call(bus, getRun, { runId: next })).run;
  assert.match(JSON.stringify(input), /has ended: goes on\.[^]*The colour is blue/);
  assert.equal(session?.key, parent);
  await call(bus, requestCancel, { runId: next, reason: "end of the test" });
});

test("what asks for a sandbox is started where commands are confined, and refused elsewhere [F9]", async () => {
  await setTools(OPEN);
  const { client } = await connectV2();
  const sandbox = await testSandbox();
  const args = { task: "x", agentId: "helper", sandbox: "require" };
  const { json } = await callOf(client, "sessions_spawn", args);
  if (sandbox.skip === false) assert.equal(json["status"], "accepted");
  else assert.match(String(json["error"]), /sandbox="require" needs a sandboxed target runtime/);
});

test("a child gets the given thinking level, and sessions_list shows it [F6] [F9]", async () => {
  await setTools(OPEN);
  const { client } = await connectV2();
  const args = { task: "x", agentId: "helper", thinking: "high" };
  const { json } = await callOf(client, "sessions_spawn", args);
  const filter = String(json["childSessionKey"]);
  const levels = async () =>
    ((await callOf(client, "sessions_list", { filter })).json["sessions"] as Json[]).map(
      ({ thinkingLevel }) => thinkingLevel,
    );
  assert.deepEqual(await until(levels, ([level]) => typeof level === "string"), ["high"]);
});

test("files of a task are in the workspace of what is started, as far as the policy lets them be written [F9]", async () => {
  await setTools(OPEN);
  const { client } = await speaksIn("agent:helper:files");
  const spawn = (attachments: Json[], task = "look") =>
    callOf(client, "sessions_spawn", { task, attachments });
  const picture = Buffer.from([0, 255, 1]);
  const { json } = await until(
    () =>
      spawn([
        { name: "note.txt", content: "Grüße", mimeType: "text/plain" },
        { name: "pixel 1.txt", content: picture.toString("base64"), encoding: "base64" },
      ]),
    (spawned) => spawned.json["status"] === "accepted",
  );
  const { relDir, ...attached } = json["attachments"] as Json;
  const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
  const note = Buffer.from("Grüße");
  assert.deepEqual(attached, {
    count: 2,
    totalBytes: 10,
    files: [
      { name: "note.txt", bytes: 7, sha256: sha256(note) },
      { name: "pixel 1.txt", bytes: 3, sha256: sha256(picture) },
    ],
  });
  const directory = join(workspace, String(relDir));
  assert.deepEqual(await readFile(join(directory, "note.txt")), note);
  assert.deepEqual(await readFile(join(directory, "pixel 1.txt")), picture);
  const { text } = await until(
    () => callOf(client, "sessions_history", { sessionKey: String(json["childSessionKey"]) }),
    (history) => history.text.includes("You said look"),
  );
  assert.ok(
    text.includes(`in the directory ${String(relDir)} of the workspace: note.txt (7 bytes)`),
  );

  const before = await readdir(join(workspace, "attachments"));
  const file = { name: "a.txt", content: "x" };
  for (const [files, problem, task] of [
    [[file, { name: "a.sh", content: "x" }], /attachments were not given: The policy denies/],
    [
      [file, { name: "b.txt", content: samplePng.toString("base64"), encoding: "base64" }],
      /denies the file b\.txt \(image\/png, 70 bytes\): rule no-attached-pictures denies/,
    ],
    [[file, { ...file, name: "A.TXT" }], /two of them have one name/],
    [[{ ...file, encoding: "base64" }], /the content of a\.txt is not valid base64/],
    [[{ ...file, content: "x".repeat(1_048_577) }], /have 1048577 bytes, and may have 1048576/],
    [[{ ...file, name: "../a.txt" }], /invalid_arguments: .*\/attachments\/0\/name/],
    [[file], /leave no room/, "x".repeat(32_000)],
  ] as const) {
    const { isError, text: refusal } = await spawn([...files], task);
    assert.ok(isError);
    assert.match(refusal, problem);
  }
  assert.deepEqual(await readdir(join(workspace, "attachments")), before);
});

test("attachAs names the directory of the files, inside the workspace alone, where they replace nothing [F9]", async () => {
  await setTools(OPEN);
  const { client } = await speaksIn("agent:helper:mounts");
  const spawn = (mountPath: string, names: string[] = ["a.txt"]) =>
    callOf(client, "sessions_spawn", {
      task: "look",
      attachments: names.map((name) => ({ name, content: `this is ${name}` })),
      attachAs: { mountPath },
    });
  const { json } = await until(
    () => spawn("data/in 1"),
    (spawned) => spawned.json["status"] === "accepted",
  );
  assert.equal((json["attachments"] as Json)["relDir"], "data/in 1");
  const file = join(workspace, "data", "in 1", "a.txt");
  assert.equal(await readFile(file, "utf8"), "this is a.txt");
  const { text } = await until(
    () => callOf(client, "sessions_history", { sessionKey: String(json["childSessionKey"]) }),
    (history) => history.text.includes("You said look"),
  );
  assert.ok(text.includes("in the directory data/in 1 of the workspace: a.txt (13 bytes)"));
  // More files beside it.
  assert.equal((await spawn("data/in 1", ["b.txt"])).json["status"], "accepted");

  await writeFile(file, "mine");
  const outside = join(workspace, "..", "outside");
  await mkdir(outside);
  await symlink(outside, join(workspace, "data", "link"));
  const names = ["", "/tmp/x", "..", "data/../..", "data/.git", "./data", "data/", "a//b", "a\\b"];
  for (const [mountPath, problem] of [
    ...names.map((name) => [name, /invalid_arguments: .*\/attachAs\/mountPath/] as const),
    ["data/in 1", /data\/in 1\/a\.txt is in the workspace already; choose another mountPath/],
    ["data/link", /outside the allowed workspace/],
    ["data/in 1/b.txt", /b\.txt/],
    ["secret", /attachments were not given: The policy denies/],
  ] as const) {
    // Valid files beside an invalid one are not written either.
    const refused = await spawn(mountPath, ["c.txt", "a.txt"]);
    assert.ok(refused.isError, mountPath);
    assert.match(refused.text, problem, mountPath);
  }
  assert.match(
    await errorOf(client, "sessions_spawn", { task: "x", attachAs: { mountPath: "data/new" } }),
    /attachAs says where attachments are put, and there are none; leave it out/,
  );
  assert.equal(await readFile(file, "utf8"), "mine");
  assert.deepEqual((await readdir(join(workspace, "data"))).toSorted(), ["in 1", "link"]);
  assert.deepEqual((await readdir(join(file, ".."))).toSorted(), ["a.txt", "b.txt"]);
  assert.deepEqual(await readdir(outside), []);
});

test("two sessions answer each other behind sessions_send, and the chat of the target session gets the answer [F8]", async () => {
  await setTools(OPEN);
  const { client } = await speaksIn("agent:quiet:desk");
  const target = "agent:talker:loopback:direct:eve";
  const { json } = await until(
    () => callOf(client, "sessions_send", { sessionKey: target, message: "What is new?" }),
    (sent) => sent.json["status"] === "ok",
  );
  assert.deepEqual(
    [json["reply"], json["delivery"]],
    ["Well said.", { status: "pending", mode: "announce" }],
  );
  assert.deepEqual(await saidTo(client, "user:eve"), ["Well said."]);
  const { text } = await callOf(client, "sessions_history", { sessionKey: "agent:quiet:desk" });
  assert.match(text, /agent talker\) answers[^]*Well said\.[^]*"REPLY_SKIP"/);
});

test("messages to another chat are refused or marked as tools.json states, and a failure may be reported as a result [F13] [F16] [F17]", async () => {
  const inChat = (more: Json) =>
    speaksIn("agent:helper:loopback:direct:kim", {
      SWITCHYARD_CHANNEL: "loopback",
      SWITCHYARD_ACCOUNT_ID: "default",
      SWITCHYARD_TO: "user:kim",
      ...more,
    });
  const { client } = await inChat({});
  const settings = { allowWithinProvider: false, allowAcrossProviders: false };
  await setTools({ ...OPEN, message: { crossContext: settings } });
  const elsewhere = { target: "user:lee", message: "psst" };
  const denied = await until(
    () => callOf(client, "message_send", elsewhere),
    ({ isError }) => isError,
  );
  assert.match(denied.text, /Cross-context messaging denied: .*target="user:lee" while bound to/);
  assert.match(
    await errorOf(client, "message_send", { ...elsewhere, channel: "telegram" }),
    /target provider "telegram" while bound to "loopback"/,
  );
  const mixed = { targets: ["user:kim", "user:lee"], message: "to whom it may reach" };
  const { json: partly } = await callOf(client, "message_broadcast", mixed);
  assert.deepEqual(
    (partly["payload"] as { results: Json[] }).results.map(({ to, ok, error = "" }) => [
      to,
      ok,
      /Cross-context messaging denied/.test(String(error)),
    ]),
    [
      ["user:kim", true, false],
      ["user:lee", false, true],
    ],
  );
  const { json: sent } = await callOf(client, "message_send", { ...elsewhere, bestEffort: true });
  assert.deepEqual([sent["ok"], /denied/.test(String(sent["error"]))], [false, true]);
  const here = await callOf(client, "message_send", { target: "user:kim", message: "here" });
  assert.equal(here.isError, false);
  await setTools({ ...OPEN, message: { crossContext: { prefix: "[from {channel}] " } } });
  await until(async () => !(await callOf(client, "message_send", elsewhere)).isError);
  assert.deepEqual((await saidTo(client, "user:lee")).at(-1), "[from loopback] psst");
  const toBoth = {
    targets: ["user:kim", "user:lee", "user:max"],
    message: "<think>x</think>to all",
  };
  const { json: broadcast } = await callOf(client, "message_broadcast", toBoth);
  const { results } = broadcast["payload"] as { results: Json[] };
  assert.deepEqual(
    results.map(({ to, ok }) => [to, ok]),
    toBoth.targets.map((target) => [target, true]),
  );
  for (const to of toBoth.targets)
    assert.equal((await saidTo(client, to)).at(-1), "[from loopback] to all");
  assert.match(
    await errorOf(client, "message_react", { emoji: "👍" }),
    /there is no message that you answer/,
  );
  const [messageId] = (here.json["payload"] as { messageIds: string[] }).messageIds;
  const { client: answering } = await inChat({ SWITCHYARD_MESSAGE_ID: String(messageId) });
  assert.equal((await callOf(answering, "message_react", { emoji: "👍" })).isError, false);
});

test("a run that answers a chat replies, reacts, pins and reads there without a target, and reaches no other chat if tools.json forbids it [F13] [F14] [F17] [F21] [F22]", async () => {
  await setTools({
    message: { crossContext: { allowWithinProvider: false, allowAcrossProviders: false } },
  });
  const cli = await connectAsCli(dev);
  after(() => cli.close());
  const target = { kind: "user" as const, id: "ann" };
  const address = { channel: "loopback", accountId: "default", target };
  const before = await call(cli, sendChannelMessage, { to: address, text: "before" });
  // The loopback channel does not store what people say, so the message that is answered has the id of one that it has.
  const [messageId = ""] = before.messageIds;
  const said = { channel: "loopback" as const, accountId: "default", target, messageId };
  await call(cli, submitChannelMessage, { ...said, sender: { id: "ann" }, text: messageId });
  const read = () => call(cli, readChannelMessages, { address });
  const { messages } = await until(read, (chat) => chat.messages.length >= 3);
  const [first, second, answer] = messages;
  assert.deepEqual([first?.reactions, first?.isPinned], [["👍"], true]);
  assert.equal(second?.text, "here");
  assert.match(
    answer?.text ?? "",
    /action=send target="user:lee" while bound to "user:ann".*action=delete target="user:lee"/s,
  );
});

/** The loopback channel's messages to a person, once there are any. */
async function saidTo(client: Parameters<typeof callOf>[0], channelId: string) {
  const read = async () => {
    const { json } = await callOf(client, "message_read", { channel: "loopback", channelId });
    return (json["payload"] as { messages: Json[] }).messages.map(({ text }) => text);
  };
  return until(read, ({ length }) => length > 0);
}
