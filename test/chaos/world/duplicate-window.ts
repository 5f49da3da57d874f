import { eventStream, factStream } from "@switchyard/topology/streams";
import { connect, nanos, nkeyAuthenticator } from "nats";

/** Has NATS remember the ids of events for less time, so that a repeat may come later than that. */
export async function shortenWindow(
  servers: string,
  adminSeed: string,
  windowMs: number,
): Promise<void> {
  const authenticator = nkeyAuthenticator(new TextEncoder().encode(adminSeed));
  const connection = await connect({ servers, authenticator, inboxPrefix: "_INBOX_admin" });
  try {
    const manager = await connection.jetstreamManager({ checkAPI: false });
    for (const { name } of [factStream, eventStream])
      await manager.streams.update(name, { duplicate_window: nanos(windowMs) });
  } finally {
    await connection.close();
  }
}
