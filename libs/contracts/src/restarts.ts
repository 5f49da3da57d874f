import { z } from "zod";
import { rpc } from "./define.ts";

const request = z.strictObject({});
const reply = z.object({ isStopping: z.literal(true) });
const errors = {
  /** There is no supervisor to start it again, or the installation does not permit it: `YARD_RESTARTS` is not set. */
  restart_disabled: { data: z.object({ setting: z.string() }) },
};

/**
 * Called by the toolbox alone: one process ends in order, with the exit code for a restart, and its supervisor starts it again. Each
 * process is served under a name of its own, which discovery shows, so that they can be restarted one after the other.
 */
export const restartRunner = rpc({
  subject: "yard.rpc.{caller}.runner.restart.{process}",
  summary: "For the toolbox: ends one runner in order, so that it is started again.",
  request,
  reply,
  errors,
});

/** The same as for the runner. */
export const restartScheduler = rpc({
  subject: "yard.rpc.{caller}.scheduler.restart.{process}",
  summary: "For the toolbox: ends one scheduler in order, so that it is started again.",
  request,
  reply,
  errors,
});

/** The services that can be restarted: the scheduler reads files when it starts, the runner its environment. */
export const RESTARTS = { runner: restartRunner, scheduler: restartScheduler } as const;
export type Restartable = keyof typeof RESTARTS;
