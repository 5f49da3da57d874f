import type { Approval } from "@switchyard/client/operations";
import { useEffect, useRef } from "preact/hooks";
import { useArrivals } from "../core/arrivals.ts";
import { numberText } from "../core/format.ts";
import { isNarrow } from "../core/narrow.ts";
import { needs } from "../core/needs.ts";
import { toolText } from "../core/names.ts";
import { canNotify, toggleNotes, wantsNotes } from "../core/notify.ts";
import { pushWorker } from "../core/push.ts";
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
import { NeedDetail, OtherNeeds } from "./other-needs.tsx";

/** Sorted by risk, then by waiting time. */
const RISKS = ["high", "medium", "low"] as const;

/**
 * The inbox: calls that wait and everything else that needs the person, and the one that is opened. It stays opened until the person opens
 * another one: calls that come meanwhile are announced, and are listed below the others. On a narrow screen the list and the
 * opened one are pages of their own.
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
  const { others } = needs.value;
  const first = rows.find(({ id }) => !decided.current.has(id))?.id ?? "";
  useEffect(() => {
    if (opened === "" && first !== "" && !isNarrow.value) open(first);
  }, [opened, first, isNarrow.value]);
  const calls = rows.map(({ id }) => id);
  const ids = [...calls, ...others.map(({ id }) => id)];
  const beside = (step: number, among = ids): string => {
    const at = among.indexOf(opened);
    return among[(at + step + among.length) % Math.max(1, among.length)] ?? "";
  };
  const move = (step: number): void => {
    if (beside(step) !== "") open(beside(step));
  };
  const goOn = (): void => {
    decided.current.add(opened);
    const next = beside(1, calls);
    open(next === opened ? "" : next);
  };
  const openNew = (): void => {
    const next = listed.find(({ id }) => arrived.has(id));
    settle();
    if (next !== undefined) open(next.id);
  };
  useShortcuts({ j: () => move(1), k: () => move(-1) });
  return (
    <Page
      title="Needs you"
      about={`Calls, questions and everything else that waits for a person.${hasShortcuts.value ? " Keys: j and k move, a approves once, d denies." : ""}`}
      cli="yard approvals watch"
      nats="nats sub 'yard.evt.approval.>'"
      actions={<Settings shown={shown} />}
    >
      <ResourceView
        of={list}
        empty={() => (ids.length > 0 || opened !== "" ? null : <NothingWaits />)}
      >
        {() => (
          <div class={`split has-detail approvals ${opened === "" ? "" : "is-opened"}`}>
            <div class="side list">
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
              <OtherNeeds needs={others} opened={opened} onOpen={open} />
              <LoadMore of={more} />
            </div>
            <div class="opened">
              <button
                type="button"
                class="button small back"
                onClick={() => open("")}
                data-testid="back"
              >
                ← Back to the list
              </button>
              <Opened id={opened} onDecidedByKey={goOn} />
            </div>
          </div>
        )}
      </ResourceView>
    </Page>
  );
}

function Opened({ id, onDecidedByKey }: { id: string; onDecidedByKey: () => void }) {
  if (id === "") return <Empty>Open a call or a question of the list.</Empty>;
  if (id.includes(":"))
    return <NeedDetail key={id} need={needs.value.others.find((one) => one.id === id) ?? null} />;
  return <ApprovalDetail key={id} id={id} onDecidedByKey={onDecidedByKey} />;
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
      {wantsNotes.value && (
        <span class="quiet" data-testid="notify-reach">
          {pushWorker.value === null ? "while a page is open" : "also while no page is open"}
        </span>
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
      <strong title={tool.name}>{toolText(tool.name)}</strong>
      <span class="quiet">
        {[
          whoOf(approval),
          `${state === "pending" ? "expires " : ""}${countdown(approval)}`,
          votesLabel(approval),
        ]
          .filter(Boolean)
          .join(" · ")}
      </span>
    </button>
  );
}

function byUrgency(one: Approval, other: Approval): number {
  const pending = Number(other.state === "pending") - Number(one.state === "pending");
  const risk = RISKS.indexOf(one.risk) - RISKS.indexOf(other.risk);
  return pending || risk || one.requestedAt.localeCompare(other.requestedAt);
}
