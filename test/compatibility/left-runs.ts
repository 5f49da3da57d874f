import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { plainClient } from "../e2e/plain-client.ts";
import { startYardDev, type DevInstance } from "../lib/yard-dev.ts";

const AGENTS = {
  greeter: `answer: "hello {{/input}}"`,
  asker: `
  steps: [{ calls: [{ tool: ask_user, with: { question: "Which one?" } }] }]
  answer: "you said {{/results/0/text}}"`,
  parent: `
  steps: [{ calls: [{ tool: agent, with: { agent: asker, task: ask } }] }]
  answer: "it said: {{/results/0/text}}"`,
  writer: `
  steps: [{ calls: [{ tool: write_file, with: { path: note.txt, content: approved } }] }]
  answer: "{{/results/0/text}}"`,
  keeper: `
  steps: [{ calls: [{ tool: memory_write, with: { name: likes, content: tea } }] }]
  answer: "kept"`,
};
const RULES = `version: 1
rules:
  - { id: writes, effect: allow, approval: always, what: { tools: [write_file] } }
  - { id: others, effect: allow, approval: auto, what: { tools: [agent, ask_user, "memory_*"] } }
`;

/** Directories of an installation whose version changes. */
export interface Installation {
  readonly project: string;
  readonly stateDir: string;
  readonly workspace: string;
}

/** Puts agents and rules that all versions read into a directory. */
export async function writeInstallation(directory: string): Promise<Installation> {
  const [project, workspace, stateDir] = ["project", "workspace", "state"].map((name) =>
    join(directory, name),
  ) as [string, string, string];
  for (const path of [workspace, join(project, "agents"), join(project, "policies")])
    await mkdir(path, { recursive: true });
  for (const [name, plan] of Object.entries(AGENTS)) await writeAgent(project, name, plan);
  await writeFile(join(project, "policies/rules.yaml"), RULES);
  await writeFile(join(project, "mcp-servers.json"), '{"mcpServers":{}}');
  return { project, stateDir, workspace };
}

export async function writeAgent(project: string, name: string, plan: string): Promise<void> {
  const head = `name: ${name}\ndescription: for the test\nmodel: scripted/plan\n`;
  await writeFile(join(project, `agents/${name}.yaml`), `${head}plan:\n  ${plan.trim()}\n`);
}

/** Starts runs with the code of a checkout, each of which waits for something else, and stops it. */
export async function leaveRuns(installation: Installation, checkout: string): Promise<void> {
  const dev: DevInstance = await startYardDev({ ...installation, checkout });
  const client = await plainClient(dev.natsUrl);
  const start = (agent: string, runId: string, input: string, session?: string): void =>
    client.publish(`yard.cmd.me.run.start.${agent}`, { runId, input, session });
  const reported = (runId: string, name: string) =>
    client.waitForEvent(`yard.evt.run.me.${runId}.${name}`, () => true);
  start("greeter", "finished", "world");
  start("asker", "asking", "x");
  start("parent", "parent", "x");
  start("writer", "approval", "x");
  start("keeper", "keeping", "x");
  start("greeter", "said", "one", "support");
  await reported("said", "finished");
  start("asker", "turn", "two", "support");
  await reported("turn", "waiting");
  start("greeter", "queued", "three", "support");
  await Promise.all([
    reported("finished", "finished"),
    reported("keeping", "finished"),
    reported("asking", "waiting"),
    reported("parent", "waiting"),
    reported("approval", "waiting"),
    reported("queued", "queued"),
    client.waitForEvent("yard.evt.run.>", ({ subject }) => /\.sub-[^.]*\.waiting$/.test(subject)),
  ]);
  await client.close();
  await dev.stop();
}
