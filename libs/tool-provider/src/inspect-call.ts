import { failuresOf } from "@switchyard/contracts/errors";
import {
  lostMaskText,
  replaceMasks,
  type Finding,
  type FindingCounts,
} from "@switchyard/contracts/policy/findings";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import type { Decision, Principal } from "@switchyard/contracts/policy/policy";
import { countsOf, type FoundValue } from "@switchyard/service/inspect/count-findings";
import { inspectContent, type Inspected } from "@switchyard/service/inspect/inspect-content";
import { prepareInjections } from "@switchyard/service/inspect/injection-phrases";
import { masksInValue } from "@switchyard/service/inspect/masks-in";
import { effectOnResult, inspectedKinds } from "@switchyard/service/inspect/effect-on-result";
import { NotInspectedError, rewriteTexts } from "@switchyard/service/inspect/texts-of";
import { StoreError } from "@switchyard/service/store-error";
import { NotSentError } from "./call-once.ts";
import { CallOutcome } from "./call-store.ts";
import type { MaskStore } from "./mask-store.ts";

/** A decision about findings, and the principal whose run has the masks. */
export interface InspectedCall {
  readonly decision: Decision;
  readonly principal: Principal;
}

export interface InspectedOutcome {
  readonly outcome: CallOutcome;
  /** Undefined when the decision asks for no inspection, or nothing was found. */
  readonly findings?: FindingCounts;
  readonly isWithheld: boolean;
}

const fail = failuresOf(callTool.errors);

/** Returns the arguments as the tool gets them: with the values of those masks that the decision turns back. Rejects with NotSentError. */
export async function unmaskArguments(
  masks: MaskStore,
  args: Record<string, unknown>,
  { decision, principal }: InspectedCall,
): Promise<Record<string, unknown>> {
  if (decision.inspection === undefined || decision.inspection.unmask.length === 0) return args;
  const found = [...new Set(masksInValue(args).map(({ mask }) => mask))];
  if (found.length === 0) return args;
  const values = await valuesOf(masks, principal.runId, found);
  const unknown = found.find((mask) => !values.has(mask));
  if (unknown !== undefined) {
    const reason = `the arguments have ${unknown}, which is no mask of this run`;
    const refused: Decision = { ...decision, effect: "deny", rule: null, reason };
    throw new NotSentError(fail.denied(`The call was not made: ${reason}`, refused));
  }
  const changed = rewriteTexts(args, (text) =>
    replaceMasks(text, (mask) => values.get(mask) ?? mask),
  );
  return changed as Record<string, unknown>; // a copy of the arguments
}

async function valuesOf(masks: MaskStore, runId: string | null, found: readonly string[]) {
  if (runId === null) return new Map<string, string>();
  try {
    return await masks.values(runId, found);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new NotSentError(
      fail.policy_unavailable(
        `The values behind masks cannot be read, so the call was not made: ${error.message}; try again when Redis is up.`,
        { cause: "store_unavailable" },
      ),
    );
  }
}

/** Content after its inspection. */
export interface InspectedContent {
  /** Rules may have replaced values in it by masks. */
  readonly content: unknown;
  /** Undefined when the decision asks for no inspection, or nothing was found. */
  readonly findings?: FindingCounts;
  /** The reason when rules withhold all of it; null otherwise. */
  readonly withheld: string | null;
}

/**
 * Inspects the content that a request has brought as its decision says: what rules mask is replaced, and what they deny withholds all of it.
 * Content that cannot be inspected counts as one in which everything was found.
 */
export async function inspectResult(
  masks: MaskStore,
  content: unknown,
  {
    decision: { inspection },
    principal,
  }: {
    readonly decision: Pick<Decision, "inspection">;
    readonly principal: Pick<Principal, "runId" | "user">;
  },
): Promise<InspectedContent> {
  const kinds = inspection === undefined ? [] : inspectedKinds(inspection);
  if (inspection === undefined || kinds.length === 0) return { content, withheld: null };
  if (kinds.includes("injection")) await prepareInjections();
  const inspected = orTooMuch(() => inspectContent(content, kinds));
  const found = inspected?.found ?? null;
  const decided = effectOnResult(inspection, found);
  const findings = found === null || found.length === 0 ? {} : { findings: countsOf(found) };
  if (decided.effect === "deny") return { content, ...findings, withheld: decided.reason };
  if (inspected === null || decided.effect === "pass") return { content, withheld: null };
  const masked = await maskAll(masks, inspected, { kinds, principal });
  return { content: masked, ...findings, withheld: null };
}

/** Inspects the end of a call as {@link inspectResult} does; the model gets an error in the place of a result that is withheld. */
export async function inspectOutcome(
  masks: MaskStore,
  outcome: CallOutcome,
  decided: InspectedCall,
): Promise<InspectedOutcome> {
  if (outcome.kind === "too_large") return { outcome, isWithheld: false };
  const inspected = await inspectResult(masks, outcome, decided);
  const { content, withheld: reason, findings } = inspected;
  const found = findings === undefined ? {} : { findings };
  if (reason !== null) return { outcome: withheld(outcome, reason), ...found, isWithheld: true };
  const left = content === outcome ? outcome : CallOutcome.parse(content);
  return { outcome: left, ...found, isWithheld: false };
}

async function maskAll(
  masks: MaskStore,
  inspected: Inspected,
  {
    kinds,
    principal,
  }: {
    readonly kinds: readonly Finding[];
    readonly principal: Pick<Principal, "runId" | "user">;
  },
): Promise<unknown> {
  const { runId, user } = principal;
  const distinct = new Map(inspected.found.map((found) => [keyOf(found), found]));
  // The text of an injection is not stored.
  const kept = [...distinct.values()].filter(({ kind }) => kind !== "injection");
  const texts = await masks.mask(runId === null ? null : { runId, user }, kept);
  const maskOf = new Map(kept.map((found, index) => [keyOf(found), texts[index]]));
  return inspected.mask(
    new Set(kinds),
    (found) => maskOf.get(keyOf(found)) ?? lostMaskText(found.kind),
  );
}

function keyOf({ kind, value }: FoundValue): string {
  return `${kind}:${value}`;
}

function withheld(outcome: CallOutcome, reason: string): CallOutcome {
  const text = `Error: The call was made, and its result is withheld: ${reason}. Do not repeat the call.`;
  const durationMs = "result" in outcome ? outcome.result.durationMs : 0;
  return {
    kind: "result",
    result: { content: [{ type: "text", text }], text, isError: true, durationMs },
  };
}

/** Null when it is too much to be inspected. */
function orTooMuch<T>(inspect: () => T): T | null {
  try {
    return inspect();
  } catch (error) {
    if (error instanceof NotInspectedError) return null;
    throw error;
  }
}
