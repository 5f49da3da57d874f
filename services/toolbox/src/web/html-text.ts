import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { threadLimits } from "@switchyard/service/thread-limits";
import { ToolError } from "../tool-error.ts";

/** Turns HTML into what a person reads of it. */
export interface HtmlTexts {
  /** Throws ToolError for a page that takes too long or too much memory; rejects with the signal's reason. */
  textOf(html: string, signal: AbortSignal): Promise<string>;
}

/** A real page of the largest size takes well below a second. */
const DEADLINE_MS = 5_000;
const MAX_HEAP_MB = 192;

const WORKER = new URL("./html-worker.ts", import.meta.url);

/**
 * Works in a thread, a page at a time: a few bytes of HTML (`<td colspan=100000>`) can take minutes, and nothing else
 * of this process would go on meanwhile. A thread that takes too long is ended, and the next page gets a new one.
 */
export function createHtmlTexts(deadlineMs = DEADLINE_MS): HtmlTexts {
  let thread: Promise<Worker> | null = null;
  let last: Promise<unknown> = Promise.resolve();

  async function convert(html: string, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    const started = (thread ??= startThread());
    try {
      return await ask(await started, html, { signal, deadlineMs });
    } catch (error) {
      thread = null;
      void started.then((worker) => worker.terminate()).catch(() => undefined);
      throw error;
    }
  }

  return {
    async textOf(html, signal) {
      const turn = last.then(() => convert(html, signal));
      last = turn.catch(() => undefined);
      return abortable(turn, signal);
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
