import { z } from "zod";

/**
 * True lets the provider's programs fetch the links in a message of the account. Off by default: a preview is a request that no
 * person has made, so a link that an agent was tricked into writing could send what the agent has read to the link's author,
 * before a person opens the message.
 */
export const LinkPreviews = z.boolean().default(false);
