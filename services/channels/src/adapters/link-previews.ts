import { z } from "zod";

/**
 * Whether the provider's programs fetch what a message of the account links to. Off by default: a preview is a request that no person has made, so a link that
 * an agent was talked into writing could carry what it knows to its author, before anybody reads the message.
 */
export const LinkPreviews = z.boolean().default(false);
