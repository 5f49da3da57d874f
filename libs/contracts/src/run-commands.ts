import { z } from "zod";
import { command } from "./define.ts";
import { AgentName, CallerName, Digest, ModelName, RunId, SkillName } from "./ids.ts";
import { NewRunInput, RunInput, RunLimits, startRun } from "./runs.ts";

/**
 * Says that a run may have work. It is a hint: what is true is in the store, so one too many changes
 * nothing. Runners send it to each other, and a timer of the server does; anybody may. With `limits`, which
 * may be empty, it lets a run go on that waits at a limit: they replace those of the run, and the same users
 * may as for `run.cancel`.
 */
export const resumeRun = command({
  subject: "yard.cmd.{caller}.run.resume.{runId}",
  summary: "Asks a runner to look at a run that waits, and may give it other limits.",
  role: "operator",
  payload: z.strictObject({ limits: RunLimits.optional() }),
});

/** What people may say to a run that is under way. */
export const SteerMessage = z.string().min(1).max(32_768);

/**
 * Gives a run a message for its next model call. The same users may as for `run.cancel`. A run that was
 * about to end takes the message up and goes on; one that has ended is answered by `run.rejected`.
 */
export const steerRun = command({
  subject: "yard.cmd.{caller}.run.steer.{runId}",
  summary: "Gives a run a message for its next step.",
  role: "operator",
  payload: z.strictObject({ message: SteerMessage }),
});

/**
 * Starts a run that begins as another one did. It keeps the answers and results of the steps
 * before `fromStep` and goes on from there by itself; nothing is called or paid again. The same users may
 * as for `run.cancel`, of the run that is copied.
 */
export const forkRun = command({
  subject: "yard.cmd.{caller}.run.fork.{runId}",
  summary: "Starts a new run from a step of another one.",
  role: "operator",
  payload: z.strictObject({
    /** The new run's; made by the runner when it is left out. */
    newRunId: RunId.optional(),
    /** The first model call that is made anew, from 1. */
    fromStep: z.int().min(1).max(1_001),
    /** In place of the other run's. */
    input: NewRunInput.optional(),
    agent: AgentName.optional(),
    model: ModelName.optional(),
    /** In place of those of the other run that they name. */
    limits: RunLimits.optional(),
    labels: z.record(z.string().max(64), z.string().max(256)).optional(),
  }),
});

/**
 * Starts a run that works for another one. Only runners send it, and only what is said here is
 * believed: requester, tools and depth come from the parent's own journal.
 */
export const spawnRun = command({
  subject: "yard.cmd.{caller}.run.spawn.{agent}",
  summary: "Starts a run on behalf of another run.",
  payload: z.strictObject({
    runId: RunId,
    parent: z.strictObject({ runId: RunId, callId: z.string().min(1).max(200) }),
    input: RunInput,
    skill: SkillName.optional(),
    /** The version of the skill that the parent is pinned to. */
    skillDigest: Digest.optional(),
    model: ModelName.optional(),
  }),
});

/**
 * Starts a run in the name of somebody else: the owner of a job whose time has come. Only the scheduler sends it and is
 * believed; from then on it is a `run.start` of the owner. It plays no recording, and says nothing of where it comes from.
 */
export const beginRun = command({
  subject: "yard.cmd.{caller}.run.begin.{agent}",
  summary: "Starts a run in the name of the owner of a job.",
  payload: z.strictObject({
    owner: CallerName,
    start: startRun.payload.omit({ replay: true, origin: true }).required({ runId: true }),
  }),
});
