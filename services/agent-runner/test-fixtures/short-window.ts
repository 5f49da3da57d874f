import { setTimeout as delay } from "node:timers/promises";
import { eventStream, factStream } from "@switchyard/topology/streams";
import { connect } from "nats";

const WINDOW_MS = 200;

/**
 * Shortens the time for which the streams of events remember message ids to a moment, and waits until they have forgotten the
 * earlier ids, as after several minutes.
 */
export async function shortWindow(nats: {
  readonly url: string;
}): Promise<{ end(): Promise<void> }> {
  const plain = await connect({ servers: nats.url });
  const manager = await plain.jetstreamManager();
  const setTo = async (ms: number): Promise<void> => {
    for (const { name } of [factStream, eventStream]) {
      const { config } = await manager.streams.info(name);
      await manager.streams.update(name, { ...config, duplicate_window: ms * 1e6 });
    }
  };
  await setTo(WINDOW_MS);
  await delay(3 * WINDOW_MS);
  return {
    async end() {
      await setTo(eventStream.duplicateWindowMs);
      await plain.close();
    },
  };
}
