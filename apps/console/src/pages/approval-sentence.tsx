import type { Approval, Presentation } from "@switchyard/client/operations";
import { may } from "../core/session.ts";
import { argumentsDiff, callSentence, ruleFor } from "./call-sentence.ts";

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
  return (
    <pre class="text patch" tabIndex={0} role="group" aria-label="Changed text" data-testid="diff">
      {patch.split("\n").map((line, at) => (
        <span key={at} class={CLASSES[line.slice(0, 1)] ?? ""}>
          {`${line}\n`}
        </span>
      ))}
    </pre>
  );
}

const CLASSES: Readonly<Record<string, string>> = { "+": "added-line", "-": "removed-line" };

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
