import type { Question } from "@switchyard/contracts/mcp-broker/mcp-questions";
import type { QuestionStore, StoredQuestion } from "./question-store.ts";

export interface QuestionKeeping {
  readonly store: QuestionStore;
  readonly now: () => number;
  /** Called with a question whose waiting broker is gone. */
  readonly onLost: (question: Question) => void;
}

const DAY_MS = 24 * 60 * 60 * 1_000;

/** The questions in their current state: those of a broker that is gone are lost, those that ended a day ago are deleted. */
export async function currentQuestions(deps: QuestionKeeping): Promise<StoredQuestion[]> {
  const { store, now } = deps;
  const all = await store.all();
  const isOld = ({ question: { endedAt } }: StoredQuestion): boolean =>
    endedAt !== null && Date.parse(endedAt) < now() - DAY_MS;
  await store.remove(all.filter(isOld).map(({ question }) => question.id));
  const living = await store.livingHolders([...new Set(all.map(({ holder }) => holder))]);
  const current = all.filter((stored) => !isOld(stored));
  return Promise.all(
    current.map(async (stored) => (living.has(stored.holder) ? stored : abandoned(deps, stored))),
  );
}

/** Ends a question without a waiting broker: a pending one is lost, and the content of an unused answer is deleted. */
async function abandoned(
  { store, now, onLost }: QuestionKeeping,
  stored: StoredQuestion,
): Promise<StoredQuestion> {
  const { question, holder, content } = stored;
  if (question.state === "pending") {
    const lost = { ...question, state: "lost" as const, endedAt: new Date(now()).toISOString() };
    const stands = (await store.end({ question: lost, holder })) ?? stored;
    // Several brokers may find it at the same time; each publishes it, under one message id.
    if (stands.question.state === "lost") onLost(stands.question);
    return stands;
  }
  if (content !== undefined) await store.forgetContent(stored);
  return stored;
}
