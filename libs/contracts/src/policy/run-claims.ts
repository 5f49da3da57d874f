import { z } from "zod";
import { RunId } from "../ids.ts";

/**
 * A runner process proves with these that it holds a run. Each process makes a secret that it sends to the policy only. Redis has the
 * secret's digest beside the claim, which runners write and the policy reads: in `holder` of the run's state, and, for a run that is being
 * prepared and does not exist yet, in `yard:run:{id}:claim`. So a runner's NATS key alone gives access to no run.
 */

/** 32 random bytes, base64url. */
export const RunnerInstance = z
  .string()
  .regex(/^[A-Za-z0-9_-]{43}$/, "must be 32 bytes in base64url");

/** The value of `yard:run:{id}:claim`, as JSON. */
export const RunReservation = z.object({
  /** SHA-256 of the instance, base64url. */
  holder: z.string(),
  /** The run that it is to work for. */
  parent: RunId.nullable(),
});
export type RunReservation = z.infer<typeof RunReservation>;
