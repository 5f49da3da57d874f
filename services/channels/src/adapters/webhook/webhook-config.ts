import { webhookKey } from "@switchyard/service/standard-webhook";
import { z } from "zod";

const Secret = z
  .string()
  .refine((secret) => webhookKey(secret) !== null, "must be whsec_ and 24 to 64 bytes in base64");

/** One side can be left out: an account that is only told, or only tells. */
export const WebhookConfig = z
  .strictObject({
    inbound: z
      .strictObject({
        /** Each may have signed, so that an old and a new one can be good at the same time. */
        secrets: z.array(Secret).min(1).max(5),
      })
      .optional(),
    outbound: z
      .strictObject({
        url: z.url({ protocol: /^https?$/ }),
        secret: Secret,
        /** True when the receiver drops a `webhook-id` that it has seen: then what got no answer may be sent again. */
        knowsRepeats: z.boolean().default(false),
      })
      .optional(),
  })
  .refine(({ inbound, outbound }) => inbound !== undefined || outbound !== undefined, {
    error: "inbound or outbound must be there",
  });
export type WebhookConfig = z.output<typeof WebhookConfig>;
