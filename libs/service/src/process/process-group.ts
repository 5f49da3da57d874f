import { setTimeout as delay } from "node:timers/promises";
import { readProcessStats } from "./process-stat.ts";

const POLL_MS = 20;
const LONGEST_POLL_MS = 200;

/**
 * True while a process of the group lives. A signal reaches dead ones too until their parent
 * collects them, and the first process of a container may never do so; they do not count.
 */
export async function isGroupAlive(groupId: number): Promise<boolean> {
  if (!signalGroup(groupId, 0)) return false;
  if (process.platform !== "linux") return true;
  return (await readProcessStats()).some(({ group, isDead }) => group === groupId && !isDead);
}

/**
 * True while a process lives in the group that a detached child began, whether or not the child itself does: such a group is a session too,
 * and its number is not reused while it has members.
 */
export async function isDetachedGroupAlive(groupId: number): Promise<boolean> {
  if (process.platform !== "linux") return false;
  const stats = await readProcessStats();
  return stats.some(
    ({ group, session, isDead }) => group === groupId && session === groupId && !isDead,
  );
}

/**
 * Ends a process group: SIGTERM, then SIGKILL for the processes that are left after the grace period. Resolves to true when the group is
 * gone.
 */
export async function endGroup(groupId: number, graceMs: number): Promise<boolean> {
  signalGroup(groupId, "SIGTERM");
  if (await isGoneWithin(groupId, graceMs)) return true;
  signalGroup(groupId, "SIGKILL");
  return isGoneWithin(groupId, graceMs);
}

/** Sends a signal to every process of a group. False when there is none. */
function signalGroup(groupId: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-groupId, signal);
    return true;
  } catch (error) {
    // EPERM: it lives and belongs to another user. ESRCH: no process is left.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** The death of a grandchild is not reported, so the group is polled. */
async function isGoneWithin(groupId: number, timeoutMs: number): Promise<boolean> {
  const end = performance.now() + timeoutMs;
  // A look at all processes of the machine is not cheap, and who did not end at once often takes seconds.
  for (let pollMs = POLL_MS; await isGroupAlive(groupId); pollMs *= 1.5) {
    const leftMs = end - performance.now();
    if (leftMs <= 0) return false;
    await delay(Math.min(pollMs, LONGEST_POLL_MS, leftMs));
  }
  return true;
}
