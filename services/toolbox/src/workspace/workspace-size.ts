import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { ToolError } from "../tool-error.ts";
import type { Workspace } from "./workspace.ts";

const KIB = 1_024;
const MIB = 1_024 * 1_024;
const TIMEOUT_MS = 30_000;
const LOOK_EVERY_MS = 1_000;
/** Counting takes at most a tenth of the time. */
const PAUSE_PER_LOOK = 9;

/** A workspace that a command is about to write in, and its size limit. */
export interface WorkspaceRoom {
  readonly root: string;
  readonly mostBytes: number;
}

/** Throws ToolError when a file of this size would not fit. */
export async function refuseWhenFull(workspace: Workspace, addedBytes: number): Promise<void> {
  const { root, limitBytes } = workspace;
  if (limitBytes === undefined) return;
  const bytes = await bytesOf(root);
  if (bytes + addedBytes > limitBytes)
    throw new ToolError(
      `The workspace is full: it has ${toMib(bytes)} of ${toMib(limitBytes)} MiB (YARD_WORKSPACE_MB). Nothing was written; delete files with a command first.`,
    );
}

/** Null for a workspace without a limit. One that is full already may not grow, so that a command can clear it up. */
export async function roomOf({ root, limitBytes }: Workspace): Promise<WorkspaceRoom | null> {
  if (limitBytes === undefined) return null;
  return { root, mostBytes: Math.max(limitBytes, await bytesOf(root)) };
}

/** Checks repeatedly until the returned function is called, or the workspace exceeds its limit. */
export function watchRoom({ root, mostBytes }: WorkspaceRoom, onExceeded: () => void): () => void {
  let timer: NodeJS.Timeout | null = null;
  let isOver = false;
  const look = async (): Promise<void> => {
    const startedAt = performance.now();
    const bytes = await bytesOf(root);
    if (isOver) return;
    if (bytes > mostBytes) return onExceeded();
    const tookMs = performance.now() - startedAt;
    timer = setTimeout(() => void look(), Math.max(LOOK_EVERY_MS, PAUSE_PER_LOOK * tookMs));
  };
  timer = setTimeout(() => void look(), LOOK_EVERY_MS);
  return () => {
    isOver = true;
    if (timer !== null) clearTimeout(timer);
  };
}

/**
 * Returns the size of a directory on its disk, in bytes; 0 where there is no `du`. `du` walks directories without full paths, so
 * none is too deep for it, and follows no link.
 */
async function bytesOf(root: string): Promise<number> {
  const { stdout } = await promisify(execFile)("du", ["-skx", root], { timeout: TIMEOUT_MS }).catch(
    // Files that disappear during the count cause an error of `du`, which prints the sum all the same.
    (error: unknown) => ({
      stdout: error instanceof Error && "stdout" in error ? String(error.stdout) : "",
    }),
  );
  return (Number.parseInt(stdout, 10) || 0) * KIB;
}

function toMib(bytes: number): number {
  return Math.round(bytes / MIB);
}
