import { within } from "@switchyard/contracts/timeouts";
import { doInThread } from "@switchyard/service/thread-job";
import { ToolError } from "../tool-error.ts";
import type { HtmlAnswer } from "./html-worker.ts";

/** Converts HTML into the text that a person reads. */
export interface HtmlTexts {
  /** Throws ToolError for a page that takes too long or too much memory; rejects with the signal's reason. */
  textOf(html: string, by: HtmlRequester): Promise<string>;
}

export interface HtmlRequester {
  /** The user whose turn it is; callers take turns. */
  readonly caller: string;
  readonly signal: AbortSignal;
}

/** A real page of the largest size takes well below a second, and so does the start of a thread. */
const DEADLINE_MS = 6_000;
const MAX_HEAP_MB = 192;

const WORKER = new URL("./html-worker.ts", import.meta.url);

/** The second thread serves other callers while a page of one takes long. */
const THREADS = 2;

interface Job {
  readonly html: string;
  readonly signal: AbortSignal;
  readonly done: PromiseWithResolvers<string>;
}

/**
 * Converts in threads: a few bytes of HTML (`<td colspan=100000>`) can take minutes, which would block this process. Each caller
 * has one page in progress, and callers take turns, so many slow pages of one caller delay others no longer than one.
 */
export function createHtmlTexts({ deadlineMs = DEADLINE_MS } = {}): HtmlTexts {
  /** The jobs by caller, in the order of their turns. */
  const waiting = new Map<string, Job[]>();
  const inWork = new Set<string>();

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
    await convert(job, deadlineMs).then(job.done.resolve, job.done.reject);
    inWork.delete(caller);
    const left = waiting.get(caller) ?? [];
    // Queued behind callers that came meanwhile.
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
      return within(job.done.promise, { signal }, () => {
        throw signal.reason;
      });
    },
  };
}

async function convert({ html, signal }: Job, limitMs: number): Promise<string> {
  const answer = await doInThread<HtmlAnswer>({
    file: WORKER,
    data: html,
    limitMs,
    maxHeapMb: MAX_HEAP_MB,
    signal,
  });
  if (answer === null)
    throw new ToolError(
      `The page cannot be turned into text within ${limitMs} ms and ${MAX_HEAP_MB} MB of memory.`,
    );
  if (answer.text === null)
    throw new ToolError("The page cannot be turned into text: its layout is too large.");
  return answer.text;
}
