import { jetstreamManager } from "@nats-io/jetstream";
import { ServiceError } from "@switchyard/contracts/errors";
import { bucketStream, sharedPayloads } from "@switchyard/topology/payload-stores";
import type { ConsumerDefinition } from "@switchyard/topology/streams";
import type { Bus } from "./bus.ts";
import { connectionOf } from "./connection.ts";
import { CONSUMER_NOT_FOUND, labelOf, named, orNull, STREAM_NOT_FOUND } from "./stream-requests.ts";

// Apart from `streams.ts`, which loads every contract: each service begins with this.

/**
 * Checks that the payload bucket and the given consumers exist. Rejects with a ServiceError that
 * names all that is missing and the command that makes it.
 */
export async function verifyStreams(
  bus: Bus,
  consumers: readonly ConsumerDefinition[],
): Promise<void> {
  const { nc, user } = connectionOf(bus);
  const manager = await jetstreamManager(nc, { checkAPI: false });
  const missing: string[] = [];
  const bucket = bucketStream(sharedPayloads);
  const isMissing = async (
    name: string,
    code: number,
    read: () => Promise<unknown>,
  ): Promise<void> => {
    if ((await named(user, name, () => orNull(read, [code, STREAM_NOT_FOUND]))) === null)
      missing.push(name);
  };
  await isMissing(bucket, STREAM_NOT_FOUND, () => manager.streams.info(bucket));
  for (const consumer of consumers) {
    await isMissing(labelOf(consumer), CONSUMER_NOT_FOUND, () =>
      manager.consumers.info(consumer.stream, consumer.name),
    );
  }
  if (missing.length === 0) return;
  throw new ServiceError(
    "streams_missing",
    `NATS has no ${missing.join(", no ")}: create streams and consumers with \`yard streams ensure\``,
    { data: { missing } },
  );
}
