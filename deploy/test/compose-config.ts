// Resolves the compositions with Compose, for tests that start no container.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

export interface ComposeService {
  environment?: Record<string, string | null>;
  env_file?: { path: string; required?: boolean }[];
  entrypoint?: string[];
  build?: { target?: string; args?: Record<string, string> } | null;
  image?: string;
  pull_policy?: string;
  tmpfs?: string[];
  mem_limit?: string;
  pids_limit?: number;
  logging?: { options?: Record<string, string> };
  security_opt?: string[];
  volumes?: { type: string; source: string; target: string; read_only?: boolean }[];
  ports?: { host_ip?: string }[];
  read_only?: boolean;
  user?: string;
  pid?: string;
  group_add?: string[];
  command?: string[];
  cap_drop?: string[];
  healthcheck?: { test: string[]; interval: string; start_interval: string };
  depends_on?: Record<string, { condition: string; restart?: boolean }>;
}

/** `docker compose` where Compose v2 is a plugin, `docker-compose` where it is a separate command. */
function composeCommand(): string[] | null {
  const candidates = [["docker", "compose"], ["docker-compose"]];
  return (
    candidates.find(([tool = "", ...args]) => {
      const { stdout, status } = spawnSync(tool, [...args, "version", "--short"], {
        encoding: "utf8",
      });
      return status === 0 && /^v?[2-9]\./.test(stdout);
    }) ?? null
  );
}

const command = composeCommand();
export const LONG_RUNNING = [
  "nats",
  "redis",
  "policy",
  "importer",
  "broker",
  "runner",
  "toolbox",
  "channels",
  "scheduler",
  "gateway",
];
/** Compose is found by these variables; no other variable of this machine may affect it. */
const { PATH, HOME, DOCKER_CONFIG } = process.env;
const ofMachine = { PATH, HOME, ...(DOCKER_CONFIG !== undefined && { DOCKER_CONFIG }) };
export const skip = command === null && "Docker Compose v2 is not installed";

/** The configuration that Compose resolves from the file, these variables and further files. */
export function resolvedConfig(
  env: Record<string, string> = {},
  files: readonly string[] = [],
  first = "docker-compose.yml",
): { name: string; services: Record<string, ComposeService> } {
  const [tool = "", ...args] = command ?? [];
  const named = [first, ...files].flatMap((file) => ["--file", file]);
  const result = spawnSync(tool, [...args, ...named, "config", "--format", "json"], {
    cwd: root,
    encoding: "utf8",
    env: { ...ofMachine, ...env },
  });
  assert.equal(result.status, 0, result.stderr);
  return JSON.parse(result.stdout);
}
