import { existsSync } from "node:fs";
import {
  findBubblewrap,
  type BubblewrapPlace,
  NO_CAPABILITIES,
  OWN_PROC,
  SandboxError,
} from "@switchyard/service/process/sandbox";

/** Keeps a command to its workspace. */
export interface CommandSandbox {
  /** The words of the command that runs another one inside. */
  wrap(launch: { words: readonly string[]; workspace: string; cwd: string }): readonly string[];
}

/**
 * `auto`: commands run in a sandbox, or not at all where none works. `require`: the service does not
 * start without one. `off`: commands have the rights of this process, which somebody has to want.
 */
export type SandboxSetting = "auto" | "require" | "off";

/** How commands are kept to their workspace here. */
export type CommandCage =
  | { readonly kind: "bubblewrap"; readonly sandbox: CommandSandbox }
  | { readonly kind: "off" }
  | { readonly kind: "missing"; readonly reason: string };

export interface SandboxOptions {
  readonly setting: SandboxSetting;
  readonly bubblewrap: BubblewrapPlace;
  /** Directories beside those of the system that commands may read. */
  readonly readable: readonly string[];
  readonly network: boolean;
}

/** What programs are made of. Nothing here is anybody's data, and all of it is mounted read-only. */
const SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"];
/** Of /etc only what programs cannot do without. */
const SYSTEM_FILES = [
  "alternatives",
  "ca-certificates",
  "fonts",
  "group",
  "hosts",
  "ld.so.cache",
  "ld.so.conf",
  "ld.so.conf.d",
  "localtime",
  "mime.types",
  "nsswitch.conf",
  "passwd",
  "pki",
  "protocols",
  "resolv.conf",
  "services",
  "ssl",
].map((name) => `/etc/${name}`);

const OWN_DEVICES = ["--dev", "/dev", ...OWN_PROC, "--tmpfs", "/tmp"];

/** Finds out what works here. Rejects with SandboxError when the setting requires what does not. */
export async function openCommandCage(options: SandboxOptions): Promise<CommandCage> {
  if (options.setting === "off") return { kind: "off" };
  try {
    const program = await findBubblewrap(options.bubblewrap);
    return {
      kind: "bubblewrap",
      sandbox: { wrap: (launch) => wrap(launch, program, options) },
    };
  } catch (error) {
    if (options.setting === "require" || !(error instanceof SandboxError)) throw error;
    return { kind: "missing", reason: error.message };
  }
}

/**
 * The file system inside has the system's programs and the workspace, and nothing else: no home
 * directory, no keys, no process of ours, no socket, and without leave no network.
 */
function wrap(
  { words, workspace, cwd }: Parameters<CommandSandbox["wrap"]>[0],
  program: string,
  { readable, network }: SandboxOptions,
): readonly string[] {
  const shown = [...SYSTEM, ...SYSTEM_FILES, process.execPath, ...readable];
  return [
    program,
    // Its end takes everything inside along, whatever kills it.
    "--die-with-parent",
    "--new-session",
    "--unshare-all",
    ...NO_CAPABILITIES,
    ...(network ? ["--share-net"] : []),
    // What is shown may lie below /tmp, where somebody tries a clone.
    ...OWN_DEVICES,
    ...shown.flatMap((path) => (existsSync(path) ? ["--ro-bind", path, path] : [])),
    "--bind",
    workspace,
    workspace,
    "--chdir",
    cwd,
    "--",
    ...words,
  ];
}
