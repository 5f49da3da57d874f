import { watch, type FSWatcher } from "node:fs";
import { open } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { StartError } from "@switchyard/service/start-error";
import { compileBundle, type CompiledBundle } from "./compile-bundle.ts";
import { BundleError, MAX_BUNDLE_BYTES, parseBundle } from "./parse-bundle.ts";

/**
 * The policy in force, kept equal to a file.
 *
 * - A bundle comes into force whole: `current` is replaced by one assignment.
 * - A file with errors never comes into force; the last good one stays.
 * - A file that is being written is left alone until two reads agree, because the first half of a
 *   policy can be a valid policy without its deny rules.
 * - The watcher only makes a change seen sooner. The file is read at intervals as well, because
 *   network file systems and links into other directories send no notice.
 */
export interface PolicyFileOptions {
  readonly path: string;
  readonly onActivated: (bundle: CompiledBundle) => void;
  /** The file changed and is refused; the lines say where and why. Called once for each such state of the file. */
  readonly onRefused: (lines: readonly string[], inForce: CompiledBundle) => void;
  /** Notices stopped; changes are still seen, at the next interval. */
  readonly onWatchLost: (error: unknown) => void;
  /** How long the file must stay as it is before it is read as whole. */
  readonly settleMs?: number;
  readonly pollMs?: number;
}

export class PolicyFile {
  readonly #options: PolicyFileOptions;
  readonly #stopping = new AbortController();
  readonly #poll: NodeJS.Timeout;
  readonly #watcher: FSWatcher | null;
  #current: CompiledBundle;
  #seen: FileState;
  #isRefused = false;
  #reloading: Promise<void> | null = null;
  #changedMeanwhile = false;

  /** Reads the file for the first time. Throws a StartError when it is missing or has errors. */
  static async open(options: PolicyFileOptions): Promise<PolicyFile> {
    const state = await readState(options.path);
    const outcome = bundleOf(state, options.path);
    if (outcome.bundle === null) {
      throw new StartError(`YARD_POLICY_FILE: policy refused\n${outcome.lines.join("\n")}`, {
        hint: "correct the policy file and start again; services/policy/README.md describes it",
      });
    }
    options.onActivated(outcome.bundle);
    return new PolicyFile(options, state, outcome.bundle);
  }

  private constructor(options: PolicyFileOptions, state: FileState, bundle: CompiledBundle) {
    this.#options = options;
    this.#seen = state;
    this.#current = bundle;
    this.#watcher = this.#watch();
    this.#poll = setInterval(() => this.#changed(), options.pollMs ?? 5_000).unref();
  }

  get current(): CompiledBundle {
    return this.#current;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#watcher?.close();
    clearInterval(this.#poll);
    await this.#reloading;
  }

  /** Watches the directory, not the file: editors and Kubernetes replace files by renaming. */
  #watch(): FSWatcher | null {
    try {
      const watcher = watch(dirname(this.#options.path), () => this.#changed());
      watcher.unref();
      return watcher.on("error", (error) => {
        watcher.close();
        this.#options.onWatchLost(error);
      });
    } catch (error) {
      this.#options.onWatchLost(error);
      return null;
    }
  }

  #changed(): void {
    if (this.#stopping.signal.aborted) return;
    this.#changedMeanwhile = true;
    this.#reloading ??= this.#reload().finally(() => {
      this.#reloading = null;
    });
  }

  async #reload(): Promise<void> {
    while (this.#changedMeanwhile && !this.#stopping.signal.aborted) {
      this.#changedMeanwhile = false;
      const state = await this.#settledState();
      if (state !== null && !isSameState(state, this.#seen)) this.#take(state);
    }
  }

  /** The file once two reads agree, or null when it is as it was, or when we are stopping. */
  async #settledState(): Promise<FileState | null> {
    let state = await readState(this.#options.path);
    while (!isSameState(state, this.#seen)) {
      const { signal } = this.#stopping;
      await delay(this.#options.settleMs ?? 100, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return null;
      const again = await readState(this.#options.path);
      if (isSameState(again, state)) return state;
      state = again;
    }
    return null;
  }

  #take(state: FileState): void {
    const { bundle, lines } = bundleOf(state, this.#options.path);
    this.#seen = state;
    if (bundle === null) {
      this.#isRefused = true;
      this.#options.onRefused(lines, this.#current);
      return;
    }
    // A change of comments or layout is none of the policy, but the end of a refusal is news.
    const isNews = this.#isRefused || bundle.digest !== this.#current.digest;
    this.#isRefused = false;
    this.#current = bundle;
    if (isNews) this.#options.onActivated(bundle);
  }
}

/** The name of a bundle in events and metrics: the file's name without its ending, as one subject token. */
export function bundleName(path: string): string {
  const stem = basename(path).replace(/\.[^.]*$/, "");
  return stem.replaceAll(/[^A-Za-z0-9_-]/g, "-").slice(0, 64) || "policy";
}

/** What a read of the file gave: its text, or why there is none. */
type FileState =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "unreadable"; readonly why: string };

function isSameState(a: FileState, b: FileState): boolean {
  if (a.kind === "text") return b.kind === "text" && a.text === b.text;
  return b.kind === "unreadable" && a.why === b.why;
}

function bundleOf(
  state: FileState,
  path: string,
): { bundle: CompiledBundle | null; lines: readonly string[] } {
  if (state.kind === "unreadable") return { bundle: null, lines: [`${path}: ${state.why}`] };
  try {
    const bundle = compileBundle(parseBundle({ file: path, text: state.text }));
    return { bundle, lines: [] };
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    return { bundle: null, lines: error.lines };
  }
}

async function readState(path: string): Promise<FileState> {
  try {
    const bytes = await readBounded(path);
    if (bytes === null) return { kind: "unreadable", why: "is not a regular file" };
    if (bytes.length > MAX_BUNDLE_BYTES) {
      return { kind: "unreadable", why: `is larger than ${MAX_BUNDLE_BYTES} bytes` };
    }
    return { kind: "text", text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch (error) {
    if (error instanceof TypeError) return { kind: "unreadable", why: "is not valid UTF-8" };
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    return { kind: "unreadable", why: `cannot be read (${code})` };
  }
}

/** At most one byte more than a bundle may have; null for a directory, pipe or device. */
async function readBounded(path: string): Promise<Buffer | null> {
  await using file = await open(path, "r");
  if (!(await file.stat()).isFile()) return null;
  const buffer = Buffer.alloc(MAX_BUNDLE_BYTES + 1);
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return buffer.subarray(0, length);
}
