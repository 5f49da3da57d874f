import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { threadLimits } from "@switchyard/service/thread-limits";
import { ToolError } from "../tool-error.ts";

/** Turns HTML into what a person reads of it. */
export interface HtmlTexts {
  /** Throws ToolError for a page that takes too long or too much memory; rejects with the signal's reason. */
  textOf(html: string, by: HtmlAsker): Promise<string>;
}

export interface HtmlAsker {
  /** Callers take turns. */
  readonly caller: string;
  readonly signal: AbortSignal;
}

/** A real page of the largest size takes well below a second. */
const DEADLINE_MS = 5_000;
const MAX_HEAP_MB = 192;

const WORKER = new URL("./html-worker.ts", import.meta.url);

/** The second is for whoever comes while a page of somebody else takes long. */
const THREADS = 2;

interface Job {
  readonly html: string;
  readonly signal: AbortSignal;
  readonly done: PromiseWithResolvers<string>;
}

/**
 * Works in threads: a few bytes of HTML (`<td colspan=100000>`) can take minutes, and nothing else
 * of this process would go on meanwhile. A thread that takes too long is ended, and the next page gets a new one. Each
 * caller has one page in work, and callers take turns, so many slow pages of one are no longer wait for another than one.
 */
export function createHtmlTexts(deadlineMs = DEADLINE_MS): HtmlTexts {
  const idle: Promise<Worker>[] = [];
  /** By caller, in the order of their turns. */
  const waiting = new Map<string, Job[]>();
  const inWork = new Set<string>();

  async function convert({ html, signal }: Job): Promise<string> {
    signal.throwIfAborted();
    const thread = idle.pop() ?? startThread();
    try {
      const text = await ask(await thread, html, { signal, deadlineMs });
      idle.push(thread);
      return text;
    } catch (error) {
      void thread.then((worker) => worker.terminate()).catch(() => undefined);
      throw error;
    }
  }

  function beginNext(): void {
    for (const [caller, jobs] of waiting) {
      if (inWork.size >= THREADS) return;
      if (inWork.has(caller)) continue;
      const job = jobs.shift();
      if (job !== undefined) void work(caller, job);
    }
  }

  async function work(caller: string, job: Job): Promise<void> {
    inWork.add(caller);
    await convert(job).then(job.done.resolve, job.done.reject);
    inWork.delete(caller);
    const left = waiting.get(caller) ?? [];
    // Behind those who came meanwhile.
    waiting.delete(caller);
    if (left.length > 0) waiting.set(caller, left);
    beginNext();
  }

  return {
    async textOf(html, { caller, signal }) {
      const job: Job = { html, signal, done: Promise.withResolvers() };
      const jobs = waiting.get(caller);
      if (jobs === undefined) waiting.set(caller, [job]);
      else jobs.push(job);
      beginNext();
      return abortable(job.done.promise, signal);
    },
  };
}

/** Resolves when all modules are loaded: starting takes longer than most pages, and is not their time. */
async function startThread(): Promise<Worker> {
  const worker = new Worker(WORKER, { resourceLimits: threadLimits(MAX_HEAP_MB) });
  // The heap's limit is an error of the worker; without a listener it would be one of this process.
  worker.on("error", () => undefined);
  await once(worker, "message");
  worker.unref();
  return worker;
}

async function ask(
  worker: Worker,
  html: string,
  { signal, deadlineMs }: { signal: AbortSignal; deadlineMs: number },
): Promise<string> {
  const ended = new AbortController();
  const late = AbortSignal.timeout(deadlineMs);
  const over = AbortSignal.any([signal, late, ended.signal]);
  const end = (): void => ended.abort();
  worker.once("exit", end);
  // The timer of a signal keeps no process alive, and neither does the thread.
  const waiting = setTimeout(() => undefined, deadlineMs);
  try {
    worker.postMessage(html, []);
    // What html-worker.ts answers.
    const [text] = (await once(worker, "message", { signal: over })) as [string | null];
    if (text !== null) return text;
    throw new ToolError("The page cannot be turned into text: its layout is too large.");
  } catch (error) {
    if (error instanceof ToolError) throw error;
    signal.throwIfAborted();
    throw new ToolError(
      late.aborted
        ? `The page cannot be turned into text within ${deadlineMs} ms.`
        : "The page cannot be turned into text: that needs too much memory.",
      { cause: error },
    );
  } finally {
    clearTimeout(waiting);
    worker.off("exit", end);
  }
}

function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  return Promise.race([work, aborted.promise]).finally(() =>
    signal.removeEventListener("abort", abort),
  );
}
