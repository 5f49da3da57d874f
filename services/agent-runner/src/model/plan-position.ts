import { locate, parsePointer } from "@switchyard/contracts/json-pointer";
import type { Plan, PlanCondition, PlanStep } from "@switchyard/contracts/agent-runner/plan";
import { TemplateError } from "@switchyard/contracts/pointer-template";

/** The result of a call in a plan. */
export interface PlanResult {
  readonly text: string;
  readonly isError: boolean;
}

/** The document that the pointers of a plan are resolved against. */
export interface PlanDocument {
  readonly input: unknown;
  readonly results: Readonly<Record<string, PlanResult>>;
  /** The result of the last call of the step before; missing at the first step. */
  readonly last?: PlanResult;
}

/** One answer that was given before, by the results of its calls in their order. */
export interface PlayedTurn {
  readonly results: readonly PlanResult[];
}

/** The current position in a plan. */
export interface PlanPosition {
  /** The step to play now; null when only the plan's answer is left. */
  readonly step: PlanStep | null;
  /** Position of the step in the plan, from 1. */
  readonly number: number;
  readonly document: PlanDocument;
}

/**
 * Walks a plan along the answers so far. It is stateless: the same turns lead to the same position, in every process. Throws
 * TemplateError for an invalid pointer.
 */
export function positionIn(plan: Plan, input: unknown, turns: readonly PlayedTurn[]): PlanPosition {
  const results: Record<string, PlanResult> = Object.create(null);
  let document: PlanDocument = { input, results };
  let index = 0;
  let plays = 0;
  let position = 0;
  for (const turn of turns) {
    if (plays === 0) index = firstPlayable(plan, index, document);
    const step = plan.steps[index];
    for (const [call, result] of turn.results.entries()) {
      results[step?.calls[call]?.as ?? String(position)] = result;
      position += 1;
    }
    const last = turn.results.at(-1);
    document = { input, results, ...(last === undefined ? {} : { last }) };
    if (step === undefined) continue;
    plays += 1;
    if (isRepeated(step, plays, { document, number: index + 1 })) continue;
    index += 1;
    plays = 0;
  }
  if (plays === 0) index = firstPlayable(plan, index, document);
  return { step: plan.steps[index] ?? null, number: index + 1, document };
}

function firstPlayable(plan: Plan, from: number, document: PlanDocument): number {
  let index = from;
  for (;;) {
    const when = plan.steps[index]?.when;
    if (when === undefined || holds(when, document, `plan step ${index + 1}, when`)) return index;
    index += 1;
  }
}

function isRepeated(
  { repeat }: PlanStep,
  plays: number,
  { document, number }: { document: PlanDocument; number: number },
): boolean {
  if (repeat === undefined || plays >= repeat.times) return false;
  return holds(repeat.while, document, `plan step ${number}, repeat`);
}

/** A pointer that finds nothing is no mistake here: the condition does not hold. */
function holds(condition: PlanCondition, document: PlanDocument, where: string): boolean {
  const tokens = parsePointer(condition.at);
  if (tokens === null)
    throw new TemplateError(
      `${where}: ${condition.at} is not a JSON pointer such as /last/isError`,
    );
  const located = locate(document, tokens);
  const isTrue = located.kind === "found" && fits(condition, located.value);
  return isTrue !== (condition.not === true);
}

function fits({ equals, contains }: PlanCondition, value: unknown): boolean {
  if (equals !== undefined && value !== equals) return false;
  if (contains === undefined) return true;
  return (typeof value === "string" ? value : (JSON.stringify(value) ?? "")).includes(contains);
}
