import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { extname, join, relative, resolve, sep } from "node:path";
import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { checkAgents, type AgentDefinition } from "@switchyard/contracts/skill-importer/agents";
import { listModels } from "@switchyard/contracts/agent-runner/models";
import type { Diagnostic } from "@switchyard/contracts/skill-importer/skills";
import type { z } from "zod";
import { findBus, withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { knownTools, offlineTools, unknownTool, type KnownTools } from "../known-tools.ts";
import { printableLine } from "../printable.ts";
import { count } from "../quantities.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";

type Checked = z.output<typeof checkAgents.reply>["files"][number];
type Models = z.output<typeof listModels.reply>;

const MAX_FILE_BYTES = 262_144;
const MAX_FILES = 1_000;
/** As JSON, with every sign of the largest files escaped once, they are less than a request may have. */
const FILES_PER_CALL = 10;

/** Judges agent files of this machine, and whether their models can be had; fails when one cannot be used. */
export async function validate(
  terminal: Terminal,
  path: string,
  options: { json?: true },
): Promise<void> {
  const found = await agentFilesAt(resolve(path));
  if (found.length === 0) {
    throw new CliError("no_agent_files", `${path} has no agent file`, {
      hint: "agent files are *.yaml, *.yml, and *.md with frontmatter",
    });
  }
  const { files, models, tools } = await judged(found, terminal.env);
  for (const { verdict, diagnostics } of files)
    if (verdict === "not_an_agent" && !options.json)
      for (const diagnostic of diagnostics) terminal.note(diagnosticText(diagnostic));
  const verdicts = files
    .filter(({ verdict }) => verdict !== "not_an_agent")
    .map((checked) => withProblems(checked, { models, tools }));
  const failed = verdicts.filter(({ diagnostics }) => diagnostics.some(isError)).length;
  if (options.json) writeJson(terminal, { files: verdicts, failed });
  else printVerdicts(terminal, verdicts);
  const said =
    failed === 0
      ? `${count(verdicts.length, "agent file")}, each can be used`
      : `${failed} of ${count(verdicts.length, "agent file")} cannot be used`;
  if (failed > 0) throw new CliError("agents_invalid", said, { hint: "fix what is named above" });
  if (options.json) return;
  terminal.note(said);
  if (models === null)
    terminal.note(
      "nothing runs here, so their models, skills and tools of MCP servers were not looked for",
    );
}

/** Running services also check models and skills; without them each file is checked on its own. */
async function judged(
  found: readonly LocalFile[],
  env: NodeJS.ProcessEnv,
): Promise<{ files: readonly Checked[]; models: Models | null; tools: KnownTools }> {
  const target = await findBus(env).catch((failure: unknown) => {
    if (failure instanceof CliError && failure.code === "not_running") return null;
    throw failure;
  });
  if (target === null) {
    const { checkAgentsHere } = await import("../agents-here.ts");
    return { files: await checkAgentsHere(found), models: null, tools: offlineTools };
  }
  return withBus(target, async (bus) => ({
    files: await checkAll(bus, found),
    models: await client(bus, { listModels }).listModels({}),
    tools: await knownTools(bus),
  }));
}

/** Checks the agent files of a directory and the built-in tools that they name in this process, also while services run. */
export async function checkedAgents(directory: string): Promise<readonly Checked[]> {
  const found = await agentFilesAt(directory);
  const { checkAgentsHere } = await import("../agents-here.ts");
  const checked = found.length === 0 ? [] : await checkAgentsHere(found);
  return checked.map((file) => withProblems(file, { models: null, tools: offlineTools }));
}

interface LocalFile {
  readonly file: string;
  readonly text: string;
}

/** A file itself; for a directory all files that may be agents, four levels down. */
async function agentFilesAt(path: string): Promise<LocalFile[]> {
  const facts = await stat(path);
  if (facts.isFile()) return [await readAgent(path, path.split(sep).slice(-2).join("/"))];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const found = entries
    .filter((entry) => !entry.isDirectory() && mayBeAgent(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !isPassedOver(relative(path, file)))
    .toSorted();
  const areFiles = await Promise.all(found.map((file) => isFileWithin(path, file)));
  const paths = found.filter((_, index) => areFiles[index]);
  if (paths.length > MAX_FILES) {
    throw new CliError("usage", `${path} has ${paths.length} files that may be agents`, {
      hint: `name a directory with at most ${MAX_FILES}, such as its agents directory`,
    });
  }
  const parent = path.split(sep).at(-1) ?? "";
  return Promise.all(
    paths.map((file) => readAgent(file, [parent, ...relative(path, file).split(sep)].join("/"))),
  );
}

/** True for a file and for a link to one below the directory: Kubernetes mounts the files of a ConfigMap as links. */
async function isFileWithin(directory: string, file: string): Promise<boolean> {
  const [root, real] = await Promise.all([realpath(directory), realpath(file).catch(() => null)]);
  return real !== null && real.startsWith(`${root}${sep}`) && (await stat(real)).isFile();
}

function mayBeAgent(name: string): boolean {
  return (
    [".yaml", ".yml", ".md"].includes(extname(name)) && !/^(?:skills?|readme)\.md$/i.test(name)
  );
}

function isPassedOver(path: string): boolean {
  const directories = path.split(sep).slice(0, -1);
  return directories.some((name) => name === "node_modules" || name.startsWith("."));
}

async function readAgent(path: string, file: string): Promise<LocalFile> {
  const { size } = await stat(path);
  if (size > MAX_FILE_BYTES) {
    throw new CliError(
      "usage",
      `${path} has ${count(size, "byte")}; an agent has at most ${MAX_FILE_BYTES}`,
    );
  }
  return { file, text: await readFile(path, "utf8") };
}

async function checkAll(bus: Bus, files: readonly LocalFile[]): Promise<Checked[]> {
  const { checkAgents: check } = client(bus, { checkAgents });
  const checked: Checked[] = [];
  for (let at = 0; at < files.length; at += FILES_PER_CALL) {
    // One call after the other: each brings files of its own size.
    const reply = await check({ files: files.slice(at, at + FILES_PER_CALL) });
    checked.push(...reply.files);
  }
  return checked;
}

/** Adds what is known here of the agent's model and tools. */
function withProblems(
  checked: Checked,
  { models, tools }: { readonly models: Models | null; readonly tools: KnownTools },
): Checked {
  const { agent, file, diagnostics } = checked;
  if (agent === null) return checked;
  const problem = models === null ? null : modelProblem(agent, models);
  const found = [...(problem === null ? [] : [problem]), ...toolProblems(agent, tools)];
  const added = found.map(({ severity, code, message }) => {
    return { severity, code, message, file, line: null, column: null };
  });
  return { ...checked, diagnostics: [...diagnostics, ...added] };
}

/** An entry of `tools` that selects nothing: the agent would lack the tool without a word. */
function toolProblems({ tools: written }: Pick<AgentDefinition, "tools">, known: KnownTools) {
  return (written ?? []).flatMap((pattern) => {
    const why = unknownTool(pattern, known);
    return why === null ? [] : [error("unknown_tool", `tools: ${printableLine(pattern)}: ${why}`)];
  });
}

type ModelProblem = Pick<Diagnostic, "severity" | "code" | "message">;

/** Returns the reason for which a run of the agent would be refused, as far as it can be determined beforehand. */
export function modelProblem(
  agent: Pick<AgentDefinition, "model" | "plan">,
  models: Models,
): ModelProblem | null {
  const model = agent.model ?? models.default;
  const [name = ""] = model.split("/");
  const provider = models.providers.find((candidate) => candidate.name === name);
  if (provider === undefined) {
    const known = models.providers.map((candidate) => candidate.name).join(", ");
    return error(
      "unknown_model",
      `model ${model} is of no configured provider; configured are ${known}`,
    );
  }
  if (!provider.hasKey) {
    const { keyVariable } = provider;
    const next = keyVariable === undefined ? "" : `: set ${keyVariable} where they start`;
    return error("model_key_missing", `the runners have no key for ${model}${next}`);
  }
  if (provider.type !== "scripted") return null;
  if (model !== "scripted/plan") {
    return error("unknown_model", `there is no model ${model}: there is only scripted/plan`);
  }
  if (agent.plan !== null) return null;
  return {
    severity: "warning",
    code: "plan_missing",
    message: "scripted/plan plays a plan, and this file has none; only a skill with one can run",
  };
}

function error(code: string, message: string): ModelProblem {
  return { severity: "error", code, message };
}

function printVerdicts(terminal: Terminal, verdicts: readonly Checked[]): void {
  const lines = tableLines(
    [
      { title: "FILE", value: ({ file }) => printableLine(file), maxWidth: 50 },
      { title: "AGENT", value: ({ agent }) => agent?.name ?? "" },
      { title: "MODEL", value: ({ agent }) => printableLine(modelText(agent)), maxWidth: 40 },
      {
        title: "USABLE",
        value: ({ diagnostics }) => (diagnostics.some(isError) ? "no" : "yes"),
      },
    ],
    verdicts,
  );
  for (const line of lines) terminal.out(line);
  for (const { diagnostics } of verdicts) {
    for (const diagnostic of diagnostics) terminal.note(diagnosticText(diagnostic));
  }
}

function modelText(agent: AgentDefinition | null): string {
  return agent === null ? "" : (agent.model ?? "(config default)");
}

function isError({ severity }: Diagnostic): boolean {
  return severity === "error";
}

function diagnosticText({ severity, message, file, line }: Diagnostic): string {
  return printableLine(`${severity}: ${line === null ? file : `${file}:${line}`}: ${message}`);
}
