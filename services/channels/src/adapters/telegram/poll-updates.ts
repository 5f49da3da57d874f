import { setTimeout as delay } from "node:timers/promises";
import type { Api } from "grammy";
import type { Update, UserFromGetMe } from "grammy/types";
import type { InboundSink } from "../adapter.ts";
import { albumMessage, albumOf, albumsOf } from "./telegram-message.ts";

export const POLL_SECONDS = 30;
/** The longest time between the last part of an album and the one before. */
const ALBUM_MS = 500;

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
      { offset, timeout, allowed_updates: ["message", "channel_post"] },
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
      const message = albumMessage(album, me);
      if (message) await sink.accept(message);
      offset = (album.at(-1)?.update_id ?? offset) + 1;
    }
  }
}

function endsInAlbum(updates: readonly Update[]): boolean {
  const last = updates.at(-1);
  return last !== undefined && albumOf(last) !== null;
}
