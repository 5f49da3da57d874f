import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { testDirectory } from "@switchyard/testing/test-servers";
import { client } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { readEvents } from "@switchyard/bus/events";
import { isError } from "@switchyard/contracts/errors";
import {
  deleteServerSecret,
  listServerSecrets,
  setServerSecret,
} from "@switchyard/contracts/mcp-broker/mcp-secrets";
import {
  addServer,
  getServer,
  updateServer,
  type ServerInfo,
} from "@switchyard/contracts/mcp-broker/mcp-servers";
import { callMcpTool } from "@switchyard/service/call-mcp-tool";
import { until } from "@switchyard/local-servers/until";
import { brokerCluster } from "../../test-fixtures/broker-cluster.ts";
import {
  fixtureServer,
  testWorld,
  type TestBroker,
  type TestBrokerOptions,
} from "../../test-fixtures/test-broker.ts";

const world = await testWorld();
const contracts = {
  addServer,
  getServer,
  updateServer,
  deleteServerSecret,
  listServerSecrets,
  setServerSecret,
};
const api = client(world.cli, contracts);
const isConnected = ({ status }: ServerInfo): boolean => status === "connected";
const server = (id: string, more: object = {}): Record<string, unknown> => ({
  ...fixtureServer(id, ["fixture-server.ts"], more),
});
const token = "canary-4f1c9d0a2b";

async function withBroker(
  options: TestBrokerOptions,
  work: (broker: TestBroker) => Promise<void>,
): Promise<void> {
  const broker = await world.startBroker(options);
  try {
    await work(broker);
  } finally {
    await broker.stop();
  }
}

async function secretOf(broker: TestBroker, id: string): Promise<string | undefined> {
  const { text } = await broker.call(id, { tool: "environment", args: {} });
  return (JSON.parse(text) as Record<string, string>)["SECRET"];
}

async function eventTexts(): Promise<string> {
  const options = { filters: ["yard.evt.mcp.>"], from: "beginning", stopAtEnd: true } as const;
  let text = "";
  for await (const event of readEvents(world.cli, options)) text += JSON.stringify(event);
  return text;
}

async function emptied(): Promise<void> {
  await world.redis.del("yard:{mcp}:servers", "yard:{mcp}:secrets");
}

test("a stored secret reaches the server that refers to it, and nothing that is shown or stored [A31]", async () => {
  await withBroker({ servers: [] }, async (broker) => {
    const stored = await api.setServerSecret({ name: "tracker", value: token });
    assert.deepEqual(Object.keys(stored.secret).toSorted(), [
      "name",
      "owner",
      "servers",
      "updatedAt",
      "usedBy",
    ]);
    await api.addServer({ server: server("uses", { env: { SECRET: "${secret:tracker}" } }) });
    await broker.until("uses", isConnected);
    assert.equal(await secretOf(broker, "uses"), token);
    const { secrets } = await api.listServerSecrets({});
    assert.deepEqual(
      secrets.map(({ name, usedBy }) => [name, usedBy]),
      [["tracker", ["uses"]]],
    );
    const shown = await api.getServer({ server: "uses" });
    assert.deepEqual(shown.declaration["env"], { SECRET: "${secret:tracker}" });
    const redis = await world.redis.hgetall("yard:{mcp}:secrets");
    const kept = JSON.stringify([secrets, shown, redis, await eventTexts(), broker.logText()]);
    assert.ok(!kept.includes(token));
    // The server writes its secret to stderr as it ends.
    await broker.call("uses", { tool: "die", args: {} }).catch(() => undefined);
    await broker.until("uses", (info) => info.lastError !== null || isConnected(info));
    assert.ok(!JSON.stringify([broker.info("uses"), broker.logText()]).includes(token));
  });
  await emptied();
});

test("a new value connects the servers that use it anew, and no other", async () => {
  const env = { SECRET: "${secret:rotated}" };
  const servers = [server("uses", { env }), server("other")];
  await withBroker({ servers }, async (broker) => {
    await broker.until("uses", ({ lastError }) => lastError?.includes("secret rotated") ?? false);
    await broker.until("other", isConnected);
    const since = broker.info("other").connectedAt;
    await api.setServerSecret({ name: "rotated", value: "first-value" });
    await broker.until("uses", isConnected);
    assert.equal(await secretOf(broker, "uses"), "first-value");
    await api.setServerSecret({ name: "rotated", value: "second-value" });
    await broker.until("uses", isConnected);
    assert.equal(await secretOf(broker, "uses"), "second-value");
    assert.equal(broker.info("other").connectedAt, since);
  });
  await emptied();
});

test("a secret for some servers stays with them", async () => {
  const env = { SECRET: "${secret:narrow}" };
  await withBroker(
    { servers: [server("mine", { env }), server("theirs", { env })] },
    async (broker) => {
      await api.setServerSecret({ name: "narrow", value: token, servers: ["mine"] });
      await broker.until("mine", isConnected);
      const refused = await broker.until(
        "theirs",
        ({ lastError }) => lastError?.includes("not for this server") ?? false,
      );
      assert.notEqual(refused, null);
      // Left out, the servers stay as they are.
      const { secret } = await api.setServerSecret({ name: "narrow", value: "another" });
      assert.deepEqual(secret.servers, ["mine"]);
    },
  );
  await emptied();
});

test("refuses a credential that is written out, with the command that stores it", async () => {
  await withBroker({ servers: [server("there")] }, async (broker) => {
    await broker.until("there", isConnected);
    const written = { env: { API_TOKEN: "abcdefgh12345" } };
    const isRefused = (error: unknown) =>
      (isError(error, addServer, "literal_secret") ||
        isError(error, updateServer, "literal_secret")) &&
      error.message.includes("yard mcp secret set") &&
      !error.message.includes("abcdefgh12345");
    await assert.rejects(api.addServer({ server: server("new", written) }), isRefused);
    await assert.rejects(api.updateServer({ server: "there", changes: written }), isRefused);
    const harmless = { env: { API_TOKEN: "${API_TOKEN:-}", LEVEL: "debug", TOKEN_FILE: "/run/x" } };
    await api.updateServer({ server: "there", changes: harmless });
  });
  await emptied();
});

test("only admins of servers see and change secrets, and one that is used stays", async () => {
  const other = await connectBus({ servers: world.natsUrl, user: "team-a" });
  const team = client(other, contracts);
  const env = { SECRET: "${secret:kept}" };
  await withBroker({ servers: [server("uses", { env })] }, async () => {
    await api.setServerSecret({ name: "kept", value: token });
    for (const attempt of [
      () => team.listServerSecrets({}),
      () => team.setServerSecret({ name: "kept", value: "stolen" }),
      () => team.deleteServerSecret({ name: "kept" }),
    ])
      await assert.rejects(attempt, (error) => isError(error, setServerSecret, "forbidden_admin"));
    await assert.rejects(api.deleteServerSecret({ name: "kept" }), (error) =>
      isError(error, deleteServerSecret, "secret_in_use"),
    );
    await assert.rejects(api.deleteServerSecret({ name: "unknown" }), (error) =>
      isError(error, deleteServerSecret, "unknown_secret"),
    );
  });
  await other.close();
  await emptied();
});

test("another key of the cipher in front encrypts the secrets anew, and the old one may go", async () => {
  const [older, newer] = [randomBytes(32), randomBytes(32)].map((key) => key.toString("base64"));
  const servers = [server("uses", { env: { SECRET: "${secret:kept}" } })];
  const record = async () => (await world.redis.hget("yard:{mcp}:secrets", "kept")) ?? "";
  await withBroker({ servers, tokenKeys: older ?? "" }, async () => {
    await api.setServerSecret({ name: "kept", value: token });
  });
  const before = await record();
  await withBroker({ servers, tokenKeys: `${newer},${older}` }, (broker) =>
    broker.until("uses", isConnected).then(() => undefined),
  );
  assert.notEqual(await record(), before);
  await withBroker({ servers, tokenKeys: newer ?? "" }, async (broker) => {
    await broker.until("uses", isConnected);
    assert.equal(await secretOf(broker, "uses"), token);
  });
  await emptied();
});

test("whichever broker stores a new value, the server's owner connects it anew", async () => {
  const cluster = await brokerCluster({
    natsUrl: world.natsUrl,
    redisUrl: world.redisUrl,
    servers: () => [server("shared", { env: { SECRET: "${secret:shared}" } })],
  });
  const keys = await testDirectory();
  await writeFile(join(keys, "mcp-logins.key"), randomBytes(32).toString("base64"));
  const key = { YARD_KEYS_DIR: keys };
  await cluster.start("one", key);
  await cluster.start("two", key);
  for (let round = 0; round < 6; round += 1) {
    const value = `value-${round}`;
    await api.setServerSecret({ name: "shared", value });
    await until(
      async () => {
        const options = { tokens: { server: "shared" } };
        const request = { tool: "environment", args: {} };
        const reply = await callMcpTool(world.cli, request, options).catch(() => null);
        return reply?.text ?? "";
      },
      (text) => text.includes(`"SECRET":"${value}"`),
    );
  }
});
