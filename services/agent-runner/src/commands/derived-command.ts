import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import type { z } from "zod";
import type { forkRun, spawnRun } from "@switchyard/contracts/agent-runner/run-commands";
import { AgentName, CallerName, RunId } from "@switchyard/contracts/ids";
import type { RunLimits } from "@switchyard/contracts/agent-runner/runs";
import type { CopiedTurn } from "../core/answer-part.ts";
import type { JournalEntry } from "../core/journal-entry.ts";
import { mayControl, ownRun } from "../journal/run-access.ts";
import { replay } from "../core/replay.ts";
import type { RunState, Turn } from "../core/run-state.ts";
import { dictationOf } from "../core/started-entry.ts";
import {
  foreignRunId,
  madeRunId,
  type MessageFacts,
  type Rejection,
  type RunCommand,
} from "./run-command.ts";

type Read = { readonly command: RunCommand } | { readonly rejection: Rejection };

/** The NATS user of the runners: a parent is accepted from this user alone. */
const RUNNER = "runner";

/** Reads `run.spawn`, given the journal of the parent, which determines the child's owner and depth. */
export function readSpawn(
  message: MessageFacts,
  agentToken: string,
  given: {
    readonly payload: z.output<typeof spawnRun.payload>;
    readonly parentJournal: readonly JournalEntry[];
  },
): Read {
  const { payload, parentJournal } = given;
  const { runId, parent, skillDigest, ...start } = payload;
  const agent = AgentName.safeParse(agentToken);
  if (message.caller !== RUNNER || !agent.success)
    return refuse("not_allowed", `${message.subject}: only runners start runs for other runs`);
  if (parentJournal.length === 0)
    return refuse(
      "unknown_run",
      `there is no run ${parent.runId} that run ${runId} could work for`,
    );
  const { started } = replay(parentJournal);
  return {
    command: {
      runId,
      agent: agent.data,
      requester: started.requester,
      payload: { ...start, labels: started.labels, ...readersOf(started) },
      digest: canonicalDigest({ agent: agent.data, spawn: payload }),
      parent: { ...parent, depthLeft: (started.depthLeft ?? 0) - 1, skillDigest },
      dictation: dictationOf(started),
      skillsOff: started.skillsOff,
    },
  };
}

/** Reads `run.fork`, given the journal of the run that is to be copied. */
export function readFork(
  message: MessageFacts,
  runToken: string,
  given: {
    readonly payload: z.output<typeof forkRun.payload>;
    readonly sourceJournal: readonly JournalEntry[];
  },
): Read {
  const { payload, sourceJournal } = given;
  const { newRunId, fromStep, input, agent, model, limits, labels } = payload;
  const source = RunId.safeParse(runToken);
  const requester = CallerName.safeParse(message.caller);
  if (!source.success || !requester.success)
    return refuse("invalid_command", `${message.subject} is not a subject of run.fork`);
  if (sourceJournal.length === 0) return refuse("unknown_run", `there is no run ${runToken}`);
  const { started, turns, limits: pinned } = replay(sourceJournal);
  const runId = ownRun(requester.data, newRunId ?? madeRunId(message));
  if (runId === null) return { rejection: foreignRunId(newRunId, requester.data) };
  if (!mayControl(requester.data, started))
    return { rejection: notYoursToCopy(runToken, requester.data) };
  const { narrowings } = replay(entriesBefore(sourceJournal, fromStep));
  const kept = turns.slice(0, fromStep - 1);
  if (kept.length < fromStep - 1 || !kept.every(isWhole)) {
    const said = `run ${runToken} has ${turns.length} steps; a copy can begin at one of them or right behind`;
    return refuse("no_such_step", said);
  }
  return {
    command: {
      runId,
      agent: agent ?? started.agent,
      requester: requester.data,
      payload: {
        input: input ?? started.input,
        model: model ?? started.model,
        ...(started.thinking === undefined ? {} : { thinking: started.thinking }),
        ...(started.sampling === undefined ? {} : { sampling: started.sampling }),
        labels: labels ?? started.labels,
        ...(started.invoked === undefined ? {} : { skill: started.invoked }),
        ...(started.output === undefined ? {} : { output: started.output }),
        ...readersOf(started),
        // The origin is not accepted from another user, and an origin that a service supplied is accepted from that service alone.
        ...(started.origin !== undefined &&
        started.broughtBy === undefined &&
        requester.data === started.requester
          ? { origin: started.origin }
          : {}),
        limits: { ...withoutNone(pinned), ...limits },
      },
      digest: canonicalDigest({ requester: requester.data, fork: runToken, payload }),
      ...(started.before === undefined ? {} : { before: started.before }),
      dictation: dictationOf(started),
      skillsOff: started.skillsOff,
      fork: {
        runId: runToken,
        fromStep,
        turns: kept.map(copyOf),
        ...(narrowings.length === 0 ? {} : { narrowings: [...narrowings] }),
      },
    },
  };
}

export function notYoursToCopy(runId: string, caller: string): Rejection {
  const message = `run ${runId} was not started by ${caller}; its requester, cli and admin may copy it`;
  return { code: "not_allowed", message, problems: [] };
}

function readersOf({ readers }: RunState["started"]) {
  return readers === undefined ? {} : { readers };
}

/** A copy may use up no more than the run that it copies, unless its command sets other limits. */
function withoutNone({ maxToolCalls, ...limits }: RunState["limits"]): RunLimits {
  return { ...limits, ...(maxToolCalls === null ? {} : { maxToolCalls }) };
}

/** The entries of the journal before the model's answer of that step. */
function entriesBefore(journal: readonly JournalEntry[], step: number): readonly JournalEntry[] {
  const at = journal.findIndex((entry) => entry.kind === "model-responded" && entry.step === step);
  return at < 1 ? journal : journal.slice(0, at);
}

function isWhole({ calls }: Turn): boolean {
  return calls.length > 0 && calls.every(({ result }) => result !== null);
}

function copyOf({ content, finishReason, calls, model }: Turn): CopiedTurn {
  const results = calls.flatMap(({ part: { callId }, result }) =>
    result === null ? [] : [{ callId, ...result }],
  );
  return {
    content: [...content],
    finishReason,
    results,
    ...(model === undefined ? {} : { model }),
  };
}

function refuse(code: string, message: string): Read {
  return { rejection: { code, message, problems: [] } };
}
