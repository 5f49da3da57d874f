import type { AuditedRecord } from "@switchyard/client/operations";
import { useState } from "preact/hooks";
import { count, numberText } from "../core/format.ts";
import { textsOf } from "../core/form.ts";
import { joined, useMoreRows } from "../core/more-rows.ts";
import { toolText } from "../core/names.ts";
import { useResource } from "../core/resource.ts";
import { filterOf, setFilter } from "../core/router.ts";
import { callerName, client, may } from "../core/session.ts";
import { Id, Snippet } from "../ui/copy.tsx";
import { DataTable, type Column } from "../ui/data-table.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { LoadMore } from "../ui/load-more.tsx";
import { Page } from "../ui/page.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { isWord, said, type Word } from "../ui/statuses.ts";
import { Time } from "../ui/time.tsx";
import { ruleFor } from "./rule-text.ts";

const KINDS = [
  "decision",
  "refusal",
  "repeat",
  "approval",
  "execution",
  "outcome",
  "access",
  "chain",
  "seal",
];
const FIELDS = [
  { name: "tool", title: "Tool" },
  { name: "runId", title: "Run" },
  { name: "user", title: "User" },
] as const;

const COLUMNS: readonly Column<AuditedRecord>[] = [
  { title: "Kind", isWide: true, cell: ({ kind }) => kind },
  {
    title: "What",
    cell: (record) => <Status is={statusOf(record)}>{wordOf(record).replaceAll("_", " ")}</Status>,
  },
  { title: "When", cell: ({ at }) => <Time at={at} /> },
  { title: "Of", cell: (record) => toolText(subjectOf(record)) },
  { title: "User", isWide: true, cell: (record) => userOf(record) },
  {
    title: "Why",
    isWide: true,
    isMain: true,
    cell: (record) => whyOf(record),
  },
  { title: "Recorded by", isWide: true, cell: ({ service }) => service },
];

/** Records of decisions, approvals and executions. */
export function Audit() {
  const [picked, setPicked] = useState<AuditedRecord | null>(null);
  const [isChecked, setChecked] = useState(false);
  const kind = filterOf("kind");
  const hasReads = filterOf("reads") === "true";
  const query = {
    limit: 200,
    reads: hasReads,
    ...(kind !== "" && { kind }),
    ...Object.fromEntries(
      FIELDS.map(({ name }) => [name, filterOf(name)] as const).filter(([, value]) => value !== ""),
    ),
  };
  const audit = useResource("GET /audit", { query });
  const more = useMoreRows(JSON.stringify(query), audit.data?.cursor ?? null, async (cursor) => {
    const page = await client.request("GET /audit", { query: { ...query, cursor } });
    return { rows: page.records, next: page.cursor };
  });
  return (
    <Page
      title="Audit"
      about="What was decided, approved and executed. Each record holds the hash of the one before. Repeated denials are counted in one record of the kind “repeat”."
      cli="yard audit tail"
      nats={`nats req yard.rpc.${callerName()}.policy.audit.list '{}'`}
      actions={
        <>
          <button
            type="button"
            class="button"
            disabled={isChecked}
            onClick={() => setChecked(true)}
          >
            Check the chains
          </button>
          <a class="button" href="/api/v1/audit/export" download="switchyard-audit.jsonl">
            Export
          </a>
        </>
      }
    >
      {isChecked && <Chains />}
      <Filters kind={kind} />
      <label class="check">
        <input
          type="checkbox"
          checked={hasReads}
          onChange={(event) => setFilter("reads", event.currentTarget.checked ? "true" : "")}
          data-testid="audit-reads"
        />
        Show reads, such as the console's own, and seals
      </label>
      <ResourceView
        of={audit}
        empty={(data) =>
          data.records.length > 0 || data.cursor !== null ? null : (
            <>
              <p>No record fits.</p>
              <a class="button" href="/audit">
                Show all records
              </a>
            </>
          )
        }
      >
        {(data) => (
          <>
            <DataTable
              label="Records of the audit"
              testId="audit"
              columns={COLUMNS}
              rows={joined(data.records, more.rows, keyOf)}
              keyOf={keyOf}
              onPick={setPicked}
              more={more}
            />
            <LoadMore of={more} />
          </>
        )}
      </ResourceView>
      {picked !== null && <OneRecord record={picked} onClose={() => setPicked(null)} />}
    </Page>
  );
}

function Filters({ kind }: { kind: string }) {
  const submit = (event: SubmitEvent): void => {
    const text = textsOf(event);
    for (const name of ["kind", ...FIELDS.map((field) => field.name)]) {
      setFilter(name, text(name).trim());
    }
  };
  return (
    <form class="filters" role="search" onSubmit={submit}>
      {FIELDS.map(({ name, title }) => (
        <label key={name}>
          <span class="label">{title}</span>
          <input name={name} defaultValue={filterOf(name)} maxLength={128} />
        </label>
      ))}
      <label>
        <span class="label">Kind</span>
        <select name="kind">
          <option value="">all</option>
          {KINDS.map((one) => (
            <option key={one} value={one} selected={one === kind}>
              {one}
            </option>
          ))}
        </select>
      </label>
      <button class="button">Filter</button>
    </form>
  );
}

/** Verifies the chains on request: it reads the whole audit. */
function Chains() {
  const verified = useResource("GET /audit/verify", {});
  return (
    <ResourceView of={verified}>
      {({ isIntact, records, chains, executions, proven, problems }) => (
        <div
          class={`note ${isIntact ? "good" : "bad"}`}
          data-testid="chains"
          data-status={said("chains", isIntact ? "intact" : "broken")}
        >
          <strong>{isIntact ? "Nothing is missing or changed" : "The audit is not whole"}</strong>
          <p>
            {count(records, "record")} in {count(chains, "chain")}; {count(executions, "execution")}
            , {count(proven, "of them has", "of them have")} the decision that allowed it.
          </p>
          {problems.map((problem) => (
            <p key={problem}>{problem}</p>
          ))}
          <button type="button" class="button small" onClick={verified.reload}>
            Check again
          </button>
        </div>
      )}
    </ResourceView>
  );
}

function OneRecord({ record, onClose }: { record: AuditedRecord; onClose: () => void }) {
  const runId = textAt(record, "principal", "runId");
  return (
    <Dialog title={`${record.kind} ${record.seq}`} onClose={onClose} testId="audit-record">
      <p>
        Recorded by {record.service} <Time at={record.at} />, hash{" "}
        <Id value={record.hash} shown={record.hash.slice(0, 18)} />.
      </p>
      {runId !== "" && <a href={`/runs/${encodeURIComponent(runId)}`}>To the run</a>}
      <Snippet label="The record" text={JSON.stringify(record, null, 2)} />
      <div class="actions end">
        <MakeRuleOfDenial record={record} />
        <button type="button" class="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

/** Opens the draft of the policy with a rule that allows what the record says was denied. */
function MakeRuleOfDenial({ record }: { record: AuditedRecord }) {
  const [tool, user] = [textAt(record, "tool", "tool"), textAt(record, "principal", "user")];
  const isDenial = record.kind === "decision" && textAt(record, "decision", "effect") === "deny";
  if (!isDenial || tool === "" || !may("GET /policy/texts")) return null;
  const call = {
    tool: { server: textAt(record, "tool", "server") || null, tool },
    principal: { user, agent: textAt(record, "principal", "agent") || null },
  };
  const rule = ruleFor(call, JSON.stringify(record["args"] ?? {}));
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

function keyOf({ service, writer, seq }: AuditedRecord): string {
  return `${service} ${writer} ${seq}`;
}

/** The event of the record, in a word. */
function wordOf(record: AuditedRecord): string {
  return (
    textAt(record, "decision", "effect") ||
    textAt(record, "change") ||
    textAt(record, "outcome") ||
    record.kind
  );
}

/** The same as one of the words for programs. */
function statusOf(record: AuditedRecord): Word {
  const word = wordOf(record);
  if (isWord(word)) return word;
  if (word === "refused" || record.kind === "refusal") return "denied";
  const outcome = textAt(record, "outcome");
  if (outcome === "") return "note";
  if (outcome === "tool_error") return "error";
  return outcome === "result" || outcome === "started" ? "done" : "failed";
}

/** The tool, or the operation of a caller over HTTP. */
function subjectOf(record: AuditedRecord): string {
  return textAt(record, "tool", "name") || textAt(record, "tool") || textAt(record, "operation");
}

function whyOf(record: AuditedRecord): string {
  const why = textAt(record, "decision", "reason") || textAt(record, "reason");
  const times = record["count"];
  return typeof times === "number" ? `${numberText(times)} times: ${why}` : why;
}

function userOf(record: AuditedRecord): string {
  return textAt(record, "principal", "user") || textAt(record, "user") || textAt(record, "caller");
}

/** The text at a path of a record; empty when there is none. Kinds of records have members of their own. */
function textAt(record: AuditedRecord, ...path: string[]): string {
  let value: unknown = record;
  for (const name of path) value = (value as Record<string, unknown> | null)?.[name];
  return typeof value === "string" ? value : "";
}
