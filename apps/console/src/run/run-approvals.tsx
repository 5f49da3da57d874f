import type { Approval } from "@switchyard/client/operations";
import { toolText } from "../core/names.ts";
import { useResource } from "../core/resource.ts";
import { may } from "../core/session.ts";
import { Status } from "../ui/status.tsx";
import { Time } from "../ui/time.tsx";

/** Approvals of the run's calls, the first one first; empty without the right to see them. Null before they are loaded. */
export function useApprovalsOf(runId: string): readonly Approval[] | null {
  const isAllowed = may("GET /approvals");
  const query = { runId, pendingOnly: false, limit: 200 };
  const list = useResource("GET /approvals", isAllowed ? { query } : null, ["approval"]);
  if (isAllowed && list.data === null && list.problem === null) return null;
  return (list.data?.approvals ?? []).toSorted((one, other) =>
    one.requestedAt.localeCompare(other.requestedAt),
  );
}

/** The decisions about the calls of the run: by whom, and why. */
export function RunApprovals({ approvals }: { approvals: readonly Approval[] }) {
  const decided = approvals.filter(({ state }) => state !== "pending");
  if (decided.length === 0) return null;
  return (
    <section class="card" data-testid="run-approvals">
      <h2>Decided by people</h2>
      <ul class="lines">
        {decided.map((approval) => (
          <li key={approval.id}>
            <Status is={approval.state}>{wordOf(approval)}</Status>
            <a href={`/approvals?id=${approval.id}`}>{toolText(approval.tool.name)}</a>
            <span class="text">
              <Verdict approval={approval} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** A call that was approved and has been made since is `consumed`. */
function wordOf({ state }: Approval): string {
  return state === "consumed" ? "approved" : state;
}

/** One line: the decision with its author, time and reason. */
export function Verdict({ approval }: { approval: Approval }) {
  const { state, decision, execution, edit } = approval;
  if (state === "pending") return <>No decision yet.</>;
  if (decision === null) return <>No decision: {state}.</>;
  const { by, at, reason, scope } = decision;
  return (
    <>
      {wordOf(approval)} by <strong>{by}</strong>
      {scope === "session" && ", for more calls like it,"}
      {edit !== undefined && ", with other arguments,"} <Time at={at} />
      {reason !== null && <>: {reason}</>}
      {execution === "unknown" && ". What became of the call is not known."}
    </>
  );
}
