import { z } from "zod";
import { AddressInput } from "../channels/channel-address.ts";
import { AgentName } from "../ids.ts";
import { SessionKey } from "./session-key.ts";

/** A session, and the agent that answers in it. */
const Speaker = z.strictObject({ session: SessionKey, agent: AgentName });

/** The most characters of a text that are passed on in a conversation of two sessions. */
export const MOST_SAID = 8_000;
/** The most answers between two sessions behind the first one. */
export const MAX_TURNS = 5;

/**
 * The action after the end of a run, in another session of its owner, or in a chat. It is accepted from the toolbox alone, for
 * `sessions_send` and `sessions_spawn`.
 */
export const RunFollowUp = z.discriminatedUnion("kind", [
  /** The result of the run is posted in the session that started it. */
  z.strictObject({
    kind: z.literal("announce"),
    to: Speaker,
    label: z.string().max(128).nullable(),
    /** The session of the run ends behind it. */
    endsSession: z.boolean(),
    /** The chat that gets the answer of that session; left out: none. */
    chat: AddressInput.optional(),
  }),
  /** Two sessions answer each other, and then the target posts the result in its chat. */
  z.strictObject({
    kind: z.literal("converse"),
    requester: Speaker,
    target: Speaker,
    /** The session that the run belongs to. */
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

/** An agent's whole answer that ends a conversation, or that suppresses the announcement. */
export const REPLY_SKIP = "REPLY_SKIP";
export const ANNOUNCE_SKIP = "ANNOUNCE_SKIP";
