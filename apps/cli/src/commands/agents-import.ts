import { randomUUID } from "node:crypto";
import { open, readdir, stat } from "node:fs/promises";
import { basename, join, relative, resolve, sep } from "node:path";
import { call, client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { agentPaths } from "@switchyard/contracts/skill-importer/agent-paths";
import {
  unpackAgents,
  uploadAgents,
  type AgentImportCounts,
  type ImportedAgent,
} from "@switchyard/contracts/skill-importer/agent-store";
import { cutText } from "@switchyard/contracts/cut-text";
import type { Diagnostic } from "@switchyard/contracts/skill-importer/skills";
import { readGitOrigin } from "@switchyard/service/git-origin";
import { findBus, withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { printableLine } from "../printable.ts";
import { firstNames } from "../skills/first-names.ts";
import { findingLines, scanLines } from "../skills/scan-lines.ts";
import { writeJsonLine, type Terminal } from "../terminal.ts";
import { count } from "../quantities.ts";
import { formatOf, readArchive, readStandardInput } from "../skills/archive-bytes.ts";

interface Options {
  readonly json?: true;
  readonly dryRun?: true;
}

interface Sent {
  readonly counts: AgentImportCounts;
  readonly agents: readonly ImportedAgent[];
  readonly diagnostics: readonly Diagnostic[];
}

interface LocalFile {
  readonly path: string;
  readonly base64: string;
}

/** The same limit as the importer's; a larger file is sent only so far that it is refused by name. */
const MAX_FILE_BYTES = 262_144;
const BATCH = { files: 64, bytes: 300 * 1024 };

/** The options of an import. */
interface Sending {
  readonly dryRun: boolean;
  readonly withReports: boolean;
}

interface Reporting {
  readonly dryRun: boolean;
  readonly json: boolean;
  /** The lines of one agent, for a person. */
  readonly show: (agent: ImportedAgent) => readonly string[];
}

/** Sends agents of this machine to the importer. Fails, when all are sent, if one was skipped. */
export async function importAgents(
  terminal: Terminal,
  path: string,
  options: Options,
): Promise<void> {
  const { counts } = await sendAndReport(terminal, path, {
    dryRun: options.dryRun === true,
    json: options.json === true,
    show: linesOf,
  });
  requireAll(path, counts);
}

/**
 * Judges what agents of this machine could do, without importing them. Fails when one is blocked, and
 * only then for one that was skipped: a block is what the command is there to find.
 */
export async function scanAgents(
  terminal: Terminal,
  path: string,
  options: { json?: true },
): Promise<void> {
  const sent = await sendAndReport(terminal, path, {
    dryRun: true,
    json: options.json === true,
    show: (agent) =>
      agent.scan === undefined ? linesOf(agent) : scanLines(agent.name ?? agent.file, agent.scan),
  });
  const blocked = sent.agents.filter(({ scan }) => scan?.verdict === "blocked").length;
  if (blocked > 0) {
    throw new CliError(
      "agents_blocked",
      `${blocked} of ${count(sent.counts.found, "agent")} ${blocked === 1 ? "is" : "are"} blocked`,
      {
        hint: "look at the findings above; after an import: yard skills trust <name> --agent",
      },
    );
  }
  requireAll(path, sent.counts);
}

async function sendAndReport(
  terminal: Terminal,
  path: string,
  { json, dryRun, show }: Reporting,
): Promise<Sent> {
  const sending = { dryRun, withReports: true };
  const sent = await withBus(await findBus(terminal.env), (bus) => send(bus, path, sending));
  for (const agent of sent.agents) {
    if (agent.outcome === "not_an_agent") continue;
    if (json) writeJsonLine(terminal, { schemaVersion: 1, type: "agent", ...agent });
    else for (const line of show(agent)) terminal.out(printableLine(line));
  }
  for (const diagnostic of sent.diagnostics) terminal.note(diagnosticText(diagnostic));
  const { counts } = sent;
  if (json) writeJsonLine(terminal, { schemaVersion: 1, type: "summary", counts });
  else terminal.note(countsText(counts, dryRun));
  return sent;
}

/** Fails when there was no agent, or when one was skipped. */
function requireAll(path: string, counts: AgentImportCounts): void {
  if (counts.found === 0) {
    throw new CliError("no_agent_files", `${path} has no agent file`, {
      hint: "agent files are *.yaml, *.yml, and *.md with frontmatter, as a rule in a directory agents",
    });
  }
  if (counts.skipped > 0) {
    const { skipped, found } = counts;
    throw new CliError(
      "agents_invalid",
      `${skipped} of ${count(found, "agent")} ${skipped === 1 ? "was" : "were"} skipped`,
      {
        hint: "fix the files that are named above",
      },
    );
  }
}

async function send(bus: Bus, path: string, sending: Sending): Promise<Sent> {
  const top = path === "-" ? null : resolve(path);
  const facts = top === null ? null : await stat(top).catch(() => null);
  if (top !== null && facts === null) {
    throw new CliError("file_missing", `there is no ${path}`, {
      hint: "name a directory, an agent file, a zip or a tar.gz, or - for an archive on standard input",
    });
  }
  if (top !== null && facts?.isDirectory() === true) {
    return sendFiles(bus, await filesBelow(top), { label: top, directory: top, ...sending });
  }
  if (top !== null && /\.(?:ya?ml|md)$/.test(top)) {
    const file = await readLocal(top, top.split(sep).slice(-2).join("/"));
    return sendFiles(bus, [file], { label: top, directory: resolve(top, ".."), ...sending });
  }
  const bytes = await (top === null ? readStandardInput() : readArchive(top));
  const label = top === null ? "standard input" : basename(top);
  const sent = { label, ...sending, format: formatOf(bytes, label) };
  return call(bus, unpackAgents, sent, { attachment: [bytes] });
}

/** In batches: however many there are, each call stays small. */
async function sendFiles(
  bus: Bus,
  files: readonly LocalFile[],
  { label, directory, ...sending }: Sending & { label: string; directory: string },
): Promise<Sent> {
  const git = await readGitOrigin(directory, "/");
  const { uploadAgents: upload } = client(bus, { uploadAgents });
  const agents: ImportedAgent[] = [];
  const importId = randomUUID();
  const duplicateOf = firstNames();
  for (const batch of batches(files)) {
    // Sequential, so that of two files with one name it is always the first that counts.
    const part = { label: cutText(label, 1_024), git, importId, ...sending, files: batch };
    for (const agent of (await upload(part)).agents) {
      const why = sending.dryRun ? duplicateOf(agent) : null;
      agents.push(why === null ? agent : skippedAgent(agent, why));
    }
  }
  return { counts: countsOf(agents), agents, diagnostics: [] };
}

/** An agent that a real import would skip. */
function skippedAgent(agent: ImportedAgent, why: Diagnostic): ImportedAgent {
  return {
    ...agent,
    name: null,
    description: "",
    digest: null,
    outcome: "skipped",
    change: null,
    withheld: null,
    diagnostics: [why, ...agent.diagnostics],
  };
}

function countsOf(agents: readonly ImportedAgent[]): AgentImportCounts {
  const counts = { found: 0, loaded: 0, skipped: 0, withheld: 0 };
  const reasons: Record<string, number> = {};
  for (const { outcome, withheld, diagnostics } of agents) {
    if (outcome === "not_an_agent") continue;
    counts.found += 1;
    counts[outcome] += 1;
    if (withheld !== null) counts.withheld += 1;
    if (outcome === "loaded") continue;
    const code = diagnostics.find(({ severity }) => severity === "error")?.code ?? "unknown";
    reasons[code] = (reasons[code] ?? 0) + 1;
  }
  return { ...counts, reasons };
}

function* batches(files: readonly LocalFile[]): Generator<LocalFile[]> {
  let batch: LocalFile[] = [];
  let bytes = 0;
  for (const file of files) {
    const isFull = batch.length >= BATCH.files || bytes + file.base64.length > BATCH.bytes;
    if (batch.length > 0 && isFull) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(file);
    bytes += file.base64.length;
  }
  if (batch.length > 0) yield batch;
}

/** Paths begin with the directory's own name, because it may be the `agents` that marks them. */
async function filesBelow(top: string): Promise<LocalFile[]> {
  const entries = await readdir(top, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(top, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .toSorted();
  // A hidden directory that was named itself is meant.
  const name = basename(top).replace(/^\.+/, "") || "directory";
  const chosen = agentPaths(paths.map((path) => `${name}/${path}`));
  const files: LocalFile[] = [];
  for (const path of chosen) {
    files.push(await readLocal(join(top, path.slice(name.length + 1)), path));
  }
  return files;
}

async function readLocal(absolute: string, path: string): Promise<LocalFile> {
  await using file = await open(absolute);
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(MAX_FILE_BYTES + 1) });
  return { path, base64: buffer.subarray(0, bytesRead).toString("base64") };
}

function linesOf(agent: ImportedAgent): string[] {
  const { outcome, change, withheld, name, file, diagnostics, scan } = agent;
  const worth = diagnostics.filter(({ severity }) => severity !== "info");
  const state = withheld === null ? (change ?? outcome) : `withheld: ${withheld}`;
  return [
    `${outcome === "skipped" ? "skipped" : state}  ${name ?? file}`,
    ...worth.map((diagnostic) => `  ${diagnosticText(diagnostic)}`),
    ...(scan === undefined ? [] : findingLines(scan)),
  ];
}

function countsText(counts: AgentImportCounts, dry: boolean): string {
  const { found, loaded, skipped, withheld, reasons } = counts;
  const why = Object.entries(reasons).map(([code, many]) => `${many} ${code}`);
  const text = `${found} found, ${loaded} ${dry ? "would load" : "loaded"}; ${skipped} skipped`;
  const said = why.length === 0 ? text : `${text}: ${why.join(", ")}`;
  return withheld === 0 ? said : `${said}; ${withheld} withheld, see: yard skills withheld`;
}

function diagnosticText({ severity, code, message, file, line }: Diagnostic): string {
  const place = line === null ? file : `${file}:${line}`;
  return printableLine(`${severity}: ${place}: ${message} (${code})`);
}
