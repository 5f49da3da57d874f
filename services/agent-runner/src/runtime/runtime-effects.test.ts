import assert from "node:assert/strict";
import { appendFile, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { LanguageModelV4Prompt, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { until } from "@switchyard/local-servers/until";
import type { SideEffect } from "@switchyard/service/side-effects";
import { openRuntimeHosts } from "./runtime-hosts.ts";
import { createRuntimeModel } from "./runtime-model.ts";

const AGENT = fileURLToPath(
  new URL("../../../../examples/coding-agents/acp-agent.ts", import.meta.url),
);
const SEND = 'call message_send {"target":"group:team","message":"Hello"}';
const EFFECT: SideEffect = {
  type: "message_sent",
  tool: "message_send",
  provider: "loopback",
  accountId: "default",
  to: "group:team",
  text: "Hello",
  mediaUrl: null,
  ts: 1,
};
const SENT = { text: "Hello", provider: "loopback", accountId: "default", to: "group:team" };

type Call = Extract<LanguageModelV4StreamPart, { type: "tool-call" }>;

/** A run whose model is a coding CLI, as the runner plays it; the CLI is a real process that speaks ACP. */
async function startRun(t: TestContext, input: string) {
  const at = await mkdtemp(join(tmpdir(), "yard-effects-"));
  const directory = join(at, "runtimes");
  const hosts = openRuntimeHosts({ directory, lingerMs: 60_000, env: process.env });
  t.after(async () => {
    await hosts.stop();
    await rm(at, { recursive: true, force: true });
  });
  const model = createRuntimeModel(hosts, {
    cli: "acp",
    command: [process.execPath, AGENT],
    env: {},
    model: null,
    apiKey: null,
    baseURL: null,
    sandbox: async () => null,
  });
  const prompt: LanguageModelV4Prompt = [
    { role: "user", content: [{ type: "text", text: input }] },
  ];
  const schema = { type: "object" } as const;
  const tools = ["message_send", "wait"].map(
    (name) => ({ type: "function", name, inputSchema: schema }) as const,
  );
  return {
    hosts,
    directory,
    /** Gives the CLI the result of its last call, and returns its next calls or its end. */
    async step(result?: { call: Call; text: string; effects?: SideEffect[] }) {
      if (result !== undefined) {
        const { toolCallId, toolName, input: args } = result.call;
        const of = { toolCallId, toolName } as const;
        prompt.push({
          role: "assistant",
          content: [{ type: "tool-call", ...of, input: JSON.parse(args) as unknown }],
        });
        const output = { type: "text", value: result.text } as const;
        prompt.push({ role: "tool", content: [{ type: "tool-result", ...of, output }] });
      }
      const effects = JSON.stringify(
        result?.effects === undefined ? {} : { [result.call.toolCallId]: result.effects },
      );
      const options = { prompt, tools, providerOptions: { runtime: { runId: "run", effects } } };
      const { stream } = await model.doStream(options);
      const parts: LanguageModelV4StreamPart[] = [];
      for await (const part of stream) parts.push(part);
      const calls = parts.filter((part): part is Call => part.type === "tool-call");
      const finish = parts.find((part) => part.type === "finish");
      return { calls, sent: finish?.providerMetadata?.["runtime"]?.["sent"] };
    },
    file: async () =>
      join(
        directory,
        (await readdir(directory)).find((name) => name.endsWith(".effects")) ?? "none",
      ),
  };
}

test("what a CLI sends is on the disk before the CLI gets the result, and is read after its exit [F2] [F36] [F37]", async (t) => {
  const run = await startRun(t, `${SEND}\ncall wait {}`);
  const [send] = (await run.step()).calls;
  assert.equal(send?.toolName, "message_send");
  const second = await run.step({ call: send, text: "sent", effects: [EFFECT] });
  assert.equal(second.sent, undefined, "the turn is not over");
  // The CLI makes its next call, so it has the result.
  const [wait] = second.calls;
  assert.equal(wait?.toolName, "wait");
  assert.deepEqual(JSON.parse(await readFile(await run.file(), "utf8")), EFFECT);
  const last = await run.step({ call: wait, text: "waited" });
  assert.deepEqual([last.calls, last.sent], [[], [SENT]]);
  await run.hosts.leave("run", { hasEnded: true });
  assert.deepEqual(await readdir(run.directory), [], "the record ends with the run");
});

test("a CLI that is killed after it has sent is resumed, sends nothing twice, and a cut line hides no record [F36]", async (t) => {
  const run = await startRun(t, `${SEND}\ncall wait {}\n${SEND.replace("Hello", "Bye")}`);
  const [send] = (await run.step()).calls;
  assert.ok(send);
  const [wait] = (await run.step({ call: send, text: "sent", effects: [EFFECT] })).calls;
  assert.ok(wait);
  const host = run.hosts.waiting("run");
  assert.ok(host);
  process.kill(host.pid, "SIGKILL");
  await until(() => host.isOver());
  await appendFile(await run.file(), '{"type":"message_sent","tool":"mess');

  const resumed = await run.step({ call: wait, text: "waited" });
  const [bye] = resumed.calls;
  assert.ok(bye);
  assert.equal(resumed.calls.length, 1);
  assert.match(bye.input, /Bye/, "the first message is not sent again");
  const effects: SideEffect[] = [{ ...EFFECT, text: "Bye" }];
  const last = await run.step({ call: bye, text: "sent", effects });
  assert.deepEqual(last.sent, [SENT, { ...SENT, text: "Bye" }]);
});
