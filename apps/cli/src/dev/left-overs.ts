import { setTimeout as delay } from "node:timers/promises";
import { CliError } from "../cli-error.ts";
import { isAlive, type ProcessRecord } from "../instance-record.ts";

const TIMEOUT_MS = 5_000;
const POLL_MS = 20;

/**
 * Ends the processes that an instance left behind when it was killed: last started first, each only when pid and start identity are
 * those of the record. Most are ending by themselves, because they detect that their parent is gone.
 */
export async function stopLeftOvers(
  processes: readonly ProcessRecord[],
  report: (line: string) => void,
): Promise<void> {
  for (const left of processes.toReversed()) {
    if (!(await isAlive(left))) continue;
    report(`stopping ${left.name} (process ${left.pid}), left over from an earlier start`);
    signal(left.pid, "SIGTERM");
    signal(left.pid, "SIGCONT"); // a paused process would not see the SIGTERM
    if (await endsInTime(left)) continue;
    signal(left.pid, "SIGKILL");
    if (await endsInTime(left)) continue;
    throw new CliError("start_failed", `${left.name} (process ${left.pid}) cannot be ended`, {
      hint: "end it by hand, then start again",
    });
  }
}

async function endsInTime(left: ProcessRecord): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < TIMEOUT_MS; waitedMs += POLL_MS) {
    if (!(await isAlive(left))) return true;
    await delay(POLL_MS);
  }
  return false;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // it ended in between
  }
}
