import type { RunDetail } from "@switchyard/client/operations";
import { useEffect, useState } from "preact/hooks";
import { client, may } from "../core/session.ts";
import { isOver } from "./is-over.ts";

/** Children are loaded one by one; the sums of runs with more of them are lower bounds. */
const MOST_RUNS = 50;
const AGAIN_MS = 3_000;

/** The runs below a run, by their id. */
export interface Family {
  readonly runs: ReadonlyMap<string, RunDetail>;
  /** False when some are not loaded. */
  readonly isWhole: boolean;
}

const NONE: Family = { runs: new Map(), isWhole: true };

/** Loads the children of a run and theirs, and reloads those under way. */
export function useFamily(run: RunDetail | null): Family {
  const [family, setFamily] = useState(NONE);
  const { runId, updatedAt, children = [] } = run ?? {};
  const hasChildren = children.length > 0;
  useEffect(() => {
    if (run === null || !hasChildren || !may("GET /runs/{runId}")) return undefined;
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const reload = async (): Promise<void> => {
      const next = await loadBelow(run, family.runs, stop.signal);
      if (stop.signal.aborted) return;
      setFamily(next);
      if ([...next.runs.values()].some(({ status }) => !isOver(status)))
        timer = setTimeout(() => void reload(), AGAIN_MS);
    };
    void reload();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [runId, updatedAt, hasChildren]);
  return family;
}

async function loadBelow(
  top: RunDetail,
  before: Family["runs"],
  signal: AbortSignal,
): Promise<Family> {
  const runs = new Map<string, RunDetail>();
  const queue = childIds(top);
  let isWhole = true;
  for (const runId of queue) {
    if (runs.has(runId)) continue;
    if (runs.size >= MOST_RUNS) return { runs, isWhole: false };
    const old = before.get(runId);
    const found = old !== undefined && isOver(old.status) ? old : await load(runId, signal);
    if (found === null) isWhole = false;
    else {
      runs.set(runId, found);
      queue.push(...childIds(found));
    }
  }
  return { runs, isWhole };
}

/** Null when it cannot be read: the list of children is shown without it. */
async function load(runId: string, signal: AbortSignal): Promise<RunDetail | null> {
  const path = { runId };
  const found = client.request("GET /runs/{runId}", { path }, { signal });
  return found.then(
    ({ run }) => run,
    () => null,
  );
}

function childIds({ children = [] }: RunDetail): string[] {
  return children.map(({ runId }) => runId);
}

/** Cost of all runs below; null when the price of one is not known. */
export function costBelow({ runs }: Family): number | null {
  let sum = 0;
  for (const { costUsd } of runs.values()) {
    if (typeof costUsd !== "number") return null;
    sum += costUsd;
  }
  return sum;
}
