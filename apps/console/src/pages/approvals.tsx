import type { Approval } from "@switchyard/client/operations";
import { useLayoutEffect, useState } from "preact/hooks";
import { nowMs } from "../core/clock.ts";
import { bytesText, durationText, prettyJson, relativeText, shortRunId } from "../core/format.ts";
import { canNotify, toggleNotes, wantsNotes } from "../core/notify.ts";
import { joined, useMoreRows } from "../core/more-rows.ts";
import { act, useResource } from "../core/resource.ts";
import { filterOf, setFilter } from "../core/router.ts";
import { client, may } from "../core/session.ts";
import { Id, Snippet } from "../ui/copy.tsx";
import { ask } from "../ui/dialog.tsx";
import { LoadMore } from "../ui/load-more.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, Loading, ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { said } from "../ui/statuses.ts";
import { Time } from "../ui/time.tsx";
import { Verdict } from "../run/run-approvals.tsx";
import { Fact } from "../run/run-facts.tsx";

/** Risk first, then who waits longest. */
const RISKS = ["high", "medium", "low"] as const;

export function Approvals() {
  const shown = filterOf("show");
  const query = { pendingOnly: shown !== "all", limit: 200 };
  const list = useResource("GET /approvals", { query }, ["approval"]);
  const more = useMoreRows(JSON.stringify(query), list.data?.next ?? null, async (cursor) => {
    const page = await client.request("GET /approvals", { query: { ...query, cursor } });
    return { rows: page.approvals, next: page.next };
  });
  const approvals = joined(list.data?.approvals ?? [], more.rows, ({ id }) => id).toSorted(
    byUrgency,
  );
  const wanted = filterOf("id");
  const at = Math.max(
    0,
    approvals.findIndex(({ id }) => id === wanted),
  );
  const current = approvals[at];
  const isElsewhere = wanted !== "" && current?.id !== wanted;
  const move = (step: number): void => {
    const next = approvals[(at + step + approvals.length) % Math.max(1, approvals.length)];
    if (next !== undefined) setFilter("id", next.id);
  };
  /** By a key: what is shown is decided, then the next one is shown. */
  const decide = async (how: (approval: Approval) => Promise<void>): Promise<void> => {
    if (current === undefined || isElsewhere) return;
    await how(current);
    if (filterOf("id") === current.id) setFilter("id", "");
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    a: () => void decide((approval) => approve(approval, "once")),
    d: () => void decide(deny),
  });
  return (
    <Page
      title="Approvals"
      about="Calls that wait for a person. Keys: j and k move, a approves once, d denies."
      cli="yard approvals watch"
      nats="nats sub 'yard.evt.approval.>'"
      actions={
        <>
          {canNotify && (
            <button
              type="button"
              class="button"
              aria-pressed={wantsNotes.value}
              onClick={() => void toggleNotes()}
              data-testid="notify"
            >
              Notify me: {wantsNotes.value ? "on" : "off"}
            </button>
          )}
          <label class="check">
            <input
              type="checkbox"
              checked={shown === "all"}
              onChange={(event) => setFilter("show", event.currentTarget.checked ? "all" : "")}
            />
            Decided ones, too
          </label>
        </>
      }
    >
      <ResourceView
        of={list}
        empty={(data) =>
          data.approvals.length > 0 || isElsewhere ? null : (
            <>
              <p>No call waits for a person.</p>
              <p class="quiet">
                A rule without <code>approval: auto</code> makes calls wait here.
              </p>
              <a class="button" href="/policy">
                Look at the rules
              </a>
            </>
          )
        }
      >
        {() => (
          <div class="split has-detail approvals">
            <div class="side">
              <ul class="inbox" aria-label="Waiting calls" data-testid="approvals">
                {approvals.map((approval) => (
                  <li key={approval.id}>
                    <button
                      type="button"
                      aria-pressed={approval === current && !isElsewhere}
                      data-testid="approval"
                      data-status={said("approval", approval.state)}
                      onClick={() => setFilter("id", approval.id)}
                    >
                      <span class="card-head">
                        <Status is={approval.state} />
                        <span class={`tag risk-${approval.risk}`}>{approval.risk} risk</span>
                      </span>
                      <strong>{approval.tool.name}</strong>
                      <span class="quiet">
                        {whoOf(approval)} · {countdown(approval)}
                      </span>
                    </button>
                  </li>
                ))}
                {approvals.length === 0 && <li class="quiet">None waits.</li>}
              </ul>
              <LoadMore of={more} />
            </div>
            {isElsewhere ? (
              <ApprovalDetail id={wanted} />
            ) : current === undefined ? (
              <Empty>Pick one.</Empty>
            ) : (
              <ApprovalDetail key={current.id} id={current.id} />
            )}
          </div>
        )}
      </ResourceView>
    </Page>
  );
}

function ApprovalDetail({ id }: { id: string }) {
  const detail = useResource("GET /approvals/{id}", { path: { id } }, ["approval"]);
  if (detail.data === null && detail.isLoading) return <Loading />;
  return (
    <ResourceView of={detail}>
      {({ approval, presentation }) => (
        <section class="card" aria-label="The call" data-testid="approval-detail">
          <div class="card-head">
            <h2>{approval.tool.name}</h2>
            <Status is={approval.state} />
          </div>
          <p>{approval.why}</p>
          <dl class="facts">
            <Fact name="Who">{whoOf(approval)}</Fact>
            <Fact name="Rule">{approval.rule ?? "none"}</Fact>
            <Fact name="Risk">{approval.risk}</Fact>
            <Fact name="Asked">
              <Time at={approval.requestedAt} />
            </Fact>
            {approval.state === "pending" && <Fact name="Ends">{countdown(approval)}</Fact>}
            {approval.principal.runId !== null && (
              <Fact name="Run">
                <a href={`/runs/${encodeURIComponent(approval.principal.runId)}`}>
                  {shortRunId(approval.principal.runId)}
                </a>
              </Fact>
            )}
          </dl>
          <h3>Arguments, {bytesText(presentation.argsBytes)}</h3>
          <Snippet label="Arguments" text={prettyJson(presentation.args)} />
          {presentation.isCut && (
            <p class="note bad">
              This is not all of them: who approves, approves what is not shown, too.
            </p>
          )}
          {presentation.hasHiddenCharacters && (
            <p class="note wait">Some characters cannot be seen; they stand as \u&#123;…&#125;.</p>
          )}
          {presentation.changes !== null && <Changes changes={presentation.changes} />}
          {approval.state === "pending" ? (
            <Decide approval={approval} />
          ) : (
            <p>
              <Verdict approval={approval} />
            </p>
          )}
          <p class="quiet">
            <Id value={approval.id} />
          </p>
        </section>
      )}
    </ResourceView>
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

function Decide({ approval }: { approval: Approval }) {
  const [reason, setReason] = useState("");
  if (!may("POST /approvals/{id}/approve"))
    return <p class="note wait">Somebody with the role approver decides about it.</p>;
  return (
    <>
      <label class="field">
        <span>Why you approve it (optional, for the record)</span>
        <input
          value={reason}
          maxLength={500}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      </label>
      <Buttons approval={approval} reason={reason} />
    </>
  );
}

function Buttons({ approval, reason }: { approval: Approval; reason: string }) {
  return (
    <div class="actions">
      <button
        type="button"
        class="button primary"
        data-testid="approve"
        onClick={() => void approve(approval, "once", reason)}
      >
        Approve once <kbd>a</kbd>
      </button>
      {approval.tier === "session" && (
        <button
          type="button"
          class="button"
          data-testid="approve-session"
          onClick={() => void approve(approval, "session", reason)}
        >
          {approval.grantTtlMs === null
            ? "Approve for more"
            : `Approve for ${durationText(approval.grantTtlMs)}`}
        </button>
      )}
      <button
        type="button"
        class="button danger"
        data-testid="deny"
        onClick={() => void deny(approval)}
      >
        Deny <kbd>d</kbd>
      </button>
    </div>
  );
}

async function approve(
  { id, tool }: Approval,
  scope: "once" | "session",
  reason = "",
): Promise<void> {
  if (!may("POST /approvals/{id}/approve")) return;
  const body = { scope, ...(reason.trim() !== "" && { reason: reason.trim() }) };
  await act(`Approved: ${tool.name}`, () =>
    client.request("POST /approvals/{id}/approve", { path: { id }, body }),
  );
}

async function deny({ id, tool }: Approval): Promise<void> {
  if (!may("POST /approvals/{id}/deny")) return;
  const reason = await ask({
    title: `Deny ${tool.name}?`,
    text: "The agent is told the reason and goes on without the call.",
    action: "Deny the call",
    isDangerous: true,
    input: { label: "Reason (the agent reads it)" },
  });
  if (reason === null) return;
  const body = reason.trim() === "" ? {} : { reason: reason.trim() };
  await act(`Denied: ${tool.name}`, () =>
    client.request("POST /approvals/{id}/deny", { path: { id }, body }),
  );
}

function byUrgency(one: Approval, other: Approval): number {
  const pending = Number(other.state === "pending") - Number(one.state === "pending");
  const risk = RISKS.indexOf(one.risk) - RISKS.indexOf(other.risk);
  return pending || risk || one.requestedAt.localeCompare(other.requestedAt);
}

function whoOf({ principal }: Approval): string {
  return principal.agent === null ? principal.user : `${principal.agent} for ${principal.user}`;
}

function countdown({ state, expiresAt, decision }: Approval): string {
  if (state !== "pending") return decision === null ? state : `by ${decision.by}`;
  const text = relativeText(expiresAt, nowMs.value);
  return text.startsWith("in ") ? `${text.slice(3)} left` : "time is over";
}

/** Single keys, while nobody writes and no dialog is open. */
function useKeys(keys: Readonly<Record<string, () => unknown>>): void {
  // Before the browser paints: a key is for what is seen.
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const target = event.target as Element;
      if (event.metaKey || event.ctrlKey || event.altKey) return;
      if (target.closest("input, textarea, select, dialog") !== null) return;
      keys[event.key]?.();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  });
}
