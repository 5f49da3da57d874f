import { rpc } from "@switchyard/contracts/define";
import { z } from "zod";

/** The behaviours of the fixture service. */
export const fixtureCall = rpc({
  subject: "yard.rpc.{caller}.fixture.call",
  summary: "Makes the fixture service behave in one way.",
  request: z.strictObject({
    does: z.enum([
      "wait-for-stop",
      "hang",
      "throw-later",
      "reject-later",
      "lose-later",
      "fall-ill",
      "store",
      "restart",
    ]),
  }),
  reply: z.object({ key: z.string().nullable() }),
  timeoutMs: 20_000,
});
