import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, type WriteStream } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { EXIT_WITH_PARENT } from "@switchyard/service/exit-with-parent";

type LogLine = Readonly<Record<string, unknown>> & { readonly msg?: string };

export interface ServiceSpec {
  readonly name: string;
  /** Absolute path of its main.ts. */
  readonly entry: string;
  readonly env: Readonly<Record<string, string>>;
  /** All that its processes write, one after the other. */
  readonly logFile: string;
}

const RETRY_MS = 300;
const SIGNALLED_EXIT_MS = 30_000;

/**
 * A service under an orchestrator: an ended process is restarted, unless it is to stay away. An unplanned end, after the service
 * was ready, is a crash.
 */
export class ServiceProcess {
  readonly name: string;
  /** Every process that was started, for the check that none is left. */
  readonly pids: number[] = [];
  readonly crashes: string[] = [];
  readonly #spec: ServiceSpec;
  readonly #log: WriteStream;
  #child: ChildProcess | null = null;
  #isWanted = true;
  #isSignalled = false;
  #isReady = false;
  #running: Promise<void> = Promise.resolve();
  #listeners = new Set<(line: LogLine) => void>();

  constructor(spec: ServiceSpec) {
    this.name = spec.name;
    this.#spec = spec;
    this.#log = createWriteStream(spec.logFile, { flags: "a" });
    this.#running = this.#keep();
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** Resolves with the next line that has this message. */
  logged(message: string, about: Readonly<Record<string, unknown>> = {}): Promise<void> {
    return new Promise((resolve) => {
      const listen = (line: LogLine): void => {
        if (line.msg !== message) return;
        if (Object.entries(about).some(([name, value]) => line[name] !== value)) return;
        this.#listeners.delete(listen);
        resolve();
      };
      this.#listeners.add(listen);
    });
  }

  /** Ends the process; it stays away until `restore`. */
  takeDown(signal: "SIGKILL" | "SIGTERM"): void {
    this.#isWanted = false;
    this.#isSignalled = true;
    this.#child?.kill(signal);
  }

  restore(): void {
    if (this.#isWanted) return;
    this.#isWanted = true;
    const before = this.#running;
    this.#running = before.then(() => this.#keep());
  }

  freeze(): void {
    this.#child?.kill("SIGSTOP");
  }

  thaw(): void {
    this.#child?.kill("SIGCONT");
  }

  /** Ends it for good, in order when it can. */
  async stop(): Promise<void> {
    this.thaw();
    this.takeDown("SIGTERM");
    const killer = setTimeout(() => this.#child?.kill("SIGKILL"), SIGNALLED_EXIT_MS);
    await this.#running;
    clearTimeout(killer);
    await new Promise<void>((resolve) => this.#log.end(resolve));
  }

  async #keep(): Promise<void> {
    while (this.#isWanted) {
      await this.#runOnce();
      if (this.#isWanted) await delay(RETRY_MS);
    }
  }

  async #runOnce(): Promise<void> {
    this.#isSignalled = false;
    const child = spawn(process.execPath, [this.#spec.entry, EXIT_WITH_PARENT], {
      env: { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"], ...this.#spec.env },
      // It ends with us, however we end: its standard input closes.
      stdio: ["pipe", "pipe", "pipe"],
      detached: true,
    });
    this.#child = child;
    child.stdin.on("error", () => {}); // the process is gone; its exit event reports it
    if (child.pid !== undefined) this.pids.push(child.pid);
    child.stderr.pipe(this.#log, { end: false });
    createInterface({ input: child.stdout }).on("line", (text) => this.#receive(text));
    const [code, signal] = (await once(child, "close")) as [number | null, string | null];
    const wasReady = this.#isReady;
    this.#isReady = false;
    this.#child = null;
    if (wasReady && !this.#isSignalled) this.crashes.push(`${this.name} with ${code ?? signal}`);
  }

  #receive(text: string): void {
    this.#log.write(`${text}\n`);
    const line = parseLine(text);
    if (line.msg === "service ready") this.#isReady = true;
    for (const listen of this.#listeners) listen(line);
  }
}

function parseLine(text: string): LogLine {
  try {
    return JSON.parse(text) as LogLine; // every service writes one object a line
  } catch {
    return {};
  }
}
