import type { Command, Contract, Event, Live, Rpc } from "@switchyard/contracts/define";
import { commandsOf } from "@switchyard/topology/command-streams";
import {
  inputFiles,
  runArchive,
  payloadsOf,
  servicePayloads,
  sharedPayloads,
} from "@switchyard/topology/payload-stores";
import { serviceRedisUsers } from "@switchyard/topology/redis-access";
import { contractsByOwner } from "@switchyard/contracts/registry";
import { allConsumers, allStreams, type StreamDefinition } from "@switchyard/topology/streams";
import {
  adminUser,
  auditorUser,
  client,
  cliUser,
  operatorUser,
  serviceUsers,
  type BusUser,
} from "@switchyard/topology/topology";
import { code, table } from "./markdown-table.ts";

const DAY_MS = 86_400_000;
const teamUser = client("{team}", "A client team or program");
/** Every user, and those that stand for any number: all clients but the command line have the rights of a team. */
const users: readonly BusUser[] = [
  ...serviceUsers,
  cliUser,
  teamUser,
  adminUser,
  auditorUser,
  operatorUser,
];

/** `docs/reference/subjects.md`: everything on the bus and in Redis, with who may do what. */
export function subjectsDocument(): string {
  const sections = Object.entries(contractsByOwner).map(([owner, contracts]) =>
    ownerSection(owner, contracts),
  );
  const parts = [
    "# Subjects, users, streams and keys",
    "Generated from `libs/contracts` by `npm run generate`; do not edit. Schemas of the messages are in [asyncapi.json](../asyncapi.json), what the words mean is in [ARCHITECTURE.md](../../ARCHITECTURE.md#words).",
    `"clients" are the command line and every team. A role is what a person or program over HTTP needs: the user \`gateway\` sends for them what has one. \`{caller}\` is the sender's own name, which nats-server enforces.`,
    "## Subjects",
    ...sections,
    "## NATS users",
    "The permissions in [deploy/nats/authorization.conf](../../deploy/nats/authorization.conf) are made from this. Each user receives answers in its own inbox, `_INBOX_{user}`. On a laptop, clients without credentials are the user `me`, with the rights of a team that reads all events.",
    userTable(),
    "## Streams",
    streamTable(),
    "## Large payloads",
    "What is larger than a message goes through an object store; the message names it in the header `Yard-Claim`.",
    bucketTable(),
    "## Redis keys",
    "The access list in [deploy/redis/users.acl](../../deploy/redis/users.acl) is made from this. A user may touch the keys of its line and no others.",
    redisTable(),
  ];
  return `${parts.join("\n\n")}\n`;
}

function ownerSection(owner: string, contracts: readonly Contract[]): string {
  const requests: Rpc[] = [];
  const messages: (Command | Event | Live)[] = [];
  for (const contract of contracts)
    if (contract.kind === "rpc") requests.push(contract);
    else messages.push(contract);
  const parts = [`### ${owner}`];
  if (requests.length > 0) parts.push(requestTable(requests));
  if (messages.length > 0) parts.push(messageTable(messages));
  return parts.join("\n\n");
}

function requestTable(contracts: readonly Rpc[]): string {
  const rows = contracts.map((contract) => [
    code(contract.subject),
    namesOf((user) => user.calls.some(({ name }) => name === contract.name)),
    contract.role ?? "–",
    contract.summary,
    Object.keys(contract.errors).map(code).join(", ") || "–",
  ]);
  return table(["request", "called by", "role", "what it does", "declared errors"], rows);
}

function messageTable(contracts: readonly (Command | Event | Live)[]): string {
  const rows = contracts.map((contract) => [
    code(contract.subject),
    contract.kind,
    namesOf((user) => user.publishes.some((published) => published === contract)),
    contract.kind === "command" ? (contract.role ?? "–") : "",
    contract.summary,
  ]);
  return table(["message", "kind", "published by", "role", "what it says"], rows);
}

function userTable(): string {
  const rows = users.map((user) => [
    code(user.name),
    user.description,
    user.readsEvents === "none"
      ? listOf(user.follows.map(({ name }) => name))
      : `${user.readsEvents === "all" ? "all" : "its own"} events and live output`,
    rightsOf(user).join(", ") || "–",
  ]);
  return table(["user", "who", "receives", "may also"], rows);
}

function rightsOf(user: BusUser): string[] {
  return [
    ...user.consumes.map(({ stream, name }) => `take from ${code(`${stream}/${name}`)}`),
    ...user.schedules.map(({ name }) => `set timers for ${code(name)}`),
    ...(user.looksUpEvents ? ["look up stored events"] : []),
    ...(user.readsQueues ? ["see how long streams and queues are"] : []),
    ...(user.storesFiles
      ? [`store files in ${code(inputFiles.bucket)} and ended runs in ${code(runArchive.bucket)}`]
      : []),
    ...(user.readsAudit ? ["read the audit"] : []),
    ...(user.administersStreams ? ["create streams, consumers and buckets"] : []),
    ...(user.retainsAudit ? ["change how long the audit is kept"] : []),
  ];
}

function streamTable(): string {
  const rows = [...allStreams, commandsOf("{team}")].map((stream) => [
    code(stream.name),
    [...stream.subjects.map(code), ...takenOver(stream)].join(" "),
    stream.retention,
    `${stream.maxAgeMs / DAY_MS} days, ${bytes(stream.maxBytes)}`,
    stream.discard === "new" ? "refuses" : "forgets the oldest",
    allConsumers
      .filter((consumer) => consumer.stream === stream.name)
      .map((consumer) => `${code(consumer.name)} (${consumer.description.toLowerCase()})`)
      .join(", ") || "–",
  ]);
  return table(
    ["stream", "subjects", "retention", "keeps", "when full", "durable consumers"],
    rows,
  );
}

/** Lists the streams that a stream copies as a whole; the queue's sources repeat the same subjects, or are timers. */
function takenOver({ sources = [] }: StreamDefinition): string[] {
  return sources
    .filter(({ from }) => from === ">")
    .map(({ stream }) => `and all of ${code(stream)}`);
}

function bucketTable(): string {
  const rows = [
    sharedPayloads,
    servicePayloads,
    inputFiles,
    runArchive,
    payloadsOf(teamUser.name),
  ].map((store) => [
    code(store.bucket),
    store.description,
    `${days(store.ttlMs)}, ${bytes(store.maxBytes)}`,
  ]);
  return table(["bucket", "what is in it", "keeps"], rows);
}

function days(ms: number): string {
  const count = ms / DAY_MS;
  return `${count} day${count === 1 ? "" : "s"}`;
}

function redisTable(): string {
  const rows = serviceRedisUsers.map((user) => [
    code(user.name),
    [...new Set(user.keys)].map(code).join(" "),
    user.channels.map(code).join(" ") || "–",
  ]);
  return table(["user", "keys", "channels"], rows);
}

/** The users that something is true of; "clients" where it is true of every team, and so of the command line. */
function namesOf(isOne: (user: BusUser) => boolean): string {
  const found = users.filter(isOne);
  const isForTeams = found.includes(teamUser);
  const names = found.map((user) => {
    if (user === teamUser) return "clients";
    return user === cliUser && isForTeams ? null : user.name;
  });
  return names.filter((name) => name !== null).join(", ") || "–";
}

function listOf(names: readonly string[]): string {
  return names.map(code).join(", ") || "–";
}

function bytes(count: number): string {
  const MIB = 1024 * 1024;
  return count >= 1024 * MIB ? `${count / (1024 * MIB)} GiB` : `${count / MIB} MiB`;
}
