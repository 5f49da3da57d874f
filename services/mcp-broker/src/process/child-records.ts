import { lstat, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { endGroup, isDetachedGroupAlive } from "@switchyard/service/process/process-group";
import { processIdentity, processScope } from "./process-identity.ts";

/**
 * One small file per child process, so that the next broker can end what a crashed one left
 * behind. A record counts only while its processes can be told from later ones with the same
 * numbers: the broker must be dead, and the child must be the very one that was started, or be
 * gone with members of its group still there.
 */
export interface ChildRecords {
  add(child: { pid: number; server: string }): Promise<void>;
  remove(pid: number): Promise<void>;
  /** Ends the children of dead brokers, and returns those that it ended. */
  reap(): Promise<{ pid: number; server: string }[]>;
}

const Process = z.strictObject({ pid: z.int().positive(), startedAt: z.string() });
const ChildRecord = z.strictObject({
  scope: z.string(),
  server: z.string(),
  child: Process,
  broker: Process,
});
type ChildRecord = z.infer<typeof ChildRecord>;

const REAP_GRACE_MS = 2_000;

/** Opens the records below a state directory, and refuses one that another user can write to. */
export async function openChildRecords(stateDir: string): Promise<ChildRecords> {
  const directory = join(stateDir, "mcp-children");
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await checkOwner(directory);
  const self = await processIdentity(process.pid);
  const fileOf = (pid: number): string => join(directory, `${pid}.json`);

  return {
    async add({ pid, server }) {
      const identity = await processIdentity(pid);
      if (identity === null || self === null) return; // it is dead already
      const record: ChildRecord = {
        scope: identity.scope,
        server,
        child: { pid, startedAt: identity.startedAt },
        broker: { pid: process.pid, startedAt: self.startedAt },
      };
      await writeFile(fileOf(pid), JSON.stringify(record), { mode: 0o600 });
    },
    async remove(pid) {
      await rm(fileOf(pid), { force: true });
    },
    async reap() {
      const files = (await readdir(directory)).filter((name) => name.endsWith(".json"));
      const reaped = await Promise.all(files.map((name) => reapOne(join(directory, name))));
      return reaped.filter((child) => child !== null);
    },
  };
}

async function reapOne(file: string): Promise<{ pid: number; server: string } | null> {
  const record = await readRecord(file);
  // A record that a crash cut short names no process; one of another boot or container none that is here.
  if (record === null || record.scope !== (await processScope())) {
    await rm(file, { force: true });
    return null;
  }
  if (await isAlive(record.broker)) return null;
  const { child, server } = record;
  const isLeft = (await isAlive(child)) || (await isLeaderless(child.pid));
  if (isLeft) await endGroup(child.pid, REAP_GRACE_MS);
  await rm(file, { force: true });
  return isLeft ? { pid: child.pid, server } : null;
}

async function isAlive(recorded: z.infer<typeof Process>): Promise<boolean> {
  return (await processIdentity(recorded.pid))?.startedAt === recorded.startedAt;
}

async function isLeaderless(groupId: number): Promise<boolean> {
  return (await processIdentity(groupId)) === null && isDetachedGroupAlive(groupId);
}

async function readRecord(file: string): Promise<ChildRecord | null> {
  try {
    return ChildRecord.parse(JSON.parse(await readFile(file, "utf8")));
  } catch {
    return null;
  }
}

/** Whoever can write a record chooses a process that the broker ends. */
async function checkOwner(directory: string): Promise<void> {
  const stat = await lstat(directory);
  const isOurs = process.getuid === undefined || stat.uid === process.getuid();
  if (!isOurs || (stat.mode & 0o022) !== 0) {
    throw new Error(
      `${directory} must belong to the broker's user and be writable by nobody else; run chmod 700 on it or set YARD_STATE_DIR`,
    );
  }
}
