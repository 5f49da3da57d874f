import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { connectBus } from "@switchyard/bus/connect";
import { connectionOf } from "@switchyard/bus/connection";
import { until } from "@switchyard/local-servers/until";
import { eventStream } from "@switchyard/topology/streams";
import type { DevInstance } from "./yard-dev.ts";

/** In nanoseconds, as JetStream has its times. */
const SECOND = 1_000_000_000;

interface StreamReply {
  readonly config: object;
  readonly state: { readonly messages: number };
  readonly error?: { readonly description: string };
}

/** Has the stream of events delete what it has, as if all of it were older than its days, and waits until it is gone. */
export async function expireEvents({
  natsUrl,
  stateDir,
}: Pick<DevInstance, "natsUrl" | "stateDir">): Promise<void> {
  const nkeySeed = () => readFile(join(stateDir, "keys", "admin.nk"), "utf8");
  const bus = await connectBus({ servers: natsUrl, user: "admin", nkeySeed });
  try {
    const { nc } = connectionOf(bus);
    const manage = async (verb: string, body: object = {}) => {
      const subject = `$JS.API.STREAM.${verb}.${eventStream.name}`;
      const reply = (await nc.request(subject, JSON.stringify(body))).json<StreamReply>();
      if (reply.error !== undefined) throw new Error(`${subject}: ${reply.error.description}`);
      return reply;
    };
    const { config } = await manage("INFO");
    await manage("UPDATE", { ...config, max_age: SECOND, duplicate_window: SECOND });
    await until(async () => (await manage("INFO")).state.messages === 0);
    await manage("UPDATE", config);
  } finally {
    await bus.close();
  }
}
