import { z } from "zod";

// Two patterns, since those of the schemas are compiled in other languages, too, some of which have no negative lookahead.
const KEY = /^[A-Za-z0-9][A-Za-z0-9_.:@#+-]{0,127}$/;
const BEGINS_AS_ID = /^ses-[0-9a-f]{26}-/;
const KEY_RULE = "must be 1-128 characters of A-Z a-z 0-9 _ . : @ # + -, and no session id";

/**
 * The owner's name for a conversation, unique among the owner's. It may have the form of other products' keys: `main`, `cron:nightly`,
 * `agent:coder:slack:channel:42`.
 */
export const SessionKey = z
  .string()
  .regex(KEY, KEY_RULE)
  .refine((key) => !BEGINS_AS_ID.test(key), { error: KEY_RULE });
export type SessionKey = z.infer<typeof SessionKey>;

/**
 * One life of a conversation, made by the runner. A key that is reset, or deleted and used again, has another id; data of a session is
 * stored under this one.
 */
export const SessionId = z
  .string()
  .regex(/^ses-[0-9a-f]{26}-[0-9a-z]{1,16}$/, "must look like ses-…");
export type SessionId = z.infer<typeof SessionId>;

/** A session by its key or by its id. */
export const SessionRef = z.string().regex(KEY, "must be a session's key or id");

/** The handling of a message that arrives while a run of its session is under way. */
export const BusyPolicy = z.enum(["enqueue", "steer", "interrupt", "reject"]);
export type BusyPolicy = z.infer<typeof BusyPolicy>;

/** The origin of a conversation, as far as its owner has declared it. */
export const SessionKind = z.enum(["main", "group", "cron", "hook", "node", "other"]);
export type SessionKind = z.infer<typeof SessionKind>;
