import { webhookKey } from "@switchyard/service/standard-webhook";
import { z } from "zod";

const Secret = z
  .string()
  .refine((secret) => webhookKey(secret) !== null, "must be whsec_ and 24 to 64 bytes in base64");

/** The settings of a webhook account; either side can be left out, so it only receives or only sends. */
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
        /** True when the receiver deduplicates by `webhook-id`: then a request without an answer may be sent again. */
        knowsRepeats: z.boolean().default(false),
      })
      .optional(),
  })
  .refine(({ inbound, outbound }) => inbound !== undefined || outbound !== undefined, {
    error: "inbound or outbound must be there",
  });
export type WebhookConfig = z.output<typeof WebhookConfig>;
