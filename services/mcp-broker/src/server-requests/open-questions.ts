import type { AnswerContent, Question } from "@switchyard/contracts/mcp-broker/mcp-questions";
import type { QuestionStore, StoredQuestion } from "./question-store.ts";

/** The result of a question for the server that asked it. */
export type QuestionEnd =
  | { readonly action: "accept"; readonly content: AnswerContent | undefined }
  | { readonly action: "decline" | "cancel" };

/** The questions of this broker that wait for an answer. */
export interface OpenQuestions {
  /** Counts the questions of this server, or of all; with `user`, those for requests of that user. */
  count(of?: { readonly server?: string; readonly user?: string }): number;
  /**
   * Stores the question and waits for its end: an answer, on whichever broker it was given, its expiry, or the signal, after
   * which it is `lost`. Rejects with StoreError when it could not be stored.
   */
  ask(
    question: Question,
    by: {
      readonly lost: AbortSignal;
      readonly elicitationId?: string | undefined;
      /** Called when it is stored: from then on it can be answered. */
      readonly onStored: () => void;
    },
  ): Promise<QuestionEnd>;
  /**
   * Stores a question that no request waits for, until it is answered or expires. Rejects with StoreError when it could not be
   * stored.
   */
  post(question: Question, elicitationId: string | undefined): Promise<void>;
  /** The server reports the interaction as complete: a pending question of that id is accepted. */
  complete(server: string, elicitationId: string): void;
  /** Polls for answers now, for instance because one was given here. */
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

/** The reason why this broker ends a question: it expired, its request ended, or the server reported its interaction as complete. */
type EndHere = "expired" | "lost" | "accepted";

/** The interval at which answers that another broker received are polled. */
const LOOK_MS = 500;
/** Ten polls between two signs of life, which are valid three times as long. */
const LOOKS_PER_TOUCH = 10;

interface Waiting {
  readonly question: Question;
  /** The server's own id of the interaction; only addresses to open have one. */
  readonly elicitationId: string | undefined;
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
  /** Ends a question from here, unless it was answered meanwhile: then the answer counts. */
  const give = async ({ question }: Waiting, state: EndHere): Promise<void> => {
    const ended = { ...question, state, endedAt: new Date(now()).toISOString() };
    const stored = { question: ended, holder };
    await finish((await store.end(stored)) ?? stored);
  };
  const finish = async (stored: StoredQuestion): Promise<void> => {
    const { question, content } = stored;
    if (!waiting.has(question.id)) return; // two polls at the same time found it
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
  const keep = async (own: Waiting): Promise<void> => {
    const { question } = own;
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
  };
  const lookSafely = (): void => void look().catch(onTrouble);

  return {
    count: ({ server, user } = {}) => ofServer(waiting, server).filter(isFor(user)).length,
    async ask(question, { lost, elicitationId, onStored }) {
      const { promise, resolve } = Promise.withResolvers<QuestionEnd>();
      const own: Waiting = { question, elicitationId, settle: resolve };
      await keep(own);
      onStored();
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
    post: (question, elicitationId) => keep({ question, elicitationId, settle: () => undefined }),
    complete(server, elicitationId) {
      const ended = ofServer(waiting, server).filter((own) => own.elicitationId === elicitationId);
      for (const own of ended) give(own, "accepted").catch(onTrouble);
    },
    look: lookSafely,
    stop() {
      if (timer !== null) clearInterval(timer);
      for (const { settle } of waiting.values()) settle({ action: "cancel" });
      waiting.clear();
    },
  };
}

/** Filters the questions of one server, or returns all. */
function ofServer(waiting: ReadonlyMap<string, Waiting>, server: string | undefined): Waiting[] {
  return [...waiting.values()].filter(
    ({ question }) => server === undefined || question.server === server,
  );
}

function isFor(user: string | undefined): (own: Waiting) => boolean {
  return ({ question: { askedFor } }) =>
    user === undefined || askedFor.some((principal) => principal.user === user);
}

function endOf({ question: { state }, content }: StoredQuestion): QuestionEnd {
  if (state === "accepted") return { action: "accept", content };
  return { action: state === "declined" ? "decline" : "cancel" };
}
