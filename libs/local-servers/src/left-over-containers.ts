// Containers outlive the process that started them when its whole process tree is killed at once. A label with the data
// directory finds them again.

import { setTimeout as delay } from "node:timers/promises";

import { firstLine, type CommandResult } from "./run-command.ts";
import { ServerStartError } from "./server-process.ts";

/** One command of the engine, with a time limit. */
export type EngineControl = (...args: string[]) => Promise<CommandResult>;

const LABEL = "switchyard.data-dir";
const REMOVAL_ATTEMPTS = 50;
const POLL_MS = 100;

/** The `docker run` arguments by which {@link removeLeftOvers} finds a container of `dataDir`. */
export function dataDirLabel(dataDir: string): string[] {
  return ["--label", `${LABEL}=${dataDir}`];
}

/**
 * Removes the containers of earlier starts that work in `dataDir`, and logs that. Rejects with `ServerStartError` when the engine cannot
 * list them or cannot remove them: two servers on one JetStream or append-only directory would destroy it.
 */
export async function removeLeftOvers(options: {
  control: EngineControl;
  name: string;
  dataDir: string;
  log: (line: string) => void;
  attempts?: number;
}): Promise<void> {
  const { control, name, dataDir, log, attempts = REMOVAL_ATTEMPTS } = options;
  let refusal = "";
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const left = await containersOf(options);
    if (left.length === 0) return;
    if (attempt === 0) {
      log(
        `${name}: removing container ${left.join(", ")} that an earlier start left running in ${dataDir}`,
      );
    } else {
      await delay(POLL_MS);
    }
    // The engine refuses also for a container that is just being removed (`--rm`): only its absence counts.
    refusal = firstLine((await control("rm", "--force", ...left)).stderr);
  }
  throw new ServerStartError(
    `${name}: a container of an earlier start still uses ${dataDir} and cannot be removed (${refusal}); remove it by hand`,
    "",
  );
}

async function containersOf(options: {
  control: EngineControl;
  name: string;
  dataDir: string;
}): Promise<string[]> {
  const { control, name, dataDir } = options;
  const filter = `label=${LABEL}=${dataDir}`;
  const { code, stdout, stderr } = await control("ps", "--all", "--quiet", "--filter", filter);
  if (code !== 0) {
    throw new ServerStartError(
      `${name}: the container engine does not report what runs in ${dataDir} (${firstLine(stderr)})`,
      "",
    );
  }
  return stdout.split(/\s+/).filter((id) => id !== "");
}
