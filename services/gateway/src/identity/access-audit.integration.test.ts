import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { startGatewayWorld } from "../../test/gateway-world.ts";

const world = await startGatewayWorld();

interface Access {
  readonly change: string;
  readonly caller: string | null;
  readonly address: string;
  readonly operation: string;
  readonly status?: number;
  readonly code?: string;
}

test("sign-ins, refusals and what admins do are recorded with the address, and without credentials", async () => {
  const { url } = await world.startGateway({ YARD_HTTP_TRUSTED_PROXIES: "1" });
  const { key: admin } = await world.keyOf("ada", ["admin"]);
  const { key: viewer } = await world.keyOf("vera", ["viewer"]);
  const send = (method: string, path: string, key: string, body?: object) =>
    fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "x-forwarded-for": "6.6.6.6, 203.0.113.9",
      },
      ...(body && { body: JSON.stringify(body) }),
    });
  assert.equal((await send("POST", "/auth/session", viewer)).status, 201);
  assert.equal((await send("GET", "/api/v1/me", "yk_guessed")).status, 401);
  assert.equal((await send("DELETE", "/api/v1/keys/key-nothing", viewer)).status, 403);
  const made = await send("POST", "/api/v1/keys", admin, { caller: "team-z", roles: ["viewer"] });
  assert.equal(made.status, 201);
  const { info } = (await made.json()) as { info: { id: string } };
  assert.equal((await send("DELETE", `/api/v1/keys/${info.id}`, admin)).status, 200);
  const expected = [
    ["signed_in", "vera", "POST /auth/session", undefined],
    ["refused", null, "GET /api/v1/me", 401],
    ["refused", "vera", "policy.user-keys.revoke", 403],
    ["called", "ada", "policy.user-keys.create", undefined],
    ["answered", "ada", "policy.user-keys.create", undefined],
    ["called", "ada", "policy.user-keys.revoke", undefined],
    ["answered", "ada", "policy.user-keys.revoke", undefined],
  ];
  let records: Access[] = [];
  let text = "";
  await until(async () => {
    text = await (await send("GET", "/api/v1/audit?kind=access&order=oldest", admin)).text();
    records = (JSON.parse(text) as { records: Access[] }).records;
    return records.some(
      ({ change, operation }) => change === "answered" && operation === "policy.user-keys.revoke",
    );
  });
  const reported = new Set(
    records.map(({ change, caller, operation, status }) =>
      JSON.stringify([change, caller, operation, status]),
    ),
  );
  for (const one of expected) assert.ok(reported.has(JSON.stringify(one)), JSON.stringify(one));
  assert.ok(records.every(({ address }) => address === "203.0.113.9"));
  const operationsOf = async (query: string): Promise<Set<string>> => {
    const found = await (await send("GET", `/api/v1/audit?kind=access&${query}`, admin)).json();
    return new Set((found as { records: Access[] }).records.map(({ operation }) => operation));
  };
  await until(async () => (await operationsOf("reads=true")).has("policy.audit.list"));
  const quiet = await operationsOf("reads=false");
  assert.ok(!quiet.has("policy.audit.list"), "the read of the audit itself");
  assert.ok(quiet.has("GET /api/v1/me"), "a read that was refused");
  assert.ok(quiet.has("policy.user-keys.revoke"));
  for (const secret of [admin, viewer, "yk_guessed"]) assert.ok(!text.includes(secret));
});

test("a client that guesses credentials behind a proxy locks out its own address and no other one", async () => {
  const { url } = await world.startGateway({ YARD_HTTP_TRUSTED_PROXIES: "1" });
  const guess = async (from: string): Promise<number> => {
    const headers = { authorization: "Bearer yk_guessed", "x-forwarded-for": from };
    return (await fetch(`${url}/api/v1/me`, { headers })).status;
  };
  const statuses = new Set<number>();
  for (let n = 0; n < 32; n += 1) statuses.add(await guess(`10.0.0.${n}, 198.51.100.7`));
  assert.deepEqual([...statuses], [401, 429]);
  assert.equal(await guess("198.51.100.7, 198.51.100.8"), 401);
});
