import {
  AckPolicy,
  DeliverPolicy,
  DiscardPolicy,
  jetstreamManager,
  PersistMode,
  ReplayPolicy,
  RetentionPolicy,
  StorageType,
  StoreCompression,
  type ConsumerConfig,
  type JetStreamManager,
  type StreamConfig,
  type StreamInfo,
  type StreamSource as StreamSourceConfig,
} from "@nats-io/jetstream";
import { nanos, type NatsConnection } from "@nats-io/transport-node";
import {
  allConsumers,
  allStreams,
  auditStream,
  type ConsumerDefinition,
  type ObjectStoreDefinition,
  type StreamDefinition,
  type StreamSource,
} from "@switchyard/topology/streams";
import { ServiceError } from "@switchyard/contracts/errors";
import { z } from "zod";
import { commandQueueFor, commandsOf } from "@switchyard/topology/command-streams";
import { OWN_PERMISSIONS } from "@switchyard/topology/nats-permissions";
import {
  bucketStream,
  hasOwnPayloads,
  inputFiles,
  ownerOfPayloads,
  payloadsOf,
  runArchive,
  servicePayloads,
  sharedPayloads,
} from "@switchyard/topology/payload-stores";
import { ownerOfCommands } from "@switchyard/contracts/stream-names";
import { anonymousUser, installedUsers } from "@switchyard/topology/topology";
import type { Bus } from "./bus.ts";
import { connectionOf } from "./connection.ts";
import { CONSUMER_NOT_FOUND, labelOf, named, orNull, STREAM_NOT_FOUND } from "./stream-requests.ts";

export interface EnsuredStreams {
  /** Names of the objects that were made: streams, `stream/consumer`, buckets. */
  readonly created: string[];
  /** Names of the objects that differed from the contracts. */
  readonly updated: string[];
  /** Names of the objects that differ and that this user may not change: the audit is the operator's, see {@link ensureAudit}. */
  readonly left: string[];
}

type WantedStream = Partial<StreamConfig> & { name: string };

/** Clients with a bucket for large payloads, and with a stream of commands, of their own. */
export interface Clients {
  readonly withPayloads: readonly string[];
  readonly withCommands: readonly string[];
}

/** The answer to `$SYS.REQ.USER.INFO`; without permissions a user may do everything. */
const UserInfo = z.object({
  data: z.object({
    permissions: z
      .object({ publish: z.object({ allow: z.array(z.string()) }).optional() })
      .optional(),
  }),
});

export interface StreamOptions {
  /** Copies of each stream; without it a stream keeps its number, and a new one gets as many as the others (1 when there are none). */
  readonly replicas?: number;
  /** More room for the audit than the contracts grant; never reduced. */
  readonly auditBytes?: number;
}

/**
 * Creates the streams, consumers and payload buckets of the contracts, and updates those that differ in a field that the contracts set,
 * except the audit: that is created, and listed in `left` when it differs. Safe to repeat. Needs the admin user; rejects with a
 * ServiceError naming what could not be made.
 */
export async function ensureStreams(
  bus: Bus,
  options: StreamOptions = {},
): Promise<EnsuredStreams> {
  const { nc, user } = connectionOf(bus);
  const manager = await jetstreamManager(nc, { checkAPI: false });
  const result: EnsuredStreams = { created: [], updated: [], left: [] };
  const wanted = streamsFor(await clientsOf(nc, user), options.auditBytes);
  const found = new Map<string, StreamInfo>();
  for (const { name } of wanted) {
    const info = await named(user, name, () =>
      orNull(() => manager.streams.info(name), [STREAM_NOT_FOUND]),
    );
    if (info !== null) found.set(name, info);
  }
  const usual = Math.max(1, ...[...found.values()].map(({ config }) => config.num_replicas));
  for (const { config } of found.values()) checkCopies(config, options.replicas);
  for (const config of wanted) {
    const current = found.get(config.name);
    if (current !== undefined)
      await named(user, config.name, () => narrow(manager, config, current));
  }
  for (const config of wanted) {
    const current = found.get(config.name) ?? null;
    const num_replicas = options.replicas ?? current?.config.num_replicas ?? usual;
    await named(user, config.name, () =>
      ensureStream(manager, { config: { ...config, num_replicas }, current }, result),
    );
  }
  for (const consumer of allConsumers) {
    await named(user, labelOf(consumer), () => ensureConsumer(manager, consumer, result));
  }
  return result;
}

/**
 * The streams and buckets of an installation with these clients, in the form of the request; the work queue comes after the streams from
 * which it copies commands.
 */
export function streamsFor(clients: Clients, auditBytes?: number): WantedStream[] {
  const queue = streamConfig(commandQueueFor(clients.withCommands));
  return [
    ...allStreams
      .filter(({ name }) => name !== queue.name)
      .map((stream) => streamConfig(roomy(stream, auditBytes))),
    ...[sharedPayloads, servicePayloads, inputFiles, runArchive].map(bucketConfig),
    ...clients.withPayloads.map((client) => bucketConfig(payloadsOf(client))),
    ...clients.withCommands.map((client) => streamConfig(commandsOf(client))),
    queue,
  ];
}

/**
 * Updates the audit's stream, which has to exist, to the contracts and the options. Needs the operator user; rejects with a ServiceError.
 */
export async function ensureAudit(bus: Bus, options: StreamOptions = {}): Promise<EnsuredStreams> {
  const { nc, user } = connectionOf(bus);
  const manager = await jetstreamManager(nc, { checkAPI: false });
  const result: EnsuredStreams = { created: [], updated: [], left: [] };
  const { name } = auditStream;
  await named(user, name, async () => {
    const info = await manager.streams.info(name);
    const wanted = wantedOf(streamConfig(roomy(auditStream, options.auditBytes)), info);
    const config = { ...wanted, num_replicas: options.replicas ?? info.config.num_replicas };
    if (!differs(config, info.config)) return;
    await manager.streams.update(name, config);
    result.updated.push(name);
  });
  return result;
}

/** nats-server writes before it acknowledges in a stream with copies, and changes that in no stream. Throws a ServiceError. */
function checkCopies({ name, persist_mode }: StreamConfig, replicas = 1): void {
  if (persist_mode !== PersistMode.Async || replicas === 1) return;
  throw new ServiceError(
    "invalid_request",
    `${name} acknowledges before it writes (persist_mode async), which nats-server can change in no stream and permits with one copy only: for ${replicas} copies it has to be made anew, see "From one server to three" in docs/operations.md`,
  );
}

/**
 * Older versions had everybody's commands in one stream, and all events in another. No two streams may have the same subjects, so each one
 * drops the subjects that are no longer its own before others are made or changed; its stored messages stay.
 */
async function narrow(
  manager: JetStreamManager,
  { name, subjects = [] }: WantedStream,
  { config }: StreamInfo,
): Promise<void> {
  if (name === auditStream.name) return;
  const kept = subjects.filter((subject) => config.subjects.some((held) => covers(held, subject)));
  if (kept.length > 0 && !config.subjects.every((subject) => kept.includes(subject)))
    await manager.streams.update(name, { subjects: kept });
}

/** True when every subject of the second, which may have wildcards, is one of the first. */
function covers(wider: string, subject: string): boolean {
  const parts = subject.split(".");
  const wide = wider.split(".");
  if (wide.at(-1) !== ">" && wide.length !== parts.length) return false;
  return wide.every((part, index) => {
    if (part === ">") return parts.length > index;
    return part === parts[index] || (part === "*" && parts[index] !== ">");
  });
}

async function ensureStream(
  manager: JetStreamManager,
  { config, current }: { config: WantedStream; current: StreamInfo | null },
  result: EnsuredStreams,
): Promise<void> {
  if (current === null) {
    await manager.streams.add({ ...config, ...persistenceOf(config) });
    result.created.push(config.name);
  } else if (differs(wantedOf(config, current), current.config)) {
    if (config.name === auditStream.name) {
      result.left.push(config.name);
      return;
    }
    await manager.streams.update(config.name, wantedOf(config, current));
    result.updated.push(config.name);
  } else if (current.config.persist_mode === PersistMode.Async) {
    await resumeSources(manager, current.config);
  }
}

/**
 * nats-server 2.15 records every two minutes how far a stream has copied from its sources (`writeSourcesState` in its filestore.go), and
 * may lose what it copied into a stream that writes behind. With sources that are not in the record it searches the stream instead. That
 * finds all that is missing as long as nothing was copied since: this is done before services start.
 */
async function resumeSources(manager: JetStreamManager, config: StreamConfig): Promise<void> {
  if (config.sources === undefined) return;
  await manager.streams.update(config.name, { ...config, sources: [] });
  await manager.streams.update(config.name, config);
}

/** Returns the write mode of a new stream. Streams are not compared by it: an existing one keeps its mode. */
function persistenceOf({ name, num_replicas = 1 }: WantedStream): Partial<StreamConfig> {
  const isBehind = allStreams.some(
    (stream) => stream.name === name && stream.writesBehind === true,
  );
  return isBehind && num_replicas === 1 ? { persist_mode: PersistMode.Async } : {};
}

/**
 * The archive of runs, and a stream whose messages are never deleted before their time, are not made smaller: an operator granted them the room. No other
 * stream is made smaller than its content.
 */
function wantedOf<C extends Partial<StreamConfig>>(
  config: C,
  { config: found, state }: StreamInfo,
): C {
  const isGranted = config.deny_delete === true || config.name === bucketStream(runArchive);
  const least = isGranted ? found.max_bytes : state.bytes;
  return { ...config, max_bytes: Math.max(config.max_bytes ?? 0, least) };
}

function roomy(stream: StreamDefinition, auditBytes = 0): StreamDefinition {
  if (stream.name !== auditStream.name) return stream;
  return { ...stream, maxBytes: Math.max(stream.maxBytes, auditBytes) };
}

async function ensureConsumer(
  manager: JetStreamManager,
  consumer: ConsumerDefinition,
  result: EnsuredStreams,
): Promise<void> {
  const config = consumerConfig(consumer);
  const found = await orNull(
    () => manager.consumers.info(consumer.stream, consumer.name),
    [CONSUMER_NOT_FOUND],
  );
  if (found === null) {
    await manager.consumers.add(consumer.stream, config);
    result.created.push(labelOf(consumer));
  } else if (differs(config, found.config)) {
    await manager.consumers.update(consumer.stream, consumer.name, config);
    result.updated.push(labelOf(consumer));
  }
}

/**
 * The clients whose buckets and streams this user may make; on a server without permissions the buckets that every installation has, and
 * one stream for all users' commands.
 */
async function clientsOf(nc: NatsConnection, user: string): Promise<Clients> {
  const answer = await named(user, OWN_PERMISSIONS, () => nc.request(OWN_PERMISSIONS));
  const { data } = UserInfo.parse(answer.json());
  const allowed = data.permissions?.publish?.allow;
  if (allowed === undefined) {
    const withPayloads = [...installedUsers, anonymousUser].filter(hasOwnPayloads);
    return { withPayloads: withPayloads.map(({ name }) => name), withCommands: [] };
  }
  const streams = allowed.flatMap((subject) => {
    const stream = /^\$JS\.API\.STREAM\.CREATE\.(.+)$/.exec(subject)?.[1];
    return stream ?? [];
  });
  streams.sort(); // the server lists them in any order
  return {
    withPayloads: streams.flatMap((stream) => ownerOfPayloads(stream.replace(/^OBJ_/, "")) ?? []),
    withCommands: streams.flatMap((stream) => ownerOfCommands(stream) ?? []),
  };
}

function streamConfig(stream: StreamDefinition): WantedStream {
  return {
    name: stream.name,
    description: stream.description,
    subjects: [...stream.subjects],
    retention:
      stream.retention === "workqueue" ? RetentionPolicy.Workqueue : RetentionPolicy.Limits,
    storage: StorageType.File,
    discard: stream.discard === "new" ? DiscardPolicy.New : DiscardPolicy.Old,
    max_age: nanos(stream.maxAgeMs),
    max_bytes: stream.maxBytes,
    max_msg_size: stream.maxMessageBytes,
    duplicate_window: nanos(stream.duplicateWindowMs),
    allow_direct: true,
    ...(stream.isAppendOnly === true
      ? { deny_delete: true, deny_purge: true, compression: StoreCompression.S2 }
      : {}),
    ...(stream.schedules === true ? { allow_msg_schedules: true, allow_msg_ttl: true } : {}),
    ...(stream.takesBatches === true ? { allow_batched: true } : {}),
    ...(stream.maxMessages === undefined ? {} : { max_msgs: stream.maxMessages }),
    ...(stream.sources === undefined ? {} : { sources: stream.sources.map(sourceOf) }),
    ...renamingOf(stream),
  };
}

function renamingOf({ subjects, strays, storedAs }: StreamDefinition): Partial<StreamConfig> {
  if (strays !== undefined) return { subject_transform: { src: "yard.evt.>", dest: strays } };
  if (storedAs === undefined) return {};
  return { subject_transform: { src: subjects[0] ?? ">", dest: storedAs } };
}

/**
 * The commands of a client are deleted when they are handled, so all commands in its stream are to be done; and all events are to be read.
 * The queue reads a source from its beginning when its position there is unknown: without that, the server begins at the time of the
 * queue's last message (`trySetupSourceConsumer` in its stream.go), and a message from before that would never be copied.
 */
function sourceOf({ stream, from, to }: StreamSource): StreamSourceConfig {
  if (from === ">") return { name: stream, opt_start_seq: 1 };
  if (from === to) return { name: stream, opt_start_seq: 1, filter_subject: from };
  return { name: stream, subject_transforms: [{ src: from, dest: to }] };
}

/**
 * The layout is that of a NATS object store, so that its tools can show and purge it. But stored messages stay unchanged: no chunk is
 * replaced, and no header of a message deletes others.
 */
function bucketConfig(store: ObjectStoreDefinition): WantedStream {
  return {
    name: bucketStream(store),
    description: store.description,
    subjects: [`$O.${store.bucket}.C.>`, `$O.${store.bucket}.M.>`],
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    discard: DiscardPolicy.New,
    max_age: nanos(store.ttlMs),
    max_bytes: store.maxBytes,
    max_msgs_per_subject: 1,
    discard_new_per_subject: true,
    allow_direct: true,
    allow_rollup_hdrs: false,
    allow_msg_ttl: true,
  };
}

function consumerConfig(
  consumer: ConsumerDefinition,
): Partial<ConsumerConfig> & { durable_name: string } {
  return {
    durable_name: consumer.name,
    description: consumer.description,
    filter_subject: consumer.filterSubject,
    ack_policy: AckPolicy.Explicit,
    deliver_policy: DeliverPolicy.All,
    replay_policy: ReplayPolicy.Instant,
    ack_wait: nanos(consumer.ackWaitMs),
    // There is no ceiling. Work is bounded by the workers' free slots; a message that comes again after a pause counts as pending, too, and
    // enough of them would block all others: in an outage not even a cancel got through.
    max_ack_pending: -1,
    // Attempts are counted by the worker: a message that ran out of deliveries would stay in the queue unseen.
    max_deliver: -1,
  };
}

/**
 * Compares only the fields that the contracts set: the server adds its own, and leaves out a 0. Nested objects have their fields in the
 * server's order.
 */
function differs(wanted: object, found: object): boolean {
  const actual = new Map(Object.entries(found));
  return Object.entries(wanted).some(
    ([key, value]) => JSON.stringify(actual.get(key) ?? 0) !== JSON.stringify(value ?? 0),
  );
}
