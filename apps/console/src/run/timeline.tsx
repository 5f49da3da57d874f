import type { Approval } from "@switchyard/client/operations";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { nowMs } from "../core/clock.ts";
import { bytesText, count, durationText, prettyJson, tokensText, usdText } from "../core/format.ts";
import { isNarrow } from "../core/narrow.ts";
import { filterOf, setFilter } from "../core/router.ts";
import { Snippet } from "../ui/copy.tsx";
import { DataTable, type Column } from "../ui/data-table.tsx";
import { Loading } from "../ui/resource-view.tsx";
import { SearchField } from "../ui/search-field.tsx";
import { SplitPanels } from "../ui/split-panels.tsx";
import { Status } from "../ui/status.tsx";
import { toneOf } from "../ui/statuses.ts";
import { Fact } from "./run-facts.tsx";
import { Verdict } from "./run-approvals.tsx";
import type { StorySoFar, Span } from "./run-story.ts";
import { axisOf, ticksOf } from "./time-axis.ts";
import { argumentsText, nextError, traceRows, type TraceRow } from "./trace-rows.ts";

const KINDS: Readonly<Record<Span["kind"], string>> = {
  model: "model",
  tool: "tool",
  wait: "wait",
  child: "child",
  question: "question",
  note: "·",
};

interface Props {
  readonly story: StorySoFar;
  readonly approvals: readonly Approval[];
  readonly isCompact: boolean;
}

/**
 * The run's steps with their calls below, and bars on an axis of time. The picked line is in the address; its details are beside the steps, on a
 * narrow screen a page of their own.
 */
export function Timeline({ story, approvals, isCompact }: Props) {
  const [jumped, setJumped] = useState<string | null>(null);
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const [isFollowing, setFollowing] = useState(false);
  const filter = filterOf("q");
  const picked = filterOf("step");
  const pick = usePick(picked);
  const isWall = filterOf("clock") === "wall";
  if (story.spans.length === 0) return <Loading />;
  const startMs = story.startMs ?? 0;
  const endMs = story.endMs ?? nowMs.value;
  const longMs = Math.max(1, endMs - startMs, story.lastMs - startMs);
  const rows = traceRows(story.spans, { folded, filter, hasNotes: !isCompact });
  const fold = (id: string): void => {
    const next = new Set(folded);
    if (!next.delete(id)) next.add(id);
    setFolded(next);
  };
  const steps = story.spans.filter(({ kind }) => kind === "model").map(({ id }) => id);
  const jump = (): void => {
    const error = nextError(story.spans, picked);
    if (error === null) return;
    setFolded(new Set());
    setFilter("q", "");
    pick(error.id);
    setJumped(error.id);
  };
  const columns: Column<TraceRow>[] = [
    {
      title: "What",
      cell: ({ span, depth }) => (
        <span class={`span-name depth-${depth} ${span.kind === "note" ? "quiet-line" : ""}`}>
          <span class="label">{KINDS[span.kind]}</span> {span.title}{" "}
          <span class="quiet">{argumentsText(span)}</span>
        </span>
      ),
    },
    {
      title: "Status",
      // The title of a note already states its status.
      cell: ({ span: { kind, status } }) =>
        kind === "note" && toneOf(status) === "quiet" ? "" : <Status is={status} />,
    },
    ...(isCompact
      ? [
          {
            title: "Detail",
            isWide: true,
            isMain: true,
            cell: ({ span }: TraceRow) => span.detail,
          },
        ]
      : [
          {
            title: `When, from 0 to ${durationText(longMs)}`,
            head: <Axis longMs={longMs} />,
            isWide: true,
            isMain: true,
            cell: ({ span }: TraceRow) => (
              <Bar span={span} startMs={startMs} longMs={longMs} nowMs={endMs} />
            ),
          },
        ]),
    ...(isWall
      ? [{ title: "At", isNumber: true, cell: ({ span }: TraceRow) => wallText(span.startMs) }]
      : []),
    {
      title: "Took",
      isNumber: true,
      cell: ({ span }) => (span.kind === "note" ? "" : tookText(span, endMs)),
    },
  ];
  const chosen = story.spans.find(({ id }) => id === picked) ?? null;
  return (
    <>
      <TraceTools
        story={story}
        isFollowing={isFollowing}
        onFollow={setFollowing}
        hasError={nextError(story.spans, picked) !== null}
        onNextError={jump}
        isFolded={folded.size > 0}
        onFold={() => setFolded(new Set(folded.size === 0 ? steps : []))}
      />
      <SplitPanels
        detail={
          chosen === null ? null : (
            <SpanDetail
              span={chosen}
              approvals={approvals.filter(({ id }) => chosen.approvalIds?.includes(id))}
              onClose={() => pick("")}
            />
          )
        }
      >
        <DataTable
          label="Timeline"
          testId="timeline"
          columns={columns}
          rows={rows}
          keyOf={({ span }) => span.id}
          onPick={({ span }) => pick(span.id === picked ? "" : span.id)}
          isPicked={({ span }) => span.id === picked}
          beforeOf={(row) => <Fold row={row} onFold={fold} />}
          inSight={jumped}
          isFollowing={isFollowing && story.endMs === null}
        />
      </SplitPanels>
    </>
  );
}

/** Sets the picked line. On a narrow screen it is a page: the browser's back button closes it, and the steps are where they were. */
function usePick(picked: string): (id: string) => void {
  const leftAt = useRef(0);
  const isPage = isNarrow.value && picked !== "";
  useLayoutEffect(() => {
    const main = document.querySelector("main");
    if (!isPage || main === null) return undefined;
    return () => main.scrollTo(0, leftAt.current);
  }, [isPage]);
  return (id) => {
    if (!isPage) leftAt.current = document.querySelector("main")?.scrollTop ?? 0;
    setFilter("step", id, { replace: !isNarrow.value || id === "" });
  };
}

interface ToolsProps {
  readonly story: StorySoFar;
  readonly isFollowing: boolean;
  readonly onFollow: (isFollowing: boolean) => void;
  readonly hasError: boolean;
  readonly onNextError: () => void;
  readonly isFolded: boolean;
  readonly onFold: () => void;
}

function TraceTools(props: ToolsProps) {
  const { story, isFollowing, onFollow, hasError, onNextError, isFolded, onFold } = props;
  return (
    <div class="filters trace-tools">
      <SearchField label="Filter the trace" placeholder="Filter: a tool, failed, a path" />
      <button
        type="button"
        class="button small"
        disabled={!hasError}
        onClick={onNextError}
        data-testid="next-error"
      >
        Next error
      </button>
      <button type="button" class="button small" onClick={onFold} data-testid="fold-all">
        {isFolded ? "Unfold steps" : "Fold steps"}
      </button>
      <label class="check">
        <input
          type="checkbox"
          checked={filterOf("clock") === "wall"}
          onChange={(event) => setFilter("clock", event.currentTarget.checked ? "wall" : "")}
        />
        Wall clock
      </label>
      {story.endMs === null && (
        <label class="check">
          <input
            type="checkbox"
            checked={isFollowing}
            onChange={(event) => onFollow(event.currentTarget.checked)}
            data-testid="follow-latest"
          />
          Follow latest
        </label>
      )}
    </div>
  );
}

/** Folds the calls of a step; empty in front of lines that have none. */
function Fold({ row, onFold }: { row: TraceRow; onFold: (id: string) => void }) {
  if (row.below === 0) return <span class="fold" />;
  return (
    <button
      type="button"
      class="fold"
      aria-expanded={!row.isFolded}
      aria-label={`${row.isFolded ? "Show" : "Hide"} the ${count(row.below, "line")} of step ${row.span.step ?? ""}`}
      onClick={(event) => {
        event.stopPropagation();
        onFold(row.span.id);
      }}
    >
      {row.isFolded ? "▸" : "▾"}
    </button>
  );
}

function wallText(ms: number): string {
  return new Date(ms).toLocaleTimeString("en-GB");
}

/** The marks above the bars, with as many texts as there is room for. */
function Axis({ longMs }: { longMs: number }) {
  const axis = useRef<HTMLSpanElement>(null);
  const [widthPx, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = axis.current;
    if (element === null) return undefined;
    setWidth(element.clientWidth);
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return (
    <span ref={axis} class="axis" aria-hidden="true" data-testid="axis">
      {axisOf(longMs, widthPx).map(({ ms, text }) => (
        <span key={ms} style={{ left: `${(ms / longMs) * 100}%` }}>
          {text}
        </span>
      ))}
    </span>
  );
}

function Bar(props: { span: Span; startMs: number; longMs: number; nowMs: number }) {
  const { span, startMs, longMs, nowMs: now } = props;
  const left = ((span.startMs - startMs) / longMs) * 100;
  const width = (((span.endMs ?? now) - span.startMs) / longMs) * 100;
  const open = span.endMs === null ? "open" : "";
  return (
    <span
      class="bar-lane"
      role="img"
      aria-label={`from ${durationText(Math.max(0, span.startMs - startMs))} on`}
    >
      {ticksOf(longMs).map((ms) => (
        <i key={ms} style={{ left: `${(ms / longMs) * 100}%` }} />
      ))}
      <span
        class={`bar-span ${toneOf(span.status)} is-${span.kind} ${open}`}
        style={{
          left: `${Math.min(99.5, Math.max(0, left))}%`,
          width: `${Math.max(0, Math.min(100 - left, width))}%`,
        }}
      />
    </span>
  );
}

function tookText({ startMs, endMs }: Span, now: number): string {
  return durationText(Math.max(0, (endMs ?? now) - startMs));
}

/** The request, the decision and its reason, and the result. */
function SpanDetail(props: { span: Span; approvals: readonly Approval[]; onClose: () => void }) {
  const { span, approvals, onClose } = props;
  const { decision, usage, costUsd } = span;
  const call = callOf(span);
  const back = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!isNarrow.value) return;
    document.querySelector("main")?.scrollTo(0, 0);
    back.current?.focus({ preventScroll: true });
  }, [span.id]);
  return (
    <aside class="detail" aria-label="The picked line" data-testid="span-detail">
      <button
        ref={back}
        type="button"
        class="button small back"
        onClick={onClose}
        data-testid="back"
      >
        ← Back to the steps
      </button>
      <div class="detail-head">
        <h2>{span.title}</h2>
        <button type="button" class="button small close" onClick={onClose}>
          Close
        </button>
      </div>
      <dl class="facts">
        <Fact name="Status">
          <Status is={span.status} />
        </Fact>
        {span.step !== null && <Fact name="Step">{span.step}</Fact>}
        {span.endMs !== null && <Fact name="Took">{tookText(span, span.endMs)}</Fact>}
        {usage !== undefined && <Fact name="Tokens">{tokensText(usage)}</Fact>}
        {costUsd !== undefined && (
          <Fact name="Cost">{costUsd === null ? "price not known" : usdText(costUsd)}</Fact>
        )}
      </dl>
      {decision !== null && (
        <section class={`note ${toneOf(decision.effect)}`} data-testid="decision">
          <strong>
            {DECIDED[decision.effect]}
            {decision.rule !== null && (
              <>
                {" by rule "}
                <code>{decision.rule}</code>
              </>
            )}
          </strong>
          <p>{decision.reason}</p>
          {call !== null && (
            <a
              href={`/policy?run=${encodeURIComponent(call.runId)}&call=${encodeURIComponent(call.callId)}`}
            >
              {decision.effect === "deny" ? "Explain, or make a rule" : "Explain in the policy"}
            </a>
          )}
        </section>
      )}
      {span.childRunId !== undefined && (
        <a class="button" href={`/runs/${encodeURIComponent(span.childRunId)}`}>
          Go to the child run
        </a>
      )}
      {approvals.map((approval) => (
        <p key={approval.id}>
          <Verdict approval={approval} />
        </p>
      ))}
      {span.approvalIds?.map((id) => (
        <a key={id} class="button" href={`/approvals?id=${id}`}>
          Look at the call
        </a>
      ))}
      <SpanTexts span={span} />
      <details>
        <summary>Events as JSON</summary>
        <Snippet
          label="Events of this line as JSON"
          text={span.events.map(({ data }) => JSON.stringify(data, null, 2)).join("\n")}
        />
      </details>
    </aside>
  );
}

/** The call that the line is about, where it is one. */
function callOf({ events }: Span): { readonly runId: string; readonly callId: string } | null {
  const asked = events.find(({ event }) => event === "tool-requested");
  return asked?.event === "tool-requested" ? asked.data : null;
}

const DECIDED = { allow: "Allowed", deny: "Denied", ask: "A person decides" } as const;

/** Foreign text, always as text. */
function SpanTexts({ span }: { span: Span }) {
  return (
    <>
      {span.events.map((message) => {
        switch (message.event) {
          case "tool-requested":
            return (
              <Text key="args" title="Arguments" text={prettyJson(message.data.argsPreview)} />
            );
          case "tool-completed":
            return (
              <Text
                key="result"
                title={`Result, ${bytesText(message.data.textBytes)}`}
                text={message.data.preview}
              />
            );
          case "tool-failed":
            return <Text key="error" title={message.data.code} text={message.data.message} />;
          case "model-responded":
            return message.data.text === "" ? null : (
              <Text key="text" title="Text" text={message.data.text} />
            );
          case "tool-denied":
            return null;
          default:
            return span.detail === "" ? null : (
              <Text key="detail" title="Detail" text={span.detail} />
            );
        }
      })}
    </>
  );
}

function Text({ title, text }: { title: string; text: string }) {
  return (
    <section>
      <h3>{title}</h3>
      <Snippet text={text} label={title} />
    </section>
  );
}
