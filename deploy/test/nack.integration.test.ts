import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { createUserKey } from "@switchyard/bus/keys";
import { ensureStreams } from "@switchyard/bus/streams";
import { testBus } from "@switchyard/testing/test-bus";
import { natsAuthorization } from "@switchyard/topology/nats-config";
import { allConsumers, eventStream } from "@switchyard/topology/streams";
import { installedUsers } from "@switchyard/topology/topology";
import { testNats } from "@switchyard/testing/test-servers";
import { connect, nkeyAuthenticator, type NatsConnection } from "nats";
import { readManifests, type Manifest } from "./render-manifests.ts";

const file = new URL("../nats/nack-streams.yaml", import.meta.url);
const streams = readManifests(readFileSync(file, "utf8"));
const nack = createUserKey();
const keys = new Map(installedUsers.map(({ name }) => [name, createUserKey()]));
const seedOf = (name: string): string => keys.get(name)?.seed ?? "";
// The setup of docs/kubernetes.md: NACK's user is beside those of `yard keys init`.
const user = `{ nkey: ${nack.publicKey}, permissions: {
  publish: { allow: ["$JS.API.INFO", "$JS.API.STREAM.INFO.*", "$JS.API.STREAM.CREATE.*"] }
  subscribe: { allow: ["_INBOX.>"] }
} }`;
const authorization = natsAuthorization({
  users: installedUsers.map((each) => ({ user: each, nkey: keys.get(each.name)?.publicKey ?? "" })),
}).replace("users: [", (found) => `${found}\n${user}`);

test("what NACK makes of its manifests, in any order, is what `streams ensure` wants, but for consumers and batches of events", async () => {
  for (const inOrder of [streams, streams.toReversed()]) {
    const nats = await testNats({ authorization });
    const nc = await connectAs(nats.url, nack.seed);
    for (const manifest of inOrder) await create(nc, manifest);
    const admin = await testBus(nats, "admin", { nkeySeed: () => seedOf("admin") });
    const consumers = allConsumers.map(({ stream, name }) => `${stream}/${name}`);
    const first = { created: consumers, updated: [eventStream.name], left: [] };
    assert.deepEqual(await ensureStreams(admin), first);
    assert.deepEqual(await ensureStreams(admin), { created: [], updated: [], left: [] });
  }
});

test("NACK neither takes back what `streams ensure` changes nor deletes a stream with its resource", () => {
  assert.equal(streams.length, 13);
  for (const { metadata, spec } of streams) {
    assert.equal(spec?.["preventUpdate"], true, metadata.name);
    assert.equal(spec?.["preventDelete"], true, metadata.name);
    assert.equal(spec?.["replicas"], 3, metadata.name);
  }
});

test("NACK cannot be the admin: its reply subject is one that the admin may not subscribe to", async () => {
  const nats = await testNats({ authorization });
  const nc = await connectAs(nats.url, seedOf("admin"));
  const [first = assert.fail("there is no stream")] = streams;
  await assert.rejects(create(nc, first), { code: "PERMISSIONS_VIOLATION" });
});

async function connectAs(url: string, seed: string): Promise<NatsConnection> {
  const authenticator = nkeyAuthenticator(new TextEncoder().encode(seed));
  const nc = await connect({ servers: url, authenticator, reconnect: false });
  after(() => nc.close());
  return nc;
}

async function create(nc: NatsConnection, { spec }: Manifest): Promise<void> {
  const config = streamSpecToConfig({ ...DEFAULTS, ...spec });
  // One server has no room for copies.
  const body = JSON.stringify({ ...config, num_replicas: 1 });
  const answer = await nc.request(`$JS.API.STREAM.CREATE.${String(config["name"])}`, body);
  const { error } = answer.json<{ error?: unknown }>();
  assert.equal(error, undefined, JSON.stringify(error));
}

/** The defaults that Kubernetes fills in from the CRD. */
const DEFAULTS = { maxConsumers: -1, maxMsgs: -1, maxBytes: -1, maxMsgSize: -1 };

/**
 * A port of the function of this name in NACK's internal/controller/stream_controller.go (April 2026), for the fields that we use.
 */
function streamSpecToConfig(spec: Record<string, unknown>): Record<string, unknown> {
  const config: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(spec)) {
    if (["preventUpdate", "preventDelete", "replicas"].includes(key)) continue;
    const name = FIELDS[key] ?? assert.fail(`NACK's CRD has no ${key}`);
    if (key === "maxAge" || key === "duplicateWindow") config[name] = nanoseconds(String(value));
    else if (key === "subjectTransform") config[name] = transform(value);
    else if (key === "sources") config[name] = (value as object[]).map(source); // a list in the CRD
    // Without a value the option is not used.
    else if (value !== false) config[name] = value;
  }
  return config;
}

const FIELDS: Readonly<Record<string, string>> = {
  name: "name",
  description: "description",
  subjects: "subjects",
  retention: "retention",
  maxConsumers: "max_consumers",
  maxMsgs: "max_msgs",
  maxBytes: "max_bytes",
  maxAge: "max_age",
  maxMsgsPerSubject: "max_msgs_per_subject",
  maxMsgSize: "max_msg_size",
  storage: "storage",
  discard: "discard",
  discardPerSubject: "discard_new_per_subject",
  duplicateWindow: "duplicate_window",
  sources: "sources",
  denyDelete: "deny_delete",
  denyPurge: "deny_purge",
  compression: "compression",
  subjectTransform: "subject_transform",
  allowDirect: "allow_direct",
  allowMsgTtl: "allow_msg_ttl",
  allowMsgSchedules: "allow_msg_schedules",
};

function source(found: object): object {
  const { name, optStartSeq, filterSubject, subjectTransforms } = found as {
    name: string;
    optStartSeq?: number;
    filterSubject?: string;
    subjectTransforms?: unknown[];
  }; // as in the CRD
  return {
    name,
    opt_start_seq: optStartSeq,
    filter_subject: filterSubject,
    subject_transforms: subjectTransforms?.map(transform),
  };
}

function transform(found: unknown): object {
  const { source: src, dest } = found as { source: string; dest: string }; // as in the CRD
  return { src, dest };
}

function nanoseconds(duration: string): number {
  const seconds = /^(\d+)s$/.exec(duration)?.[1] ?? assert.fail(duration);
  return Number(seconds) * 1_000_000_000;
}
