import { watch, type FSWatcher } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { SerialQueue } from "@switchyard/contracts/serial-queue";
import { StartError } from "@switchyard/service/start-error";
import type { CompiledBundle } from "@switchyard/rules/bundle/compile-bundle";
import { checkTexts, type Outcome, type PolicyInForce } from "./check-texts.ts";
import {
  isDirectory,
  isSameState,
  readPolicyState,
  textsOf,
  type PolicyState,
} from "./policy-directory.ts";
import type { PolicyTexts } from "@switchyard/rules/engine/validate";

export interface PolicyFileOptions {
  readonly path: string;
  /** Comes into force at once instead of the files. */
  readonly pinned?: PolicyInForce | null;
  /** Returns the policy to start with when the files are missing or have errors; null: the start fails. */
  readonly lastOfFiles?: () => Promise<PolicyInForce | null>;
  readonly onActivated: (inForce: PolicyInForce) => void;
  /** Other rules come into force when this has resolved; not called for the first ones. */
  readonly beforeChange?: () => Promise<void>;
  /** Called when they have come into force, after `onActivated`. */
  readonly afterChange?: () => void;
  /** The file changed and is refused; the lines contain position and reason. Called once for each such state of the file. */
  readonly onRefused: (lines: readonly string[], inForce: CompiledBundle) => void;
  /** The file watch ended; changes are still detected, at the next interval. */
  readonly onWatchLost: (error: unknown) => void;
}

/** The file must stay unchanged for this time before it is read as complete. */
const SETTLE_MS = 100;
const POLL_MS = 5_000;

/**
 * The policy in force, kept equal to a file or to the files of a directory, unless another bundle was pinned.
 * - A bundle comes into force whole: `current` is replaced by one assignment, and not before the leases on decisions of the
 * former one have ended (`beforeChange`).
 * - A file with errors never comes into force; the last good one stays, also after a restart. The same holds for one whose
 * tests, in the file beside it, fail or cannot be read.
 * - A file that is being written is ignored until two reads agree, because the first half of a policy can be a valid policy
 * without its deny rules.
 * - A pinned bundle stays in force whatever the files contain, until it is unpinned.
 * - The watcher only makes a change visible sooner. The file is read at intervals as well, because network file systems and links
 * into other directories send no notification.
 */
export class PolicyFile {
  readonly #options: PolicyFileOptions;
  readonly #stopping = new AbortController();
  readonly #poll: NodeJS.Timeout;
  readonly #watchers: FSWatcher[] = [];
  #inForce: PolicyInForce;
  #seen: PolicyState;
  /** The policy in the files, while they are valid. */
  #ofFiles: PolicyInForce | null;
  #isPinned: boolean;
  /** The reasons why the files cannot come into force; null when they can. */
  #refusal: readonly string[] | null = null;
  #reloading: Promise<void> | null = null;
  #changedMeanwhile = false;
  /** Replacements run one after the other. */
  readonly #changes = new SerialQueue();

  /**
   * Reads the files for the first time. When they are missing or have errors, the policy that was in force before stays so. Throws a
   * StartError when there is none.
   */
  static async open(options: PolicyFileOptions): Promise<PolicyFile> {
    const { path, pinned = null, lastOfFiles } = options;
    const state = await readPolicyState(path);
    const outcome = await check(state, path);
    const inForce = pinned ?? outcome.inForce ?? (await lastOfFiles?.()) ?? null;
    if (inForce === null) {
      throw new StartError(`YARD_POLICY_FILE: policy refused\n${outcome.lines.join("\n")}`, {
        hint: "correct the policy file and start again; docs/policy.md describes it",
      });
    }
    options.onActivated(inForce);
    const file = new PolicyFile(options, { state, inForce, ofFiles: outcome.inForce });
    if (outcome.inForce === null) file.#refused(outcome.lines);
    if (await isDirectory(path)) file.#watch(path);
    return file;
  }

  private constructor(
    options: PolicyFileOptions,
    start: { state: PolicyState; inForce: PolicyInForce; ofFiles: PolicyInForce | null },
  ) {
    this.#options = options;
    this.#seen = start.state;
    this.#inForce = start.inForce;
    this.#ofFiles = start.ofFiles;
    this.#isPinned = (options.pinned ?? null) !== null;
    this.#watch(dirname(options.path));
    this.#poll = setInterval(() => this.#changed(), POLL_MS).unref();
  }

  get current(): CompiledBundle {
    return this.#inForce.bundle;
  }

  get inForce(): PolicyInForce {
    return this.#inForce;
  }

  /** True when the files on disk could come into force. */
  get hasGoodFiles(): boolean {
    return this.#ofFiles !== null;
  }

  /** The reasons why the files cannot come into force, in lines with positions; null when they can. */
  get refusal(): readonly string[] | null {
    return this.#refusal;
  }

  get texts(): PolicyTexts {
    return this.#inForce.texts;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const watcher of this.#watchers) watcher.close();
    clearInterval(this.#poll);
    await this.#reloading;
    await this.#changes.settled();
  }

  /** Brings a bundle into force and follows the files no more. Resolves when it is in force. */
  pin(inForce: PolicyInForce): Promise<void> {
    return this.#changes.run(async () => {
      this.#isPinned = true;
      await this.#putInForce(inForce, false);
    });
  }

  /** Follows the files again. False when they have errors: the pinned bundle stays in force until they are valid. */
  async unpin(): Promise<boolean> {
    await this.#changes.run(async () => {
      this.#isPinned = false;
      if (this.#ofFiles !== null) await this.#putInForce(this.#ofFiles, false);
    });
    return this.#ofFiles !== null;
  }

  /** Watches the directory, not the file: editors and Kubernetes replace files by renaming. */
  #watch(directory: string): void {
    try {
      const watcher = watch(directory, () => this.#changed());
      watcher.unref();
      watcher.on("error", (error) => {
        watcher.close();
        this.#options.onWatchLost(error);
      });
      this.#watchers.push(watcher);
    } catch (error) {
      this.#options.onWatchLost(error);
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
      if (state === null || isSameState(state, this.#seen)) continue;
      const outcome = await this.#check(state);
      if (outcome !== null) await this.#changes.run(() => this.#take(state, outcome));
    }
  }

  /** The file once two reads agree, or null when it is as it was, or when we are stopping. */
  async #settledState(): Promise<PolicyState | null> {
    let state = await readPolicyState(this.#options.path);
    while (!isSameState(state, this.#seen)) {
      const { signal } = this.#stopping;
      await delay(SETTLE_MS, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return null;
      const again = await readPolicyState(this.#options.path);
      if (isSameState(again, state)) return state;
      state = again;
    }
    return null;
  }

  /** Returns null when the service is stopping. The check does not hold the queue: a pin meanwhile need not wait. */
  async #check(state: PolicyState): Promise<Outcome | null> {
    const { signal } = this.#stopping;
    try {
      return await check(state, this.#options.path, signal);
    } catch (error) {
      return signal.aborted
        ? null
        : { inForce: null, lines: [`could not be checked: ${String(error)}`] };
    }
  }

  async #take(state: PolicyState, { inForce, lines }: Outcome): Promise<void> {
    this.#seen = state;
    this.#ofFiles = inForce;
    if (inForce === null) this.#refused(lines);
    else if (this.#isPinned) this.#refusal = null;
    else {
      // A change of comments or layout does not change the policy, but the end of a refusal is announced.
      const wasRefused = this.#refusal !== null;
      this.#refusal = null;
      await this.#putInForce(inForce, wasRefused);
    }
  }

  #refused(lines: readonly string[]): void {
    this.#refusal = lines;
    this.#options.onRefused(lines, this.current);
  }

  async #putInForce(inForce: PolicyInForce, isNews: boolean): Promise<void> {
    const isChange = inForce.bundle.digest !== this.current.digest;
    if (isChange) await this.#options.beforeChange?.();
    this.#inForce = inForce;
    if (isNews || isChange) this.#options.onActivated(inForce);
    if (isChange) this.#options.afterChange?.();
  }
}

/** The name of a bundle in events and metrics: the file's name without its ending, as one subject token. */
export function bundleName(path: string): string {
  const stem = basename(path).replace(/\.[^.]*$/, "");
  return stem.replaceAll(/[^A-Za-z0-9_-]/g, "-").slice(0, 64) || "policy";
}

/** Returns a policy only when its tests, if it has any, can be read and pass. */
async function check(state: PolicyState, path: string, signal?: AbortSignal): Promise<Outcome> {
  const read = textsOf(state);
  if (read.texts === null) return { inForce: null, lines: read.lines };
  const checked = await checkTexts(read.texts, signal && { signal });
  if (checked.inForce !== null) return checked;
  const directory = state.files.find((file) => file.path === path) ? dirname(path) : path;
  return { inForce: null, lines: checked.lines.map((line) => join(directory, line)) };
}
