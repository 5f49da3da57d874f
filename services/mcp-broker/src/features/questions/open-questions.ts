import type { AnswerContent, Question } from "@switchyard/contracts/mcp-questions";
import type { QuestionStore, StoredQuestion } from "./question-store.ts";

/** How a question ended for the server that asked it. */
export type QuestionEnd =
  | { readonly action: "accept"; readonly content: AnswerContent | undefined }
  | { readonly action: "decline" | "cancel" };

/** The questions of this broker that wait for an answer. */
export interface OpenQuestions {
  /** Of this server, or of all. */
  count(server?: string): number;
  /**
   * Keeps the question and waits for its end: an answer, wherever it was given, its time, or the
   * signal, after which it is `lost`. Rejects with QuestionStoreError when it could not be kept.
   */
  ask(question: Question, lost: AbortSignal): Promise<QuestionEnd>;
  /** Looks for answers now, for instance because one was given here. */
  look(): void;
  stop(): void;
}

export interface OpenQuestionsOptions {
  readonly store: QuestionStore;
  /** This broker's own id, new at every start. */
  readonly holder: string;
  readonly now: () => number;
  readonly onEnded: (question: Question) => void;
  readonly onTrouble: (error: unknown) => void;
}

/** An answer that another broker took is found this late. */
const LOOK_MS = 500;
/** Ten looks between two signs of life, which last three times as long. */
const LOOKS_PER_TOUCH = 10;

interface Waiting {
  readonly question: Question;
  readonly settle: (end: QuestionEnd) => void;
}

export function createOpenQuestions(options: OpenQuestionsOptions): OpenQuestions {
  const { store, holder, now, onEnded, onTrouble } = options;
  const waiting = new Map<string, Waiting>();
  let timer: NodeJS.Timeout | null = null;
  let looks = 0;

  const leave = (id: string, end: QuestionEnd): void => {
    waiting.get(id)?.settle(end);
    waiting.delete(id);
    if (waiting.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  };
  /** Ends a question from here, unless somebody has answered it meanwhile: then the answer counts. */
  const give = async ({ question }: Waiting, state: "expired" | "lost"): Promise<void> => {
    const ended = { ...question, state, endedAt: new Date(now()).toISOString() };
    const stored = { question: ended, holder };
    await finish((await store.end(stored)) ?? stored);
  };
  const finish = async (stored: StoredQuestion): Promise<void> => {
    const { question, content } = stored;
    if (!waiting.has(question.id)) return; // two looks at the same time found it
    leave(question.id, endOf(stored));
    onEnded(question);
    if (content !== undefined) await store.forgetContent(stored);
  };
  const look = async (): Promise<void> => {
    looks += 1;
    if (looks % LOOKS_PER_TOUCH === 1) await store.touchHolder(holder);
    const ids = [...waiting.keys()];
    const found = await store.read(ids);
    for (const [index, id] of ids.entries()) {
      const stored = found[index] ?? null;
      const own = waiting.get(id);
      if (own === undefined) continue;
      if (stored !== null && stored.question.state !== "pending") await finish(stored);
      else if (now() >= Date.parse(own.question.expiresAt)) await give(own, "expired");
    }
  };
  const lookSafely = (): void => void look().catch(onTrouble);

  return {
    count: (server) =>
      [...waiting.values()].filter(
        ({ question }) => server === undefined || question.server === server,
      ).length,
    async ask(question, lost) {
      const { promise, resolve } = Promise.withResolvers<QuestionEnd>();
      const own: Waiting = { question, settle: resolve };
      // Counted before the first await, or a flood would pass the limit all at once.
      waiting.set(question.id, own);
      timer ??= setInterval(lookSafely, LOOK_MS);
      try {
        await store.touchHolder(holder);
        await store.add({ question, holder });
      } catch (error) {
        leave(question.id, { action: "cancel" });
        throw error;
      }
      const lose = (): void => {
        give(own, "lost").catch((error: unknown) => {
          leave(question.id, { action: "cancel" });
          onTrouble(error);
        });
      };
      if (lost.aborted) lose();
      else lost.addEventListener("abort", lose, { once: true });
      return promise.finally(() => lost.removeEventListener("abort", lose));
    },
    look: lookSafely,
    stop() {
      if (timer !== null) clearInterval(timer);
      for (const { settle } of waiting.values()) settle({ action: "cancel" });
      waiting.clear();
    },
  };
}

function endOf({ question: { state }, content }: StoredQuestion): QuestionEnd {
  if (state === "accepted") return { action: "accept", content };
  return { action: state === "declined" ? "decline" : "cancel" };
}
