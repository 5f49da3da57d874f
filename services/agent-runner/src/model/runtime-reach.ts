import { homedir } from "node:os";
import { privatePaths } from "@switchyard/service/process/private-paths";
import type { Cli } from "../runtime-host/host-protocol.ts";
import { hostOf } from "../runtime-host/outlet.ts";
import type { ModelsConfig } from "./models-file.ts";

/** The hosts of a CLI's model, unless an address is configured. opencode has the model of any of these. */
const HOSTS: Readonly<Record<Cli, readonly string[]>> = {
  claude: ["api.anthropic.com:443"],
  codex: ["api.openai.com:443"],
  gemini: ["generativelanguage.googleapis.com:443"],
  opencode: [
    "api.anthropic.com:443",
    "api.openai.com:443",
    "generativelanguage.googleapis.com:443",
    "openrouter.ai:443",
  ],
  acp: [],
};

/**
 * Returns the paths that a sandboxed CLI must not see, wherever its own program lies: keys of models, of the runner, and the files
 * next to them.
 */
export function secretPaths(
  { providers }: Pick<ModelsConfig, "providers">,
  env: NodeJS.ProcessEnv,
): string[] {
  const ofModels = Object.values(providers).flatMap(({ apiKeyFile }) => apiKeyFile ?? []);
  return [...ofModels, ...privatePaths(env, homedir()).secret];
}

/** Returns the hosts that a sandboxed CLI may connect to: its model's, and those that the operator adds. */
export function runtimeHosts({
  cli,
  baseURL,
  hosts,
}: {
  readonly cli: Cli;
  readonly baseURL: string | undefined;
  readonly hosts: readonly string[];
}): string[] {
  const model = baseURL === undefined ? HOSTS[cli] : [hostOf(new URL(baseURL))];
  const named = hosts.map((host) => (/:\d+$/.test(host) ? host : `${host}:443`).toLowerCase());
  return [...new Set([...model, ...named])];
}
