import { commandsOf } from "@switchyard/topology/command-streams";
import { filterOf, queueOf, type Contract } from "@switchyard/contracts/define";
import {
  bucketStream,
  inputFiles,
  payloadsOf,
  servicePayloads,
  sharedPayloads,
} from "@switchyard/topology/payload-stores";
import { allContracts, isCommand, isRpc } from "@switchyard/contracts/registry";
import { allConsumers, allStreams } from "@switchyard/topology/streams";
import { publishedAs } from "@switchyard/contracts/reserved-subjects";
import { isReachable, OTHERS, TEAM_A, TEAM_B } from "./reachable.ts";

/** Attempts of team-b that the server's permissions alone must refuse. */
export interface PermissionRow {
  readonly title: string;
  readonly publish?: readonly string[];
  readonly subscribe?: readonly { readonly subject: string; readonly queue?: string }[];
}

/** Every way to send, publish, receive and answer each contract that is not team-b's. */
export function contractRows(): PermissionRow[] {
  return allContracts.flatMap((contract) =>
    isRpc(contract) || isCommand(contract) ? requestRows(contract) : factRows(contract),
  );
}

function requestRows(contract: Contract): PermissionRow[] {
  const { name } = contract;
  const senders = isReachable(contract) ? OTHERS : [...OTHERS, TEAM_B];
  const subjects = senders.map((caller) => concrete(filterOf(contract, { caller })));
  const ofA = filterOf(contract, { caller: TEAM_A });
  const received = [ofA, filterOf(contract)].flatMap((subject) => [
    { subject, queue: queueOf(name) },
    { subject },
  ]);
  return [
    { title: `sends no ${name} that is not its own`, publish: subjects },
    { title: `neither receives nor answers ${name} of others`, subscribe: received },
  ];
}

function factRows(contract: Contract): PermissionRow[] {
  const { name, subject } = contract;
  const owners = subject.includes("{owner}") ? [TEAM_A, "cli", TEAM_B] : [undefined];
  const stored = owners.map((owner) => concrete(filterOf(contract, { owner })));
  const reported = [...new Set([...stored, ...stored.map(publishedAs)])];
  const foreign = owners.filter((owner) => owner !== TEAM_B);
  const received = foreign.flatMap((owner) => [
    { subject: filterOf(contract, { owner }) },
    { subject: concrete(filterOf(contract, { owner })) },
  ]);
  return [
    { title: `publishes no ${name}, of itself or of others`, publish: reported },
    { title: `receives no ${name} of others`, subscribe: received },
  ];
}

function concrete(subject: string): string {
  return subject.replaceAll("*", "x");
}

const foreignBuckets = [
  payloadsOf(TEAM_A),
  payloadsOf("cli"),
  servicePayloads,
  sharedPayloads,
  inputFiles,
];
const STREAM_CHANGES = [
  ["CREATE", "UPDATE"],
  ["DELETE", "PURGE", "MSG.DELETE"],
  ["SNAPSHOT", "RESTORE", "LEADER.STEPDOWN", "PEER.REMOVE"],
] as const;

/** Every way to change, read and empty a stream or a bucket that is not team-b's. */
export function storeRows(): PermissionRow[] {
  const buckets = foreignBuckets.map((store) => bucketStream(store));
  const own = bucketStream(payloadsOf(TEAM_B));
  const commands = [TEAM_A, TEAM_B].map((user) => commandsOf(user).name);
  const streams = [...allStreams.map(({ name }) => name), ...commands, ...buckets, own];
  return [
    ...streams.flatMap((stream) =>
      STREAM_CHANGES.map((verbs) => ({
        title: `does not ${verbs.join(", ")} the stream ${stream}`,
        publish: verbs.map((verb) => `$JS.API.STREAM.${verb}.${stream}`),
      })),
    ),
    ...streams.map((stream) => ({
      title: `makes, lists and pauses no consumer of ${stream} beside those of its own events`,
      publish: consumerSubjects(stream),
    })),
    ...streams.map((stream) => ({
      title: `has nothing of ${stream} sent as it is`,
      publish: [`$JS.API.DIRECT.GET.${stream}`, `$JS.API.DIRECT.GET.${stream}.x`],
    })),
    ...streams
      .filter((stream) => stream !== bucketStream(sharedPayloads) && stream !== own)
      .map((stream) => ({
        title: `reads no message of ${stream} by its number or subject`,
        publish: [`$JS.API.STREAM.MSG.GET.${stream}`],
      })),
    ...foreignBuckets.map(({ bucket }) => ({
      title: `writes no chunk and no metadata into ${bucket}`,
      publish: [`$O.${bucket}.C.x`, `$O.${bucket}.C.x.0`, `$O.${bucket}.M.x`],
    })),
    {
      title: "writes no object's metadata into its own bucket, where only chunks are",
      publish: [`$O.${payloadsOf(TEAM_B).bucket}.M.x`],
    },
  ];
}

/** Consumer names: they are whole tokens, so those of others, and one more than its own. */
const FOREIGN_NAMES = ["mine", `${TEAM_A}-1`, `${TEAM_B}-33`, TEAM_B, "agent-runner"];

function consumerSubjects(stream: string): string[] {
  const create = `$JS.API.CONSUMER.CREATE.${stream}`;
  const filters = ["", ".>", ".yard.evt.>", ".yard.evt.run.>", ".yard.evt.run.*.>"];
  return [
    create,
    ...filters.map((filter) => `${create}.mine${filter}`),
    `${create}.mine.yard.evt.run.${TEAM_A}.>`,
    `${create}.mine.yard.evt.session.${TEAM_A}.x.created`,
    `$JS.API.CONSUMER.DURABLE.CREATE.${stream}.mine`,
    `$JS.API.CONSUMER.NAMES.${stream}`,
    `$JS.API.CONSUMER.LIST.${stream}`,
    `$JS.API.CONSUMER.PAUSE.${stream}.mine`,
    `$JS.API.CONSUMER.UNPIN.${stream}.mine`,
    `$JS.API.CONSUMER.RESET.${stream}.mine`,
    `$JS.API.CONSUMER.LEADER.STEPDOWN.${stream}.mine`,
    ...FOREIGN_NAMES.map((name) => `${create}.${name}.yard.evt.run.${TEAM_B}.>`),
    ...FOREIGN_NAMES.flatMap((name) =>
      ["INFO", "MSG.NEXT", "DELETE"].map((verb) => `$JS.API.CONSUMER.${verb}.${stream}.${name}`),
    ),
    ...FOREIGN_NAMES.map((name) => `$JS.ACK.${stream}.${name}.1.1.1.1.0`),
  ];
}

/** Every way to consume from a queue, or to acknowledge its messages. */
export function queueRows(): PermissionRow[] {
  return allConsumers.flatMap(({ stream, name }) => [
    {
      title: `takes nothing from the queue ${name} and does not look at it`,
      publish: ["INFO", "MSG.NEXT"].map((verb) => `$JS.API.CONSUMER.${verb}.${stream}.${name}`),
    },
    {
      title: `neither deletes nor replaces the queue ${name}`,
      publish: ["DELETE", "CREATE", "DURABLE.CREATE", "PAUSE", "UNPIN"].map(
        (verb) => `$JS.API.CONSUMER.${verb}.${stream}.${name}`,
      ),
    },
    {
      title: `acknowledges nothing of the queue ${name}, and terminates nothing`,
      publish: [
        `$JS.ACK.${stream}.${name}.1.1.1.1.0`,
        `$JS.ACK._.x.${stream}.${name}.1.1.1.1.0.x`,
        `$JS.FC.${stream}.${name}.x`,
      ],
    },
  ]);
}

/** Separated by blanks: each of them would show more than the team's own data. */
const WIDE = `
  > *.> yard.> yard.*.> yard.rpc.> yard.cmd.> yard.timer.>
  yard.evt.> yard.evt.*.> yard.evt.run.> yard.evt.run.*.> yard.evt.audit.>
  yard.live.> yard.live.run.*.> $JS.API.> $JS.ACK.> $JS.EVENT.> $JS.FC.>
  $SYS.> $O.> $O.${payloadsOf(TEAM_A).bucket}.> $KV.>
  $SRV.> $SRV.PING $SRV.INFO.agent-runner _INBOX.>`;

/** Subjects of no contract: inboxes, wildcards, timers, discovery, the server's own subjects. */
export function subjectRows(): PermissionRow[] {
  return [
    ...WIDE.trim()
      .split(/\s+/)
      .map((subject) => ({ title: `does not receive ${subject}`, subscribe: [{ subject }] })),
    ...OTHERS.map((user) => ({
      title: `neither reads nor fills the inbox of ${user}`,
      subscribe: [{ subject: `_INBOX_${user}.>` }, { subject: `_INBOX_${user}.x.1` }],
      publish: [`_INBOX_${user}.x`, `_INBOX_${user}.x.1`],
    })),
    { title: "sends nothing to the shared inbox", publish: ["_INBOX.x", "_INBOX.x.1"] },
    ...["set", "due"].map((kind) => ({
      title: `sets no timer, its own included (yard.timer.${kind})`,
      publish: [TEAM_A, TEAM_B, "runner"].map(
        (user) => `yard.timer.${kind}.${user}.run.resume.${TEAM_A}~r1`,
      ),
    })),
    {
      title: "asks the server for nothing but who it is",
      publish: ["$SYS.REQ.SERVER.PING", "$SYS.REQ.ACCOUNT.x.CONNZ", "$SYS.REQ.SERVER.PING.CONNZ"],
    },
    {
      title: "does not list streams, and makes none",
      publish: ["$JS.API.STREAM.LIST", "$JS.API.STREAM.CREATE.MINE", "$JS.API.ACCOUNT.PURGE.x"],
    },
  ];
}
