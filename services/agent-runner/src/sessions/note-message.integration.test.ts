import { call } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { noteInSession } from "@switchyard/contracts/agent-runner/session-delivery";
import {
  getSession,
  sendToSession,
  sessionHistory,
} from "@switchyard/contracts/agent-runner/sessions";
import { testDirectory } from "@switchyard/testing/test-servers";
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import type { z } from "zod";
import { startModelServer } from "../../test-fixtures/model-server.ts";
import { agent, answering, labTool } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";

const model = await startModelServer();
const modelsFile = join(await testDirectory(), "models.json");
const providers = { chat: { type: "openai-compatible", baseURL: `${model.url}/v1` } };
await writeFile(modelsFile, JSON.stringify({ default: "scripted/plan", providers }));
const lab = await startLab();
const { services } = lab;
const team = await connectBus({ servers: lab.nats.url, user: "team-a" });
const channels = await connectBus({ servers: lab.nats.url, user: "channels" });
after(async () => {
  await team.close();
  await channels.close();
});
await lab.runner({ YARD_MODELS_FILE: modelsFile }, { sessionMaxPerOwner: 6 });
services.agents.set("chatter", agent("chatter", { model: "chat/m1" }));
services.agents.set("echo", answering("echo", "you said {{/input}}"));
const calling = { steps: [{ calls: [{ tool: labTool("say"), with: {} }] }], answer: "done" };
services.agents.set("sayer", agent("sayer", { plan: calling }));

const sendIdOf = (n: number) => `snd-${String(n).padStart(32, "0")}`;
const note = async (
  session: string,
  n: number,
  more: Partial<z.input<typeof noteInSession.request>> = {},
) => {
  const sent = { sendId: sendIdOf(n), at: new Date().toISOString(), text: `news ${n}` };
  const to = { owner: "team-a", session, agent: "chatter" };
  return (await call(channels, noteInSession, { ...to, ...sent, ...more })).outcome;
};
const linesOf = async (session: string) => (await call(team, sessionHistory, { session })).messages;
const say = (session: string, message: string, named = "chatter") =>
  call(team, sendToSession, { session, agent: named, message, timeoutSeconds: 30 });

test("a message that was sent to a chat from elsewhere becomes one notice in its session, and the next run gets it [F13]", async () => {
  const about = { tool: "message_send", from: "agent:helper:desk", runId: "task-1" };
  assert.equal(await note("chat", 1, about), "noted");
  assert.equal(await note("chat", 1, about), "known");
  const { session } = await call(team, getSession, { session: "chat" });
  assert.partialDeepStrictEqual(session, {
    owner: "team-a",
    agent: "chatter",
    messages: 1,
    activeRun: null,
    lastRun: null,
  });
  const [line] = await linesOf("chat");
  assert.deepEqual(
    [line?.role, line?.runId, line?.sendId],
    ["notice", "team-a~task-1", sendIdOf(1)],
  );
  const received =
    /^Notice from the runner: this was sent to the people of this chat from session agent:helper:desk with message_send; .*:\nnews 1$/;
  model.answer({ text: ["I see."] }, { text: ["Both."] });
  assert.equal((await say("chat", "What was that?")).reply, "I see.");
  // A second one finds the session, and follows the earlier lines.
  assert.equal(await note("chat", 2, { text: `key sk-${"a1b2c3d4".repeat(4)}` }), "noted");
  await say("chat", "And that?");
  const { messages = [] } = (model.requests.at(-1)?.body ?? {}) as {
    messages?: { role: string; content: string }[];
  };
  const said = messages.filter(({ role }) => role !== "system");
  assert.deepEqual(
    said.map(({ role }) => role),
    ["user", "user", "assistant", "user", "user"],
  );
  assert.match(String(said[0]?.content), received);
  assert.match(String(said[3]?.content), /from elsewhere; .*:\nkey \[redacted\]$/);
});

test("a message that a run sends to the chat of its own session adds no notice there", async () => {
  let during: Promise<string> | undefined;
  services.tools.set("say", () => {
    during = note("own", 3, { runId: "own-1" });
    return during;
  });
  const sent = { session: "own", agent: "sayer", message: "go", runId: "own-1" };
  await call(team, sendToSession, { ...sent, timeoutSeconds: 30 });
  assert.equal(await during, "own");
  // It is repeated when the run is over.
  assert.equal(await note("own", 3, { runId: "own-1" }), "own");
  assert.equal(await note("own", 4, { runId: "own-2" }), "noted");
});

test("notes leave room for users: they begin no session where the owner has many", async () => {
  assert.equal(await note("third", 5), "noted");
  assert.equal(await note("fourth", 6), "full");
  assert.equal(await note("third", 7), "noted");
  assert.equal((await say("fourth", "x", "echo")).reply, "you said x");
  assert.equal(await note("fourth", 6), "noted");
  assert.equal((await linesOf("fourth")).length, 3);
});
