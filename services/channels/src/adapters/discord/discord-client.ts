import type { REST } from "@discordjs/rest";
import type { Address } from "@switchyard/contracts/channels/channel-address";
import { z } from "zod";
import { type AdapterCall, ChannelError } from "../adapter.ts";
import { LinkPreviews } from "../link-previews.ts";
import { discordError } from "./discord-error.ts";

const REQUEST_MS = 30_000;

export const DiscordConfig = z.strictObject({
  /** The token from the application's page Bot. */
  token: z.string().min(16),
  api: z.url().default("https://discord.com/api"),
  linkPreviews: LinkPreviews,
});
export type DiscordConfig = z.infer<typeof DiscordConfig>;

export type DiscordClient = ReturnType<typeof discordClient>;

/** Requests to Discord's HTTP API as one account. */
export function discordClient(config: DiscordConfig) {
  let made: Promise<REST> | undefined;
  const direct = new Map<string, string>();
  // The library is loaded on first use; it is configured to retry nothing and wait for nothing.
  const rest = async () => {
    made ??= import("@discordjs/rest").then(
      ({ REST: Rest }) =>
        new Rest({
          version: "10",
          api: config.api.replace(/\/$/, ""),
          retries: 0,
          timeout: REQUEST_MS,
          rejectOnRateLimit: () => true,
        }),
    );
    // After a refusal it forgets the token, and the next request would fail without a reason.
    return (await made).setToken(config.token);
  };

  async function ask<T>(call: (rest: REST) => Promise<unknown>): Promise<T> {
    try {
      return (await call(await rest())) as T;
    } catch (error) {
      throw discordError(error);
    }
  }

  /** A thread is a channel; the conversation with a person is one, too, and has to be opened. */
  async function channelOf(
    { target, threadId }: Address,
    { signal }: AdapterCall,
  ): Promise<string> {
    if (threadId !== undefined) return snowflake(threadId, "invalid_target");
    const id = snowflake(target.id, "invalid_target");
    if (target.kind !== "user") return id;
    const known = direct.get(id);
    if (known !== undefined) return known;
    const opened = await ask<{ id: string }>((api) =>
      api.post("/users/@me/channels", { body: { recipient_id: id }, signal }),
    ).catch((error: unknown) => {
      // Opening a conversation sends no message, whatever its outcome.
      throw error instanceof ChannelError && error.code === "timeout_unknown"
        ? new ChannelError(
            "provider_error",
            "Discord did not open the conversation; nothing was sent.",
          )
        : error;
    });
    if (direct.size >= 10_000) direct.clear();
    direct.set(id, opened.id);
    return opened.id;
  }

  async function messagePath(
    at: { address: Address; messageId: string },
    call: AdapterCall,
  ): Promise<`/${string}`> {
    return `/channels/${await channelOf(at.address, call)}/messages/${snowflake(at.messageId, "not_found")}`;
  }

  async function close(): Promise<void> {
    const api = await made;
    api?.clearHandlerSweeper();
    api?.clearHashSweeper();
  }

  return { rest, ask, channelOf, messagePath, close };
}

/** Discord's ids are numbers of up to 20 digits; anything else it does not have. */
export function snowflake(id: string, code: "invalid_target" | "not_found"): string {
  if (/^\d{1,20}$/.test(id)) return id;
  throw new ChannelError(code, `Discord's ids are numbers, not "${id}".`);
}
