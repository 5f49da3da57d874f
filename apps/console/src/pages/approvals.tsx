import type { Approval } from "@switchyard/client/operations";
import { useEffect, useRef } from "preact/hooks";
import { useArrivals } from "../core/arrivals.ts";
import { numberText } from "../core/format.ts";
import { canNotify, toggleNotes, wantsNotes } from "../core/notify.ts";
import { joined, useMoreRows } from "../core/more-rows.ts";
import { useResource } from "../core/resource.ts";
import { filterOf, setFilter } from "../core/router.ts";
import { client } from "../core/session.ts";
import { hasShortcuts, toggleShortcuts, useShortcuts } from "../core/shortcuts.ts";
import { LoadMore } from "../ui/load-more.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { said } from "../ui/statuses.ts";
import { whoOf } from "./approval-decision.tsx";
import { ApprovalDetail, countdown } from "./approval-detail.tsx";
import { votesLabel } from "./approval-votes.tsx";
import { OpenQuestions } from "./open-questions.tsx";

/** Sorted by risk, then by waiting time. */
const RISKS = ["high", "medium", "low"] as const;

/**
 * Calls that wait, and the one that is opened. It stays opened until the person opens another one: whatever comes meanwhile is
 * announced, and is listed below the others.
 */
export function Approvals() {
  const shown = filterOf("show");
  const opened = filterOf("id");
  const query = { pendingOnly: shown !== "all", limit: 200 };
  const list = useResource("GET /approvals", { query }, ["approval"]);
  const more = useMoreRows(JSON.stringify(query), list.data?.next ?? null, async (cursor) => {
    const page = await client.request("GET /approvals", { query: { ...query, cursor } });
    return { rows: page.approvals, next: page.next };
  });
  const listed = joined(list.data?.approvals ?? [], more.rows, ({ id }) => id).toSorted(byUrgency);
  const { rows, arrived, settle } = useArrivals(listed, {
    list: shown,
    keyOf: ({ id }) => id,
    timeOf: ({ requestedAt }) => requestedAt,
    opened,
  });
  const decided = useRef(new Set<string>());
  const first = rows.find(({ id }) => !decided.current.has(id))?.id ?? "";
  useEffect(() => {
    if (opened === "" && first !== "") open(first);
  }, [opened, first]);
  const beside = (step: number): string => {
    const at = rows.findIndex(({ id }) => id === opened);
    return rows[(at + step + rows.length) % Math.max(1, rows.length)]?.id ?? "";
  };
  const move = (step: number): void => {
    if (beside(step) !== "") open(beside(step));
  };
  const goOn = (): void => {
    decided.current.add(opened);
    open(beside(1) === opened ? "" : beside(1));
  };
  const openNew = (): void => {
    const next = listed.find(({ id }) => arrived.has(id));
    settle();
    if (next !== undefined) open(next.id);
  };
  useShortcuts({ j: () => move(1), k: () => move(-1) });
  return (
    <Page
      title="Approvals"
      about={`Calls and questions that wait for a person.${hasShortcuts.value ? " Keys: j and k move, a approves once, d denies." : ""}`}
      cli="yard approvals watch"
      nats="nats sub 'yard.evt.approval.>'"
      actions={<Settings shown={shown} />}
    >
      <OpenQuestions />
      <ResourceView
        of={list}
        empty={() => (rows.length > 0 || opened !== "" ? null : <NothingWaits />)}
      >
        {() => (
          <div class="split has-detail approvals">
            <div class="side">
              <p role="status" data-testid="new-approvals">
                {arrived.size > 0 && (
                  <button type="button" class="button small" onClick={openNew}>
                    {numberText(arrived.size)} new
                  </button>
                )}
              </p>
              <ul class="inbox" aria-label="Waiting calls" data-testid="approvals">
                {rows.map((approval) => (
                  <li key={approval.id}>
                    <ListedCall
                      approval={approval}
                      isOpened={approval.id === opened}
                      isNew={arrived.has(approval.id)}
                    />
                  </li>
                ))}
                {rows.length === 0 && <li class="quiet">No call waits for a person.</li>}
              </ul>
              <LoadMore of={more} />
            </div>
            {opened === "" ? (
              <Empty>Pick one.</Empty>
            ) : (
              <ApprovalDetail key={opened} id={opened} onDecidedByKey={goOn} />
            )}
          </div>
        )}
      </ResourceView>
    </Page>
  );
}

function open(id: string): void {
  setFilter("id", id);
}

function Settings({ shown }: { shown: string }) {
  return (
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
          checked={hasShortcuts.value}
          onChange={toggleShortcuts}
          data-testid="shortcuts"
        />
        Single-letter keys
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={shown === "all"}
          onChange={(event) => setFilter("show", event.currentTarget.checked ? "all" : "")}
        />
        Decided ones, too
      </label>
    </>
  );
}

function NothingWaits() {
  return (
    <>
      <p>No call waits for a person.</p>
      <p class="quiet">
        A rule without <code>approval: auto</code> makes calls wait here.
      </p>
      <a class="button" href="/policy">
        Look at the rules
      </a>
    </>
  );
}

function ListedCall(props: { approval: Approval; isOpened: boolean; isNew: boolean }) {
  const { approval, isOpened, isNew } = props;
  const { id, state, risk, tool } = approval;
  return (
    <button
      type="button"
      aria-pressed={isOpened}
      data-testid="approval"
      data-status={said("approval", state)}
      onClick={() => open(id)}
    >
      <span class="card-head">
        <Status is={state} />
        {isNew && <span class="tag">new</span>}
        <span class={`tag risk-${risk}`}>{risk} risk</span>
      </span>
      <strong>{tool.name}</strong>
      <span class="quiet">
        {[whoOf(approval), countdown(approval), votesLabel(approval)].filter(Boolean).join(" · ")}
      </span>
    </button>
  );
}

function byUrgency(one: Approval, other: Approval): number {
  const pending = Number(other.state === "pending") - Number(one.state === "pending");
  const risk = RISKS.indexOf(one.risk) - RISKS.indexOf(other.risk);
  return pending || risk || one.requestedAt.localeCompare(other.requestedAt);
}
