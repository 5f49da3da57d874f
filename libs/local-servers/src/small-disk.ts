import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";

const SIZE_MIB = 256;
/** The largest piece first, so that filling takes few writes; the last ones leave no room for a single byte. */
const PIECES_BYTES = [1_048_576, 65_536, 4_096, 1];

/**
 * A small tmpfs in a mount namespace of its own, which a process holds: however we end, its input closes, it ends, and
 * the mount is gone with it. Others reach the files through the root directory of that process.
 */
export class SmallDisk {
  /** The path at which all processes find the files. */
  readonly directory: string;
  readonly pid: number;
  readonly #holder: ChildProcess;

  private constructor(holder: ChildProcess, pid: number, mountPoint: string) {
    this.#holder = holder;
    this.pid = pid;
    this.directory = `/proc/${pid}/root${mountPoint}`;
  }

  /** Gives the reason, as text, where this system does not let us mount. */
  static async mount(mountPoint: string): Promise<SmallDisk | string> {
    if (process.platform !== "linux") return "mount namespaces are only on Linux";
    await mkdir(mountPoint, { recursive: true });
    const script = `mount -t tmpfs -o size=${SIZE_MIB}m,mode=700 tmpfs "$1" && echo mounted && exec cat`;
    const holder = spawn("unshare", ["-rm", "sh", "-c", script, "sh", mountPoint], {
      stdio: ["pipe", "pipe", "pipe"],
      detached: true,
    });
    let output = "";
    holder.stderr.setEncoding("utf8").on("data", (text: string) => (output += text));
    const failed = Promise.race([
      once(holder, "error").then(([error]) => String(error)),
      once(holder, "exit").then(([code]) => `unshare ended with ${code}: ${output.trim()}`),
    ]);
    const mounted = once(holder.stdout, "data").then(() => null);
    const reason = await Promise.race([failed, mounted]);
    if (reason !== null) return reason;
    return new SmallDisk(holder, holder.pid ?? 0, mountPoint); // it has said something, so it runs
  }

  /** Takes all the room that is left. */
  fill(): void {
    const file = openSync(this.#filler, "w");
    try {
      for (const bytes of PIECES_BYTES) writeUntilFull(file, Buffer.alloc(bytes));
    } finally {
      closeSync(file);
    }
  }

  /** Gives the room back. */
  makeRoom(): void {
    const file = openSync(this.#filler, "w");
    ftruncateSync(file, 0);
    closeSync(file);
  }

  /** Copies the files to where they outlive the disk. */
  async keep(target: string): Promise<void> {
    await cp(this.directory, target, { recursive: true });
  }

  async unmount(): Promise<void> {
    if (this.#holder.exitCode !== null || this.#holder.signalCode !== null) return;
    const ended = once(this.#holder, "exit");
    this.#holder.stdin?.end();
    await ended;
  }

  get #filler(): string {
    return join(this.directory, "filler");
  }
}

function writeUntilFull(file: number, piece: Buffer): void {
  for (;;) {
    try {
      writeSync(file, piece);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOSPC") return; // what Node's file functions throw
      throw error;
    }
  }
}
