import { z } from "zod";
import { LinkPreviews } from "../link-previews.ts";

export const SlackConfig = z.strictObject({
  /** xoxb-…, of the page "OAuth & Permissions". */
  botToken: z.string().regex(/^xox[a-z]-/, "must be a bot token, xoxb-…"),
  /** xapp-…, with connections:write: messages come over a socket. */
  appToken: z
    .string()
    .regex(/^xapp-/, "must be an app-level token, xapp-…")
    .optional(),
  /** For the Events API over HTTP, instead of socket mode. */
  signingSecret: z.string().min(16).optional(),
  apiUrl: z.url().default("https://slack.com/api/"),
  linkPreviews: LinkPreviews,
});
export type SlackConfig = z.infer<typeof SlackConfig>;
