import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { jetstreamManager } from "@nats-io/jetstream";
import { nanos } from "@nats-io/transport-node";
import { connectBus } from "@switchyard/bus/connect";
import { connectionOf } from "@switchyard/bus/connection";
import { until } from "@switchyard/local-servers/until";
import { eventStream } from "@switchyard/topology/streams";
import type { DevInstance } from "./yard-dev.ts";

const SECOND = nanos(1_000);

/** Has the stream of events delete what it has, as if all of it were older than its days, and waits until it is gone. */
export async function expireEvents({
  natsUrl,
  stateDir,
}: Pick<DevInstance, "natsUrl" | "stateDir">): Promise<void> {
  const nkeySeed = () => readFile(join(stateDir, "keys", "admin.nk"), "utf8");
  const bus = await connectBus({ servers: natsUrl, user: "admin", nkeySeed });
  try {
    const { streams } = await jetstreamManager(connectionOf(bus).nc, { checkAPI: false });
    const { name } = eventStream;
    const { config } = await streams.info(name);
    await streams.update(name, { ...config, max_age: SECOND, duplicate_window: SECOND });
    await until(async () => (await streams.info(name)).state.messages === 0);
    await streams.update(name, config);
  } finally {
    await bus.close();
  }
}
