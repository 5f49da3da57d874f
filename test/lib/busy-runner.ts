import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { until } from "@switchyard/local-servers/until";
import type { DevInstance, DevProcess } from "./yard-dev.ts";

/** The process of the runner that holds a run now, also when it was started again since; another one than `before`. */
export function busyRunner({ stateDir }: DevInstance, before = 0): Promise<number> {
  return until(async () => {
    const record = await readFile(join(stateDir, "dev.json"), "utf8");
    const { processes } = JSON.parse(record) as { processes: DevProcess[] };
    for (const { name, healthUrl, pid } of processes) {
      if (!name.startsWith("runner") || healthUrl === null || pid === before) continue;
      // One that was just killed does not answer.
      const answer = await fetch(new URL("/metrics", healthUrl)).catch(() => null);
      if (/^yard_runner_slots_busy(\{[^}]*\})? [1-9]/m.test((await answer?.text()) ?? ""))
        return pid;
    }
    return null;
  });
}
