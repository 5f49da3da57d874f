// A composition of its own for a test: a name, a project folder and ports that no other has.
//
// Without a registry, name images in NODE_IMAGE, NATS_IMAGE and REDIS_IMAGE, or a built one in SWITCHYARD_IMAGE.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmod, cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** For one command of Compose: a first build takes minutes. */
export const STEP_MS = 600_000;
/** `start_interval` of a health check. */
const LEAST_ENGINE = 25;

const root = fileURLToPath(new URL("../../", import.meta.url));

export interface Done {
  readonly status: number | null;
  readonly text: string;
}

export interface Composition {
  readonly name: string;
  /** A copy of `examples` that the test may change. */
  readonly project: string;
  /** The settings of its own, for a command that this file does not run. */
  readonly env: Readonly<Record<string, string>>;
  readonly compose: (args: readonly string[], env?: Record<string, string>) => Done;
  /** Runs deploy/docker/upgrade.sh. */
  readonly upgrade: (env: Record<string, string>) => Done;
  /** The command line, in a container. */
  readonly yard: (...args: string[]) => Done;
  /** Builds the image, unless one was named. */
  readonly build: () => void;
  /** Ends and removes everything, volumes too, and returns what is left all the same. */
  readonly remove: () => string[];
}

export async function composition(
  label: string,
  file = "docker-compose.yml",
): Promise<Composition> {
  const project = await mkdtemp(join(tmpdir(), `yard-compose-${label}-`));
  await cp(join(root, "examples"), project, { recursive: true });
  await chmod(project, 0o755);
  const name = `yard-test-${label}-${process.pid}`;
  const own = {
    COMPOSE_FILE: file,
    YARD_PROJECT: project,
    YARD_NATS_PORT: "0",
    YARD_HTTP_PORT: "0",
  };
  const compose: Composition["compose"] = (args, env = {}) =>
    docker(["compose", "--project-name", name, ...args], { ...own, ...env });
  return {
    name,
    project,
    env: own,
    compose,
    upgrade: (env) =>
      ran("sh", ["deploy/docker/upgrade.sh"], { ...own, COMPOSE_PROJECT_NAME: name, ...env }),
    yard: (...args) => compose(["run", "--rm", "--no-TTY", "cli", ...args]),
    build: () => {
      if (process.env["SWITCHYARD_IMAGE"] === undefined) succeeded(compose(["build"]));
    },
    remove: () => {
      compose(["--profile", "cli", "down", "--volumes", "--timeout", "5"]);
      return leftOf(name);
    },
  };
}

/** Removes the test's folder. */
export async function removeProject({ project }: Composition): Promise<void> {
  await rm(project, { recursive: true, force: true });
}

/** The output, of stdout and stderr. */
export function succeeded({ status, text }: Done): string {
  assert.equal(status, 0, text);
  return text;
}

/** Runs the Docker client in the repository's root. */
export function docker(args: readonly string[], env: Record<string, string> = {}): Done {
  return ran("docker", args, env);
}

function ran(tool: string, args: readonly string[], env: Record<string, string>): Done {
  const { status, stdout, stderr } = spawnSync(tool, args, {
    cwd: root,
    encoding: "utf8",
    timeout: STEP_MS,
    env: { ...process.env, ...env },
  });
  return { status, text: `${stdout}${stderr}` };
}

function leftOf(name: string): string[] {
  const filter = ["--quiet", "--filter", `label=com.docker.compose.project=${name}`];
  const lists = [
    ["ps", "--all"],
    ["volume", "ls"],
    ["network", "ls"],
  ];
  return lists.flatMap((list) =>
    succeeded(docker([...list, ...filter]))
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => `${list[0]} ${line}`),
  );
}

/** Returns the reason why no composition can be started here, or false. */
export function whyNoComposition(): string | false {
  if (process.env["YARD_TEST_DOCKER"] !== "1") return "YARD_TEST_DOCKER is not 1";
  const engine = docker(["version", "--format", "{{.Server.Version}}"]);
  if (engine.status !== 0) return "no Docker engine can be reached";
  if (Number.parseInt(engine.text, 10) < LEAST_ENGINE)
    return `the Docker engine is older than ${LEAST_ENGINE}`;
  const plugin = docker(["compose", "version"]);
  return plugin.status === 0 ? false : "Docker Compose v2 is not installed";
}
