import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { resolveServer } from "@switchyard/local-servers/resolve";
import { z } from "zod";
import { findRunningInstance } from "../instance-record.ts";
import { HOME, type StateDirectory } from "../locations.ts";
import { checked, failed, ok, skipped, warning, type Check } from "./check.ts";

const LEAST_NODE = 24;

/** What `yard dev` needs from this machine, whether it runs or not. */
export async function machineChecks(
  env: NodeJS.ProcessEnv,
  state: StateDirectory,
): Promise<Check[]> {
  return [
    checkNode(process.versions.node),
    await checkDependencies(),
    await checkServer("nats", env),
    await checkServer("redis", env),
    await checkPermissions(state),
    await checkModels(join(await projectOf(state), "models.json"), env),
  ];
}

/** The project that runs here, else the one that `yard dev` takes by itself. */
async function projectOf(state: StateDirectory): Promise<string> {
  const instance = await findRunningInstance(state.instanceFile);
  return instance?.project ?? join(HOME, "examples");
}

export function checkNode(version: string): Check {
  return Number(version.split(".")[0]) >= LEAST_NODE
    ? ok("node", `Node.js ${version}`)
    : failed(
        "node",
        `Node.js ${version} is too old`,
        "start it with ./yard, which brings Node.js 24",
      );
}

async function checkDependencies(): Promise<Check> {
  const fix = "install them: npm ci";
  return checked("dependencies", fix, async () => {
    const lock = await stat(join(HOME, "package-lock.json"));
    const installed = await stat(join(HOME, "node_modules", ".package-lock.json"));
    return installed.mtimeMs >= lock.mtimeMs
      ? ok("dependencies", "the npm packages are those of package-lock.json")
      : warning("dependencies", "package-lock.json is newer than the installed packages", fix);
  });
}

/** Looks for a configured or installed server; it starts, pulls and downloads nothing. */
async function checkServer(kind: "nats" | "redis", env: NodeJS.ProcessEnv): Promise<Check> {
  const id = `${kind}-server`;
  const tried: string[] = [];
  try {
    const log = (line: string): void => void tried.push(line);
    const found = await resolveServer({ kind, env, log, steps: ["url", "binary"] });
    return ok(id, tried.at(-1) ?? found.how);
  } catch (error) {
    const variable = kind === "nats" ? "YARD_NATS_URL" : "YARD_REDIS_URL";
    if (env[variable] !== undefined && env[variable] !== "") {
      return failed(id, String(error), `correct ${variable}, or unset it`);
    }
    const found = tried.slice(1).join("; ");
    return warning(
      id,
      `no usable ${id} is installed${found === "" ? "" : ` (${found})`}`,
      "yard dev will try Docker and the distribution's packages",
    );
  }
}

async function checkPermissions(state: StateDirectory): Promise<Check> {
  const keys = await stat(state.keys).catch(() => null);
  if (keys === null) return skipped("permissions", "no keys yet; yard dev makes them");
  return (keys.mode & 0o077) === 0
    ? ok("permissions", `${state.keys} is closed to other users`)
    : failed("permissions", `${state.keys} is open to other users`, `chmod 700 ${state.keys}`);
}

const ModelsFile = z.looseObject({
  default: z.string().optional(),
  providers: z.record(z.string(), z.looseObject({ apiKeyEnv: z.string().optional() })).optional(),
});

/** Which model keys are set: names only, never values. */
async function checkModels(file: string, env: NodeJS.ProcessEnv): Promise<Check> {
  const text = await readFile(file, "utf8").catch(() => null);
  if (text === null) {
    return ok("models", "no models.json: agents use scripted/plan, which is rule-based and no AI");
  }
  return checked("models", `correct ${file}`, async () => {
    const models = ModelsFile.parse(JSON.parse(text));
    const keys = Object.entries(models.providers ?? {}).map(([provider, { apiKeyEnv }]) => ({
      provider,
      isSet: apiKeyEnv === undefined || (env[apiKeyEnv] ?? "") !== "",
      text: apiKeyEnv === undefined ? "no key needed" : apiKeyEnv,
    }));
    const summary = keys
      .map(({ provider, isSet, text: name }) => `${provider} (${name}${isSet ? "" : " not set"})`)
      .join(", ");
    const chosen = models.default?.split("/")[0];
    const missing = keys.find(({ provider, isSet }) => provider === chosen && !isSet);
    return missing === undefined
      ? ok("models", `default ${models.default ?? "scripted/plan"}; ${summary}`)
      : warning("models", `the default ${models.default} has no key`, `export ${missing.text}=…`);
  });
}
