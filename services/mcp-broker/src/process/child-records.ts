import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { appendFile, lstat, mkdir, readdir, readFile, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { z } from "zod";
import { endGroup, isDetachedGroupAlive } from "@switchyard/service/process/process-group";
import { readProcessStats } from "@switchyard/service/process/process-stat";
import { parseJson } from "../json/json-value.ts";
import { processIdentity, processScope } from "./process-identity.ts";

/**
 * One small file per child process, so that the next broker can end what a crashed one left behind. It is written before the
 * child is started, under a mark that the child has in its environment: whenever the broker is killed, a child is found by the
 * mark or, when it took that out of its environment, by the number and start time that are added when it runs. A record counts
 * only when its broker is dead.
 */
export interface ChildRecords {
  /** Prepares the record of one child that is going to be started; nothing is written before `onSpawning`. */
  expect(server: string, onTrouble: (error: unknown) => void): ChildRecord;
  /** Ends the children of dead brokers, and returns those that it ended. */
  reap(): Promise<{ pid: number; server: string }[]>;
}

export interface ChildRecord {
  /** Environment variables that the child must be started with. */
  readonly mark: Readonly<Record<string, string>>;
  onSpawning(): void;
  onSpawned(pid: number): void;
  /** The child and its group are gone, or it could not be started. Resolves when no process that it started in another group is left. */
  onGone(): Promise<void>;
}

const MARK = "YARD_MCP_CHILD";

const Process = z.strictObject({ pid: z.int().positive(), startedAt: z.string() });
type Process = z.infer<typeof Process>;
/** The first line of a file. The second is the child, as a `Process`. */
const Announcement = z.strictObject({ scope: z.string(), server: z.string(), broker: Process });

interface StoredRecord extends z.infer<typeof Announcement> {
  readonly id: string;
  readonly file: string;
  readonly child: Process | null;
}

const REAP_GRACE_MS = 2_000;

/** Opens the records below a state directory, and refuses one that another user can write to. */
export async function openChildRecords(stateDir: string): Promise<ChildRecords> {
  const directory = join(stateDir, "mcp-children");
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await checkOwner(directory);
  const self = await processIdentity(process.pid);
  if (self === null) throw new Error("unreachable: this process runs");
  const broker: Process = { pid: process.pid, startedAt: self.startedAt };

  return {
    expect(server, onTrouble) {
      const id = randomUUID();
      const file = join(directory, `${id}.json`);
      let writing = Promise.resolve();
      return {
        mark: { [MARK]: id },
        onSpawning() {
          try {
            const announced = { scope: self.scope, server, broker };
            writeFileSync(file, `${JSON.stringify(announced)}\n`, { mode: 0o600 });
          } catch (error) {
            onTrouble(error);
          }
        },
        onSpawned(pid) {
          writing = addChild(file, pid).catch(onTrouble);
        },
        onGone() {
          writing = writing.then(() => endMarked({ id, file })).catch(onTrouble);
          return writing;
        },
      };
    },
    async reap() {
      const files = (await readdir(directory)).filter((name) => name.endsWith(".json"));
      const records = await Promise.all(files.map((name) => leftRecord(join(directory, name))));
      const left = records.filter((record) => record !== null);
      if (left.length === 0) return [];
      const marked = await markedGroups();
      const reaped = await Promise.all(left.map((record) => reapOne(record, marked)));
      return reaped.filter((child) => child !== null);
    },
  };
}

async function addChild(file: string, pid: number): Promise<void> {
  const identity = await processIdentity(pid);
  if (identity === null) return; // it is dead already
  const child: Process = { pid, startedAt: identity.startedAt };
  await appendFile(file, `${JSON.stringify(child)}\n`);
}

/** A record whose broker is dead; one that names nothing which could be here is removed. */
async function leftRecord(file: string): Promise<StoredRecord | null> {
  const record = await readRecord(file);
  // A record that a crash cut short was of a child that was not started; one of another boot or container names none that is here.
  if (record === null || record.scope !== (await processScope())) {
    await rm(file, { force: true });
    return null;
  }
  return (await isAlive(record.broker)) ? null : record;
}

async function reapOne(
  { id, file, child, server }: StoredRecord,
  marked: ReadonlyMap<string, ReadonlySet<number>>,
): Promise<{ pid: number; server: string } | null> {
  const groups = new Set(marked.get(id));
  if (child !== null && ((await isAlive(child)) || (await isLeaderless(child.pid))))
    groups.add(child.pid);
  await endGroups(groups);
  await rm(file, { force: true });
  const [first] = groups;
  return first === undefined ? null : { pid: child?.pid ?? first, server };
}

/** Ends the processes that a child started in other groups, and then removes the child's record. */
async function endMarked({ id, file }: Pick<StoredRecord, "id" | "file">): Promise<void> {
  await endGroups((await markedGroups()).get(id));
  await rm(file, { force: true });
}

async function endGroups(groups: ReadonlySet<number> = new Set()): Promise<void> {
  await Promise.all([...groups].map((group) => endGroup(group, REAP_GRACE_MS)));
}

/**
 * Process groups by the mark in the environment of a member. A child leads a session of its own, so every process in such a group
 * was started by it. Without `/proc` there are none, and a record counts when it names its child.
 */
async function markedGroups(): Promise<ReadonlyMap<string, ReadonlySet<number>>> {
  const groups = new Map<string, Set<number>>();
  if (process.platform !== "linux") return groups;
  const stats = (await readProcessStats()).filter(({ isDead }) => !isDead);
  const own = stats.find(({ pid }) => pid === process.pid)?.group;
  for (const { pid, group } of stats) {
    if (group === own) continue;
    const id = await markOf(pid);
    if (id !== null) groups.set(id, (groups.get(id) ?? new Set()).add(group));
  }
  return groups;
}

async function markOf(pid: number): Promise<string | null> {
  // Another user's process cannot be read, and is none of ours.
  const text = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
  const prefix = `${MARK}=`;
  const variable = text.split("\0").find((one) => one.startsWith(prefix));
  return variable === undefined ? null : variable.slice(prefix.length);
}

async function isAlive(recorded: Process): Promise<boolean> {
  return (await processIdentity(recorded.pid))?.startedAt === recorded.startedAt;
}

async function isLeaderless(groupId: number): Promise<boolean> {
  return (await processIdentity(groupId)) === null && isDetachedGroupAlive(groupId);
}

async function readRecord(file: string): Promise<StoredRecord | null> {
  const [first = "", second = ""] = (await readFile(file, "utf8").catch(() => "")).split("\n");
  const announced = Announcement.safeParse(parseJson(first));
  if (!announced.success) return null;
  const child = Process.safeParse(parseJson(second)).data ?? null;
  return { ...announced.data, id: basename(file, ".json"), file, child };
}

/** A user that can write a record chooses a process that the broker ends. */
async function checkOwner(directory: string): Promise<void> {
  const stat = await lstat(directory);
  const isOurs = process.getuid === undefined || stat.uid === process.getuid();
  if (!isOurs || (stat.mode & 0o022) !== 0) {
    throw new Error(
      `${directory} must belong to the broker's user and be writable by no other; run chmod 700 on it or set YARD_STATE_DIR`,
    );
  }
}
