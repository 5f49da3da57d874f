import assert from "node:assert/strict";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { call } from "@switchyard/bus/call";
import { getRun } from "@switchyard/contracts/agent-runner/runs";
import { testDirectory } from "@switchyard/testing/test-servers";
import { testSandbox } from "@switchyard/testing/test-sandbox";
import { findCodingClis, type CodingCli } from "../../test-fixtures/coding-clis.ts";
import type { FoundCli } from "../../test-fixtures/installed-cli.ts";
import { startModelServer, type ModelServer } from "../../test-fixtures/model-server.ts";
import type { ScriptedAnswer } from "../../test-fixtures/scripted-answer.ts";
import { decideApproval } from "../../test-fixtures/decide-approval.ts";
import { agent, connectAs, DENIED, labTool } from "../../test-fixtures/fake-services.ts";
import { startLab, type Lab, type RunEventRecord } from "../../test-fixtures/runner-lab.ts";
import { testConstants } from "@switchyard/testing/test-constants";

/** Further tools of the CLI that its model is offered all the same, beside those that all CLIs offer. */
const OFFERED: Partial<Record<CodingCli["cli"], readonly string[]>> = {
  codex: [
    "list_mcp_resource_templates",
    "list_mcp_resources",
    "read_mcp_resource",
    "request_user_input",
  ],
};
/** Stores nothing of a first turn that was cut: it gets the conversation from the journal. */
const FORGETFUL: CodingCli["cli"] = "gemini";

/** The CLIs with a thinking level that they pass on to their model. */
const THINKS: ReadonlySet<CodingCli["cli"]> = new Set(["codex", "claude"]);
/** A word that occurs in no prompt or tool of a CLI. */
const WRITTEN = "plugh";
/** The files that a user of these CLIs has in the home directory, with comments and a broken file. */
const OWN_FILES = [
  [".codex/config.toml", '# mine\nmodel = "mine"\n\n[mcp_servers.mine]\ncommand = "true"\n'],
  [".claude.json", '{ "mcpServers": { "mine": { "command": "true" } } }'],
  [".gemini/settings.json", '{ "mcpServers": { "mine": '],
  [".config/opencode/opencode.json", '{ // mine\n  "mcp": {} }\n'],
] as const;
/** The operator's default, where this machine supports it. */
const sandbox = await testSandbox();
const found = await findCodingClis();

for (const { tried, program } of found) {
  const skip = "skip" in program ? program.skip : false;
  const { name } = tried;
  test(
    `${name} works as a runtime: its calls are decided, and a denied one is seen as denied`,
    { skip },
    async () => {
      const { lab, model, start } = await prepare(tried, program);
      await start();
      lab.services.tools.set("write", (_args, { fail }) => {
        throw fail.denied(DENIED.reason, DENIED);
      });
      const events = await runToEnd(lab, "/Read it and write it.");
      assert.equal(events.at(-1)?.payload["output"], "All done.", whatWasAsked(events, model));
      assert.equal(countOf(events, "tool-requested"), 2);
      assert.equal(countOf(events, "tool-denied"), 1);
      assert.deepEqual(
        foreignTools(model),
        [...(OFFERED[tried.cli] ?? [])],
        "what is offered beside our tools",
      );
      const seen = JSON.stringify(model.requests.map(({ body }) => body));
      assert.match(seen, /\/Read it and write it/);
      assert.doesNotMatch(seen, /canary-key/);
      if (THINKS.has(tried.cli)) assert.match(seen, /"effort":"low"/);
      const { run } = await call(lab.bus, getRun, { runId: "tried" });
      assert.ok(run.usage.inputTokens > 0 && run.usage.outputTokens > 0, "tokens are counted");
    },
  );

  test(
    `two concurrent runs of ${name} leave the user's configuration unchanged, byte by byte`,
    { skip },
    async () => {
      const { lab, start, directory } = await prepare(tried, program);
      const home = join(directory, "home");
      for (const [place, text] of OWN_FILES) {
        await mkdir(join(home, place, ".."), { recursive: true });
        await writeFile(join(home, place), text);
      }
      const before = await filesIn(home);
      assert.equal(before.size, OWN_FILES.length);
      const both = Promise.withResolvers<void>();
      let reading = 0;
      lab.services.tools.set("read", async ({ path }) => {
        reading += 1;
        if (reading === 2) both.resolve();
        await both.promise; // so neither has ended when the other begins
        return `contents of ${String(path)}`;
      });
      lab.services.tools.set("write", () => `written: ${WRITTEN}`);
      await start({ HOME: home });
      const ends = await Promise.all(["one", "two"].map((runId) => runToEnd(lab, "Go on.", runId)));
      for (const events of ends) assert.equal(events.at(-1)?.payload["output"], "All done.");
      assert.deepEqual(await filesIn(home), before);
    },
  );

  test(
    `${name} resumes at the same position when the runner died while a person decided`,
    { skip },
    async () => {
      const { lab, model, start } = await prepare(tried, program);
      const policy = await connectAs(lab.nats, "policy");
      after(() => policy.close());
      const dying = await start();
      const approvalId = `apr-${"4".repeat(32)}`;
      let isApproved = false;
      lab.services.tools.set("write", (_args, { fail }) => {
        if (isApproved) return `written: ${WRITTEN}`;
        const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
        throw fail.approval_required("a person must approve", {
          approvalId,
          expiresAt,
          tier: "always",
        });
      });
      await lab.command("coder", { runId: "tried", input: "Read it and write it." });
      await lab.eventsUntil("tried", ({ name: event }) => event === "waiting");
      dying.kill("SIGKILL");
      await dying.exited;
      await start();
      isApproved = true;
      const before = model.requests.length;
      await decideApproval(policy, { approvalId, callId: "cli~tried:2:0", tool: "write" });
      const events = await lab.eventsUntil("tried", isEnd);
      assert.equal(events.at(-1)?.payload["output"], "All done.", whatWasAsked(events, model));
      assert.equal(countOf(events, "tool-requested"), 2, "no call is made again");
      const later = JSON.stringify(model.requests.slice(before).map(({ body }) => body));
      assert.match(later, /contents of xyzzy/, "it has the earlier conversation");
      assert.equal(later.includes("You were interrupted"), tried.cli !== FORGETFUL);
      assert.equal(later.includes("This is the conversation so far"), tried.cli === FORGETFUL);
    },
  );
}

async function prepare(tried: CodingCli, program: FoundCli) {
  assert.ok("path" in program);
  const model = await startModelServer();
  model.answerBy((body) => thinking(tried, body));
  const lab = await startLab();
  const directory = await testDirectory();
  const modelsFile = join(directory, "models.json");
  const provider = {
    type: "runtime",
    cli: tried.cli,
    command: [program.path],
    baseURL: tried.baseURL(model.url),
    apiKeyEnv: "TEST_MODEL_KEY",
    sandbox: sandbox.skip === false ? "bubblewrap" : "off",
  };
  await writeFile(modelsFile, JSON.stringify({ providers: { tried: provider } }));
  lab.services.agents.set(
    "coder",
    agent("coder", { model: "tried/gpt-5", thinking: "low", tools: ["mcp__lab__*"] }),
  );
  lab.services.tools.set("read", ({ path }) => `contents of ${String(path)}`);
  const env = {
    YARD_MODELS_FILE: modelsFile,
    YARD_STATE_DIR: directory,
    ...testConstants({ runSweepMs: 200 }),
    TEST_MODEL_KEY: "canary-key",
    YARD_BIN_DIR: sandbox.directory,
  };
  const start = (more: Record<string, string> = {}) => lab.runnerProcess({ ...env, ...more });
  return { lab, model, directory, start };
}

async function runToEnd(lab: Lab, input: string, runId = "tried"): Promise<RunEventRecord[]> {
  await lab.command("coder", { runId, input });
  return lab.eventsUntil(runId, isEnd);
}

/** Returns all files below a directory, with their contents. */
async function filesIn(directory: string): Promise<Map<string, string>> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name)).toSorted();
  return new Map(
    await Promise.all(paths.map(async (path) => [path, await readFile(path, "utf8")] as const)),
  );
}

function isEnd({ name }: RunEventRecord): boolean {
  return name === "finished" || name === "failed";
}

function countOf(events: readonly RunEventRecord[], name: string): number {
  return events.filter((event) => event.name === name).length;
}

/** Answers with a read, then a write, then a text; some CLIs request a title, too, without offering tools. */
function thinking({ toolName }: CodingCli, body: Record<string, unknown>): ScriptedAnswer {
  const said = JSON.stringify(body);
  if (!said.includes(labTool("read"))) return { text: ["A title"] };
  if (said.includes("rule no-writes denies it") || said.includes(WRITTEN))
    return { text: ["All ", "done."] };
  if (said.includes("contents of xyzzy"))
    return { calls: [{ id: "call_2", args: "{}", ...toolName(labTool("write")) }] };
  return { calls: [{ id: "call_1", args: '{"path":"xyzzy"}', ...toolName(labTool("read")) }] };
}

/** Names in the lists of tools of all protocols, without ours. */
function foreignTools({ requests }: ModelServer): string[] {
  const names = requests.flatMap(({ body }) =>
    (Array.isArray(body["tools"]) ? (body["tools"] as unknown[]) : []).flatMap(namesIn),
  );
  return [...new Set(names)].filter((name) => !name.includes("switchyard")).toSorted();
}

function namesIn(tool: unknown): string[] {
  const {
    name,
    function: inner,
    functionDeclarations,
  } = tool as {
    name?: string;
    function?: { name: string };
    functionDeclarations?: { name: string }[];
  };
  if (functionDeclarations !== undefined) return functionDeclarations.map((one) => one.name);
  return [name ?? inner?.name ?? JSON.stringify(tool)];
}

function whatWasAsked(events: readonly RunEventRecord[], { requests }: ModelServer): string {
  const asked = requests.map(
    ({ protocol, body }) => `${protocol} ${JSON.stringify(body).slice(-300)}`,
  );
  return [JSON.stringify(events.at(-1)), ...asked].join("\n");
}
