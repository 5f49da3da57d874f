import type { Approval, Presentation } from "@switchyard/client/operations";
import { may } from "../core/session.ts";
import { Patch } from "../ui/patch.tsx";
import { argumentsDiff, callSentence } from "./call-sentence.ts";
import { ruleFor } from "./rule-text.ts";

interface Props {
  readonly approval: Approval;
  readonly presentation: Presentation;
}

/** The call as a sentence. All parts of it are foreign text, shown as text. */
export function CallSentence({ approval, presentation }: Props) {
  const { args, changes } = presentation;
  const { who, verb, object, tool, change } = callSentence(approval, args, changes);
  return (
    <h2 class="sentence" data-testid="sentence">
      {who} wants to {verb} {object ?? tool}
      {change !== null && `: ${change}`}
    </h2>
  );
}

/** The change that the call makes to texts, line by line; empty when its arguments are no texts. */
export function Diff({ presentation }: { presentation: Presentation }) {
  const patch = argumentsDiff(presentation.args, presentation.changes);
  if (patch === null) return null;
  return <Patch label="Changed text" text={patch} testId="diff" />;
}

/** Opens the draft of the policy with a rule for calls like this one. */
export function MakeRule({ approval, args }: { approval: Approval; args: string }) {
  if (!may("GET /policy/texts")) return null;
  const rule = ruleFor(approval, args);
  return (
    <a
      class="button"
      href={`/policy?view=draft&rule=${encodeURIComponent(rule)}`}
      data-testid="make-rule"
    >
      Make a rule…
    </a>
  );
}
