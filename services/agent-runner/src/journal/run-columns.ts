import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import { packColumns, unpackColumns, type Columns } from "../core/packed-columns.ts";
import { stateKey } from "./run-keys.ts";

// The columns of runs, read in the same way before and after their archiving, which packs most of them into one.

const PACKED = "packed";

/** The scripts and the policy read these of ended runs, too. */
const UNPACKED: ReadonlySet<string> = new Set([
  "status",
  "requester",
  "parent",
  "epoch",
  "published",
]);

/** Only runs under way need these: a retry, the next claim and the next wait write them anew. */
const OF_OPEN_RUNS: ReadonlySet<string> = new Set([
  "holder",
  "delivery",
  "heldUntil",
  "restsUntil",
  "stalled",
  "rests",
  "cancel",
  "waits",
  "wakeAt",
]);

/** The characters that are left of an archived run's digest; 64 bits distinguish the commands of one run id. */
export const SHORT_DIGEST = 16;

/** Reads some columns of a run, in their order; null for one that it does not have. Rejects with StoreError. */
export async function readColumns(
  redis: Redis,
  runId: string,
  names: readonly string[],
): Promise<(string | null)[]> {
  const values = await fromRedis(redis.hmgetBuffer(stateKey(runId), ...names, PACKED));
  const packed = values.pop() ?? null;
  const texts = values.map((value) => value?.toString() ?? null);
  if (packed === null) return texts;
  const columns = unpackColumns(packed);
  return texts.map((text, index) => text ?? columns[names[index] ?? ""] ?? null);
}

/** Reads all columns of a run; none when there is no such run. Rejects with StoreError. */
export async function readState(redis: Redis, runId: string): Promise<Columns> {
  const { [PACKED]: packed, ...values } = await fromRedis(redis.hgetallBuffer(stateKey(runId)));
  const texts = Object.entries(values).map(([name, value]) => [name, value.toString()]);
  return { ...(packed && unpackColumns(packed)), ...Object.fromEntries(texts) };
}

/** Reads the object that has the journal of a run, and the columns that were packed when it was moved; null when it was not. */
export async function readArchived(
  redis: Redis,
  runId: string,
): Promise<{ readonly id: string; readonly columns: Columns } | null> {
  const [id, packed] = await fromRedis(redis.hmgetBuffer(stateKey(runId), "archive", PACKED));
  if (!id) return null;
  return { id: id.toString(), columns: packed ? unpackColumns(packed) : {} };
}

/** Returns names and values, in turn, of all columns that an ended run has after its journal was moved. */
export function archivedColumns(
  columns: Columns,
  { archive, bytes }: { readonly archive: string; readonly bytes: number },
): (string | Buffer)[] {
  const left: [string, string][] = [];
  const packed: [string, string][] = [["bytes", String(bytes)]];
  for (const [name, value] of Object.entries(columns)) {
    if (name === "digest") left.push([name, shortDigest(value)]);
    else if (UNPACKED.has(name) || name.startsWith("control:")) left.push([name, value]);
    else if (name !== "bytes" && !OF_OPEN_RUNS.has(name)) packed.push([name, value]);
  }
  return [...left.flat(), "archive", archive, PACKED, packColumns(Object.fromEntries(packed))];
}

/** True when a run was made from the command with this digest; an archived run has the end of its own. */
export function isSameCommand(ofRun: string | null, digest: string): boolean {
  return ofRun === digest || ofRun === shortDigest(digest);
}

function shortDigest(digest: string): string {
  // oxlint-disable-next-line switchyard/text-cuts -- a digest has hexadecimal digits alone, so no character is cut in two
  return digest.slice(-SHORT_DIGEST);
}
