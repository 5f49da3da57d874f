// A heartbeat is one run for all jobs that wait for it: the texts of an owner's jobs for one agent in one session.
//
// B1  The run's name contains agent, session and moment, so all jobs that wait for the same heartbeat get the same run.
// B2  Its input is stored once, by the replica that begins it first. Later texts wait for the next one.

import { inputText } from "@switchyard/contracts/agent-runner/input-text";
import { createHash } from "node:crypto";
import type { ActiveRun, Change, JobRecord } from "@switchyard/project/jobs/job-record";
import { nextHeartbeat } from "@switchyard/project/jobs/next-time";
import { skip } from "@switchyard/project/jobs/skip";

/** The start of a heartbeat's run, and the jobs whose texts it contains. */
export interface HeartbeatTurn {
  readonly start: ActiveRun["start"];
  readonly jobs: readonly string[];
}

const PREFIX = "hb-";
/** The limit for the texts of one heartbeat, unless the first one alone is longer. Texts that do not fit wait for the next one. */
const MOST_CHARS = 131_072;
const LABEL_CHARS = 256;
export const ALREADY_WAITS = "the job waits for the same heartbeat already";

/** `run` as one that waits for the next heartbeat. */
export function waitingRun(
  run: ActiveRun,
  { owner, heartbeatMs, now }: { owner: string; heartbeatMs: number; now: number },
): ActiveRun {
  const { session, model, limits, thinking } = run.start;
  const atMs = nextHeartbeat(owner, heartbeatMs, now);
  const what = JSON.stringify([
    run.agent,
    session,
    model,
    limits,
    // Without it, the name equals that of earlier versions.
    ...(thinking === undefined ? [] : [thinking]),
  ]);
  const digest = createHash("sha256").update(what).digest("hex").slice(0, 16);
  const runId = `${PREFIX}${digest}-${atMs.toString(36)}`;
  const start = { ...run.start, runId };
  return { ...run, runId: `${owner}~${runId}`, runAtMs: atMs, checkAtMs: atMs, start };
}

/** True when the run with this name, without its owner, is a heartbeat. */
export function isHeartbeat(name: string): boolean {
  return name.startsWith(PREFIX);
}

/** Builds the heartbeat for those of `records` that wait for it, the longest due first. */
export function heartbeatTurn(runId: string, records: readonly JobRecord[]): HeartbeatTurn | null {
  const waiting = records
    .flatMap(({ job, active }) =>
      active
        .filter((run) => run.runId === runId && run.phase !== "delivering")
        .map((run) => ({ job, run, text: `[${job.name}]\n${textOf(run)}` })),
    )
    .toSorted((one, other) => one.run.dueAtMs - other.run.dueAtMs);
  let chars = 0;
  const said = waiting.filter(({ text }, index) => {
    chars += text.length;
    return index === 0 || chars <= MOST_CHARS;
  });
  const [first] = said;
  if (first === undefined) return null;
  const jobs = said.map(({ job }) => job.id);
  if (said.length === 1) return { start: first.run.start, jobs };
  const names = said.map(({ job }) => job.name).join(", ");
  return {
    start: {
      ...first.run.start,
      input: said.map(({ text }) => text).join("\n\n"),
      labels: { jobName: names.slice(0, LABEL_CHARS) },
    },
    jobs,
  };
}

function textOf({ start: { input } }: ActiveRun): string {
  return inputText(input);
}

/** Moves a run that came too late for its heartbeat to the next one. */
export function waitOn(
  record: JobRecord,
  run: ActiveRun,
  heartbeatMs: number,
  now: number,
): Change {
  const { owner } = record.job;
  const next = waitingRun(run, { owner, heartbeatMs, now });
  const others = record.active.filter(({ runId }) => runId !== run.runId);
  if (others.some(({ runId }) => runId === next.runId)) {
    const { runId, dueAtMs: due } = run;
    const about = { due, missed: 0, now, reason: ALREADY_WAITS, runId };
    return { record: { ...record, active: others }, ...skip(record, about) };
  }
  const facts = { runId: next.runId, dueAtMs: next.dueAtMs };
  const events = [{ kind: "started", facts }] as const;
  return { record: { ...record, active: [...others, next] }, entries: [], events };
}
