// `dev.json`: the running instance. It is the lock that keeps a second instance out, the address book of
// every other command, and the list of processes to look for after a crash.
//
// R1  The file appears complete and exclusively (`link`), and is replaced atomically (`rename`).
// R2  A record counts only while a process with its pid *and* start identity lives: pids are reused.
// R3  Only the owner changes or removes a record, except that a dead owner's record may be removed.

import { randomUUID } from "node:crypto";
import { chmod, link, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { processIdentity } from "@switchyard/local-servers/process-identity";
import { z } from "zod";

const ProcessRecord = z.object({
  name: z.string(),
  pid: z.int().positive(),
  /** Start identity: differs for another process that gets the same pid. */
  identity: z.string(),
});
export type ProcessRecord = z.infer<typeof ProcessRecord>;

const InstanceRecord = z.object({
  owner: ProcessRecord,
  phase: z.enum(["starting", "ready", "stopping"]),
  project: z.string(),
  workspace: z.string(),
  natsUrl: z.string().nullable(),
  natsMonitorUrl: z.string().nullable(),
  redisUrl: z.string().nullable(),
  /** Everything that was started, in order. */
  processes: z.array(ProcessRecord.extend({ healthUrl: z.string().nullable() })),
});
export type InstanceRecord = z.infer<typeof InstanceRecord>;

export type ClaimOutcome =
  | { readonly claimed: true; readonly abandoned: InstanceRecord | null }
  | { readonly claimed: false; readonly holder: InstanceRecord };

/** Claims the instance file for `record`, unless a living owner has it. Returns what a dead owner left. */
export async function claimInstance(file: string, record: InstanceRecord): Promise<ClaimOutcome> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  let abandoned: InstanceRecord | null = null;
  for (;;) {
    if (await createExclusively(file, record)) return { claimed: true, abandoned };
    const holder = await readInstance(file);
    if (holder !== null && (await isAlive(holder.owner))) return { claimed: false, holder };
    abandoned = (await takeAway(file)) ?? abandoned;
  }
}

/** Replaces the record. Only for its owner. */
export async function writeInstance(file: string, record: InstanceRecord): Promise<void> {
  const draft = await writeDraft(file, record);
  await rename(draft, file).catch((error: unknown) => discarded(draft, error));
}

/** The current record, or null when there is none, or none that is whole. Rejects when it may not be read. */
export async function readInstance(file: string): Promise<InstanceRecord | null> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "EACCES" || error.code === "EPERM") throw error;
    return null;
  });
  if (text === null) return null;
  try {
    const parsed = InstanceRecord.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

/** The record of an instance whose owner lives. */
export async function findRunningInstance(file: string): Promise<InstanceRecord | null> {
  const record = await readInstance(file);
  return record !== null && (await isAlive(record.owner)) ? record : null;
}

export async function releaseInstance(file: string): Promise<void> {
  await rm(file, { force: true });
}

export async function isAlive(process: { pid: number; identity: string }): Promise<boolean> {
  return (await processIdentity(process.pid)) === process.identity;
}

/** The record of a process that runs now; null when it is gone. */
export async function recordProcess(name: string, pid: number): Promise<ProcessRecord | null> {
  const identity = await processIdentity(pid);
  return identity === null ? null : { name, pid, identity };
}

async function createExclusively(file: string, record: InstanceRecord): Promise<boolean> {
  const draft = await writeDraft(file, record);
  try {
    await link(draft, file);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/**
 * Removes a dead owner's record. It is moved aside first and re-read, because another start may have replaced it since; a living
 * owner's record is put back.
 */
async function takeAway(file: string): Promise<InstanceRecord | null> {
  const aside = `${file}.${randomUUID()}`;
  try {
    await rename(file, aside);
  } catch {
    return null; // another start took it away
  }
  const record = await readInstance(aside);
  if (record !== null && (await isAlive(record.owner))) {
    await link(aside, file).catch(() => {});
    await rm(aside, { force: true });
    return null;
  }
  await rm(aside, { force: true });
  return record;
}

async function writeDraft(file: string, record: InstanceRecord): Promise<string> {
  const draft = `${file}.${randomUUID()}`;
  try {
    await writeFile(draft, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
    await chmod(draft, 0o600);
    return draft;
  } catch (error) {
    return discarded(draft, error);
  }
}

/** Nothing is left of a record that could not be written, on a full disk for example. */
async function discarded(draft: string, error: unknown): Promise<never> {
  await rm(draft, { force: true }).catch(() => {});
  throw error;
}
