import { ChannelError } from "./adapter.ts";

/**
 * Sends the parts of one message one after the other and returns their ids. An error of the first part is passed on; an error of
 * a later part is `timeout_unknown`, because some parts were sent and a retry would send them twice.
 */
export async function sendParts(parts: readonly (() => Promise<string>)[]): Promise<string[]> {
  const ids: string[] = [];
  for (const part of parts) {
    try {
      ids.push(await part());
    } catch (error) {
      if (ids.length === 0) throw error;
      const why = error instanceof ChannelError ? error.message : "its answer was lost";
      throw new ChannelError(
        "timeout_unknown",
        `${ids.length} of ${parts.length} parts were sent, the next was not: ${why}`,
        { cause: error },
      );
    }
  }
  return ids;
}
