import { createHash } from "node:crypto";
import { chmod, chown, lstat, mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** A user of one server's own, for a broker that may choose users. */
export interface ServerUser {
  /** Id of the user, and of its group. */
  readonly id: number;
  /** The private directory of the user. */
  readonly home: string;
}

/** Numbers that no distribution assigns: above those of people, below those of systemd's and of containers. */
const FIRST_ID = 50_000;
const IDS = 10_000;

const ids = new Map<string, number>();

/** Only root may start processes as other users. */
export function mayChooseUsers(): boolean {
  return process.getuid?.() === 0;
}

/** The server's directory below the state of the broker, closed to others. */
export async function privateDirectory(stateDir: string, server: string): Promise<string> {
  const path = join(stateDir, "mcp-homes", server);
  await mkdir(path, { recursive: true, mode: 0o700 });
  return path;
}

/** The user of a server; a number that another server has already is skipped. */
export async function ownUser(stateDir: string, server: string): Promise<ServerUser> {
  const id = idOf(server);
  const home = join(await baseFor(stateDir), server);
  await mkdir(home, { recursive: true, mode: 0o700 });
  await chown(home, id, id);
  return { id, home };
}

function idOf(server: string): number {
  const known = ids.get(server);
  if (known !== undefined) return known;
  const taken = new Set(ids.values());
  let offset = createHash("sha256").update(server).digest().readUInt32BE() % IDS;
  while (taken.has(FIRST_ID + offset)) offset = (offset + 1) % IDS;
  ids.set(server, FIRST_ID + offset);
  return FIRST_ID + offset;
}

/** Every directory on the way has to let the users pass. Where that of the state does not, one beside it in the temporary directory. */
async function baseFor(stateDir: string): Promise<string> {
  const base = join(stateDir, "mcp-homes");
  await mkdir(base, { recursive: true, mode: 0o711 });
  await chmod(base, 0o711);
  if (await isPassable(base)) return base;
  const other = join(tmpdir(), "switchyard-mcp-homes");
  await mkdir(other, { recursive: true, mode: 0o711 });
  const found = await lstat(other);
  if (found.isDirectory() && found.uid === 0 && (found.mode & 0o022) === 0) return other;
  throw new Error(`${other} must be a directory that only root can write to; remove it`);
}

async function isPassable(path: string): Promise<boolean> {
  const { mode } = await lstat(path);
  if ((mode & 0o001) === 0) return false;
  const parent = dirname(path);
  return parent === path || isPassable(parent);
}
