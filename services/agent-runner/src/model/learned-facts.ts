import type { ModelFailure } from "./model-failure.ts";

/** Facts that this runner has learned about a model from its answers and refusals. */
export interface LearnedFacts {
  /** True when the text of its last answer began inside of its reasoning. */
  readonly startsInReasoning: boolean;
  /** Tokens of its window, by the runner's own estimate of the largest request that it refused; null: none was refused. */
  readonly windowTokens: number | null;
  /** `always` when its provider demands the reasoning of earlier answers, `never` when it refuses it. */
  readonly reasoningField: "always" | "own" | "never";
  /** False when its provider has refused to keep the model to a form of answers. */
  readonly takesForms: boolean;
  /** Optional fields of requests that its provider has refused. */
  readonly refusedFields: readonly string[];
  /** True when its provider requires an answer after results of tools, and alternating roles. */
  readonly hasStrictRoles: boolean;
}

const NOTHING: LearnedFacts = {
  startsInReasoning: false,
  windowTokens: null,
  reasoningField: "own",
  takesForms: true,
  refusedFields: [],
  hasStrictRoles: false,
};

/** An agent may name any model of a provider. */
const MAX_MODELS = 1_000;
/** The models file accepts no smaller window, either. */
const SMALLEST_WINDOW = 1_024;
/** Failures further apart than that are two outages. */
const SAME_OUTAGE_MS = 300_000;

/** Facts by the model's name. They are in memory: a runner that does not have them pays one refused request for each. */
export class LearnedModels {
  readonly #facts = new Map<string, LearnedFacts>();
  readonly #outages = new Map<string, { readonly since: number; readonly last: number }>();

  of(name: string): LearnedFacts {
    return this.#facts.get(name) ?? NOTHING;
  }

  note(name: string, change: Partial<LearnedFacts>): void {
    if (this.#facts.size >= MAX_MODELS) this.#facts.clear();
    this.#facts.set(name, { ...this.of(name), ...change });
  }

  /** True when the refusal states how the next request has to differ, and this was not learned before. */
  noteRefusal(
    name: string,
    { reasoningField, isAboutForm, refusedField, isAboutRoles }: ModelFailure,
  ): boolean {
    const { refusedFields, hasStrictRoles } = this.of(name);
    if (refusedField !== null && !refusedFields.includes(refusedField)) {
      this.note(name, { refusedFields: [...refusedFields, refusedField] });
      return true;
    }
    if (isAboutRoles && !hasStrictRoles) {
      this.note(name, { hasStrictRoles: true });
      return true;
    }
    if (isAboutForm && this.of(name).takesForms) {
      this.note(name, { takesForms: false });
      return true;
    }
    if (reasoningField === null || this.of(name).reasoningField === reasoningField) return false;
    this.note(name, { reasoningField });
    return true;
  }

  /** Notes the size of a window that a request did not fit into, in tokens. */
  noteWindow(name: string, tokens: number): void {
    const smallest = Math.min(tokens, this.of(name).windowTokens ?? Infinity);
    this.note(name, { windowTokens: Math.max(smallest, SMALLEST_WINDOW) });
  }

  /** Notes that the model is unavailable, and returns the length of the outage so far, in milliseconds. */
  noteOutage(name: string, now: number): number {
    const known = this.#outages.get(name);
    const since = known !== undefined && now - known.last < SAME_OUTAGE_MS ? known.since : now;
    if (this.#outages.size >= MAX_MODELS) this.#outages.clear();
    this.#outages.set(name, { since, last: now });
    return now - since;
  }

  noteAnswered(name: string): void {
    this.#outages.delete(name);
  }
}
