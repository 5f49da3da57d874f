import assert from "node:assert/strict";
import { appendFile, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { call } from "@switchyard/bus/call";
import { readChannelMessages, submitChannelMessage } from "@switchyard/contracts/channels/channels";
import { listSessions, resetSession } from "@switchyard/contracts/agent-runner/sessions";
import { until } from "@switchyard/local-servers/until";
import { findCodingClis } from "../../services/agent-runner/test-fixtures/coding-clis.ts";
import { startModelServer } from "../../services/agent-runner/test-fixtures/model-server.ts";
import { busyRunner } from "../lib/busy-runner.ts";
import { connectAsCli, startYardDev } from "../lib/yard-dev.ts";

const AGENT = fileURLToPath(new URL("../../examples/coding-agents/acp-agent.ts", import.meta.url));
// Removed after the instance has stopped, which still reads it.
const directory = await mkdtemp(join(tmpdir(), "switchyard-sent-"));
const [project, workspace] = [join(directory, "project"), join(directory, "work")];
const runtimes = join(directory, "state", "data", "broker", "runtimes");
for (const path of ["agents", "policies"]) await mkdir(join(project, path), { recursive: true });
await mkdir(workspace);

const [real] = await findCodingClis();
const model = await startModelServer();
const codex = {
  type: "runtime",
  cli: real?.tried.cli,
  command: [real !== undefined && "path" in real.program ? real.program.path : "/none"],
  baseURL: real?.tried.baseURL(model.url),
  apiKeyEnv: "TEST_MODEL_KEY",
  sandbox: "off",
};
const script = { type: "runtime", cli: "acp", command: [process.execPath, AGENT], sandbox: "off" };
const files = {
  "mcp-servers.json": { mcpServers: {} },
  "models.json": { providers: { script, codex } },
  "channels.json": {
    accounts: {
      loopback: Object.fromEntries(
        ["script", "codex"].map((agent) => [
          agent,
          { caller: "cli", agent, reply: "on", direct: { policy: "open" } },
        ]),
      ),
    },
  },
};
for (const [name, value] of Object.entries(files))
  await writeFile(join(project, name), JSON.stringify(value));
for (const [name, uses] of [
  ["script", "runtime: script"],
  ["codex", "model: codex/gpt-5"],
] as const)
  await writeFile(
    join(project, "agents", `${name}.md`),
    `---\nname: ${name}\n${uses}\ntools: [message_send, message_reply]\n---\nAnswer.\n`,
  );
await writeFile(
  join(project, "policies", "rules.yaml"),
  `version: 1
rules:
  - { id: sends, effect: allow, approval: auto, what: { tools: [message_send, message_reply] } }
`,
);
const dev = await startYardDev({
  project,
  workspace,
  stateDir: join(directory, "state"),
  apart: true,
  env: { TEST_MODEL_KEY: "canary-key" },
});
const bus = await connectAsCli(dev);
after(async () => {
  await bus.close();
  await dev.stop();
  await rm(directory, { recursive: true, force: true });
});

for (const tool of ["message_reply", "message_send"])
  test(`a chat gets the text once that a coding CLI sent with ${tool} and then answered [F2] [F13] [F36]`, async () => {
    const chat = chatOf("script", tool);
    await chat.says(`${sending(tool, tool, "Hello.")}\nanswer Hello.`);
    await chat.says("answer Done.");
    assert.deepEqual(await chat.textsUntil("Done."), ["Hello.", "Done."]);
    await chat.says(`${sending(tool, tool, "One.")}\nanswer Two.`);
    assert.deepEqual(await chat.textsUntil("Two."), ["Hello.", "Done.", "One.", "Two."]);
  });

test("a chat gets the text once when the runner is killed between the message and the answer, also with a cut last record [F36] [F37]", async () => {
  const chat = chatOf("script", "killed");
  await chat.says(`${sending("message_send", "killed", "Once.")}\npause 3000\nanswer Once.`);
  await chat.textsUntil("Once.");
  const runner = await busyRunner(dev);
  const [record] = await until(
    async () => (await readdir(runtimes)).filter((name) => name.endsWith(".effects")),
    ({ length }) => length === 1,
  );
  process.kill(runner, "SIGKILL");
  await appendFile(join(runtimes, String(record)), '{"type":"message_sent","tool":"mess');
  await busyRunner(dev, runner);
  await chat.says("answer Done.");
  assert.deepEqual(await chat.textsUntil("Done."), ["Once.", "Done."]);
});

test(
  "a chat gets the text once that Codex sent and then answered [F2] [F4] [F13]",
  { skip: real !== undefined && "path" in real.program ? false : "no coding CLI is installed" },
  async () => {
    assert.ok(real);
    model.answerBy((body) => {
      const said = JSON.stringify(body);
      if (!said.includes("message_reply")) return { text: ["A title"] };
      if (said.includes("messageIds")) return { text: ["Hello."] };
      const args = JSON.stringify({ message: "Hello." });
      return { calls: [{ id: "call_1", args, ...real.tried.toolName("message_reply") }] };
    });
    const chat = chatOf("codex", "ann");
    await chat.says("Say hello.");
    await chat.textsUntil("Hello.");
    await until(async () => (await readdir(runtimes)).length === 0);
    model.answerBy(() => ({ text: ["Done."] }));
    await chat.says("And now?");
    assert.deepEqual(await chat.textsUntil("Done."), ["Hello.", "Done."]);
  },
);

function sending(tool: string, to: string, message: string): string {
  const args = { message, ...(tool === "message_send" && { target: `user:${to}` }) };
  return `call ${tool} ${JSON.stringify(args)}`;
}

/** Begins the session of a chat anew, once its run has ended. */
async function renew(id: string): Promise<void> {
  const { sessions } = await until(
    () => call(bus, listSessions, { search: `:direct:${id}` }),
    ({ sessions: found }) => found.length === 1 && found[0]?.activeRun === null,
  );
  await call(bus, resetSession, { session: String(sessions[0]?.key) });
}

/** A chat of a person with the agent of an account of the loopback channel. */
function chatOf(accountId: string, id: string) {
  const target = { kind: "user" as const, id };
  const address = { channel: "loopback" as const, accountId, target };
  let count = 0;
  return {
    /** Messages of a chat are answered in their order, and each of these in a new session: the CLI would execute the lines of earlier ones, too. */
    async says(text: string): Promise<void> {
      count += 1;
      if (count > 1) await renew(id);
      const about = {
        channel: "loopback" as const,
        accountId,
        target,
        messageId: `${id}-${count}`,
      };
      await call(bus, submitChannelMessage, { ...about, sender: { id }, text });
    },
    /** The texts that were sent to the person, once this one is among them. */
    async textsUntil(text: string): Promise<string[]> {
      return until(
        async () =>
          (await call(bus, readChannelMessages, { address })).messages.map((one) => one.text),
        (texts) => texts.includes(text),
      );
    },
  };
}
