import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { after, test } from "node:test";
import {
  client,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type NewSessionResponse,
  type RequestPermissionRequest,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { yard, yardDev, yardEnvironment } from "../../test-fixtures/yard-process.ts";

const MAIN = join(import.meta.dirname, "..", "main.ts");
const directory = await testDirectory();
const project = join(directory, "project");
const env: NodeJS.ProcessEnv = {
  ...yardEnvironment(join(directory, "state")),
  HOME: directory,
  XDG_CONFIG_HOME: join(directory, "config"),
};
const made = await yard(["init", project, "--template", "team"], env);
assert.equal(made.code, 0, made.stderr);
const agentFile = (name: string, tools: string, plan: string): void =>
  writeFileSync(
    join(project, "agents", `${name}.md`),
    `---\nname: ${name}\ndescription: Agent ${name}.\ntools: [${tools}]\nplan:\n${plan}---\n`,
  );
agentFile(
  "sleeper",
  "wait",
  "  steps:\n    - say: I wait.\n      calls: [{ tool: wait, with: { seconds: 600 }, as: w }]\n  answer: done\n",
);
agentFile(
  "asker",
  "ask_user",
  '  steps:\n    - calls: [{ tool: ask_user, with: { question: Which colour?, options: [red, blue] }, as: said }]\n  answer: "You chose: {{/results/said/text}}"\n',
);
mkdirSync(join(directory, "work"));
const dev = yardDev(["--project", project, "--workspace", join(directory, "work")], env);
await dev.printed("Ctrl-C stops everything");

/** An editor with the agents of `yard acp`. */
function startEditor(decide: (request: RequestPermissionRequest) => string) {
  const child = spawn(process.execPath, [MAIN, "acp", "--agent", "writer"], {
    env,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const updates: SessionUpdate[] = [];
  const asked: RequestPermissionRequest[] = [];
  const connection = client({ name: "test-editor" })
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      asked.push(params);
      return { outcome: { outcome: "selected" as const, optionId: decide(params) } };
    })
    .onNotification(methods.client.session.update, ({ params }) => void updates.push(params.update))
    .connect(
      ndJsonStream(
        Writable.toWeb(child.stdin),
        Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
      ),
    );
  after(async () => {
    child.kill("SIGTERM");
    await exited;
  });
  const { agent } = connection;
  return {
    agent,
    updates,
    asked,
    textOf: (kind: "agent_message_chunk" | "user_message_chunk") =>
      updates
        .map((update) =>
          update.sessionUpdate === kind && update.content.type === "text"
            ? update.content.text
            : "",
        )
        .join(""),
    initialize: () =>
      agent.request(methods.agent.initialize, {
        protocolVersion: PROTOCOL_VERSION,
        clientCapabilities: {},
      }),
    begin: () =>
      agent.request<NewSessionResponse>(methods.agent.session.new, {
        cwd: project,
        mcpServers: [],
      }),
    prompt: (sessionId: string, text: string) =>
      agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] }),
    async leave() {
      child.stdin.end();
      return (await exited)[0] as number | null;
    },
  };
}

test("an editor prompts, sees calls and text, approves, switches agents, answers a question, cancels, and loads the session again", async () => {
  const answers = ["once", "deny", "1"];
  const editor = startEditor(() => answers.shift() ?? "");
  const { agentCapabilities } = await editor.initialize();
  assert.equal(agentCapabilities?.loadSession, true);
  const { sessionId, modes } = await editor.begin();
  assert.equal(modes?.currentModeId, "writer");
  assert.ok(modes.availableModes.some(({ id }) => id === "asker"));

  assert.deepEqual(await editor.prompt(sessionId, "write it"), { stopReason: "end_turn" });
  const [permission] = editor.asked;
  assert.match(String(permission?.toolCall.title), /write_file/);
  assert.deepEqual(
    permission?.options.map(({ kind }) => kind).filter((kind) => kind !== "allow_always"),
    ["allow_once", "reject_once"],
  );
  const cards = editor.updates.filter(({ sessionUpdate }) => sessionUpdate === "tool_call");
  assert.ok(cards.length > 0);
  for (const card of cards) {
    assert.ok(card.sessionUpdate === "tool_call");
    const ends = editor.updates.filter(
      (update) =>
        update.sessionUpdate === "tool_call_update" && update.toolCallId === card.toolCallId,
    );
    assert.equal(ends.length, 1, `${card.title} has one end`);
  }
  const text = editor.textOf("agent_message_chunk");
  assert.equal(text.split("Wrote 23 bytes").length, 2, text);

  assert.deepEqual(await editor.prompt(sessionId, "again"), { stopReason: "end_turn" });
  assert.ok(
    editor.updates.some(
      (update) =>
        update.sessionUpdate === "tool_call_update" &&
        update.status === "failed" &&
        JSON.stringify(update.content).includes("denied in the editor"),
    ),
    JSON.stringify(editor.updates.slice(-6)),
  );

  await editor.agent.request(methods.agent.session.setMode, { sessionId, modeId: "asker" });
  await editor.prompt(sessionId, "ask me");
  assert.match(editor.textOf("agent_message_chunk"), /You chose: blue/);

  await editor.agent.request(methods.agent.session.setMode, { sessionId, modeId: "sleeper" });
  const sleeping = editor.prompt(sessionId, "sleep");
  await until(() => Promise.resolve(editor.textOf("agent_message_chunk").includes("I wait.")));
  await assert.rejects(editor.prompt(sessionId, "too early"), /still at its last prompt/);
  await editor.agent.notify(methods.agent.session.cancel, { sessionId });
  assert.deepEqual(await sleeping, { stopReason: "cancelled" });
  await assert.rejects(
    editor.agent.request(methods.agent.session.setMode, { sessionId, modeId: "nobody" }),
    /there is no agent nobody/,
  );
  assert.equal(await editor.leave(), 0);

  const later = startEditor(() => "");
  await later.initialize();
  await assert.rejects(
    later.agent.request(methods.agent.session.load, {
      sessionId: "acp-unknown",
      cwd: project,
      mcpServers: [],
    }),
    /acp-unknown/,
  );
  await later.agent.request(methods.agent.session.load, {
    sessionId,
    cwd: project,
    mcpServers: [],
  });
  assert.match(later.textOf("user_message_chunk"), /write it/);
  assert.match(later.textOf("agent_message_chunk"), /You chose: blue/);
  assert.equal(await later.leave(), 0);
});

test("an agent that does not exist ends it at once, with the reason on standard error", async () => {
  const { code, stdout, stderr } = await yard(["acp", "--agent", "nobody"], env);
  assert.deepEqual([code, stdout], [3, ""], stderr);
  assert.match(stderr, /Agent 'nobody' not found/);
});
