import { createHash } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { AgentName } from "@switchyard/contracts/ids";
import { withYamlChanges, type YamlChange } from "@switchyard/service/yaml-edit";
import { MAX_FILE_BYTES, problemLine, readYaml } from "@switchyard/service/yaml-file";
import { systemErrorCode, ToolError } from "../tool-error.ts";
import { openForReading } from "../workspace/open-path.ts";
import { replaceFile } from "../workspace/replace-file.ts";
import { openWorkspace, workspacePath, type Workspace } from "../workspace/workspace.ts";
import { withChange, type ConfigChange } from "./config-changes.ts";
import { isList, isObject, redacted, type Json, type JsonObject } from "./config-value.ts";

/** The part of the configuration in one file. */
interface ConfigFile {
  /** The path of the part in the configuration: `models`, or `agents` and a name. */
  readonly at: readonly string[];
  /** Below the directory. */
  readonly name: string;
  readonly text: string;
  readonly stats: BigIntStats;
  readonly value: Json;
}

export interface ConfigSnapshot {
  /** A digest of the shown configuration and the files' times; it reveals nothing about hidden values. */
  readonly hash: string;
  /** The configuration without secrets. */
  readonly config: JsonObject;
  readonly files: readonly ConfigFile[];
}

/** The configuration of a project directory: files with these names and no others. */
export interface ConfigFiles {
  read(): Promise<ConfigSnapshot>;
  /** Resolves to the names of the files that were written. The changes have been checked. */
  write(snapshot: ConfigSnapshot, changes: readonly ConfigChange[]): Promise<readonly string[]>;
}

const MAX_AGENTS = 500;
const FRONT = /^---[ \t]*\r?\n([^]*?)\r?\n---[ \t]*(?:\r?\n|$)/;

export function configFiles(directory: string): ConfigFiles {
  return {
    read: () => readAll(directory),
    async write(snapshot, changes) {
      const workspace = await openWorkspace(directory, "limited-control");
      const written: string[] = [];
      for (const file of snapshot.files) {
        const own = changes.filter(({ path }) => file.at.every((name, i) => path[i] === name));
        if (own.length === 0) continue;
        const inFile = own.map(({ path, value }) => ({ path: path.slice(file.at.length), value }));
        try {
          const target = await workspacePath(workspace, file.name);
          await replaceFile(target, Buffer.from(changedText(file, inFile)), { read: file.stats });
        } catch (error) {
          throw notWritten(error, file.name, written);
        }
        written.push(file.name);
      }
      return written;
    },
  };
}

function notWritten(error: unknown, name: string, written: readonly string[]): unknown {
  const before = written.length === 0 ? "" : ` Written before it: ${written.join(", ")}.`;
  if (systemErrorCode(error) === "EROFS")
    return new ToolError(
      `${name} was not written: the configuration is mounted read-only for the toolbox; a person has to change it.${before}`,
    );
  if (!(error instanceof ToolError)) return error;
  return new ToolError(`${error.message}${before}`);
}

async function readAll(directory: string): Promise<ConfigSnapshot> {
  const workspace = await openWorkspace(directory, "limited-control");
  const agents = await agentFiles(workspace);
  const wanted = [
    { at: ["models"], name: "models.json" },
    { at: ["channels"], name: "channels.json" },
    { at: ["triggers"], name: "triggers.yaml" },
    ...agents,
  ];
  const files: ConfigFile[] = [];
  for (const { at, name } of wanted) {
    const file = await readOne(workspace, name);
    if (file !== null) files.push({ at, name, ...file, value: valueOf(name, file.text) });
  }
  const hash = createHash("sha256");
  let config: JsonObject = {};
  for (const { at, name, stats, value } of files) {
    const shown = redacted(value);
    config = withChange(config, { path: at, value: shown }) as JsonObject; // `at` is not empty
    hash.update(JSON.stringify([name, String(stats.ino), String(stats.mtimeNs), shown]));
  }
  return { hash: hash.digest("hex"), config, files };
}

/** Files of the folder `agents` that can be one; of two with the same name the first. */
async function agentFiles(workspace: Workspace) {
  const { base, names } = await workspacePath(workspace, "agents");
  const entries = await readdir(join(base, ...names)).catch((error: unknown) => {
    if (["ENOENT", "ENOTDIR"].includes(systemErrorCode(error) ?? "")) return [];
    throw error;
  });
  const found = new Map<string, { at: string[]; name: string }>();
  for (const entry of entries.toSorted(byName)) {
    const [, name = ""] = /^(.+)\.(?:md|ya?ml)$/.exec(entry) ?? [];
    if (!AgentName.safeParse(name).success || found.has(name) || found.size >= MAX_AGENTS) continue;
    found.set(name, { at: ["agents", name], name: `agents/${entry}` });
  }
  return found.values();
}

async function readOne(workspace: Workspace, name: string) {
  const target = await workspacePath(workspace, name);
  const exists = await lstat(join(target.base, ...target.names)).catch((error: unknown) => {
    if (systemErrorCode(error) === "ENOENT") return null;
    throw error;
  });
  if (exists === null) return null;
  const file = await openForReading(target);
  try {
    const stats = await file.stat({ bigint: true });
    if (stats.size > MAX_FILE_BYTES)
      throw new ToolError(`${name} is larger than ${MAX_FILE_BYTES} bytes.`);
    return { text: await file.readFile("utf8"), stats };
  } finally {
    await file.close();
  }
}

/** Parses a file. Throws a ToolError with the position of a mistake, and without the file's text. */
function valueOf(name: string, text: string): Json {
  if (name.endsWith(".json")) {
    try {
      return JSON.parse(text) as Json; // the possible types of JSON
    } catch {
      throw new ToolError(`${name} is not valid JSON; a person has to correct it.`);
    }
  }
  if (name === "triggers.yaml") return yamlOf(name, text)["triggers"] ?? [];
  const front = name.endsWith(".md") ? FRONT.exec(text) : null;
  if (name.endsWith(".md") && front === null)
    throw new ToolError(`${name} does not begin with --- and fields; a person has to correct it.`);
  const fields = yamlOf(name, front?.[1] ?? text);
  const prompt = front === null ? fields["system_prompt"] : text.slice(front[0].length);
  const { description, model, runtime } = fields;
  const known = { description, model, runtime, system_prompt: prompt };
  return Object.fromEntries(
    Object.entries(known).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
}

function yamlOf(name: string, text: string): JsonObject {
  const read = readYaml<JsonObject>(text, (content) => {
    const value = content as Json; // YAML's core schema has JSON's values
    if (isObject(value)) return { value, problems: [] };
    return { value: null, problems: [{ path: [], message: "the file is not a mapping" }] };
  });
  if (read.value !== null) return read.value;
  const problems = read.problems.slice(0, 3).map((problem) => problemLine(name, problem));
  throw new ToolError(`${problems.join("; ")}. A person has to correct it.`);
}

function byName(a: string, b: string): number {
  return a < b ? -1 : 1;
}

function changedText({ name, text, value }: ConfigFile, changes: readonly ConfigChange[]): string {
  if (name.endsWith(".json")) {
    let made = value;
    for (const change of changes) made = withChange(made, change);
    return `${JSON.stringify(made, null, 2)}\n`;
  }
  if (name === "triggers.yaml") return inYaml(text, changes, ["triggers"]);
  if (!name.endsWith(".md")) return inYaml(text, changes, []);
  const [head = "", fields = ""] = FRONT.exec(text) ?? [];
  const body = changes.find(({ path }) => path[0] === "system_prompt")?.value;
  const inFields = changes.filter(({ path }) => path[0] !== "system_prompt");
  const start = inFields.length === 0 ? head : `---\n${inYaml(fields, inFields, [])}---\n`;
  return start + (typeof body === "string" ? body : text.slice(head.length));
}

function inYaml(text: string, changes: readonly ConfigChange[], under: readonly string[]): string {
  const inText = changes.map(({ path, value }): YamlChange => {
    const names = [...under, ...path].map((one) => (/^\d+$/.test(one) ? Number(one) : one));
    return { path: names, value: isList(value) ? [...value] : value };
  });
  return withYamlChanges(text, inText);
}
