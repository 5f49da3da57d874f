import type { Reply, Request } from "@switchyard/client/client";
import type { Problem } from "@switchyard/client/problem-error";
import type { AuditedRecord, PolicyTextFile } from "@switchyard/client/operations";
import { useEffect, useState } from "preact/hooks";
import { count } from "../core/format.ts";
import { AGAIN_WHEN_BUSY_MS, BUSY } from "../core/resource.ts";
import { client, problemOf } from "../core/session.ts";
import { ProblemNote } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { wordOr } from "../ui/statuses.ts";

/** The number of latest decisions to evaluate. */
const LAST = 500;

type RecordedDecision = Request<"POST /policy/replay">["body"]["decisions"][number];
type Replayed = Reply<"POST /policy/replay">["results"][number];

interface Compared {
  readonly decisions: number;
  readonly unknown: number;
  readonly changes: readonly {
    readonly recorded: RecordedFact;
    readonly before: string;
    readonly after: Extract<Replayed, { kind: "decided" }>;
  }[];
}

/** A recorded decision as the audit has it: its kind promises these members. */
type RecordedFact = AuditedRecord &
  RecordedDecision & {
    readonly isArgsChanged?: boolean;
    readonly byRules?: string | null;
    readonly decision: { readonly effect: string; readonly rule: string | null };
  };

/** Shows which of the latest decisions the draft would change, as soon as it is valid. */
export function DraftComparison({ files }: { files: readonly PolicyTextFile[] }) {
  const [compared, setCompared] = useState<Compared | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [round, setRound] = useState(0);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const run = async (): Promise<void> => {
      setBusy(true);
      const result = await compare(files).catch(problemOf);
      if (stop.signal.aborted) return;
      setBusy(false);
      setProblem("changes" in result ? null : result);
      if ("changes" in result) setCompared(result);
      else if (result.status === BUSY) timer = setTimeout(run, AGAIN_WHEN_BUSY_MS);
    };
    void run();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [files, round]);
  return (
    <section class="card" data-testid="comparison">
      <div class="card-head">
        <h2>The last {LAST} decisions, decided by the draft</h2>
        <button
          type="button"
          class="button small"
          disabled={isBusy}
          onClick={() => setRound(round + 1)}
        >
          {isBusy ? "Comparing…" : "Compare again"}
        </button>
      </div>
      {problem !== null && <ProblemNote problem={problem} />}
      {compared !== null && <Result {...compared} />}
    </section>
  );
}

function Result({ decisions, unknown, changes }: Compared) {
  return (
    <div aria-live="polite">
      <p data-testid="compared">
        {count(decisions, "decision")}: {changes.length} would change
        {unknown > 0 &&
          `; for ${unknown} the audit does not have everything that a rule would look at`}
        . Budgets and stops play no part.
      </p>
      <ul class="lines">
        {changes.map(({ recorded, before, after }) => (
          <li key={`${recorded.writer}:${recorded.seq}`}>
            <code>{recorded.tool.name}</code>
            <span>
              {recorded.principal.agent ?? recorded.principal.user}:{" "}
              <Status is={wordOr(before, "note")} /> ({recorded.decision.rule ?? "no rule"}) →{" "}
              <Status is={after.effect} /> ({after.rule ?? "no rule"})
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

async function compare(files: readonly PolicyTextFile[]): Promise<Compared> {
  const { records } = await client.request("GET /audit", {
    query: { kind: "decision", limit: LAST },
  });
  // Decisions by a stop are left out: no rules were evaluated.
  const facts = (records as RecordedFact[]).filter(({ byRules }) => byRules !== null);
  if (facts.length === 0) return { decisions: 0, unknown: 0, changes: [] };
  const { results } = await client.request("POST /policy/replay", {
    body: { files: [...files], decisions: facts.map(questionOf) },
  });
  const changes = facts.flatMap((recorded, at) => {
    const before = recorded.byRules ?? recorded.decision.effect;
    const after = results[at];
    return after?.kind === "decided" && after.effect !== before
      ? [{ recorded, before, after }]
      : [];
  });
  const unknown = results.filter(({ kind }) => kind === "unknown").length;
  return { decisions: facts.length, unknown, changes };
}

function questionOf(recorded: RecordedFact): RecordedDecision {
  const { principal, access, tool, server, layers, args, isArgsChanged, at } = recorded;
  const { values, argsDigest } = recorded;
  return {
    principal,
    access,
    tool,
    at,
    ...(server !== undefined && { server }),
    ...(layers !== undefined && { layers }),
    ...(args !== undefined && isArgsChanged !== true && { args }),
    ...(values !== undefined && argsDigest !== undefined && { values, argsDigest }),
  };
}
