import { dirname, join, sep } from "node:path";
import type { ModelsConfig } from "./models-file.ts";

/** Where people keep what opens other doors. */
const OF_HOME =
  ".ssh .aws .azure .config .docker .gnupg .kube .netrc .npmrc .pypirc .git-credentials".split(" ");
/** Sockets by which a process without rights has somebody with rights do things. */
const OF_MACHINE = "/run/docker.sock /run/containerd /run/podman /run/dbus /run/user".split(" ");

/**
 * What a CLI in a sandbox is not to see: the keys that the environment and the models file name, those beside them, and usual
 * paths of credentials.
 */
export function hiddenPaths(
  { providers }: Pick<ModelsConfig, "providers">,
  env: NodeJS.ProcessEnv,
  home: string,
): string[] {
  const ofModels = Object.values(providers).map(({ apiKeyFile }) => apiKeyFile ?? "");
  const own = Object.entries(env).flatMap(([name, path = ""]) =>
    /^YARD_.*_FILE$/.test(name) ? [isOfKey(name) ? besideOf(path) : path] : [],
  );
  const paths = [...ofModels, ...own].filter((path) => path !== "");
  return [...paths, ...OF_HOME.map((name) => join(home, name)), ...OF_MACHINE];
}

function isOfKey(name: string): boolean {
  return /_(?:NKEY|PASSWORD|KEY|TOKEN)_FILE$/.test(name);
}

/** Keys of other services lie in the same directory, unless that is one of the system's. */
function besideOf(path: string): string {
  const directory = dirname(path);
  return directory.split(sep).length > 2 ? directory : path;
}
