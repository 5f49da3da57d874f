import type { AdapterDefinition } from "./adapter.ts";
import { discord } from "./discord/discord.ts";
import { email } from "./email/email.ts";
import { loopback } from "./loopback/loopback.ts";
import { slack } from "./slack/slack.ts";
import { telegram } from "./telegram/telegram.ts";
import { webchat } from "./webchat/webchat.ts";
import { webhook } from "./webhook/webhook.ts";

/** Every adapter, by the name of its channel. Each loads its provider's library with the first use of an account. */
export const adapters: ReadonlyMap<string, AdapterDefinition> = new Map(
  [discord, email, loopback, slack, telegram, webchat, webhook].map((adapter) => [
    adapter.name,
    adapter as AdapterDefinition,
  ]),
);
