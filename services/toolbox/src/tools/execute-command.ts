import { DEFAULT_COMMAND_MS, MAX_COMMAND_MS } from "@switchyard/contracts/toolbox/toolbox";
import { constants } from "node:os";
import { z } from "zod";
import type { CommandLimits } from "../command/command-limits.ts";
import type { CommandCage, CommandSandbox } from "../command/command-sandbox.ts";
import { isExceeded, runCommand, type CommandEnd } from "../command/run-command.ts";
import { defineTool, type Tool } from "../tool.ts";
import { ToolError } from "../tool-error.ts";
import { holdDirectory } from "../workspace/open-path.ts";
import { pathOf, workspacePath, type Workspace } from "../workspace/workspace.ts";
import { roomOf, type WorkspaceRoom } from "../workspace/workspace-size.ts";
import { commandWords } from "./command-words.ts";

/** The limit of each returned stream, in bytes [E11]. */
export const STREAM_LIMIT_BYTES = 50 * 1024;
/** The time for ending a command that takes longer than its caller waits, and for reporting that. */
const END_MARGIN_MS = 2_500;
const MAX_COMMAND_LENGTH = 32_768;

export interface CommandOptions {
  readonly cage: CommandCage;
  /** The search path for programs. */
  readonly path: string;
}

const Input = z.strictObject({
  command: z
    .string()
    .min(1)
    .max(MAX_COMMAND_LENGTH)
    .regex(/^[^\0]*$/, "has a zero byte")
    .describe("The program and its arguments, with quotes as in a shell"),
  cwd: z.string().default(".").describe("Directory to run it in, relative to the workspace"),
  timeout: z
    .int()
    .min(1)
    .max(MAX_COMMAND_MS)
    .default(DEFAULT_COMMAND_MS)
    .describe("Milliseconds after which the command and all that it started are ended"),
  shell: z
    .boolean()
    .default(false)
    .describe("Give the command to sh, for pipes, redirections, variables and globs"),
});

export function createExecuteCommand({ cage, path }: CommandOptions): Tool<typeof Input> {
  return defineTool({
    name: "execute_command",
    description: `Runs a program in the workspace and returns its exit code, stdout and stderr, of each at most ${STREAM_LIMIT_BYTES} bytes. Pipes, redirections and variables need shell: true.`,
    input: Input,
    unavailable: cage.kind === "missing" ? noSandbox(cage.reason) : undefined,
    async check({ command, cwd, shell }, workspace) {
      wordsOf(command, shell);
      await workspacePath(workspace, cwd);
    },
    async run({ command, cwd, timeout, shell }, { workspace, timeLeftMs, signal }) {
      const sandbox = sandboxOf(cage, workspace);
      const words = wordsOf(command, shell);
      const timeoutMs = Math.max(1, Math.min(timeout, timeLeftMs - END_MARGIN_MS));
      const target = await workspacePath(workspace, cwd);
      // Held, so that the command starts in the very directory that was checked.
      const directory = await holdDirectory(target, target.names);
      try {
        const inside = pathOf(target);
        const room = await roomOf(workspace);
        const end = await runCommand({
          words: sandbox?.wrap({ words, workspace: workspace.root, cwd: inside }) ?? words,
          cwd: directory.path(),
          env: environment(workspace, path),
          timeoutMs,
          signal,
          outputLimitBytes: STREAM_LIMIT_BYTES,
          confinement: sandbox,
          room,
        });
        const limits = sandbox?.limits ?? null;
        return {
          text: report(end, { timeoutMs, limits, room }),
          structured: { ...structured(end) },
        };
      } finally {
        await directory.close();
      }
    },
  });
}

/** The program and its arguments. Throws ToolError for a command line that only a shell understands, or that names no program. */
function wordsOf(command: string, shell: boolean): readonly string[] {
  const words = shell ? ["/bin/sh", "-c", command] : commandWords(command);
  if (words.length === 0 || words[0] === "")
    throw new ToolError("The command is empty; name a program.");
  return words;
}

/** In full-control every tool can access the files outside, and so can commands. */
function sandboxOf(cage: CommandCage, { mode }: Workspace): CommandSandbox | null {
  if (mode === "full-control" || cage.kind === "off") return null;
  if (cage.kind === "bubblewrap") return cage.sandbox;
  throw new ToolError(noSandbox(cage.reason));
}

function noSandbox(reason: string): string {
  return `No command can run: nothing here would keep it to the workspace (${reason}). An operator can change that, or set YARD_SANDBOX to off.`;
}

/** Builds a new environment: this process's keys and addresses must not reach a command. */
function environment(workspace: Workspace, path: string): Record<string, string> {
  return { PATH: path, HOME: workspace.root, LANG: "C.UTF-8", TMPDIR: "/tmp" };
}

function structured(end: CommandEnd) {
  const { stdout, stderr, exitCode, signal, stdoutBytes, stderrBytes } = end;
  return {
    stdout,
    stderr,
    exitCode,
    signal,
    failed: exitCode !== 0,
    timedOut: end.ended === "timeout",
    cancelled: end.ended === "cancelled",
    exceeded: isExceeded(end.ended) ? end.ended : null,
    stdoutBytes,
    stderrBytes,
    truncated: stdoutBytes > STREAM_LIMIT_BYTES || stderrBytes > STREAM_LIMIT_BYTES,
  };
}

interface Bounds {
  readonly timeoutMs: number;
  /** Null without a sandbox. */
  readonly limits: CommandLimits | null;
  /** Null for a workspace without a limit. */
  readonly room: WorkspaceRoom | null;
}

function report(end: CommandEnd, bounds: Bounds): string {
  const { stdout, stderr, stdoutBytes, stderrBytes } = end;
  return [
    howItEnded(end, bounds),
    ...stream("stdout", stdout, stdoutBytes),
    ...stream("stderr", stderr, stderrBytes),
  ].join("\n");
}

function howItEnded({ ended, exitCode, signal }: CommandEnd, { timeoutMs, limits, room }: Bounds) {
  if (ended === "timeout")
    return `Ended after ${timeoutMs} ms, before it was done; give it more timeout if it needs more.`;
  if (ended === "cancelled") return "Ended before it was done: the call was cancelled.";
  if (ended === "processes")
    return `Ended: it had more than ${limits?.processes} processes and threads.`;
  if (ended === "memory")
    return `Ended: it used more than ${toMib(limits?.memoryBytes)} MiB of memory (YARD_COMMAND_MEMORY_MB).`;
  if (ended === "disk")
    return `Ended: its workspace had more than ${toMib(room?.mostBytes)} MiB (YARD_WORKSPACE_MB); delete files before you continue.`;
  if (exitCode === null) return `Ended by ${signal}.`;
  return `Exit code ${exitCode}.${limits === null ? "" : ofSignal(exitCode, limits)}`;
}

/** Explains an end by a signal of the kernel, as shells and bubblewrap report it, when a limit is the likely cause. */
function ofSignal(exitCode: number, { cpuSeconds, fileBytes }: CommandLimits): string {
  if (exitCode === 128 + constants.signals.SIGXCPU)
    return ` A process used more than ${cpuSeconds} s of processor time.`;
  if (exitCode === 128 + constants.signals.SIGXFSZ)
    return ` It wrote a file of more than ${toMib(fileBytes)} MiB.`;
  return "";
}

function toMib(bytes = 0): number {
  return Math.round(bytes / (1_024 * 1_024));
}

function stream(name: string, text: string, bytes: number): string[] {
  if (bytes === 0) return [];
  const kept = Buffer.byteLength(text);
  const note =
    bytes > STREAM_LIMIT_BYTES ? ` [truncated: the first ${kept} of ${bytes} bytes]` : "";
  return [`--- ${name}${note}`, text.replace(/\n$/, "")];
}
