import { z } from "zod";
import { LinkPreviews } from "../link-previews.ts";

export const SlackConfig = z.strictObject({
  /** xoxb-…, of the page "OAuth & Permissions". */
  botToken: z.string().regex(/^xox[a-z]-/, "must be a bot token, xoxb-…"),
  /** A token xapp-… with connections:write, for messages over a socket. */
  appToken: z
    .string()
    .regex(/^xapp-/, "must be an app-level token, xapp-…")
    .optional(),
  /** The secret for the Events API over HTTP, instead of socket mode. */
  signingSecret: z.string().min(16).optional(),
  apiUrl: z.url().default("https://slack.com/api/"),
  linkPreviews: LinkPreviews,
});
export type SlackConfig = z.infer<typeof SlackConfig>;
