import { createHash } from "node:crypto";
import { lstat, mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Environment } from "@switchyard/service/env";
import type { HostStart } from "../runtime-host/host-protocol.ts";
import { readSideEffects, type SideEffects } from "@switchyard/service/side-effects";
import { startHost, type RuntimeHost } from "./runtime-host.ts";

/** Directories of runs are removed after this: runs are stored for days, their CLIs' sessions need not be. */
const KEEP_MS = 7 * 86_400_000;

/** The CLIs of the runs that this runner works on. */
export interface RuntimeHosts {
  /** The host whose CLI waits for results of the run's calls; null when there is none. */
  waiting(runId: string): RuntimeHost | null;
  start(
    runId: string,
    start: Omit<HostStart, "type" | "directory" | "sideEffectsFile">,
  ): Promise<RuntimeHost>;
  /** The CLI waits for results now: its process stays for a while. */
  keep(runId: string): void;
  /** Ends a run's CLI. The files of its session are removed at the end of the run. */
  leave(runId: string, how: { readonly hasEnded: boolean }): Promise<void>;
  /** Returns the record of what the CLIs of a run have sent on this machine, after their exit or death [F36]. */
  sideEffects(runId: string): Promise<SideEffects>;
  stop(): Promise<void>;
}

export interface HostsOptions {
  /** The directory of the runs' directories; it is accessible to this user alone. */
  readonly directory: string;
  /** The process of a CLI that waits for results stays this long, in milliseconds; after it, the session is resumed. */
  readonly lingerMs: number;
  /** The runner's environment; a host gets only its variables that locate programs. */
  readonly env: Environment;
}

interface Held {
  readonly host: RuntimeHost;
  timer: NodeJS.Timeout | null;
}

export function openRuntimeHosts({ directory, lingerMs, env }: HostsOptions): RuntimeHosts {
  const held = new Map<string, Held>();
  const ending = new Map<string, Promise<void>>();
  const directoryOf = (runId: string): string =>
    join(directory, createHash("sha256").update(runId).digest("hex").slice(0, 32));
  const effectsFileOf = (runId: string): string => `${directoryOf(runId)}.effects`;
  const end = (runId: string): Promise<void> => {
    const one = held.get(runId);
    if (one !== undefined) {
      held.delete(runId);
      clearTimeout(one.timer ?? undefined);
      const done = one.host.end().finally(() => ending.delete(runId));
      ending.set(runId, done);
    }
    return ending.get(runId) ?? Promise.resolve();
  };
  const isSwept = sweepOld(directory);
  return {
    waiting(runId) {
      const one = held.get(runId);
      if (one === undefined || one.host.isOver()) return null;
      clearTimeout(one.timer ?? undefined);
      one.timer = null;
      return one.host;
    },
    async start(runId, start) {
      // Two CLIs in one session would not be aware of each other.
      await end(runId);
      await isSwept;
      await requireOwn(directory);
      const path = directoryOf(runId);
      await mkdir(path, { recursive: true, mode: 0o700 });
      const sideEffectsFile = effectsFileOf(runId);
      const named = { type: "start", directory: path, sideEffectsFile } as const;
      const host = startHost({ ...start, ...named }, env);
      held.set(runId, { host, timer: null });
      return host;
    },
    keep(runId) {
      const one = held.get(runId);
      if (one === undefined) return;
      clearTimeout(one.timer ?? undefined);
      one.timer = setTimeout(() => void end(runId), lingerMs);
      one.timer.unref();
    },
    async leave(runId, { hasEnded }) {
      if (!held.has(runId) && !ending.has(runId) && !hasEnded) return;
      await end(runId);
      if (!hasEnded) return;
      await rm(directoryOf(runId), { recursive: true, force: true });
      await rm(effectsFileOf(runId), { force: true });
    },
    sideEffects: (runId) => readSideEffects(effectsFileOf(runId)),
    async stop() {
      await Promise.all([...held.keys()].map(end));
      await Promise.all(ending.values());
    },
  };
}

/** In a directory that others may write to, another user could have made it before. */
async function requireOwn(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const found = await lstat(directory);
  const isOwn =
    found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
  if (!isOwn)
    throw new Error(
      `${directory} must be a directory of this user alone (mode 0700); set YARD_STATE_DIR to another directory`,
    );
}

async function sweepOld(directory: string): Promise<void> {
  const names = await readdir(directory).catch(() => []);
  for (const name of names) {
    const path = join(directory, name);
    const found = await stat(path).catch(() => null);
    if (found !== null && Date.now() - found.mtimeMs > KEEP_MS)
      await rm(path, { recursive: true, force: true }).catch(() => {}); // the next start tries again
  }
}
