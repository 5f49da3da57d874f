import { setTimeout as delay } from "node:timers/promises";
import type { Api } from "grammy";
import type { CallbackQuery, Update, UserFromGetMe } from "grammy/types";
import { cutText } from "@switchyard/contracts/cut-text";
import type { InboundSink } from "../adapter.ts";
import { albumMessage, albumOf, albumsOf, telegramPress } from "./telegram-message.ts";

export const POLL_SECONDS = 30;
/** The longest time between the last part of an album and the one before. */
const ALBUM_MS = 500;
/** https://core.telegram.org/bots/api#answercallbackquery */
const MAX_ANSWER = 200;

/**
 * Delivers messages to the sink until the signal aborts. The next poll confirms the updates before it. So each message is stored
 * before the next poll, and one that cannot be stored ends the polling: Telegram keeps it for 24 hours and delivers it again.
 */
export async function pollUpdates(
  bot: Api,
  {
    me,
    sink,
    signal,
  }: { readonly me: UserFromGetMe; readonly sink: InboundSink; readonly signal: AbortSignal },
): Promise<void> {
  const fetchFrom = (offset: number, timeout: number): Promise<Update[]> =>
    bot.getUpdates(
      { offset, timeout, allowed_updates: ["message", "channel_post", "callback_query"] },
      signal as never, // the library's own type of a signal; Node's has all of it
    );
  for (let offset = 0; !signal.aborted;) {
    let updates = await fetchFrom(offset, POLL_SECONDS);
    // The last parts of an album may arrive a little later. No update is confirmed until they have.
    for (let known = 0; known < updates.length && endsInAlbum(updates);) {
      known = updates.length;
      await delay(ALBUM_MS, undefined, { signal });
      updates = await fetchFrom(offset, 0);
    }
    for (const album of albumsOf(updates)) {
      const [{ callback_query: query } = {}] = album;
      if (query !== undefined) await answerPress(bot, query, { sink, signal });
      const message = albumMessage(album, me);
      if (message) await sink.accept(message);
      offset = (album.at(-1)?.update_id ?? offset) + 1;
    }
  }
}

/** The press counts when the sink has handled it; its answer is shown if the person still waits for it. */
async function answerPress(
  bot: Api,
  query: CallbackQuery,
  { sink, signal }: { readonly sink: InboundSink; readonly signal: AbortSignal },
): Promise<void> {
  const press = telegramPress(query);
  const { text, isAlert } =
    press === null ? { text: "This button is too old.", isAlert: false } : await sink.press(press);
  await bot
    .answerCallbackQuery(
      query.id,
      { text: cutText(text, MAX_ANSWER), show_alert: isAlert },
      signal as never,
    )
    .catch(() => {}); // Telegram refuses answers to old presses.
}

function endsInAlbum(updates: readonly Update[]): boolean {
  const last = updates.at(-1);
  return last !== undefined && albumOf(last) !== null;
}
