import { auditChain } from "./audit.ts";
import { commandsOf, hasOwnCommands } from "./command-streams.ts";
import { filterOf, queueOf, type Command, type Event, type Live } from "./define.ts";
import { eventConsumersOf } from "./event-consumers.ts";
import { laneFilters } from "./lanes.ts";
import {
  bucketStream,
  hasOwnPayloads,
  inputFiles,
  payloadsOf,
  servicePayloads,
  sharedPayloads,
} from "./payload-stores.ts";
import { allContracts } from "./registry.ts";
import { publishedAs } from "./reserved-subjects.ts";
import {
  allConsumers,
  allStreams,
  auditStream,
  eventStream,
  eventSubjects,
  factStream,
  type ObjectStoreDefinition,
} from "./streams.ts";
import { timerSubject } from "./timer-subjects.ts";
import type { BusUser, ForeignSource } from "./topology.ts";

/** Where the server tells a user its own permissions. */
export const OWN_PERMISSIONS = "$SYS.REQ.USER.INFO";

/** What one NATS user may publish and subscribe, in nats-server's own terms. */
export interface NatsPermissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

/**
 * The permissions of one user, from what it serves, calls, publishes and consumes. `everyone` is
 * needed because a service may answer only into its callers' private inboxes: `allow_responses`
 * would let a caller choose the subject of the answer.
 */
export function permissionsOf(user: BusUser, everyone: readonly BusUser[]): NatsPermissions {
  const publish = new Set<string>();
  const subscribe = new Set<string>([`${user.inboxPrefix}.>`]);

  for (const contract of user.calls) publish.add(filterOf(contract, { caller: user.name }));
  for (const contract of user.publishes) {
    publish.add(publishedAs(filterOf(contract, ownTokens(contract, user.name))));
  }
  for (const contract of user.schedules) {
    publish.add(timerSubject(filterOf(contract, { caller: user.name })));
  }
  for (const contract of user.serves) {
    subscribe.add(`${filterOf(contract)} ${queueOf(contract.name)}`);
    for (const caller of callersOf(contract.name, everyone)) publish.add(`${caller.inboxPrefix}.>`);
  }
  for (const contract of user.follows) subscribe.add(filterOf(contract));
  for (const source of user.hears) addForeign(source, user.name, publish, subscribe);
  for (const subject of user.sends) publish.add(subject);
  if (user.serves.length > 0) addDiscovery(user, everyone, publish, subscribe);
  if (user.readsEvents !== "none") addEventReading(user, publish, subscribe);
  if (user.looksUpEvents)
    for (const { name } of [factStream, eventStream]) publish.add(`$JS.API.STREAM.MSG.GET.${name}`);
  if (user.readsQueues) addQueueReading(publish);
  if (user.readsAudit) addAuditReading(publish);
  // To know when there is room only for those who did not fill it.
  if (user.publishes.some(({ name }) => name === auditChain.name))
    publish.add(`$JS.API.STREAM.INFO.${auditStream.name}`);
  if (user.administersStreams) addAdministration(everyone, publish);
  else if (user.retainsAudit) addAuditRetention(publish);
  else addPayloads(user, everyone, publish);
  addJetStream(user, everyone, publish, subscribe);
  return { publish: [...publish].toSorted(), subscribe: [...subscribe].toSorted() };
}

/** What names the user itself in a subject: nobody publishes under another's name. */
function ownTokens(contract: Command | Event | Live, name: string): Record<string, string> {
  if (contract.kind === "command") return { caller: name };
  return contract.subject.includes("{service}") ? { service: name } : {};
}

function callersOf(contractName: string, everyone: readonly BusUser[]): BusUser[] {
  return everyone.filter((other) => other.calls.some((called) => called.name === contractName));
}

/** A subject is shared by the user's replicas; of a stream, one consumer may be made, read and told what is done. */
// oxlint-disable-next-line max-params -- as for the other parts of the permissions
function addForeign(
  { subject, stored }: ForeignSource,
  user: string,
  publish: Set<string>,
  subscribe: Set<string>,
): void {
  if (stored === null) {
    subscribe.add(`${subject} ${user}`);
    return;
  }
  const { stream, consumer } = stored;
  publish.add(`$JS.API.CONSUMER.CREATE.${stream}.${consumer}.${subject}`);
  publish.add(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`);
  publish.add(`$JS.ACK.${stream}.${consumer}.>`);
  publish.add(`$JS.ACK.*.*.${stream}.${consumer}.>`);
}

/** ADR-32: every service answers `$SRV.PING|INFO|STATS`, to whoever may ask. */
function addDiscovery(
  user: BusUser,
  everyone: readonly BusUser[],
  publish: Set<string>,
  subscribe: Set<string>,
): void {
  for (const verb of ["PING", "INFO", "STATS"]) {
    subscribe.add(`$SRV.${verb}`);
    subscribe.add(`$SRV.${verb}.${user.name}`);
    subscribe.add(`$SRV.${verb}.${user.name}.*`);
  }
  for (const other of everyone.filter((candidate) => candidate.readsEvents !== "none")) {
    publish.add(`${other.inboxPrefix}.>`);
  }
}

function addEventReading(user: BusUser, publish: Set<string>, subscribe: Set<string>): void {
  publish.add("$SRV.>");
  if (user.readsEvents === "own") return addOwnEvents(user.name, publish, subscribe);
  addAllEvents(publish, subscribe);
  const live = user.readsOwnLive ? subjectsOfOwner(user.name).filter(isLive) : ["yard.live.>"];
  for (const subject of live) subscribe.add(subject);
}

function isLive(subject: string): boolean {
  return subject.startsWith("yard.live.");
}

/** For who runs the installation: consumers of any name and filter, and a look at the stream. */
function addAllEvents(publish: Set<string>, subscribe: Set<string>): void {
  const { name } = eventStream;
  for (const subject of eventSubjects) subscribe.add(subject);
  publish.add(`$JS.API.CONSUMER.CREATE.${name}`);
  publish.add(`$JS.API.CONSUMER.CREATE.${name}.>`);
  publish.add(`$JS.API.STREAM.MSG.GET.${name}`);
  publish.add(`$JS.API.STREAM.INFO.${name}`);
  // Clients look up by name which stream holds a subject.
  publish.add("$JS.API.STREAM.NAMES");
  addConsumer(name, "*", publish);
  publish.add(`$JS.ACK.${name}.>`);
  publish.add(`$JS.ACK.*.*.${name}.>`);
  publish.add(`$JS.FC.${name}.>`);
}

/**
 * A team's consumers have names of its own, and it may ask about them alone: the stream tells whoever asks all its
 * subjects, and these have the names of everybody's runs in them.
 */
function addOwnEvents(user: string, publish: Set<string>, subscribe: Set<string>): void {
  const { name } = eventStream;
  const subjects = subjectsOfOwner(user);
  for (const subject of subjects) subscribe.add(subject);
  const stored = subjects.filter((subject) => !isLive(subject));
  for (const consumer of eventConsumersOf(user)) {
    // The server refuses a consumer whose filter is another one than that in the subject of its request.
    for (const subject of stored)
      publish.add(`$JS.API.CONSUMER.CREATE.${name}.${consumer}.${subject}`);
    addConsumer(name, consumer, publish);
    publish.add(`$JS.ACK.${name}.${consumer}.>`);
    publish.add(`$JS.ACK.*.*.${name}.${consumer}.>`);
    publish.add(`$JS.FC.${name}.${consumer}.>`);
  }
}

function addConsumer(stream: string, consumer: string, publish: Set<string>): void {
  for (const verb of ["INFO", "DELETE", "MSG.NEXT"])
    publish.add(`$JS.API.CONSUMER.${verb}.${stream}.${consumer}`);
}

/** Everything that is said of what one user owns. */
function subjectsOfOwner(owner: string): string[] {
  const owned = allContracts.filter(({ subject }) => subject.includes(".{owner}."));
  const prefixes = owned.map(({ subject }) => subject.slice(0, subject.indexOf("{owner}")));
  return [...new Set(prefixes)].map((prefix) => `${prefix}${owner}.>`);
}

/**
 * By direct get, whose answers carry the server's mark, so that nobody takes one that is sent
 * elsewhere for a command; whoever could create a consumer could have the server deliver the audit,
 * as it is, to any subject.
 */
function addAuditReading(publish: Set<string>): void {
  publish.add(`$JS.API.STREAM.INFO.${auditStream.name}`);
  publish.add(`$JS.API.DIRECT.GET.${auditStream.name}`);
}

function addQueueReading(publish: Set<string>): void {
  for (const { name } of allStreams) publish.add(`$JS.API.STREAM.INFO.${name}`);
  for (const { stream, name } of allConsumers)
    publish.add(`$JS.API.CONSUMER.INFO.${stream}.${name}`);
}

function addAdministration(everyone: readonly BusUser[], publish: Set<string>): void {
  const buckets = [sharedPayloads, servicePayloads, inputFiles, ...clientPayloads(everyone)];
  const streams = [
    ...allStreams.map((stream) => stream.name),
    ...buckets.map(bucketStream),
    ...clientCommands(everyone),
  ];
  // It tells which buckets it may make, so which clients there are.
  publish.add(OWN_PERMISSIONS);
  for (const stream of streams) {
    publish.add(`$JS.API.STREAM.INFO.${stream}`);
    // The server refuses to create again what is there and differs.
    publish.add(`$JS.API.STREAM.CREATE.${stream}`);
    if (stream !== auditStream.name) publish.add(`$JS.API.STREAM.UPDATE.${stream}`);
  }
  for (const consumer of allConsumers) {
    publish.add(`$JS.API.CONSUMER.INFO.${consumer.stream}.${consumer.name}`);
    publish.add(`$JS.API.CONSUMER.CREATE.${consumer.stream}.${consumer.name}.>`);
    publish.add(`$JS.API.CONSUMER.CREATE.${consumer.stream}.${consumer.name}`);
    publish.add(`$JS.API.CONSUMER.DURABLE.CREATE.${consumer.stream}.${consumer.name}`);
  }
}

function addAuditRetention(publish: Set<string>): void {
  publish.add(`$JS.API.STREAM.INFO.${auditStream.name}`);
  publish.add(`$JS.API.STREAM.UPDATE.${auditStream.name}`);
}

function addJetStream(
  user: BusUser,
  everyone: readonly BusUser[],
  publish: Set<string>,
  subscribe: Set<string>,
): void {
  publish.add("$JS.API.INFO");
  for (const consumer of user.consumes) {
    publish.add(`$JS.API.STREAM.INFO.${consumer.stream}`);
    publish.add(`$JS.API.CONSUMER.INFO.${consumer.stream}.${consumer.name}`);
    publish.add(`$JS.API.CONSUMER.MSG.NEXT.${consumer.stream}.${consumer.name}`);
    // To hear of what another caller sends, and to look for it. Wrapped by the API, as below.
    if (consumer.lanes !== undefined) {
      publish.add(`$JS.API.STREAM.MSG.GET.${consumer.stream}`);
      for (const filter of laneFilters(consumer.lanes)) subscribe.add(`${filter} ${consumer.name}`);
    }
    // What is done no longer counts against its sender's quota.
    if (consumer.takesFromClients === true)
      for (const stream of clientCommands(everyone))
        publish.add(`$JS.API.STREAM.MSG.DELETE.${stream}`);
    // Both shapes of the ack subject: servers move from the first to the second by a feature flag.
    publish.add(`$JS.ACK.${consumer.stream}.${consumer.name}.>`);
    publish.add(`$JS.ACK.*.*.${consumer.stream}.${consumer.name}.>`);
  }
}

/**
 * A client writes and reads what is its own, a service everybody's. Read through the API, which wraps what it found:
 * with a direct get or a consumer, the server would deliver stored bytes as they are to any subject, past every permission.
 */
function addPayloads(user: BusUser, everyone: readonly BusUser[], publish: Set<string>): void {
  const isClient = hasOwnPayloads(user);
  const files = user.storesFiles ? [inputFiles] : [];
  const own = isClient
    ? [payloadsOf(user.name)]
    : [servicePayloads, ...files, ...clientPayloads(everyone)];
  const written = isClient ? own : [...own, sharedPayloads];
  for (const { bucket } of written) publish.add(`$O.${bucket}.C.>`);
  for (const store of [...own, sharedPayloads]) {
    publish.add(`$JS.API.STREAM.INFO.${bucketStream(store)}`);
    publish.add(`$JS.API.STREAM.MSG.GET.${bucketStream(store)}`);
  }
}

function clientCommands(everyone: readonly BusUser[]): string[] {
  return everyone.filter(hasOwnCommands).map(({ name }) => commandsOf(name).name);
}

function clientPayloads(everyone: readonly BusUser[]): ObjectStoreDefinition[] {
  return everyone.filter(hasOwnPayloads).map(({ name }) => payloadsOf(name));
}
