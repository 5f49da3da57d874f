import { call } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { publishCommand } from "@switchyard/bus/publish";
import { forkRun } from "@switchyard/contracts/agent-runner/run-commands";
import {
  getSession,
  patchSession,
  resetSession,
  sendToSession,
} from "@switchyard/contracts/agent-runner/sessions";
import { testDirectory } from "@switchyard/testing/test-servers";
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import type { z } from "zod";
import { startModelServer } from "../../test-fixtures/model-server.ts";
import { agent, skill } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";

const model = await startModelServer();
const modelsFile = join(await testDirectory(), "models.json");
const chat = { type: "openai-compatible", baseURL: `${model.url}/v1` };
await writeFile(modelsFile, JSON.stringify({ default: "scripted/plan", providers: { chat } }));
const lab = await startLab();
const team = await connectBus({ servers: lab.nats.url, user: "team-a" });
after(() => team.close());
await lab.runner({ YARD_MODELS_FILE: modelsFile });

for (const name of ["pdf", "notes"]) lab.services.skills.set(name, skill(name));
const skilled = { model: "chat/m1", skills: ["pdf", "notes"] };
lab.services.agents.set("skilled", agent("skilled", skilled));

/** The model's last request as JSON. */
const given = (): string => JSON.stringify(model.requests.at(-1)?.body);

function say(
  session: string,
  message: string,
  fields: Partial<z.input<typeof sendToSession.request>> = {},
) {
  const asked = { session, message, agent: "skilled", timeoutSeconds: 30, ...fields };
  return call(team, sendToSession, asked);
}

test("a skill that is off in a session is in no request to its model [DR13]", async () => {
  // Off before the first run: the setting is part of the message that begins the session.
  model.answer({ text: ["one"] });
  const first = await say("without", "one", { skillsOff: ["pdf"] });
  assert.equal(first.reply, "one");
  assert.doesNotMatch(given(), /pdf/);
  assert.match(given(), /Do notes\.[^]*<available_skills>[^]*notes: does notes/);
  assert.deepEqual((await call(team, getSession, { session: "without" })).session.skillsOff, [
    "pdf",
  ]);
  // It stays off, also for a model that asks for it by its name.
  model.answer({ calls: [{ id: "c1", name: "skill", args: '{"name":"pdf"}' }] }, { text: ["two"] });
  const second = await say("without", "two");
  assert.equal(second.reply, "two");
  assert.match(given(), /there is no skill pdf; available are/);
  const named = await say("without", "x", { skill: "pdf" });
  assert.deepEqual([named.status, named.error?.code], ["error", "skill_off"]);
  assert.match(named.error?.message ?? "", /the skill pdf is off in this session; switch it on/);
  // A session begun anew under the name has the same settings, and another session has its own.
  const { session } = await call(team, resetSession, { session: "without" });
  assert.deepEqual(session.skillsOff, ["pdf"]);
  model.answer({ text: ["elsewhere"] });
  await say("with", "x");
  assert.match(given(), /Do pdf\./);
  await call(team, patchSession, { session: "without", skillsOff: [] });
  model.answer({ text: ["three"] });
  await say("without", "three");
  assert.match(given(), /Do pdf\.[^]*pdf: does pdf/);
});

test("a skill that is off in a session is off in the runs that its runs start, and in copies of them [DR13]", async () => {
  const task = { agent: "skilled", task: "help me", wait: true };
  model.answer(
    { calls: [{ id: "c1", name: "agent", args: JSON.stringify(task) }] },
    { text: ["helped"] },
    { text: ["done"] },
  );
  const before = model.requests.length;
  const sent = await say("parent", "start one", { skillsOff: ["pdf"], runId: "off-1" });
  assert.equal(sent.reply, "done");
  const received = model.requests.slice(before).map(({ body }) => JSON.stringify(body));
  assert.equal(received.length, 3);
  assert.match(received[1] ?? "", /help me/);
  for (const body of received) assert.match(body, /notes: does notes/);
  for (const body of received) assert.doesNotMatch(body, /pdf/);
  model.answer({ text: ["copied"] });
  await publishCommand(team, forkRun, { runId: "off-1" }, { newRunId: "off-2", fromStep: 1 });
  await lab.eventsUntil("team-a~off-2", "finished");
  assert.doesNotMatch(given(), /pdf/);
  assert.match(given(), /notes: does notes/);
});
