import { z } from "zod";

/**
 * The name that its owner gave a conversation, unique among the owner's. It may look as those of other
 * products do: `main`, `cron:nightly`, `agent:coder:slack:channel:42`.
 */
export const SessionKey = z
  .string()
  .regex(
    /^(?!ses-[0-9a-f]{26}-)[A-Za-z0-9][A-Za-z0-9_.:@#+-]{0,127}$/,
    "must be 1-128 characters of A-Z a-z 0-9 _ . : @ # + -, and no session id",
  );
export type SessionKey = z.infer<typeof SessionKey>;

/**
 * One life of a conversation, made by the runner. A key that is reset, or deleted and used again, has
 * another id; what is kept for a session is kept under this one.
 */
export const SessionId = z
  .string()
  .regex(/^ses-[0-9a-f]{26}-[0-9a-z]{1,16}$/, "must look like ses-…");
export type SessionId = z.infer<typeof SessionId>;

/** A session by its key or by its id. */
export const SessionRef = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.:@#+-]{0,127}$/, "must be a session's key or id");

/** What becomes of a message that arrives while a run of its session is under way. */
export const BusyPolicy = z.enum(["enqueue", "steer", "interrupt", "reject"]);
export type BusyPolicy = z.infer<typeof BusyPolicy>;

/** Where a conversation comes from, as far as its owner has said. */
export const SessionKind = z.enum(["main", "group", "cron", "hook", "node", "other"]);
export type SessionKind = z.infer<typeof SessionKind>;
