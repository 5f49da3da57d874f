import { readdir, readFile, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { z } from "zod";
import { CliError } from "../cli-error.ts";

/** A directory with everything the services work on: rules, servers, skills, agents, models. */
export interface Project {
  readonly directory: string;
  readonly policyFile: string;
  readonly mcpServersFile: string;
  /** Null: the demo's, with the loopback channel alone. */
  readonly channelsFile: string | null;
  /** Null: runs begin by no trigger of the project. */
  readonly triggersFile: string | null;
  /** Null: no webhook starts a run. */
  readonly hooks: HooksOfProject | null;
  /** Null: the runner knows its built-in providers only. */
  readonly modelsFile: string | null;
  /** The model of agents that name none. */
  readonly defaultModel: string;
}

export interface HooksOfProject {
  readonly file: string;
  /** The variables that the file names as `${VAR}`, which hold its secrets. */
  readonly variables: readonly string[];
}

const BUILT_IN_MODEL = "scripted/plan";

/** The part of the runner's file that is shown when everything is ready. */
const ModelsFile = z.looseObject({ default: z.string().optional() });

/** Finds the files of a project. Throws an error that names the one that is missing. */
export async function findProject(directory: string): Promise<Project> {
  const root = resolve(directory);
  if (!(await isDirectory(root))) {
    throw new CliError("directory_missing", `there is no project directory ${root}`, {
      hint: "name one with --project DIR; examples/ is one",
    });
  }
  const mcpServersFile = join(root, "mcp-servers.json");
  if (!(await isFile(mcpServersFile))) {
    throw new CliError("directory_missing", `the project ${root} has no mcp-servers.json`, {
      hint: 'a project without MCP servers has one with {"mcpServers":{}}',
    });
  }
  const modelsFile = join(root, "models.json");
  const triggersFile = join(root, "triggers.yaml");
  const channelsFile = join(root, "channels.json");
  const hasModels = await isFile(modelsFile);
  return {
    directory: root,
    policyFile: await findPolicy(root),
    mcpServersFile,
    channelsFile: (await isFile(channelsFile)) ? channelsFile : null,
    triggersFile: (await isFile(triggersFile)) ? triggersFile : null,
    hooks: await findHooks(join(root, "hooks.json")),
    modelsFile: hasModels ? modelsFile : null,
    defaultModel: hasModels ? await readDefaultModel(modelsFile) : BUILT_IN_MODEL,
  };
}

async function findHooks(file: string): Promise<HooksOfProject | null> {
  if (!(await isFile(file))) return null;
  const text = await readFile(file, "utf8").catch(() => ""); // the gateway reports what is wrong with it
  const variables = [...text.matchAll(/\$\{([A-Za-z_]\w*)\}/g)].map(([, name = ""]) => name);
  return { file, variables: [...new Set(variables)] };
}

async function findPolicy(root: string): Promise<string> {
  const named = join(root, "policy.yaml");
  if (await isFile(named)) return named;
  const directory = join(root, "policies");
  const names = await readdir(directory).catch(() => []);
  // `rules.test.yaml` holds the tests of `rules.yaml`.
  // The folder, also with one file in it: a file that is added later is read, too. Several are one bundle, as docs/policy.md describes.
  if (names.some((name) => /(?<!\.test)\.ya?ml$/.test(name))) return directory;
  throw new CliError(
    "directory_missing",
    `the project ${root} has no policy: neither policy.yaml nor a YAML file in policies/`,
    { hint: `put the rules in force into ${named}` },
  );
}

async function readDefaultModel(file: string): Promise<string> {
  try {
    const content = ModelsFile.parse(JSON.parse(await readFile(file, "utf8")));
    return content.default ?? BUILT_IN_MODEL;
  } catch {
    return BUILT_IN_MODEL; // the runner reads the file too, and reports precisely what is wrong with it
  }
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isFile() ?? false;
}

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() ?? false;
}
