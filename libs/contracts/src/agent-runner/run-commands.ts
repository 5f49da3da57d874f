import { z } from "zod";
import { command } from "../define.ts";
import { AgentName, CallerName, Digest, ModelName, RunId, SkillName } from "../ids.ts";
import { NewRunInput, RunInput, RunLimits, startRun } from "./runs.ts";

/**
 * Notifies runners that a run may have work. The truth is in the store, so one too many changes nothing. Runners send it to each other, a
 * timer of the server does, and every client may. With `limits`, which may be empty, it lets a run continue that waits at a limit: they
 * replace those of the run, and the same users may send it as `run.cancel`.
 */
export const resumeRun = command({
  subject: "yard.cmd.{caller}.run.resume.{runId}",
  summary: "Wakes a waiting run, with other limits if wanted.",
  role: "operator",
  payload: z.strictObject({ limits: RunLimits.optional() }),
});

/** A message of a person to a run in progress. */
export const SteerMessage = z.string().min(1).max(32_768);

/**
 * Adds a message to a run's next model call. The same users may send it as `run.cancel`. A run that was about to end accepts the message
 * and continues; one that has ended is answered by `run.rejected`.
 */
export const steerRun = command({
  subject: "yard.cmd.{caller}.run.steer.{runId}",
  summary: "Adds a message to the next step of a run.",
  role: "operator",
  payload: z.strictObject({ message: SteerMessage }),
});

/**
 * Starts a run that begins as another one did. It copies the answers and results of the steps before `fromStep` and continues from there
 * independently; nothing is called or paid again. The same users may send it as `run.cancel` for the run that is copied.
 */
export const forkRun = command({
  subject: "yard.cmd.{caller}.run.fork.{runId}",
  summary: "Starts a new run from a step of another one.",
  role: "operator",
  payload: z.strictObject({
    /** The id of the new run; made by the runner when it is left out. */
    newRunId: RunId.optional(),
    /** The first model call that is made anew, from 1. */
    fromStep: z.int().min(1).max(1_001),
    /** Replaces the other run's input. */
    input: NewRunInput.optional(),
    agent: AgentName.optional(),
    model: ModelName.optional(),
    /** Replace the limits of the other run that they name. */
    limits: RunLimits.optional(),
    labels: z.record(z.string().max(64), z.string().max(256)).optional(),
  }),
});

/**
 * Starts a run that works for another one. Only runners send it, and only these fields are taken from it: requester, tools and depth come
 * from the parent's own journal.
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
 * Starts a run in the name of another user: the owner of a job that is due. It is accepted from the scheduler only; from then on it is a
 * `run.start` of the owner. It plays no recording, and has no origin.
 */
export const beginRun = command({
  subject: "yard.cmd.{caller}.run.begin.{agent}",
  summary: "Starts a run in the name of the owner of a job.",
  payload: z.strictObject({
    owner: CallerName,
    start: startRun.payload.omit({ replay: true, origin: true }).required({ runId: true }),
  }),
});
