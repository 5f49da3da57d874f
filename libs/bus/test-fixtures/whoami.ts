import { rpc } from "@switchyard/contracts/define";
import { z } from "zod";

export const whoami = rpc({
  subject: "yard.rpc.{caller}.oracle.whoami",
  summary: "Says which process answers.",
  request: z.strictObject({}),
  reply: z.object({ pid: z.int() }),
  errors: {},
});
