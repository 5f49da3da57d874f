import { z } from "zod";
import { event } from "../define.ts";
import { CallerName, Timestamp } from "../ids.ts";

/** Refused tokens are counted and published once a second, so that a flood of them is not a flood of events. */
export const tokensRefused = event({
  subject: "yard.evt.token.{provider}.refused",
  summary: "Calls had invalid run tokens: forged, expired, revoked or another user's.",
  payload: z.object({
    /** The NATS user that called the provider. */
    caller: CallerName,
    reason: z.string(),
    count: z.int().positive(),
    at: Timestamp,
  }),
});
