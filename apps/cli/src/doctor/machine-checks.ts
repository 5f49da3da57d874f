import { chmod, stat } from "node:fs/promises";
import { join } from "node:path";
import { resolveServer } from "@switchyard/local-servers/resolve";
import { resolveBubblewrap } from "@switchyard/local-servers/resolve-bubblewrap";
import { findBubblewrap } from "@switchyard/service/process/sandbox";
import { runsUnboxed } from "../dev/local-bubblewrap.ts";
import { findRunningInstance } from "../instance-record.ts";
import { HOME, IS_INSTALLED, type StateDirectory } from "../locations.ts";
import { checked, failed, ok, skipped, warning, type Check } from "./check.ts";
import { checkMcpFile } from "./mcp-file-check.ts";
import { checkTriggers } from "./triggers-check.ts";
import { checkModels } from "./model-check.ts";

const LEAST_NODE = 24;

/** Checks the requirements of `yard dev` on this machine, whether it runs or not. */
export async function machineChecks(
  env: NodeJS.ProcessEnv,
  state: StateDirectory,
): Promise<Check[]> {
  const { project, workspace } = await directoriesOf(state);
  return [
    checkNode(process.versions.node),
    await checkDependencies(),
    await checkServer("nats", env),
    await checkServer("redis", env),
    await checkSandbox(env),
    await checkPermissions(state),
    await checkMcpFile(join(project, "mcp-servers.json")),
    await checkTriggers(join(project, "triggers.yaml")),
    await checkModels({ file: join(project, "models.json"), workspace, env }),
  ];
}

/** The project that runs here and the runner's working directory, else the defaults of `yard dev`. */
async function directoriesOf(
  state: StateDirectory,
): Promise<{ project: string; workspace: string }> {
  // An unreadable record is reported with the instance.
  const instance = await findRunningInstance(state.instanceFile).catch(() => null);
  return {
    project: instance?.project ?? join(HOME, "examples"),
    workspace: instance?.workspace ?? HOME,
  };
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
  if (IS_INSTALLED) return ok("dependencies", "npm installed them with the package");
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

/** Tries to make a sandbox with what is installed; it downloads nothing. */
async function checkSandbox(env: NodeJS.ProcessEnv): Promise<Check> {
  const [id, off] = ["sandbox", "execute_command is off"];
  if (runsUnboxed(env)) return warning(id, "commands run without a sandbox", "unset YARD_SANDBOX");
  return checked(id, "correct YARD_BIN_DIR, or unset it", async () => {
    const found = await resolveBubblewrap({ env, log: () => {}, fetch: false });
    if ("reason" in found)
      return process.platform === "linux"
        ? warning(
            id,
            `${found.reason}; ${off} without it`,
            "yard dev will try the distribution's packages",
          )
        : warning(id, `there is no bubblewrap for ${process.platform}; ${off}`, UNBOXED);
    const search = { program: found.binary, path: env["PATH"] ?? "" };
    return findBubblewrap(search).then(
      () => ok(id, `bubblewrap ${found.version}: ${found.binary} (${found.source})`),
      (error: unknown) =>
        warning(id, `${off}: ${error instanceof Error ? error.message : String(error)}`, UNBOXED),
    );
  });
}

const UNBOXED =
  "permit user namespaces where the system has them, or let commands run without a sandbox: YARD_SANDBOX=off";

export async function checkPermissions(state: StateDirectory): Promise<Check> {
  const keys = await stat(state.keys).catch((error: NodeJS.ErrnoException) => error);
  if (keys instanceof Error) {
    return keys.code === "ENOENT"
      ? skipped("permissions", "no keys yet; yard dev makes them")
      : failed(
          "permissions",
          `${state.keys} cannot be used (${keys.code})`,
          "check who owns it and who may use it: ls -ld",
        );
  }
  return (keys.mode & 0o077) === 0
    ? ok("permissions", `${state.keys} is closed to other users`)
    : {
        ...failed("permissions", `${state.keys} is open to other users`, `chmod 700 ${state.keys}`),
        repair: async () => {
          await chmod(state.keys, 0o700);
          return `${state.keys} is closed to other users now`;
        },
      };
}
