import { z } from "zod";

/**
 * Whether the provider's programs fetch what a message of the account links to. Off by default: a preview is a request that no person has made, so a link that
 * an agent was talked into writing could carry what the agent has read to its author, before a person opens the message.
 */
export const LinkPreviews = z.boolean().default(false);
