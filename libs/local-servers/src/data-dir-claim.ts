// One server per data directory. The claim is a file that names the starting process (owner) and the server, each with
// its pid and identity. A claim whose owner lives is respected; one whose owner is gone marks a left-over server, which is
// stopped before its directory is used again: two servers on one JetStream or AOF directory would destroy it.

import { link, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { processIdentity } from "./process-identity.ts";

export interface DataDirClaim {
  /** Records the server that was started under this claim. */
  holds(serverPid: number): Promise<void>;
  release(): Promise<void>;
}

interface ProcessRecord {
  pid: number;
  identity: string | null;
}

interface ClaimRecord {
  owner: ProcessRecord;
  server: ProcessRecord | null;
}

const STOP_TIMEOUT_MS = 5_000;
const POLL_MS = 20;

/**
 * Claims `dataDir` for one server called `name`, stopping a server that a dead owner left behind. Rejects when a living process holds the
 * directory.
 */
export async function claimDataDir(options: {
  dataDir: string;
  name: string;
  log: (line: string) => void;
}): Promise<DataDirClaim> {
  const { dataDir, name, log } = options;
  const file = join(dataDir, `${name}.pid`);
  const previous = await readClaim(file);
  if (previous !== null) {
    if (await isRunning(previous.owner)) throw inUse(options, previous.owner.pid);
    if (previous.server !== null && (await isRunning(previous.server))) {
      log(
        `${name}: stopping the server ${previous.server.pid} that an earlier start left running in ${dataDir}`,
      );
      await stopProcess(previous.server);
    }
  }
  await rm(file, { force: true });
  const owner = await record(process.pid);
  if (!(await createClaim(file, { owner, server: null })))
    throw inUse(options, (await readClaim(file))?.owner.pid ?? null);
  return {
    async holds(serverPid) {
      const draft = `${file}.${process.pid}`;
      await writeFile(
        draft,
        JSON.stringify({ owner, server: await record(serverPid) } satisfies ClaimRecord),
      );
      await rename(draft, file);
    },
    release: () => rm(file, { force: true }),
  };
}

function inUse(
  { dataDir, name }: { dataDir: string; name: string },
  ownerPid: number | null,
): Error {
  return new Error(
    `${name}: ${dataDir} is in use by process ${ownerPid ?? "(unknown)"}; stop that process or choose another data directory`,
  );
}

async function record(pid: number): Promise<ProcessRecord> {
  return { pid, identity: await processIdentity(pid) };
}

async function isRunning({ pid, identity }: ProcessRecord): Promise<boolean> {
  return identity !== null && (await processIdentity(pid)) === identity;
}

async function stopProcess(left: ProcessRecord): Promise<void> {
  process.kill(left.pid, "SIGTERM");
  if (await endsWithin(left, STOP_TIMEOUT_MS)) return;
  process.kill(left.pid, "SIGKILL");
  if (!(await endsWithin(left, STOP_TIMEOUT_MS)))
    throw new Error(`process ${left.pid} does not end after SIGKILL; end it by hand`);
}

async function endsWithin(left: ProcessRecord, timeoutMs: number): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < timeoutMs; waitedMs += POLL_MS) {
    if (!(await isRunning(left))) return true;
    await delay(POLL_MS);
  }
  return false;
}

/** False when another process created the claim first. `link` makes a complete file appear at once, which `wx` does not. */
async function createClaim(file: string, claim: ClaimRecord): Promise<boolean> {
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, JSON.stringify(claim));
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

async function readClaim(file: string): Promise<ClaimRecord | null> {
  const text = await readFile(file, "utf8").catch(() => null);
  if (text === null) return null;
  try {
    const value: unknown = JSON.parse(text);
    return isClaim(value) ? value : null;
  } catch {
    return null; // a file that is not a claim protects nothing
  }
}

function isClaim(value: unknown): value is ClaimRecord {
  if (typeof value !== "object" || value === null || !("owner" in value) || !("server" in value))
    return false;
  return isProcessRecord(value.owner) && (value.server === null || isProcessRecord(value.server));
}

function isProcessRecord(value: unknown): value is ProcessRecord {
  if (typeof value !== "object" || value === null || !("pid" in value) || !("identity" in value))
    return false;
  return (
    Number.isInteger(value.pid) &&
    Number(value.pid) > 1 &&
    (value.identity === null || typeof value.identity === "string")
  );
}
