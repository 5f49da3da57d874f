import type { Approval, Operations } from "@switchyard/client/operations";
import {
  grantWords,
  missingApprovals,
  votesText,
} from "@switchyard/contracts/policy/approval-words";
import { Time } from "../ui/time.tsx";

/** Such as `1 of 2 approved`, for a call that waits for people whom its rules name; empty for any other. */
export function votesLabel(approval: Approval): string {
  const { requirements, state } = approval;
  return requirements.length === 0 || state !== "pending" ? "" : `${votesText(approval)} approved`;
}

/** The effect of an approval in words: others are missing, or for how long calls of its kind pass. */
export function approvedText({ approval, grant }: Approved): string {
  const done = `Approved: ${approval.tool.name}`;
  if (approval.state === "pending")
    return `${done}. ${votesText(approval)}; still missing: ${missingApprovals(approval).join("; ")}`;
  if (grant === null) return done;
  const end = new Date(grant.expiresAt);
  return `${done}, and calls like it ${grantWords(grant, end.toLocaleTimeString([], { timeStyle: "short" }))}`;
}

type Approved = Operations["POST /approvals/{id}/approve"]["reply"];

/** The people who have approved a call that several have to approve, and those who are missing. */
export function Votes({ approval }: { approval: Approval }) {
  const { requirements, votes, state } = approval;
  if (requirements.length === 0) return null;
  const missing = state === "pending" ? missingApprovals(approval) : [];
  return (
    <section aria-label="Who approves" data-testid="votes">
      <h3>{votesText(approval)} approved</h3>
      <ul class="lines">
        {votes.map(({ by, standsFor, scope, reason, at }) => (
          <li key={by}>
            <strong>{by}</strong>
            <span class="text">
              {standsFor !== null && `for ${standsFor}, `}
              {scope === "session" && "for more calls like it, "}
              <Time at={at} />
              {reason !== null && `: ${reason}`}
            </span>
          </li>
        ))}
        {missing.map((text) => (
          <li key={text} class="quiet">
            Missing: {text}
          </li>
        ))}
      </ul>
    </section>
  );
}
