import { auditChain } from "@switchyard/contracts/policy/audit";
import { commandsOf, hasOwnCommands } from "./command-streams.ts";
import {
  filterOf,
  queueOf,
  type Command,
  type Event,
  type Live,
} from "@switchyard/contracts/define";
import { eventConsumersOf } from "./event-consumers.ts";
import { laneFilters } from "./lanes.ts";
import {
  bucketStream,
  hasOwnPayloads,
  inputFiles,
  payloadsOf,
  runArchive,
  servicePayloads,
  sharedPayloads,
} from "./payload-stores.ts";
import { allContracts } from "@switchyard/contracts/registry";
import { publishedAs } from "@switchyard/contracts/reserved-subjects";
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
import { isService } from "@switchyard/contracts/user-names";

/** The subject at which the server returns a user's own permissions. */
export const OWN_PERMISSIONS = "$SYS.REQ.USER.INFO";

/** The subjects that one NATS user may publish and subscribe, in nats-server's own terms. */
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
  for (const source of user.foreignSources) addForeign(source, user.name, publish, subscribe);
  for (const subject of user.sends) publish.add(subject);
  if (isService(user.name)) addDiscovery(user, everyone, publish, subscribe);
  if (user.readsEvents !== "none") addEventReading(user, publish, subscribe);
  if (user.looksUpEvents)
    for (const { name } of [factStream, eventStream]) publish.add(`$JS.API.STREAM.MSG.GET.${name}`);
  if (user.deletesEvents) publish.add(`$JS.API.STREAM.PURGE.${eventStream.name}`);
  if (user.readsQueues) addQueueReading(publish);
  if (user.readsAudit) addAuditReading(publish);
  // Needed to detect when there is room only for users with few records.
  if (user.publishes.some(({ name }) => name === auditChain.name))
    publish.add(`$JS.API.STREAM.INFO.${auditStream.name}`);
  if (user.administersStreams) addAdministration(everyone, publish);
  else if (user.retainsAudit) addAuditRetention(publish);
  else addPayloads(user, everyone, publish);
  addJetStream(user, everyone, publish, subscribe);
  return { publish: [...publish].toSorted(), subscribe: [...subscribe].toSorted() };
}

/** The tokens that name the user itself in a subject: no user publishes under another one's name. */
function ownTokens(contract: Command | Event | Live, name: string): Record<string, string> {
  if (contract.kind === "command") return { caller: name };
  return contract.subject.includes("{service}") ? { service: name } : {};
}

function callersOf(contractName: string, everyone: readonly BusUser[]): BusUser[] {
  return everyone.filter((other) => other.calls.some((called) => called.name === contractName));
}

/** A subject is shared by the user's replicas; for a stream, one consumer may be made, read and acknowledged. */
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

/** ADR-32: every service answers `$SRV.PING|INFO|STATS`, for every user with permission to request it. */
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

/** Granted to operators: consumers of any name and filter, and the stream's info. */
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
 * A team's consumers have names of its own, and it may query these alone: the stream's info lists all its subjects, and these contain the
 * names of all users' runs.
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

/** All subjects about the objects of one user. */
function subjectsOfOwner(owner: string): string[] {
  const owned = allContracts.filter(({ subject }) => subject.includes(".{owner}."));
  const prefixes = owned.map(({ subject }) => subject.slice(0, subject.indexOf("{owner}")));
  return [...new Set(prefixes)].map((prefix) => `${prefix}${owner}.>`);
}

/**
 * Reads by direct get, whose answers carry the server's mark, so that an answer that is sent elsewhere is not accepted as a command; a user
 * that could create a consumer could make the server deliver the audit unchanged to any subject.
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
  const buckets = [
    sharedPayloads,
    servicePayloads,
    inputFiles,
    runArchive,
    ...clientPayloads(everyone),
  ];
  const streams = [
    ...allStreams.map((stream) => stream.name),
    ...buckets.map(bucketStream),
    ...clientCommands(everyone),
  ];
  // The answer lists the buckets that it may make, and so the clients that exist.
  publish.add(OWN_PERMISSIONS);
  for (const stream of streams) {
    publish.add(`$JS.API.STREAM.INFO.${stream}`);
    // The server refuses to create an existing stream with another configuration.
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
    // Needed to be notified of another caller's commands, and to search for them. The API wraps the answer, as below.
    if (consumer.lanes !== undefined) {
      publish.add(`$JS.API.STREAM.MSG.GET.${consumer.stream}`);
      for (const filter of laneFilters(consumer.lanes)) subscribe.add(`${filter} ${consumer.name}`);
    }
    // A finished command no longer counts against its sender's quota.
    if (consumer.takesFromClients === true)
      for (const stream of clientCommands(everyone))
        publish.add(`$JS.API.STREAM.MSG.DELETE.${stream}`);
    // Both shapes of the ack subject: servers move from the first to the second by a feature flag.
    publish.add(`$JS.ACK.${consumer.stream}.${consumer.name}.>`);
    publish.add(`$JS.ACK.*.*.${consumer.stream}.${consumer.name}.>`);
  }
}

/**
 * A client writes and reads its own payloads, a service those of all. They are read through the API, which wraps them: with a direct get or
 * a consumer, the server would deliver stored bytes unchanged to any subject, past every permission.
 */
function addPayloads(user: BusUser, everyone: readonly BusUser[], publish: Set<string>): void {
  const isClient = hasOwnPayloads(user);
  const files = user.storesFiles ? [inputFiles, runArchive] : [];
  const own = isClient
    ? [payloadsOf(user.name)]
    : [servicePayloads, ...files, ...clientPayloads(everyone)];
  const written = isClient ? own : [...own, sharedPayloads];
  for (const { bucket } of written) publish.add(`$O.${bucket}.C.>`);
  // A stored object is a number of messages, which are deleted by their common subject.
  for (const store of files) publish.add(`$JS.API.STREAM.PURGE.${bucketStream(store)}`);
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
