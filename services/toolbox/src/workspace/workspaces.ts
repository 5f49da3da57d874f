import { createHash } from "node:crypto";
import { chmod, mkdir, readdir, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import type { Principal } from "@switchyard/contracts/policy/policy";
import { systemErrorCode } from "../tool-error.ts";
import { openWorkspace, type SecurityMode, type Workspace } from "./workspace.ts";

/** Determines the workspace of each call. */
export interface Workspaces {
  of(principal: Principal): Promise<Workspace>;
  /** Returns the workspace of a run that is about to begin a new session; null when sessions share theirs, as that one has no id yet. */
  ofNewRun(run: { readonly user: string; readonly runId: string }): Promise<Workspace | null>;
  /** Removes workspaces that have been unused since the given time. Resolves to their number. */
  sweep(unusedSince: Date): Promise<number>;
}

/** One directory for all callers: the one that a person works in on a laptop. */
export async function fixedWorkspace(
  directory: string,
  mode: SecurityMode,
  hidden: readonly string[] = [],
): Promise<Workspaces> {
  const workspace = await openWorkspace(directory, mode, { hidden });
  return {
    of: async () => workspace,
    ofNewRun: async () => workspace,
    sweep: async () => 0,
  };
}

/** The runs that share files: none with another, or all runs of one conversation. */
export type WorkspaceScope = "run" | "session";

export interface OwnWorkspacesOptions {
  readonly parent: string;
  readonly scope: WorkspaceScope;
  readonly mode: SecurityMode;
  /** The size limit of each workspace; without it the disk is the limit. */
  readonly limitBytes?: number;
  /** Real paths that no tool opens. */
  readonly hidden?: readonly string[];
}

/** A run's id has its owner before a `~`. */
const OURS = /^(run|session|user)-[A-Za-z0-9_~-]+$/;

/** A directory for each run or session, and one for each NATS user's calls without a run. */
export function ownWorkspaces({
  parent,
  scope,
  mode,
  limitBytes,
  hidden = [],
}: OwnWorkspacesOptions): Workspaces {
  const of = async (principal: Principal): Promise<Workspace> => {
    const directory = join(parent, nameOf(principal, scope));
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const now = new Date();
    await utimes(directory, now, now);
    return openWorkspace(directory, mode, { limitBytes, hidden });
  };
  return {
    of,
    ofNewRun: async (run) => (scope === "session" ? null : of({ ...run, agent: null })),
    async sweep(unusedSince) {
      const names = (await readdir(parent)).filter((name) => OURS.test(name));
      let removed = 0;
      const failures: unknown[] = [];
      for (const name of names) {
        const directory = join(parent, name);
        const stats = await stat(directory).catch(() => null); // another replica was faster
        if (stats === null || stats.mtime >= unusedSince) continue;
        try {
          await removeTree(directory);
          removed += 1;
        } catch (error) {
          failures.push(error);
        }
      }
      // A workspace that cannot be removed does not prevent the removal of others.
      if (failures.length > 0)
        throw new AggregateError(failures, `${failures.length} workspaces cannot be removed`);
      return removed;
    },
  };
}

/** Removes a tree even when a command has made directories read-only, as the caches of some build tools are. */
async function removeTree(directory: string): Promise<void> {
  try {
    await rm(directory, { recursive: true, force: true });
  } catch (error) {
    const code = systemErrorCode(error);
    if (code !== "EACCES" && code !== "EPERM") throw error;
    await openUp(directory);
    await rm(directory, { recursive: true, force: true });
  }
}

async function openUp(directory: string): Promise<void> {
  await chmod(directory, 0o700);
  for (const entry of await readdir(directory, { withFileTypes: true }))
    if (entry.isDirectory()) await openUp(join(directory, entry.name));
}

/** Single names of a file system, whatever a session is called. Runs and users are such names by their schemas. */
function nameOf({ runId, user, context }: Principal, scope: WorkspaceScope): string {
  const session = context?.session;
  if (scope === "run" || session === undefined)
    return runId === null ? `user-${user}` : `run-${runId}`;
  // Sessions of two users are two, even when both call theirs the same.
  const digest = createHash("sha256").update(`${user}\n${session}`).digest("hex");
  return `session-${digest.slice(0, 32)}`;
}
