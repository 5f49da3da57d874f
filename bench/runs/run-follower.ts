import { setMaxListeners } from "node:events";
import type { Bus } from "@switchyard/bus/bus";
import { readEvents } from "@switchyard/bus/events";
import { publishCommand } from "@switchyard/bus/publish";
import { filterOf, tokensOf } from "@switchyard/contracts/define";
import { runFailed, runFinished, runRejected } from "@switchyard/contracts/agent-runner/run-events";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import type { z } from "zod";

export interface RunFollower {
  /** Starts a run and resolves when its terminal event is in the stream; `failed` ends well only where it is expected. */
  readonly run: (
    agent: string,
    options?: {
      readonly runId?: string;
      readonly input?: z.input<typeof startRun.payload>["input"];
      readonly limits?: z.input<typeof startRun.payload>["limits"];
      readonly output?: z.input<typeof startRun.payload>["output"];
      readonly mayFail?: boolean;
    },
  ) => Promise<void>;
  readonly stop: () => Promise<void>;
}

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  readonly mayFail: boolean;
}

/** Shared by all followers of this process: a used run id starts no other run. */
let count = 0;

/** Starts runs and knows when each has ended. */
export function followRuns(bus: Bus): RunFollower {
  const waiting = new Map<string, Waiting>();
  const ended = new AbortController();
  setMaxListeners(0, ended.signal);
  const following = (async () => {
    const filters = [runFinished, runFailed, runRejected].map((contract) => filterOf(contract));
    for await (const event of readEvents(bus, { filters, from: "now", signal: ended.signal })) {
      const { contract } = event;
      if (contract === null) continue;
      const tokens: Record<string, string> = tokensOf<string>(contract, event.subject) ?? {};
      const runId = tokens["runId"] ?? "";
      const run = waiting.get(runId);
      waiting.delete(runId);
      const isExpected = contract.name === runFailed.name && run?.mayFail === true;
      if (contract.name === runFinished.name || isExpected) run?.resolve();
      else run?.reject(new Error(`${event.subject}: ${JSON.stringify(event.payload)}`));
    }
  })();
  return {
    async run(agent, options = {}) {
      count += 1;
      const runId = options.runId ?? `bench-${process.pid}-${count}`;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      waiting.set(runId, { resolve, reject, mayFail: options.mayFail === true });
      const { input = "go", limits, output } = options;
      const published = publishCommand(
        bus,
        startRun,
        { agent },
        {
          input,
          runId,
          ...(limits === undefined ? {} : { limits }),
          ...(output === undefined ? {} : { output }),
        },
      );
      await Promise.all([published, promise]);
    },
    async stop() {
      ended.abort();
      await following;
    },
  };
}
