import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";
import { auditBounds, readAudit, type StoredAudit } from "@switchyard/bus/audit-log";
import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import { connectionOf } from "@switchyard/bus/connection";
import { consume } from "@switchyard/bus/consume";
import type { Delivery } from "@switchyard/bus/delivery";
import { createUserKey } from "@switchyard/bus/keys";
import { headersOf } from "@switchyard/bus/message-headers";
import { publishCommand } from "@switchyard/bus/publish";
import { until } from "@switchyard/local-servers/until";
import { ensureStreams } from "@switchyard/bus/streams";
import { auditHash } from "@switchyard/contracts/policy/audit-chain";
import { createCallPermissions } from "@switchyard/topology/call-permissions";
import { filterOf, queueOf, type Rpc } from "@switchyard/contracts/define";
import { publishedAs } from "@switchyard/contracts/reserved-subjects";
import { allContracts, isCommand, isEvent, isRpc } from "@switchyard/contracts/registry";
import { cancelRun, startRun } from "@switchyard/contracts/agent-runner/runs";
import { beginRun, spawnRun } from "@switchyard/contracts/agent-runner/run-commands";
import {
  bucketStream,
  payloadsOf,
  servicePayloads,
  sharedPayloads,
} from "@switchyard/topology/payload-stores";
import { allStreams, runCommands } from "@switchyard/topology/streams";
import { cliUser, installedUsers, serviceUsers, type BusUser } from "@switchyard/topology/topology";
import { testNats } from "@switchyard/testing/test-servers";
import { letThrough, subscriptionEnding } from "../lib/permission-probe.ts";

// A real nats-server with the generated file that is in deploy/nats, and keys of our own for its variables.
const users: readonly BusUser[] = installedUsers;
const keys = new Map(users.map(({ name }) => [name, createUserKey()]));
const file = await readFile(
  new URL("../../deploy/nats/authorization.conf", import.meta.url),
  "utf8",
);
const variables = [...keys].map(
  ([name, { publicKey }]) => `YARD_NKEY_${name.toUpperCase().replaceAll("-", "_")}: ${publicKey}`,
);
const nats = await testNats({ authorization: `${variables.join("\n")}\n${file}` });
const buses = new Map<string, Bus>();
for (const { name } of users) {
  const nkeySeed = (): string => keys.get(name)?.seed ?? "";
  buses.set(name, await connectBus({ servers: nats.url, user: name, nkeySeed }));
}
after(() => Promise.all([...buses.values()].map((bus) => bus.close())));
await ensureStreams(busOf("admin"));

/** The bucket in which the attacker may store bytes, and all buckets of that kind. */
const ownPayloads = payloadsOf(cliUser.name);
const buckets = [sharedPayloads, servicePayloads, ownPayloads, payloadsOf("auditor")];

function busOf(name: string): Bus {
  const bus = buses.get(name);
  if (bus === undefined) throw new Error(`nobody is called ${name}`);
  return bus;
}

/** Number of commands in the queue, from all users. */
async function storedCommands(): Promise<number> {
  const { replies } = connectionOf(busOf("admin"));
  const subject = `$JS.API.STREAM.INFO.${runCommands.stream}`;
  const answer = await replies.request({ subject, body: "", timeoutMs: 30_000 });
  return JSON.parse(answer.string()).state.messages;
}

const others = (user: BusUser): readonly BusUser[] =>
  users.filter(({ name }) => name !== user.name);

test("no user sends a request or a command under another one's name", async () => {
  for (const user of users) {
    const foreign = others(user).flatMap((other) =>
      allContracts
        .filter((contract) => isRpc(contract) || isCommand(contract))
        .map((contract) => filterOf(contract, { caller: other.name }).replaceAll("*", "x")),
    );
    assert.deepEqual(await letThrough(busOf(user.name), foreign), [], user.name);
  }
});

test("a process with several services decides about its own requests as nats-server does, for every contract and user", async () => {
  const permissions = createCallPermissions();
  const rpcs = allContracts.filter(isRpc);
  let allowed = 0;
  for (const { name: user } of users) {
    const subjectOf = (contract: Rpc): string =>
      filterOf(contract, { caller: user }).replaceAll("*", "x");
    const passed = await letThrough(busOf(user), rpcs.map(subjectOf));
    for (const contract of rpcs) {
      const isAllowed = passed.includes(subjectOf(contract));
      assert.equal(
        permissions.mayCall(user, contract),
        isAllowed,
        `${user} calls ${contract.name}`,
      );
      allowed += Number(isAllowed);
    }
  }
  assert.ok(allowed > 100 && allowed < (users.length * rpcs.length) / 2, `${allowed} are allowed`);
  for (const { name: user, serves } of serviceUsers)
    for (const contract of [...serves, ...sample(rpcs)]) {
      const queue = queueOf(contract.name);
      const ending = await subscriptionEnding(busOf(user), filterOf(contract), queue);
      const isAllowed = ending === "let through";
      assert.equal(
        permissions.mayServe(user, contract),
        isAllowed,
        `${user} serves ${contract.name}`,
      );
    }
});

test("only authorized users request a decision, a token or an admission from the policy", async () => {
  const asking = ["policy.check", "policy.grant", "approvals.admit"];
  for (const { name, calls } of users) {
    const subjects = asking
      .filter((contract) => !calls.some((called) => called.name === contract))
      .map((contract) => `yard.rpc.${name}.${contract}`);
    assert.deepEqual(await letThrough(busOf(name), subjects), [], name);
  }
  assert.ok(!cliUser.calls.some(({ name }) => asking.includes(name)));
});

test("no user publishes an event of another service, audit included", async () => {
  for (const user of users) {
    const foreign = allContracts
      .filter(isEvent)
      .filter((contract) => !user.publishes.some(({ name }) => name === contract.name))
      .map((contract) => filterOf(contract).replaceAll("*", "x").replace(">", "x"));
    const audit = others(user).map(({ name }) => `yard.evt.audit.${name}.decision`);
    const reported = [...foreign, ...audit].flatMap((subject) => [subject, publishedAs(subject)]);
    assert.deepEqual(await letThrough(busOf(user.name), reported), [], user.name);
  }
});

test("no user serves another one's requests, in its queue group, in another or in none", async () => {
  const rpcs = allContracts.filter(isRpc);
  for (const user of users) {
    const foreign = rpcs.filter(({ name }) => !user.serves.some((own) => own.name === name));
    for (const contract of sample(foreign))
      for (const queue of [queueOf(contract.name), "mine", undefined]) {
        const ending = await subscriptionEnding(busOf(user.name), filterOf(contract), queue);
        assert.match(ending, /Permissions Violation/, `${user.name}: ${contract.name} ${queue}`);
      }
    // Its own requests, but outside its queue group: it would receive those of other replicas.
    for (const contract of sample(user.serves)) {
      const ending = await subscriptionEnding(busOf(user.name), filterOf(contract));
      assert.match(ending, /Permissions Violation/, `${user.name}: ${contract.name}`);
    }
  }
});

/** One contract of each group: the rights of a group are made by the same rule. */
function sample(contracts: readonly Rpc[]): Rpc[] {
  return [...new Map(contracts.map((contract) => [queueOf(contract.name), contract])).values()];
}

test("no user reads another one's inbox, or everything", async () => {
  for (const user of users) {
    const inboxes = others(user).map(({ inboxPrefix }) => `${inboxPrefix}.>`);
    for (const subject of [...inboxes, "_INBOX.>", ">", "yard.>", "yard.rpc.>", "yard.cmd.>"])
      assert.match(
        await subscriptionEnding(busOf(user.name), subject),
        /Permissions Violation/,
        `${user.name}: ${subject}`,
      );
  }
});

/** The runner deletes the texts of deleted runs. */
const PURGED: ReadonlySet<string> = new Set(
  ["YARD_EVENTS", "OBJ_YARD_FILES", "OBJ_YARD_ARCHIVE"].map(
    (stream) => `$JS.API.STREAM.PURGE.${stream}`,
  ),
);

test("only the admin makes or changes streams and consumers, and no user but the runner deletes from them", async () => {
  const streams = [...allStreams.map(({ name }) => name), ...buckets.map(bucketStream)];
  for (const { name, readsEvents, deletesEvents } of users.filter(
    (user) => !user.administersStreams,
  )) {
    const subjects = streams.flatMap((stream) => [
      ...["CREATE", "UPDATE", "DELETE", "PURGE", "MSG.DELETE", "SNAPSHOT", "RESTORE"].map(
        (verb) => `$JS.API.STREAM.${verb}.${stream}`,
      ),
      // Readers of events make consumers of that stream, and of no other.
      ...(readsEvents && stream === "YARD_EVENTS"
        ? []
        : [
            `$JS.API.CONSUMER.CREATE.${stream}`,
            `$JS.API.CONSUMER.CREATE.${stream}.mine`,
            `$JS.API.CONSUMER.DURABLE.CREATE.${stream}.mine`,
            `$JS.API.CONSUMER.DELETE.${stream}.agent-runner`,
          ]),
      `$JS.API.CONSUMER.LEADER.STEPDOWN.${stream}.agent-runner`,
    ]);
    assert.deepEqual(
      await letThrough(busOf(name), [...subjects, "$JS.API.ACCOUNT.PURGE.x"]),
      deletesEvents ? subjects.filter((subject) => PURGED.has(subject)) : [],
      name,
    );
  }
  const deleting = streams.flatMap((stream) =>
    ["DELETE", "PURGE", "MSG.DELETE"].map((verb) => `$JS.API.STREAM.${verb}.${stream}`),
  );
  assert.deepEqual(await letThrough(busOf("admin"), deleting), []);
  // The admin may not shorten the audit, nor fill it by republishing or sources.
  const audit = ["UPDATE", "DELETE", "PURGE", "MSG.DELETE", "RESTORE", "SNAPSHOT"];
  const changing = audit.map((verb) => `$JS.API.STREAM.${verb}.YARD_AUDIT`);
  assert.deepEqual(await letThrough(busOf("admin"), changing), []);
});

test("no user consumes from a queue that is not its own", async () => {
  for (const user of users) {
    const foreign = serviceUsers
      .filter(({ name }) => name !== user.name)
      .flatMap(({ consumes }) => consumes)
      .map(({ stream, name }) => `$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`);
    const acks = foreign.map((next) => next.replace("$JS.API.CONSUMER.MSG.NEXT", "$JS.ACK"));
    const subjects = [...foreign, ...acks.map((ack) => `${ack}.1.1.1.1.0`)];
    assert.deepEqual(await letThrough(busOf(user.name), subjects), [], user.name);
  }
});

/** Permissions cover the published subject, but not the reply subject. The server sends such an answer itself, past all of them. */
test("no stored bytes are delivered to a subject of the attacker's choice: no user may have them sent as they are", async () => {
  const streams = [...allStreams.map(({ name }) => name), ...buckets.map(bucketStream)];
  for (const { name, readsAudit } of users) {
    const readable = streams.filter((stream) => !(readsAudit && stream === "YARD_AUDIT"));
    const subjects = readable.flatMap((stream) => [
      `$JS.API.DIRECT.GET.${stream}`,
      `$JS.API.DIRECT.GET.${stream}.$O.${ownPayloads.bucket}.C.x.0`,
    ]);
    assert.deepEqual(await letThrough(busOf(name), subjects), [], name);
  }
});

test("no user reads events in flight: users without the right to all events get none, and only their publisher looks up its own", async () => {
  for (const { name, looksUpEvents } of users) {
    const reads = ["STREAM.MSG.GET.YARD_FACTS", "CONSUMER.MSG.NEXT.YARD_FACTS.mine"];
    const subjects = reads.map((read) => `$JS.API.${read}`);
    const permitted = looksUpEvents ? subjects.slice(0, 1) : [];
    assert.deepEqual(await letThrough(busOf(name), subjects), permitted, name);
  }
});

/** The messages of the audit's stream, as the auditor reads them. */
async function storedAudit(): Promise<StoredAudit[]> {
  const { first: sequence, last: upTo } = await auditBounds(busOf("auditor"));
  const messages: StoredAudit[] = [];
  for await (const message of readAudit(busOf("auditor"), { from: { sequence }, upTo }))
    messages.push(message);
  return messages;
}

/** Counts what comes on a subject. */
function followed(nc: NatsConnection, subject: string) {
  let count = 0;
  nc.subscribe(subject, { callback: () => void (count += 1) });
  return { until: (least: number) => until(() => Promise.resolve(count >= least)) };
}

type NatsConnection = ReturnType<typeof connectionOf>["nc"];

/** A block that would be taken for the policy's own, were it stored under its subject. */
function forgedBlock(writer: string): object {
  const fact = { kind: "refusal", provider: "broker", caller: "cli", reason: "forged" } as const;
  const about = { v: 1, service: "policy", writer } as const;
  const place = { seq: 1, at: new Date().toISOString() };
  const hash = auditHash({ ...about, prev: null, ...place, ...fact });
  return { ...about, prev: null, records: [{ ...fact, ...place, hash }] };
}

test("stored bytes do not get into the audit, nor out of it, by what the server does for a client: no push consumer, mirror, source or republishing", async () => {
  const writer = `policy-${"f".repeat(16)}`;
  const bytes = JSON.stringify(forgedBlock(writer));
  const subject = "yard.evt.audit.policy.decision";
  const before = (await storedAudit()).length;
  const commands = await storedCommands();
  // The bytes are where an attacker may store them: in an event of a compromised service, and in the payloads.
  const event = "yard.evt.run.cli.forged.finished";
  connectionOf(busOf("runner")).nc.publish(event, bytes);
  connectionOf(busOf("cli")).nc.publish(`$O.${ownPayloads.bucket}.C.forged.0`, bytes);
  await busOf("runner").flush();
  const targets = [subject, "yard.cmd.runner.run.spawn.demo", "_INBOX_cli.control"];
  const delivered = followed(connectionOf(busOf("cli")).nc, "_INBOX_cli.control");
  for (const [index, deliver_subject] of targets.entries()) {
    const name = `pusher-${index}`;
    const config = { name, deliver_subject, deliver_policy: "all", ack_policy: "none" };
    const request = JSON.stringify({ stream_name: "YARD_EVENTS", config });
    const { replies } = connectionOf(busOf("cli"));
    const create = `$JS.API.CONSUMER.CREATE.YARD_EVENTS.${name}`;
    await replies.request({ subject: create, body: request, timeoutMs: 30_000 });
  }
  // The last of them delivers to its maker, twice; the others would have delivered earlier.
  await delivered.until(1);
  connectionOf(busOf("runner")).nc.publish(event, bytes);
  await delivered.until(2);
  const admits = (name: string) =>
    users.some((user) => user.name === name && user.administersStreams);
  for (const { name } of users.filter((user) => !admits(user.name))) {
    const made = ["MINE", "YARD_AUDIT", "YARD_FACTS", "YARD_EVENTS"].flatMap((stream) =>
      ["CREATE", "UPDATE", "RESTORE"].map((verb) => `$JS.API.STREAM.${verb}.${stream}`),
    );
    const consumers = ["YARD_AUDIT", "YARD_FACTS", ...buckets.map(bucketStream)].flatMap(
      (stream) => [
        `$JS.API.CONSUMER.CREATE.${stream}`,
        `$JS.API.CONSUMER.CREATE.${stream}.mine`,
        `$JS.API.CONSUMER.CREATE.${stream}.mine.${subject}`,
        `$JS.API.CONSUMER.DURABLE.CREATE.${stream}.mine`,
        `$JS.API.CONSUMER.MSG.NEXT.${stream}.mine`,
      ],
    );
    assert.deepEqual(await letThrough(busOf(name), [...made, ...consumers]), [], name);
  }
  // The admin shapes our streams, and makes none beside them.
  assert.deepEqual(await letThrough(busOf("admin"), ["$JS.API.STREAM.CREATE.MINE"]), []);
  assert.equal(await storedCommands(), commands);
  assert.equal((await storedAudit()).length, before);
});

test("a server's reply that a user directs at another user's command subject is refused, whatever its content", async () => {
  const { nc } = connectionOf(busOf("cli"));
  // Bytes that would make a command, as the attacker may store them for a large payload.
  const chunk = `$O.${ownPayloads.bucket}.C.attack.0`;
  nc.publish(chunk, '{"input":"spawned by nobody"}');
  const get = `$JS.API.STREAM.MSG.GET.OBJ_${ownPayloads.bucket}`;
  const body = JSON.stringify({ last_by_subj: chunk });
  const targets = [
    "yard.cmd.runner.run.spawn.demo",
    "yard.cmd.runner.run.start.demo",
    "yard.cmd.runner.run.cancel.r1",
  ];
  for (const reply of targets) {
    nc.publish(get, body, { reply });
    nc.publish("$JS.API.INFO", "", { reply });
    nc.publish("yard.cmd.cli.run.cancel.own", "{}", { reply });
  }
  // A direct get, if permitted, would deliver this: the bytes, with the server's mark.
  const marked = "yard.cmd.cli.run.start.marked";
  const headers = headersOf({ "Nats-Stream": `OBJ_${ownPayloads.bucket}` });
  nc.publish(marked, '{"input":"spawned by nobody"}', { headers });
  // The server answers when it comes to it.
  await until(async () => (await storedCommands()) > 4 * targets.length);
  // A genuine command behind all of them: its delivery proves that they were processed.
  await publishCommand(busOf("cli"), startRun, { agent: "last" }, { input: "genuine" });
  const deliveries: Delivery[] = [];
  const { promise: done, resolve } = Promise.withResolvers<void>();
  const consumption = consume(busOf("runner"), {
    consumer: runCommands,
    commands: [startRun, cancelRun, spawnRun, beginRun],
    concurrency: 1,
    handle: (delivery) => {
      deliveries.push(delivery);
      // Callers take turns, so the last one may come before others.
      if (deliveries.length === 4 * targets.length + 2) resolve();
      return Promise.resolve({ outcome: "done" });
    },
    onFault: ({ error }) => assert.fail(String(error)),
  });
  await done;
  await consumption.stop();
  const accepted = deliveries.filter(({ kind }) => kind === "command");
  assert.deepEqual(
    new Set(accepted.map(({ subject }) => subject)),
    new Set(["yard.cmd.cli.run.cancel.own", "yard.cmd.cli.run.start.last"]),
  );
  const refused = deliveries.filter(({ kind }) => kind === "rejected");
  assert.deepEqual(new Set(refused.map(({ subject }) => subject)), new Set([...targets, marked]));
  assert.equal(refused.length, 3 * targets.length + 1);
});

test("no reply of the server gets into the audit: no user may name its subjects for a reply", async () => {
  const { nc, replies } = connectionOf(busOf("cli"));
  const chunk = `$O.${ownPayloads.bucket}.C.audit.0`;
  nc.publish(chunk, JSON.stringify(forgedBlock(`policy-${"e".repeat(16)}`)));
  const before = (await storedAudit()).length;
  const ways = [
    [`$JS.API.STREAM.MSG.GET.OBJ_${ownPayloads.bucket}`, JSON.stringify({ last_by_subj: chunk })],
    ["$JS.API.INFO", ""],
    ["yard.cmd.cli.run.cancel.own", "{}"],
  ] as const;
  const target = "yard.evt.audit.policy.decision";
  for (const [subject, body] of ways) {
    nc.publish(subject, body, { reply: target });
    const ended = refusedReply(nc);
    nc.publish(subject, body, { reply: publishedAs(target) });
    assert.match(await ended, /Publish with Reply of "_R_\.yard\.evt\.audit/, subject);
    // The answers of one sender come in the order of its requests.
    await replies.request({ subject, body, timeoutMs: 10_000 });
  }
  assert.equal((await storedAudit()).length, before);
});

/** The server's next report of a refused reply. */
async function refusedReply(nc: NatsConnection): Promise<string> {
  for await (const status of nc.status()) {
    if (status.type === "error") return status.error.message;
  }
  throw new Error("the connection ended");
}
