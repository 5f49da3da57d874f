import { tmpdir } from "node:os";
import { realpath } from "node:fs/promises";
import { cutText } from "@switchyard/contracts/cut-text";
import {
  findBubblewrap,
  mountArguments,
  type BubblewrapSearch,
  NO_CAPABILITIES,
  SandboxError,
} from "@switchyard/service/process/sandbox";
import { seccompFilter } from "@switchyard/service/process/seccomp-filter";
import { underLimits, type CommandLimits } from "./command-limits.ts";
import { openProcessCgroups, type ProcessCgroups } from "./process-cgroups.ts";
import { BLOCK_FD, FILTER_FD, INFO_FD, type Confinement } from "./confine-command.ts";
import { runCommand } from "./run-command.ts";

/** Confines a command to its workspace and to its share of the machine. */
export interface CommandSandbox extends Confinement {
  /** Returns the command line that runs another command inside. */
  wrap(launch: Launch): readonly string[];
  /** True when the kernel enforces the number of processes; otherwise they are counted, and the command is ended soon after. */
  readonly kernelCounts: boolean;
}

interface Launch {
  readonly words: readonly string[];
  readonly workspace: string;
  readonly cwd: string;
}

/**
 * `auto`: commands run in a sandbox, or not at all where none works. `require`: the service does not start without one. `off`:
 * commands have the rights of this process, which an operator has to choose explicitly.
 */
export type SandboxSetting = "auto" | "require" | "off";

/** The confinement of commands to their workspace on this machine. */
export type CommandCage =
  | { readonly kind: "bubblewrap"; readonly sandbox: CommandSandbox }
  | { readonly kind: "off" }
  | { readonly kind: "missing"; readonly reason: string };

export interface SandboxOptions {
  readonly setting: SandboxSetting;
  readonly bubblewrap: BubblewrapSearch;
  /** Directories beside those of the system that commands may read. */
  readonly readable: readonly string[];
  /** Paths that look empty, also where they are in the workspace. */
  readonly secret?: readonly string[];
  readonly network: boolean;
  readonly limits: CommandLimits;
}

const SHM_BYTES = 64 * 1024 * 1024;

/** Finds out which confinement works here. Rejects with SandboxError when the required one does not. */
export async function openCommandCage(options: SandboxOptions): Promise<CommandCage> {
  if (options.setting === "off") return { kind: "off" };
  try {
    return { kind: "bubblewrap", sandbox: await openSandbox(options) };
  } catch (error) {
    if (options.setting === "require" || !(error instanceof SandboxError)) throw error;
    return { kind: "missing", reason: error.message };
  }
}

const PROBE_MS = 10_000;
/** The limit used to test whether the number of processes is enforced. */
const FEW = 16;
/** Forks more often than that. The shell ends with 2 when the kernel refuses. */
const FORKS = "i=0; while [ $i -lt 32 ]; do sleep 3 & i=$((i+1)); done; exit 0";

async function openSandbox(options: SandboxOptions): Promise<CommandSandbox> {
  const program = await findBubblewrap(options.bubblewrap);
  const filter = seccompFilter();
  const { limits } = options;
  const sandboxWith = ({ countProcesses, cgroups = null, most = limits }: Variant) => ({
    wrap: (launch: Launch) =>
      wrap(
        { ...launch, words: underLimits(launch.words, { limits: most, countProcesses }) },
        { ...options, program, hasFilter: filter !== null },
      ),
    filter,
    limits,
    cgroups,
  });
  const works = async (variant: Variant) =>
    (await tryOut(sandboxWith(variant), "(:)")).exitCode === 0;
  const holds = async (variant: Variant) =>
    (await tryOut(sandboxWith(variant), FORKS)).exitCode !== 0;

  // Linux before 5.14 counts the user's processes outside too, which may be more than a command may have.
  const countProcesses = await works({ countProcesses: true });
  const groupsFor = async (processes: number): Promise<ProcessCgroups | null> => {
    // Files in memory are the group's memory, too.
    const memoryBytes = limits.memoryBytes + limits.tmpBytes + SHM_BYTES;
    const groups = openProcessCgroups({ processes, memoryBytes });
    // Permission to create a group does not imply permission to move a process into it.
    const isUsable = groups !== null && (await works({ countProcesses, cgroups: groups }));
    return isUsable ? groups : null;
  };
  const cgroups = await groupsFor(limits.processes);
  const sandbox = sandboxWith({ countProcesses, cgroups });
  if (countProcesses && (await holds({ countProcesses, most: { ...limits, processes: FEW } })))
    return { ...sandbox, kernelCounts: true };
  const few = cgroups?.holds.processes === true ? await groupsFor(FEW) : null;
  if (few !== null && (await holds({ countProcesses, cgroups: few })))
    return { ...sandbox, kernelCounts: true };
  const { exitCode, stderr } = await tryOut(sandbox, "(:)");
  if (exitCode === 0) return { ...sandbox, kernelCounts: false };
  throw new SandboxError(
    `sandbox "bubblewrap" cannot be used: ${program} does not work here with limits (${cutText(stderr.trim(), 500)}); it needs bubblewrap 0.7 or newer`,
  );
}

interface Variant {
  readonly countProcesses: boolean;
  readonly cgroups?: ProcessCgroups | null;
  readonly most?: CommandLimits;
}

/** Runs a script in the sandbox and returns its outcome. */
async function tryOut(sandbox: Omit<CommandSandbox, "kernelCounts">, script: string) {
  const workspace = await realpath(tmpdir());
  return runCommand({
    words: sandbox.wrap({ words: ["/bin/sh", "-c", script], workspace, cwd: workspace }),
    cwd: workspace,
    env: { PATH: "/usr/bin:/bin" },
    timeoutMs: PROBE_MS,
    signal: new AbortController().signal,
    outputLimitBytes: 1_024,
    confinement: sandbox,
    room: null,
  });
}

/**
 * The file system inside contains only the system's programs and the workspace: no home directory, no keys, no process of ours,
 * no socket, and no network unless allowed.
 */
function wrap(
  { words, workspace, cwd }: Launch,
  {
    program,
    readable,
    secret = [],
    network,
    limits,
    hasFilter,
  }: SandboxOptions & { readonly program: string; readonly hasFilter: boolean },
): readonly string[] {
  const view = {
    files: "system",
    readable: [process.execPath, ...readable],
    writable: [workspace],
    hidden: [],
    secret,
    network,
    tmpBytes: limits.tmpBytes,
  } as const;
  return [
    program,
    // The end of bwrap ends everything inside, whatever kills it.
    "--die-with-parent",
    "--new-session",
    "--unshare-all",
    ...NO_CAPABILITIES,
    ...(network ? ["--share-net"] : []),
    "--info-fd",
    String(INFO_FD),
    "--block-fd",
    String(BLOCK_FD),
    ...(hasFilter ? ["--seccomp", String(FILTER_FD)] : []),
    ...mountArguments(view),
    // Every writable directory is in memory and has a size limit.
    ...sized("/dev/shm", SHM_BYTES),
    "--remount-ro",
    "/dev",
    "--remount-ro",
    "/",
    "--chdir",
    cwd,
    "--",
    ...words,
  ];
}

function sized(path: string, bytes: number): readonly string[] {
  return ["--size", String(bytes), "--tmpfs", path];
}
