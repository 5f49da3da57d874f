import { cutForReader } from "@switchyard/contracts/cut-text";
import { toneOf } from "../ui/statuses.ts";
import type { Span } from "./run-story.ts";

/** A line of the trace: a span below the step that it belongs to. */
export interface TraceRow {
  readonly span: Span;
  /** 0: a step or a note; 1: a call of a step; 2: what a call started. */
  readonly depth: 0 | 1 | 2;
  /** The number of lines below it. */
  readonly below: number;
  readonly isFolded: boolean;
}

interface View {
  /** Ids of the folded steps. */
  readonly folded: ReadonlySet<string>;
  /** Lines with this text in their title, status or arguments; the empty text: all lines. */
  readonly filter: string;
  readonly hasNotes: boolean;
}

interface Line {
  readonly span: Span;
  readonly depth: TraceRow["depth"];
  /** The id of the step that it belongs to. */
  readonly step: string | null;
  below: number;
}

/** The lines of a trace in the order of the run, those below a folded step left out. A filter ignores folds. */
export function traceRows(spans: readonly Span[], { folded, filter, hasNotes }: View): TraceRow[] {
  const rows: Line[] = [];
  let step: Line | null = null;
  for (const span of spans) {
    if (!hasNotes && span.kind === "note") continue;
    const depth = depthOf(span, step?.span ?? null);
    const row: Line = { span, depth, step: depth === 0 ? null : (step?.span.id ?? null), below: 0 };
    if (depth > 0 && step !== null) step.below += 1;
    if (span.kind === "model") step = row;
    rows.push(row);
  }
  const wanted = filter.trim().toLowerCase();
  return rows
    .filter(({ span, step: above }) =>
      wanted === "" ? above === null || !folded.has(above) : textOf(span).includes(wanted),
    )
    .map(({ span, depth, below }) => ({ span, depth, below, isFolded: folded.has(span.id) }));
}

/** Calls and waits belong to the model call before them; a child run and a question belong to a call. */
function depthOf({ kind }: Span, step: Span | null): TraceRow["depth"] {
  if (step === null || kind === "model" || kind === "note") return 0;
  return kind === "child" || kind === "question" ? 2 : 1;
}

function textOf(span: Span): string {
  return `${span.title} ${span.kind} ${span.status} ${span.detail}`.toLowerCase();
}

/** The first line after the given one whose status is a failure or a denial; null when there is none. */
export function nextError(spans: readonly Span[], after: string | null): Span | null {
  const from = spans.findIndex(({ id }) => id === after) + 1;
  const ordered = [...spans.slice(from), ...spans.slice(0, from)];
  return ordered.find(({ status }) => toneOf(status) === "bad") ?? null;
}

const MOST_CHARACTERS = 80;

/** The arguments of a call in one line, `path: notes.md, limit: 5`; empty for other lines. */
export function argumentsText({ kind, events }: Span): string {
  const asked = kind === "tool" ? events.find(({ event }) => event === "tool-requested") : null;
  if (asked?.event !== "tool-requested") return "";
  return cutForReader(inLine(asked.data.argsPreview), MOST_CHARACTERS);
}

function inLine(argsPreview: string): string {
  try {
    const args: unknown = JSON.parse(argsPreview);
    if (typeof args !== "object" || args === null || Array.isArray(args)) return argsPreview;
    return Object.entries(args)
      .map(
        ([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`,
      )
      .join(", ")
      .replaceAll(/\s+/g, " ");
  } catch {
    // A long one is cut, and is no JSON any more.
    return argsPreview;
  }
}
