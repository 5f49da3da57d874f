import type { AuditFact } from "@switchyard/contracts/policy/audit";
import {
  findingsText,
  lostMaskText,
  type FindingCounts,
} from "@switchyard/contracts/policy/findings";
import type { Audit } from "@switchyard/audit/start-audit";
import { auditedId } from "@switchyard/audit/audited-arguments";
import { inspectResult } from "@switchyard/tool-provider/inspect-call";
import type { MaskStore } from "@switchyard/tool-provider/mask-store";
import type { RunStore } from "../journal/run-store.ts";
import { agentTool } from "./agent-gate.ts";

/** The answer of a child, before its parent gets it. */
export interface ChildAnswer {
  readonly parent: { readonly runId: string; readonly callId: string };
  readonly childRunId: string;
  readonly requester: string;
  readonly text: string;
}

export interface InspectedAnswer {
  readonly text: string;
  readonly isWithheld: boolean;
  /** Records what was found, once the parent has the answer. */
  readonly record: () => void;
}

export type InspectAnswer = (answer: ChildAnswer) => Promise<InspectedAnswer>;

/** Masks of a run count in this run alone, so those in an answer for another run have no number. */
const masks: MaskStore = {
  mask: (_owner, values) => Promise.resolve(values.map(({ kind }) => lostMaskText(kind))),
  values: () => Promise.resolve(new Map()),
};

/**
 * Inspects answers of children as the decision about their start says, which is in the parent's journal. Rejects when that cannot be read;
 * then the answer is not delivered yet.
 */
export function createAnswerInspector(
  store: Pick<RunStore, "load">,
  audit: Audit | null,
): InspectAnswer {
  return async ({ parent, childRunId, requester, text }) => {
    const entries = await store.load(parent.runId);
    const start = entries.find(
      (entry) => entry.kind === "child-started" && entry.childRunId === childRunId,
    );
    const decision = start?.kind === "child-started" ? start.decision : undefined;
    if (decision?.inspection === undefined)
      return { text, isWithheld: false, record: () => undefined };
    const principal = { user: requester, runId: parent.runId };
    const inspected = await inspectResult(masks, { text }, { decision, principal });
    const { withheld, findings = {} } = inspected;
    const record = () => {
      if (Object.keys(findings).length > 0 || withheld !== null)
        audit?.writer.append(() =>
          factOf({ requester, childRunId, parent }, { findings, isWithheld: withheld !== null }),
        );
    };
    if (withheld !== null)
      return { text: `its answer is withheld: ${withheld}`, isWithheld: true, record };
    const { text: left } = inspected.content as { readonly text: string }; // of the same form
    return { text: left, isWithheld: false, record };
  };
}

function factOf(
  { requester, childRunId, parent }: Omit<ChildAnswer, "text">,
  { findings, isWithheld }: { readonly findings: FindingCounts; readonly isWithheld: boolean },
): AuditFact {
  return {
    kind: "access",
    change: "inspected",
    caller: requester,
    credential: childRunId,
    address: "nats",
    operation: agentTool.name,
    about: findingsText(findings),
    ...(isWithheld && { code: "withheld" }),
    requestId: auditedId(parent.callId).slice(0, 100),
  };
}
