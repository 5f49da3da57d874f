import type { REST } from "@discordjs/rest";
import type { APIMessage } from "discord-api-types/v10";
import { type AdapterKit, ChannelError, type InboundSink } from "../adapter.ts";
import { discordError } from "./discord-error.ts";
import { openGateway } from "./discord-gateway.ts";
import { discordMessage } from "./discord-message.ts";
import { answerDiscordPress } from "./discord-press.ts";
import { afterMessage, readCursor, writeCursor } from "./discord-cursor.ts";

/** Guilds, messages in guilds, direct messages, and the texts of messages. */
const INTENTS = (1 << 0) | (1 << 9) | (1 << 12) | (1 << 15);
const PAGE = 100;

/**
 * Receives the messages of an account: over the gateway, resumed after a break from the last one that was stored. When the
 * session is gone, messages written meanwhile are fetched from the conversations in the cursor.
 */
export async function discordInbound(
  kit: AdapterKit,
  {
    rest,
    token,
    sink,
    signal,
  }: { rest: REST; token: string; sink: InboundSink; signal: AbortSignal },
) {
  let cursor = readCursor(await kit.cursor.get());
  const me = (await rest.get("/users/@me", { signal })) as { id: string };

  async function store(message: APIMessage, isDirect: boolean): Promise<void> {
    const incoming = discordMessage(message, { isDirect, ownId: me.id });
    if (incoming) await sink.accept(incoming);
    cursor = afterMessage(cursor, { channel: message.channel_id, id: message.id, isDirect });
  }

  async function catchUp(): Promise<void> {
    for (const [channel, last, isDirect] of cursor.conversations) {
      for (let after = last; ;) {
        const query = new URLSearchParams({ after, limit: String(PAGE) });
        const page = (await rest
          .get(`/channels/${channel}/messages`, { query, signal })
          .catch(goneIsEmpty)) as APIMessage[];
        for (const message of page.toReversed()) await store(message, isDirect);
        if (page.length < PAGE) break;
        after = page[0]?.id ?? after;
      }
    }
  }

  return async function connect(): Promise<{ ended: Promise<void> }> {
    const { url } = (await rest.get("/gateway/bot", { signal })) as { url: string };
    const hadSession = cursor.session !== null;
    try {
      return await open(url);
    } catch (error) {
      // The session is too old to be resumed, which is no failure: a new one is begun at once.
      if (hadSession && cursor.session === null) return open(url);
      throw error;
    }
  };

  function open(url: string): Promise<{ ended: Promise<void> }> {
    return openGateway({
      url,
      token,
      intents: INTENTS,
      signal,
      session: cursor.session,
      async onSession(session) {
        // The new session counts when all is fetched: a break before that begins anew.
        if (session) await catchUp();
        cursor = { ...cursor, session };
        await kit.cursor.set(writeCursor(cursor));
      },
      async onEvent(type, data, seq) {
        // A press is acknowledged within 3 s, so it does not wait for the messages before it, nor they for it.
        if (type === "INTERACTION_CREATE")
          void answerDiscordPress(rest, data, { sink, now: kit.now });
        if (type === "MESSAGE_CREATE") {
          const message = data as APIMessage & { guild_id?: string };
          await store(message, message.guild_id === undefined);
        }
        if (cursor.session) cursor = { ...cursor, session: { ...cursor.session, seq } };
        if (type === "MESSAGE_CREATE") await kit.cursor.set(writeCursor(cursor));
      },
    });
  }
}

/** The bot was removed from the conversation, or it does not exist any more. */
function goneIsEmpty(error: unknown): APIMessage[] {
  const { code } = discordError(error);
  if (code === "invalid_target" || code === "not_found" || code === "not_allowed") return [];
  throw new ChannelError(
    "provider_error",
    "Discord did not return the messages written meanwhile.",
    {
      cause: error,
    },
  );
}
