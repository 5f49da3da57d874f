import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { sendToSession } from "@switchyard/contracts/agent-runner/sessions";
import type { DevInstance } from "../../test/lib/yard-dev.ts";
import type { Bench } from "../lib/bench.ts";
import type { Figure, Report } from "../lib/figure.ts";
import type { Stage } from "../lib/stage.ts";
import { startSwitchyard } from "../lib/switchyard.ts";
import { followRuns, type RunFollower } from "./run-follower.ts";
import { type RecordedBody, type RecordingModel, startRecordingModel } from "./recording-model.ts";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const COUNTS = [1, 50, 500] as const;
const RUNNERS = 2;
const GOAL = 0.97;
/** Tokens; so few that the results of five calls make the runner summarise the conversation. */
const NARROW_WINDOW = 24_000;

/**
 * Measures how much of each request to a model is the unchanged beginning of the request before it, which providers read from their cache: the tools, then the
 * messages with the system prompt. Everything is real but the provider, which records.
 */
export async function benchCache({ stage }: Bench): Promise<Report> {
  const model = await startRecordingModel(stage);
  const project = await makeProject(stage, model.url);
  const { bus, instance } = await startSwitchyard(stage, { project, runners: RUNNERS });
  const { run, stop } = followRuns(bus);
  stage.onEnd(stop);
  const figures: Figure[] = [];
  for (const count of COUNTS) {
    const world = { bus, instance, run, model, count };
    for (const [name, play] of Object.entries(SCENARIOS)) {
      const requests = await play(world);
      figures.push(figureOf(`${name}, ${count} tools`, requests));
    }
    const { before, after } = await summarised(world);
    figures.push(figureOf(`steps after a summary, ${count} tools`, after));
    figures.push({
      name: `tools and system prompt over a summary, ${count} tools`,
      value: 100 * sharedPart(fixedOf(before), fixedOf(after[0] ?? before)),
      unit: "%",
      goal: "100 %",
      met: fixedOf(before) === fixedOf(after[0] ?? before),
    });
  }
  return { name: "cache", figures };
}

interface World {
  readonly bus: Bus;
  readonly instance: DevInstance;
  readonly run: RunFollower["run"];
  readonly model: RecordingModel;
  readonly count: number;
}

type Requests = readonly RecordedBody[];

const SCENARIOS: Readonly<Record<string, (world: World) => Promise<Requests>>> = {
  "six steps": async (world) =>
    playRun(world, "steps", (step) => (step < 6 ? lookUp(world, step) : DONE)),

  "waits of a second": async (world) =>
    playRun(world, "waits", (step) => (step < 4 ? { tool: "wait", args: { seconds: 1 } } : DONE)),

  "a provider that fails": async (world) => {
    let failures = 0;
    return playRun(world, "fails", (step) => {
      failures += step === 2 ? 1 : 0;
      if (step === 2 && failures === 1) return { status: 500 };
      return step < 4 ? lookUp(world, step) : DONE;
    });
  },

  "searches for tools": async (world) =>
    playRun(world, "finds", (step, { tools = [] }) => {
      if (step > 6) return DONE;
      const isCut = tools.some(({ function: { name } }) => name === "find_tools");
      const { tool, args } = lookUp(world, step === 6 ? 499 : step);
      if (!isCut) return lookUp(world, step);
      if (step % 2 === 0) return { tool: "call_tool", args: { tool, arguments: args } };
      return { tool: "find_tools", args: { query: `entry with number ${490 + step}` } };
    }),

  "runners that are killed": async (world) => {
    let isKilled = false;
    return playRun(world, "kills", async (step) => {
      if (step === 3 && !isKilled) {
        isKilled = true;
        await killRunners(world.instance);
      }
      return step < 6 ? lookUp(world, step) : DONE;
    });
  },

  "four messages of a session": async ({ bus, model, count }) => {
    const job = `chat-${count}`;
    const requests = model.play(job, () => ({
      text: `An answer of some length. ${"x".repeat(200)}`,
    }));
    for (const n of [1, 2, 3, 4]) {
      const message = `job=${job} message ${n}`;
      const said = { session: job, agent: `count-${count}`, message, timeoutSeconds: 60 };
      const { status } = await call(bus, sendToSession, said, { timeoutMs: 70_000 });
      if (status !== "ok") throw new Error(`${job}: message ${n} ended with ${status}`);
    }
    return requests;
  },
};

const DONE = { text: "done" };

function lookUp({ count }: World, step: number, length = 200) {
  const tool = `mcp__numbered-${count}__tool_${count === 1 ? 0 : step}`;
  return { tool, args: { id: `step ${step}`, length } };
}

async function playRun(
  { model, run, count }: World,
  name: string,
  play: Parameters<RecordingModel["play"]>[1],
): Promise<Requests> {
  const job = `${name}-${count}`;
  const requests = model.play(job, play);
  await run(`count-${count}`, { input: `job=${job}: look the entries up.` });
  return requests;
}

/** The last request before the runner summarised the conversation, and those after it. */
async function summarised(world: World): Promise<{ before: RecordedBody; after: Requests }> {
  const job = `sums-${world.count}`;
  const requests = world.model.play(job, (step) => (step < 10 ? lookUp(world, step, 8_000) : DONE));
  await world.run(`narrow-${world.count}`, { input: `job=${job}: look the entries up.` });
  const first = requests.findIndex(({ messages }) =>
    JSON.stringify(messages).includes("<summary>"),
  );
  const before = requests[first - 1];
  if (before === undefined) throw new Error(`${job}: the runner did not summarise`);
  const next = requests.findIndex(
    (body, index) => index > first && summaryOf(body) !== summaryOf(requests[first]),
  );
  return { before, after: requests.slice(first, next === -1 ? undefined : next) };
}

/** A second summary stands for more messages: the third one of the conversation is another. */
function summaryOf(body: RecordedBody | undefined): string {
  return JSON.stringify(body?.messages.slice(0, 4));
}

function figureOf(name: string, requests: Requests): Figure {
  const shares = requests
    .slice(1)
    .map((body, index) => sharedPart(textOf(requests[index] ?? body), textOf(body)));
  const least = Math.min(...shares);
  return {
    name,
    value: 100 * least,
    unit: `% at least, of ${requests.length} requests`,
    goal: `≥ ${100 * GOAL} %`,
    met: least >= GOAL,
  };
}

/** A request in the order of caches, with nothing behind the last message. */
function textOf({ tools = [], messages }: RecordedBody): string {
  return [...tools, ...messages].map((part) => JSON.stringify(part)).join("\n");
}

function fixedOf({ tools = [], messages }: RecordedBody): string {
  return textOf({ tools, messages: messages.slice(0, 2) });
}

/** The share of the earlier text that the later one begins with. */
function sharedPart(earlier: string, later: string): number {
  let same = 0;
  while (same < earlier.length && earlier[same] === later[same]) same += 1;
  return same / earlier.length;
}

async function killRunners({ stateDir }: DevInstance): Promise<void> {
  const { processes } = JSON.parse(await readFile(join(stateDir, "dev.json"), "utf8")) as {
    processes: { name: string; pid: number }[]; // written by yard dev itself
  };
  for (const { name, pid } of processes)
    if (name.startsWith("runner-")) process.kill(pid, "SIGKILL");
}

/** The benchmarks' own project with agents of this model, and a server of so many tools for each. */
async function makeProject(stage: Stage, url: string): Promise<string> {
  const project = join(await stage.directory(), "project");
  await cp(join(HERE, "..", "project"), project, { recursive: true });
  const server = join(HERE, "numbered-tools-server.ts");
  const servers = COUNTS.map((count) => {
    const env = { TOOLS: String(count) };
    return [`numbered-${count}`, { command: process.execPath, args: [server], env }];
  });
  const patterns = COUNTS.map((count) => `mcp__numbered-${count}__*`);
  const files: Record<string, string> = {
    "mcp-servers.json": JSON.stringify({ mcpServers: Object.fromEntries(servers) }),
    "models.json": JSON.stringify({
      default: "local/wide",
      providers: { local: { type: "openai-compatible", baseURL: url } },
      models: { "local/narrow": { contextWindow: NARROW_WINDOW } },
    }),
    "policies/demo.yaml": JSON.stringify({
      version: 1,
      rules: [{ id: "numbered", effect: "allow", approval: "auto", what: { tools: patterns } }],
    }),
  };
  for (const count of COUNTS)
    for (const [name, model] of [
      ["count", "local/wide"],
      ["narrow", "local/narrow"],
    ])
      files[`agents/${name}-${count}.yaml`] =
        `name: ${name}-${count}\ndescription: Looks entries up.\nmodel: ${model}\n` +
        `tools: [wait, "mcp__numbered-${count}__*"]\nsystem_prompt: You look entries up.\n`;
  await mkdir(join(project, "agents"), { recursive: true });
  for (const [path, text] of Object.entries(files)) await writeFile(join(project, path), text);
  return project;
}
