import { watch, type FSWatcher } from "node:fs";
import { basename, dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { policyTestsPath, type LintFinding } from "@switchyard/contracts/policy";
import { StartError } from "@switchyard/service/start-error";
import type { CompiledBundle } from "./compile-bundle.ts";
import { isSameFile, readTextFile, type TextFile } from "./text-file.ts";
import { validate, type PolicyTexts } from "./validate.ts";
import { problemLine } from "./yaml-file.ts";

/**
 * The policy in force, kept equal to a file.
 *
 * - A bundle comes into force whole: `current` is replaced by one assignment, and not before
 *   decisions of the one before that others keep are over (`beforeChange`).
 * - A file with errors never comes into force; the last good one stays. The same holds for one
 *   whose tests, in the file beside it, fail or cannot be read.
 * - A file that is being written is left alone until two reads agree, because the first half of a
 *   policy can be a valid policy without its deny rules.
 * - The watcher only makes a change seen sooner. The file is read at intervals as well, because
 *   network file systems and links into other directories send no notice.
 */
export interface PolicyInForce {
  readonly bundle: CompiledBundle;
  /** What it was read from. */
  readonly texts: PolicyTexts;
  readonly testCount: number;
  readonly findings: readonly LintFinding[];
}

export interface PolicyFileOptions {
  readonly path: string;
  readonly onActivated: (inForce: PolicyInForce) => void;
  /** Other rules come into force when this has resolved; not called for the first ones. */
  readonly beforeChange?: () => Promise<void>;
  /** They have come into force, and `onActivated` was told. */
  readonly afterChange?: () => void;
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
  #inForce: PolicyInForce;
  #seen: FileState;
  #isRefused = false;
  #reloading: Promise<void> | null = null;
  #changedMeanwhile = false;

  /** Reads the file for the first time. Throws a StartError when it is missing or has errors. */
  static async open(options: PolicyFileOptions): Promise<PolicyFile> {
    const state = await readState(options.path);
    const outcome = judge(state, options.path);
    if (outcome.inForce === null) {
      throw new StartError(`YARD_POLICY_FILE: policy refused\n${outcome.lines.join("\n")}`, {
        hint: "correct the policy file and start again; services/policy/README.md describes it",
      });
    }
    options.onActivated(outcome.inForce);
    return new PolicyFile(options, state, outcome.inForce);
  }

  private constructor(options: PolicyFileOptions, state: FileState, inForce: PolicyInForce) {
    this.#options = options;
    this.#seen = state;
    this.#inForce = inForce;
    this.#watcher = this.#watch();
    this.#poll = setInterval(() => this.#changed(), options.pollMs ?? 5_000).unref();
  }

  get current(): CompiledBundle {
    return this.#inForce.bundle;
  }

  get texts(): PolicyTexts {
    return this.#inForce.texts;
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
      if (state !== null && !isSameState(state, this.#seen)) await this.#take(state);
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

  async #take(state: FileState): Promise<void> {
    const { inForce, lines } = judge(state, this.#options.path);
    this.#seen = state;
    if (inForce === null) {
      this.#isRefused = true;
      this.#options.onRefused(lines, this.current);
      return;
    }
    // A change of comments or layout is none of the policy, but the end of a refusal is news.
    const isChange = inForce.bundle.digest !== this.current.digest;
    const isNews = this.#isRefused || isChange;
    if (isChange) await this.#options.beforeChange?.();
    this.#isRefused = false;
    this.#inForce = inForce;
    if (isNews) this.#options.onActivated(inForce);
    if (isChange) this.#options.afterChange?.();
  }
}

/** The name of a bundle in events and metrics: the file's name without its ending, as one subject token. */
export function bundleName(path: string): string {
  const stem = basename(path).replace(/\.[^.]*$/, "");
  return stem.replaceAll(/[^A-Za-z0-9_-]/g, "-").slice(0, 64) || "policy";
}

/** The policy file and, where there is one, the file of its tests. */
interface FileState {
  readonly policy: TextFile;
  readonly tests: TextFile;
}

async function readState(path: string): Promise<FileState> {
  const [policy, tests] = await Promise.all([
    readTextFile(path),
    readTextFile(policyTestsPath(path)),
  ]);
  return { policy, tests };
}

function isSameState(a: FileState, b: FileState): boolean {
  return isSameFile(a.policy, b.policy) && isSameFile(a.tests, b.tests);
}

type Outcome =
  | { readonly inForce: PolicyInForce; readonly lines: readonly [] }
  | { readonly inForce: null; readonly lines: readonly string[] };

function refused(lines: readonly string[]): Outcome {
  return { inForce: null, lines };
}

/** A policy comes out only when its tests, if it has any, can be read and pass. */
function judge({ policy, tests }: FileState, path: string): Outcome {
  const testsPath = policyTestsPath(path);
  if (policy.kind !== "text") return refused([`${path}: ${policy.why}`]);
  if (tests.kind === "unreadable") return refused([`${testsPath}: ${tests.why}`]);
  const testsText = tests.kind === "text" ? tests.text : null;
  const { bundle, problems, results, findings } = validate(policy.text, testsText);
  const failing = results.filter(({ passed }) => !passed);
  if (bundle !== null && problems.length === 0 && failing.length === 0) {
    const texts = { bundleText: policy.text, testsText };
    return { inForce: { bundle, texts, testCount: results.length, findings }, lines: [] };
  }
  const lines = [
    ...problems.map((problem) => problemLine(problem.in === "tests" ? testsPath : path, problem)),
    ...failing.map(({ name, line, message }) => `${testsPath}:${line}: test "${name}": ${message}`),
  ];
  return refused(lines);
}
