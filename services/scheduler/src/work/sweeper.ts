import { follow } from "@switchyard/bus/follow";
import { fullRunId } from "@switchyard/contracts/ids";
import { runEnds, runRejected } from "@switchyard/contracts/agent-runner/run-events";
import { SCHEDULER_USER } from "@switchyard/contracts/user-names";
import type { Log } from "@switchyard/service/log";
import { startRounds } from "@switchyard/service/rounds";
import { isHeartbeat } from "../domain/heartbeat.ts";
import { jobOfRun } from "../domain/take-message.ts";
import { advanceJob, runHasEnded, type AdvanceParts } from "./advance-job.ts";
import { publishKeptEvent } from "./publish-event.ts";

/** The longest time before a due job, or a waiting event, is noticed. */
const LOOK_MS = 500;
const JOBS_AT_ONCE = 48;
const OWN_COMMANDS = `yard.cmd.${SCHEDULER_USER}.`;

export interface Sweeper {
  /** Something was changed here that may be due at once. */
  wake(): void;
  /** Takes no more jobs, and resolves when the current ones are processed. */
  stop(): Promise<void>;
}

/**
 * Finds due jobs in Redis and processes them. Every replica does so; the one that takes a job holds it for some seconds, and each
 * step is written only if no other write came in between.
 */
export function startSweeper(parts: AdvanceParts & { readonly log: Log }): Sweeper {
  const { store, bus, now, log } = parts;
  const inWork = new Set<Promise<void>>();
  const stopping = new AbortController();
  let isAway = false;

  const trouble = (err: unknown): void => {
    if (!isAway) log.warn({ err }, "due jobs cannot be cared for; trying again");
    isAway = true;
  };
  const begin = (work: Promise<void>): void => {
    const done = work.catch(trouble).finally(() => {
      inWork.delete(done);
      void rounds.wake();
    });
    inWork.add(done);
  };
  const round = async (): Promise<number> => {
    const free = JOBS_AT_ONCE - inWork.size;
    const ids = free > 0 ? await store.take(now(), free) : [];
    for (const id of ids) begin(advanceJob(id, parts));
    await store.publishEvents((event) => publishKeptEvent(bus, event));
    if (isAway) log.info("due jobs are cared for again");
    isAway = false;
    if (free === 0) return LOOK_MS;
    const next = await store.nextWake();
    return next === null ? LOOK_MS : Math.min(Math.max(next - now(), 0), LOOK_MS);
  };
  const note = (owner: string, name: string, refusal?: string): void => {
    const jobId = jobOfRun(name);
    if ((jobId === null && !isHeartbeat(name)) || stopping.signal.aborted) return;
    const runId = fullRunId(owner, name);
    const look = async (): Promise<void> => {
      // One replica is enough; when it dies, the next regular check finds the end.
      if (!(await store.isFirst(runId))) return;
      const jobs = jobId === null ? ((await store.heartbeat(runId))?.jobs ?? []) : [jobId];
      const end = { runId, ...(refusal !== undefined && { refusal }) };
      await Promise.all(jobs.map((id) => runHasEnded(id, end, parts)));
    };
    begin(look());
  };
  const followed = [
    ...runEnds.map((contract) =>
      follow(bus, contract, (_, { owner, runId }) => note(owner, runId)),
    ),
    follow(bus, runRejected, ({ subject, code, message }, { owner, runId }) => {
      // Rejections of the owner's own commands carry the run's name, too, and do not end the run.
      if (subject.startsWith(OWN_COMMANDS)) note(owner, runId, `${code}: ${message}`);
    }),
  ];
  const rounds = startRounds({ everyMs: LOOK_MS, round, onError: trouble });
  void rounds.wake();

  return {
    wake: () => void rounds.wake(),
    async stop() {
      stopping.abort();
      for (const one of followed) one.stop();
      await rounds.stop();
      await Promise.all(inWork);
    },
  };
}
