import type { Approval, CallContext } from "@switchyard/client/operations";
import { nowMs } from "../core/clock.ts";
import { bytesText, count, prettyJson, relativeText } from "../core/format.ts";
import { toolText } from "../core/names.ts";
import { useResource } from "../core/resource.ts";
import { CopyMenu, Snippet } from "../ui/copy.tsx";
import { Loading, ResourceView } from "../ui/resource-view.tsx";
import { RunLink } from "../ui/run-link.tsx";
import { Status } from "../ui/status.tsx";
import { Time } from "../ui/time.tsx";
import { Verdict } from "../run/run-approvals.tsx";
import { Fact } from "../run/run-facts.tsx";
import { Decide, whoOf } from "./approval-decision.tsx";
import { Votes } from "./approval-votes.tsx";
import { CallSentence, Diff, MakeRule } from "./approval-sentence.tsx";

/** One call with everything that a person needs to decide about it. */
export function ApprovalDetail({ id, onDecidedByKey }: { id: string; onDecidedByKey: () => void }) {
  const detail = useResource("GET /approvals/{id}", { path: { id } }, ["approval"]);
  if (detail.data === null && detail.isLoading) return <Loading />;
  return (
    <ResourceView of={detail}>
      {({ approval, presentation, edited, context, unmasked = [] }) => (
        <section class="card" aria-label="The call" data-testid="approval-detail">
          <div class="card-head">
            <CallSentence approval={approval} presentation={presentation} />
            <Status is={approval.state} />
          </div>
          <p>{approval.why}</p>
          <Diff presentation={presentation} />
          <dl class="facts">
            <Fact name="Who">{whoOf(approval)}</Fact>
            <Fact name="Tool">
              <span title={approval.tool.name}>{toolText(approval.tool.name)}</span>
            </Fact>
            <Fact name="Rule">{approval.rule ?? "none"}</Fact>
            <Fact name="Risk">{approval.risk}</Fact>
            <Fact name="Asked">
              <Time at={approval.requestedAt} />
            </Fact>
            {approval.state === "pending" && <Fact name="Expires">{countdown(approval)}</Fact>}
            {approval.principal.runId !== null && (
              <Fact name="Run">
                <RunLink runId={approval.principal.runId} />
              </Fact>
            )}
          </dl>
          <h3>Arguments, {bytesText(presentation.argsBytes)}</h3>
          <Snippet label="Arguments" text={prettyJson(presentation.args)} />
          {unmasked.length > 0 && (
            <dl class="facts" data-testid="unmasked">
              {unmasked.map(({ mask, value }) => (
                <Fact key={mask} name={mask}>
                  <code>{value}</code>
                </Fact>
              ))}
            </dl>
          )}
          {edited !== undefined && (
            <>
              <h3>Made with these arguments, changed by {approval.edit?.by}</h3>
              <Snippet label="Changed arguments" text={prettyJson(edited.args)} />
            </>
          )}
          {presentation.isCut && (
            <p class="note bad">
              This is not all of them: who approves, approves what is not shown, too.
            </p>
          )}
          {presentation.hasHiddenCharacters && (
            <p class="note wait">
              Some characters cannot be seen; they are written as \u&#123;…&#125;.
            </p>
          )}
          {presentation.changes !== null && <Changes changes={presentation.changes} />}
          {approval.principal.runId !== null && (
            <Context context={context ?? null} onRetry={detail.reload} />
          )}
          <Votes approval={approval} />
          {approval.state === "pending" ? (
            <Decide key={approval.votes.length} {...{ approval, presentation, onDecidedByKey }} />
          ) : (
            <p>
              <Verdict approval={approval} />
            </p>
          )}
          <div class="actions">
            <MakeRule approval={approval} args={presentation.args} />
            <CopyMenu
              label="Copy"
              texts={{
                "Approval id": approval.id,
                "Call id": approval.callId ?? "",
                Link: location.href,
              }}
            />
          </div>
        </section>
      )}
    </ResourceView>
  );
}

const OUTCOMES = { done: "done", error: "error", open: "running" } as const;

/** Shows the input of the run and its calls before this one. The texts come from a model and from tools, and are shown as text. */
function Context({ context, onRetry }: { context: CallContext | null; onRetry: () => void }) {
  if (context === null)
    return (
      <p class="note wait" data-testid="no-context">
        <span>What the run did before this call cannot be read now.</span>
        <button type="button" class="button small" onClick={onRetry}>
          Try again
        </button>
      </p>
    );
  const { agent, requester, input, modelText, calls, earlierCalls } = context;
  return (
    <section
      class="side call-context"
      data-testid="call-context"
      aria-label="The run before the call"
    >
      <h3>
        What {agent} works on for {requester}
      </h3>
      <Snippet label="Input of the run" text={prettyJson(input)} />
      {modelText !== "" && (
        <>
          <h3>The model's last text, unchecked</h3>
          <Snippet label="Text of the model" text={modelText} />
        </>
      )}
      {calls.length === 0 ? (
        <p class="quiet">It has made no other call.</p>
      ) : (
        <details>
          <summary>{count(calls.length + earlierCalls, "other call")} before it</summary>
          {earlierCalls > 0 && <p class="quiet">The last {calls.length} of them.</p>}
          <ul class="lines" data-testid="preceding-calls">
            {calls.map(({ tool, argsPreview, outcome, preview }, at) => (
              <li key={at}>
                <Status is={OUTCOMES[outcome]} />
                <strong>{tool}</strong>
                <pre class="text whole-line" tabIndex={0}>
                  {argsPreview}
                  {preview !== "" && `\n→ ${preview}`}
                </pre>
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

type ArgumentChanges = readonly {
  readonly pointer: string;
  readonly before: string | null;
  readonly after: string | null;
}[];

function Changes({ changes }: { changes: ArgumentChanges }) {
  if (changes.length === 0) return <p>The same arguments as in the last approved call.</p>;
  return (
    <>
      <h3>Other than in the last approved call</h3>
      <div class="table-box" tabIndex={0} role="region" aria-label="Changed arguments">
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">Where</th>
              <th scope="col">Before</th>
              <th scope="col">Now</th>
            </tr>
          </thead>
          <tbody>
            {changes.map(({ pointer, before, after }) => (
              <tr key={pointer}>
                <td>
                  <code>{pointer === "" ? "/" : pointer}</code>
                </td>
                <td>{before ?? "–"}</td>
                <td>{after ?? "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

/** The time left for a decision; for a call that does not wait, the person who decided. */
export function countdown({ state, expiresAt, decision }: Approval): string {
  if (state !== "pending") return decision === null ? state : `by ${decision.by}`;
  const text = relativeText(expiresAt, nowMs.value);
  return text.startsWith("in ") ? text : "expired";
}
