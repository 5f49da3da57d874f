import { z } from "zod";
import { AddressInput } from "./channel-address.ts";
import { AgentName } from "./ids.ts";
import { SessionKey } from "./session-key.ts";

/** A session, and who answers in it. */
const Speaker = z.strictObject({ session: SessionKey, agent: AgentName });

/** What of a text is told on in a conversation of two sessions. */
export const MOST_SAID = 8_000;
/** Answers that go to and fro between two sessions behind the first one. */
export const MAX_TURNS = 5;

/**
 * What follows the end of a run in another session of its owner, or in a chat. The toolbox alone may ask for it, for `sessions_send`
 * and `sessions_spawn`.
 */
export const RunFollowUp = z.discriminatedUnion("kind", [
  /** What came of the run is said in the session that started it. */
  z.strictObject({
    kind: z.literal("announce"),
    to: Speaker,
    label: z.string().max(128).nullable(),
    /** The session of the run ends behind it. */
    endsSession: z.boolean(),
    /** Where the answer of that session goes; left out: nowhere. */
    chat: AddressInput.optional(),
  }),
  /** Two sessions answer each other, and then the one that was asked tells its chat. */
  z.strictObject({
    kind: z.literal("converse"),
    requester: Speaker,
    target: Speaker,
    /** Whose run it is. */
    speaker: z.enum(["requester", "target"]),
    turnsLeft: z.int().min(0).max(MAX_TURNS),
    question: z.string().max(MOST_SAID),
    /** The first answer, and the last one; missing: there is none yet. */
    firstReply: z.string().max(MOST_SAID).optional(),
    lastReply: z.string().max(MOST_SAID).optional(),
    chat: AddressInput.optional(),
  }),
  /** The answer goes to a chat. */
  z.strictObject({ kind: z.literal("tell"), chat: AddressInput }),
]);
export type RunFollowUp = z.infer<typeof RunFollowUp>;

/** An agent's whole answer that ends a conversation, or says that there is nothing to tell. */
export const REPLY_SKIP = "REPLY_SKIP";
export const ANNOUNCE_SKIP = "ANNOUNCE_SKIP";
